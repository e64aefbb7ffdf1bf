//! `towline train`: rows become a model.
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::ValueEnum;
use towline::baselines::{self, Baseline, BaselineOptions};
use towline::budget::Budget;
use towline::input::libsvm::Precision;
use towline::loss::AnyLoss;
use towline::model::Model;
use towline::objective::{Objective, Targets};
use towline::order::OrderName;
use towline::store::features::FeatureMap;
use towline::store::{BlockStore, DiskStore, StoreError};
use towline::trainer::{
    Checkpoint, CheckpointFile, Plan, Selection, Start, Status, StoreFingerprint, Task, TrainOptions, Trained, train,
};

use crate::eval::{Quality, judge};
use crate::exit::NOT_CONVERGED;
use crate::held_out::HeldOut;
use crate::input::InputArguments;
use crate::method::{BASELINE_PASSES, Method};
use crate::pack::{pack_beside, stop_once};
use crate::penalty::PenaltyArguments;
use crate::trace::Watcher;
use crate::{liblinear, plan, show, size};

/// Arguments of `towline train`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  towline train reviews.tow -C 1 --memory 512M
  towline train reviews.svm.gz --loss logistic --test held-out.svm.gz
  towline train reviews.tow -C 100 --warm-start reviews.towm")]
pub struct Arguments {
    /// A store, or a file, which is packed beside itself once
    #[arg(value_name = "STORE_OR_FILE")]
    data: PathBuf,
    /// The model to write [default: the name of the data with the ending .towm]
    #[arg(long, short, value_name = "MODEL")]
    output: Option<PathBuf>,
    /// Labelled rows to judge the model by at the end
    #[arg(long, value_name = "FILE")]
    test: Option<String>,
    /// hinge, squared-hinge, logistic, squared, epsilon-insensitive, squared-epsilon-insensitive or huber
    #[arg(long, default_value = "hinge")]
    loss: String,
    /// The loss by LIBLINEAR's number: 0, 7 logistic; 1, 2 squared-hinge; 3 hinge; 11, 12 squared-epsilon-insensitive; 13 epsilon-insensitive
    #[arg(short = 's', value_name = "TYPE", value_parser = liblinear::loss, conflicts_with = "loss")]
    solver: Option<&'static str>,
    /// The weight of the losses against the penalty
    #[arg(short = 'C', short_alias = 'c', default_value_t = 1.0)]
    c: f64,
    #[command(flatten)]
    penalty: PenaltyArguments,
    /// What the penalty is multiplied by
    #[arg(long, default_value_t = 1.0)]
    lambda: f64,
    /// Half the width of the tube of the epsilon-insensitive losses
    #[arg(long, short = 'p', default_value_t = 0.1)]
    epsilon: f64,
    /// There is no such option; its parser says what to use
    #[arg(short = 'e', hide = true, value_parser = liblinear::epsilon)]
    _gradient_bound: Option<Infallible>,
    /// Where the huber loss becomes linear
    #[arg(long, default_value_t = 1.0)]
    delta: f64,
    /// Append a constant feature of this value to every row; its weight is penalised like the others [0 or less: none]
    #[arg(long, short = 'B', default_value_t = 0.0, value_parser = liblinear::bias, allow_negative_numbers = true)]
    bias: f64,
    /// Fit an intercept that is free of the penalty
    #[arg(long, conflicts_with = "bias")]
    intercept: bool,
    /// The class to tell from all others [default: the larger of two labels]
    #[arg(long, value_name = "LABEL")]
    positive: Option<String>,
    /// LABEL=W multiplies the weight of a class (repeat for both), balanced gives both classes the same weight in all
    #[arg(long, value_name = "LABEL=W|balanced", allow_hyphen_values = true)]
    class_weight: Vec<String>,
    /// Stop when the relative duality gap is this small
    #[arg(long, default_value_t = 1e-3)]
    tolerance: f64,
    /// Stop after this many passes over the data (visits of as many rows, where everything is in memory) [default: 1000; 10 for methods that do not converge by themselves]
    #[arg(long)]
    max_passes: Option<u64>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS")]
    max_time: Option<f64>,
    /// How to train: exactly (auto, sbm, bmd, da-bcd), or as papers do that compare with it
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    method: Method,
    /// Which row is visited next
    #[arg(long, value_enum, default_value_t = OrderChoice::Auto)]
    order: OrderChoice,
    /// The part of the resident rows that stays when new blocks come
    #[arg(long, default_value_t = 0.5, value_parser = share)]
    cache_share: f64,
    /// How the rows that stay are chosen
    #[arg(long, value_enum, default_value_t = SelectionChoice::Gradient)]
    selection: SelectionChoice,
    /// Sweeps over the resident rows before the next blocks come: a number, or auto, as long as they pay
    #[arg(long, default_value = "auto", value_parser = rounds)]
    rounds: Rounds,
    /// Seed of all random choices
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Begin anew, even if an earlier run with the same objective can be continued
    #[arg(long)]
    restart: bool,
    /// Start from the dual variables of another run on this store, of another C or of fewer rows: its MODEL
    #[arg(long, value_name = "MODEL", conflicts_with = "restart")]
    warm_start: Option<PathBuf>,
    /// Memory for the whole process, such as 512M [default: half of what is free, at most 4G]
    #[arg(long, value_parser = size::parse)]
    memory: Option<u64>,
    /// Threads that parse and encode while a file is packed or tested [default: all processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    /// Write a line of JSON per step to this file
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Score the test rows every so many seconds of training (0: at every step) and write that to the trace
    #[arg(long, value_name = "SECONDS", requires = "trace", requires = "test")]
    test_every: Option<f64>,
    /// Show no progress and no summary
    #[arg(long, short)]
    quiet: bool,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: InputArguments,
}

