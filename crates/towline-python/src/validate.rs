//! Cross-validation.
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use towline::FitError;
use towline::cv::Split;
use towline::stop::Stop;

use crate::errors::{OrRaise, bad_value};
use crate::fit::{Limits, Problem, data_of};
use crate::watch::Watch;

/// Trains a model for each problem and each fold, all over shared blocks, and scores it by the rows of the fold.
/// `folds` says into how many parts the rows are divided, or has the numbers of the rows that each fold is trained on
/// and tested by. Returns JSON.
#[pyfunction]
#[pyo3(signature = (data, problems, limits, folds, stratify=false, metric=None))]
pub fn cross_validate(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    problems: Vec<Problem<'_>>,
    limits: Limits,
    folds: &Bound<'_, PyAny>,
    stratify: bool,
    metric: Option<&str>,
) -> PyResult<String> {
    let data = data_of(data)?;
    let (budget, stop) = (limits.budget(&data), Stop::default());
    let fits =
        problems.iter().map(|problem| limits.set(problem.fit()?, &budget, &stop)).collect::<PyResult<Vec<_>>>()?;
    let Some(first) = fits.first() else { return Err(bad_value("there is nothing to compare")) };
    let mut validation = first.clone().cross_validate();
    validation = match folds.extract::<u32>() {
        // Folds with a share of every class take no notice of groups.
        Ok(count) => validation.folds(count).stratify(stratify).split_groups(stratify),
        Err(_) => validation.splits(splits(folds, data.store().shape().rows)?),
    };
    if let Some(metric) = metric {
        validation = validation.metric(metric.parse().map_err(bad_value)?);
    }
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

/// Folds from pairs of arrays of row numbers.
fn splits(folds: &Bound<'_, PyAny>, rows: u64) -> PyResult<Vec<Split>> {
    type Pair<'py> = (PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, u64>);
    let pairs = folds.extract::<Vec<Pair<'_>>>()?;
    let split = |(train, test): &Pair<'_>| {
        let (train, test) = (train.as_array().to_vec(), test.as_array().to_vec());
        Split::new(rows, &train, &test).ok_or_else(|| bad_value(format!("a fold has a row that is not below {rows}")))
    };
    pairs.iter().map(split).collect()
}
