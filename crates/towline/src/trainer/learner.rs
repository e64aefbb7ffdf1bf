//! One model in training: its problem, its dual variables, its rows, and how far it is.
use std::time::Instant;

use super::certificate::Certificate;
use super::duals::{DualSums, Duals, Start, rows_at_once};
use super::limits::Limits;
use super::plan::Plan;
use super::problem::Problem;
use super::problem_rows::ProblemRows;
use super::schedule::{GainSchedule, ProximalSchedule};
use super::{Centre, Cost, Solver, Status, Task, TrainError, TrainOptions, Trained};
use crate::block::Block;
use crate::budget::Budget;
use crate::residents::{Residents, View};
use crate::solver::Sweep;

mod few_features;

/// Sweeps per step, at most, where no number was given: more than three hardly save passes.
const MOST_ROUNDS: u32 = 4;
/// The problem of a block is solved when a proximal step moves w by no more than this part of its norm. Lasso problems of 5,000 rows take some 20 sweeps.
const SOLVED: f64 = 1e-8;
/// Sweeps over a block until then, at most, where no number was given.
const MOST_SWEEPS_OF_A_BLOCK: u32 = 200;
/// Another sweep pays if this one gained more than this part of the first one of the step.
const ROUND_PAYS: f64 = 0.1;
/// A pass that raised the dual objective by less than this many tolerances may be one of the last.
const NEAR: f64 = 10.0;
/// A sweep that raised the dual objective by less than this many tolerances leads nowhere.
const STALLED: f64 = 0.01;
/// At most this often the dual variables are saved while everything is in memory, where sweeps may take milliseconds.
const SAVE_SECONDS: f64 = 10.0;
/// A row of a block that did not become a resident.
pub const ABSENT: u32 = u32::MAX;

/// What a model does with the blocks of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Trains on them.
    Training,
    /// Certifies itself on them.
    Scanning,
    /// Nothing any more.
    Done(Status),
}

/// A model in training.
pub struct Learner<'a> {
    rows: ProblemRows<dyn Problem>,
    task: &'a Task,
    options: &'a TrainOptions,
    duals: Duals,
    /// Those of some rows of the block at hand.
    block_duals: Vec<f64>,
    /// Steps by columns end with what a certificate needs.
    by_columns: bool,
    /// Rows have become resident while it was not looking.
    stale: bool,
    pub phase: Phase,
    pub dual_objective: f64,
    pub gap_estimate: Option<f64>,
    pub certificate: Option<Certificate>,
    /// Its own part of the cost: sweeps, visits, and seconds of both kinds of work.
    pub cost: Cost,
    /// The dual objective when the pass began.
    before: f64,
    passes: u64,
    gains: GainSchedule,
    proximal_steps: ProximalSchedule,
    saved: Instant,
}

impl<'a> Learner<'a> {
    /// Begins where the task says.
    pub fn new(
        problem: Box<dyn Problem>,
        task: &'a Task,
        options: &'a TrainOptions,
        plan: &Plan,
        rows: u64,
        budget: &Budget,
    ) -> Result<Self, TrainError> {
        let mut duals = task.no_duals(rows, plan.duals_on_disk, budget)?;
        if let Some(start) = &task.start {
            duals.begin_with(start)?;
        }
        let mut learner = Learner {
            rows: ProblemRows::new(problem, options.order, options.seed),
            task,
            options,
            duals,
            block_duals: Vec::new(),
            by_columns: plan.solver == Solver::Columns,
            stale: false,
            phase: Phase::Training,
            dual_objective: 0.0,
            gap_estimate: None,
            certificate: None,
            cost: Cost::default(),
            before: 0.0,
            passes: 0,
            gains: GainSchedule::new(options.tolerance),
            proximal_steps: ProximalSchedule::new(options.tolerance, matches!(task.start, Some(Start::Left(..)))),
            saved: Instant::now(),
        };
        if learner.must_sum() && !plan.in_memory {
            // Sums up the weights. How good they are shows after the first pass.
            learner.begin_scan()?;
        }
        Ok(learner)
    }

