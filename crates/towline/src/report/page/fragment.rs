//! A few lines for a notebook: no script, and no style but that of its own elements.
use maud::{Markup, html};

use super::head::{objective, sentence, status, value_of};
use super::name;
use crate::report::short::{count, number};
use crate::report::{ModelReport, Report, Weight};

/// Models, and weights of each, that are shown.
const MODELS: usize = 3;
const WEIGHTS: usize = 10;

/// The short version of a report.
pub fn html(report: &Report) -> String {
    let left_out = report.models.len().saturating_sub(MODELS);
    let text = html! {
        div style="font-family: system-ui, sans-serif; line-height: 1.5; max-width: 46rem" {
            @for model in report.models.iter().take(MODELS) { (one(model)) }
            @if left_out > 0 { p { "and " (left_out) " more" } }
        }
    };
    text.into_string()
}

fn one(model: &ModelReport) -> Markup {
    let (header, weights) = (&model.header, &model.weights);
    let shown = &weights.largest[..weights.largest.len().min(WEIGHTS)];
    let most = shown.iter().map(|weight| weight.weight.abs()).fold(f64::MIN_POSITIVE, f64::max);
    html! {
        p { strong { (name(&model.name)) } ": " (status(header)) ". " (sentence(header)) }
        p style="opacity: .75" {
            (objective(header)) "; " (count(header.rows)) " rows; " (count(weights.nonzero)) " of "
            (count(weights.features)) " features have a weight"
            @if let Some(rows) = &model.rows {
                @for measure in rows.measures.iter().take(4) { "; " (measure.name) " " (value_of(measure)) }
            }
        }
        table style="border-collapse: collapse" {
            @for weight in shown { (line(weight, most, weights.outputs.get(weight.output).map(String::as_str))) }
        }
    }
}

fn line(weight: &Weight, most: f64, output: Option<&str>) -> Markup {
    let width = format!("{:.1}", 100.0 * weight.weight.abs() / most);
    // Colours that are seen on light and on dark ground.
    let fill = if weight.weight > 0.0 { "#3b7dd8" } else { "#e0692f" };
    html! {
        tr {
            td style="text-align: start; padding: 0 .8rem 0 0" {
                (name(&weight.feature)) @if let Some(output) = output { " for " (name(output)) }
            }
            td style="text-align: end; padding: 0 .8rem 0 0" { (number(weight.weight)) }
            td style="padding: 0" {
                svg width="160" height="9" viewBox="0 0 100 9" preserveAspectRatio="none" aria-hidden="true" {
                    rect width=(width) height="9" fill=(fill) {}
                }
            }
        }
    }
}
