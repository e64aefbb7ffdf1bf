//! `towline path`: models along a series of penalties, from one under which all weights are 0 down, or along values of C.
//!
//! Everything is as for `train`, whose options it has; each run starts from the one before. A folder holds a model per point, the table, and the dual
//! variables of the newest point, from which the same command goes on after an interruption.
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};
use towline::budget::Budget;
use towline::input::ReadOptions;
use towline::input::libsvm::Precision;
use towline::model::{Header, Model};
use towline::objective::{Objective, Targets};
use towline::store::features::FeatureMap;
use towline::store::{BlockStore, DiskStore};
use towline::trainer::{
    self, Along, Checkpoint, CheckpointFile, Start, Status, StoreFingerprint, Task, TrainOptions, Trained,
};

use crate::eval::{Quality, judge};
use crate::exit::NOT_CONVERGED;
use crate::objective::positive_number;
use crate::pack::stop_once;
use crate::recipe::SolverChoice;
use crate::trace::Watcher;
use crate::{show, size, train};

/// Arguments of `towline path`.
#[derive(clap::Args)]
#[group(id = "path")]
#[command(
    mut_arg("output", |argument| argument.value_name("FOLDER").help("The folder for models and table [default: the name of the data with the ending .path]")),
    mut_arg("c", |argument| argument.help("The weight of the losses against the penalty: one for a path of lambdas; a list like 0.1,1,10 or a range like 0.01..1000 is the path itself")),
    mut_arg("lambda", |argument| argument.hide(true)),
    mut_arg("warm_start", |argument| argument.hide(true)),
    mut_arg("test_every", |argument| argument.hide(true)),
    mut_arg("stream", |argument| argument.hide(true)),
    mut_arg("save_every", |argument| argument.hide(true)),
    mut_arg("follow", |argument| argument.hide(true)),
    mut_arg("progressive", |argument| argument.hide(true)),
    mut_arg("hash_bits", |argument| argument.hide(true)),
    mut_arg("truncate", |argument| argument.hide(true)),
    mut_arg("init_rows", |argument| argument.hide(true)),
    mut_arg("query_rows", |argument| argument.hide(true)),
    mut_arg("max_time", |argument| argument.help("Stop each point after this many seconds")),
    mut_arg("max_passes", |argument| argument.help("Stop each point after this many passes over the data [default: 1000]")),
    after_help = "Examples:
  towline path reviews.tow --penalty l1 --lambda-ratio 1e-3 --points 50
  towline path sizes.tow --loss squared --penalty elastic-net --intercept --test held-out.svm
  towline path reviews.tow --penalty l2 --lambdas 100,10,1,0.1
  towline path reviews.tow -C 0.01..1000"
)]
pub struct Arguments {
    #[command(flatten)]
    train: train::Arguments,
    /// The last lambda as a part of the first, the least one under which all weights are 0
    #[arg(long, default_value_t = 1e-3, value_name = "PART")]
    lambda_ratio: f64,
    /// How many points the path has, evenly spaced on a logarithmic scale
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    points: u32,
    /// The lambdas themselves, in the order in which they are trained
    #[arg(long, value_name = "LAMBDA,...", value_delimiter = ',', conflicts_with_all = ["lambda_ratio", "points"])]
    lambdas: Vec<f64>,
}

/// Options of `train` that would have to be ignored, by their names in the code, and what to do instead.
const REFUSED: [(&str, &str); 7] = [
    ("lambda", "--lambda is what changes along a path; use --lambdas, or --lambda-ratio and --points"),
    ("warm_start", "a path starts by itself, and goes on from an earlier run of its own; leave --warm-start out"),
    ("test_every", "--test judges the model of each point; leave --test-every out"),
    ("stream", "a path goes over its rows again and again; pack the stream first, and leave --stream out"),
    ("truncate", "a truncated loss is no convex problem, along which a path could start; leave --truncate out"),
    ("init_rows", "--init-rows is for truncated losses; leave it out"),
    ("query_rows", "--query-rows is for truncated losses; leave it out"),
];

