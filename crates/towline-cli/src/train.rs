//! `towline train`: rows become a model.
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::ValueEnum;
use towline::baselines::{self, Baseline, BaselineOptions};
use towline::budget::{Budget, Reservation};
use towline::input::ReadOptions;
use towline::input::libsvm::Precision;
use towline::model::{Header, Model, ModelWriter};
use towline::objective::{Objective, Targets};
use towline::order::OrderName;
use towline::output::{Inputs, Kind, OutputFile};
use towline::stop::Stop;
use towline::store::{BlockStore, DiskStore, StoreError};
use towline::trainer::{Choice, Plan, Selection, Solver, Status, Task, TrainError, TrainOptions, Trained};

use crate::eval::judge;
use crate::grid::{self, Grid};
use crate::held_out::HeldOut;
use crate::input::{InputArguments, check_readable};
use crate::memory::{self, Memory};
use crate::method::{BASELINE_PASSES, Method};
use crate::objective::{Constant, ObjectiveArguments, not_negative, positive_number};
use crate::pack::{pack_beside, stop_on_signal};
use crate::recipe::{Recipe, RecipeArguments, WorkingSet};
use crate::resume::{self, From};
use crate::stream::{self, StreamArguments};
use crate::trace::Watcher;
use crate::{exit, liblinear, plan, scales, show, summary};

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
    /// Labelled rows to judge the model by at the end
    #[arg(long, value_name = "FILE")]
    pub test: Option<String>,
    /// The weight of the losses against the penalty
    #[arg(short = 'C', short_alias = 'c', default_value = "1", value_parser = grid::parse)]
    pub c: Grid,
    #[command(flatten)]
    pub objective: ObjectiveArguments,
    /// There is no such option; its parser says what to use
    #[arg(short = 'e', hide = true, value_parser = liblinear::epsilon)]
    _gradient_bound: Option<Infallible>,
    /// Stop when the relative duality gap is this small
    #[arg(long, default_value_t = 1e-3)]
    pub(crate) tolerance: f64,
    /// Stop after this many passes over the data (visits of as many rows, where everything is in memory) [default: 1000; 10 for methods that do not converge by themselves]
    #[arg(long)]
    max_passes: Option<u64>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS")]
    max_time: Option<f64>,
    /// How to train: exactly (auto, sbm, bmd, da-bcd, ibcd, trunc), or as papers do that compare with it
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    pub(crate) method: Method,
    #[command(flatten)]
    pub(crate) recipe: RecipeArguments,
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
    pub seed: u64,
    /// Begin anew, even if an earlier run with the same objective can be continued
    #[arg(long)]
    pub(crate) restart: bool,
    /// Start from the dual variables of another run on this store, of another C or of fewer rows: its MODEL
    #[arg(long, value_name = "MODEL", conflicts_with = "restart")]
    pub warm_start: Option<PathBuf>,
    /// Memory for the whole process, such as 512M, or +512M for data beside the program itself [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    pub memory: Option<Memory>,
    /// Threads that parse and encode while a file is packed or tested [default: all processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,
    /// Write a line of JSON per step to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Score the test rows every so many seconds of training (0: at every step) and write that to the trace
    #[arg(long, value_name = "SECONDS", requires = "trace", requires = "test")]
    test_every: Option<f64>,
    /// Show no progress and no summary
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub streams: StreamArguments,
    #[command(flatten)]
    pub reading: InputArguments,
}

/// How rows are chosen and visited, from what was typed.
pub struct How {
    /// The order of visits.
    pub order: OrderName,
    /// The part of the rows that stays.
    pub cache_share: f64,
    /// How it is chosen.
    pub selection: Selection,
    /// Sweeps; `None` is auto.
    pub rounds: Option<u32>,
}

impl Arguments {
    /// The only C.
    pub fn one_c(&self) -> anyhow::Result<f64> {
        match self.c.0[..] {
            [c] => Ok(c),
            _ => bail!(
                "a model has one C; compare several with towline cv, or train one model for each with towline path"
            ),
        }
    }

