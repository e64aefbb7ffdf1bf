//! One model with an index: the series of convex problems, with cheap steps while active rows change sides and scans of
//! all rows to be certain.
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::IndexedOptions;
use super::active::ActiveSet;
use super::begin;
use super::fallback::IndexCostModel;
use super::rounds::{Next, Rounds, reserve, sq_norm};
use super::scan::{Look, Sums, scan_others};
use super::segment::Room;
use super::solve::BlockSolver;
use crate::block::Block;
use crate::budget::Budget;
use crate::engine::{
    Certificate, Cost, Duals, Identity, Limits, Link, Observer, Standing, Status, Task, TrainError, Trained,
};
use crate::index::{PageCache, Search};
use crate::loss::Loss;
use crate::store::{BlockStore, DiskStore};
use crate::truncation::{Sample, SeriesState, first_model};

/// Steps of the series without a scan of all rows, at most.
const MOST_CHEAP: u32 = 20;
/// A step is cheap if its queries have looked at less than this part of the rows. Bytes read would tell more, but
/// depend on the pages that happen to be in memory.
const CHEAP_PART: f64 = 0.5;

/// What all runs on an index share.
#[derive(Clone, Copy)]
pub struct Common<'a> {
    pub store: &'a Arc<DiskStore>,
    pub limits: &'a Limits<'a>,
    pub indexed: &'a IndexedOptions,
    pub budget: &'a Budget,
    /// What was free before any run began, pages included.
    pub free_bytes: u64,
    /// What of that is left to rows and pages.
    pub row_bytes: u64,
    /// Runs that take their turns.
    pub together: u64,
}

/// One model in training.
pub struct Run<'a, L, S> {
    common: Common<'a>,
    task: &'a Task,
    rounds: Rounds<'a, L, S>,
    best: Option<Best>,
    /// Steps since the last scan.
    cheap: u32,
    /// What a scan of all rows adds to: at first that of the active rows.
    sums: Sums,
    /// Whether the next turn begins with another wᵗ.
    is_next: bool,
    /// Why it ends after the next scan.
    stop: Option<Status>,
}

/// The best weights so far for which F_s is known.
struct Best {
    weights: Vec<f64>,
    objective: f64,
    /// That of the convex problem which they were found in: a bound for another problem says nothing of them.
    certificate: Certificate,
}

/// What a run wants next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// A scan of all rows.
    Scan,
    /// The blocks of the store instead of the index.
    Blocks,
}

impl<'a, L: Loss, S: BlockSolver<L>> Run<'a, L, S> {
    /// Begins with a model of the sample, or with dual variables from before. Nothing if these are of so many rows that
    /// blocks are the better way.
    pub fn begin(
        common: Common<'a>,
        task: &'a Task,
        (loss, solver): (L, S),
        sample: Option<&Sample>,
        pages: &mut PageCache,
    ) -> Result<Option<Self>, TrainError> {
        let Common { store, indexed, budget, free_bytes, row_bytes, .. } = common;
        let (shape, options) = (store.shape(), common.limits.options());
        let folder = task.checkpoint.as_ref().and_then(|file| file.path.parent()).filter(|folder| folder.is_dir());
        let folder = folder.map_or_else(std::env::temp_dir, |folder| folder.to_path_buf());
        let longest = store.manifest().row_summary.max_values;
        pages.make_room(budget.data_bytes() / 2);
        let paid = reserve(shape.columns, indexed.primal, budget)?;
        let search = Search::new(pages.forest().clone(), options.seed, budget)?;
        let page_bytes = (row_bytes as f64 * indexed.queries.page_share) as u64;
        let room = (Room::of(shape, longest, row_bytes / common.together), page_bytes);
        let active = ActiveSet::new(shape.rows, room, options.order, folder, budget)?;
        let rounds = Rounds {
            loss,
            solver,
            objective: &task.objective,
            options: indexed,
            tolerance: options.tolerance,
            active,
            weights: Identity::new(shape.columns as usize, task.objective.bias),
            reference: vec![0.0; shape.columns as usize + 1],
            search,
            judge: IndexCostModel::new(store, free_bytes, options.seed, budget),
            was_scanned: false,
            must_settle: false,
            looked: 0,
            turn: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(options.seed),
            cost: Cost::default(),
            _paid: paid,
        };
        let mut run =
            Run { common, task, rounds, best: None, cheap: 0, sums: Sums::default(), is_next: false, stop: None };
        if !run.begin_rows(sample, pages)? {
            return Ok(None);
        }
        run.rounds.begin_problem(pages)?;
        Ok(Some(run))
    }