#[derive(Clone, Copy, ValueEnum)]
enum OrderChoice {
    Auto,
    Permutation,
    Shrinking,
    Adaptive,
}

#[derive(Clone, Copy, ValueEnum)]
enum SelectionChoice {
    Gradient,
    Random,
    Gap,
}

/// How many sweeps; `None` is auto.
#[derive(Clone, Copy)]
struct Rounds(Option<u32>);

fn rounds(text: &str) -> Result<Rounds, String> {
    match (text, text.parse()) {
        ("auto", _) => Ok(Rounds(None)),
        (_, Ok(number @ 1..)) => Ok(Rounds(Some(number))),
        _ => Err("name a number from 1 on, or auto".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=0.9).contains(&share) => Ok(share),
        _ => Err("name a number from 0 to 0.9".into()),
    }
}

/// Trains and says what came of it.
pub fn run(arguments: &Arguments, typed: &[String]) -> anyhow::Result<ExitCode> {
    let begin = Instant::now();
    arguments.method.check(typed)?;
    let budget = Budget::new(arguments.memory.unwrap_or_else(towline::machine::default_memory_bytes));
    let threads = arguments.threads.map_or_else(towline::machine::threads, usize::from);
    let store_path = if arguments.data.is_dir() {
        arguments.data.clone()
    } else {
        pack_beside(&arguments.data, &arguments.reading, threads, &budget, arguments.quiet || arguments.json)?
    };
    let pack_seconds = begin.elapsed().as_secs_f64();
    let store = Arc::new(DiskStore::open(&store_path)?);
    let output = arguments.output.clone().unwrap_or_else(|| arguments.data.with_extension("towm"));
    let objective = objective(arguments, &store, &budget)?;
    let reading = arguments.reading.options(Precision::F32, threads, true);
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || stop_once(&flag)).context("cannot watch for Ctrl-C")?;

    let talk = !arguments.quiet && !arguments.json;
    let held_out = match (&arguments.test, arguments.test_every) {
        (Some(test), Some(every)) => Some(HeldOut::open(
            test,
            reading.clone(),
            &store,
            &objective,
            not_negative("--test-every", every)?,
            &budget,
        )?),
        _ => None,
    };
    let mut watcher = Watcher::new(arguments.trace.as_deref(), held_out, arguments.tolerance, talk)?;
    let trained = match arguments.method.baseline() {
        Some(baseline) => {
            let options = baseline_options(arguments, baseline, objective.clone(), &store, stop)?;
            baselines::train(store.clone(), &options, &budget, &mut watcher)?
        }
        None => {
            let mut options = options(arguments, objective.clone(), &store, &output)?;
            let task = &mut options.tasks[0];
            (task.start, task.start_weights) = start(arguments, &objective, &store, &output)?;
            let (weights, goes_on) = (task.start_weights.len() as u64, task.start.is_some());
            let _paid = budget.reserve("weights to start from", 8 * weights).map_err(StoreError::from)?;
            options.stop = stop;
            if talk {
                let plan = Plan::for_models(&*store, &objective, 1, &budget).map_err(StoreError::from)?;
                eprint!("{}", plan::text(&plan, store.blocks().len()));
                if goes_on {
                    eprintln!("note: going on from {} (--restart begins anew)", duals_path(&output).display());
                }
            }
            train(store.clone(), &options, &budget, &mut watcher)?
        }
    };
    watcher.finish()?;
    let model = {
        let features = FeatureMap::read(store.path(), store.manifest(), &budget)?;
        Model::new(&trained, &objective, &store, &features)
    };
    model.save(&output)?;
    let quality = arguments.test.as_ref().map(|test| judge(&model, test, &reading, &budget)).transpose()?;
    if arguments.json {
        println!("{}", json(&trained, pack_seconds, begin, quality.as_ref())?);
    } else if !arguments.quiet {
        print!("{}", summary(&output, &trained, pack_seconds, quality.as_ref()));
    }
    Ok(match trained.status {
        Status::Converged => ExitCode::SUCCESS,
        Status::Interrupted => ExitCode::from(130),
        // A baseline has no tolerance to reach: it was asked for so many passes, and has made them.
        Status::OutOfPasses if trained.baseline.is_some() => ExitCode::SUCCESS,
        Status::OutOfPasses | Status::OutOfTime => ExitCode::from(NOT_CONVERGED),
    })
}

