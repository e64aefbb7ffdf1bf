//! What the memory went into, and the time.
use maud::{Markup, html};

use super::{hint, name};
use crate::engine::{Cost, RunRecord};
use crate::report::Report;
use crate::report::short::{bytes, number, percent, seconds};

/// A part of a whole.
struct Part {
    label: String,
    size: f64,
    shown: String,
}

pub fn body(report: &Report) -> Option<Markup> {
    let several = report.models.len() > 1;
    let path = report.path.as_ref().map(|path| &path.run);
    if report.models.is_empty() && path.is_none() {
        return None;
    }
    Some(html! {
        @for model in &report.models {
            @if several { h3 { (name(&model.name)) } }
            @match model.header.run.as_deref() {
                Some(run) => (memory(run)),
                None => (hint("The model does not say what its run held: it is a stream, or an older version has written it.")),
            }
            (time(&model.header.cost, model.header.run.as_deref()))
        }
        @if let Some(run) = path { (memory(run)) }
    })
}

fn memory(run: &RunRecord) -> Markup {
    let held: u64 = run.held.iter().map(|holding| holding.bytes).sum();
    let mut sorted: Vec<_> = run.held.iter().collect();
    sorted.sort_by_key(|holding| std::cmp::Reverse(holding.bytes));
    let part = |label: &str, size: u64| Part { label: label.to_string(), size: size as f64, shown: bytes(size) };
    let mut parts: Vec<Part> = sorted.iter().map(|holding| part(&holding.purpose, holding.bytes)).collect();
    if let Some(left) = run.budget_bytes.and_then(|budget| budget.checked_sub(held)).filter(|left| *left > 0) {
        parts.push(part(LEFT_OVER, left));
    }
    html! {
        @if !parts.is_empty() {
            h3 { "Where the budget went, when most was held" }
            (stacked(&parts))
        }
        p.note {
            @match run.budget_bytes {
                Some(budget) => {
                    "The process had " strong { (bytes(run.peak_bytes)) } " at its peak, "
                    (percent(run.peak_bytes as f64 / budget.max(1) as f64)) " of its budget of " (bytes(budget)) "."
                }
                None => { "There was no budget; the process had " (bytes(run.peak_bytes)) " at its peak." }
            }
        }
    }
}

const LEFT_OVER: &str = "left over";

fn time(cost: &Cost, run: Option<&RunRecord>) -> Markup {
    let part = |label: &str, size: f64| Part { label: label.to_string(), size, shown: seconds(size) };
    // Classes that train at the same time add up to more than the clock shows.
    let known = cost.read_seconds + cost.solve_seconds + cost.certify_seconds;
    let other = (cost.seconds - known).max(0.0);
    let parts: Vec<Part> = [
        part("waiting for blocks", cost.read_seconds),
        part("solving", cost.solve_seconds),
        part("certifying", cost.certify_seconds),
        part("other", other),
    ]
    .into_iter()
    .filter(|part| part.size > 0.0)
    .collect();
    html! {
        @if !parts.is_empty() {
            h3 { "Where " (seconds(cost.seconds)) " went" }
            (stacked(&parts))
        }
        @if let Some([reading, decoding]) = run.and_then(|run| run.background_seconds) {
            p.note {
                "Besides, on a thread of its own: " strong { (number(reading)) " s reading" } " and "
                strong { (number(decoding)) " s decoding" } " blocks."
            }
        }
    }
}

/// A bar of parts, and what they are.
fn stacked(parts: &[Part]) -> Markup {
    let whole: f64 = parts.iter().map(|part| part.size).sum();
    let mut begin = 0.0;
    let mut drawn = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        let width = 100.0 * part.size / whole.max(f64::MIN_POSITIVE);
        drawn.push((begin, width, color(part, place)));
        begin += width;
    }
    html! {
        svg.stacked viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="parts of a whole" {
            @for (part, (begin, width, color)) in parts.iter().zip(&drawn) {
                rect class=(color) x=(format!("{begin:.3}")) width=(format!("{width:.3}")) height="6" {
                    title { (part.label) ": " (part.shown) }
                }
            }
        }
        ul.legend { @for (part, (_, _, color)) in parts.iter().zip(&drawn) {
            li { span class={ "swatch " (color) } {} " " (part.label) " " strong { (part.shown) } }
        } }
    }
}

fn color(part: &Part, place: usize) -> String {
    if part.label == LEFT_OVER || part.label == "other" { "rest".into() } else { format!("color{}", place % 8) }
}
