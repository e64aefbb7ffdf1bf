//! Training.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use towline::budget::Budget;
use towline::loss::AnyLoss;
use towline::objective::{Objective, Targets};
use towline::penalty::{AnyPenalty, GroupMap};
use towline::store::features::FeatureMap;
use towline::store::{BlockStore, DiskStore};
use towline::trainer::{self, Certificate, Cost, Start, Status, TrainOptions};

use crate::errors::{OrRaise, bad_value};
use crate::model::{self, Model};
use crate::rows::Rows;
use crate::store::Store;
use crate::watch::Watch;

/// What to minimise and how, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Arguments<'py> {
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
    tolerance: f64,
    max_passes: u64,
    max_seconds: Option<f64>,
    seed: u64,
    /// Dual variables and weights of an earlier run.
    start: Option<(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>,
    memory: Option<u64>,
    callback: Option<Py<PyAny>>,
}

impl Arguments<'_> {
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

    fn options(&self, stop: &Arc<AtomicBool>) -> PyResult<TrainOptions> {
        let start = self.start.as_ref();
        Ok(TrainOptions {
            tolerance: self.tolerance,
            max_passes: self.max_passes,
            max_time: self.max_seconds.map(Duration::try_from_secs_f64).transpose().map_err(bad_value)?,
            seed: self.seed,
            start: start.map(|(duals, _)| Start::Values(duals.as_array().to_vec())),
            start_weights: start.map(|(_, weights)| weights.as_array().to_vec()).unwrap_or_default(),
            stop: stop.clone(),
            ..TrainOptions::new(self.objective()?)
        })
    }
}

/// What came of training.
#[pyclass(frozen, module = "towline._native")]
pub struct Fitted {
    weights: Py<PyArray1<f64>>,
    duals: Option<Py<PyArray1<f64>>>,
    header: String,
    status: Status,
    certificate: Certificate,
    cost: Cost,
    /// The exception that ended it.
    raised: Option<PyErr>,
    model: Option<Py<Model>>,
}

#[pymethods]
impl Fitted {
    /// Weights by column, and that of the constant feature last.
    #[getter]
    fn weights(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.weights.clone_ref(py)
    }

    /// The dual variable of each row, if they were asked for.
    #[getter]
    fn duals(&self, py: Python<'_>) -> Option<Py<PyArray1<f64>>> {
        self.duals.as_ref().map(|duals| duals.clone_ref(py))
    }

    /// What a model file says of it, as JSON.
    #[getter]
    fn header(&self) -> &str {
        &self.header
    }

    /// converged, out-of-passes, out-of-time or interrupted.
    #[getter]
    fn status(&self) -> &'static str {
        status_name(self.status)
    }

    /// The objective.
    #[getter]
    fn objective(&self) -> f64 {
        self.certificate.objective
    }

    /// The relative duality gap.
    #[getter]
    fn gap(&self) -> f64 {
        self.certificate.relative_gap()
    }

    /// Passes over the data.
    #[getter]
    fn passes(&self) -> u64 {
        self.cost.passes
    }

    /// Sweeps over rows in memory.
    #[getter]
    fn sweeps(&self) -> u64 {
        self.cost.sweeps
    }

    /// Bytes read from the store.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.cost.bytes_read
    }

    /// The model in the feature numbers or names of the store, if one was trained on.
    #[getter]
    fn model(&self, py: Python<'_>) -> Option<Py<Model>> {
        self.model.as_ref().map(|model| model.clone_ref(py))
    }

    /// The exception that ended training early: KeyboardInterrupt, or what the callback raised.
    #[getter]
    fn raised(&self, py: Python<'_>) -> Option<PyErr> {
        self.raised.as_ref().map(|error| error.clone_ref(py))
    }
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

/// Trains on rows in memory or on a store.
#[pyfunction]
#[pyo3(signature = (data, arguments, keep_duals=false))]
pub fn train(py: Python<'_>, data: &Bound<'_, PyAny>, arguments: Arguments<'_>, keep_duals: bool) -> PyResult<Fitted> {
    let (store, on_disk): (Arc<dyn BlockStore>, Option<Arc<DiskStore>>) = if let Ok(rows) = data.cast::<Rows>() {
        (rows.get().store(), None)
    } else if let Ok(store) = data.cast::<Store>() {
        (store.get().store.clone(), Some(store.get().store.clone()))
    } else {
        return Err(PyTypeError::new_err("data is neither Rows nor a Store"));
    };
    let stop = Arc::new(AtomicBool::new(false));
    let options = arguments.options(&stop)?;
    let budget = match (arguments.memory, &on_disk) {
        (Some(bytes), _) => Budget::new(bytes),
        (None, Some(_)) => Budget::new(towline::machine::default_memory_bytes()),
        // The data is in memory already; what comes on top is little.
        (None, None) => Budget::unlimited(),
    };
    let mut watch = Watch::new(arguments.callback, stop);
    let rows = store.shape().rows;
    let trained = py.detach(|| trainer::train(store, &options, &budget, &mut watch)).or_raise()?;
    let header = model::header(&trained, &options.objective, rows);
    let model = match &on_disk {
        Some(store) => {
            let features = FeatureMap::read(store.path(), store.manifest(), &budget).or_raise()?;
            let model = towline::model::Model::new(&trained, &options.objective, store, &features);
            Some(Py::new(py, Model::from(model))?)
        }
        None => None,
    };
    let duals = if keep_duals { Some(trained.duals.values().map_err(bad_value)?) } else { None };
    Ok(Fitted {
        duals: duals.map(|duals| PyArray1::from_vec(py, duals).unbind()),
        header: serde_json::to_string(&header).map_err(bad_value)?,
        status: trained.status,
        certificate: trained.certificate,
        cost: trained.cost,
        weights: PyArray1::from_vec(py, trained.weights).unbind(),
        raised: watch.raised,
        model,
    })
}
