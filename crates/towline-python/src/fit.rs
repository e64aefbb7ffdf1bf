//! Training.
use std::sync::Arc;
use std::time::Duration;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use towline::budget::Budget;
use towline::loss::AnyLoss;
use towline::model::Model as LibraryModel;
use towline::objective::{Classes, Multiclass, Objective, Targets};
use towline::penalty::{AnyPenalty, GroupMap};
use towline::stop::Stop;
use towline::store::features::FeatureName;
use towline::store::{BlockStore, DiskStore, MemoryStore};
use towline::trainer::{self, Solver, Start, Status, Task, TrainError, TrainOptions, Trained};
use towline::truncation::{self, Beginning};

use crate::errors::{OrRaise, bad_value};
use crate::model::Model;
use crate::reading::choose;
use crate::rows::Rows;
use crate::store::Store;
use crate::watch::Watch;

/// What one model minimises, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Problem<'py> {
    loss: String,
    epsilon: f64,
    delta: f64,
    c: f64,
    /// The value of a constant feature.
    bias: f64,
    /// Whether its weight is free of the penalty.
    intercept: bool,
    penalty: String,
    strength: f64,
    l1_ratio: f64,
    /// The group of each column and of the constant feature, and what groups weigh.
    groups: Option<(Vec<u32>, Vec<f64>)>,
    /// Losses are cut off at 1 + this.
    truncate: Option<f64>,
    /// Label, name and weight of each class; none for regression.
    classes: Option<Vec<(f64, String, f64)>>,
    /// How more than two classes are told apart: ovr, crammer-singer or softmax.
    multiclass: String,
    /// Whether, one against the rest, the weight of a class counts just where it is the positive one, as in LIBLINEAR.
    own_weight_only: bool,
    /// Dual variables and weights of an earlier run of the same models.
    start: Option<Vec<(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>>,
}

impl Problem<'_> {
    /// What is minimised.
    pub fn objective(&self) -> PyResult<Objective> {
        let groups = self.groups.clone().map(|(of_column, weights)| GroupMap::new(of_column, weights));
        let groups = groups.transpose().map_err(bad_value)?;
        let loss = AnyLoss::from_name(&self.loss, self.epsilon, self.delta).map_err(bad_value)?;
        let penalty = AnyPenalty::from_name(&self.penalty, self.strength, self.l1_ratio, groups).map_err(bad_value)?;
        let (bias, intercept) = (self.bias, self.intercept);
        let truncate = self.truncate;
        let objective = Objective { bias, intercept, truncate, ..Objective::new(loss, self.c, self.targets()?) };
        Ok(Objective { penalty: penalty.for_outputs(objective.width()), ..objective })
    }

    fn targets(&self) -> PyResult<Targets> {
        let Some(classes) = &self.classes else { return Ok(Targets::Numbers) };
        let ways = Multiclass::ALL.map(|way| (way.name(), way));
        let multiclass = choose("multi_class", &self.multiclass, &ways)?;
        if let ([negative, positive], Multiclass::OneVsRest) = (&classes[..], multiclass) {
            return Ok(Targets::Binary {
                positive: positive.0,
                names: [negative.1.clone(), positive.1.clone()],
                weights: [negative.2, positive.2],
            });
        }
        let labels = classes.iter().map(|class| class.0).collect();
        let names = classes.iter().map(|class| class.1.clone()).collect();
        let classes = Classes::new(labels, names, classes.iter().map(|class| class.2).collect());
        Ok(Targets::Classes { classes, multiclass })
    }

    /// What is minimised one by one.
    pub fn tasks(&self, objective: &Objective) -> Vec<Task> {
        let mut tasks: Vec<Task> = objective.split().into_iter().map(Task::new).collect();
        for task in &mut tasks {
            if let (true, Targets::OneOf { class, classes }) = (self.own_weight_only, &mut task.objective.targets) {
                let own = *class as usize;
                let weights = classes.weights_mut().iter_mut().enumerate();
                weights.filter(|(other, _)| *other != own).for_each(|(_, weight)| *weight = 1.0);
            }
        }
        for (task, (duals, weights)) in tasks.iter_mut().zip(self.start.iter().flatten()) {
            // Models that sums over rows have led to have weights alone.
            task.start = (!duals.as_array().is_empty()).then(|| Start::Values(duals.as_array().to_vec()));
            task.start_weights = weights.as_array().to_vec();
        }
        tasks
    }
}

