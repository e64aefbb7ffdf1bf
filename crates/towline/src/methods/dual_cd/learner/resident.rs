//! A model all rows of which are in memory: it sweeps and certifies by itself until it is done.
use super::Learner;
use crate::engine::certificate::Certificate;
use crate::engine::duals::DualSums;
use crate::engine::{Cost, Status, TrainError};
use crate::methods::dual_cd::learner::Phase;
use crate::residents::{Residents, View};
use crate::solver::Sweep;

/// Values of rows that are scanned between two looks at the limits: some ten milliseconds.
const SCAN_VALUES: u64 = 1 << 23;
/// Rows, at most.
const SCAN_ROWS: u64 = 1 << 13;

impl Learner<'_> {
    /// The gap, by a scan; infinite if there was no time for that. With one vector of weights there always is: those of
    /// the last certificate are gone, and without another one so is all that was learnt.
    fn certify_resident(&mut self, residents: &Residents) -> Result<f64, TrainError> {
        let may_end = self.rows.problem.can_look_back();
        let begin = self.limits.seconds();
        if let Some(certificate) = self.rows.problem.certify(View::new(residents, &self.rows.numbers)) {
            return Ok(self.note_certificate(certificate, begin));
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
        let some = (SCAN_VALUES / self.rows.work_of_a_row(residents)).clamp(1, SCAN_ROWS) as usize;
        let mut slacks = Vec::new();
        for first in (0..self.rows.problem.rows()).step_by(some) {
            if may_end && self.limits.watch().goes_on(true).is_err() {
                return Ok(f64::INFINITY);
            }
            let end = (first + some).min(self.rows.problem.rows());
            slacks.clear();
            self.rows.problem.scan_own_rows(rows, first..end, &mut slacks);
            (first..end).zip(&slacks).for_each(|(i, &slack)| self.rows.order.revise(i, slack));
        }
        let certificate = self.rows.problem.end_scan();
        Ok(self.note_certificate(certificate, begin))
    }

    fn note_certificate(&mut self, certificate: Certificate, begin: f64) -> f64 {
        let seconds = self.limits.seconds() - begin;
        self.cost.certify_seconds += seconds;
        self.certified = (self.cost.visits, seconds);
        self.moved = false;
        // The last certificate takes as long, and has to be a part of the time.
        self.limits.watch().reserve(seconds);
        self.take_certificate(certificate)
    }

    /// The run has to end: finds out how good the weights are if there is time for that, goes back to those of the last
    /// certificate if there is not, and to none at all where there is no certificate.
    fn certify_in_time(&mut self, residents: &Residents) -> Result<(), TrainError> {
        if self.must_sum() && self.certificate.is_none() {
            // The first scan sums up w, and is no certificate of it.
            self.certify_resident(residents)?;
            self.certificate = None;
        }
        let is_same = self.certified.0 == self.cost.visits || self.is_proximal() && !self.moved;
        let is_known = self.certificate.is_some() && is_same;
        let is_time = !self.rows.problem.can_look_back() || self.limits.watch().has_time_for(self.certified.1);
        if is_known || is_time && self.certify_resident(residents)?.is_finite() || self.rows.problem.go_back() {
            return Ok(());
        }
        let cost = |&number: &u32| {
            let (block, i) = (&residents.block, number as usize);
            self.rows.problem.at_zero(&block.info(i), block.further(i))
        };
        let objective = self.rows.numbers.iter().map(cost).sum();
        // No loss is less than 0, and neither is the optimum.
        let of_zero =
            Certificate { objective, dual_objective: 0.0, multiple: 0.0, support: 0, ..Certificate::default() };
        self.take_certificate(of_zero);
        Ok(())
    }

    /// Everything is resident: sweeps and certifies until it is done, or until `pause` says so after a sweep.
    pub fn run_resident(&mut self, residents: &Residents, pause: impl Fn() -> bool) -> Result<(), TrainError> {
        // A model that was done at its beginning has let go of its rows.
        if !self.is_done() && self.cost.sweeps == 0 && self.begin_resident(residents)? {
            return self.end_resident(residents, Status::Converged);
        }
        while !self.is_done() {
            let (before, begin) = (self.cost.visits, self.limits.seconds());
            let mut sweep = self.sweep(residents)?;
            if self.certified.1 == 0.0 && sweep.visits >= self.rows.problem.rows() as u64 {
                // A scan takes at most as long, until there has been one.
                self.limits.watch().reserve(self.limits.seconds() - begin);
            }
            let sweeps = self.options.variant.inner_passes.unwrap_or_else(|| self.rows.problem.sweeps());
            for _ in 1..sweeps {
                if self.limits.look().is_some() {
                    break;
                }
                sweep = self.sweep(residents)?;
            }
            // Without a visit there is nothing to go on from, and a certificate may stay what it is. So it may where a
            // proximal step was cut short.
            let is_cut = self.limits.look().is_some() && self.certificate.is_some() && !self.moved;
            if self.cost.visits > before && !is_cut {
                self.advance();
                self.moved = true;
            }
            // Short sweeps over few rows are parts of a pass. A step by columns is one, however often it goes over its
            // model.
            let passes = match self.by_columns {
                true => self.cost.sweeps,
                false => self.cost.visits / self.rows.problem.rows() as u64,
            };
            if self.has_settled(&sweep) {
                self.certify_resident(residents)?;
                return self.end_resident(residents, Status::Converged);
            }
            if let Some(status) = self.limits.reason_to_stop(passes) {
                self.certify_in_time(residents)?;
                return self.end_resident(residents, status);
            }
            let is_due = match self.is_proximal() {
                _ if self.options.variant.violation.is_some() => false,
                true => self.proximal_steps.is_due() || self.by_columns,
                false => self.gains.is_due(&sweep, self.dual_objective),
            };
            let sweeps = self.cost.visits as f64 / self.rows.problem.rows().max(1) as f64;
            if is_due || self.progress.is_due(sweeps) {
                let gap = self.certify_resident(residents)?;
                if gap <= self.options.tolerance {
                    return self.end_resident(residents, Status::Converged);
                }
                if self.progress.is_hopeless(sweeps, gap) {
                    return self.end_resident(residents, Status::OutOfPatience);
                }
                self.gains.note(gap);
                self.proximal_steps.note(gap);
            }
            if self.saving.is_due() {
                self.write_back(residents)?;
                self.save(Cost::default())?;
            }
            if pause() {
                break;
            }
        }
        Ok(())
    }

    /// Whether the run ends by violations, and the sweep has met none that matters.
    fn has_settled(&mut self, sweep: &Sweep) -> bool {
        let Some(bound) = self.options.variant.violation else { return false };
        self.violation = Some(sweep.gradients.violation());
        self.limits.look().is_none() && self.rows.order.is_settled(sweep.gradients, bound)
    }

    /// Whether it begins at the end.
    fn begin_resident(&mut self, residents: &Residents) -> Result<bool, TrainError> {
        if self.rows.problem.rows() == 0 {
            return Err(TrainError::NoWeight);
        }
        self.rows.begin_step();
        if self.task.start.is_none() || self.limits.look().is_some() {
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
}
