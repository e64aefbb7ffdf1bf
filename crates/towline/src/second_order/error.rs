//! What these solvers cannot do, and what can.
use super::choose::{can_train, solver_of};
use super::needs;
use crate::budget::Budget;
use crate::objective::Objective;
use crate::store::{BlockStore, ReadAhead};
use crate::trainer::{READ_AHEAD, Solver, TrainError};

/// A solver of second order cannot minimise this.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SecondOrderError {
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

/// Why the solver that was asked for cannot minimise `objective` within the budget: its matrices do not fit, or it is
/// for others.
pub(crate) fn refusal(store: &dyn BlockStore, objective: &Objective, asked: Solver, budget: &Budget) -> TrainError {
    if can_train(asked, objective) {
        let needed = needs::bytes(&store.shape(), asked, objective, false)
            .saturating_add(ReadAhead::needed_bytes(store, READ_AHEAD));
        return budget.refusal("this solver", needed, budget.held_bytes()).into();
    }
    let other = solver_of(objective).map_or("auto", Solver::name);
    SecondOrderError::Objective { solver: asked.name(), loss: objective.loss.name(), other }.into()
}
