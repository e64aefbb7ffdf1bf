//! What these solvers cannot do, and what can.
use super::choose::{can_train, solver_of};
use super::train;
use crate::budget::Budget;
use crate::objective::Objective;
use crate::store::Shape;
use crate::trainer::Solver;

/// A solver of second order cannot minimise this.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SecondOrderError {
    /// Its matrices do not fit.
    #[error(
        "matrices of {features} x {features} features take {needed_bytes} bytes, and {free_bytes} of the budget are free; \
         use the dual solver"
    )]
    Size {
        /// Features of a row.
        features: u64,
        /// What would be needed.
        needed_bytes: u64,
        /// What is free.
        free_bytes: u64,
    },
    /// Another solver does this.
    #[error("the solver {solver} cannot minimise the {loss} loss with this penalty and these targets; use {other}")]
    Objective {
        /// The name of the solver.
        solver: &'static str,
        /// The name of the loss.
        loss: &'static str,
        /// What can.
        other: &'static str,
    },
}

impl SecondOrderError {
    /// Why the solver that was asked for cannot minimise `objective` within the budget.
    pub(crate) fn of(shape: &Shape, objective: &Objective, asked: Solver, budget: &Budget) -> Self {
        if can_train(asked, objective) {
            let needed_bytes = train::bytes(shape, asked, objective, false);
            return SecondOrderError::Size { features: shape.columns, needed_bytes, free_bytes: budget.free_bytes() };
        }
        let other = solver_of(objective).map_or("auto", Solver::name);
        SecondOrderError::Objective { solver: asked.name(), loss: objective.loss.name(), other }
    }
}
