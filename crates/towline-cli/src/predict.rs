//! `towline predict`: labels, scores or probabilities, a line per row, in the order of the input.
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use towline::fit::Scores;
use towline::input::libsvm::Precision;
use towline::loss::AnyLoss;
use towline::model::Model;
use towline::output::{Inputs, Kind};
use towline::predict::{label, probabilities};

use crate::destination::Destination;
use crate::input::InputArguments;
use crate::memory::{self, Memory};

/// Arguments of `towline predict`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The model
    model: PathBuf,
    /// Rows in any format, a store, or - for standard input
    input: String,
    /// The file to write [default: standard output]
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Write scores instead of labels: one, or one per class in the order that 'towline info' shows
    #[arg(long, conflicts_with = "probabilities")]
    scores: bool,
    /// Write the probability of the second of two classes, or of each of many (logistic loss only)
    #[arg(long)]
    probabilities: bool,
    /// Memory to use, such as 512M [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
    /// Threads that parse [default: all processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    #[command(flatten)]
    reading: InputArguments,
}

/// Writes a line per row.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let budget = memory::budget(arguments.memory);
    let (model, _paid) = Model::load_within(&arguments.model, &budget)?;
    let objective = &model.header.objective;
    if arguments.probabilities && !matches!(objective.loss, AnyLoss::Logistic(_)) {
        bail!("--probabilities needs a model trained with --loss logistic; this one has {}", objective.loss.name());
    }
    let threads = arguments.threads.map_or_else(towline::machine::threads, usize::from);
    let options = arguments.reading.options(Precision::F32, threads, false);
    let inputs = Inputs::none().and(&arguments.model).and(&arguments.input);
    let kind = Kind::Predictions(objective.targets.names().to_vec());
    let mut destination = Destination::open(arguments.output.as_deref(), kind, &inputs)?;
    let mut out = destination.begin()?;
    let mut chances = Vec::new();
    Scores::open(&model, &arguments.input, &options, &budget)?.for_each(|row| {
        if arguments.scores {
            write_numbers(&mut out, row.scores)?;
        } else if arguments.probabilities {
            probabilities(&objective.targets, row.scores, &mut chances);
            // Of two classes, the second says it all.
            write_numbers(&mut out, if row.scores.len() == 1 { &chances[1..] } else { &chances })?;
        } else {
            writeln!(out, "{}", label(&objective.targets, row.scores))?;
        }
        anyhow::Ok(())
    })?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// A line, with a blank between numbers.
fn write_numbers(out: &mut impl Write, numbers: &[f64]) -> std::io::Result<()> {
    for (i, number) in numbers.iter().enumerate() {
        write!(out, "{}{number}", if i == 0 { "" } else { " " })?;
    }
    writeln!(out)
}
