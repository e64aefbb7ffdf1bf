//! Models that are alike: how many train at a time, and how long each may take.
use std::sync::atomic::{AtomicUsize, Ordering};

use super::few_rows::Reduced;
use super::heavy::Heavy;
use super::parallel::each_model;
use super::rows::{StoreRows, TaskRows};
use super::session::Session;
use super::several_outputs;
use super::together::scan_together;
use super::train::Run;
use crate::budget::{Budget, Reservation};
use crate::engine::{Cost, Limits, Observer, Solver, Status, Task, TrainError, Trained, ZeroCosts, unlearnt_models};

/// Models that train beside another one may take this part of what is free.
const TOGETHER_PART: u64 = 2;

/// What models have that train together. Each has a budget of its own: what one of them takes must not depend on how
/// far the others are.
pub struct Beside {
    models: usize,
    /// For each; none where nobody counts.
    share: Option<u64>,
    #[allow(dead_code, reason = "holds what they take")]
    paid: Reservation,
}

impl Beside {
    /// As many models as there is room for, where each but the first takes `bytes`, and dual variables by position may
    /// have to be copied.
    pub fn new(most: usize, bytes: u64, duals: u64, budget: &Budget) -> Result<Option<Beside>, TrainError> {
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

/// What models that are alike share.
pub struct Alike<'a> {
    /// What trains them.
    pub solver: Solver,
    /// Rows with the same products and fewer features.
    pub reduced: Option<&'a Reduced>,
    /// What conjugate gradients are preconditioned with.
    pub heavy: Option<Heavy>,
    /// When to stop.
    pub limits: Limits<'a>,
    /// For a model alone.
    pub budget: &'a Budget,
    /// Where several models train at a time.
    pub beside: Option<Beside>,
    /// The first this many models keep their dual variables.
    pub keepers: usize,
}

impl Alike<'_> {
    /// Trains the models of a point, from those before them if there are any. Each has a share of the time that is
    /// left; those that it was too short for go on while others have left some of theirs.
    pub fn train_point(
        &self,
        rows: &mut StoreRows,
        point: &[Task],
        before: Option<&[Trained]>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Trained>, TrainError> {
        let mut all = self.train_each(rows, point, before, observer)?;
        while self.limits.look().is_none() {
            let is_open = |trained: &Trained| trained.status == Status::OutOfTime;
            let open = all.iter_mut().zip(point).filter(|(trained, _)| is_open(trained));
            let again: Vec<Task> = open
                .map(|(trained, task)| {
                    let start = Some(trained.take_duals()).filter(|start| !start.is_empty());
                    task.going_on(trained.weights.clone(), start)
                })
                .collect();
            if again.is_empty() {
                break;
            }
            let found = self.train_each(rows, &again, None, observer)?;
            let tolerance = self.limits.options().tolerance;
            all.iter_mut().filter(|trained| is_open(trained)).zip(found).for_each(|(a, b)| a.go_on_to(b, tolerance));
        }
        Ok(all)
    }

    fn train_each(
        &self,
        rows: &mut StoreRows,
        tasks: &[Task],
        before: Option<&[Trained]>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Trained>, TrainError> {
        let together = self.beside.as_ref().map_or(1, |beside| beside.models);
        let (in_memory, left) = (rows.memory().is_some(), AtomicUsize::new(tasks.len()));
        let work = |i: usize, rows: &mut StoreRows, observer: &mut dyn Observer| {
            let left = left.fetch_sub(1, Ordering::Relaxed);
            // Of many models those that nothing is known of are told together.
            if tasks.len() > 1 && before.is_none() && self.limits.look().is_some() {
                return Ok(None);
            }
            let share = if in_memory || together == 1 { left } else { left.div_ceil(together) };
            let limits = self.limits.share(share, if in_memory { together } else { 1 });
            let own = self.beside.as_ref().map(Beside::budget);
            let start = before.map(|before| before[i].weights.as_slice());
            let mut trained =
                self.train_one(rows, (&tasks[i], start), &limits, own.as_ref().unwrap_or(self.budget), observer)?;
            if i >= self.keepers {
                trained.keep_only_weights();
            }
            Ok(Some(trained))
        };
        let mut all = Vec::with_capacity(tasks.len());
        if in_memory {
            all = each_model(rows, (tasks.len(), together), observer, work)?;
        } else {
            for (first, wave) in (0..tasks.len()).step_by(together).zip(tasks.chunks(together)) {
                let sizes = (wave.len(), self.limits.options().threads);
                if wave.len() == 1 {
                    all.push(work(first, rows, observer)?);
                } else {
                    let work = |i: usize, rows: &mut StoreRows, o: &mut dyn Observer| work(first + i, rows, o);
                    let found = scan_together(rows, sizes, observer, work)?;
                    found.into_iter().try_for_each(|found| found.map(|found| all.push(found)))?;
                }
            }
        }
        self.with_unlearnt(rows, tasks, all)
    }

    /// Models for which there was no time are told by one scan.
    fn with_unlearnt(
        &self,
        rows: &mut StoreRows,
        tasks: &[Task],
        found: Vec<Option<Trained>>,
    ) -> Result<Vec<Trained>, TrainError> {
        let is_missing = |i: usize| found[i].is_none();
        let Some(status) = self.limits.look().filter(|_| (0..found.len()).any(is_missing)) else {
            return Ok(found.into_iter().flatten().collect());
        };
        let missing: Vec<Task> =
            (0..found.len()).filter(|&i| is_missing(i)).map(|i| tasks[i].going_on(Vec::new(), None)).collect();
        let cost = Cost::of_all(found.iter().flatten().map(|trained| trained.cost));
        rows.scanning.go_on_within(self.limits.watch());
        rows.scanning.begin_end();
        let mut unlearnt = unlearnt(rows, &missing, (status, self.solver, cost), &self.limits)?.into_iter();
        Ok(found.into_iter().filter_map(|found| found.or_else(|| unlearnt.next())).collect())
    }

    fn train_one(
        &self,
        rows: &mut StoreRows,
        (task, before): (&Task, Option<&[f64]>),
        limits: &Limits,
        budget: &Budget,
        observer: &mut dyn Observer,
    ) -> Result<Trained, TrainError> {
        let Alike { solver, reduced, heavy, .. } = self;
        let (shape, width) = (rows.store().shape(), task.objective.width());
        let mut session = Session::new(task, *solver, rows, limits, observer);
        let start = before.unwrap_or(&task.start_weights);
        let is_near = before.is_some() || task.start.is_some() && !task.start_weights.is_empty();
        rows.scanning.go_on_within(limits.watch());
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