    /// How rows are chosen and visited.
    pub fn how(&self) -> How {
        How {
            order: match self.order {
                OrderChoice::Auto => OrderName::Auto,
                OrderChoice::Permutation => OrderName::Permutation,
                OrderChoice::Shrinking => OrderName::Shrinking,
                OrderChoice::Adaptive => OrderName::Adaptive,
            },
            cache_share: self.cache_share,
            selection: match self.selection {
                SelectionChoice::Gradient => Selection::Gradient,
                SelectionChoice::Random => Selection::Random,
                SelectionChoice::Gap => Selection::Gap,
            },
            rounds: self.rounds.0,
        }
    }
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

/// What a class takes besides the letters of its name, and its model besides weights and dual variables.
const CLASS_BYTES: usize = 1024;

/// Models of many classes share the labels, names and weights of them.
pub(crate) fn reserve_classes(objective: &Objective, models: usize, budget: &Budget) -> anyhow::Result<Reservation> {
    let classes: usize = objective.targets.names().iter().map(|name| name.len() + CLASS_BYTES).sum();
    let bytes = if models > 1 { classes as u64 } else { 0 };
    Ok(budget.reserve_few("classes of all models", bytes).map_err(StoreError::from)?)
}

/// Trains and says what came of it.
pub fn run(arguments: &Arguments, typed: &[String]) -> anyhow::Result<ExitCode> {
    if arguments.streams.stream {
        return stream::run(arguments, typed);
    }
    let begin = Instant::now();
    arguments.method.check(typed)?;
    if arguments.data.as_os_str() == "-" {
        bail!(
            "standard input can be read only once; add --stream to learn from it in one pass, or pack it first: towline pack - -o NAME.tow"
        );
    }
    let budget = memory::budget(arguments.memory);
    let threads = arguments.threads.map_or_else(towline::machine::threads, usize::from);
    let reading = arguments.reading.options(Precision::F32, threads, true);
    check_inputs(arguments, &reading)?;
    let output = arguments.output.clone().unwrap_or_else(|| arguments.data.with_extension("towm"));
    let inputs = inputs(arguments);
    let mut place = OutputFile::open(&output, Kind::Model, &inputs)?;
    let trace = open_trace(arguments, &inputs)?;
    let store = open_store(arguments, threads, &budget)?;
    let pack_seconds = begin.elapsed().as_secs_f64();
    let mut notes = Vec::new();
    let can_be_free = arguments.recipe.truncate.is_none() && arguments.method.can_have_intercept();
    let mut objective = arguments.objective.objective(arguments.one_c()?, can_be_free, &store, &budget)?;
    if !can_be_free && arguments.objective.constant(store.manifest().named_features, true) == Constant::Intercept {
        notes.push(
            "this method has no intercept; a constant feature of 1, whose weight is penalised, takes its place".into(),
        );
    }
    notes.extend(arguments.objective.task_note(store.manifest())?);
    notes.extend(scales::note(&store, &objective, &budget)?);
    let recipe = arguments.recipe.choose(arguments.method, &mut objective, &store, typed, &mut notes)?;
    let stop = Stop::default();
    stop_on_signal(&stop)?;

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
    let mut watcher = Watcher::new(trace, held_out, arguments.tolerance, talk)?;
    let mut trained = match arguments.method.baseline() {
        Some(baseline) => {
            let options = baseline_options(arguments, baseline, objective.clone(), &store, &output, stop)?;
            vec![baselines::train(store.clone(), &options, &budget, &mut watcher)?]
        }
        None => {
            let from = match &arguments.warm_start {
                Some(model) => From::Model(model),
                None if arguments.restart => From::Nothing,
                None => From::Earlier,
            };
            let tasks = resume::tasks(&objective, &store, &output, from)?;
            let weights: usize = tasks.iter().map(|task| task.start_weights.len()).sum();
            let _paid = budget.reserve_few("weights to start from", 8 * weights as u64).map_err(StoreError::from)?;
            let _classes = reserve_classes(&objective, tasks.len(), &budget)?;
            notes.iter().filter(|_| talk).for_each(|note| show::say(&format!("note: {note}\n")));
            match recipe.note() {
                Some(note) if talk => show::say(&format!("note: {note}\n")),
                None if talk => announce(&tasks, arguments.recipe.solver(arguments.method, typed), &store, &budget)?,
                _ => {}
            }
            tasks
                .iter()
                .find_map(start_note)
                .filter(|_| talk)
                .iter()
                .for_each(|note| show::say(&format!("note: {note}\n")));
            let options = TrainOptions { stop, ..options(arguments, typed, tasks)? };
            recipe.train(&store, options, &budget, &mut watcher)?
        }
    };
    watcher.finish()?;
    let header = write_model(&mut trained, &objective, &store, &budget, &mut place)?;
    let solver = solver_name(&recipe, &trained[0]);
    drop(trained);
    towline::machine::give_back_free_memory();
    let judged = |test: &String| {
        let (model, _paid) = Model::load_within(&output, &budget)?;
        judge(&model, test, &reading, &budget)
    };
    let quality = arguments.test.as_ref().map(judged).transpose()?;
    if arguments.json {
        let json = summary::json(&header, pack_seconds, begin, solver, quality.as_ref())?;
        show::print(&format!("{json}\n"))?;
    } else if !arguments.quiet {
        show::print(&summary::text(&output, &header, pack_seconds, solver, quality.as_ref()))?;
    }
    Ok(match header.status {
        // A baseline has no tolerance to reach: it was asked for so many passes, and has made them.
        Status::OutOfPasses if header.baseline.is_some() => ExitCode::SUCCESS,
        status => exit::of_training(status),
    })
}

/// Writes weights as a model with the names of features, and returns what is known of it besides.
pub(crate) fn write_model(
    trained: &mut [Trained],
    objective: &Objective,
    store: &DiskStore,
    budget: &Budget,
    place: &mut OutputFile,
) -> anyhow::Result<Header> {
    trained.iter_mut().for_each(Trained::keep_only_weights);
    towline::machine::give_back_free_memory();
    let weights: usize = trained.iter().map(|trained| trained.weights.len()).sum();
    let _weights = budget.reserve("weights", 8 * weights as u64).map_err(StoreError::from)?;
    Ok(ModelWriter::new(store, budget)?.write(trained, objective, place)?.0)
}

/// How the problem of the rows in memory was solved, if it was.
fn solver_name(recipe: &Recipe, trained: &Trained) -> Option<&'static str> {
    match recipe {
        _ if trained.baseline.is_some() => None,
        Recipe::Blocks => Some(trained.solver.name()),
        Recipe::Truncated(..) | Recipe::Indexed(_) => None,
    }
}