    /// Whether the dual variables to start from have to be summed up first. For ½‖w‖² their dual objective has to be known, too.
    fn must_sum(&self) -> bool {
        match &self.task.start {
            None => false,
            Some(Start::Left(..)) => !self.is_proximal(),
            Some(Start::Values(_) | Start::Duals(..) | Start::Earlier(..)) => true,
        }
    }

    fn is_proximal(&self) -> bool {
        self.rows.problem.is_proximal()
    }

    pub fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done(_))
    }

    /// Whether a row has a part in what is minimised.
    pub fn wants(&self, block: &Block, i: usize, position: u64) -> bool {
        let info = block.info(i);
        self.rows.problem.wants(&info) && self.task.keeps(&info, position)
    }

    /// A block has come; its row i is resident as number `places[i]`, if it is.
    pub fn take(&mut self, block: &Block, first: u64, places: &[u32], residents: &Residents) -> Result<(), TrainError> {
        match self.phase {
            Phase::Training => self.take_rows(block, first, places, residents),
            Phase::Scanning => {
                self.stale |= places.iter().any(|&place| place != ABSENT);
                self.scan(block, first)
            }
            Phase::Done(_) => Ok(()),
        }
    }

    fn take_rows(
        &mut self,
        block: &Block,
        first: u64,
        places: &[u32],
        residents: &Residents,
    ) -> Result<(), TrainError> {
        let width = self.rows.problem.width();
        for (i, &place) in places.iter().enumerate() {
            let k = self.read_some(first, block.rows(), i)?;
            if !self.wants(block, i, first + i as u64) {
                continue;
            }
            self.rows.problem.look_back(block.row(i), &block.info(i), block.further(i));
            if place != ABSENT {
                self.rows.push(residents, place, &block.info(i), &self.block_duals[k * width..][..width]);
            }
        }
        self.stop_if_refused()
    }

    /// Dual variables of row `i` of a block whose first row is `first` are the k-th of those that are read now: some rows at a time, in order.
    fn read_some(&mut self, first: u64, rows: usize, i: usize) -> Result<usize, TrainError> {
        let width = self.rows.problem.width();
        let k = i % rows_at_once(width);
        if k == 0 {
            let count = rows_at_once(width).min(rows - i);
            self.duals.read((first + i as u64) * width as u64, count * width, &mut self.block_duals)?;
        }
        Ok(k)
    }

    /// Ends the run if memory had no room for what it has to keep.
    fn stop_if_refused(&mut self) -> Result<(), TrainError> {
        self.rows.problem.refusal().map_or(Ok(()), Err)
    }

    /// Trains on all residents from now on, also on those that came before.
    pub fn enter(&mut self, residents: &Residents) -> Result<(), TrainError> {
        self.phase = Phase::Training;
        if !std::mem::take(&mut self.stale) {
            return Ok(());
        }
        self.rows.clear(self.options.order);
        let width = self.rows.problem.width();
        for (number, &position) in residents.positions.iter().enumerate() {
            if self.wants(&residents.block, number, position) {
                self.duals.read(position * width as u64, width, &mut self.block_duals)?;
                self.rows.push(residents, number as u32, &residents.block.info(number), &self.block_duals);
            }
        }
        self.stop_if_refused()
    }

    /// Residents are there that it has not seen.
    pub fn join_late(&mut self) {
        self.stale = true;
    }

    /// Sweeps over its resident rows, as often as asked for or as long as it pays: rows that come later may undo what is done too well now. Then
    /// writes the dual variables back and looks which rows are worth keeping.
    pub fn solve_step(&mut self, residents: &Residents) -> Result<(), TrainError> {
        self.rows.begin_step();
        match self.options.centre {
            Centre::AfterPass => self.sweep_while_it_pays(residents)?,
            Centre::UntilSolved => self.sweep_until_solved(residents)?,
        }
        self.write_back(residents)?;
        self.rows.score(residents, self.options.selection);
        Ok(())
    }

    fn sweep_while_it_pays(&mut self, residents: &Residents) -> Result<(), TrainError> {
        let most = self.options.rounds.unwrap_or(MOST_ROUNDS);
        let mut first_gain: Option<f64> = None;
        for _ in 0..most {
            let gain = self.sweep(residents)?.gain;
            let pays = gain > ROUND_PAYS * *first_gain.get_or_insert(gain);
            if self.options.rounds.is_none() && !pays {
                break;
            }
        }
        Ok(())
    }

    /// A proximal step that leaves its centre where it is has solved the problem without its proximal term.
    fn sweep_until_solved(&mut self, residents: &Residents) -> Result<(), TrainError> {
        for _ in 0..self.options.rounds.unwrap_or(MOST_SWEEPS_OF_A_BLOCK) {
            self.sweep(residents)?;
            if self.advance() <= SOLVED {
                break;
            }
        }
        Ok(())
    }

    fn sweep(&mut self, residents: &Residents) -> Result<Sweep, TrainError> {
        let begin = Instant::now();
        let sweep = self.rows.sweep(residents);
        self.cost.solve_seconds += begin.elapsed().as_secs_f64();
        self.cost.sweeps += 1;
        self.cost.visits += sweep.visits;
        if !self.is_proximal() {
            self.dual_objective += sweep.gain;
        }
        // Rows that memory had no room for made do with fewer classes. That is no harm while sweeps still gain by it.
        let gains = sweep.gain > STALLED * self.options.tolerance * self.dual_objective.abs();
        match self.rows.problem.refusal() {
            Some(TrainError::Budget(_)) if gains => Ok(sweep),
            Some(error) => Err(error),
            None => Ok(sweep),
        }
    }

    /// A proximal step has been made: the next one is another problem, in which rows that were left out may matter again. Returns how far it went.
    fn advance(&mut self) -> f64 {
        if !self.is_proximal() {
            return 0.0;
        }
        self.rows.order.begin_step();
        self.rows.problem.advance()
    }

    fn write_back(&mut self, residents: &Residents) -> Result<(), TrainError> {
        let Learner { duals, block_duals: values, rows: ProblemRows { numbers, problem, .. }, .. } = self;
        let width = problem.width();
        let position = |&i: &u32| residents.positions[numbers[i as usize] as usize];
        let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
        if duals.is_on_disk() {
            order.sort_unstable_by_key(position);
        }
        for neighbours in order.chunk_by(|a, b| position(a) + 1 == position(b)) {
            for some in neighbours.chunks(rows_at_once(width)) {
                values.clear();
                some.iter().try_for_each(|&i| problem.duals(i as usize, values))?;
                duals.write(position(&some[0]) * width as u64, values)?;
            }
        }
        Ok(())
    }

    /// Lowers the best rank of each resident to the one that it has here.
    pub fn rank(&self, best: &mut [u32]) {
        self.rows.rank(best);
    }

    /// Just the residents that are marked stay; `numbers` are their new numbers.
    pub fn retain(&mut self, keep: &[bool], numbers: &[u32]) {
        self.rows.retain(keep, numbers);
    }

    /// Every block of a pass has come.
    pub fn end_pass(&mut self, limits: &Limits) -> Result<(), TrainError> {
        match self.phase {
            Phase::Done(_) => Ok(()),
            Phase::Scanning => {
                let gap = self.end_scan();
                self.proximal_steps.note(gap);
                self.phase = match limits.reason_to_stop(self.passes) {
                    _ if gap <= self.options.tolerance => Phase::Done(Status::Converged),
                    Some(status) => Phase::Done(status),
                    None => Phase::Training,
                };
                self.begin_look_back();
                Ok(())
            }
            Phase::Training => self.end_training_pass(limits),
        }
    }

    fn end_training_pass(&mut self, limits: &Limits) -> Result<(), TrainError> {
        if self.cost.visits == 0 {
            return Err(TrainError::NoWeight);
        }
        if self.options.centre == Centre::AfterPass {
            self.advance();
        }
        self.passes += 1;
        self.end_look_back();
        // The estimate is the gap of weights that are a pass old: those of now are hardly worse.
        let is_near = self.gap_estimate.is_some_and(|gap| gap <= self.options.tolerance);
        let stop = limits.reason_to_stop(self.passes).is_some();
        if stop || is_near || (self.is_proximal() && self.proximal_steps.is_due()) {
            return self.begin_scan();
        }
        self.begin_look_back();
        Ok(())
    }

    /// Early passes are far from the end, and not worth another product a row.
    fn begin_look_back(&mut self) {
        let gain = self.dual_objective - self.before;
        self.before = self.dual_objective;
        if self.passes >= 2 || gain < NEAR * self.options.tolerance * self.dual_objective.abs() {
            self.rows.problem.remember();
        }
    }

    fn end_look_back(&mut self) {
        let Some(objective) = self.rows.problem.looked_back() else { return };
        let gap = (objective - self.dual_objective).max(0.0) / objective.abs().max(f64::MIN_POSITIVE);
        self.gap_estimate = Some(gap);
    }

    /// The blocks of the next pass certify what there is. Begins anew where a pass has been broken off.
    pub fn begin_scan(&mut self) -> Result<(), TrainError> {
        if self.is_done() {
            return Ok(());
        }
        self.phase = Phase::Scanning;
        self.rows.problem.forget();
        // Only an intercept asks for them.
        let sums = if self.task.objective.intercept { self.duals.sums()? } else { DualSums::default() };
        self.rows.problem.begin_scan(sums.0);
        Ok(())
    }

    fn scan(&mut self, block: &Block, first: u64) -> Result<(), TrainError> {
        let begin = Instant::now();
        let width = self.rows.problem.width();
        let mut moved = false;
        let mut before = Vec::with_capacity(width);
        for i in 0..block.rows() {
            let k = self.read_some(first, block.rows(), i)?;
            let wanted = self.wants(block, i, first + i as u64);
            let duals = &mut self.block_duals[k * width..][..width];
            if wanted {
                // A start from another objective may lie outside the bounds of this one.
                before.clear();
                before.extend_from_slice(duals);
                self.rows.problem.scan(block.row(i), &block.info(i), block.further(i), duals);
                moved |= duals != before;
            } else {
                moved |= duals.iter().any(|&dual| dual != 0.0);
                duals.fill(0.0);
            }
            if (k + 1) * width == self.block_duals.len() && std::mem::take(&mut moved) {
                self.duals.write((first + (i - k) as u64) * width as u64, &self.block_duals)?;
            }
        }
        self.cost.certify_seconds += begin.elapsed().as_secs_f64();
        Ok(())
    }

    fn end_scan(&mut self) -> f64 {
        let certificate = self.rows.problem.end_scan();
        self.take_certificate(certificate)
    }

    fn take_certificate(&mut self, certificate: Certificate) -> f64 {
        self.dual_objective = certificate.dual_objective;
        self.certificate = Some(certificate);
        certificate.relative_gap()
    }

    fn certify_resident(&mut self, residents: &Residents) -> Result<f64, TrainError> {
        let begin = Instant::now();
        if let Some(certificate) = self.rows.problem.certify(View::new(residents, &self.rows.numbers)) {
            self.cost.certify_seconds += begin.elapsed().as_secs_f64();
            return Ok(self.take_certificate(certificate));
        }
        let mut sums = DualSums::default();
        if self.task.objective.intercept {
            let mut duals = Vec::new();
            for i in 0..self.rows.problem.rows() {
                duals.clear();
                self.rows.problem.duals(i, &mut duals)?;
                duals.iter().for_each(|&dual| sums.add(dual));
            }
        }
        self.rows.problem.begin_scan(sums.0);
        let rows = View::new(residents, &self.rows.numbers);
        for i in 0..self.rows.problem.rows() {
            let slack = self.rows.problem.scan_own(rows.row(i), i);
            self.rows.order.revise(i, slack);
        }
        let gap = self.end_scan();
        self.cost.certify_seconds += begin.elapsed().as_secs_f64();
        Ok(gap)
    }

    /// Everything is resident: sweeps and certifies until it is done, or until `pause` says so after a sweep.
    pub fn run_resident(
        &mut self,
        residents: &Residents,
        limits: &Limits,
        pause: impl Fn() -> bool,
    ) -> Result<(), TrainError> {
        if self.cost.sweeps == 0 && self.begin_resident(residents)? {
            return self.end_resident(residents, Status::Converged);
        }
        while !self.is_done() {
            let mut sweep = self.sweep(residents)?;
            for _ in 1..self.rows.problem.sweeps() {
                sweep = self.sweep(residents)?;
            }
            self.advance();
            // Short sweeps over few rows are parts of a pass. A step by columns is one, however often it goes over its model.
            let passes = match self.by_columns {
                true => self.cost.sweeps,
                false => self.cost.visits / self.rows.problem.rows() as u64,
            };
            if let Some(status) = limits.reason_to_stop(passes) {
                self.certify_resident(residents)?;
                return self.end_resident(residents, status);
            }
            let is_due = match self.is_proximal() {
                true => self.proximal_steps.is_due() || self.by_columns,
                false => self.gains.is_due(&sweep, self.dual_objective),
            };
            if is_due {
                let gap = self.certify_resident(residents)?;
                if gap <= self.options.tolerance {
                    return self.end_resident(residents, Status::Converged);
                }
                self.gains.note(gap);
                self.proximal_steps.note(gap);
            }
            if self.saved.elapsed().as_secs_f64() > SAVE_SECONDS {
                self.write_back(residents)?;
                self.save(Cost::default())?;
            }
            if pause() {
                break;
            }
        }
        Ok(())
    }

    /// Whether it begins at the end.
    fn begin_resident(&mut self, residents: &Residents) -> Result<bool, TrainError> {
        if self.rows.problem.rows() == 0 {
            return Err(TrainError::NoWeight);
        }
        self.rows.begin_step();
        if self.task.start.is_none() {
            return Ok(false);
        }
        // The first scan sums up w; only the second one tells how good it is.
        if self.must_sum() {
            self.certify_resident(residents)?;
        }
        Ok(self.certify_resident(residents)? <= self.options.tolerance)
    }

    fn end_resident(&mut self, residents: &Residents, status: Status) -> Result<(), TrainError> {
        self.write_back(residents)?;
        self.save(Cost::default())?;
        self.phase = Phase::Done(status);
        self.rows.clear(self.options.order);
        Ok(())
    }

    /// Keeps the state of the run on disk; `shared` is what all models together have cost.
    pub fn save(&mut self, shared: Cost) -> Result<(), TrainError> {
        if let Some(file) = &self.task.checkpoint {
            let cost = self.cost.with(&shared);
            file.save(&self.task.objective, cost, &self.duals, self.rows.problem.to_save())?;
        }
        self.saved = Instant::now();
        Ok(())
    }

    /// The weights as they are.
    pub fn weights(&self) -> &[f64] {
        self.rows.problem.weights()
    }

    /// What came of it.
    pub fn into_trained(mut self, shared: Cost) -> Result<Trained, TrainError> {
        let (Some(certificate), Phase::Done(status)) = (self.certificate, self.phase) else {
            return Err(TrainError::NoWeight);
        };
        let sums = self.rows.problem.sums();
        let mut weights = self.rows.problem.into_weights();
        weights.iter_mut().for_each(|w| *w *= certificate.multiple);
        let cost = self.cost.with(&shared);
        Ok(Trained {
            weights,
            duals: self.duals,
            sums,
            status,
            certificate,
            cost,
            by_columns: self.by_columns,
            baseline: None,
        })
    }
}
