//! `towline eval`: how good a model is on labelled rows.
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use towline::budget::Budget;
use towline::evaluate::{self, BinaryQuality, NumberQuality};
use towline::input::ReadOptions;
use towline::input::libsvm::Precision;
use towline::loss::AnyLoss;
use towline::model::Model;
use towline::objective::Targets;
use towline::store::StoreError;

use crate::input::InputArguments;
use crate::{scoring, show, size};

/// Arguments of `towline eval`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The model
    model: PathBuf,
    /// Labelled rows in any format, a store, or - for standard input
    input: String,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    /// Memory to use, such as 512M [default: half of what is free, at most 4G]
    #[arg(long, value_parser = size::parse)]
    memory: Option<u64>,
    /// Threads that parse [default: all processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    #[command(flatten)]
    reading: InputArguments,
}

/// How good a model is.
pub enum Quality {
    /// Of two classes.
    Binary(BinaryQuality),
    /// Of numbers.
    Numbers(NumberQuality),
}

impl Quality {
    /// As JSON.
    pub fn json(&self) -> serde_json::Result<serde_json::Value> {
        match self {
            Quality::Binary(quality) => serde_json::to_value(quality),
            Quality::Numbers(quality) => serde_json::to_value(quality),
        }
    }

    /// In a line.
    pub fn line(&self) -> String {
        match self {
            Quality::Binary(q) => format!("accuracy {:.2} % of {} rows", 100.0 * q.accuracy, show::count(q.rows)),
            Quality::Numbers(q) => format!("root mean square error {:.6} of {} rows", q.rmse, show::count(q.rows)),
        }
    }
}

/// Judges `model` on the rows of `input`.
pub fn judge(model: &Model, input: &str, options: &ReadOptions, budget: &Budget) -> anyhow::Result<Quality> {
    let mut paid = budget.reserve("scores", 0).map_err(StoreError::from)?;
    let binary = matches!(model.header.objective.targets, Targets::Binary { .. });
    let (mut classes, mut numbers) = (Vec::new(), Vec::new());
    scoring::score(model, input, options, budget, |rows| {
        // Growing by doubling holds the old and the new list for a moment, and the area under the curve sorts a copy.
        paid.grow_to((classes.len() + numbers.len() + rows.len()) as u64 * 64).map_err(StoreError::from)?;
        if binary {
            classes.extend(rows.iter().map(|row| (row.score, row.positive)));
        } else {
            numbers.extend(rows.iter().map(|row| (row.score, row.label)));
        }
        Ok(())
    })?;
    if classes.is_empty() && numbers.is_empty() {
        bail!("{input}: no rows to judge the model by");
    }
    let logistic = matches!(model.header.objective.loss, AnyLoss::Logistic(_));
    Ok(if binary {
        Quality::Binary(evaluate::binary(&classes, logistic))
    } else {
        Quality::Numbers(evaluate::numbers(&numbers))
    })
}

/// Prints the quality.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let model = Model::load(&arguments.model)?;
    let budget = Budget::new(arguments.memory.unwrap_or_else(towline::machine::default_memory_bytes));
    let threads = arguments.threads.map_or_else(towline::machine::threads, usize::from);
    let options = arguments.reading.options(Precision::F32, threads, true);
    let quality = judge(&model, &arguments.input, &options, &budget)?;
    if arguments.json {
        println!("{}", quality.json()?);
    } else {
        print!("{}", text(&model, &quality));
    }
    Ok(ExitCode::SUCCESS)
}

fn text(model: &Model, quality: &Quality) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut line = |name: &str, value: String| lines.push((name.to_string(), value));
    match quality {
        Quality::Binary(q) => {
            line("rows", show::count(q.rows));
            line("accuracy", format!("{:.4} %", 100.0 * q.accuracy));
            line("precision", format!("{:.4}", q.precision));
            line("recall", format!("{:.4}", q.recall));
            line("F1", format!("{:.4}", q.f1));
            line("AUC", q.auc.map_or("needs rows of both classes".into(), |auc| format!("{auc:.6}")));
            if let Some(log_loss) = q.log_loss {
                line("log loss", format!("{log_loss:.6}"));
            }
            if let Targets::Binary { names, .. } = &model.header.objective.targets {
                for (truth, name) in names.iter().enumerate() {
                    let [negative, positive] = q.confusion[truth].map(show::count);
                    line(&format!("true {name}"), format!("{negative} as {}, {positive} as {}", names[0], names[1]));
                }
            }
        }
        Quality::Numbers(q) => {
            line("rows", show::count(q.rows));
            line("RMSE", format!("{:.6}", q.rmse));
            line("MAE", format!("{:.6}", q.mae));
            line("R²", q.r2.map_or("the labels are all the same".into(), |r2| format!("{r2:.6}")));
        }
    }
    show::table(&lines)
}