/// The store to train on; a file is packed beside itself first.
pub(crate) fn open_store(arguments: &Arguments, threads: usize, budget: &Budget) -> anyhow::Result<Arc<DiskStore>> {
    let path = if arguments.data.is_dir() {
        arguments.data.clone()
    } else {
        pack_beside(&arguments.data, &arguments.reading, threads, budget, arguments.quiet || arguments.json)
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

/// What a run goes on from.
fn start_note(task: &Task) -> Option<String> {
    let file = task.checkpoint.as_ref().filter(|_| task.start.is_some())?;
    Some(format!("going on from {} (--restart begins anew)", file.path.display()))
}

/// Says how the budget is spent.
fn announce(tasks: &[Task], solver: Solver, store: &DiskStore, budget: &Budget) -> anyhow::Result<()> {
    let choice = Choice::for_models(store, &tasks[0].objective, (solver, tasks.len()), budget)?;
    if !choice.why.is_empty() {
        show::say(&format!("note: solver {}: {}\n", choice.solver.name(), choice.why));
    }
    if choice.solver.is_second_order() {
        return Ok(());
    }
    // Where there is no room for it, training says what would be enough.
    let plan = Plan::for_solver(store, &tasks[0].objective, solver, tasks.len(), budget);
    let (plan, together) = match plan {
        Err(TrainError::Budget(_)) => return Ok(()),
        plan => plan?,
    };
    show::say(&plan::text(&plan, store.blocks().len()));
    if together < tasks.len() {
        show::say(&format!(
            "note: {} models, of which {together} fit into the budget at a time; more --memory trains more of them on each block that is read\n",
            tasks.len()
        ));
    }
    Ok(())
}

/// How to train, as far as it is typed.
pub(crate) fn options(arguments: &Arguments, typed: &[String], tasks: Vec<Task>) -> anyhow::Result<TrainOptions> {
    if matches!(arguments.method, Method::DaBcd | Method::DBcd) && tasks[0].objective.is_plain_l2() {
        bail!(
            "--method da-bcd and d-bcd are for other penalties than l2; use sbm or bmd, or add --penalty l1 or --intercept"
        );
    }
    let how = arguments.how();
    Ok(TrainOptions {
        tasks,
        tolerance: positive_number("--tolerance", arguments.tolerance)?,
        max_passes: arguments.max_passes.unwrap_or(1000),
        max_time: max_time(arguments)?,
        order: how.order,
        cache_share: if arguments.method.keeps_no_rows() { 0.0 } else { how.cache_share },
        selection: how.selection,
        rounds: how.rounds,
        seed: arguments.seed,
        centre: arguments.method.centre(),
        solver: arguments.recipe.solver(arguments.method, typed),
        patience: None,
        working_set: arguments.recipe.working_set == WorkingSet::Auto,
        threads: arguments.threads.map_or_else(towline::machine::threads, usize::from),
        stop: Stop::default(),
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
    output: &Path,
    stop: Stop,
) -> anyhow::Result<BaselineOptions> {
    if objective.width() > 1 && objective.targets.are_numbers() {
        bail!(
            "--method {} predicts one number, and rows of this store have {}; leave --method out",
            baseline.name(),
            objective.width()
        );
    }
    if let Targets::Classes { classes, .. } = &objective.targets {
        bail!(
            "--method {} tells two classes apart, and the labels have {} distinct values; name one with --positive LABEL",
            baseline.name(),
            classes.len()
        );
    }
    if baseline == Baseline::Cw && store.manifest().weighted {
        bail!("the rows of this store have weights, which --method cw knows nothing of; use another method");
    }
    let passes = arguments.max_passes.unwrap_or(BASELINE_PASSES);
    let mut options = BaselineOptions::new(baseline, objective, passes)?;
    if let Some(folder) = output.parent().filter(|folder| folder.is_dir()) {
        options.folder = folder.to_path_buf();
    }
    options.max_time = max_time(arguments)?;
    options.seed = arguments.seed;
    options.stop = stop;
    Ok(options)
}
