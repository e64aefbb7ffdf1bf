//! Whether coordinate descent will end sooner than another solver would.
use std::time::Duration;

/// The part of the other solver's time after which a run is judged.
const FIRST_JUDGEMENT: f64 = 0.2;
/// Between two looks at the gap goes this part of it, at most.
const LOOK: f64 = 0.05;

/// Gaps that certificates have found, and when.
pub struct Progress {
    patience: Option<f64>,
    tolerance: f64,
    gaps: Vec<(f64, f64)>,
}

impl Progress {
    /// Nothing is known yet.
    pub fn new(patience: Option<Duration>, tolerance: f64) -> Self {
        Progress { patience: patience.map(|time| time.as_secs_f64()), tolerance, gaps: Vec::new() }
    }

    /// Whether another certificate is due at this time, to judge by.
    pub fn is_due(&self, seconds: f64) -> bool {
        let last = self.gaps.last().map_or(0.0, |last| last.0);
        self.patience.is_some_and(|patience| seconds >= last + LOOK * patience)
    }

    /// A certificate has found this gap. True if the other solver would end sooner, judging by how the logarithm of the gap has fallen over the second half
    /// of the time.
    pub fn is_hopeless(&mut self, seconds: f64, gap: f64) -> bool {
        self.gaps.push((seconds, gap));
        let Some(patience) = self.patience else { return false };
        if seconds < FIRST_JUDGEMENT * patience {
            return false;
        }
        let half = self.gaps.iter().rev().find(|(when, _)| *when <= 0.5 * seconds).or(self.gaps.first());
        let Some(&(when, before)) = half.filter(|(when, _)| *when < seconds) else { return false };
        let rate = (before / gap).ln() / (seconds - when);
        let rest = (gap / self.tolerance).ln() / rate;
        rate <= 0.0 || rest > patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_stands_still_is_given_up_and_a_fast_one_is_not() {
        let patience = Some(Duration::from_secs(10));
        let mut slow = Progress::new(patience, 1e-3);
        assert!(slow.is_due(0.6) && !slow.is_hopeless(0.6, 1.0) && !slow.is_due(0.7));
        assert!(!slow.is_hopeless(1.5, 0.99), "too early to tell");
        assert!(slow.is_hopeless(2.5, 0.98));
        let mut fast = Progress::new(patience, 1e-3);
        // An order of magnitude a second.
        assert!((1..6).all(|k| !fast.is_hopeless(f64::from(k), 10f64.powi(-k))));
        let mut alone = Progress::new(None, 1e-3);
        assert!(!alone.is_due(1e9) && !alone.is_hopeless(1.0, 1.0) && !alone.is_hopeless(1e9, 1.0));
    }
}
