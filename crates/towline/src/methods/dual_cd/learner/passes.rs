//! What the end of a pass over the blocks means for a model: whether it trains on the next one, certifies itself on it,
//! or is done.
use super::{Learner, Phase};
use crate::block::Block;
use crate::engine::certificate::Certificate;
use crate::engine::duals::{DualSums, rows_at_once};
use crate::engine::{Centre, Status, TrainError};

/// A pass that raised the dual objective by less than this many tolerances may be one of the last.
const NEAR: f64 = 10.0;

impl Learner<'_> {
    /// Every block of a pass has come.
    pub fn end_pass(&mut self) -> Result<(), TrainError> {
        match self.phase {
            Phase::Done(_) => Ok(()),
            Phase::Scanning => {
                let was_sum = std::mem::take(&mut self.is_summing);
                let gap = self.end_scan();
                if was_sum && gap > self.options.tolerance && self.limits.reason_to_stop(self.passes).is_some() {
                    // The certificate is that of w = 0. How good the sum is, the next scan tells.
                    return self.begin_scan();
                }
                self.proximal_steps.note(gap);
                self.pass_gains.note(gap);
                self.phase = match self.limits.reason_to_stop(self.passes) {
                    _ if gap <= self.options.tolerance || self.is_settled => Phase::Done(Status::Converged),
                    Some(status) => Phase::Done(status),
                    None if self.progress.is_hopeless(self.passes as f64, gap) => Phase::Done(Status::OutOfPatience),
                    None => Phase::Training,
                };
                if self.phase == Phase::Training {
                    self.begin_look_back();
                }
                Ok(())
            }
            Phase::Training => self.end_training_pass(),
        }
    }

    fn end_training_pass(&mut self) -> Result<(), TrainError> {
        if self.cost.visits == 0 {
            return Err(TrainError::NoWeight);
        }
        self.passes += 1;
        if self.options.centre == Centre::AfterPass && self.passes.is_multiple_of(u64::from(self.inner_passes())) {
            self.advance();
        }
        self.end_pass_of_gradients();
        self.end_look_back();
        let visits = self.cost.visits - std::mem::replace(&mut self.visits_before, self.cost.visits);
        let gain = self.dual_objective - self.before;
        let is_near = self.pass_gains.is_due(gain, self.gap_estimate, visits, self.store_rows);
        let stop = self.limits.reason_to_stop(self.passes).is_some();
        let is_hopeless = self.gap_estimate.is_some_and(|gap| self.progress.is_hopeless(self.passes as f64, gap));
        let by_schedule = self.is_proximal() || !self.rows.problem.can_look_back();
        if stop || is_near || is_hopeless || self.is_settled || (by_schedule && self.proximal_steps.is_due()) {
            return self.begin_scan();
        }
        self.begin_look_back();
        Ok(())
    }

    /// Passes before the proximal centre moves.
    fn inner_passes(&self) -> u32 {
        self.options.variant.inner_passes.unwrap_or(1).max(1)
    }

    /// Whether the rows of this pass have violated nothing that matters, where the run ends by that.
    fn end_pass_of_gradients(&mut self) {
        let met = std::mem::take(&mut self.gradients);
        if let Some(bound) = self.options.variant.violation {
            self.violation = Some(met.violation());
            self.is_settled = met.violation() < bound;
        }
    }

    /// Early passes are far from the end, and not worth another product a row.
    fn begin_look_back(&mut self) {
        let gain = self.dual_objective - self.before;
        self.before = self.dual_objective;
        let is_by_gap = self.options.variant.violation.is_none();
        if is_by_gap && self.passes >= 2 || gain < NEAR * self.options.tolerance * self.dual_objective.abs() {
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

    pub(super) fn scan(&mut self, block: &Block, first: u64) -> Result<(), TrainError> {
        let begin = self.limits.seconds();
        let width = self.rows.problem.width();
        let (mut wanted, mut before) = (Vec::new(), Vec::new());
        for some in (0..block.rows()).step_by(rows_at_once(width)) {
            let end = (some + rows_at_once(width)).min(block.rows());
            let place = (first + some as u64) * width as u64;
            self.duals.read(place, (end - some) * width, &mut self.block_duals)?;
            before.clone_from(&self.block_duals);
            wanted.clear();
            for i in some..end {
                match self.wants(block, i, first + i as u64) {
                    true => wanted.push(i as u32),
                    false => self.block_duals[(i - some) * width..][..width].fill(0.0),
                }
            }
            self.rows.problem.scan_rows(block, &wanted, some, &mut self.block_duals);
            // A start from another objective may lie outside the bounds of this one.
            if self.block_duals != before {
                self.duals.write(place, &self.block_duals)?;
            }
        }
        self.cost.certify_seconds += self.limits.seconds() - begin;
        Ok(())
    }

    pub(super) fn end_scan(&mut self) -> f64 {
        let certificate = self.rows.problem.end_scan();
        self.take_certificate(certificate)
    }

    pub(super) fn take_certificate(&mut self, certificate: Certificate) -> f64 {
        self.dual_objective = certificate.dual_objective;
        self.certificate = Some(Certificate { violation: self.violation, ..certificate });
        certificate.relative_gap()
    }
}
