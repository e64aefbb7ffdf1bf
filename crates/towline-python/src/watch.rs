//! Looks after a run while it goes on: Ctrl-C, and the caller's own function.
use std::time::{Duration, Instant};

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use towline::stop::Stop;
use towline::trainer::{Observer, Step, WeightsNow};

/// Signals are looked at this often: soon enough for a person, seldom enough for the interpreter lock.
const PATIENCE: Duration = Duration::from_millis(20);

/// Calls back to Python after each step of a run.
pub struct Watch {
    callback: Option<Py<PyAny>>,
    stop: Stop,
    looked: Instant,
    /// Whether the callback is told the weights.
    tells_weights: bool,
    /// What Python raised; the run ends after it.
    pub raised: Option<PyErr>,
}

impl Watch {
    /// Watches a run that ends when `stop` is set.
    pub fn new(callback: Option<Py<PyAny>>, stop: Stop) -> Self {
        Watch { callback, stop, looked: Instant::now(), tells_weights: false, raised: None }
    }

    /// The same, and the callback is told the weights, or not.
    pub fn with_weights(self, tells_weights: bool) -> Self {
        Watch { tells_weights, ..self }
    }

    fn call(&self, py: Python<'_>, step: &Step, weights: &WeightsNow) -> PyResult<bool> {
        py.check_signals()?;
        let Some(callback) = &self.callback else { return Ok(false) };
        let facts = described(py, step)?;
        if self.tells_weights {
            let models: Vec<_> = weights.models.iter().map(|model| PyArray1::from_slice(py, model)).collect();
            facts.set_item("weights", models)?;
        }
        callback.bind(py).call1((facts,))?.is_truthy()
    }
}

impl Observer for Watch {
    fn step(&mut self, step: &Step, weights: &WeightsNow) {
        if self.raised.is_some() || (self.callback.is_none() && self.looked.elapsed() < PATIENCE) {
            return;
        }
        self.looked = Instant::now();
        match Python::attach(|py| self.call(py, step, weights)) {
            Ok(false) => {}
            Ok(true) => _ = self.stop.request(),
            Err(error) => {
                self.raised = Some(error);
                self.stop.request();
            }
        }
    }
}

/// A step in plain Python.
fn described<'py>(py: Python<'py>, step: &Step) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("passes", step.cost.passes)?;
    facts.set_item("sweeps", step.cost.sweeps)?;
    facts.set_item("visits", step.cost.visits)?;
    facts.set_item("bytes_read", step.cost.bytes_read)?;
    facts.set_item("seconds", step.cost.seconds)?;
    facts.set_item("dual_objective", step.dual_objective)?;
    facts.set_item("objective", step.objective)?;
    let gap = step.gap_estimate.or(step.certificate.map(|certificate| certificate.relative_gap()));
    facts.set_item("gap", gap)?;
    Ok(facts)
}
