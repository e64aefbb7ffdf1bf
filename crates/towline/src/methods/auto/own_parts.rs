//! Trains with a loss or a penalty that is not one of the library's.
use std::sync::Arc;

use crate::budget::Budget;
use crate::engine::{Observer, OwnParts, Solver, Task, TrainError, TrainOptions, Trained};
use crate::methods::dual_cd::by_coordinates;
use crate::store::BlockStore;

/// Trains the models of `options` with `own` in place of what their objectives name, by dual coordinate descent, in
/// memory or out of core. Certificates are those of `own`. Objectives of a penalty of one's own name none.
pub fn train_own(
    store: Arc<dyn BlockStore>,
    own: &OwnParts,
    mut options: TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let set = |task: Task| Task { own: Some(own.clone()), ..task };
    let tasks: Vec<Task> = std::mem::take(&mut options.tasks).into_iter().map(set).collect();
    // Other solvers, and working sets of features, ask the objective for its loss and penalty.
    let options = TrainOptions { solver: Solver::Dual, working_set: false, patience: None, ..options };
    by_coordinates(&store, &tasks, &options, budget, observer)
}
