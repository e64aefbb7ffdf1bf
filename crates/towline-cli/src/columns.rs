//! `towline info --columns`: what was found in the columns of a table.
use serde_json::{Value, json};
use towline::schema::{ColumnSchema, Kind, Schema};
use towline::store::{Range, TableColumn};

use crate::{schema, show};

/// A table with a line for each column.
pub fn text(schema: &Schema, found: &[TableColumn], rows: u64) -> String {
    let head = ["column", "holds", "features", "absent", "examples"].map(String::from);
    let line = |(column, found): (&ColumnSchema, &TableColumn)| {
        let absent = found.absent.map_or("-".to_string(), |absent| share(absent, rows));
        let features = show::count(found.features);
        [column.name.clone(), schema::kind(column.kind), features, absent, examples(column, found)]
    };
    let lines: Vec<[String; 5]> = std::iter::once(head).chain(schema.features().zip(found).map(line)).collect();
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut text = String::new();
    for [name, kind, features, absent, examples] in &lines {
        let [a, b, c, d] = widths;
        text += format!("{name:<a$}  {kind:<b$}  {features:>c$}  {absent:>d$}  {examples}").trim_end();
        text.push('\n');
    }
    text
}

/// The same for programs.
pub fn json(schema: &Schema, found: &[TableColumn]) -> Value {
    let of = |(column, found): (&ColumnSchema, &TableColumn)| {
        let range = found.range.map(|Range { least, mean, most }| json!({"least": least, "mean": mean, "most": most}));
        json!({
            "name": column.name,
            "holds": schema::kind(column.kind),
            "features": found.features,
            "absent": found.absent,
            "examples": found.examples,
            "range": range,
        })
    };
    json!({"schema": 1, "columns": schema.features().zip(found).map(of).collect::<Vec<Value>>()})
}

fn share(absent: u64, rows: u64) -> String {
    format!("{:.1} %", 100.0 * absent as f64 / rows.max(1) as f64)
}

fn examples(column: &ColumnSchema, found: &TableColumn) -> String {
    let more = if found.features > found.examples.len() as u64 { ", …" } else { "" };
    let unit = if matches!(column.kind, Kind::Date(_)) { ", in days since 1970" } else { "" };
    found.range.map_or_else(|| found.examples.join(", ") + more, |of| range(of) + unit)
}

/// Some digits tell where numbers lie: as many as rows in single precision have, for the larger end.
fn range(Range { least, mean, most }: Range) -> String {
    let largest = least.abs().max(most.abs()).max(f64::MIN_POSITIVE);
    let scale = 10f64.powf(5.0 - largest.log10().floor());
    let [least, mean, most] = [least, mean, most].map(|number| {
        let rounded = (number * scale).round() / scale;
        show::number(if rounded == 0.0 || !rounded.is_finite() { 0.0 } else { rounded })
    });
    format!("{least} to {most}, mean {mean}")
}