fn positive_number(name: &str, value: f64) -> anyhow::Result<f64> {
    if value.is_finite() && value > 0.0 { Ok(value) } else { bail!("{name} must be a number above 0, not {value}") }
}

fn not_negative(name: &str, value: f64) -> anyhow::Result<f64> {
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        bail!("{name} must be a number that is 0 or more, not {value}")
    }
}

fn objective(arguments: &Arguments, store: &DiskStore, budget: &Budget) -> anyhow::Result<Objective> {
    let name = arguments.solver.unwrap_or(&arguments.loss);
    let loss = AnyLoss::from_name(name, arguments.epsilon, arguments.delta)?;
    let c = positive_number("-C", arguments.c)?;
    let penalty = arguments.penalty.penalty(arguments.lambda, store, budget)?;
    // An intercept is the weight of a constant feature, free of the penalty.
    let (bias, intercept) = (if arguments.intercept { 1.0 } else { arguments.bias }, arguments.intercept);
    if !loss.is_classification() {
        if arguments.positive.is_some() || !arguments.class_weight.is_empty() {
            bail!(
                "--positive and --class-weight are for classification, and the {} loss is for regression",
                loss.name()
            );
        }
        if store.manifest().labels.names.is_some() {
            bail!("the labels are text, and the {} loss predicts numbers; use a classification loss", loss.name());
        }
        return Ok(Objective { loss, c, bias, penalty, intercept, targets: Targets::Numbers });
    }
    let labels = &store.manifest().labels;
    let mut targets = Targets::binary(labels, arguments.positive.as_deref())?;
    targets.weigh(labels, &arguments.class_weight)?;
    Ok(Objective { loss, c, bias, penalty, intercept, targets })
}

