//! Where the points of a path lie.
use std::sync::Arc;

use anyhow::bail;
use towline::budget::Budget;
use towline::objective::Objective;
use towline::store::DiskStore;
use towline::trainer::{Along, Task, at_zero};

use super::Arguments;
use crate::objective::positive_number;

/// The points of a path.
pub struct Points {
    /// What is minimised at each of them.
    pub objectives: Vec<Objective>,
    /// What the first one starts from.
    pub along: Option<Along>,
    /// What was read to find out.
    pub bytes_read: u64,
}

/// Lays out the points, all of which are like `objective` but for one number.
pub fn lay_out(
    arguments: &Arguments,
    objective: Objective,
    store: &Arc<DiskStore>,
    budget: &Budget,
) -> anyhow::Result<Points> {
    if let values @ [_, _, ..] = &arguments.train.c.0[..] {
        // From the least C on, where weights are smallest.
        let objectives = values.iter().map(|&c| Objective { c, ..objective.clone() }).collect();
        return Ok(Points { objectives, along: None, bytes_read: 0 });
    }
    let with = |lambda: f64| Objective { penalty: objective.penalty.with_lambda(lambda), ..objective.clone() };
    if !arguments.lambdas.is_empty() {
        let lambdas = arguments.lambdas.iter().map(|&lambda| positive_number("--lambdas", lambda));
        let objectives = lambdas.map(|lambda| Ok(with(lambda?))).collect::<anyhow::Result<_>>()?;
        return Ok(Points { objectives, along: None, bytes_read: 0 });
    }
    let ratio = arguments.lambda_ratio;
    if !(ratio > 0.0 && ratio < 1.0) {
        bail!("--lambda-ratio must be a number between 0 and 1, not {ratio}");
    }
    let outputs = objective.split().len().max(objective.width());
    if outputs > 1 {
        bail!(
            "where all weights are 0, and so where a path of lambdas begins, is found for one output, and there are {outputs}; name --lambdas, or several values of -C"
        );
    }
    let zero = at_zero(store.clone(), &Task::new(objective.clone()), budget)?;
    let Some(largest) = zero.largest_lambda else {
        let name = objective.penalty.name();
        bail!("a path begins where all weights are 0, and with the {name} penalty they never are; name --lambdas");
    };
    if largest == 0.0 {
        bail!("all weights are 0 for every lambda: the features say nothing about the labels");
    }
    let steps = (arguments.points - 1).max(1);
    let first = if arguments.points == 1 { 1 } else { 0 };
    let part = |k: u32| ratio.powf(f64::from(k) / f64::from(steps));
    let objectives = (first..=steps).map(|k| with(largest * part(k))).collect();
    Ok(Points { objectives, along: Some(zero.along), bytes_read: zero.bytes_read })
}
