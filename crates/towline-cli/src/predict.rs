//! `towline predict`: labels, scores or probabilities, a line per row, in the order of the input.
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use towline::budget::Budget;
use towline::fit::Scores;
use towline::input::ReadOptions;
use towline::input::libsvm::Precision;
use towline::input::table::ColumnRef;
use towline::model::chances::Chances;
use towline::model::{Header, Model};
use towline::objective::Targets;
use towline::output::{Inputs, Kind};
use towline::predict::label;
use towline::store::StoreError;
use towline::table_out::{self, Cell, OutColumn, TableFormat, TableOutError, TableWriter};

use crate::destination::Destination;
use crate::input::InputArguments;
use crate::keep::{self, Kept, Said};
use crate::memory::{self, Memory};
use crate::positive::PositiveArgument;
use crate::show;

/// Arguments of `towline predict`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The model
    model: PathBuf,
    /// Rows in any format, a store, or - for standard input
    input: String,
    /// The file to write [default: standard output]; a table if it ends with .parquet or .arrow
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Columns of the input, such as ids, to write before the predictions, as a table with a line of names: CSV, or what the
    /// name of the output says. The input is read twice
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    keep: Vec<ColumnRef>,
    /// Write scores instead of labels: one, or one per class in the order that 'towline info' shows
    #[arg(long, conflicts_with = "probabilities")]
    scores: bool,
    /// Write the probability of the second of two classes, or of each of many (models of the logistic loss, and calibrated
    /// ones)
    #[arg(long)]
    probabilities: bool,
    /// Write the positive one of two classes where its probability is above this (its score, where the model has no
    /// probabilities); 'towline eval --threshold' finds one
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, value_parser = threshold, conflicts_with_all = ["scores", "probabilities"])]
    threshold: Option<f64>,
    #[command(flatten)]
    positive: PositiveArgument,
    /// Memory to use, such as 512M [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
    /// Threads that parse [default: all processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    #[command(flatten)]
    reading: InputArguments,
}

fn threshold(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|at: &f64| at.is_finite()).ok_or_else(|| "name a number".to_string())
}

/// Writes a line per row.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let budget = memory::budget(arguments.memory);
    let threads = arguments.threads.map_or_else(towline::machine::threads, usize::from);
    let options = arguments.reading.options(Precision::F32, threads, false)?;
    let coming = budget.expect(Scores::least_bytes(&arguments.model, &arguments.input, &options, 0, &budget));
    let (model, _paid) = Model::load_within(&arguments.model, &budget)?;
    drop(coming);
    arguments.reading.check_known(model.header.schema.as_ref())?;
    let objective = &model.header.objective;
    let chances = Chances::of(&model.header);
    if arguments.probabilities && chances.is_none() {
        let loss = objective.loss.name();
        bail!("--probabilities needs a model trained with --loss logistic or --calibrate; this one has {loss}");
    }
    let sides = Sides::of(arguments, &model.header)?;
    let inputs = Inputs::none().and(&arguments.model).and(&arguments.input);
    let name = arguments.output.as_ref().map_or(String::new(), |output| output.to_string_lossy().into_owned());
    let format = TableFormat::of_name(&name);
    if !arguments.keep.is_empty() || format != TableFormat::Csv {
        let source = Source { options: &options, inputs: &inputs, budget: &budget };
        return write_table(arguments, &model, sides.as_ref(), format, source);
    }
    let kind = Kind::Predictions(objective.targets.names().to_vec());
    let mut destination = Destination::open(arguments.output.as_deref(), kind, &inputs)?;
    let mut out = destination.begin()?;
    let mut probabilities = Vec::new();
    let mut scores = Scores::open(&model, &arguments.input, &options, &budget)?;
    scores.for_each(|row| {
        if arguments.scores {
            write_numbers(&mut out, row.scores)?;
        } else if let (true, Some(chances)) = (arguments.probabilities, chances) {
            chances.write(row.scores, &mut probabilities);
            // Of two classes, the second says it all.
            write_numbers(&mut out, if row.scores.len() == 1 { &probabilities[1..] } else { &probabilities })?;
        } else if let Some(sides) = &sides {
            write_line(&mut out, sides.label(chances, row.scores[0]))?;
        } else {
            write_line(&mut out, &label(&objective.targets, row.scores))?;
        }
        anyhow::Ok(())
    })?;
    out.finish()?;
    show::notes(&scores.remarks());
    Ok(ExitCode::SUCCESS)
}

