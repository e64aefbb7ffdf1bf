//! Who sees a run while it goes on.
use serde::Serialize;

use crate::engine::{Certificate, Cost};

/// The weights of all models while they train, each by column with the constant feature last.
#[derive(Clone, Copy, Debug)]
pub struct WeightsNow<'a> {
    /// One slice per model; a model with several outputs has them side by side for each column.
    pub models: &'a [&'a [f64]],
}

/// A look at a run while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// What it cost so far.
    pub cost: Cost,
    /// D as the sum of gains, without a scan; none from a method without dual variables.
    pub dual_objective: Option<f64>,
    /// The objective of the weights that the run would end with now, certified or not, where it is known.
    pub objective: Option<f64>,
    /// The relative gap between the weights with which the last pass began and this dual objective, where it was
    /// computed.
    pub gap_estimate: Option<f64>,
    /// The largest violation of the Karush-Kuhn-Tucker conditions that the last sweep has met, where the run ends by it.
    pub violation: Option<f64>,
    /// The newest certificate.
    pub certificate: Option<Certificate>,
}

/// Sees what happens.
pub trait Observer {
    /// Called after every step, with the weights as they are.
    fn step(&mut self, step: &Step, weights: &WeightsNow);

    /// Called where a series of convex problems is solved, after each of them, with the objective that the series
    /// minimises.
    fn problem_solved(&mut self, objective: f64, weights: &[f64]) {
        let _ = (objective, weights);
    }

    /// The score of test rows that the step at hand has brought, where the observer has such rows.
    fn test_score(&mut self) -> Option<f64> {
        None
    }

    /// Called with a sentence that a user should read.
    fn note(&mut self, text: &str) {
        let _ = text;
    }
}

impl Observer for () {
    fn step(&mut self, _step: &Step, _weights: &WeightsNow) {}
}
