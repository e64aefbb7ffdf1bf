//! A path: many objectives on the same rows, in an order in which each is near the one before it.
//!
//! Dual variables of one λ or C are feasible for the next, up to a factor, and near its optimum if the two are near each other. What a run knows at its end
//! (w, β, and Σ βx) goes on to the next one, so that out of core no pass is spent on finding out where it stands. In memory the rows
//! are read once. Out of core as many points as fit train together on each loaded block, and the next ones start from the last of them.
use std::sync::Arc;

use super::duals::{Left, Start};
use super::plan::Plan;
use super::recipes::Group;
use super::{Cost, Observer, Task, TrainError, TrainOptions, Trained};
use crate::budget::{Budget, BudgetError};
use crate::store::BlockStore;

/// What goes on from one point of a path to the next.
#[derive(Clone, Debug)]
pub struct Along {
    /// w, β and Σ βx.
    pub left: Arc<Left>,
    /// The C that they belong to: dual variables grow with it.
    pub c: f64,
}

impl Along {
    /// What `trained` leaves behind.
    fn after(trained: Trained, c: f64) -> Along {
        let Trained { weights, duals, sums, .. } = trained;
        Along { left: Arc::new(Left { weights, duals, sums }), c }
    }

    /// The same task, starting from here.
    fn start(&self, task: &Task) -> Task {
        Task {
            objective: task.objective.clone(),
            rows: task.rows.clone(),
            start: Some(Start::Left(self.left.clone(), task.objective.c / self.c)),
            start_weights: Vec::new(),
            checkpoint: task.checkpoint.clone(),
        }
    }
}

/// Is told of models that were trained together: the number of the first, and what came of them.
pub type ToldOf<'a, E> = dyn FnMut(usize, &[Trained]) -> Result<(), E> + 'a;

/// Trains the tasks of `options` in turn, and tells `each` of those that were trained together: the number of the first, and what came of them.
///
/// The first ones start from `along`, or as they say themselves. Ends early if a run was interrupted. Tasks must have the same loss and kind of penalty. Costs of
/// models that were trained together include all that was read for them; the result is what everything has cost.
pub fn path<E: From<TrainError>>(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    along: Option<Along>,
    budget: &Budget,
    observer: &mut dyn Observer,
    each: &mut ToldOf<E>,
) -> Result<Cost, E> {
    let Some(first) = options.tasks.first() else { return Ok(Cost::default()) };
    let kept = kept_bytes(&*store, first, budget).and_then(|bytes| budget.reserve("the point before", bytes));
    let _paid = kept.map_err(TrainError::from)?;
    let each = &mut |number: usize, trained: &mut Vec<Trained>| each(number, trained);
    let group = Group { store, tasks: &options.tasks, options, budget, observer, chain: Some(along), each };
    first.objective.loss.visit(group)
}

/// Bytes of what goes on from one point to the next.
fn kept_bytes(store: &dyn BlockStore, task: &Task, budget: &Budget) -> Result<u64, BudgetError> {
    let plan = Plan::for_models(store, &task.objective, 1, budget)?;
    let duals = if plan.duals_on_disk { 0 } else { store.shape().rows };
    Ok(8 * (2 * (store.shape().columns + 1) + duals))
}

/// The last of these models, for the next ones to start from.
pub(super) fn next(mut trained: Vec<Trained>, tasks: &[Task]) -> Option<Along> {
    Some(Along::after(trained.pop()?, tasks.last()?.objective.c))
}

/// The tasks as they start from `along`.
pub(super) fn chained(along: &Along, tasks: &[Task]) -> Vec<Task> {
    tasks.iter().map(|task| along.start(task)).collect()
}
