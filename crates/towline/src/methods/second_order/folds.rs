//! Cross-validation of the squared loss: every objective and fold from one scan.
use std::sync::Arc;

use super::least_squares::{self, LeastSquares, Solved};
use super::moments::{Moments, Parts};
use super::rows::{StoreRows, row_work};
use crate::budget::Budget;
use crate::engine::{Cost, Limits, RowFilter, Task, TrainError, TrainOptions};
use crate::objective::Objective;
use crate::store::BlockStore;

/// What came of one objective and one fold.
pub struct FoldScore {
    /// The root of the mean squared error of the rows that the model has not seen.
    pub error: f64,
    /// The relative gap of the model.
    pub gap: f64,
}

/// The scores of each objective, by fold; `filters` keep the rows of the folds that a model sees. What it has cost is
/// added to `cost`.
pub fn cross_validate(
    store: Arc<dyn BlockStore>,
    objectives: &[Objective],
    filters: &[Arc<dyn RowFilter>],
    options: &TrainOptions,
    budget: &Budget,
    cost: &mut Cost,
) -> Result<Vec<Vec<FoldScore>>, TrainError> {
    let limits = Limits::new(options);
    let shape = store.shape();
    // Nothing is gone over again, so nothing is kept.
    let mut rows = StoreRows::open(store, false, (limits.watch(), row_work(&shape)), budget)?;
    let task = |filter: &Arc<dyn RowFilter>| Task { rows: Some(filter.clone()), ..Task::new(objectives[0].clone()) };
    let tasks: Vec<Task> = filters.iter().map(task).collect();
    let parts = Parts::sum(&mut rows, &tasks, budget, || Ok(()))?;
    let bytes = 2 * Moments::bytes(&shape) + least_squares::bytes(shape.columns, &objectives[0]);
    let _paid = budget.reserve("normal equations", bytes)?;
    let mut scores: Vec<Vec<FoldScore>> = objectives.iter().map(|_| Vec::with_capacity(filters.len())).collect();
    let mut order: Vec<usize> = (0..objectives.len()).collect();
    order.sort_by(|&a, &b| objectives[a].c.total_cmp(&objectives[b].c));
    for fold in 0..filters.len() {
        let (seen, unseen) = (parts.of(fold, true, &shape), parts.of(fold, false, &shape));
        if seen.weight() <= 0.0 {
            return Err(TrainError::NoWeight);
        }
        let mut before: Option<Vec<f64>> = None;
        for &point in &order {
            let Solved { weights, certificate, .. } =
                LeastSquares::new(&seen, &objectives[point]).solve(before.as_deref(), limits.watch());
            let error = unseen.mean_squared_error(&weights, &objectives[point]).sqrt();
            scores[point].push(FoldScore { error, gap: certificate.relative_gap() });
            before = Some(weights);
        }
    }
    let seconds = limits.seconds();
    *cost = cost.with(&Cost { seconds, solve_seconds: seconds - rows.cost.read_seconds, ..rows.cost });
    Ok(scores)
}

impl Moments {
    /// The mean over rows of Σ (y - z)² over targets; no number where there are no rows.
    fn mean_squared_error(&self, weights: &[f64], objective: &Objective) -> f64 {
        let (features, outputs) = (self.features(), objective.width());
        let mut sum = 0.0;
        for k in 0..outputs {
            let w = |j: usize| weights[j * outputs + k];
            let target = features + 1 + k;
            let mut spread = self.centred(target, target);
            let mut mean = self.at(target, features) - self.weight() * objective.bias * w(features);
            for i in 0..features {
                mean -= w(i) * (self.at(i, features) + self.shift()[i] * self.weight());
                if w(i) != 0.0 {
                    let along: f64 = (0..features).map(|j| self.centred(i, j) * w(j)).sum();
                    spread += w(i) * (along - 2.0 * self.centred(i, target));
                }
            }
            sum += spread.max(0.0) / self.weight() + (mean / self.weight()).powi(2);
        }
        sum
    }
}
