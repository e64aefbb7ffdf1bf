//! Algorithm 1: the convex problem (5) for fixed wᵗ, as far as the index knows its rows.
use rand_xoshiro::Xoshiro256PlusPlus;

use super::IndexedOptions;
use super::active::ActiveSet;
use super::fallback::IndexCostModel;
use super::scan::{Look, Sums, scan_active};
use super::segment::Segment;
use super::solve::{BlockSolver, Worked};
use crate::budget::{Budget, Reservation};
use crate::engine::{Ceiling, Cost, Identity, Limits, Link, TrainError, Watch};
use crate::index::{PageCache, Question, Search};
use crate::loss::Loss;
use crate::objective::Objective;
use crate::solver::Weights;

/// Visits of rows for each row that a query has looked at: searching and solving cost about the same then.
const VISITS_PER_LOOK: u64 = 4;
/// Sweeps over a block while they pay, at least: after a single one w still leans towards the new rows, and the next
/// query would find what only such a w has need of.
const LEAST_SWEEPS: u64 = 3;
/// The active rows are solved to this part of the tolerance, so that others may owe the rest.
const OWN_PART: f64 = 0.5;
/// Active rows are gone through for idle ones if this part may be, and rows wait on disk.
const IDLE_PART: f64 = 0.25;
/// Where the next problem of the series is another one anyway, so much of the gap may stay.
const EARLY_PART: f64 = 0.1;

/// The state of a run: active rows, weights, and what the search has set aside.
pub struct Rounds<'a, L, S> {
    pub loss: L,
    pub solver: S,
    pub objective: &'a Objective,
    pub options: &'a IndexedOptions,
    pub tolerance: f64,
    pub active: ActiveSet,
    pub weights: Identity,
    /// wᵗ.
    pub reference: Vec<f64>,
    pub search: Search,
    pub judge: IndexCostModel,
    /// Whether all rows have been looked at: from then on it is the gap of the active rows that is missing.
    pub was_scanned: bool,
    /// Whether w has to settle before anything is asked: a scan has made rows active, or outliers have left with their
    /// dual variables. Until the others have made up for them, w says little about which rows matter.
    pub must_settle: bool,
    /// Rows that queries have looked at.
    pub looked: u64,
    /// The active row whose turn is next, among all of them: r of Algorithm 1.
    pub turn: u64,
    pub random: Xoshiro256PlusPlus,
    /// Its own part of the cost; what was read served all runs, and the pages know it.
    pub cost: Cost,
    pub _paid: Reservation,
}

/// Whether to go on.
pub enum Next {
    /// The problem is solved, as far as the index knows.
    Solved,
    /// A limit was reached.
    Stopped,
    /// Too many rows matter: blocks are the better way.
    TooMany,
}