/// Trains along the path and says what came of it.
pub fn run(arguments: &Arguments, typed: &[String]) -> anyhow::Result<ExitCode> {
    let train = &arguments.train;
    train.method.check(typed)?;
    if let Some((_, remedy)) = REFUSED.iter().find(|(id, _)| typed.iter().any(|typed| typed == id)) {
        bail!("{remedy}");
    }
    let of_lambdas = ["lambda_ratio", "points", "lambdas"];
    if train.c.0.len() > 1 && typed.iter().any(|typed| of_lambdas.contains(&typed.as_str())) {
        bail!("a path is along values of C or along lambdas, not both; name one C, or leave the lambdas out");
    }
    if train.recipe.solver == SolverChoice::Newton {
        bail!("a path is solved by dual variables or by columns; use --solver auto");
    }
    if train.method.baseline().is_some() || train.method.own_loss().is_some() {
        bail!("a path needs a method with dual variables; leave --method out");
    }
    let budget = Budget::new(train.memory.unwrap_or_else(towline::machine::default_memory_bytes));
    let threads = train.threads.map_or_else(towline::machine::threads, usize::from);
    let store = train::open_store(train, threads, &budget)?;
    let folder = train.output.clone().unwrap_or_else(|| train.data.with_extension("path"));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let objective = train.objective.objective(train.c.0[0], &store, &budget)?;
    if let Targets::Classes { classes, .. } = &objective.targets {
        bail!("a path tells two classes apart, and there are {}; name one with --positive LABEL", classes.len());
    }
    if objective.width() > 1 {
        bail!(
            "a path predicts one number, and rows of this store have {}; pack them with one --label",
            objective.width()
        );
    }
    let checkpoint = CheckpointFile { path: folder.join("path.duals"), store: StoreFingerprint::of(store.manifest()) };
    let task = Task { checkpoint: Some(checkpoint.clone()), ..Task::new(objective) };
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || stop_once(&flag)).context("cannot watch for Ctrl-C")?;

    let mut walk = Walk {
        store: store.clone(),
        budget,
        folder,
        reading: train.reading.options(Precision::F32, threads, true),
        points: Vec::new(),
        bytes_read: 0,
        together: false,
        talk: !train.quiet && !train.json,
        done: Vec::new(),
    };
    let mut along = walk.plan(arguments, &task)?;
    let tasks = walk.points.iter().cloned().map(Task::new).collect();
    let mut options = TrainOptions { stop, ..train::options(train, tasks)? };
    if !train.restart && walk.go_on(&mut options, &checkpoint)? {
        along = None;
    }
    let mut watcher = Watcher::new(train.trace.as_deref(), None, train.tolerance, walk.talk)?;
    walk.walk(&options, along, &checkpoint, &mut watcher)?;
    watcher.finish()?;
    if let Some(test) = &train.test {
        walk.judge(test)?;
    }
    walk.write_table()?;
    if train.json {
        show::print(&format!("{}\n", walk.json()?))?;
    } else if walk.talk {
        show::print(&walk.summary())?;
    }
    Ok(walk.exit_code())
}

/// A path while it is walked.
struct Walk {
    store: Arc<DiskStore>,
    budget: Budget,
    folder: PathBuf,
    reading: ReadOptions,
    points: Vec<Objective>,
    /// By this run.
    bytes_read: u64,
    /// Whether points were trained together, so that what was read for one was read for others, too.
    together: bool,
    talk: bool,
    done: Vec<Point>,
}

/// A model that is there, as far as the table goes.
struct Point {
    header: Header,
    /// Weights that are not 0, the intercept aside.
    weights: u64,
    quality: Option<Quality>,
}

impl Point {
    /// The objective and its relative gap; every model of a path has a certificate.
    fn value_and_gap(&self) -> (f64, f64) {
        self.header.certificate.map_or((f64::NAN, f64::NAN), |found| (found.objective, found.relative_gap()))
    }

    fn new(model: Model) -> Point {
        Point { weights: model.features.len() as u64, header: model.header, quality: None }
    }

    fn lambda(&self) -> f64 {
        self.header.objective.penalty.lambda()
    }

    fn c(&self) -> f64 {
        self.header.objective.c
    }
}

