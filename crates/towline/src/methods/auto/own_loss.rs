//! Trains with a loss that is not one of the library's.
use std::sync::Arc;

use crate::budget::Budget;
use crate::engine::{Observer, OwnLoss, Solver, Task, TrainError, TrainOptions, Trained};
use crate::loss::Loss;
use crate::methods::dual_cd::by_coordinates;
use crate::store::BlockStore;

/// Trains the models of `options` with `loss` in place of that of their objectives, by dual coordinate descent, in
/// memory or out of core, with any penalty. Certificates are those of `loss`.
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
