//! `towline cv`: which C, and which loss, by rows that the models have not seen.
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;

use towline::budget::Budget;
use towline::cv::{Point, Validated};
use towline::evaluate::Metric;
use towline::fit::CrossValidation;
use towline::input::libsvm::Precision;
use towline::model::Header;
use towline::output::{Inputs, Kind, OutputFile};
use towline::report::{Report, ValidationReport};
use towline::stop::Stop;
use towline::store::DiskStore;
use towline::trainer::{Solver, Status, TrainError};
use towline::{Data, Fit, FitError};

use crate::beside::pack_beside;
use crate::grid::{self, Grid};
use crate::input::{InputArguments, check_readable};
use crate::memory::{self, Memory};
use crate::objective::{ObjectiveArguments, positive_number};
use crate::pack::stop_on_signal;
use crate::preparation::PreparationArguments;
use crate::trace::Watcher;
use crate::{command_line, exit, method, report, show, size, summary};

/// Arguments of `towline cv`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  towline cv reviews.tow -C 0.01..100
  towline cv reviews.tow -C 0.1,1,10 --loss hinge,logistic --folds 10 --stratify
  towline cv fraud.tow -C 0.01..100 --loss logistic --metric pr-auc --repeats 3
  towline cv sales.tow --folds 8 --ordered
  towline cv reviews.tow -C 0.01..1000 --refit -o reviews.towm")]
pub struct Arguments {
    /// A store, or a file, which is packed beside itself once
    #[arg(value_name = "STORE_OR_FILE")]
    data: PathBuf,
    /// Values of C: a list like 0.1,1,10, a range like 0.01..1000 with a value per power of ten, or 0.01..1000:11 with
    /// 11 values
    #[arg(short = 'C', short_alias = 'c', default_value = "0.01..100", value_parser = grid::parse)]
    c: Grid,
    /// Parts that the rows are divided into; each is held out once
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    folds: u32,
    /// Give every fold the same share of every class
    #[arg(long)]
    stratify: bool,
    /// Let rows of one group (qid:, or --group COLUMN) go to different folds
    #[arg(long)]
    split_groups: bool,
    /// Number of repetitions, each with new folds
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    /// Folds in the order of the input, such as time: each is tested by the rows that come after those it was trained on
    #[arg(long, conflicts_with_all = ["stratify", "repeats"])]
    ordered: bool,
    /// What models are compared by: accuracy, balanced-accuracy, precision, recall, f1, mcc, auc, pr-auc, log-loss, brier; of
    /// many classes macro-f1, micro-f1, top-K; of numbers rmse, mae, r2 [default: accuracy, for numbers rmse]
    #[arg(long, value_name = "NAME")]
    metric: Option<Metric>,
    #[command(flatten)]
    objective: ObjectiveArguments,
    /// Train a model on all rows with the best C at the end
    #[arg(long)]
    refit: bool,
    /// With --refit, take the least C within one standard error of the best
    #[arg(long, requires = "refit")]
    one_standard_error: bool,
    /// The model of --refit [default: the name of the data with the ending .towm]
    #[arg(long, short, value_name = "MODEL", requires = "refit")]
    output: Option<PathBuf>,
    /// Stop each model when its relative duality gap is this small
    #[arg(long, default_value_t = 1e-3)]
    tolerance: f64,
    /// Stop each model after this many passes over the data
    #[arg(long, default_value_t = 1000)]
    max_passes: u64,
    /// Stop after this many seconds in all; what there was no time for has no score
    #[arg(long, value_name = "SECONDS")]
    max_time: Option<f64>,
    /// How each problem is solved
    #[arg(long, default_value = "auto", value_parser = method::solver())]
    solver: Solver,
    /// Seed of the folds and of all other random choices
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Begin anew, even if an earlier run was interrupted
    #[arg(long)]
    restart: bool,
    /// Memory for the whole process, such as 512M, or +512M for data beside the program itself
    /// [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
    /// Threads [default: all processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    /// Write a page to look at: scores by C, a line for each fold, and the model of --refit
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: InputArguments,
    #[command(flatten)]
    preparation: PreparationArguments,
}