fn options(
    arguments: &Arguments,
    objective: Objective,
    store: &DiskStore,
    output: &Path,
) -> anyhow::Result<TrainOptions> {
    if matches!(arguments.method, Method::DaBcd | Method::DBcd) && objective.is_plain_l2() {
        bail!(
            "--method da-bcd and d-bcd are for other penalties than l2; use sbm or bmd, or add --penalty l1 or --intercept"
        );
    }
    let (centre, sweeps) = arguments.method.centre();
    let path = duals_path(output);
    let checkpoint = Some(CheckpointFile { path, store: StoreFingerprint::of(store.manifest()) });
    let task = Task { checkpoint, ..Task::new(objective) };
    Ok(TrainOptions {
        tasks: vec![task],
        tolerance: positive_number("--tolerance", arguments.tolerance)?,
        max_passes: arguments.max_passes.unwrap_or(1000),
        max_time: max_time(arguments)?,
        order: match arguments.order {
            OrderChoice::Auto => OrderName::Auto,
            OrderChoice::Permutation => OrderName::Permutation,
            OrderChoice::Shrinking => OrderName::Shrinking,
            OrderChoice::Adaptive => OrderName::Adaptive,
        },
        cache_share: if arguments.method.keeps_no_rows() { 0.0 } else { arguments.cache_share },
        selection: match arguments.selection {
            SelectionChoice::Gradient => Selection::Gradient,
            SelectionChoice::Random => Selection::Random,
            SelectionChoice::Gap => Selection::Gap,
        },
        rounds: sweeps.or(arguments.rounds.0),
        seed: arguments.seed,
        centre,
        threads: arguments.threads.map_or_else(towline::machine::threads, usize::from),
        stop: Arc::default(),
    })
}

fn max_time(arguments: &Arguments) -> anyhow::Result<Option<Duration>> {
    let seconds = arguments.max_time.map(|seconds| positive_number("--max-time", seconds)).transpose()?;
    Ok(seconds.map(Duration::from_secs_f64))
}

fn baseline_options(
    arguments: &Arguments,
    baseline: Baseline,
    objective: Objective,
    store: &DiskStore,
    stop: Arc<AtomicBool>,
) -> anyhow::Result<BaselineOptions> {
    if baseline == Baseline::Cw && store.manifest().weighted {
        bail!("the rows of this store have weights, which --method cw knows nothing of; use another method");
    }
    let passes = arguments.max_passes.unwrap_or(BASELINE_PASSES);
    let mut options = BaselineOptions::new(baseline, objective, passes)?;
    options.max_time = max_time(arguments)?;
    options.seed = arguments.seed;
    options.stop = stop;
    Ok(options)
}

/// The dual variables of a model lie beside it.
fn duals_path(model: &Path) -> PathBuf {
    let mut name = model.file_name().unwrap_or_default().to_os_string();
    name.push(".duals");
    model.with_file_name(name)
}

