//! A step of a pass: sweeps over the rows in memory, and where their dual variables go.
use super::Learner;
use crate::engine::duals::rows_at_once;
use crate::engine::problem::rows::ProblemRows;
use crate::engine::{Centre, TrainError};
use crate::residents::Residents;
use crate::solver::Sweep;

/// Sweeps per step, at most, where no number was given: more than three hardly save passes.
const MOST_ROUNDS: u32 = 4;
/// The same until violations are small: LIBLINEAR's own limit.
const MOST_ROUNDS_UNTIL_SETTLED: u32 = 1000;
/// The problem of a block is solved when a proximal step moves w by no more than this part of its norm. Lasso problems
/// of 5,000 rows take some 20 sweeps.
const SOLVED: f64 = 1e-8;
/// Sweeps over a block until then, at most, where no number was given.
const MOST_SWEEPS_OF_A_BLOCK: u32 = 200;
/// Another sweep pays if this one gained more than this part of the first one of the step.
const ROUND_PAYS: f64 = 0.1;
/// A sweep that raised the dual objective by less than this many tolerances leads nowhere.
const STALLED: f64 = 0.01;

impl Learner<'_> {
    /// Sweeps over its resident rows, as often as asked for or as long as it pays: rows that come later may undo what
    /// is done too well now. Then writes the dual variables back and looks which rows are worth keeping.
    pub fn solve_step(&mut self, residents: &Residents) -> Result<(), TrainError> {
        self.rows.begin_step();
        match self.options.centre {
            Centre::AfterPass if self.options.variant.inner_tolerance.is_some() => {
                self.sweep_until_settled(residents)?
            }
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
            let gain = self.first_sweep(residents, first_gain.is_none())?.gain;
            let pays = gain > ROUND_PAYS * *first_gain.get_or_insert(gain);
            if self.options.rounds.is_none() && !pays || self.limits.look().is_some() {
                break;
            }
        }
        Ok(())
    }

    /// A sweep of a step; violations of the first are those of the pass, before the step has done away with them.
    fn first_sweep(&mut self, residents: &Residents, is_first: bool) -> Result<Sweep, TrainError> {
        let sweep = self.sweep(residents)?;
        if is_first {
            self.gradients = self.gradients.with(sweep.gradients);
        }
        Ok(sweep)
    }

    /// Until the rows in memory violate nothing by more than was asked for: the gradient-based stop of the problem of a
    /// block (SBM, section 2.1).
    fn sweep_until_settled(&mut self, residents: &Residents) -> Result<(), TrainError> {
        let bound = self.options.variant.inner_tolerance.unwrap_or(0.0);
        for round in 0..self.options.rounds.unwrap_or(MOST_ROUNDS_UNTIL_SETTLED) {
            let sweep = self.first_sweep(residents, round == 0)?;
            if self.rows.order.is_settled(sweep.gradients, bound) || self.limits.look().is_some() {
                break;
            }
        }
        Ok(())
    }

    /// A proximal step that leaves its centre where it is has solved the problem without its proximal term.
    fn sweep_until_solved(&mut self, residents: &Residents) -> Result<(), TrainError> {
        for _ in 0..self.options.rounds.unwrap_or(MOST_SWEEPS_OF_A_BLOCK) {
            self.sweep(residents)?;
            if self.advance() <= SOLVED || self.limits.look().is_some() {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn sweep(&mut self, residents: &Residents) -> Result<Sweep, TrainError> {
        let begin = self.limits.seconds();
        let variant = &self.options.variant;
        let wants_gradients = variant.violation.is_some() || variant.inner_tolerance.is_some();
        let sweep = self.rows.sweep(residents, self.limits.watch(), wants_gradients);
        self.cost.solve_seconds += self.limits.seconds() - begin;
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

    /// A proximal step has been made: the next one is another problem, in which rows that were left out may matter
    /// again. Returns how far it went.
    pub(super) fn advance(&mut self) -> f64 {
        if !self.is_proximal() {
            return 0.0;
        }
        self.rows.order.begin_step();
        self.rows.problem.advance()
    }

    pub(super) fn write_back(&mut self, residents: &Residents) -> Result<(), TrainError> {
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
}