/// Validates and says what came of it.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let budget = memory::budget(arguments.memory);
    let threads = arguments.threads.map_or_else(towline::machine::threads, usize::from);
    let talk = !arguments.quiet && !arguments.json;
    let reading = arguments.reading.options(Precision::F32, threads, true)?;
    check_readable(&arguments.data, &reading)?;
    let output = arguments.output.clone().unwrap_or_else(|| arguments.data.with_extension("towm"));
    let inputs = Inputs::none().and(&arguments.data);
    let mut place = arguments.refit.then(|| OutputFile::open(&output, Kind::Model, &inputs)).transpose()?;
    let mut page = report::open(arguments.report.as_deref(), &inputs)?;
    arguments.preparation.check_data(&arguments.data)?;
    let how = (&arguments.reading, &arguments.preparation);
    let path = match arguments.data.is_dir() {
        true => arguments.data.clone(),
        false => pack_beside(&arguments.data, how, threads, &budget, !talk).map_err(exit::on_the_way)?,
    };
    let data = Data::from(&Arc::new(DiskStore::open_within(&path, &budget)?));
    let stop = Stop::default();
    let fits = fits(arguments, &budget, &stop)?;
    let folder = arguments.data.with_extension("cv");
    let validation = validation(arguments, fits.clone()).checkpoint(&folder);
    let objectives = validation.objectives(&data, &budget)?;
    stop_on_signal(&stop)?;
    let mut watcher = Watcher::new(None, None, arguments.tolerance, talk)?;
    let begin = Instant::now();
    let found = validation.run_on(&objectives, &data, &budget, &mut watcher);
    watcher.finish()?;
    if let Err(FitError::Train(TrainError::Stopped(_))) = found {
        show::say(&format!("towline: interrupted; the same command goes on from {}\n", folder.display()));
        return Ok(exit::of_training(Status::Interrupted));
    }
    let found = found.map_err(|error| exit::on_the_way(exit::cause(error.into())))?;
    let chosen = if arguments.one_standard_error { found.one_standard_error } else { found.best };
    let refitted = match &mut place {
        Some(place) => {
            let mut fit = fits[chosen / arguments.c.0.len()].clone();
            if let Some(limit) = time_limit(arguments)? {
                // The limit is for all of it; a little is left even if it is over.
                fit = fit.max_time(limit.saturating_sub(begin.elapsed()).max(Duration::from_millis(1)));
            }
            Some(refit(place, fit.c(objectives[chosen].c), &data, talk.then_some(arguments.tolerance))?)
        }
        None => None,
    };
    if arguments.json {
        show::print(&format!("{}\n", json(&found, begin, refitted.as_ref())?))?;
    } else {
        let mut shown = text(&found, begin.elapsed().as_secs_f64());
        if let (Some(header), Some(place)) = (&refitted, &place) {
            shown += &format!("\nall rows with C = {}:\n", header.objective.c);
            shown += &summary::text(place.path(), header, 0.0, None, None);
        }
        show::print(&shown)?;
    }
    if let Some(page) = &mut page {
        let mut drawn = match &place {
            Some(place) => report::of_training(place.path(), data.disk(), (None, &reading), &budget)?,
            None => Report::new(&format!("Cross-validation of {}", report::short_name(&arguments.data))),
        };
        drawn.validation = Some(ValidationReport::new(&found, &data.describe(), Some(command_line::typed())));
        report::write(&drawn, page, talk)?;
    }
    let refit = refitted.map(|header| header.status);
    let statuses = found.points.iter().map(|point| point.status).chain(refit);
    Ok(exit::of_training(Status::of_all(statuses)))
}

/// The time for all of it, if it is limited.
fn time_limit(arguments: &Arguments) -> anyhow::Result<Option<Duration>> {
    let Some(seconds) = arguments.max_time else { return Ok(None) };
    let limit = Duration::try_from_secs_f64(positive_number("--max-time", seconds)?);
    Ok(Some(limit.context("--max-time is too long")?))
}

/// A fit for each loss.
fn fits(arguments: &Arguments, budget: &Budget, stop: &Stop) -> anyhow::Result<Vec<Fit>> {
    let fit = |chosen: ObjectiveArguments| {
        let mut fit =
            chosen.fit()?.tolerance(arguments.tolerance).max_passes(arguments.max_passes).seed(arguments.seed);
        if let Some(threads) = arguments.threads {
            fit = fit.threads(threads.into());
        }
        if let Some(limit) = time_limit(arguments)? {
            fit = fit.max_time(limit);
        }
        if arguments.solver != Solver::Auto {
            fit = fit.solver(arguments.solver);
        }
        let fit = fit.budget(budget.clone()).stop(stop.clone());
        anyhow::Ok(if arguments.restart { fit.restart() } else { fit })
    };
    arguments.objective.each_loss().into_iter().map(fit).collect()
}

/// Every loss with every C.
fn validation(arguments: &Arguments, fits: Vec<Fit>) -> CrossValidation {
    let mut fits = fits.into_iter();
    let first = fits.next().unwrap_or_default().cross_validate();
    let validation = fits
        .fold(first, CrossValidation::and)
        .cs(arguments.c.0.clone())
        .folds(arguments.folds)
        .repeats(arguments.repeats)
        .ordered(arguments.ordered)
        .stratify(arguments.stratify)
        .split_groups(arguments.split_groups);
    match arguments.metric {
        Some(metric) => validation.metric(metric),
        None => validation,
    }
}

