//! Trains with a loss or a penalty that is not one of the library's.
use std::sync::Arc;

use crate::budget::Budget;
use crate::engine::{Observer, OwnParts, Solver, Task, TrainError, TrainOptions, Trained};
use crate::methods::dual_cd::by_coordinates;
use crate::penalty::{AnyPenalty, NoPenalty};
use crate::store::BlockStore;

/// Trains the models of `options` with `own` in place of what their objectives name, by dual coordinate descent, in
/// memory or out of core. Certificates are those of `own`.
pub fn train_own(
    store: Arc<dyn BlockStore>,
    own: &OwnParts,
    mut options: TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let mut tasks: Vec<Task> = std::mem::take(&mut options.tasks);
    for task in &mut tasks {
        if own.replaces.loss && task.objective.width() > 1 {
            return Err(TrainError::OwnLoss(task.objective.width()));
        }
        if own.replaces.penalty {
            // The plan and the checkpoint see none of the library's, so that they have room for any.
            task.objective.penalty = AnyPenalty::None(NoPenalty);
        }
        task.own = Some(own.clone());
    }
    // Other solvers, and working sets of features, ask the objective for its loss and penalty.
    let options = TrainOptions { solver: Solver::Dual, working_set: false, patience: None, ..options };
    by_coordinates(&store, &tasks, &options, budget, observer)
}
