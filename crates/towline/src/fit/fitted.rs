//! What came of a fit.
use std::ops::Deref;

use super::begin::State;
use crate::engine::{Certificate, Solver, Status};
use crate::model::Model;

/// A fitted model; all that a [`Model`] can do, it can.
#[derive(Clone, Debug)]
pub struct Fitted {
    pub(super) model: Model,
    pub(super) width: u64,
    pub(super) solver: Option<Solver>,
    pub(super) state: Vec<State>,
}

impl Fitted {
    /// The solver that has found the model, or the first of several; none for truncated losses and baselines.
    pub fn solver(&self) -> Option<Solver> {
        self.solver
    }

    /// How many columns an array of the same features has: one more than the largest number.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// What each model has left for another fit to start from, if that was asked for.
    pub fn state(&self) -> &[State] {
        &self.state
    }

    /// The model alone.
    pub fn into_model(self) -> Model {
        self.model
    }

    /// The model, and what is left for another fit.
    pub fn into_parts(self) -> (Model, Vec<State>) {
        (self.model, self.state)
    }
}

impl Deref for Fitted {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.model
    }
}

impl Model {
    /// The certificate: the objective is at most this part above the optimum. Of several models the widest; NaN for a
    /// stream, which cannot be looked at twice.
    pub fn gap(&self) -> f64 {
        let header = &self.header;
        let all = header.certificates.iter().chain(&header.certificate);
        all.map(Certificate::relative_gap).reduce(f64::max).unwrap_or(f64::NAN)
    }

    /// F(w), summed over independent models; NaN for a stream.
    pub fn objective_value(&self) -> f64 {
        self.header.certificate.map_or(f64::NAN, |certificate| certificate.objective)
    }

    /// Whether the tolerance was reached.
    pub fn is_converged(&self) -> bool {
        self.header.status == Status::Converged
    }
}
