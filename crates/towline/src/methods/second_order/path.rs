//! Which models train at a time, and what goes on from one to the next.
use std::sync::Arc;

use super::choose::{Candidate, Matrix};
use super::few_rows::Reduced;
use super::heavy::Heavy;
use super::moments::one_scan_each;
use super::rows::{StoreRows, TaskRows};
use super::session::Session;
use super::together::scan_together;
use super::train::Run;
use super::{few_rows, from_moments, needs, several_outputs};
use crate::budget::{Budget, Reservation};
use crate::engine::{
    Cost, Limits, Observer, Solver, Status, Task, TrainError, TrainOptions, Trained, ZeroCosts, unlearnt_models,
};
use crate::objective::Objective;
use crate::store::BlockStore;

/// The dual variables of a model that has been trained may take this part of what is free while others train.
const KEPT_PART: u64 = 4;

/// Models that train beside another one may take this part of what is free.
const TOGETHER_PART: u64 = 2;

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
/// that was interrupted.
///
/// Where rows are read again and again, as many models of a point train together as there is room for.
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
    // Besides its own memory, a model that trains beside others keeps the weights that it shows.
    let most = if rows.memory().is_some() || has_working_set(chosen) { 1 } else { models };
    let beside = Beside::new(most, bytes + 2 * weights, of_model, budget)?;
    let together = beside.as_ref().map_or(1, |beside| beside.models);
    let reduced = reduced.as_ref().map(|(rows, _)| rows);
    let common = Common { solver: chosen.solver, reduced, heavy, limits, budget, beside };
    let mut all: Vec<Trained> = Vec::with_capacity(tasks.len());
    for point in tasks.chunks(models) {
        if all.len().checked_sub(models).is_some_and(|first| all[first].status == Status::Interrupted) {
            break;
        }
        for wave in point.chunks(together) {
            let first = all.len();
            // Of many models those that nothing is known of are told together.
            if let (Some(status), Some(last), false) = (common.limits.look(), all.last(), is_path) {
                let how = (status, chosen.solver, last.cost);
                all.append(&mut unlearnt(&mut rows, &tasks[first..], how, &common.limits)?);
                return Ok(all);
            }
            for before in first.checked_sub(models).into_iter().flat_map(|before| before..before + wave.len()) {
                let is_wanted = all[before].status == Status::OutOfPasses;
                keep_if_wanted(&mut all[before], is_wanted, of_model, &mut kept, budget);
            }
            let before = first.checked_sub(models).map(|before| &all[before..before + wave.len()]);
            let mut trained = common.train_wave(&mut rows, wave, before, observer)?;
            if !is_path && tasks.len() > 1 {
                trained.iter_mut().for_each(|done| keep_if_wanted(done, true, of_model, &mut kept, budget));
            }
            all.append(&mut trained);
        }
    }
    Ok(all)
}

/// Models with weights of 0, by one scan.
fn unlearnt(
    rows: &mut StoreRows,
    tasks: &[Task],
    how: (Status, Solver, Cost),
    limits: &Limits,
) -> Result<Vec<Trained>, TrainError> {
    let mut costs = ZeroCosts::of(tasks);
    rows.blocks(|block, first| {
        limits.watch().goes_on(false)?;
        costs.add(tasks, block, first);
        Ok(())
    })?;
    costs.end();
    let objectives: Vec<f64> = (0..tasks.len()).map(|k| costs.objective(tasks, k)).collect();
    Ok(unlearnt_models(tasks, &objectives, rows.store().shape().columns, how))
}

/// Whether rows near their kinks fill what memory is left, so that models are better off one after the other.
fn has_working_set(chosen: &Candidate) -> bool {
    chosen.solver == Solver::Multipliers && chosen.matrix == Matrix::Features
}

/// What models have that train together. Each has a budget of its own: what one of them takes must not depend on how
/// far the others are.
struct Beside {
    models: usize,
    /// For each; none where nobody counts.
    share: Option<u64>,
    #[allow(dead_code, reason = "holds what they take")]
    paid: Reservation,
}

