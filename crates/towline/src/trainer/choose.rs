//! Which solver runs, and what happens where it turns out to be slow.
use std::sync::Arc;

use super::recipes::by_coordinates;
use super::{Cost, Limits, Observer, Solver, Status, Step, Task, TrainError, TrainOptions, Trained, WeightsNow};
use crate::budget::Budget;
use crate::newton;
use crate::objective::Objective;
use crate::second_order::{self, Candidate, SecondOrderError};
use crate::store::BlockStore;

/// The solver that a run begins with, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Never `Auto`.
    pub solver: Solver,
    /// In a few words, for people; empty where there was no choice.
    pub why: String,
    pub(super) candidate: Option<Candidate>,
}

impl Choice {
    /// What `options` leads to for models with this objective.
    pub fn new(
        store: &dyn BlockStore,
        objective: &Objective,
        asked: Solver,
        budget: &Budget,
    ) -> Result<Choice, TrainError> {
        let shape = store.shape();
        let candidate = match asked {
            Solver::Coordinates | Solver::Dual | Solver::Columns => None,
            Solver::Auto => second_order::candidate(store, objective, None, budget),
            solver => {
                let found = second_order::candidate(store, objective, Some(solver), budget);
                if found.is_none() && solver == Solver::Newton && newton::can_train(objective).is_ok() {
                    let why = "conjugate gradients: the Hessian does not fit".to_string();
                    return Ok(Choice { solver, why, candidate: None });
                }
                Some(found.ok_or_else(|| SecondOrderError::of(&shape, objective, solver, budget))?)
            }
        };
        let size = |candidate: &Candidate| match candidate.by_rows {
            true => format!("{} rows", shape.rows),
            false => format!("{} features", shape.columns),
        };
        Ok(match candidate {
            Some(found) if asked != Solver::Auto || !found.after_dual => {
                Choice { solver: found.solver, why: format!("{} are few", size(&found)), candidate }
            }
            Some(found) => {
                let why = format!("{} are not few; {} if that is slow", size(&found), found.solver.name());
                Choice { solver: Solver::Dual, why, candidate }
            }
            // Whether by rows or by columns is for the plan to say.
            None if asked == Solver::Auto => Choice { solver: Solver::Dual, why: String::new(), candidate },
            None => Choice { solver: asked, why: String::new(), candidate },
        })
    }
}

/// Trains models that are alike by the solver that suits them.
pub(super) fn train_alike(
    store: &Arc<dyn BlockStore>,
    tasks: &[Task],
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let choice = Choice::new(&**store, &tasks[0].objective, options.solver, budget)?;
    match choice {
        Choice { candidate: Some(found), solver, .. } if solver == found.solver => {
            let trained = second_order::train_all(store.clone(), tasks, &found, options, budget, observer)?;
            match options.solver {
                Solver::Auto => finish_by_rows(store, tasks, trained, options, budget, observer),
                _ => Ok(trained),
            }
        }
        Choice { candidate: Some(found), .. } => dual_first(store, tasks, &found, options, budget, observer),
        Choice { solver: Solver::Newton, .. } => {
            tasks.iter().map(|task| newton::train_task(store.clone(), task, options, budget, observer)).collect()
        }
        Choice { candidate: None, .. } => by_coordinates(store, tasks, options, budget, observer),
    }
}

/// Passes of coordinate descent over rows in memory that another solver could not certify.
const LAST_PASSES: u64 = 30;
/// More of them where a pass takes no time.
const FEW_VALUES: u64 = 1 << 18;

/// Where more rows are at their kinks than fit, or matrices are singular up to rounding, coordinate descent goes on from what was found.
pub(super) fn finish_by_rows(
    store: &Arc<dyn BlockStore>,
    tasks: &[Task],
    mut all: Vec<Trained>,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let is_open = |trained: &Trained| trained.status == Status::OutOfPasses && trained.duals.rows() > 0;
    for (trained, task) in all.iter_mut().zip(tasks).filter(|(trained, _)| is_open(trained)) {
        observer.note("the gap is not small enough yet; going on with dual coordinate descent");
        let is_short = trained.cost.passes <= 1 && store.shape().values > FEW_VALUES;
        let max_passes = if is_short { options.max_passes.min(LAST_PASSES) } else { options.max_passes };
        let again = Task {
            start_weights: trained.weights.clone(),
            start: Some(trained.take_duals()),
            rows: task.rows.clone(),
            checkpoint: task.checkpoint.clone(),
            ..Task::new(task.objective.clone())
        };
        let mut after = After { before: trained.cost, observer: &mut *observer };
        let tasks = std::slice::from_ref(&again);
        let options = TrainOptions { max_passes, ..options.with_tasks(Vec::new()) };
        for found in by_coordinates(store, tasks, &options, budget, &mut after)? {
            let cost = found.cost.with(&trained.cost);
            let dual_objective = found.certificate.dual_objective.max(trained.certificate.dual_objective);
            let status = found.status;
            if found.certificate.objective < trained.certificate.objective {
                *trained = found;
            }
            trained.certificate.dual_objective = dual_objective;
            // Bounds of both solvers may certify what neither of them could alone.
            let is_certified = trained.certificate.relative_gap() <= options.tolerance;
            (trained.cost, trained.status) = (cost, if is_certified { Status::Converged } else { status });
        }
    }
    Ok(all)
}

/// Coordinate descent as long as it is expected to end sooner; models that it gave up go on with the other solver.
fn dual_first(
    store: &Arc<dyn BlockStore>,
    tasks: &[Task],
    other: &Candidate,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let limits = Limits::new(options);
    let patient = TrainOptions { patience: Some(other.sweeps), ..options.with_tasks(Vec::new()) };
    let mut all = by_coordinates(store, tasks, &patient, budget, observer)?;
    let slow = |trained: &Trained| trained.status == Status::OutOfPatience;
    if let Some(status) = limits.look() {
        all.iter_mut().filter(|trained| slow(trained)).for_each(|trained| trained.status = status);
    }
    if !all.iter().any(slow) {
        return Ok(all);
    }
    observer.note(&format!("coordinate descent is slow on these rows; going on with {}", other.solver.name()));
    let rest = limits.rest();
    for (trained, task) in all.iter_mut().zip(tasks).filter(|(trained, _)| slow(trained)) {
        let again = Task {
            start_weights: trained.weights.clone(),
            rows: task.rows.clone(),
            checkpoint: task.checkpoint.clone(),
            ..Task::new(task.objective.clone())
        };
        let options = TrainOptions { max_time: rest, ..options.with_tasks(Vec::new()) };
        let mut after = After { before: trained.cost, observer: &mut *observer };
        let tasks = std::slice::from_ref(&again);
        let found = second_order::train_all(store.clone(), tasks, other, &options, budget, &mut after)?;
        for better in found {
            let cost = better.cost.with(&trained.cost);
            *trained = Trained { cost, ..better };
        }
    }
    Ok(all)
}

/// Adds what was spent before to what an observer sees.
struct After<'a> {
    before: Cost,
    observer: &'a mut dyn Observer,
}

impl Observer for After<'_> {
    fn step(&mut self, step: &Step, weights: &WeightsNow) {
        self.observer.step(&Step { cost: self.before.with(&step.cost), ..*step }, weights);
    }

    fn note(&mut self, text: &str) {
        self.observer.note(text);
    }
}