/// Where rows come from.
struct Source<'a> {
    options: &'a ReadOptions,
    inputs: &'a Inputs,
    budget: &'a Budget,
}

/// Writes a table of predictions, with columns of the input before them.
fn write_table(
    arguments: &Arguments,
    model: &Model,
    sides: Option<&Sides>,
    format: TableFormat,
    source: Source,
) -> anyhow::Result<ExitCode> {
    let Source { options, inputs, budget } = source;
    let said = match (arguments.scores, arguments.probabilities) {
        (true, _) => Said::Scores,
        (_, true) => Said::Probabilities,
        _ => Said::Label,
    };
    let mut kept = match arguments.keep.is_empty() {
        true => None,
        false => Some(Kept::open(&arguments.input, &arguments.keep, options, budget)?),
    };
    let mut columns: Vec<OutColumn> = kept.iter().flat_map(|kept| kept.columns()).collect();
    columns.extend(keep::columns(&model.header, said));
    let kind = match format {
        TableFormat::Csv => Kind::Columns(table_out::csv_head(&columns)),
        _ => Kind::BinaryTable,
    };
    let mut destination = Destination::open(arguments.output.as_deref(), kind, inputs)?;
    let mut table = TableWriter::new(format, &columns, destination.begin()?, budget).map_err(in_words)?;
    let (targets, chances) = (&model.header.objective.targets, Chances::of(&model.header));
    let (mut cells, mut numbers) = (Vec::new(), Vec::new());
    Scores::open(model, &arguments.input, options, budget)?.for_each(|row| {
        if let Some(kept) = &mut kept {
            kept.next_row(&mut cells)?;
        }
        let before = keep::cells(&cells);
        if said == Said::Label && !targets.are_numbers() {
            let name =
                sides.map_or_else(|| label(targets, row.scores), |sides| sides.label(chances, row.scores[0]).into());
            return table.row(before.chain([Cell::Text(&name)])).map_err(in_words);
        }
        keep::numbers(said, &row, chances, &mut numbers);
        table.row(before.chain(numbers.iter().map(|&number| Cell::Number(number)))).map_err(in_words)
    })?;
    if let Some(kept) = kept {
        kept.finish()?;
    }
    table.finish().map_err(in_words)?.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// A refusal of the budget keeps its kind, so that the message says what would be enough.
fn in_words(error: TableOutError) -> anyhow::Error {
    match error {
        TableOutError::Io(error) => error.into(),
        TableOutError::Budget(refused) => StoreError::from(refused).into(),
        other => other.into(),
    }
}

/// Two classes with a threshold between them.
struct Sides {
    names: [String; 2],
    positive: usize,
    threshold: f64,
}

impl Sides {
    fn of(arguments: &Arguments, header: &Header) -> anyhow::Result<Option<Sides>> {
        let targets = &header.objective.targets;
        let positive = arguments.positive.place(targets)?;
        let Some(threshold) = arguments.threshold else {
            if positive.is_some() {
                bail!("--positive says which class --threshold is about; add --threshold, or leave it out");
            }
            return Ok(None);
        };
        if !matches!(targets, Targets::Binary { .. }) {
            bail!("--threshold is for models that tell two classes apart; leave it out");
        }
        let positive = positive.unwrap_or(header.reporting.positive());
        Ok(Some(Sides { names: targets.sides(), positive, threshold }))
    }

    /// The class of a row with this score of the second class; 'towline eval' decides in the same way.
    fn label(&self, chances: Option<Chances>, score: f64) -> &str {
        let of_second = chances.map_or(score, |chances| chances.of_second(score));
        let of_positive = match (self.positive, chances) {
            (1, _) => of_second,
            (_, Some(_)) => 1.0 - of_second,
            (_, None) => -score,
        };
        &self.names[if of_positive > self.threshold { self.positive } else { 1 - self.positive }]
    }
}

fn write_line(out: &mut impl Write, text: &str) -> std::io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")
}

/// A line, with a blank between numbers.
fn write_numbers(out: &mut impl Write, numbers: &[f64]) -> std::io::Result<()> {
    for (i, number) in numbers.iter().enumerate() {
        write!(out, "{}{number}", if i == 0 { "" } else { " " })?;
    }
    writeln!(out)
}