impl Walk {
    /// Lays out the points, and returns what the first one starts from.
    fn plan(&mut self, arguments: &Arguments, task: &Task) -> anyhow::Result<Option<Along>> {
        let objective = &task.objective;
        if let values @ [_, _, ..] = &arguments.train.c.0[..] {
            // From the least C on, where weights are smallest.
            self.points = values.iter().map(|&c| Objective { c, ..objective.clone() }).collect();
            return Ok(None);
        }
        let (lambdas, along) = if arguments.lambdas.is_empty() {
            let ratio = arguments.lambda_ratio;
            if !(ratio > 0.0 && ratio < 1.0) {
                bail!("--lambda-ratio must be a number between 0 and 1, not {ratio}");
            }
            let zero = trainer::at_zero(self.store.clone(), task, &self.budget)?;
            self.bytes_read = zero.bytes_read;
            let Some(largest) = zero.largest_lambda else {
                let name = objective.penalty.name();
                bail!(
                    "a path begins where all weights are 0, and with the {name} penalty they never are; name --lambdas"
                );
            };
            if largest == 0.0 {
                bail!("all weights are 0 for every lambda: the features say nothing about the labels");
            }
            let steps = (arguments.points - 1).max(1);
            let first = if arguments.points == 1 { 1 } else { 0 };
            let part = |k: u32| ratio.powf(f64::from(k) / f64::from(steps));
            ((first..=steps).map(|k| largest * part(k)).collect(), Some(zero.along))
        } else {
            for &lambda in &arguments.lambdas {
                positive_number("--lambdas", lambda)?;
            }
            (arguments.lambdas.clone(), None)
        };
        let point = |&lambda: &f64| Objective { penalty: objective.penalty.with_lambda(lambda), ..objective.clone() };
        self.points = lambdas.iter().map(point).collect();
        Ok(along)
    }

    fn file(&self, number: usize) -> PathBuf {
        let width = self.points.len().to_string().len();
        self.folder.join(format!("{:0width$}.towm", number + 1))
    }

    /// Takes over what an interrupted run of the same path has left.
    fn go_on(&mut self, options: &mut TrainOptions, checkpoint: &CheckpointFile) -> anyhow::Result<bool> {
        let numbers = checkpoint.store.rows.saturating_add(self.store.shape().columns).saturating_add(1);
        let Some(found) = Checkpoint::open(&checkpoint.path, numbers)? else { return Ok(false) };
        let at = self.points.iter().position(|point| *point == found.header.objective);
        let Some(at) = at.filter(|_| found.header.store == checkpoint.store) else { return Ok(false) };
        let mut models = Vec::new();
        for number in 0..=at {
            match Model::load(&self.file(number)) {
                Ok(model) if is_done(&model) && model.header.objective == self.points[number] => {
                    models.push(Point::new(model))
                }
                _ => return Ok(false),
            }
        }
        self.done = models;
        options.tasks.drain(..=at);
        if let Some(next) = options.tasks.first_mut() {
            next.start_weights = found.weights().context("cannot read the weights of the earlier run")?;
            let factor = next.objective.c / found.header.objective.c;
            next.start = Some(Start::Earlier(Box::new(found), factor));
        }
        if self.talk {
            eprintln!("note: going on after point {} of {} (--restart begins anew)", at + 1, self.points.len());
        }
        Ok(true)
    }

    /// Judges every model; only now, since while rows are in memory there is no room for scores.
    fn judge(&mut self, test: &str) -> anyhow::Result<()> {
        for number in 0..self.done.len() {
            let model = Model::load(&self.file(number))?;
            self.done[number].quality = Some(judge(&model, test, &self.reading, &self.budget)?);
        }
        Ok(())
    }

    fn walk(
        &mut self,
        options: &TrainOptions,
        along: Option<Along>,
        checkpoint: &CheckpointFile,
        watcher: &mut Watcher,
    ) -> anyhow::Result<()> {
        let (store, budget) = (self.store.clone(), self.budget.clone());
        let first = self.done.len();
        let mut waves = 0;
        let features = FeatureMap::read(self.store.path(), self.store.manifest(), &self.budget)?;
        let mut each = |number: usize, together: &[Trained]| {
            for (k, trained) in together.iter().enumerate() {
                let number = first + number + k;
                let model = Model::new(std::slice::from_ref(trained), &self.points[number], &self.store, &features);
                model.save(&self.file(number))?;
                self.done.push(Point::new(model));
            }
            waves += 1;
            match together.last() {
                Some(last) if together.iter().all(|trained| trained.status != Status::Interrupted) => {
                    let objective = &self.points[self.done.len() - 1];
                    Ok(checkpoint.save(objective, last.cost, &last.duals, &last.weights)?)
                }
                _ => Ok(()),
            }
        };
        let cost = trainer::path::<anyhow::Error>(store, options, along, &budget, watcher, &mut each)?;
        self.together = waves < self.points.len() - first;
        self.bytes_read += cost.bytes_read;
        Ok(())
    }