    /// Makes the first rows active; false if there are too many.
    fn begin_rows(&mut self, sample: Option<&Sample>, pages: &mut PageCache) -> Result<bool, TrainError> {
        let Common { store, limits, indexed, budget, free_bytes, .. } = self.common;
        if let Some(start) = &self.task.start {
            let mut duals = self.no_duals(pages)?;
            duals.begin_with(start)?;
            let support = duals.support()?;
            if !self.rounds.active.holds(support, free_bytes) && self.rounds.judge.are_too_many(support) {
                return Ok(false);
            }
            let begin = (&duals, indexed.beginning.rows);
            begin::with_duals(&mut self.rounds, store, begin, (pages, budget), limits.watch())?;
        } else if let Some(sample) = sample {
            let first = first_model(sample, (limits, &self.task.objective), budget)?;
            begin::with_first_model(&mut self.rounds, (sample, &first), pages)?;
        }
        Ok(true)
    }

    /// Asks and solves until only a scan of all rows can tell more.
    pub fn advance(&mut self, pages: &mut PageCache, observer: &mut dyn Observer) -> Result<Wants, TrainError> {
        let limits = self.common.limits;
        self.rounds.active.come_back(pages)?;
        if std::mem::take(&mut self.is_next) {
            self.rounds.begin_problem(pages)?;
        }
        loop {
            let rounds = &mut self.rounds;
            let looked_before = rounds.looked;
            let next = rounds.solve(pages, limits, |cost, w| see(observer, cost, None, w))?;
            if matches!(next, Next::TooMany) {
                return Ok(Wants::Blocks);
            }
            self.stop = limits.reason_to_stop(rounds.cost.passes);
            let looked = (rounds.looked - looked_before) as f64;
            let is_little = looked <= CHEAP_PART * self.common.store.shape().rows as f64;
            let is_cheap = self.cheap < MOST_CHEAP && is_little && self.stop.is_none() && matches!(next, Next::Solved);
            if !is_cheap || !rounds.may_step(pages, limits.watch())? {
                // While its rows are in memory: others may have their turns before the scan.
                self.sums = rounds.scan_active(pages, (limits.watch(), self.best.is_some()))?;
                return Ok(Wants::Scan);
            }
            rounds.reference.copy_from_slice(rounds.weights.weights());
            rounds.begin_problem(pages)?;
            self.cheap += 1;
        }
    }

    /// A block of the scan has come; rows that the index has not found become active.
    pub fn scan(&mut self, (block, first): (&Block, u64), pages: &mut PageCache) -> Result<(), TrainError> {
        let watched = (self.common.limits.watch(), self.best.is_some());
        let Rounds { loss, objective, reference, active, weights, .. } = &mut self.rounds;
        let look = Look { objective, reference };
        scan_others(*loss, look, &mut self.sums, (active, weights), (block, first, pages), watched)
    }

    /// The run has to end, and there is no time for a scan: the best weights of which F_s is known are the model, if
    /// there are any.
    pub fn end_early(&mut self, status: Status, pages: &mut PageCache) -> Result<Trained, TrainError> {
        let Some(best) = self.best.take() else { return Err(TrainError::Stopped(status)) };
        self.end((status, best.certificate, best.weights), pages)
    }

