//! How numbers are spread, for several groups of them side by side.
use serde::Serialize;

/// Bins of a histogram.
const BINS: usize = 50;
/// This part of the numbers at either end is not drawn to scale: a few far away would leave one bin for all others.
const TAIL: f64 = 0.002;

/// Counts of numbers by bin and group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Histogram {
    /// Where the first bin begins, and the last one ends.
    pub range: [f64; 2],
    /// What the groups are called.
    pub groups: Vec<String>,
    /// For each group a count for each bin; numbers outside of the range are in the first and the last.
    pub counts: Vec<Vec<u64>>,
}

impl Histogram {
    /// A range that holds nearly all of `count` numbers, of which `sorted(k)` is the k-th from below.
    pub fn range(count: usize, sorted: impl Fn(usize) -> f64) -> [f64; 2] {
        if count == 0 {
            return [0.0, 1.0];
        }
        let tail = (count as f64 * TAIL) as usize;
        let [low, high] = [sorted(tail), sorted(count - 1 - tail)];
        if high > low { [low, high] } else { [low - 0.5, low + 0.5] }
    }

    /// No numbers yet.
    pub fn new(range: [f64; 2], groups: Vec<String>) -> Histogram {
        let counts = vec![vec![0; BINS]; groups.len()];
        Histogram { range, groups, counts }
    }

    /// Adds a number of a group.
    pub fn add(&mut self, number: f64, group: usize) {
        let [low, high] = self.range;
        let bin = ((number - low) / (high - low) * BINS as f64) as usize;
        self.counts[group][bin.min(BINS - 1)] += 1;
    }

    /// The middle of each bin.
    pub fn middles(&self) -> Vec<f64> {
        let [low, high] = self.range;
        (0..BINS).map(|bin| low + (bin as f64 + 0.5) * (high - low) / BINS as f64).collect()
    }
}
