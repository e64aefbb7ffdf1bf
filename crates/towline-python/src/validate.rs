//! Cross-validation.
use pyo3::prelude::*;
use towline::FitError;
use towline::stop::Stop;

use crate::errors::{OrRaise, bad_value};
use crate::fit::{Limits, Problem, data_of};
use crate::watch::Watch;

/// Trains a model for each problem and each fold, all over shared blocks, and scores it by the rows of the fold.
/// Returns JSON.
#[pyfunction]
pub fn cross_validate(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    problems: Vec<Problem<'_>>,
    limits: Limits,
    folds: u32,
    stratify: bool,
) -> PyResult<String> {
    let data = data_of(data)?;
    let (budget, stop) = (limits.budget(&data), Stop::default());
    let fits =
        problems.iter().map(|problem| limits.set(problem.fit()?, &budget, &stop)).collect::<PyResult<Vec<_>>>()?;
    let Some(first) = fits.first() else { return Err(bad_value("there is nothing to compare")) };
    // Folds with a share of every class take no notice of groups.
    let validation = first.clone().cross_validate().folds(folds).stratify(stratify).split_groups(stratify);
    let mut watch = Watch::new(limits.callback, stop);
    let found = py.detach(|| {
        let objectives = fits.iter().map(|fit| fit.objective(&data)).collect::<Result<Vec<_>, FitError>>()?;
        validation.run_on(&objectives, &data, &budget, &mut watch)
    });
    match watch.raised {
        Some(error) => Err(error),
        None => serde_json::to_string(&found.or_raise()?).map_err(bad_value),
    }
}
