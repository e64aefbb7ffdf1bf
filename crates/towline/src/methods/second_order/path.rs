//! Points of a path, or models that have nothing to do with each other: what they share, and what goes on from one
//! point to the next.
use std::sync::Arc;

use super::alike::{Alike, Beside};
use super::choose::{Candidate, Matrix};
use super::few_rows::Reduced;
use super::heavy::Heavy;
use super::moments::one_scan_each;
use super::rows::StoreRows;
use super::{few_rows, from_moments, needs};
use crate::budget::{Budget, Reservation};
use crate::engine::{Limits, Observer, Solver, Status, Task, TrainError, TrainOptions, Trained};
use crate::objective::Objective;
use crate::store::BlockStore;

/// The dual variables of a model that has been trained may take this part of what is free while others train.
const KEPT_PART: u64 = 4;

/// Trains all models by the solver of second order for their objective, on rows that are read once if they fit.
pub fn train_all(
    store: Arc<dyn BlockStore>,
    tasks: &[Task],
    chosen: &Candidate,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    train_path(store, tasks, chosen, (options, tasks.len()), budget, observer)
}

/// The same for points of a path, each of `models` models that start from those of the point before. Ends after a point
/// that had to stop.
///
/// Where rows are read again and again, as many models of a point train together as there is room for; where they are in
/// memory, one on each thread.
pub fn train_path(
    store: Arc<dyn BlockStore>,
    tasks: &[Task],
    chosen: &Candidate,
    (options, models): (&TrainOptions, usize),
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let shape = store.shape();
    let limits = Limits::new(options);
    let mut rows = StoreRows::open(store, chosen.in_memory, (limits.watch(), chosen.row_work(&shape)), budget)?;
    if chosen.solver == Solver::Gram {
        let mut all = Vec::with_capacity(tasks.len());
        for some in one_scan_each(tasks) {
            all.append(&mut from_moments::train(&mut rows, some, &limits, budget, observer)?);
        }
        return Ok(all);
    }
    let reduced = reduced(&rows, (chosen, &tasks[0].objective), &limits, budget)?;
    let bytes = needs::model_bytes(&shape, chosen, &tasks[0].objective);
    let _paid = budget.reserve("second-order solver", bytes)?;
    let heavy = heavy(&mut rows, chosen)?;
    let width = tasks[0].objective.width() as u64;
    rows.scanning = rows.scanning.with_outputs(width);
    let weights = 8 * width * (shape.columns + 1);
    let finished = needs::finished_bytes(&shape, chosen.solver, &tasks[0].objective, tasks.len());
    let _finished = budget.reserve("weights of models that are done", finished)?;
    // Of a path, the last point keeps its dual variables; those of one model are among what the solver needs.
    let is_path = models < tasks.len();
    let of_model = 8 * width * shape.rows;
    let last_bytes = if is_path { of_model * (models as u64 - 1) } else { 0 };
    let mut kept = budget.reserve("dual variables of models before", last_bytes)?;
    // Another solver may go on from the dual variables of a model that is done. How many have room does not depend on
    // how many train at a time.
    let is_many = !is_path && models > 1;
    let keepers = if is_many { (budget.free_bytes() / KEPT_PART / of_model.max(1)).min(models as u64) } else { 0 };
    let _others = budget.reserve("dual variables of models that are done", of_model * keepers)?;
    let keepers = if is_many { keepers as usize } else { models };
    // Besides its own memory, a model that trains beside others keeps the weights that it shows.
    let most = match rows.memory() {
        Some(_) => models.min(options.threads),
        None if has_working_set(chosen) => 1,
        None => models,
    };
    let beside = Beside::new(most, bytes + 2 * weights, of_model, budget)?;
    let reduced = reduced.as_ref().map(|(rows, _)| rows);
    let alike = Alike { solver: chosen.solver, reduced, heavy, limits, budget, beside, keepers };
    let mut all: Vec<Trained> = Vec::with_capacity(tasks.len());
    for point in tasks.chunks(models) {
        let first = all.len().saturating_sub(models);
        if all[first..].iter().any(|before| before.status.is_stop()) {
            break;
        }
        for before in &mut all[first..] {
            keep_if_wanted(before, of_model, &mut kept, budget);
        }
        let before = Some(&all[first..]).filter(|before| !before.is_empty());
        let mut trained = alike.train_point(&mut rows, point, before, observer)?;
        all.append(&mut trained);
    }
    Ok(all)
}

/// Whether rows near their kinks fill what memory is left, so that models are better off one after the other.
fn has_working_set(chosen: &Candidate) -> bool {
    chosen.solver == Solver::Multipliers && chosen.matrix == Matrix::Features
}

/// Another solver may go on from the dual variables of a model of the point before, if there is room for them meanwhile.
fn keep_if_wanted(done: &mut Trained, bytes: u64, kept: &mut Reservation, budget: &Budget) {
    let is_wanted = done.status == Status::OutOfPasses;
    let has_room = bytes <= budget.free_bytes() / KEPT_PART;
    if !(is_wanted && has_room && kept.resize(kept.bytes() + bytes).is_ok()) {
        done.keep_only_weights();
    }
}

/// What is known of all rows but their values, where matrices are of rows by rows.
fn reduced(
    rows: &StoreRows,
    (chosen, objective): (&Candidate, &Objective),
    limits: &Limits,
    budget: &Budget,
) -> Result<Option<(Reduced, Reservation)>, TrainError> {
    let Some(all) = rows.memory().filter(|_| chosen.matrix == Matrix::Rows) else { return Ok(None) };
    let paid = budget.reserve("products of rows", few_rows::bytes(rows.store().shape().rows))?;
    match Reduced::new(all, objective, limits.watch()) {
        // The solvers will find out themselves.
        Err(TrainError::Stopped(_)) => Ok(None),
        reduced => Ok(Some((reduced?, paid))),
    }
}

/// The columns that conjugate gradients are preconditioned with.
fn heavy(rows: &mut StoreRows, chosen: &Candidate) -> Result<Option<Heavy>, TrainError> {
    let Matrix::Heavy(most) = chosen.matrix else { return Ok(None) };
    match Heavy::of(rows, most) {
        Err(TrainError::Stopped(_)) => Ok(Some(Heavy::none(rows.store().shape().columns as usize))),
        found => found.map(Some),
    }
}