    /// All rows have been looked at: the model, if it is done, else the next problem.
    pub fn end_scan(
        &mut self,
        (seconds, pages): (f64, &mut PageCache),
        observer: &mut dyn Observer,
    ) -> Result<Option<Trained>, TrainError> {
        let (tolerance, sums) = (self.rounds.tolerance, self.sums);
        let cost = Cost { passes: 1, certify_seconds: seconds, ..Cost::default() };
        self.rounds.cost = self.rounds.cost.with(&cost);
        (self.rounds.was_scanned, self.rounds.must_settle) = (true, true);
        self.save(pages)?;
        let (now, then) = (self.rounds.sq_norm(), sq_norm(&self.rounds.reference));
        let (found, certificate) = (sums.truncated_objective(now), sums.certificate(now));
        let known = sums.reference_certificate(now, then);
        let weights = self.rounds.weights.weights().to_vec();
        see(observer, self.rounds.cost_so_far(pages, self.common.limits), Some(certificate), &weights);
        self.note_best(known.objective, known, &self.rounds.reference.clone(), observer);
        if known.relative_gap() <= tolerance {
            let reference = self.rounds.reference.clone();
            return self.end((Status::Converged, known, reference), pages).map(Some);
        }
        self.note_best(found, certificate, &weights, observer);
        // F_s is that of the convex problem where no row has changed sides.
        if certificate.relative_gap() <= tolerance && sums.crossed == 0 {
            return self.end((Status::Converged, certificate, weights), pages).map(Some);
        }
        let Some(best) = &self.best else { return Ok(None) };
        if let Some(status) = self.stop {
            let end = (status, best.certificate, best.weights.clone());
            return self.end(end, pages).map(Some);
        }
        self.rounds.reference.copy_from_slice(&best.weights);
        // Steps without a scan have led to worse weights: each one is looked at from now on.
        self.cheap = if best.objective < found { MOST_CHEAP } else { 0 };
        self.is_next = true;
        Ok(None)
    }

    fn end(
        &mut self,
        (status, certificate, weights): (Status, Certificate, Vec<f64>),
        pages: &mut PageCache,
    ) -> Result<Trained, TrainError> {
        let cost = self.rounds.cost_so_far(pages, self.common.limits);
        let duals = self.save(pages)?;
        Ok(Trained::new(weights, status, certificate, cost).with_duals(duals))
    }

    /// Keeps weights if F_s is lower than before.
    fn note_best(&mut self, objective: f64, certificate: Certificate, weights: &[f64], observer: &mut dyn Observer) {
        if self.best.as_ref().is_none_or(|best| objective < best.objective) {
            self.best = Some(Best { weights: weights.to_vec(), objective, certificate });
            observer.problem_solved(objective, weights);
        }
    }

    /// Another run has its turn, for which `bytes` should be free.
    pub fn step_back(&mut self, bytes: u64, pages: &PageCache) -> Result<(), TrainError> {
        self.rounds.active.step_back(bytes, pages)
    }

    /// Makes `bytes` free, as far as it can.
    pub fn make_room(&mut self, bytes: u64, pages: &mut PageCache) -> Result<(), TrainError> {
        self.rounds.active.make_room(bytes, &[], pages)
    }

    /// Its own part of the cost.
    pub fn cost(&self) -> Cost {
        self.rounds.cost
    }

    /// What a series by blocks goes on from. It is the same convex problem: wᵗ, or the best weights of which F_s is
    /// known, and all dual variables. w is on its way between two problems, and may lean so far towards the rows that
    /// were found last that all others would be outliers.
    pub fn into_known(mut self, pages: &mut PageCache) -> Result<SeriesState, TrainError> {
        let cost = self.rounds.cost_so_far(pages, self.common.limits);
        let (weights, reached) = match self.best.take() {
            Some(best) => (best.weights, best.objective),
            None => (self.rounds.reference.clone(), f64::INFINITY),
        };
        let mut duals = self.task.no_duals(self.common.store.shape().rows, true, self.common.budget)?;
        self.rounds.active.write_duals(&mut duals, pages)?;
        Ok(SeriesState { weights, reached, duals, cost })
    }

    /// Keeps the dual variables where another run can go on from them.
    fn save(&mut self, pages: &mut PageCache) -> Result<Duals, TrainError> {
        let mut duals = self.no_duals(pages)?;
        self.rounds.active.write_duals(&mut duals, pages)?;
        if let Some(file) = &self.task.checkpoint {
            let cost = self.rounds.cost_so_far(pages, self.common.limits);
            file.save(&self.task.objective, cost, &duals, &[])?;
        }
        Ok(duals)
    }

    /// As many dual variables as there are rows, all 0: in memory if there is room.
    fn no_duals(&self, pages: &mut PageCache) -> Result<Duals, TrainError> {
        let rows = self.common.store.shape().rows;
        pages.make_room(8 * rows);
        let is_room = self.common.budget.reserve("dual variables", 8 * rows).is_ok();
        self.task.no_duals(rows, !is_room, self.common.budget)
    }
}

fn see(observer: &mut dyn Observer, cost: Cost, certificate: Option<Certificate>, w: &[f64]) {
    certificate.map_or_else(Standing::default, Standing::by).tell(observer, cost, &[w]);
}