    fn exit_code(&self) -> ExitCode {
        let ended = |status: Status| self.done.iter().any(|point| point.header.status == status);
        if ended(Status::Interrupted) {
            ExitCode::from(130)
        } else if ended(Status::OutOfPasses) || ended(Status::OutOfTime) {
            ExitCode::from(NOT_CONVERGED)
        } else {
            ExitCode::SUCCESS
        }
    }

    fn json(&self) -> anyhow::Result<serde_json::Value> {
        let point = |(number, point): (usize, &Point)| {
            let header = &point.header;
            anyhow::Ok(serde_json::json!({
                "lambda": point.lambda(),
                "c": point.c(),
                "weights": point.weights,
                "intercept": header.intercepts[0],
                "status": header.status,
                "objective": header.certificate.map(|certificate| certificate.objective),
                "relative_gap": header.certificate.map(|certificate| certificate.relative_gap()),
                "passes": header.cost.passes,
                "sweeps": header.cost.sweeps,
                "bytes_read": header.cost.bytes_read,
                "seconds": header.cost.seconds,
                "model": self.file(number),
                "test": point.quality.as_ref().map(Quality::json).transpose()?,
            }))
        };
        let points = self.done.iter().enumerate().map(point).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(serde_json::json!({
            "schema": 1,
            "bytes_read": self.bytes_read,
            "peak_memory_bytes": towline::machine::peak_memory_bytes(),
            "points": points,
        }))
    }

    /// The table for other programs, beside the models.
    fn write_table(&self) -> anyhow::Result<()> {
        let mut text =
            String::from("lambda,c,weights,intercept,objective,relative_gap,passes,bytes_read,seconds,test,model\n");
        for (number, point) in self.done.iter().enumerate() {
            let header = &point.header;
            let (objective, gap) = point.value_and_gap();
            let cost = header.cost;
            let test = point.quality.as_ref().map_or(String::new(), |quality| quality.score().to_string());
            let file = self.file(number);
            let file = file.file_name().map(Path::new).unwrap_or(&file).display();
            text += &format!(
                "{},{},{},{},{objective},{gap},{},{},{},{test},{file}\n",
                point.lambda(),
                point.c(),
                point.weights,
                header.intercepts[0],
                cost.passes,
                cost.bytes_read,
                cost.seconds
            );
        }
        let path = self.folder.join("path.csv");
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    fn summary(&self) -> String {
        let along_c = self.points.len() > 1 && self.points[0].c != self.points[1].c;
        let mut text = format!(
            "{:>12} {:>9} {:>16} {:>9} {:>7} {:>11}",
            if along_c { "C" } else { "lambda" },
            "weights",
            "objective",
            "gap",
            "passes",
            "read"
        );
        text += if self.done.iter().any(|point| point.quality.is_some()) { "  test\n" } else { "\n" };
        for point in &self.done {
            let header = &point.header;
            let (objective, gap) = point.value_and_gap();
            text += &format!(
                "{:>12} {:>9} {:>16.6} {:>9.2e} {:>7} {:>11}",
                if along_c { show::number(point.c()) } else { format!("{:.6}", point.lambda()) },
                show::count(point.weights),
                objective,
                gap,
                header.cost.passes,
                size::show(header.cost.bytes_read),
            );
            let test = point.quality.as_ref().map_or(String::new(), |quality| format!("  {:.6}", quality.score()));
            text += &(test + "\n");
        }
        if self.together {
            text += "points were trained together: what was read for one was read for others, too\n";
        }
        let ended = self.done.last().map(|point| point.header.status);
        if ended == Some(Status::Interrupted) {
            text += "interrupted; the same command goes on from the points before\n";
        }
        text += &format!(
            "{} of {} points, {} read, peak memory {}, models and path.csv in {}\n",
            self.done.len(),
            self.points.len(),
            size::show(self.bytes_read),
            size::show(towline::machine::peak_memory_bytes()),
            self.folder.display()
        );
        text
    }
}

/// Whether a model is as good as it was to become, so that it need not be trained again.
fn is_done(model: &Model) -> bool {
    model.header.status != Status::Interrupted
}
