//! Which solver runs, and what happens where it turns out to be slow.
use std::sync::Arc;

use crate::budget::{Budget, Reservation};
use crate::engine::{
    After, Cost, Limits, Observer, Plan, Solver, Start, Status, Task, TrainError, TrainOptions, Trained,
};
use crate::methods::dual_cd::group::by_coordinates;
use crate::objective::Objective;
use crate::second_order::{self, Candidate, Matrix};
use crate::store::BlockStore;

/// More models than this are not read for one after the other without a try.
const FEW_MODELS: usize = 3;

/// The solver that a run begins with, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Never `Auto`.
    pub solver: Solver,
    /// In a few words, for people; empty where there was no choice.
    pub why: String,
    pub(crate) candidate: Option<Candidate>,
}

impl Choice {
    /// What `options` leads to for a model with this objective.
    pub fn new(
        store: &dyn BlockStore,
        objective: &Objective,
        asked: Solver,
        budget: &Budget,
    ) -> Result<Choice, TrainError> {
        Choice::for_models(store, objective, (asked, 1), budget)
    }

    /// The same for so many models that are alike.
    pub fn for_models(
        store: &dyn BlockStore,
        objective: &Objective,
        (asked, models): (Solver, usize),
        budget: &Budget,
    ) -> Result<Choice, TrainError> {
        let shape = store.shape();
        let candidate = match asked {
            Solver::Dual | Solver::Columns => None,
            Solver::Auto => second_order::candidate(store, objective, (None, models), budget),
            solver => {
                let found = second_order::candidate(store, objective, (Some(solver), models), budget);
                Some(found.ok_or_else(|| second_order::refusal(store, objective, (solver, true, models), budget))?)
            }
        };
        // Models by scans read the rows one after the other, a few times each; dual coordinate descent reads them for
        // all.
        let shares = |found: &Candidate| {
            models > FEW_MODELS && asked == Solver::Auto && !found.in_memory && found.solver == Solver::Multipliers
        };
        let candidate = candidate.map(|found| Candidate { after_dual: found.after_dual || shares(&found), ..found });
        let size = |candidate: &Candidate| match objective.width() {
            _ if candidate.matrix == Matrix::Rows => format!("{} rows", shape.rows),
            1 => format!("{} features", shape.columns),
            _ if candidate.solver == Solver::Gram => format!("{} features", shape.columns),
            classes => {
                format!("{} weights ({classes} classes of {} features)", classes as u64 * shape.columns, shape.columns)
            }
        };
        Ok(match candidate {
            Some(found) if asked != Solver::Auto || !found.after_dual => {
                let why = match found.matrix {
                    Matrix::Heavy(_) => format!("conjugate gradients, since {} are many", size(&found)),
                    Matrix::Features | Matrix::Rows => format!("{} are few", size(&found)),
                };
                Choice { solver: found.solver, why, candidate }
            }
            Some(found) if found.is_last_resort => Choice { solver: Solver::Dual, why: String::new(), candidate },
            Some(found) => {
                let why = format!("{} are not few; {} if that is slow", size(&found), found.name());
                Choice { solver: Solver::Dual, why, candidate }
            }
            // Whether by rows or by columns is for the plan to say.
            None if asked == Solver::Auto => Choice { solver: Solver::Dual, why: String::new(), candidate },
            None => Choice { solver: asked, why: String::new(), candidate },
        })
    }
}

impl Choice {
    /// Where the memory of a run of this many models with this objective would go, and how many of them train together.
    pub fn plan(
        &self,
        store: &dyn BlockStore,
        objective: &Objective,
        (asked, models): (Solver, usize),
        budget: &Budget,
    ) -> Result<(Plan, usize), TrainError> {
        let (plan, together) = match &self.candidate {
            Some(found) if found.solver == self.solver => {
                let needs = second_order::needs(store, objective, found, models as u64, budget);
                (Plan::of_second_order(store, objective, needs, models as u64, budget), models)
            }
            _ => Plan::for_solver(store, objective, asked, models, budget)
                .map_err(|error| least_of_any(error, store, objective, (asked, models), budget))?,
        };
        Ok((plan.because(&self.why), together))
    }
}

/// Trains models that are alike by the solver that suits them.
pub(crate) fn train_alike(
    store: &Arc<dyn BlockStore>,
    tasks: &[Task],
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let choice = Choice::for_models(&**store, &tasks[0].objective, (options.solver, tasks.len()), budget)?;
    match choice {
        Choice { candidate: Some(found), solver, .. } if solver == found.solver => {
            by_second_order(store, tasks, &found, options, budget, observer)
        }
        Choice { candidate: Some(found), .. } => dual_first(store, tasks, &found, options, budget, observer),
        Choice { candidate: None, .. } => by_coordinates(store, tasks, options, budget, observer)
            .map_err(|error| least_of_any(error, &**store, &tasks[0].objective, (options.solver, tasks.len()), budget)),
    }
}

fn by_second_order(
    store: &Arc<dyn BlockStore>,
    tasks: &[Task],
    found: &Candidate,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let trained = second_order::train_all(store.clone(), tasks, found, options, budget, observer)?;
    match options.solver {
        Solver::Auto => finish_by_rows(store, tasks, trained, options, budget, observer),
        _ => Ok(trained),
    }
}

/// Where no solver has room, the one that needs least is named.
fn least_of_any(
    error: TrainError,
    store: &dyn BlockStore,
    objective: &Objective,
    (asked, models): (Solver, usize),
    budget: &Budget,
) -> TrainError {
    let TrainError::Budget(refused) = &error else { return error };
    let Some(other) = second_order::solver_of(objective).filter(|_| asked == Solver::Auto) else { return error };
    match second_order::refusal(store, objective, (other, false, models), budget) {
        TrainError::Budget(less) if less.least_bytes < refused.least_bytes => less.into(),
        _ => error,
    }
}

