//! `towline eval`: how good a model is on labelled rows.
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use towline::budget::Budget;
use towline::evaluate::{
    self, BinaryQuality, ClassCounts, ClassQuality, NumberQuality, SeveralQuality, SeveralSums, TargetQuality,
};
use towline::fit::Scores;
use towline::input::ReadOptions;
use towline::input::libsvm::Precision;
use towline::loss::AnyLoss;
use towline::model::Model;
use towline::objective::Targets;
use towline::predict::{self, probabilities};
use towline::store::StoreError;

use crate::input::InputArguments;
use crate::memory::{self, Memory};
use crate::show;

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
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
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
    /// Of many classes.
    Classes(ClassQuality),
    /// Of numbers.
    Numbers(NumberQuality),
    /// Of several numbers a row.
    Several(SeveralQuality),
}

impl Quality {
    /// As JSON.
    pub fn json(&self) -> serde_json::Result<serde_json::Value> {
        match self {
            Quality::Binary(quality) => serde_json::to_value(quality),
            Quality::Classes(quality) => serde_json::to_value(quality),
            Quality::Numbers(quality) => serde_json::to_value(quality),
            Quality::Several(quality) => serde_json::to_value(quality),
        }
    }

    /// The number that models are compared by: accuracy, or root mean square error.
    pub fn score(&self) -> f64 {
        match self {
            Quality::Binary(quality) => quality.accuracy,
            Quality::Classes(quality) => quality.accuracy,
            Quality::Numbers(quality) => quality.rmse,
            Quality::Several(quality) => quality.rmse,
        }
    }

    /// In a line.
    pub fn line(&self) -> String {
        match self {
            Quality::Binary(q) => format!("accuracy {:.2} % of {} rows", 100.0 * q.accuracy, show::count(q.rows)),
            Quality::Classes(q) => {
                format!(
                    "accuracy {:.2} % of {} rows, macro F1 {:.4}",
                    100.0 * q.accuracy,
                    show::count(q.rows),
                    q.macro_f1
                )
            }
            Quality::Several(q) => format!(
                "root mean square error {} of {} rows and {} targets",
                show::measure(q.rmse),
                show::count(q.rows),
                q.targets.len()
            ),
            Quality::Numbers(q) => {
                format!("root mean square error {} of {} rows", show::measure(q.rmse), show::count(q.rows))
            }
        }
    }
}

/// What is kept of each row: growing by doubling holds the old and the new list for a moment, and the area under the curve
/// sorts a copy.
const ROW_BYTES: u64 = 64;

/// Judges `model` on the rows of `input`.
pub fn judge(model: &Model, input: &str, options: &ReadOptions, budget: &Budget) -> anyhow::Result<Quality> {
    let mut paid = budget.reserve("scores", 0).map_err(StoreError::from)?;
    let objective = &model.header.objective;
    let has_probabilities = matches!(objective.loss, AnyLoss::Logistic(_));
    if let Targets::Classes { classes, .. } = &objective.targets {
        let mut counts = ClassCounts::new(&classes.names, has_probabilities);
        let mut chances = Vec::new();
        Scores::open(model, input, options, budget)?.for_each(|row| {
            if has_probabilities {
                probabilities(&objective.targets, row.scores, &mut chances);
            }
            let chance = row.class.and_then(|class| chances.get(class)).copied().unwrap_or(0.0);
            counts.add(row.class, predict::class(row.scores), chance);
            anyhow::Ok(())
        })?;
        let quality = counts.finish();
        if quality.rows == 0 {
            bail!("{input}: no rows to judge the model by");
        }
        return Ok(Quality::Classes(quality));
    }
    if let Targets::Several { names } = &objective.targets {
        let mut sums = SeveralSums::new(names);
        Scores::open(model, input, options, budget)?.for_each(|row| {
            if row.further.len() + 1 != names.len() {
                let (found, wanted) = (row.further.len() + 1, names.len());
                bail!("{input}: rows have {found} targets, and the model predicts {wanted} ({})", names.join(","));
            }
            sums.add(row.scores, std::iter::once(&row.label).chain(row.further));
            anyhow::Ok(())
        })?;
        let quality = sums.finish();
        if quality.rows == 0 {
            bail!("{input}: no rows to judge the model by");
        }
        return Ok(Quality::Several(quality));
    }
    let binary = matches!(objective.targets, Targets::Binary { .. });
    let (mut classes, mut numbers) = (Vec::new(), Vec::new());
    Scores::open_beside(model, input, options, ROW_BYTES, budget)?.for_each(|row| {
        paid.grow_to((classes.len() + numbers.len() + 1) as u64 * ROW_BYTES).map_err(StoreError::from)?;
        if binary {
            classes.push((row.scores[0], row.class == Some(1)));
        } else {
            numbers.push((row.scores[0], row.label));
        }
        anyhow::Ok(())
    })?;
    if classes.is_empty() && numbers.is_empty() {
        bail!("{input}: no rows to judge the model by");
    }
    Ok(if binary {
        Quality::Binary(evaluate::binary(&classes, has_probabilities))
    } else {
        Quality::Numbers(evaluate::numbers(&numbers))
    })
}

/// Prints the quality.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let budget = memory::budget(arguments.memory);
    let (model, _paid) = Model::load_within(&arguments.model, &budget)?;
    let threads = arguments.threads.map_or_else(towline::machine::threads, usize::from);
    let options = arguments.reading.options(Precision::F32, threads, true);
    let quality = judge(&model, &arguments.input, &options, &budget)?;
    if arguments.json {
        show::print(&format!("{}\n", quality.json()?))?;
    } else {
        show::print(&text(&model, &quality))?;
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
        Quality::Classes(q) => {
            line("rows", show::count(q.rows));
            line("accuracy", format!("{:.4} %", 100.0 * q.accuracy));
            line("macro F1", format!("{:.4}", q.macro_f1));
            line("micro F1", format!("{:.4}", q.micro_f1));
            if let Some(log_loss) = q.log_loss {
                line("log loss", format!("{log_loss:.6}"));
            }
            if q.unknown > 0 {
                line("unknown", format!("{} rows of classes that the model does not know", show::count(q.unknown)));
            }
            for (name, row) in q.classes.iter().zip(&q.confusion) {
                line(&format!("true {name}"), predicted(&q.classes, row));
            }
        }
        Quality::Several(q) => {
            let share = |r2: Option<f64>| r2.map_or("a target is always the same".into(), |r2| format!("{r2:.6}"));
            line("rows", show::count(q.rows));
            line("RMSE", show::measure(q.rmse));
            line("MAE", show::measure(q.mae));
            line("mean R²", share(q.r2));
            for TargetQuality { name, quality: target } in &q.targets {
                line(name, format!("RMSE {:.6}, MAE {:.6}, R² {}", target.rmse, target.mae, share(target.r2)));
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

/// Where the rows of a class went, the most frequent class first.
fn predicted(classes: &[String], row: &[u64]) -> String {
    const SHOWN: usize = 6;
    let mut counts: Vec<(u64, &String)> = row.iter().copied().zip(classes).filter(|count| count.0 > 0).collect();
    counts.sort_by_key(|&(rows, _)| std::cmp::Reverse(rows));
    let rest: u64 = counts.iter().skip(SHOWN).map(|count| count.0).sum();
    let mut shown: Vec<String> =
        counts.iter().take(SHOWN).map(|(rows, name)| format!("{} as {name}", show::count(*rows))).collect();
    if rest > 0 {
        shown.push(format!("{} as others", show::count(rest)));
    }
    if shown.is_empty() { "no rows".into() } else { shown.join(", ") }
}
