//! When a run should look how far it is.
use crate::solver::Sweep;

/// The next certificate comes about when the gap is expected to reach the tolerance, judging by its fall so far. The
/// gains of sweeps, which tell that for ½‖w‖², are gains of a series of other problems here.
pub struct ProximalSchedule {
    tolerance: f64,
    /// Proximal steps so far.
    steps: u64,
    /// The step and the gap of the last certificate.
    last: Option<(u64, f64)>,
    due: u64,
}

/// Steps before the first certificate.
const FIRST: u64 = 3;

/// How fast the logarithm of the gap is taken to fall in a step before that is known: by half an order of magnitude.
const FIRST_RATE: f64 = 1.15;

impl ProximalSchedule {
    /// Nothing is known yet, except perhaps that the optimum is near.
    pub fn new(tolerance: f64, is_near: bool) -> Self {
        ProximalSchedule { tolerance, steps: 0, last: None, due: if is_near { 1 } else { FIRST } }
    }

    /// Another step has been made: is a certificate worth its scan?
    pub fn is_due(&mut self) -> bool {
        self.steps += 1;
        self.steps >= self.due
    }

    /// A certificate has found this gap.
    pub fn note(&mut self, gap: f64) {
        let rate = match self.last {
            Some((last, last_gap)) if gap < last_gap => (last_gap / gap).ln() / (self.steps - last).max(1) as f64,
            Some(_) => f64::INFINITY,
            None => FIRST_RATE,
        };
        let steps = (gap / self.tolerance).ln() / rate * 0.8;
        self.last = Some((self.steps, gap));
        // Between an eighth and a half of what was done so far: predictions may be wrong, and a certificate costs as
        // much as a sweep.
        self.due = self.steps + (steps as u64).clamp(1 + self.steps / 8, 2 + self.steps / 2);
    }
}

/// For ½‖w‖² where blocks come and go. A pass also finds the gap of the weights with which it began, and those of its
/// end are better: by as much, about, as it gained less than the pass before it. A scan at its end is worth it where
/// that says that the gap is reached, and where another pass would cost more.
pub struct PassSchedule {
    tolerance: f64,
    /// What the last pass gained.
    gain: Option<f64>,
    /// The gap that is expected now, and by how much the last expectation was too low.
    expected: Option<f64>,
    correction: f64,
}

/// A pass is taken to close no more of the gap than all but this part of it.
const LEAST_LEFT: f64 = 0.01;
/// A scan looks at every row once. A pass has to visit this many times as many rows to cost more: it also moves them.
const DEAR: u64 = 2;

impl PassSchedule {
    /// Nothing is known yet.
    pub fn new(tolerance: f64) -> Self {
        PassSchedule { tolerance, gain: None, expected: None, correction: 1.0 }
    }

    /// A pass has ended with this gain and so many visits of so many rows; `gap` is that of the weights with which it
    /// began, if it is known. Is a certificate worth its scan?
    pub fn is_due(&mut self, gain: f64, gap: Option<f64>, visits: u64, rows: u64) -> bool {
        let before = self.gain.replace(gain).filter(|&before| before > 0.0);
        let left = before.map_or(1.0, |before| (gain / before).clamp(LEAST_LEFT, 1.0));
        self.expected = gap.map(|gap| gap * left);
        let is_reached = gap.is_some_and(|gap| gap <= self.tolerance);
        let is_likely = self.expected.is_some_and(|expected| expected * self.correction <= self.tolerance);
        is_reached || is_likely && visits >= DEAR * rows
    }

    /// A certificate has found this gap.
    pub fn note(&mut self, gap: f64) {
        if let Some(expected) = self.expected.take() {
            self.correction = (gap / expected.max(f64::MIN_POSITIVE)).clamp(1.0, 1.0 / LEAST_LEFT);
        }
    }
}

/// For ½‖w‖², where gains of sweeps add up. A certificate costs about as much as a sweep over all rows, so it should
/// come when the gap has reached the tolerance, and besides only when the rows that were left out have to be looked at
/// again.
pub struct GainSchedule {
    tolerance: f64,
    /// What the sweep before the last certificate gained, as a part of the dual objective, per gap that was found then.
    gain_per_gap: Option<f64>,
    /// The relative gain and the violation of the last sweep, and the violation at the last certificate.
    gain: f64,
    violation: f64,
    certified_violation: f64,
    sweeps_since: u32,
}

/// Rows that were left out are looked at again when the violation of the others has fallen to this part.
const SETTLED: f64 = 0.1;
/// However wrong the prediction is, a certificate comes after this many sweeps.
const MOST_SWEEPS: u32 = 50;

impl GainSchedule {
    /// Nothing is known yet.
    pub fn new(tolerance: f64) -> Self {
        GainSchedule {
            tolerance,
            gain_per_gap: None,
            gain: f64::INFINITY,
            violation: f64::INFINITY,
            certified_violation: f64::INFINITY,
            sweeps_since: 0,
        }
    }

    /// A sweep has been made: is a certificate worth its scan?
    pub fn is_due(&mut self, sweep: &Sweep, dual_objective: f64) -> bool {
        self.gain = sweep.gain / dual_objective.abs().max(f64::MIN_POSITIVE);
        self.violation = sweep.violation;
        self.sweeps_since += 1;
        if self.certified_violation.is_infinite() {
            // What all rows violate once the first moves are made.
            self.certified_violation = sweep.violation;
        }
        // Without a certificate to judge by, the gap is taken for ten times what a sweep still gains.
        let gain_per_gap = self.gain_per_gap.unwrap_or(0.1);
        self.gain <= gain_per_gap * self.tolerance
            || self.violation <= SETTLED * self.certified_violation
            || self.sweeps_since >= MOST_SWEEPS
    }

    /// A certificate has found this gap.
    pub fn note(&mut self, gap: f64) {
        // At most a factor of four is believed: gains of single sweeps scatter.
        let found = self.gain / gap.max(f64::MIN_POSITIVE);
        let before = self.gain_per_gap.unwrap_or(0.1);
        self.gain_per_gap = Some(found.clamp(before / 4.0, before * 4.0).max(1e-6));
        self.certified_violation = self.violation;
        self.sweeps_since = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_certified_when_its_own_gap_is_likely_to_be_small_enough() {
        let mut schedule = PassSchedule::new(1e-3);
        assert!(!schedule.is_due(100.0, None, 400, 100));
        assert!(!schedule.is_due(50.0, Some(0.1), 400, 100), "half of the gap is left");
        // A tenth of the gap is left, which is enough where a pass costs more than a scan.
        let mut cheap = PassSchedule::new(1e-3);
        cheap.is_due(50.0, Some(0.1), 400, 100);
        assert!(!cheap.is_due(5.0, Some(5e-3), 150, 100) && schedule.is_due(5.0, Some(5e-3), 400, 100));
        // It was not: the next one has to be as much better.
        schedule.note(4e-3);
        assert!(!schedule.is_due(0.5, Some(4e-3), 400, 100) && schedule.is_due(0.25, Some(2e-4), 400, 100));
        assert!(cheap.is_due(5.0, Some(9e-4), 0, 100), "the gap is known");
    }
}
