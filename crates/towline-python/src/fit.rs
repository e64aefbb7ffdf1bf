//! Training.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use towline::budget::Budget;
use towline::loss::AnyLoss;
use towline::model::Model as LibraryModel;
use towline::objective::{Objective, Targets};
use towline::penalty::{AnyPenalty, GroupMap};
use towline::store::features::FeatureMap;
use towline::store::{BlockStore, DiskStore, MemoryStore};
use towline::trainer::{self, Start, Status, Task, TrainOptions, Trained};

use crate::errors::{OrRaise, bad_value};
use crate::model::Model;
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
    /// The label of the positive class; none for regression.
    positive: Option<f64>,
    /// Names of the negative and the positive side.
    sides: (String, String),
    /// Weights of the negative and the positive side.
    side_weights: (f64, f64),
    /// Dual variables and weights of an earlier run.
    start: Option<(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>,
}

impl Problem<'_> {
    fn objective(&self) -> PyResult<Objective> {
        let groups = self.groups.clone().map(|(of_column, weights)| GroupMap::new(of_column, weights));
        let groups = groups.transpose().map_err(bad_value)?;
        let sides = [self.sides.0.clone(), self.sides.1.clone()];
        Ok(Objective {
            loss: AnyLoss::from_name(&self.loss, self.epsilon, self.delta).map_err(bad_value)?,
            c: self.c,
            bias: self.bias,
            penalty: AnyPenalty::from_name(&self.penalty, self.strength, self.l1_ratio, groups).map_err(bad_value)?,
            intercept: self.intercept,
            targets: match self.positive {
                Some(positive) => {
                    Targets::Binary { positive, names: sides, weights: [self.side_weights.0, self.side_weights.1] }
                }
                None => Targets::Numbers,
            },
        })
    }

    fn task(&self) -> PyResult<Task> {
        let mut task = Task::new(self.objective()?);
        if let Some((duals, weights)) = &self.start {
            task.start = Some(Start::Values(duals.as_array().to_vec()));
            task.start_weights = weights.as_array().to_vec();
        }
        Ok(task)
    }
}

/// How to train, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Limits {
    tolerance: f64,
    max_passes: u64,
    max_seconds: Option<f64>,
    seed: u64,
    memory: Option<u64>,
    threads: Option<usize>,
    callback: Option<Py<PyAny>>,
    /// Whether dual variables are wanted, for a later start from them.
    keep_duals: bool,
}

impl Limits {
    fn options(&self, tasks: Vec<Task>, stop: &Arc<AtomicBool>) -> PyResult<TrainOptions> {
        let mut tasks = tasks.into_iter();
        let first = tasks.next().ok_or_else(|| bad_value("there is nothing to train"))?;
        let mut options = TrainOptions::of(first);
        options.tasks.extend(tasks);
        options.tolerance = self.tolerance;
        options.max_passes = self.max_passes;
        options.max_time = self.max_seconds.map(Duration::try_from_secs_f64).transpose().map_err(bad_value)?;
        options.seed = self.seed;
        options.threads = self.threads.unwrap_or(options.threads);
        options.stop = stop.clone();
        Ok(options)
    }
}

/// What came of training one model.
#[pyclass(frozen, get_all, module = "towline._native")]
pub struct Fitted {
    /// Weights by column, and that of the constant feature last.
    weights: Py<PyArray1<f64>>,
    /// The dual variable of each row, if they were asked for.
    duals: Option<Py<PyArray1<f64>>>,
    /// The model in the feature numbers or names of the data.
    model: Py<Model>,
    /// converged, out-of-passes, out-of-time or interrupted.
    status: &'static str,
    /// F.
    objective: f64,
    /// The relative duality gap.
    gap: f64,
    /// Passes over the data, all models together.
    passes: u64,
    /// Sweeps over rows in memory.
    sweeps: u64,
    /// Bytes read from the store, all models together.
    bytes_read: u64,
}

/// The name of a status.
pub fn status_name(status: Status) -> &'static str {
    match status {
        Status::Converged => "converged",
        Status::OutOfPasses => "out-of-passes",
        Status::OutOfTime => "out-of-time",
        Status::Interrupted => "interrupted",
    }
}

/// Where rows lie.
enum Data {
    Memory(Arc<MemoryStore>),
    Disk(Arc<DiskStore>),
}

impl Data {
    fn of(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(rows) = data.cast::<Rows>() {
            Ok(Data::Memory(rows.get().store()))
        } else if let Ok(store) = data.cast::<Store>() {
            Ok(Data::Disk(store.get().store.clone()))
        } else {
            Err(PyTypeError::new_err("data is neither Rows nor a Store"))
        }
    }

    fn store(&self) -> Arc<dyn BlockStore> {
        match self {
            Data::Memory(store) => store.clone(),
            Data::Disk(store) => store.clone(),
        }
    }

    fn budget(&self, memory: Option<u64>) -> Budget {
        match (memory, self) {
            (Some(bytes), _) => Budget::new(bytes),
            (None, Data::Disk(_)) => Budget::new(towline::machine::default_memory_bytes()),
            // The data is in memory already; what comes on top is little.
            (None, Data::Memory(_)) => Budget::unlimited(),
        }
    }

    fn models(&self, all: &[Trained], tasks: &[Task], budget: &Budget) -> PyResult<Vec<Model>> {
        let all = all.iter().zip(tasks);
        match self {
            Data::Memory(store) => {
                let rows = store.shape().rows;
                Ok(all.map(|(trained, task)| Model::of_columns(trained, &task.objective, rows)).collect())
            }
            Data::Disk(store) => {
                let features = FeatureMap::read(store.path(), store.manifest(), budget).or_raise()?;
                let model = |trained, task: &Task| LibraryModel::new(trained, &task.objective, store, &features);
                Ok(all.map(|(trained, task)| model(trained, task).into()).collect())
            }
        }
    }
}

/// Trains a model for each problem, all together on rows in memory or on a store. Returns them, and the exception that ended training early:
/// KeyboardInterrupt, or what the callback raised.
#[pyfunction]
pub fn train(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    problems: Vec<Problem<'_>>,
    limits: Limits,
) -> PyResult<(Vec<Fitted>, Option<PyErr>)> {
    let data = Data::of(data)?;
    let stop = Arc::new(AtomicBool::new(false));
    let tasks = problems.iter().map(Problem::task).collect::<PyResult<Vec<_>>>()?;
    let options = limits.options(tasks, &stop)?;
    let budget = data.budget(limits.memory);
    let mut watch = Watch::new(limits.callback, stop);
    let trained = py.detach(|| trainer::train_all(data.store(), &options, &budget, &mut watch)).or_raise()?;
    let models = data.models(&trained, &options.tasks, &budget)?;
    let fitted = |(trained, model): (Trained, Model)| {
        let duals = if limits.keep_duals { Some(trained.duals.values().map_err(bad_value)?) } else { None };
        Ok(Fitted {
            weights: PyArray1::from_vec(py, trained.weights).unbind(),
            duals: duals.map(|duals| PyArray1::from_vec(py, duals).unbind()),
            model: Py::new(py, model)?,
            status: status_name(trained.status),
            objective: trained.certificate.objective,
            gap: trained.certificate.relative_gap(),
            passes: trained.cost.passes,
            sweeps: trained.cost.sweeps,
            bytes_read: trained.cost.bytes_read,
        })
    };
    let all = trained.into_iter().zip(models).map(fitted).collect::<PyResult<Vec<_>>>()?;
    Ok((all, watch.raised))
}