/// How to train, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Limits {
    tolerance: f64,
    max_passes: u64,
    max_seconds: Option<f64>,
    /// The name of the solver.
    solver: String,
    seed: u64,
    pub memory: Option<u64>,
    threads: Option<usize>,
    pub callback: Option<Py<PyAny>>,
    /// Whether dual variables and weights are wanted, for a later start from them.
    keep_start: bool,
}

impl Limits {
    /// The library's options.
    pub fn options(&self, tasks: Vec<Task>, stop: &Stop) -> PyResult<TrainOptions> {
        let mut tasks = tasks.into_iter();
        let first = tasks.next().ok_or_else(|| bad_value("there is nothing to train"))?;
        let mut options = TrainOptions::of(first);
        options.tasks.extend(tasks);
        options.tolerance = self.tolerance;
        options.max_passes = self.max_passes;
        options.max_time = self.max_seconds.map(Duration::try_from_secs_f64).transpose().map_err(bad_value)?;
        options.solver = choose("solver", &self.solver, &Solver::ALL.map(|solver| (solver.name(), solver)))?;
        options.seed = self.seed;
        options.threads = self.threads.unwrap_or(options.threads);
        options.stop = stop.clone();
        Ok(options)
    }
}

type Vector = Py<PyArray1<f64>>;

/// What came of training.
#[pyclass(frozen, get_all, module = "towline._native")]
pub struct Fitted {
    /// The model in the feature numbers or names of the data.
    model: Py<Model>,
    /// How many columns an array of the same features has: one more than the largest number.
    width: u64,
    /// For each model the dual variables, and weights by column, those of the constant feature last: for a later start from them, if that was asked for.
    start: Vec<(Vector, Vector)>,
    /// converged, out-of-passes, out-of-time or interrupted.
    status: &'static str,
    /// F.
    objective: f64,
    /// The relative duality gap.
    gap: f64,
    /// Passes over the data.
    passes: u64,
    /// Sweeps over rows in memory, of all classes together.
    sweeps: u64,
    /// The solver that has found the model, or the first of several.
    solver: &'static str,
    /// Bytes read from the store.
    bytes_read: u64,
    /// The exception that ended training early: KeyboardInterrupt, or what the callback raised.
    raised: Option<PyErr>,
}

/// The name of a status.
pub fn status_name(status: Status) -> &'static str {
    match status {
        Status::Converged => "converged",
        Status::OutOfPasses => "out-of-passes",
        Status::OutOfTime | Status::OutOfPatience => "out-of-time",
        Status::Interrupted => "interrupted",
        Status::Streamed => "streamed",
    }
}

/// Where rows lie.
pub enum Data {
    Memory(Arc<MemoryStore>),
    Disk(Arc<DiskStore>),
}

impl Data {
    /// Those of a Python object.
    pub fn of(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(rows) = data.cast::<Rows>() {
            Ok(Data::Memory(rows.get().store()))
        } else if let Ok(store) = data.cast::<Store>() {
            Ok(Data::Disk(store.get().store.clone()))
        } else {
            Err(PyTypeError::new_err("data is neither Rows nor a Store"))
        }
    }

    /// As a store.
    pub fn store(&self) -> Arc<dyn BlockStore> {
        match self {
            Data::Memory(store) => store.clone(),
            Data::Disk(store) => store.clone(),
        }
    }

    /// Whether rows belong to groups.
    pub fn is_grouped(&self) -> bool {
        matches!(self, Data::Disk(store) if store.manifest().grouped)
    }

    /// Whether rows lie in random order.
    fn is_shuffled(&self) -> bool {
        let Data::Disk(store) = self else { return false };
        store.manifest().shuffle_seed.is_some() && store.manifest().generation == 1
    }

