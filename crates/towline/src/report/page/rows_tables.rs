//! Tables of labelled rows: mistakes, thresholds, the rows that are most wrong.
use maud::{Markup, html};

use super::head::value_of;
use super::weights::shade;
use super::{bar, hint, name};
use crate::report::short::{count, number, percent};
use crate::report::{BinaryRows, ClassRows, Measure, WrongRow};

pub fn measures(all: &[Measure]) -> Markup {
    html! { ul.tiles { @for measure in all { li { strong { (value_of(measure)) } span { (measure.name) } } } } }
}

pub fn binary(found: &BinaryRows) -> Markup {
    let classes: Vec<&str> = found.classes.iter().map(String::as_str).collect();
    let table: Vec<Vec<u64>> = found.confusion.iter().map(|row| row.to_vec()).collect();
    let unit = if found.has_probabilities { "Probability" } else { "Score" };
    let [false_positive, false_negative] = found.costs;
    html! {
        div.grid {
            div { h3 { "Confusion matrix" } (confusion(&classes, &table)) }
            div {
                h3 { "Lift" }
                div.scroll { table {
                    thead { tr { th.number { "Rows taken" } th.number { "Positives found" } th.number { "Lift" } } }
                    tbody { @for row in &found.lift {
                        tr { th.number { (percent(row.taken)) } td.number { (percent(row.found)) } td.number { (number(row.lift)) " ×" } }
                    } }
                } }
            }
        }
        h3 { "Thresholds" }
        p.note {
            "Rows above the threshold are called " (name(&found.positive)) ". Cost: " (number(false_positive))
            " for a false alarm, " (number(false_negative)) " for a miss."
        }
        div.scroll { table {
            thead { tr {
                th.number { (unit) " above" } th.number { "Rows taken" } th.number { "Precision" } th.number { "Recall" }
                th.number { "F1" } th.number { "Cost" } th {}
            } }
            tbody { @for row in &found.thresholds {
                tr class=[row.why.is_some().then_some("best")] {
                    th.number { (number(row.threshold)) } td.number { (percent(row.taken)) }
                    td.number { (percent(row.precision)) } td.number { (percent(row.recall)) }
                    td.number { (format!("{:.4}", row.f1)) } td.number { (number(row.cost)) }
                    td { @if let Some(why) = &row.why { (why) } }
                }
            } }
        } }
    }
}

fn confusion(classes: &[&str], table: &[Vec<u64>]) -> Markup {
    html! {
        div.scroll { table.heat.confusion {
            thead {
                tr { th {} th colspan=(classes.len()) { "predicted" } }
                tr { th { "true" } @for class in classes { th.number { (name(class)) } } }
            }
            tbody { @for (truth, row) in table.iter().enumerate() {
                @let all = row.iter().sum::<u64>().max(1) as f64;
                tr {
                    th { (name(classes[truth])) }
                    @for (predicted, &rows) in row.iter().enumerate() {
                        @let share = rows as f64 / all;
                        td class={ "number " (shade(if predicted == truth { share } else { -share })) } title=(percent(share)) {
                            (count(rows))
                        }
                    }
                }
            } }
        } }
    }
}

pub fn classes(found: &ClassRows) -> Markup {
    let names: Vec<&str> = found.names.iter().map(String::as_str).collect();
    let left_out = found.count - found.classes.len();
    html! {
        @if !names.is_empty() { h3 { "Confusion matrix" } (confusion(&names, &found.confusion)) }
        div.grid {
            div {
                h3 { "Classes" }
                div.tall.scroll { table {
                    thead { tr { th { "Class" } th.number { "Rows" } th.number { "Precision" } th.number { "Recall" } th.number { "F1" } th {} } }
                    tbody { @for class in &found.classes {
                        tr {
                            th { (name(&class.name)) } td.number { (count(class.rows)) }
                            td.number { (percent(class.precision)) } td.number { (percent(class.recall)) }
                            td.number { (format!("{:.4}", class.f1)) } td.bars { (bar(class.f1, "up")) }
                        }
                    } }
                } }
                @if left_out > 0 { (hint(&format!("{left_out} classes with fewer rows are left out."))) }
            }
            div {
                h3 { "Mistaken most" }
                div.tall.scroll { table {
                    thead { tr { th { "True" } th { "Taken for" } th.number { "Rows" } th.number { "Of the class" } } }
                    tbody { @for pair in &found.confused {
                        tr {
                            th { (name(&pair.truth)) } td { (name(&pair.predicted)) }
                            td.number { (count(pair.rows)) } td.number { (percent(pair.share)) }
                        }
                    } }
                } }
            }
        }
    }
}

pub fn wrong(rows: &[WrongRow]) -> Markup {
    html! {
        h3 { "Most wrong" }
        @if rows.is_empty() { p { "No row is wrong." } } @else {
            p.note { "What features add to the mistake, compared with an average row." }
            div.scroll { table.wrong {
                thead { tr { th.number { "Row" } th { "True" } th { "Predicted" } th.number { "Off by" } th { "Pulled by" } } }
                tbody { @for row in rows {
                    tr {
                        th.number { (count(row.row)) } td { (name(&row.truth)) } td { (name(&row.predicted)) }
                        td.number { (number(row.by)) }
                        td { ul.pulls { @for pull in &row.pulls {
                            li { (name(&pull.feature)) " = " (number(pull.value)) " " span.pull { "+" (number(pull.pull)) } }
                        } } }
                    }
                } }
            } }
        }
    }
}
