//! `towline schema`: what the columns of a table are taken for, as a file to edit.
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use towline::input::libsvm::Precision;
use towline::input::table::{ColumnPolicy, Known};
use towline::input::{Progress, RowBatch};
use towline::schema::{Absent, ColumnSchema, ImputeBy, Kind, Schema};

use crate::input::{InputArguments, expand};
use crate::memory::{self, Memory};
use crate::show;

/// Arguments of `towline schema`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  towline schema loans.csv --label defaulted > loans.toml
  towline pack loans.csv -o loans.tow --schema loans.toml")]
pub struct Arguments {
    /// A table: a path, or - for standard input
    input: String,
    /// Memory to use, such as 512M [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
    #[command(flatten)]
    reading: InputArguments,
}

/// Prints the schema.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let budget = memory::budget(arguments.memory);
    let options = arguments.reading.options(Precision::F32, 1, false)?;
    let inputs = expand(std::slice::from_ref(&arguments.input))?;
    let mut source = towline::input::open(&inputs, &options, &budget, &Progress::default())?;
    source.next_batch(&mut RowBatch::default())?;
    let Some(schema) = source.schema() else {
        bail!("{}: its features have no columns; a schema says what the columns of tables are", arguments.input);
    };
    show::print(&toml::to_string(&schema).context("the schema cannot be written")?)?;
    show::notes(&source.remarks());
    Ok(ExitCode::SUCCESS)
}

/// Reads a schema that was written by hand.
pub fn read(path: &Path, columns: ColumnPolicy) -> anyhow::Result<Known> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read it", path.display()))?;
    let schema: Schema = toml::from_str(&text).map_err(|error| {
        anyhow::anyhow!("{}: {}; see 'towline schema --help'", path.display(), error.to_string().trim_end())
    })?;
    if let Err(problem) = schema.check() {
        bail!("{}: {problem}; correct the file", path.display());
    }
    Ok(Known { schema: Arc::new(schema), columns, extend: true })
}

/// A line for each of the first columns.
pub fn lines(schema: &Schema) -> Vec<(String, String)> {
    const SHOWN: usize = 40;
    let mut lines: Vec<(String, String)> =
        schema.columns.iter().take(SHOWN).map(|column| ("column".into(), describe(schema, column))).collect();
    lines.extend(schema.interactions.iter().map(|[a, b]| ("column".into(), format!("{a}*{b}: product"))));
    if schema.columns.len() > SHOWN {
        lines.push(("column".into(), format!("… {} in all", show::count(schema.columns.len() as u64))));
    }
    lines
}

fn describe(schema: &Schema, column: &ColumnSchema) -> String {
    let name = &column.name;
    let part = match () {
        () if schema.label.contains(name) => "label, ",
        () if schema.weight.as_ref() == Some(name) => "weight, ",
        () if schema.group.as_ref() == Some(name) => "group, ",
        () => "",
    };
    let kind = kind(column.kind);
    let absent = match (column.impute, column.absent) {
        (Some(value), _) => format!(", {}{} where absent", by(column.impute_by), show::number(value)),
        (None, Absent::Zero) if part.is_empty() && column.kind != Kind::Ignored => ", 0 where absent".into(),
        _ => String::new(),
    };
    let rare = match (column.rare, &column.levels) {
        (Some(rare), Some(levels)) => format!(", {} levels in at least {rare} rows", show::count(levels.len() as u64)),
        (Some(rare), None) => format!(", levels in at least {rare} rows"),
        (None, _) => String::new(),
    };
    format!("{name}: {part}{kind}{rare}{absent}")
}

/// What a column holds.
pub fn kind(kind: Kind) -> String {
    match kind {
        Kind::Number => "number".to_string(),
        Kind::Amount(_) => "amount".into(),
        Kind::Boolean => "yes or no".into(),
        Kind::Category => "category".into(),
        Kind::Text(words) => format!("text, {words}"),
        Kind::Date(form) => {
            let parts = if form.time { "date and time" } else { "date" };
            if form.cyclic { format!("{parts}, cyclic") } else { parts.into() }
        }
        Kind::List => "list of numbers".into(),
        Kind::Ignored => "left out".into(),
        _ => "empty".into(),
    }
}

fn by(impute: ImputeBy) -> &'static str {
    match impute {
        ImputeBy::Median => "median ",
        ImputeBy::MostFrequent => "most frequent ",
        _ => "",
    }
}