impl Beside {
    /// As many models as there is room for, where each but the first takes `bytes`, and dual variables by position may
    /// have to be copied.
    fn new(most: usize, bytes: u64, duals: u64, budget: &Budget) -> Result<Option<Beside>, TrainError> {
        if budget.is_unlimited() {
            let paid = budget.reserve("models that train together", 0)?;
            return Ok((most > 1).then_some(Beside { models: most, share: None, paid }));
        }
        let free = budget.free_bytes();
        let more = (free / TOGETHER_PART / (bytes + duals).max(1)).min(most as u64 - 1);
        let fixed = more * bytes + (more + 1) * duals;
        if more == 0 || fixed > free {
            return Ok(None);
        }
        let share = duals + (free - fixed) / TOGETHER_PART / (more + 1);
        let paid = budget.reserve("models that train together", more * bytes + (more + 1) * share)?;
        Ok(Some(Beside { models: more as usize + 1, share: Some(share), paid }))
    }

    fn budget(&self) -> Budget {
        self.share.map_or_else(Budget::unlimited, Budget::new)
    }
}

/// Another solver, or another C, may go on from the dual variables of a model that is done, if there is room for them
/// meanwhile.
fn keep_if_wanted(done: &mut Trained, is_wanted: bool, bytes: u64, kept: &mut Reservation, budget: &Budget) {
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

/// What models that are alike share.
struct Common<'a> {
    solver: Solver,
    reduced: Option<&'a Reduced>,
    heavy: Option<Heavy>,
    limits: Limits<'a>,
    budget: &'a Budget,
    /// Where several models train at a time.
    beside: Option<Beside>,
}

impl Common<'_> {
    /// Trains models by the same scans, from those before them if there are any.
    fn train_wave(
        &self,
        rows: &mut StoreRows,
        wave: &[Task],
        before: Option<&[Trained]>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Trained>, TrainError> {
        let start = |i: usize| before.map(|before| before[i].weights.as_slice());
        let Some(beside) = self.beside.as_ref().filter(|_| wave.len() > 1) else {
            return Ok(vec![self.train_one(rows, &wave[0], start(0), self.budget, observer)?]);
        };
        let sizes = (wave.len(), self.limits.options().threads);
        let work = |i: usize, rows: &mut StoreRows, observer: &mut dyn Observer| {
            self.train_one(rows, &wave[i], start(i), &beside.budget(), observer)
        };
        scan_together(rows, sizes, observer, work)?.into_iter().collect()
    }

    fn train_one(
        &self,
        rows: &mut StoreRows,
        task: &Task,
        before: Option<&[f64]>,
        budget: &Budget,
        observer: &mut dyn Observer,
    ) -> Result<Trained, TrainError> {
        let Common { solver, reduced, heavy, limits, .. } = self;
        let (shape, width) = (rows.store().shape(), task.objective.width());
        let mut session = Session::new(task, *solver, rows, limits, observer);
        let start = before.unwrap_or(&task.start_weights);
        let is_near = before.is_some() || task.start.is_some() && !task.start_weights.is_empty();
        rows.scanning.go_on();
        if start.len() == width * (shape.columns as usize + 1) {
            session.keep(start);
        }
        let found = if let Some(status) = limits.look() {
            Err(TrainError::Stopped(status))
        } else if width > 1 {
            let reduced = reduced.and_then(Reduced::rows);
            several_outputs::train(rows, reduced, task, (start, is_near), budget, &mut session)
        } else {
            let heavy = heavy.as_ref();
            let run = Run { rows, reduced: *reduced, heavy, task, start, is_near, budget, session: &mut session };
            match task.objective.loss.visit_piecewise(run) {
                Ok(trained) => trained,
                Err(run) => task.objective.loss.visit_smooth(run).unwrap_or(Err(TrainError::NoWeight)),
            }
        };
        match found {
            Err(TrainError::Stopped(status)) => session.end_early(&mut TaskRows::new(rows, task), status),
            found => found,
        }
    }
}
