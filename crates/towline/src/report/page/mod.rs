//! The page: one HTML file with everything in it.
//!
//! Text is escaped by maud, and numbers for charts are JSON in which no `<` is left. The policy of the page lets just the
//! script and the style run that are part of this program, by their hashes; nothing is loaded from anywhere.
mod chart;
mod convergence;
mod data;
pub mod fragment;
mod head;
mod memory;
mod path;
mod rows;
mod rows_tables;
#[cfg(test)]
mod tests;
mod validation;
mod weights;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::Report;
use crate::output::REPORT_HEAD;
use chart::Charts;

/// uPlot draws the charts; its licence is in `report-assets/uPlot.LICENSE`, and at the head of the script.
const PLOT_SCRIPT: &str = include_str!("../../../report-assets/uPlot.iife.min.js");
const PLOT_STYLE: &str = include_str!("../../../report-assets/uPlot.min.css");
const PLOT_LICENCE: &str = include_str!("../../../report-assets/uPlot.LICENSE");
const SCRIPT: &str = include_str!("../../../report-assets/report.js");
const STYLE: &str = include_str!("../../../report-assets/report.css");

/// A part of the page; nothing where there is nothing to say.
struct Section {
    id: &'static str,
    title: &'static str,
    body: Markup,
}

/// The page of a report.
pub fn html(report: &Report) -> String {
    let mut charts = Charts::default();
    let sections = [
        Some(Section { id: "head", title: "Summary", body: head::body(report) }),
        convergence::body(report, &mut charts).map(|body| Section { id: "convergence", title: "Convergence", body }),
        memory::body(report).map(|body| Section { id: "memory", title: "Memory and time", body }),
        weights::body(report).map(|body| Section { id: "model", title: "The model", body }),
        path::body(report, &mut charts).map(|body| Section { id: "path", title: "The path", body }),
        validation::body(report, &mut charts).map(|body| Section { id: "validation", title: "Cross-validation", body }),
        rows::body(report, &mut charts).map(|body| Section { id: "rows", title: "Rows", body }),
        data::body(report, &mut charts).map(|body| Section { id: "data", title: "Data", body }),
    ];
    let sections: Vec<Section> = sections.into_iter().flatten().collect();
    let script = format!("/*\n{PLOT_LICENCE}*/\n{PLOT_SCRIPT}\n{SCRIPT}");
    let style = format!("{PLOT_STYLE}\n{STYLE}");
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        source_of(&script),
        source_of(&style)
    );
    let page = html! {
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(report.made_by);
                title { (report.title) " – Towline" }
                style { (PreEscaped(&style)) }
            }
            body {
                header {
                    p.kind { "Towline report" }
                    h1 { bdi { (report.title) } }
                    nav { @for section in &sections { a href={ "#" (section.id) } { (section.title) } } }
                }
                main {
                    @for section in &sections {
                        section id=(section.id) { h2 { (section.title) } (section.body) }
                    }
                }
                footer { p { "Made by " (report.made_by) ". Charts by uPlot. This page needs no network." } }
                noscript { p.note { "Charts and search need JavaScript; tables do not." } }
                script type="application/json" id="charts" { (PreEscaped(charts.to_json())) }
                script { (PreEscaped(&script)) }
            }
        }
    };
    // The first line says whose file it is, so that the next report may replace it.
    debug_assert!(REPORT_HEAD.starts_with(DOCTYPE.0));
    format!("{REPORT_HEAD}{}", page.into_string())
}

/// How the policy names a script or a style: by its hash.
fn source_of(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// A table of facts.
fn facts(rows: &[(&str, Markup)]) -> Markup {
    html! { dl.facts { @for (name, value) in rows { div { dt { (name) } dd { (value) } } } } }
}

/// Text that is a name of somebody else: it keeps its own direction.
fn name(text: &str) -> Markup {
    // A name may be as long as a text; its beginning is enough.
    const LONGEST: usize = 120;
    let shown: String = text.chars().take(LONGEST).collect();
    html! { bdi.name { (shown) @if shown.len() < text.len() { "…" } } }
}

/// A bar of this share of its cell.
fn bar(share: f64, class: &str) -> Markup {
    let width = format!("{:.2}", 100.0 * share.clamp(0.0, 1.0));
    html! {
        svg class={ "bar " (class) } viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
            rect width=(width) height="10" {}
        }
    }
}

/// A sentence for where something is not known, and how to get it.
fn hint(text: &str) -> Markup {
    html! { p.hint { (spoken(text)) } }
}

/// A sentence in which names of settings stand in backticks, as everywhere in the library.
fn spoken(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
