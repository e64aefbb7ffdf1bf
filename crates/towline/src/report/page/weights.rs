//! What was learnt: the largest weights, by name.
use maud::{Markup, html};

use super::{bar, hint, name};
use crate::report::short::{count, number, percent};
use crate::report::{ModelReport, Report, Weight, Weights};

pub fn body(report: &Report) -> Option<Markup> {
    if report.models.is_empty() {
        return None;
    }
    Some(html! {
        div.search {
            label for="search" { "Search features" } " "
            input id="search" type="search" placeholder="part of a name" autocomplete="off";
            span id="found" role="status" {}
        }
        @for model in &report.models {
            @if report.models.len() > 1 { h3 { (name(&model.name)) } }
            (one(model))
        }
    })
}

fn one(model: &ModelReport) -> Markup {
    let weights = &model.weights;
    let zeros = weights.features.saturating_sub(weights.nonzero);
    let share = zeros as f64 / weights.features.max(1) as f64;
    html! {
        p {
            strong { (count(weights.nonzero)) } " of " (count(weights.features)) " features have a weight; "
            (count(zeros)) " (" (percent(share)) ") are zero."
            @if let [intercept] = &weights.intercepts[..] { " The intercept is " (number(*intercept)) "." }
        }
        @if model.header.fourier.is_some() {
            (hint("The features are random Fourier features: their numbers mean nothing by themselves."))
        }
        @if model.header.hash_bits.is_some() {
            (hint("Features are known by hashes of their names: several may share a number."))
        }
        @if weights.by_effect {
            (hint("Ordered by effect: the weight times the standard deviation of the feature in these rows, which makes units comparable."))
        }
        @if weights.outputs.is_empty() { (both_signs(weights)) } @else { (by_output(weights)) }
        (groups(model))
    }
}

/// What a weight is ordered by.
fn size(weight: &Weight) -> f64 {
    weight.effect.unwrap_or(weight.weight)
}

fn both_signs(weights: &Weights) -> Markup {
    let most = weights.largest.iter().map(|weight| size(weight).abs()).fold(f64::MIN_POSITIVE, f64::max);
    let side = |title: &str, class: &str, positive: bool| {
        let shown: Vec<&Weight> = weights.largest.iter().filter(|weight| (size(weight) > 0.0) == positive).collect();
        html! {
            div {
                h3 { (title) " " small { (count(shown.len() as u64)) } }
                div.tall.scroll { table.weights {
                    thead { tr {
                        th { "Feature" } th.number { "Weight" } @if weights.by_effect { th.number { "Effect" } } th {}
                    } }
                    tbody { @for weight in &shown {
                        tr {
                            th { (name(&weight.feature)) }
                            td.number { (number(weight.weight)) }
                            @if let Some(effect) = weight.effect { td.number { (number(effect)) } }
                            td.bars { (bar(size(weight).abs() / most, class)) }
                        }
                    } }
                } }
            }
        }
    };
    html! {
        div.grid { (side("Raise the score", "up", true)) (side("Lower the score", "down", false)) }
        (more(weights))
    }
}

fn more(weights: &Weights) -> Markup {
    html! {
        @if (weights.largest.len() as u64) < weights.nonzero {
            (hint(&format!(
                "The {} largest are listed and searched; towline info lists any number.",
                count(weights.largest.len() as u64)
            )))
        }
    }
}

fn by_output(weights: &Weights) -> Markup {
    let most = weights.largest.iter().map(|weight| size(weight).abs()).fold(f64::MIN_POSITIVE, f64::max);
    html! {
        (table(weights))
        h3 { "Largest weights" }
        div.tall.scroll { table.weights {
            thead { tr {
                th { "Feature" } th { "Strongest for" } th.number { "Weight" }
                @if weights.by_effect { th.number { "Effect" } } th {}
            } }
            tbody { @for weight in &weights.largest {
                tr {
                    th { (name(&weight.feature)) }
                    td { (name(weights.outputs.get(weight.output).map_or("", String::as_str))) }
                    td.number { (number(weight.weight)) }
                    @if let Some(effect) = weight.effect { td.number { (number(effect)) } }
                    td.bars { (bar(size(weight).abs() / most, if size(weight) > 0.0 { "up" } else { "down" })) }
                }
            } }
        } }
        (more(weights))
    }
}

/// Classes by features, shaded.
fn table(weights: &Weights) -> Markup {
    let most = weights.table.iter().flat_map(|row| &row.1).fold(f64::MIN_POSITIVE, |most, w| most.max(w.abs()));
    let left_out = weights.outputs.len() - weights.table_outputs.len();
    html! {
        h3 { "Features by class" }
        div.scroll { table.heat {
            thead { tr {
                th {}
                @for &output in &weights.table_outputs {
                    th.number { (name(weights.outputs.get(output).map_or("", String::as_str))) }
                }
            } }
            tbody { @for (feature, row) in &weights.table {
                tr {
                    th { (name(feature)) }
                    @for &weight in row { td class={ "number " (shade(weight / most)) } { (number(weight)) } }
                }
            } }
        } }
        @if left_out > 0 { (hint(&format!("{left_out} classes with smaller weights are left out."))) }
    }
}

/// One of four shades of either side; none near 0.
pub fn shade(part: f64) -> String {
    let step = (part.abs() * 4.0).ceil().clamp(0.0, 4.0) as u32;
    match step {
        0 => String::new(),
        step if part > 0.0 => format!("up{step}"),
        step => format!("down{step}"),
    }
}

fn groups(model: &ModelReport) -> Markup {
    let Some(run) = model.header.run.as_deref().filter(|run| !run.groups.is_empty()) else { return html! {} };
    let most = run.groups.iter().map(|group| group.norm).fold(f64::MIN_POSITIVE, f64::max);
    let zeros = run.groups_without_weight;
    html! {
        h3 { "Groups" }
        p { (count(run.groups_in_all - zeros)) " of " (count(run.groups_in_all)) " groups have weights; " (count(zeros)) " are zero." }
        div.tall.scroll { table.weights {
            thead { tr { th { "Group" } th.number { "Features" } th.number { "Norm" } th {} } }
            tbody { @for group in &run.groups {
                tr {
                    th {
                        @for (place, feature) in group.examples.iter().enumerate() { @if place > 0 { ", " } (name(feature)) }
                        @if (group.examples.len() as u64) < group.features { ", …" }
                    }
                    td.number { (count(group.features)) }
                    td.number { (number(group.norm)) }
                    td.bars { (bar(group.norm / most, "up")) }
                }
            } }
        } }
    }
}
