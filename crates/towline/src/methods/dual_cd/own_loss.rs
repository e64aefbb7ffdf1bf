//! A loss that is not one of the library's.
use std::fmt;
use std::sync::Arc;

use super::problem::Problem;
use super::recipes::{WithLoss, by_coordinates};
use super::{Observer, Solver, Task, TrainError, TrainOptions, Trained};
use crate::budget::Budget;
use crate::loss::{Loss, LossVisitor};
use crate::store::BlockStore;

/// Makes the problem of a task with a loss of the caller's own type.
pub(super) trait MakesProblem: Send + Sync {
    fn problem(&self, with: WithLoss) -> Box<dyn Problem>;
}

impl<L: Loss> MakesProblem for L {
    fn problem(&self, with: WithLoss) -> Box<dyn Problem> {
        with.visit(*self)
    }
}

/// A loss in place of the one that the objective names.
#[derive(Clone)]
pub struct OwnLoss(pub(super) Arc<dyn MakesProblem>);

impl fmt::Debug for OwnLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnLoss")
    }
}

/// Trains the models of `options` with `loss` in place of that of their objectives, by dual coordinate descent, in memory or
/// out of core, with any penalty. Certificates are those of `loss`.
pub fn train_own_loss<L: Loss>(
    store: Arc<dyn BlockStore>,
    loss: L,
    mut options: TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let own = OwnLoss(Arc::new(loss));
    let set = |task: Task| Task { own_loss: Some(own.clone()), ..task };
    let tasks: Vec<Task> = std::mem::take(&mut options.tasks).into_iter().map(set).collect();
    // Other solvers, and working sets of features, ask the objective for its loss.
    let options = TrainOptions { solver: Solver::Dual, working_set: false, patience: None, ..options };
    by_coordinates(&store, &tasks, &options, budget, observer)
}