/// Dual variables and weights to start from: those of an interrupted run with the same objective, or those that were asked for.
fn start(
    arguments: &Arguments,
    objective: &Objective,
    store: &DiskStore,
    output: &Path,
) -> anyhow::Result<(Option<Start>, Vec<f64>)> {
    let here = StoreFingerprint::of(store.manifest());
    let columns = store.shape().columns;
    let weights = |checkpoint: &Checkpoint| -> anyhow::Result<Vec<f64>> {
        if objective.is_plain_l2() {
            return Ok(Vec::new());
        }
        let mut weights = checkpoint.weights().context("cannot read the weights of the earlier run")?;
        // The last weight is that of the constant feature, and new columns lie before it.
        if let Some(constant) = weights.pop() {
            weights.resize(columns as usize, 0.0);
            weights.push(constant);
        }
        Ok(weights)
    };
    if let Some(model) = &arguments.warm_start {
        let path = duals_path(model);
        let Some(checkpoint) = Checkpoint::open(&path, here.rows, columns)? else {
            bail!(
                "{}: not found; --warm-start needs the dual variables that training writes beside a model",
                path.display()
            );
        };
        let theirs = &checkpoint.header.store;
        let grown = theirs.generation < here.generation && theirs.rows <= here.rows;
        if *theirs != here && !grown {
            bail!("{}: these dual variables belong to another store; train without --warm-start", path.display());
        }
        // Dual variables grow with C; rows at their bound stay there.
        let factor = objective.c / checkpoint.header.objective.c;
        let weights = weights(&checkpoint)?;
        return Ok((Some(Start::Earlier(Box::new(checkpoint), factor)), weights));
    }
    if arguments.restart {
        return Ok((None, Vec::new()));
    }
    Ok(match Checkpoint::open(&duals_path(output), here.rows, columns)? {
        Some(found) if found.header.store == here && found.header.objective == *objective => {
            let weights = weights(&found)?;
            (Some(Start::Earlier(Box::new(found), 1.0)), weights)
        }
        _ => (None, Vec::new()),
    })
}

fn json(
    trained: &Trained,
    pack_seconds: f64,
    begin: Instant,
    quality: Option<&Quality>,
) -> anyhow::Result<serde_json::Value> {
    let (certificate, cost) = (&trained.certificate, &trained.cost);
    Ok(serde_json::json!({
        "schema": 1,
        "status": trained.status,
        "objective": certificate.objective,
        "dual_objective": certificate.dual_objective,
        "relative_gap": certificate.relative_gap(),
        "passes": cost.passes,
        "sweeps": cost.sweeps,
        "bytes_read": cost.bytes_read,
        "peak_memory_bytes": towline::machine::peak_memory_bytes(),
        "seconds": {
            "total": begin.elapsed().as_secs_f64(),
            "pack": pack_seconds,
            "training": cost.seconds,
            "read": cost.read_seconds,
            "solve": cost.solve_seconds,
            "certify": cost.certify_seconds,
        },
        "support": certificate.support,
        "test": quality.map(Quality::json).transpose()?,
    }))
}

fn summary(output: &Path, trained: &Trained, pack_seconds: f64, quality: Option<&Quality>) -> String {
    let (certificate, cost) = (&trained.certificate, &trained.cost);
    let line = |name: &str, value: String| (name.to_string(), value);
    let status = match trained.status {
        Status::Converged => "converged",
        Status::OutOfPasses if trained.baseline.is_some() => "all passes made",
        Status::Interrupted if trained.baseline.is_some() => "interrupted",
        Status::OutOfPasses => "not converged: --max-passes reached",
        Status::OutOfTime => "not converged: --max-time reached",
        Status::Interrupted => "interrupted; the same command goes on from here",
    };
    let mut lines = vec![
        line("status", status.to_string()),
        line("objective", format!("{:.6}", certificate.objective)),
        line(
            if trained.baseline.is_some() { "lower bound" } else { "dual objective" },
            format!("{:.6}", certificate.dual_objective),
        ),
        line("relative gap", format!("{:.2e}", certificate.relative_gap())),
        line("passes", format!("{} ({} sweeps, {} row visits)", cost.passes, cost.sweeps, show::count(cost.visits))),
        line("bytes read", size::show(cost.bytes_read)),
        line("support rows", show::count(certificate.support)),
        line("peak memory", size::show(towline::machine::peak_memory_bytes())),
        line(
            "seconds",
            format!(
                "{:.2} training ({:.2} waiting for blocks, {:.2} solving, {:.2} certifying), {pack_seconds:.2} packing",
                cost.seconds, cost.read_seconds, cost.solve_seconds, cost.certify_seconds
            ),
        ),
        line("model", output.display().to_string()),
    ];
    if let Some(quality) = quality {
        lines.push(line("test", quality.line()));
    }
    show::table(&lines)
}