fn refit(place: &mut OutputFile, fit: Fit, data: &Data, tolerance: Option<f64>) -> anyhow::Result<Header> {
    let prepared = fit.command(command_line::typed()).checkpoint(place.path()).restart().prepare(data)?;
    let mut watcher = Watcher::new(None, None, tolerance.unwrap_or(1.0), tolerance.is_some())?;
    let mut trained = prepared.begin()?.train(&mut watcher)?;
    watcher.finish()?;
    Ok(prepared.write(&mut trained, place)?)
}

fn json(found: &Validated, begin: Instant, refitted: Option<&Header>) -> anyhow::Result<serde_json::Value> {
    let mut value = serde_json::to_value(found)?;
    value["schema"] = 1.into();
    value["score"] = found.metric.name().into();
    value["best_c"] = found.points[found.best].c.into();
    value["one_standard_error_c"] = found.points[found.one_standard_error].c.into();
    value["seconds"] = begin.elapsed().as_secs_f64().into();
    value["peak_memory_bytes"] = towline::machine::peak_memory_bytes().into();
    value["refit"] = refitted.map(serde_json::to_value).transpose()?.into();
    Ok(value)
}

fn text(found: &Validated, seconds: f64) -> String {
    let show_score = |score: f64| match found.metric.is_share_of_rows() {
        _ if score.is_nan() => "-".to_string(),
        false => format!("{score:.6}"),
        true => format!("{:.3} %", 100.0 * score),
    };
    let score = title(found);
    let mut out = format!("{:<28} {:>10}   {:>12}  ± {:<10} {:>9}\n", "loss", "C", score, "error", "gap");
    for (i, point) in found.points.iter().enumerate() {
        let mark = match (i == found.best, i == found.one_standard_error) {
            (true, true) => "  best, and least C within one standard error",
            (true, false) => "  best",
            (false, true) => "  least C within one standard error",
            _ => "",
        };
        let note = match point.status {
            Status::Converged => "",
            _ if point.mean.is_nan() => "  no time",
            _ => "  not converged",
        };
        let gap = if point.mean.is_nan() { "-".to_string() } else { format!("{:.1e}", point.relative_gap) };
        out += &format!(
            "{:<28} {:>10}   {:>12}  ± {:<10} {:>9}{mark}{note}\n",
            point.loss,
            show::number(point.c),
            show_score(point.mean),
            show_score(point.standard_error),
            gap,
        );
    }
    out += "\n";
    out += &plot(&found.points, found.metric);
    let [models, together] = found.models;
    out += &format!(
        "\n{models} models, {} at a time; {} passes, {} read, peak memory {}, {seconds:.1} s\n",
        together.min(models),
        found.cost.passes,
        size::show(found.cost.bytes_read),
        size::show(towline::machine::peak_memory_bytes()),
    );
    out
}

/// What the scores are called.
fn title(found: &Validated) -> String {
    match (found.metric, &found.positive) {
        (Metric::Rmse, _) => "root mean square error".into(),
        (metric, Some(positive)) => format!("{} of {positive}", metric.title()),
        (metric, None) => metric.title(),
    }
}

/// A line per C: where the mean lies between the least and the largest score of all folds, and its standard error.
fn plot(points: &[Point], metric: Metric) -> String {
    const WIDTH: usize = 56;
    let ends = |point: &Point| [point.mean - point.standard_error, point.mean + point.standard_error];
    let all: Vec<f64> = points.iter().flat_map(ends).filter(|x| x.is_finite()).collect();
    let (low, high) = all.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
    let place = |x: f64| {
        let share = if high > low { (x - low) / (high - low) } else { 0.5 };
        (share.clamp(0.0, 1.0) * (WIDTH - 1) as f64).round() as usize
    };
    let scale = |x: f64| if metric.is_share_of_rows() { format!("{:.2} %", 100.0 * x) } else { format!("{x:.4}") };
    let mut out = format!("{:>10}  {:<half$}{:>half$}\n", "C", scale(low), scale(high), half = WIDTH / 2);
    for point in points.iter().filter(|point| point.mean.is_finite()) {
        let mut line = vec![' '; WIDTH];
        let [from, to] = ends(point).map(place);
        line[from..=to].fill('─');
        line[place(point.mean)] = '●';
        let line: String = line.into_iter().collect();
        out += &format!("{:>10}  {}\n", show::number(point.c), line.trim_end());
    }
    out
}
