//! Why training cannot go on.
use crate::budget::BudgetError;
use crate::engine::{CheckpointError, Status};
use crate::store::StoreError;

/// Training cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A block cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The budget is too small.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The state of the run cannot be kept.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The solver that was asked for cannot do it.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
    /// The same for solvers of second order.
    #[error(transparent)]
    SecondOrder(#[from] SecondOrderError),
    /// Every row has weight 0.
    #[error("no row has a weight above 0; check `class_weight` and the sample weights")]
    NoWeight,
    /// The objective, or the number of models, leaves no room for parts.
    #[error("`parts` is for one model of one output with the penalty l2, solved by rows; leave it out")]
    Parts,
    /// A loss of the caller's own is one of one output.
    #[error("a loss of your own has one output, and there are {0}; leave `multiclass` out")]
    OwnLoss(usize),
    /// Rows cannot be split into so many parts.
    #[error(
        "`blocks` asks for {wanted} steps a pass, and the store has {found} blocks; pack the rows into smaller \
         blocks, or ask for fewer"
    )]
    Blocks {
        /// Blocks of the store.
        found: usize,
        /// Steps of a pass.
        wanted: usize,
    },
    /// The parts do not fit.
    #[error("one of {0} parts of the rows does not fit into the budget; use more `memory`, or more `blocks`")]
    FewBlocks(u32),
    /// The system has no threads left.
    #[error("cannot start threads: {0}")]
    Threads(String),
    /// It had to end before anything was known of a model.
    #[error("{} before it was known how good the weights are: no model was written", why(.0))]
    Stopped(Status),
    /// Steps were too long for these rows.
    #[error(
        "{method} has diverged: its weights are no numbers any more; scale the rows while packing with `scale(rows)`, \
         or leave `method` out"
    )]
    Diverged {
        /// The method.
        method: &'static str,
    },
}

fn why(status: &Status) -> &'static str {
    match status {
        Status::OutOfTime => "`max_time` was over",
        _ => "the run was interrupted",
    }
}

/// Coordinate descent on columns cannot minimise this.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnsError {
    /// The slope has jumps, and rows do not fit.
    #[error(
        "`solver(columns)` needs all rows in memory for the {loss} loss, which has kinks: use `memory({bytes})` or \
         more, or `solver(dual)`"
    )]
    Loss {
        /// Its name.
        loss: &'static str,
        /// What would be enough.
        bytes: u64,
    },
    /// A feature has a weight for each of them.
    #[error("`solver(columns)` is for one output, and there are {0}; use `solver(dual)`")]
    Outputs(usize),
    /// No weight would be 0.
    #[error("`solver(columns)` is for penalties that make weights 0: l1, elastic-net and group; use `solver(dual)`")]
    Penalty,
}

/// A solver of second order cannot minimise this.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
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
