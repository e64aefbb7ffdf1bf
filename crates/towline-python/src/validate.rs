//! Cross-validation.
use std::sync::Arc;

use pyo3::prelude::*;
use towline::cv::{self, Folds};
use towline::stop::Stop;

use crate::errors::{OrRaise, bad_value};
use crate::fit::{Data, Limits, Problem};
use crate::watch::Watch;

/// Trains a model for each problem and each fold, all over shared blocks, and scores it by the rows of the fold. Returns JSON.
#[pyfunction]
pub fn cross_validate(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    problems: Vec<Problem<'_>>,
    limits: Limits,
    folds: u32,
    stratify: bool,
) -> PyResult<String> {
    let data = Data::of(data)?;
    let store = data.store();
    if folds < 2 || store.shape().rows < u64::from(folds) {
        return Err(bad_value(format!("{} rows cannot be divided into {folds} folds", store.shape().rows)));
    }
    let objectives = problems.iter().map(Problem::objective).collect::<PyResult<Vec<_>>>()?;
    let Some(first) = problems.first() else { return Err(bad_value("there is nothing to compare")) };
    let stop = Stop::default();
    let options = limits.options(first.tasks(&objectives[0]), &stop)?;
    let budget = data.budget(limits.memory);
    let mut watch = Watch::new(limits.callback, stop);
    let found = py.detach(|| -> PyResult<_> {
        let folds = match stratify {
            true => Folds::stratified(folds, options.seed, &*store, &budget).or_raise()?,
            false => Folds::new(folds, options.seed, data.is_grouped()),
        };
        cv::cross_validate(store, &objectives, Arc::new(folds), None, &options, &budget, &mut watch).or_raise()
    })?;
    match watch.raised {
        Some(error) => Err(error),
        None => serde_json::to_string(&found).map_err(bad_value),
    }
}
