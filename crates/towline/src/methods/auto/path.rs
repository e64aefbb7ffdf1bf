//! A path: many objectives on the same rows, in an order in which each is near the one before it.
//!
//! Dual variables of one λ or C are feasible for the next, up to a factor, and near its optimum if the two are near
//! each other. What a run knows at its end (w, β, and Σ βx) goes on to the next one, so that out of core no pass is
//! spent on finding out where it stands. In memory the rows are read once. Out of core as many points as fit train
//! together on each loaded block, and the next ones start from the last of them.
use std::sync::Arc;

use crate::budget::{Budget, BudgetError};
use crate::engine::{Cost, Observer, PathState, Plan, Solver, Task, TrainError, TrainOptions, Trained};
use crate::methods::auto::choose::{Choice, finish_by_rows};
use crate::methods::dual_cd::group::Group;
use crate::objective::Objective;
use crate::penalty::AnyPenalty;
use crate::second_order::{self, Candidate};
use crate::store::BlockStore;
use crate::store::scales::Scales;

/// Is told of models that were trained together: the number of the first, and their outcomes.
pub type EachPoint<'a, E> = dyn FnMut(usize, &[Trained]) -> Result<(), E> + 'a;

/// Trains the tasks of `options` in turn, those of a point one after the other, and tells `each` of the points that
/// were trained together: the number of their first model, and the outcomes of all.
///
/// The first ones start as `chain` or they themselves say. Ends early if a run had to stop. Tasks must have the
/// same loss and kind of penalty. Costs of models that were trained together include all that was read for them; the
/// result is what everything has cost.
pub fn path<E: From<TrainError>>(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    chain: PathState,
    budget: &Budget,
    observer: &mut dyn Observer,
    each: &mut EachPoint<E>,
) -> Result<Cost, E> {
    let Some(first) = options.tasks.first() else { return Ok(Cost::default()) };
    let coming = budget.expect(chain.models as u64 * point_bytes(&*store, &first.objective));
    let choice = Choice::new(&*store, &first.objective, options.solver, budget)?;
    let points = options.tasks.len() / chain.models.max(1);
    let shares = points > 1 && options.solver == Solver::Auto && shares_reads(&*store, first, &choice, budget)?;
    let second_order = choice.candidate.filter(|found| found.solver == choice.solver && !shares);
    if let Some(found) = second_order {
        let models = chain.models;
        let chained = (options, models);
        let trained = second_order::train_path(store.clone(), &options.tasks, &found, chained, budget, observer)?;
        let trained = finish_by_rows(&store, &options.tasks, trained, options, budget, observer)?;
        trained.chunks(models).enumerate().try_for_each(|(point, together)| each(point * models, together))?;
        return Ok(Cost::of_all(trained.iter().map(|trained| trained.cost)));
    }
    let bytes = kept_bytes(&*store, first, budget);
    drop(coming);
    let bytes = bytes.map(|bytes| chain.models as u64 * bytes);
    let kept = bytes.and_then(|bytes| budget.reserve("the point before", bytes));
    let _paid = kept.map_err(TrainError::from)?;
    let each = &mut |number: usize, trained: &mut Vec<Trained>| each(number, trained);
    let solver = if shares { Solver::Dual } else { options.solver };
    let how = TrainOptions { solver, ..options.with_tasks(Vec::new()) };
    let group = Group { store, tasks: &options.tasks, options: &how, budget, observer, chain: Some(chain), each };
    group.run()
}

/// Columns whose scales differ by no more than this are alike to coordinate descent.
const ALIKE: f64 = 10.0;

/// Whether points are better off by coordinate descent: out of core it reads rows for many points at once, where
/// Newton's method reads them four or five times for each. With columns that are alike, l1 takes it a few passes in
/// all.
fn shares_reads(store: &dyn BlockStore, first: &Task, choice: &Choice, budget: &Budget) -> Result<bool, TrainError> {
    let is_sparse = matches!(first.objective.penalty, AnyPenalty::L1(_) | AnyPenalty::ElasticNet(_));
    let is_scanned = |found: &Candidate| is_sparse && found.solver == Solver::Newton && !found.in_memory;
    if !choice.candidate.as_ref().is_some_and(is_scanned) {
        return Ok(false);
    }
    Ok(Scales::of(store, budget)?.is_some_and(|scales| scales.spread() <= ALIKE))
}

/// Bytes of the vectors that go on from one point to the next.
pub(crate) fn point_bytes(store: &dyn BlockStore, objective: &Objective) -> u64 {
    2 * 8 * objective.width() as u64 * (store.shape().columns + 1)
}

/// Bytes of what goes on from one point to the next.
fn kept_bytes(store: &dyn BlockStore, task: &Task, budget: &Budget) -> Result<u64, BudgetError> {
    let plan = Plan::for_models(store, &task.objective, 1, budget)?;
    let duals = if plan.duals_on_disk { 0 } else { 8 * task.objective.width() as u64 * store.shape().rows };
    Ok(point_bytes(store, &task.objective) + duals)
}
