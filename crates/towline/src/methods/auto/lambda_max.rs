//! Where a path begins: the least λ for which all weights are 0, and the optimum there.
//!
//! At w = 0 and the intercept b that is best there, the slopes make a dual point `β_i = -c_i L'(y_i, b)` with v = Σ βx,
//! and w = 0 is optimal as long as v is in the dual ball of R: the least such λ is the dual norm of v. Without an
//! intercept that is one scan; b takes one more, over the targets. Where the best b lies on kinks of the loss, β is the
//! mixture of the slopes to both sides that adds up to 0; there another mixture may do with a smaller λ, and this one
//! is an upper bound.
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::budget::Budget;
use crate::engine::duals::Left;
use crate::engine::{Cost, Pass, Plan, Task, TrainError, WarmState};
use crate::loss::Loss;
use crate::objective::Objective;
use crate::store::BlockStore;

/// The optimum where all weights are 0.
#[derive(Debug)]
pub struct LambdaMax {
    /// λ from which on all weights are 0; none for a penalty under which they never are.
    pub largest_lambda: Option<f64>,
    /// Weights and dual variables there, to begin a path with.
    pub along: WarmState,
    /// Bytes read from the store.
    pub bytes_read: u64,
    /// Passes over the data.
    pub passes: u64,
}

/// Finds the largest λ of a path, by one scan, or two with an intercept.
pub fn lambda_max(store: Arc<dyn BlockStore>, task: &Task, budget: &Budget) -> Result<LambdaMax, TrainError> {
    let objective = &task.objective;
    let plan = Plan::for_models(&*store, objective, 1, budget)?;
    let length = store.shape().columns as usize + 1;
    let _paid = budget.reserve("weights", 2 * 8 * length as u64)?;
    let duals = task.no_duals(store.shape().rows, plan.duals_on_disk, budget)?;
    let mut left = Left { weights: vec![0.0; length], duals, sums: vec![0.0; length] };
    let (mut pass, mut cost) = (Pass::over(store, budget)?, Cost::default());
    let slopes = match objective.intercept {
        true => best_intercept(&mut pass, objective, budget, &mut cost)?,
        false => Slopes::at(0.0),
    };
    left.weights[length - 1] = slopes.at[0] / objective.bias.max(f64::MIN_POSITIVE);
    let (mut weight, mut block_duals) = (0.0, Vec::new());
    let Left { duals, sums, .. } = &mut left;
    pass.scan(&mut cost, |block, first| {
        block_duals.clear();
        for i in 0..block.rows() {
            let (y, c) = objective.row(&block.info(i));
            let beta = if c > 0.0 { slopes.dual(objective, y, c) } else { 0.0 };
            weight += c;
            block.row(i).add_to(sums, beta);
            sums[length - 1] += beta * objective.bias;
            block_duals.push(beta);
        }
        duals.write(first, &block_duals)
    })?;
    if weight == 0.0 {
        return Err(TrainError::NoWeight);
    }
    let penalised = length - usize::from(objective.intercept);
    let largest_lambda = objective.penalty.least_lambda(&left.sums[..penalised]);
    let along = WarmState { left: Arc::new(left), c: objective.c };
    Ok(LambdaMax { largest_lambda, along, bytes_read: cost.bytes_read, passes: cost.passes })
}

/// The margin that is best where all rows have the same.
fn best_intercept(
    pass: &mut Pass,
    objective: &Objective,
    budget: &Budget,
    cost: &mut Cost,
) -> Result<Slopes, TrainError> {
    // Weights of rows by target; two entries for classes. Nodes of the tree are at least half full.
    const ENTRY_BYTES: u64 = 48;
    let mut targets: BTreeMap<u64, f64> = BTreeMap::new();
    let mut paid = budget.reserve("targets", 0)?;
    pass.scan(cost, |block, _| {
        for i in 0..block.rows() {
            let (y, c) = objective.row(&block.info(i));
            *targets.entry(y.to_bits()).or_default() += c;
        }
        Ok(paid.grow_to(targets.len() as u64 * ENTRY_BYTES)?)
    })?;
    let targets = targets.iter().filter(|(_, c)| **c > 0.0).map(|(&y, &c)| (f64::from_bits(y), c));
    Ok(balanced(|z| targets.clone().map(|(y, c)| c * objective.loss.slope(y, z)).sum()))
}

/// Slopes at one margin, or a mixture of those at two neighbours.
struct Slopes {
    at: [f64; 2],
    shares: [f64; 2],
}

impl Slopes {
    fn at(z: f64) -> Slopes {
        Slopes { at: [z, z], shares: [1.0, 0.0] }
    }

    fn dual(&self, objective: &Objective, y: f64, c: f64) -> f64 {
        let (low, high) = objective.loss.dual_bounds(y, c);
        let slope: f64 = self.at.iter().zip(self.shares).map(|(&z, share)| share * objective.loss.slope(y, z)).sum();
        (-c * slope).clamp(low, high)
    }
}

/// Where `slope`, which never falls, passes 0: between two floats that are neighbours, with the shares that make it 0.
fn balanced(slope: impl Fn(f64) -> f64) -> Slopes {
    // Margins beyond 2^64 are no data.
    let bracket = (-10..=64).map(|power| 2f64.powi(power)).find(|&z| slope(-z) <= 0.0 && slope(z) >= 0.0);
    let (mut low, mut high) = bracket.map_or((0.0, 0.0), |z| (-z, z));
    loop {
        let middle = low + 0.5 * (high - low);
        if middle <= low || middle >= high {
            break;
        }
        if slope(middle) < 0.0 { low = middle } else { high = middle }
    }
    let (below, above) = (slope(low), slope(high));
    let share = if above > below { above / (above - below) } else { 1.0 };
    Slopes { at: [low, high], shares: [share, 1.0 - share] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_balanced_on_kinks_and_elsewhere() {
        // Three quarters of the rows want a margin above 1, a quarter below -1, as the hinge loss does.
        let hinge = |z: f64| if z < 1.0 { -3.0 } else { 0.0 } + if z > -1.0 { 1.0 } else { 0.0 };
        let found = balanced(hinge);
        assert!((found.at[0] - 1.0).abs() < 1e-15 && (found.at[1] - 1.0).abs() < 1e-15);
        assert!((found.shares[0] - 1.0 / 3.0).abs() < 1e-12, "{:?}", found.shares);
        let smooth = balanced(|z| z - 0.3);
        assert!((smooth.at[0] - 0.3).abs() < 1e-15);
        let flat = balanced(|_| 0.0);
        assert!(flat.shares.iter().sum::<f64>() == 1.0);
    }
}
