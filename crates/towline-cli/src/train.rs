//! `towline train`: rows become a model.
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::ValueEnum;
use towline::budget::Budget;
use towline::fit::{Prepared, Run};
use towline::input::ReadOptions;
use towline::input::libsvm::Precision;
use towline::model::Model;
use towline::model::calibration::CalibrationMethod;
use towline::objective::Objective;
use towline::order::OrderName;
use towline::output::{Inputs, Kind, OutputFile};
use towline::stop::Stop;
use towline::store::{BlockStore, DiskStore};
use towline::trainer::{Choice, Plan, Status, TrainError};
use towline::{Fit, Method};

use crate::algorithm::AlgorithmArguments;
use crate::beside::pack_beside;
use crate::eval::{Question, judge};
use crate::grid::{self, Grid};
use crate::held_out::HeldOut;
use crate::input::{InputArguments, check_readable};
use crate::memory::{self, Memory};
use crate::objective::{ObjectiveArguments, not_negative, positive_number};
use crate::pack::stop_on_signal;
use crate::preparation::PreparationArguments;
use crate::recipe::RecipeArguments;
use crate::stream::{self, StreamArguments};
use crate::trace::Watcher;
use crate::{command_line, exit, flags, method, plan, report, show, summary};

/// Arguments of `towline train`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  towline train reviews.tow -C 1 --memory 512M
  towline train reviews.svm.gz --loss logistic --test held-out.svm.gz
  towline train reviews.tow -C 100 --warm-start reviews.towm
  zcat reviews.svm.gz | towline train - --stream -o reviews.towm")]
pub struct Arguments {
    /// A store, or a file, which is packed beside itself once
    #[arg(value_name = "STORE_OR_FILE")]
    pub data: PathBuf,
    /// The model to write [default: the name of the data with the ending .towm]
    #[arg(long, short, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Labelled rows to evaluate the model on at the end
    #[arg(long, value_name = "FILE")]
    pub test: Option<String>,
    /// Inverse regularization strength, as in LIBLINEAR: large for little regularization
    #[arg(short = 'C', short_alias = 'c', default_value = "1", value_parser = grid::parse)]
    pub c: Grid,
    #[command(flatten)]
    pub objective: ObjectiveArguments,
    /// Stop when the relative duality gap is this small
    #[arg(long, default_value_t = 1e-3)]
    pub(crate) tolerance: f64,
    /// Stop after this many passes over the data (visits of as many rows, where everything is in memory)
    /// [default: 1000; 10 for methods that do not converge by themselves]
    #[arg(help_heading = "Stopping and resuming", long)]
    max_passes: Option<u64>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS")]
    max_time: Option<f64>,
    /// The method: an exact one (auto, sbm, bmd, da-bcd, ibcd, trunc), an algorithm with the parameters of its paper
    /// (-as-published), or a published baseline
    #[arg(help_heading = "Solver", long, default_value = "auto", value_parser = method::method())]
    method: Method,
    #[command(flatten)]
    recipe: RecipeArguments,
    /// Calibrate probabilities on this many folds: other models are trained first, each without the rows of a fold
    #[arg(help_heading = "Probabilities", long, value_name = "FOLDS", value_parser = clap::value_parser!(u32).range(2..=1000))]
    calibrate: Option<u32>,
    /// How scores become probabilities: platt (a sigmoid) or isotonic (any curve that never falls, for many rows)
    #[arg(
        help_heading = "Probabilities",
        long,
        value_name = "platt|isotonic",
        default_value = "platt",
        requires = "calibrate"
    )]
    calibration: CalibrationMethod,
    /// Which row is visited next
    #[arg(help_heading = "Solver", long, value_enum, default_value_t = OrderChoice::Auto)]
    order: OrderChoice,
    /// Fraction of the rows in memory that stays cached when new blocks come
    #[arg(help_heading = "Solver", long, default_value_t = 0.5, value_parser = share)]
    cache_share: f64,
    #[command(flatten)]
    algorithm: AlgorithmArguments,
    /// Epochs over the rows in memory before the next blocks come: a number, or auto, while they pay
    #[arg(help_heading = "Solver", long, default_value = "auto", value_parser = rounds)]
    rounds: Rounds,
    /// Parts of the rows in memory that are visited at the same time, each with a copy of the weights, for one output
    /// and the penalty l2; the same weights for any number of threads [default: 1]
    #[arg(help_heading = "Solver", long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=64))]
    parts: Option<u32>,
    /// Seed of all random choices
    #[arg(help_heading = "Solver", long, default_value_t = 0)]
    pub seed: u64,
    /// Begin anew, even if an earlier run with the same objective can be continued
    #[arg(help_heading = "Stopping and resuming", long)]
    pub(crate) restart: bool,
    /// Start from the dual variables of another run on this store, of another C or of fewer rows: its MODEL
    #[arg(help_heading = "Stopping and resuming", long, value_name = "MODEL", conflicts_with = "restart")]
    pub warm_start: Option<PathBuf>,
    /// Memory for the whole process, such as 512M, or +512M for data beside the program itself
    /// [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    pub memory: Option<Memory>,
    /// Threads that parse and encode while a file is packed or tested, and that models and parts share [default: all processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,
    /// Write a line of JSON per step to this file
    #[arg(help_heading = "Reporting", long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Seconds of training between two scores of the test rows (0: at every step), for trace and report
    #[arg(help_heading = "Reporting", long, value_name = "SECONDS", requires = "test")]
    test_every: Option<f64>,
    /// Write a page to look at: how it converged, what was learnt, where it errs on test rows, and what the data is like
    #[arg(help_heading = "Reporting", long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Show no progress and no summary
    #[arg(help_heading = "Reporting", long, short)]
    pub quiet: bool,
    /// Print the summary as JSON on standard output
    #[arg(help_heading = "Reporting", long)]
    pub json: bool,
    #[command(flatten)]
    pub streams: StreamArguments,
    #[command(flatten)]
    pub reading: InputArguments,
    #[command(flatten)]
    pub preparation: PreparationArguments,
}