impl<L: Loss, S: BlockSolver<L>> Rounds<'_, L, S> {
    /// Takes wᵗ = w: rows that are outliers under it stop to be active, and all others may matter again.
    pub fn begin_problem(&mut self, pages: &mut PageCache) -> Result<(), TrainError> {
        let ceiling = Ceiling::of(self.objective);
        let last = self.reference.len() - 1;
        let constant = self.objective.bias * self.reference[last];
        for i in 0..self.active.segments.len() {
            self.active.load(i, &[], pages)?;
            let Segment { residents, states, .. } = &self.active.segments[i];
            let mut keep = vec![true; states.len()];
            for (k, state) in states.iter().enumerate() {
                let row = residents.block.row(k);
                if ceiling.is_outlier(state.y, row.dot(&self.reference) + constant) {
                    keep[k] = false;
                    if state.beta != 0.0 {
                        self.must_settle = true;
                        self.weights.add(row, -state.beta);
                    }
                }
            }
            if keep.contains(&false) {
                self.active.retain(i, &keep);
            }
            // Rows that an order has left out may matter in another problem. Later on, scans of the active rows bring
            // them back.
            self.active.segments[i].order.begin_step();
        }
        self.search.recover(Some(&self.active.bits));
        Ok(())
    }

    /// Asks and solves until the active rows are solved and the index finds fewer than n others. `seen` is told after
    /// every block.
    pub fn solve(
        &mut self,
        pages: &mut PageCache,
        limits: &Limits,
        mut seen: impl FnMut(Cost, &[f64]),
    ) -> Result<Next, TrainError> {
        if self.active.is_parted() && self.wants_blocks(pages)? {
            return Ok(Next::TooMany);
        }
        loop {
            if !std::mem::take(&mut self.must_settle) {
                let Some(found) = self.ask_and_solve(pages, limits)? else { return Ok(Next::TooMany) };
                seen(self.cost_so_far(pages, limits), self.weights.weights());
                if limits.reason_to_stop(self.cost.passes).is_some() {
                    return Ok(Next::Stopped);
                }
                if found == self.options.wanted {
                    continue;
                }
            }
            // Once the rest is solved, what was set aside on the way comes back (section 4.3), and so do rows that w
            // has reached meanwhile.
            self.solve_active(pages, limits, &mut seen)?;
            if limits.reason_to_stop(self.cost.passes).is_some() {
                return Ok(Next::Stopped);
            }
            self.search.recover(Some(&self.active.bits));
            let Some(found) = self.ask_and_solve(pages, limits)? else { return Ok(Next::TooMany) };
            if limits.reason_to_stop(self.cost.passes).is_some() {
                return Ok(Next::Stopped);
            }
            if found < self.options.wanted {
                if found > 0 {
                    self.solve_active(pages, limits, &mut seen)?;
                }
                seen(self.cost_so_far(pages, limits), self.weights.weights());
                return Ok(Next::Solved);
            }
        }
    }

    /// One round: n more rows, and the block of them and others. Returns |N|, or nothing where too many rows matter.
    fn ask_and_solve(&mut self, pages: &mut PageCache, limits: &Limits) -> Result<Option<u64>, TrainError> {
        let before: Vec<usize> = self.active.segments.iter().map(Segment::rows).collect();
        let Some((found, looked)) = self.ask(pages, limits.watch())? else { return Ok(None) };
        if self.options.queries.in_turn && !self.active.is_parted() && self.solve_in_turn(&before, looked, limits)? {
            return Ok(Some(found));
        }
        let block = self.block(found, looked, pages)?;
        // New rows move w: rows of the block that an order has left out may matter again.
        block.iter().for_each(|&i| self.active.segments[i].order.begin_step());
        let rows: u64 = block.iter().map(|&i| self.active.segments[i].rows() as u64).sum();
        self.solve_block(&block, ((VISITS_PER_LOOK * looked).max(LEAST_SWEEPS * rows), limits.watch()))?;
        Ok(Some(found))
    }

    /// Solves the block of Algorithm 1: the rows that were found, those beyond `before` in each segment, and as many others
    /// in turn as were looked at besides. False, and nothing is done, from a solver that takes all active rows.
    fn solve_in_turn(&mut self, before: &[usize], looked: u64, limits: &Limits) -> Result<bool, TrainError> {
        let segments = &self.active.segments;
        let known = |segment: usize| before.get(segment).copied().unwrap_or(0);
        let mut rows: Vec<(u32, u32)> = Vec::new();
        for (i, segment) in segments.iter().enumerate() {
            rows.extend((known(i)..segment.rows()).map(|row| (i as u32, row as u32)));
        }
        let others: u64 = segments.iter().enumerate().map(|(i, segment)| known(i).min(segment.rows()) as u64).sum();
        let wanted = looked.saturating_sub(rows.len() as u64).min(others);
        let (mut first, begin) = (0, if others > 0 { self.turn % others } else { 0 });
        for (i, segment) in segments.iter().enumerate() {
            for row in 0..known(i).min(segment.rows()) as u64 {
                let since = (first + row + others - begin) % others.max(1);
                if since < wanted {
                    rows.push((i as u32, row as u32));
                }
            }
            first += known(i).min(segment.rows()) as u64;
        }
        self.turn = begin + wanted;
        let started = limits.seconds();
        let Rounds { solver, loss, active, weights, random, .. } = self;
        let visits = (u64::MAX, limits.watch());
        let Some(worked) = solver.solve_rows(*loss, (&mut active.segments, rows), visits, weights, random)? else {
            return Ok(false);
        };
        self.cost.sweeps += worked.sweeps;
        self.cost.visits += worked.visits;
        self.cost.solve_seconds += limits.seconds() - started;
        Ok(true)
    }

    /// Whether what does not fit into memory is better read block by block.
    fn wants_blocks(&mut self, pages: &mut PageCache) -> Result<bool, TrainError> {
        let look = Look { objective: self.objective, reference: &self.reference };
        self.judge.wants_blocks(self.active.rows(), look, &self.weights, pages)
    }

    /// Finds n more rows, which become active: |N| and n_e. Nothing where too many matter.
    fn ask(&mut self, pages: &mut PageCache, watch: &Watch) -> Result<Option<(u64, u64)>, TrainError> {
        let (mut found, mut looked) = (0, 0);
        self.active.forget_idle_if_short(pages);
        loop {
            // Room is made before the search, which holds pages.
            if self.active.is_short(pages) && self.wants_blocks(pages)? {
                return Ok(None);
            }
            if !self.active.has_room() {
                self.active.grow(pages)?;
            }
            let question = Question {
                weights: self.weights.weights(),
                reference: &self.reference,
                objective: self.objective,
                threshold: Ceiling::of(self.objective).margin,
                wanted: self.options.wanted - found,
                far: self.options.queries.far,
                sampled: true,
            };
            let (active, loss, objective) = (&mut self.active, self.loss, self.objective);
            let goes_on = || watch.look().is_none();
            let answer = self.search.ask(&question, pages, goes_on, |page, i| {
                active.append(loss, (page, i), (page.ids()[i], 0.0), objective);
                active.has_room()
            })?;
            found += answer.found;
            looked += answer.looked;
            self.looked += answer.looked;
            if answer.found == 0 || self.active.has_room() || found == self.options.wanted || !goes_on() {
                return Ok(Some((found, looked)));
            }
        }
    }

    /// N and n_e - |N| active rows in turn, as segments; all active rows while they are in memory, where they cost
    /// nothing to have and hold w in place.
    fn block(&mut self, found: u64, looked: u64, pages: &mut PageCache) -> Result<Vec<usize>, TrainError> {
        if !self.active.is_parted() {
            return Ok((0..self.active.segments.len()).collect());
        }
        let mut newest = Vec::new();
        let mut rows = 0;
        for i in (0..self.active.segments.len()).rev() {
            if rows >= found {
                break;
            }
            rows += self.active.segments[i].rows() as u64;
            newest.push(i);
        }
        self.active.take_turns(looked.saturating_sub(found), &newest, pages)
    }

    /// Solves a block; how much the dual objective rose.
    fn solve_block(&mut self, block: &[usize], visits: (u64, &Watch)) -> Result<f64, TrainError> {
        let Rounds { solver, loss, active, weights, random, cost, .. } = self;
        let solve = |_: &mut Cost| solver.solve(*loss, (&mut active.segments, block), visits, weights, random);
        let worked: Worked = cost.solving(solve)?;
        cost.sweeps += worked.sweeps;
        cost.visits += worked.visits;
        Ok(worked.gain)
    }

    /// Solves problem (13), that of all active rows: to the tolerance, or, while others are still to be found, until
    /// much of the gap is gone or the dual objective hardly rises. The gap goes up and down on its way where rows are
    /// long; the dual objective only rises.
    fn solve_active(
        &mut self,
        pages: &mut PageCache,
        limits: &Limits,
        seen: &mut impl FnMut(Cost, &[f64]),
    ) -> Result<(), TrainError> {
        let mut enough: Option<f64> = None;
        loop {
            let sums = match self.scan_active(pages, (limits.watch(), true)) {
                Err(TrainError::Stopped(_)) => return Ok(()),
                sums => sums?,
            };
            let bound = self.tolerance * (0.5 * self.sq_norm() + sums.losses);
            let exact = OWN_PART * bound;
            let may_be_early = self.options.wanted > 1 && !self.was_scanned;
            let early = if may_be_early { EARLY_PART * sums.gap } else { 0.0 };
            let enough = *enough.get_or_insert(early);
            self.compact_if_parted(&sums, pages)?;
            if sums.gap <= exact.max(enough) || limits.reason_to_stop(self.cost.passes).is_some() {
                return Ok(());
            }
            let count = self.active.rows();
            let (mut done, mut gain) = (0, 0.0);
            while done < count {
                let block = self.active.take_turns(count - done, &[], pages)?;
                let rows: u64 = block.iter().map(|&i| self.active.segments[i].rows() as u64).sum();
                gain += self.solve_block(&block, (u64::MAX, limits.watch()))?;
                if rows == 0 || limits.look().is_some() {
                    break;
                }
                done += rows;
            }
            seen(self.cost_so_far(pages, limits), self.weights.weights());
            if may_be_early && gain <= bound {
                return Ok(());
            }
        }
    }

    /// Where rows wait on disk though many are idle, those stop to be active. With them neither w nor the dual
    /// objective changes, and the rest may fit into memory.
    fn compact_if_parted(&mut self, sums: &Sums, pages: &mut PageCache) -> Result<(), TrainError> {
        let rows = self.active.rows();
        if !self.active.is_parted() || (rows - sums.support.count()) as f64 <= IDLE_PART * rows as f64 {
            return Ok(());
        }
        let weights = &self.weights;
        self.active.compact(|row, state| state.beta == 0.0 && state.y * weights.margin(row) >= 1.0, pages)
    }

    /// Sums over the active rows, with w summed anew.
    pub fn scan_active(&mut self, pages: &mut PageCache, watched: (&Watch, bool)) -> Result<Sums, TrainError> {
        let look = Look { objective: self.objective, reference: &self.reference };
        scan_active(self.loss, look, watched, &mut self.active, &mut self.weights, pages)
    }

    pub fn sq_norm(&self) -> f64 {
        sq_norm(self.weights.weights())
    }

    /// Whether the next step of the series may be taken without a scan of all rows, as far as the active rows tell: wᵗ
    /// was not good enough already, and w is better. From weights that are worse, rows would be taken for outliers that
    /// are none, and their dual variables be lost.
    pub fn may_step(&mut self, pages: &mut PageCache, watch: &Watch) -> Result<bool, TrainError> {
        let sums = match self.scan_active(pages, (watch, true)) {
            Err(TrainError::Stopped(_)) => return Ok(false),
            sums => sums?,
        };
        let known = sums.reference_certificate(self.sq_norm(), sq_norm(&self.reference));
        let is_better = sums.truncated_objective(self.sq_norm()) < known.objective;
        Ok(known.relative_gap() > self.tolerance && is_better)
    }

    /// What the run has cost, with all that was read until now.
    pub fn cost_so_far(&self, pages: &PageCache, limits: &Limits) -> Cost {
        Cost { bytes_read: pages.bytes_read(), seconds: limits.seconds(), ..self.cost }
    }
}

pub fn sq_norm(w: &[f64]) -> f64 {
    w.iter().map(|w| w * w).sum()
}

/// Memory for the weights of a run, and for Newton steps on a block.
pub fn reserve(columns: u64, primal: bool, budget: &Budget) -> Result<Reservation, TrainError> {
    Ok(budget.reserve_few("weights", vector_bytes(columns, primal))?)
}

/// How much that is.
pub fn vector_bytes(columns: u64, primal: bool) -> u64 {
    let vectors = 4 + if primal { 14 } else { 0 };
    vectors * 8 * (columns + 1)
}
