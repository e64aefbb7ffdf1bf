//! One model in training: its problem, its dual variables, its rows, and how far it is.
use crate::block::Block;
use crate::budget::Budget;
use crate::engine::certificate::Certificate;
use crate::engine::duals::{Duals, Start, rows_at_once};
use crate::engine::problem::Problem;
use crate::engine::problem::rows::ProblemRows;
use crate::engine::{Cost, Limits, Plan, Saving, Solver, Status, Task, TrainError, TrainOptions, Trained};
use crate::methods::dual_cd::progress::Progress;
use crate::methods::dual_cd::schedule::{GainSchedule, PassSchedule, ProximalSchedule};
use crate::order::Gradients;
use crate::residents::Residents;

mod feature_screening;
mod passes;
mod resident;
mod steps;

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
    limits: Limits<'a>,
    duals: Duals,
    /// Those of some rows of the block at hand.
    block_duals: Vec<f64>,
    /// Steps by columns end with what a certificate needs.
    by_columns: bool,
    /// Rows have become resident while it was not looking.
    stale: bool,
    /// The scan at hand sums up weights from dual variables that were there before.
    is_summing: bool,
    pub phase: Phase,
    pub dual_objective: f64,
    pub gap_estimate: Option<f64>,
    pub certificate: Option<Certificate>,
    /// The violations that the first sweeps of the steps of this pass have met, and whether the last pass has met none
    /// that matters.
    gradients: Gradients,
    is_settled: bool,
    /// The largest violation that the last sweep or pass has met, where the run ends by it.
    pub violation: Option<f64>,
    /// Visits before the last certificate, and the seconds that it took.
    certified: (u64, f64),
    /// Whether a proximal step has changed the weights since.
    moved: bool,
    /// Its own part of the cost: sweeps, visits, and seconds of both kinds of work.
    pub cost: Cost,
    /// The dual objective and the visits when the pass began.
    before: f64,
    visits_before: u64,
    /// Rows of the store.
    store_rows: u64,
    passes: u64,
    gains: GainSchedule,
    pass_gains: PassSchedule,
    proximal_steps: ProximalSchedule,
    progress: Progress,
    saving: Saving<'a>,
}

impl<'a> Learner<'a> {
    /// Begins where the task says.
    pub fn new(
        problem: Box<dyn Problem>,
        task: &'a Task,
        limits: Limits<'a>,
        plan: &Plan,
        rows: u64,
        budget: &Budget,
    ) -> Result<Self, TrainError> {
        let options = limits.options();
        let mut duals = task.no_duals(rows, plan.duals_on_disk, budget)?;
        if let Some(start) = &task.start {
            duals.begin_with(start)?;
        }
        let mut learner = Learner {
            rows: ProblemRows::new(problem, options.order, options.seed),
            task,
            options,
            limits,
            duals,
            block_duals: Vec::new(),
            by_columns: plan.solver == Solver::Columns,
            stale: false,
            is_summing: false,
            phase: Phase::Training,
            dual_objective: 0.0,
            gap_estimate: None,
            certificate: None,
            gradients: Gradients::default(),
            is_settled: false,
            violation: None,
            certified: (0, 0.0),
            moved: false,
            cost: Cost::default(),
            before: 0.0,
            visits_before: 0,
            store_rows: rows,
            passes: 0,
            gains: GainSchedule::new(options.tolerance),
            pass_gains: PassSchedule::new(options.tolerance),
            proximal_steps: ProximalSchedule::new(options.tolerance, matches!(task.start, Some(Start::Left(..)))),
            progress: Progress::new(options.patience, options.tolerance),
            saving: Saving::of(task),
        };
        if learner.must_sum() && !plan.in_memory {
            // Sums up the weights. How good they are shows after the first pass.
            learner.begin_scan()?;
            learner.is_summing = true;
        }
        Ok(learner)
    }

    /// Whether the dual variables to start from have to be summed up first. For ½‖w‖² their dual objective has to be
    /// known, too.
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

    /// Dual variables of row `i` of a block whose first row is `first` are the k-th of those that are read now: some
    /// rows at a time, in order.
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

    /// Lowers the best rank of each resident to the one that it has here.
    pub fn rank(&self, best: &mut [u32]) {
        self.rows.rank(best);
    }

    /// Just the residents that are marked stay; `numbers` are their new numbers.
    pub fn retain(&mut self, keep: &[bool], numbers: &[u32]) {
        self.rows.retain(keep, numbers);
    }

    /// Keeps the state of the run on disk; `shared` is what all models together have cost.
    pub fn save(&mut self, shared: Cost) -> Result<(), TrainError> {
        self.saving.save(self.cost.with(&shared), &self.duals, self.rows.problem.to_save())
    }

    /// Makes what was saved last what another run goes on from.
    pub fn commit(&self) -> Result<(), TrainError> {
        self.saving.commit()
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
        let solver = if self.by_columns { Solver::Columns } else { Solver::Dual };
        let trained = Trained::new(weights, status, certificate, self.cost.with(&shared));
        Ok(trained.with_duals(self.duals).with_sums(sums).by(solver))
    }
}