impl Arguments {
    /// The only C.
    fn one_c(&self) -> anyhow::Result<f64> {
        match self.c.0[..] {
            [c] => Ok(c),
            _ => bail!(
                "a model has one C; compare several with towline cv, or train one model for each with towline path"
            ),
        }
    }

    /// A fit with the only C.
    pub fn fit(&self, typed: &[String]) -> anyhow::Result<Fit> {
        let c = self.one_c()?;
        let fit = self.fit_for_any_c(typed)?;
        Ok(if typed.iter().any(|id| id == "c") { fit.c(c) } else { fit })
    }

    /// What was typed, but for C.
    pub fn fit_for_any_c(&self, typed: &[String]) -> anyhow::Result<Fit> {
        let is_typed = |id: &str| typed.iter().any(|typed| typed == id);
        // To the library it is a loss like any other.
        if is_typed("liblinear_type") && self.method.has_own_rule() {
            let name = self.method.name();
            bail!("--method {name} has a rule of its own in place of -s; use --method sgd to choose a loss");
        }
        let mut fit = self.recipe.set(self.objective.fit()?, &is_typed).method(self.method).seed(self.seed);
        fit = self.algorithm.set(fit, &is_typed)?;
        if is_typed("order") {
            fit = fit.order(self.order.into());
        }
        if is_typed("cache_share") {
            fit = fit.cache_share(self.cache_share);
        }
        if is_typed("rounds") {
            fit = fit.rounds(self.rounds.0);
        }
        if let Some(parts) = self.parts {
            fit = fit.parts(parts);
        }
        if is_typed("tolerance") {
            fit = fit.tolerance(self.tolerance);
        }
        if let Some(passes) = self.max_passes {
            fit = fit.max_passes(passes);
        }
        if let Some(seconds) = self.max_time {
            let time = Duration::try_from_secs_f64(positive_number("--max-time", seconds)?);
            fit = fit.max_time(time.context("--max-time is too long")?);
        }
        if let Some(threads) = self.threads {
            fit = fit.threads(threads.into());
        }
        if let Some(folds) = self.calibrate {
            fit = fit.calibrate(folds, self.calibration);
        }
        Ok(match &self.warm_start {
            Some(model) => fit.warm_start(model),
            None if self.restart => fit.restart(),
            None => fit,
        })
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum OrderChoice {
    Auto,
    Permutation,
    Shrinking,
    Adaptive,
}

impl From<OrderChoice> for OrderName {
    fn from(choice: OrderChoice) -> Self {
        match choice {
            OrderChoice::Auto => OrderName::Auto,
            OrderChoice::Permutation => OrderName::Permutation,
            OrderChoice::Shrinking => OrderName::Shrinking,
            OrderChoice::Adaptive => OrderName::Adaptive,
        }
    }
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
    if arguments.streams.stream {
        arguments.preparation.check_stream()?;
        arguments.reading.check_stream()?;
        return stream::run(arguments, typed);
    }
    let begin = Instant::now();
    arguments.fit_for_any_c(typed)?.check()?;
    if arguments.data.as_os_str() == "-" {
        bail!(
            "standard input can be read only once; add --stream to learn from it in one pass, or pack it first: towline pack - -o NAME.tow"
        );
    }
    let budget = memory::budget(arguments.memory);
    let threads = arguments.threads.map_or_else(towline::machine::threads, usize::from);
    let reading = arguments.reading.options(Precision::F32, threads, true)?;
    check_inputs(arguments, &reading)?;
    let output = arguments.output.clone().unwrap_or_else(|| arguments.data.with_extension("towm"));
    let inputs = inputs(arguments);
    let mut place = OutputFile::open(&output, Kind::Model, &inputs)?;
    let trace = open_trace(arguments, &inputs)?;
    let mut page = report::open(arguments.report.as_deref(), &inputs)?;
    let store = open_store(arguments, threads, &budget)?;
    let pack_seconds = begin.elapsed().as_secs_f64();
    let stop = Stop::default();
    let fit = arguments.fit(typed)?.budget(budget.clone()).stop(stop.clone()).checkpoint(&output);
    let fit = fit.command(command_line::typed());
    let mut prepared = fit.prepare(&store)?;
    if let Some(test) = &arguments.test {
        prepared.check_test(test, &reading)?;
    }
    stop_on_signal(&stop)?;
    let talk = !arguments.quiet && !arguments.json;
    let held_out = match (&arguments.test, arguments.test_every) {
        (Some(test), Some(every)) => Some(HeldOut::open(
            test,
            reading.clone(),
            &store,
            prepared.objective(),
            not_negative("--test-every", every)?,
            &budget,
        )?),
        _ => None,
    };
    if arguments.calibrate.is_some() {
        let mut watcher = Watcher::new(None, None, arguments.tolerance, talk)?;
        prepared.calibrate(&mut watcher)?;
        watcher.finish()?;
    }
    let mut watcher = Watcher::new(trace, held_out, arguments.tolerance, talk)?;
    let run = prepared.begin()?;
    if talk {
        announce(&prepared, &run, &store, &budget)?;
    }
    let mut trained = run.train(&mut watcher)?;
    watcher.finish()?;
    let solver = prepared.solver(&trained).map(|solver| solver.name());
    let header = prepared.write(&mut trained, &mut place)?;
    drop(trained);
    towline::machine::give_back_free_memory();
    let judged = |test: &String| {
        let (model, _paid) = Model::load_within(&output, &budget)?;
        judge(&model, test, &reading, Question::default(), &budget)
    };
    let judged = arguments.test.as_ref().map(judged);
    // What training has found is told even if the test rows turn out to be unreadable.
    let quality = judged.as_ref().and_then(|judged| judged.as_ref().ok());
    if arguments.json {
        let json = summary::json(&header, pack_seconds, begin, solver, quality)?;
        show::print(&format!("{json}\n"))?;
    } else if !arguments.quiet {
        show::print(&summary::text(&output, &header, pack_seconds, solver, quality))?;
    }
    judged.transpose()?;
    if let Some(page) = &mut page {
        let found = report::of_training(&output, Some(&store), (arguments.test.as_deref(), &reading), &budget)?;
        report::write(&found, page, talk)?;
    }
    Ok(match header.status {
        // A baseline has no tolerance to reach: it was asked for so many passes, and has made them.
        Status::OutOfPasses if header.baseline.is_some() => ExitCode::SUCCESS,
        status => exit::of_training(status),
    })
}

/// The store to train on; a file is packed beside itself first.
pub(crate) fn open_store(arguments: &Arguments, threads: usize, budget: &Budget) -> anyhow::Result<Arc<DiskStore>> {
    arguments.preparation.check_data(&arguments.data)?;
    let path = if arguments.data.is_dir() {
        arguments.data.clone()
    } else {
        let how = (&arguments.reading, &arguments.preparation);
        pack_beside(&arguments.data, how, threads, budget, arguments.quiet || arguments.json)
            .map_err(exit::on_the_way)?
    };
    Ok(Arc::new(DiskStore::open_within(&path, budget)?))
}

/// What a run reads, and so must not write. The model that it starts from may become the one that it writes.
pub(crate) fn inputs(arguments: &Arguments) -> Inputs {
    let mut inputs = Inputs::none().and(&arguments.data);
    if let Some(test) = &arguments.test {
        inputs = inputs.and(test);
    }
    match arguments.objective.group_file() {
        Some(groups) => inputs.and(groups),
        None => inputs,
    }
}

/// Looks at what will be read in the end: hours later it would be late to say that it is not there.
pub(crate) fn check_inputs(arguments: &Arguments, reading: &ReadOptions) -> anyhow::Result<()> {
    check_readable(&arguments.data, reading)?;
    arguments.test.as_ref().map_or(Ok(()), |test| check_readable(Path::new(test), reading))
}

/// The place of the trace, if there is to be one.
pub(crate) fn open_trace(arguments: &Arguments, inputs: &Inputs) -> anyhow::Result<Option<OutputFile>> {
    Ok(arguments.trace.as_ref().map(|path| OutputFile::open(path, Kind::Trace, inputs)).transpose()?)
}

fn note(text: &str) {
    show::say(&format!("note: {}\n", flags::typed(text)));
}

/// Says what is worth knowing before the run begins, and how the budget is spent.
fn announce(prepared: &Prepared, run: &Run, store: &DiskStore, budget: &Budget) -> anyhow::Result<()> {
    let Some(first) = run.tasks().first() else { return Ok(()) };
    prepared.notes()?.iter().for_each(|text| note(text));
    if prepared.recipe().note().is_none() {
        announce_plan(run, &first.objective, store, budget)?;
    }
    if let Some(text) = run.note() {
        note(&text);
    }
    Ok(())
}

fn announce_plan(run: &Run, objective: &Objective, store: &DiskStore, budget: &Budget) -> anyhow::Result<()> {
    let models = run.tasks().len();
    let choice = Choice::for_models(store, objective, (run.solver(), models), budget)?;
    if !choice.why.is_empty() {
        note(&format!("solver {}: {}", choice.solver.name(), choice.why));
    }
    if choice.solver.is_second_order() {
        return Ok(());
    }
    // Where there is no room for it, training says what would be enough.
    let plan = Plan::for_solver(store, objective, run.solver(), models, budget);
    let (plan, together) = match plan {
        Err(TrainError::Budget(_)) => return Ok(()),
        plan => plan?,
    };
    show::say(&plan::text(&plan, store.blocks().len()));
    if together < models {
        note(&format!(
            "{models} models, of which {together} fit into the budget at a time; more --memory trains more of them on each block that is read"
        ));
    }
    Ok(())
}