/// Passes over rows on disk that another solver takes, about. There, passes are what patience is counted in.
const OTHER_PASSES: f64 = 60.0;
/// Passes of coordinate descent over rows in memory that another solver could not certify, at least.
const LAST_PASSES: u64 = 30;
/// More of them where they take no time: until this many values have been visited.
const LAST_VALUES: u64 = 1 << 29;

/// Where more rows are at their kinks than fit, or matrices are singular up to rounding, coordinate descent goes on
/// from what was found.
pub(crate) fn finish_by_rows(
    store: &Arc<dyn BlockStore>,
    tasks: &[Task],
    mut all: Vec<Trained>,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    // Normal equations have no dual variables; of others they may have been left out where there was no room for them.
    let has_passes = |trained: &Trained| trained.cost.sweeps < options.max_passes;
    let is_open = |trained: &Trained| {
        trained.status == Status::OutOfPasses && trained.solver != Solver::Gram && has_passes(trained)
    };
    for (trained, task) in all.iter_mut().zip(tasks).filter(|(trained, _)| is_open(trained)) {
        observer.note("the gap is not small enough yet; going on with dual coordinate descent");
        let left = options.max_passes - trained.cost.sweeps;
        let max_passes = match trained.cost.passes {
            0 | 1 => left.min(LAST_PASSES.max(LAST_VALUES / store.shape().values.max(1))),
            _ => left,
        };
        let start = Some(trained.take_duals()).filter(|start| !start.is_empty());
        let start = start.map(|start| set_aside(start, store.shape().rows, task, budget)).transpose()?;
        let (start, _paid) = start.unzip();
        let again = task.going_on(trained.weights.clone(), start);
        let mut after = After { before: trained.cost, observer: &mut *observer };
        let tasks = std::slice::from_ref(&again);
        let options = TrainOptions { max_passes, ..options.with_tasks(Vec::new()) };
        let found = match by_coordinates(store, tasks, &options, budget, &mut after) {
            // What was found is a model all the same, and says how good it is.
            Err(TrainError::Budget(_)) => Vec::new(),
            found => found?,
        };
        found.into_iter().for_each(|found| trained.go_on_to(found, options.tolerance));
    }
    Ok(all)
}

/// What a run starts from may take this part of what is free; else it waits on disk.
const START_PART: u64 = 8;

/// Dual variables to start from, in memory if there is room for them beside the run.
fn set_aside(
    start: Start,
    rows: u64,
    task: &Task,
    budget: &Budget,
) -> Result<(Start, Option<Reservation>), TrainError> {
    if 8 * rows <= budget.free_bytes() / START_PART
        && let Ok(paid) = budget.reserve("dual variables to start from", 8 * rows)
    {
        return Ok((start, Some(paid)));
    }
    let mut duals = task.no_duals(rows, true, budget)?;
    duals.begin_with(&start)?;
    Ok((Start::Duals(duals, 1.0), None))
}

/// Weights with a larger gap than this are a worse start than none.
const SOME_GAP: f64 = 0.5;

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
    let patience = Some(if other.in_memory { other.sweeps } else { OTHER_PASSES });
    let patience = patience.filter(|_| !other.is_last_resort);
    let patient = TrainOptions { patience, ..options.with_tasks(Vec::new()) };
    let mut all = match by_coordinates(store, tasks, &patient, budget, observer) {
        // It needs more memory than the other one.
        Err(TrainError::Budget(_)) => return by_second_order(store, tasks, other, options, budget, observer),
        found => found?,
    };
    let slow = |trained: &Trained| match other.is_last_resort {
        true => trained.status == Status::OutOfPasses && trained.certificate.relative_gap() > SOME_GAP,
        false => trained.status == Status::OutOfPatience,
    };
    if let Some(status) = limits.look() {
        all.iter_mut().filter(|trained| slow(trained)).for_each(|trained| trained.status = status);
    }
    if !all.iter().any(slow) {
        return Ok(all);
    }
    observer.note(&format!("coordinate descent is slow on these rows; going on with {}", other.name()));
    let options = TrainOptions { max_time: limits.rest(), ..options.with_tasks(Vec::new()) };
    let mut paid = Vec::new();
    let mut again = Vec::new();
    for (trained, task) in all.iter_mut().zip(tasks).filter(|(trained, _)| slow(trained)) {
        let is_known = trained.certificate.relative_gap() <= SOME_GAP;
        // Multipliers go on from dual variables wherever they are: each of their problems makes the bound better.
        let is_worth = other.is_iterative() && (is_known || other.solver == Solver::Multipliers);
        let duals = Some(trained.take_duals()).filter(|start| is_worth && !start.is_empty());
        let start = duals.map(|start| set_aside(start, store.shape().rows, task, budget)).transpose()?;
        let (start, reserved) = start.unzip();
        paid.push(reserved);
        again.push(task.going_on(if is_known { trained.weights.clone() } else { Vec::new() }, start));
    }
    let before = Cost::of_all(all.iter().map(|trained| trained.cost));
    let mut after = After { before, observer };
    let found = match second_order::train_all(store.clone(), &again, other, &options, budget, &mut after) {
        // What was found is a model all the same, and says how good it is.
        Err(TrainError::Budget(_)) if other.is_last_resort => return Ok(all),
        found => found?,
    };
    // A run that had to end may not have come as far as coordinate descent.
    let both = all.iter_mut().filter(|trained| slow(trained)).zip(found);
    both.for_each(|(trained, found)| trained.go_on_to(found, options.tolerance));
    Ok(all)
}