    /// Trains all models: together, or those with truncated losses one after the other.
    fn train(&self, options: &TrainOptions, budget: &Budget, watch: &mut Watch) -> Result<Vec<Trained>, TrainError> {
        if options.tasks.iter().all(|task| task.objective.truncate.is_none()) {
            return trainer::train_all(self.store(), options, budget, watch);
        }
        let beginning = Beginning { shuffled: self.is_shuffled(), ..Beginning::default() };
        let one = |task: &Task| {
            let options = options.with_tasks(vec![Task::new(task.objective.clone())]);
            truncation::train(self.store(), &options, (beginning, trainer::train), budget, watch)
        };
        options.tasks.iter().map(one).collect()
    }

    /// What may be held besides.
    pub fn budget(&self, memory: Option<u64>) -> Budget {
        match (memory, self) {
            (Some(bytes), _) => Budget::new(bytes),
            (None, Data::Disk(_)) => Budget::new(towline::machine::default_memory_bytes()),
            // The data is in memory already; what comes on top is little.
            (None, Data::Memory(_)) => Budget::unlimited(),
        }
    }

    /// Refuses a budget in which the weights of a store cannot become a model with names in the end.
    fn check_model(&self, options: &TrainOptions, objective: &Objective, budget: &Budget) -> Result<(), TrainError> {
        let Data::Disk(store) = self else { return Ok(()) };
        let columns = store.shape().columns;
        let outputs = (options.tasks.len() * objective.width()) as u64;
        let made = LibraryModel::assembly_bytes(columns, outputs, store.manifest().named_features);
        Ok(budget.check("the model", 8 * outputs * (columns + 1) + made + 8 * columns)?)
    }

    /// The model, and how many columns an array of the same features has.
    fn model(&self, all: &[Trained], objective: &Objective, budget: &Budget) -> PyResult<(LibraryModel, u64)> {
        match self {
            Data::Memory(store) => {
                let shape = store.shape();
                Ok((LibraryModel::of_columns(all, objective, shape.rows, shape.columns), shape.columns))
            }
            Data::Disk(store) => {
                let features = store.features(budget).or_raise()?;
                let ends = (0..features.len() as u32).map(|column| match features.name(column) {
                    FeatureName::Number(number) => number.saturating_add(1),
                    FeatureName::Name(_) => features.len() as u64,
                });
                let width = ends.max().unwrap_or(0);
                Ok((LibraryModel::new(all, objective, store, &features), width))
            }
        }
    }
}

/// Trains on rows in memory or on a store.
#[pyfunction]
pub fn train(py: Python<'_>, data: &Bound<'_, PyAny>, problem: Problem<'_>, limits: Limits) -> PyResult<Fitted> {
    let data = Data::of(data)?;
    let targets = data.store().shape().layout.targets;
    if targets > 1 {
        return Err(bad_value(format!("rows have {targets} targets, and estimators predict one; pack with one label")));
    }
    let stop = Stop::default();
    let objective = problem.objective()?;
    let options = limits.options(problem.tasks(&objective), &stop)?;
    let budget = data.budget(limits.memory);
    data.check_model(&options, &objective, &budget).or_raise()?;
    let mut watch = Watch::new(limits.callback, stop);
    let trained = py.detach(|| data.train(&options, &budget, &mut watch)).or_raise()?;
    let (model, width) = data.model(&trained, &objective, &budget)?;
    let solver = trained.first().map_or(options.solver, |model| model.solver).name();
    let mut start = Vec::new();
    for model in trained.into_iter().filter(|_| limits.keep_start) {
        let duals = model.duals.values().map_err(bad_value)?;
        start.push((PyArray1::from_vec(py, duals).unbind(), PyArray1::from_vec(py, model.weights).unbind()));
    }
    let header = &model.header;
    let certificates = header.certificates.iter().chain(&header.certificate);
    Ok(Fitted {
        width,
        start,
        status: status_name(header.status),
        objective: header.certificate.map_or(f64::NAN, |certificate| certificate.objective),
        gap: certificates.map(|certificate| certificate.relative_gap()).fold(0.0, f64::max),
        passes: header.cost.passes,
        sweeps: header.cost.sweeps,
        solver,
        bytes_read: header.cost.bytes_read,
        raised: watch.raised,
        model: Py::new(py, Model::from(model))?,
    })
}
