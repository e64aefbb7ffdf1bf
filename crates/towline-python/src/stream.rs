//! Learning from rows as they come.

use pyo3::prelude::*;
use towline::Fit;
use towline::budget::Budget;
use towline::input::{Progress, RowSource};
use towline::loss::{AnyLoss, LossParameters};
use towline::model::{Model as LibraryModel, ModelError};
use towline::stop::Stop;
use towline::stream::{StreamError, StreamReport, Watch};

use crate::batches::{Batches, Raised};
use crate::errors::{IntoException, OrRaise, bad_value};
use crate::model::Model;
use crate::reading::{Reading, expand};

/// What to learn, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Arguments {
    loss: String,
    epsilon: f64,
    delta: f64,
    quantile: f64,
    c: f64,
    bias: f64,
    /// What classes are called, where labels are their numbers from 0 on.
    classes: Vec<String>,
    /// Weights of classes by name.
    class_weights: Vec<(String, f64)>,
    seed: u64,
    threads: Option<usize>,
    memory: Option<u64>,
    reading: Reading,
}

/// Looks for Ctrl-C after each block.
struct Signals {
    stop: Stop,
    raised: Option<PyErr>,
}

impl Watch for Signals {
    fn step(&mut self, _report: &StreamReport) {
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            self.raised.get_or_insert(error);
            self.stop.request();
        }
    }

    fn save(&mut self, _model: &LibraryModel) -> Result<(), ModelError> {
        Ok(())
    }
}

impl IntoException for StreamError {
    fn into_exception(self) -> PyErr {
        match self {
            StreamError::Input(error) => error.into_exception(),
            StreamError::Store(error) => error.into_exception(),
            StreamError::Budget(error) => error.into_exception(),
            StreamError::Outgrown(error) => error.refused.into_exception(),
            StreamError::Model(error) => error.into_exception(),
            other => bad_value(other),
        }
    }
}

/// Learns from rows once: `data` is an iterator of `Rows`, or a list of files. `start` is a model to go on from.
///
/// Returns the model, and the exception that ended it early.
#[pyfunction]
#[pyo3(signature = (data, arguments, start=None))]
pub fn learn(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    arguments: Arguments,
    start: Option<&Model>,
) -> PyResult<(Model, Option<PyErr>)> {
    let stop = Stop::default();
    let Arguments { epsilon, delta, quantile, .. } = arguments;
    let loss = AnyLoss::from_name(&arguments.loss, LossParameters { epsilon, delta, quantile }).map_err(bad_value)?;
    let fit = Fit::new().loss(loss).c(arguments.c).bias(arguments.bias).seed(arguments.seed).stop(stop.clone());
    let fit = arguments.threads.into_iter().fold(fit, Fit::threads);
    let weigh = |fit: Fit, (name, weight): &(String, f64)| fit.class_weight(name, *weight);
    let stream = arguments.class_weights.iter().fold(fit, weigh).stream();
    let budget = Budget::new(arguments.memory.unwrap_or_else(towline::machine::default_memory_bytes));
    let raised = Raised::default();
    let source: Box<dyn RowSource> = match data.extract::<Vec<String>>() {
        Ok(files) => {
            let reading = arguments.reading.options(true)?;
            towline::input::open(&expand(&files)?, &reading, &budget, &Progress::default()).or_raise()?
        }
        Err(_) => Box::new(Batches::new(data.try_iter()?.unbind(), arguments.classes, raised.clone())),
    };
    let mut signals = Signals { stop, raised: None };
    let start = start.map(Model::library);
    let learnt = py.detach(|| stream.run_rows(source, start, &budget, &mut signals));
    if let Some(error) = raised.take() {
        return Err(error);
    }
    let (model, _) = learnt.or_raise()?;
    Ok((model.into(), signals.raised))
}
