//! Whether coordinate descent will end sooner than another solver would.
//!
//! Work is counted in sweeps over all rows and not in seconds, so that a run does the same whatever else the machine
//! has to do.

/// The part of the other solver's work after which a run is judged.
const FIRST_JUDGEMENT: f64 = 0.2;
/// A run whose gap is still this part of the objective is judged earlier, after this part of the other's work: it has
/// hardly moved.
const STANDSTILL: (f64, f64) = (0.95, 0.05);
/// Between two looks at the gap goes this part of it, at most.
const LOOK: f64 = 0.05;

/// Gaps that certificates have found, and after how many sweeps.
pub struct Progress {
    patience: Option<f64>,
    tolerance: f64,
    gaps: Vec<(f64, f64)>,
}

impl Progress {
    /// Nothing is known yet; the other solver takes as long as `patience` sweeps.
    pub fn new(patience: Option<f64>, tolerance: f64) -> Self {
        Progress { patience, tolerance, gaps: Vec::new() }
    }

    /// Whether another certificate is due after so many sweeps, to judge by.
    pub fn is_due(&self, sweeps: f64) -> bool {
        let last = self.gaps.last().map_or(0.0, |last| last.0);
        self.patience.is_some_and(|patience| sweeps >= last + (LOOK * patience).max(1.0))
    }

    /// A certificate has found this gap. True if the other solver would end sooner, judging by how the logarithm of the
    /// gap has fallen over the second half of the sweeps.
    pub fn is_hopeless(&mut self, sweeps: f64, gap: f64) -> bool {
        self.gaps.push((sweeps, gap));
        let Some(patience) = self.patience else { return false };
        if gap >= STANDSTILL.0 && sweeps >= STANDSTILL.1 * patience {
            return true;
        }
        if sweeps < FIRST_JUDGEMENT * patience {
            return false;
        }
        let half = self.gaps.iter().rev().find(|(when, _)| *when <= 0.5 * sweeps).or(self.gaps.first());
        let Some(&(when, before)) = half.filter(|(when, _)| *when < sweeps) else { return false };
        let rate = (before / gap).ln() / (sweeps - when);
        let rest = (gap / self.tolerance).ln() / rate;
        rate <= 0.0 || rest > patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_stands_still_is_given_up_and_a_fast_one_is_not() {
        let mut slow = Progress::new(Some(100.0), 1e-3);
        assert!(slow.is_due(6.0) && !slow.is_hopeless(6.0, 0.9) && !slow.is_due(7.0));
        assert!(!slow.is_hopeless(15.0, 0.89), "too early to tell");
        assert!(slow.is_hopeless(25.0, 0.88));
        let mut still = Progress::new(Some(100.0), 1e-3);
        assert!(!still.is_hopeless(4.0, 1.0) && still.is_hopeless(6.0, 0.99));
        let mut fast = Progress::new(Some(100.0), 1e-3);
        // An order of magnitude in ten sweeps.
        assert!((1..6).all(|k| !fast.is_hopeless(10.0 * f64::from(k), 10f64.powi(-k))));
        let mut alone = Progress::new(None, 1e-3);
        assert!(!alone.is_due(1e9) && !alone.is_hopeless(1.0, 1.0) && !alone.is_hopeless(1e9, 1.0));
    }
}
