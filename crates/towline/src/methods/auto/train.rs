//! Trains models: those that are alike together, by the solver that suits them.
use std::sync::Arc;

use super::choose::train_alike;
use crate::budget::Budget;
use crate::engine::{CheckpointFile, Limits, Observer, Solver, TrainError, TrainOptions, Trained};
use crate::objective::{Objective, Targets};
use crate::store::BlockStore;

/// Trains one model on `store` within `budget`: the first task, which should be the only one.
pub fn train(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    Ok(train_all(store, options, budget, observer)?.swap_remove(0))
}

/// The same by Newton's method, for what solves one convex problem after the other.
pub fn train_by_newton(
    store: Arc<dyn BlockStore>,
    given: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    let options = TrainOptions { solver: Solver::Newton, ..given.with_tasks(Vec::new()) };
    Ok(train_alike(&store, &given.tasks[..1], &options, budget, observer)?.swap_remove(0))
}

/// Trains all models on `store` within `budget`, as many at a time as there is room for.
pub fn train_all(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let mut all = Vec::with_capacity(options.tasks.len());
    let limits = Limits::new(options);
    for tasks in options.tasks.chunk_by(|a, b| is_alike(&a.objective, &b.objective)) {
        let rest = TrainOptions { max_time: limits.rest(), ..options.with_tasks(Vec::new()) };
        all.append(&mut train_alike(&store, tasks, &rest, budget, observer)?);
    }
    // Where models share a file, it is written at once.
    let mut files = options.tasks.iter().filter_map(|task| task.checkpoint.as_ref());
    files.try_for_each(CheckpointFile::commit)?;
    Ok(all)
}

/// Whether models of both objectives take the same memory and can have the same solver, and so one plan is for both.
fn is_alike(a: &Objective, b: &Objective) -> bool {
    let is_several = |objective: &Objective| matches!(objective.targets, Targets::Several { .. });
    let kind = |objective: &Objective| objective.targets.multiclass();
    a.loss == b.loss
        && kind(a) == kind(b)
        && is_several(a) == is_several(b)
        && a.is_plain_l2() == b.is_plain_l2()
        && a.penalty.name() == b.penalty.name()
        && a.width() == b.width()
}
