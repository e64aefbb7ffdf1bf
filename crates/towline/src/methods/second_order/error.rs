//! What these solvers cannot do, and what can.
use super::choose::{can_train, solver_of};
use super::needs::{finished_bytes, least_bytes};
use crate::budget::Budget;
pub use crate::engine::SecondOrderError;
use crate::engine::{READ_AHEAD, Solver, TrainError};
use crate::loss::{LossError, SmoothLoss, SmoothLossVisitor};
use crate::objective::Objective;
use crate::penalty::AnyPenalty;
use crate::store::{BlockStore, ReadAhead};

/// Newton steps cannot minimise a loss that is cut off.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NewtonError {
    /// The slope has jumps.
    #[error("`solver(newton)` needs a loss with a continuous slope ({0}); use squared-hinge, or `solver(dual)`")]
    Loss(LossError),
    /// Several outputs in one objective.
    #[error("`solver(newton)` is for one output; leave it out for softmax, crammer-singer and several targets")]
    Outputs,
    /// The penalty has kinks.
    #[error("`solver(newton)` knows the penalty l2 for losses that are cut off; use `solver(dual)`")]
    Penalty,
}

/// Whether Newton steps can minimise the convex problems of a loss that is cut off: in the primal, where rows have a
/// slope that changes with their margin.
pub fn can_use_newton(objective: &Objective) -> Result<(), NewtonError> {
    struct IsSmooth;
    impl SmoothLossVisitor for IsSmooth {
        type Out = ();
        fn visit<L: SmoothLoss>(self, _loss: L) {}
    }
    objective.loss.visit_smooth(IsSmooth).map_err(NewtonError::Loss)?;
    if objective.width() > 1 {
        return Err(NewtonError::Outputs);
    }
    if matches!(objective.penalty, AnyPenalty::L2(_)) { Ok(()) } else { Err(NewtonError::Penalty) }
}

/// Why the solver that was asked for cannot minimise `objective` within the budget: its matrices do not fit, or it is
/// for others.
pub(crate) fn refusal(
    store: &dyn BlockStore,
    objective: &Objective,
    (asked, is_asked, models): (Solver, bool, usize),
    budget: &Budget,
) -> TrainError {
    if can_train(asked, objective) {
        let shape = store.shape();
        let least = least_bytes(&shape, asked, objective, is_asked);
        let others = ReadAhead::needed_bytes(store, READ_AHEAD) + finished_bytes(&shape, asked, objective, models);
        let needed = least.saturating_add(others);
        return budget.refusal("this solver", needed, budget.held_bytes()).into();
    }
    let other = solver_of(objective).map_or("auto", Solver::name);
    SecondOrderError::Objective { solver: asked.name(), loss: objective.loss.name(), other }.into()
}
