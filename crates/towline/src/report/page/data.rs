//! What the rows are like, and what to do about it.
use maud::{Markup, html};

use super::chart::{Axis, Chart, Charts, Unit};
use super::rows::histogram;
use super::{bar, facts, name, spoken};
use crate::report::short::{bytes, count, number, percent};
use crate::report::{DataReport, Labels, Report};

pub fn body(report: &Report, charts: &mut Charts) -> Option<Markup> {
    let found = report.data.as_ref()?;
    let mut rows = vec![
        (if found.are_training { "Trained on" } else { "Rows of" }, name(&found.name)),
        ("Rows", html! { (count(found.rows)) }),
        ("Features", html! { (count(found.features)) }),
        ("Values other than 0", html! { (count(found.values)) " (" (percent(found.density)) " of all cells)" }),
    ];
    if let Some(stored) = found.stored_bytes.filter(|_| found.are_training) {
        rows.push(("On disk", html! { (bytes(stored)) }));
    }
    if let Some([least, most]) = &found.extremes {
        rows.push(("Smallest scale", html! { (name(&least.0)) ": " (number(least.1)) }));
        rows.push(("Largest scale", html! { (name(&most.0)) ": " (number(most.1)) }));
    }
    rows.push((
        "The same in all rows",
        html! {
            (count(found.constant.1)) " features"
            @if !found.constant.0.is_empty() { ": " (listed(&found.constant.0)) }
        },
    ));
    Some(html! {
        (advice(found))
        (facts(&rows))
        div.grid {
            div { h3 { "Labels" } (labels(&found.labels, found.rows)) }
            (charts.add("Scales of columns: root mean square of what is not 0", scales(found)))
        }
    })
}

fn listed(names: &[String]) -> Markup {
    html! { @for (place, text) in names.iter().enumerate() { @if place > 0 { ", " } (name(text)) } }
}

fn advice(found: &DataReport) -> Markup {
    html! {
        @if found.advice.is_empty() {
            p.note.good { "Nothing to complain of: no feature is constant or gives the label away, and scales are alike." }
        }
        @for advice in &found.advice {
            p.note.warn {
                strong { (advice.found) }
                @if !advice.features.is_empty() { " (" (listed(&advice.features)) ")" }
                ". What to do: " (spoken(&advice.remedy)) "."
            }
        }
    }
}

fn labels(found: &Labels, rows: u64) -> Markup {
    html! {
        @match found {
            Labels::Numbers(targets) => {
                div.scroll { table {
                    thead { tr { th { "Target" } th.number { "Least" } th.number { "Mean" } th.number { "Largest" } } }
                    tbody { @for target in targets {
                        tr {
                            th { @if target.name.is_empty() { "the number" } @else { (name(&target.name)) } }
                            td.number { (number(target.least)) } td.number { (number(target.mean)) } td.number { (number(target.most)) }
                        }
                    } }
                } }
            }
            Labels::Classes { counts, classes, others } => {
                div.scroll { table {
                    thead { tr { th { "Class" } th.number { "Rows" } th.number { "Share" } th {} } }
                    tbody {
                        @for class in counts {
                            @let share = class.rows as f64 / rows.max(1) as f64;
                            tr {
                                th { (name(&class.name)) } td.number { (count(class.rows)) }
                                td.number { (percent(share)) } td.bars { (bar(share, "up")) }
                            }
                        }
                        @if *others > 0 {
                            tr { th { (count(*classes - counts.len() as u64)) " others" } td.number { (count(*others)) }
                                td.number { (percent(*others as f64 / rows.max(1) as f64)) } td {} }
                        }
                    }
                } }
            }
        }
    }
}

fn scales(found: &DataReport) -> Chart {
    let chart = histogram(&found.scales, "scale");
    let series = chart.series.into_iter().map(|series| super::chart::Series { label: "columns".into(), ..series });
    Chart {
        x: Axis::new("scale", Unit::Power),
        y: Axis::new("columns", Unit::Plain),
        series: series.collect(),
        ..chart
    }
}
