//! The median of the numbers of a column, and the one that most rows have, in a fixed amount of memory.
//!
//! Different numbers are counted as long as they are few, and then both are exact. Beyond that the median comes from a sketch of
//! sorted buffers (Manku, Rajagopalan and Lindsay, SIGMOD 1998; KLL without coins): a full buffer of weight w is sorted, and
//! every second of its numbers goes on with weight 2w, the first ones and the second ones by turns. Each level is off by at most half
//! a buffer, so the rank of the median is within a few thousandths of a half of the rows.
use std::collections::BTreeMap;

use crate::budget::{Budget, BudgetError, Reservation};

/// Different numbers that are counted.
const COUNTED: usize = 4096;
/// Numbers of a buffer.
const BUFFER: usize = 2048;
/// Buffers: each has twice the weight of the one before, so no column outgrows them.
const LEVELS: usize = 40;
/// A number with its count in a tree, nodes of which may be half empty.
const COUNT_BYTES: u64 = 48;

/// What was seen of a column.
#[derive(Debug)]
pub struct Quantiles {
    /// Numbers by their order, with how often each was seen; none once there are too many.
    counts: Option<BTreeMap<u64, u64>>,
    levels: Vec<Vec<f64>>,
    /// Which half of a buffer goes on next.
    odd: [bool; LEVELS],
    paid: Reservation,
}

/// Numbers in their order as whole ones: the sign decides first.
fn ordered(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn number(ordered: u64) -> f64 {
    f64::from_bits(if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered })
}

impl Quantiles {
    /// Nothing seen yet.
    pub fn new(budget: &Budget) -> Result<Self, BudgetError> {
        let paid = budget.reserve("numbers of a column", COUNTED as u64 * COUNT_BYTES)?;
        Ok(Quantiles { counts: Some(BTreeMap::new()), levels: Vec::new(), odd: [false; LEVELS], paid })
    }

    /// Another number.
    pub fn add(&mut self, value: f64) -> Result<(), BudgetError> {
        if let Some(counts) = &mut self.counts {
            *counts.entry(ordered(value)).or_default() += 1;
            if counts.len() > COUNTED {
                return self.sketch();
            }
            return Ok(());
        }
        self.push(0, value)
    }

    /// Goes on without counts.
    fn sketch(&mut self) -> Result<(), BudgetError> {
        for (value, count) in self.counts.take().into_iter().flatten() {
            // A count is a sum of powers of two, each of which is a number of that weight.
            for level in (0..LEVELS).filter(|&level| count >> level & 1 == 1) {
                self.push(level, number(value))?;
            }
        }
        self.paid.resize((self.levels.len() * BUFFER * 8) as u64)
    }

    fn push(&mut self, level: usize, value: f64) -> Result<(), BudgetError> {
        while self.levels.len() <= level {
            self.paid.resize(self.paid.bytes() + (BUFFER * 8) as u64)?;
            self.levels.push(Vec::with_capacity(BUFFER));
        }
        self.levels[level].push(value);
        if self.levels[level].len() < BUFFER || level + 1 == LEVELS {
            return Ok(());
        }
        let mut full = std::mem::replace(&mut self.levels[level], Vec::with_capacity(BUFFER));
        full.sort_unstable_by(f64::total_cmp);
        let from = usize::from(self.odd[level]);
        self.odd[level] = !self.odd[level];
        full.into_iter().skip(from).step_by(2).try_for_each(|value| self.push(level + 1, value))
    }

    /// Numbers with their weights in order, and so many zeros among them.
    fn weighted(&self, zeros: u64) -> Vec<(f64, u64)> {
        let mut all: Vec<(f64, u64)> = match &self.counts {
            Some(counts) => counts.iter().map(|(&value, &count)| (number(value), count)).collect(),
            None => {
                let level = |(level, values): (usize, &Vec<f64>)| {
                    values.iter().map(move |&value| (value, 1 << level)).collect::<Vec<_>>()
                };
                self.levels.iter().enumerate().flat_map(level).collect()
            }
        };
        if zeros > 0 {
            all.push((0.0, zeros));
        }
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    /// The median of the numbers and so many zeros; 0 if there are none.
    pub fn median(&self, zeros: u64) -> f64 {
        let all = self.weighted(zeros);
        let total: u64 = all.iter().map(|&(_, weight)| weight).sum();
        let at = |rank: u64| {
            let mut before = 0;
            all.iter().find(|&&(_, weight)| {
                before += weight;
                before > rank
            })
        };
        let middle = [total.saturating_sub(1) / 2, total / 2].map(|rank| at(rank).map_or(0.0, |&(value, _)| value));
        middle[0] / 2.0 + middle[1] / 2.0
    }

    /// The number that most rows have, the least of several; none if there were too many to count.
    pub fn most_frequent(&self, zeros: u64) -> Option<f64> {
        self.counts.as_ref()?;
        let all = self.weighted(zeros);
        let most = all.iter().map(|&(_, weight)| weight).max().unwrap_or(0);
        Some(all.iter().find(|&&(_, weight)| weight == most).map_or(0.0, |&(value, _)| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn quantiles(values: &[f64]) -> Quantiles {
        let mut quantiles = Quantiles::new(&Budget::unlimited()).unwrap();
        values.iter().for_each(|&value| quantiles.add(value).unwrap());
        quantiles
    }

    proptest! {
        #[test]
        fn few_numbers_are_exact(mut values in proptest::collection::vec((-9i32..9).prop_map(f64::from), 1..60)) {
            let nonzero: Vec<f64> = values.iter().copied().filter(|&value| value != 0.0).collect();
            let (found, zeros) = (quantiles(&nonzero), (values.len() - nonzero.len()) as u64);
            values.sort_by(f64::total_cmp);
            let n = values.len();
            prop_assert_eq!(found.median(zeros), (values[(n - 1) / 2] + values[n / 2]) / 2.0);
            let count = |value: f64| values.iter().filter(|&&other| other == value).count();
            let most = values.iter().map(|&value| count(value)).max().unwrap();
            let expected = values.iter().copied().find(|&value| count(value) == most);
            prop_assert_eq!(found.most_frequent(zeros), expected);
        }
    }

    #[test]
    fn many_numbers_are_nearly_exact_in_little_memory() {
        let budget = Budget::new(8 << 20);
        let mut found = Quantiles::new(&budget).unwrap();
        let count = 1_000_003u64;
        // All numbers below a prime, in an order of their own; the median is in the middle.
        (1..count).for_each(|k| found.add((k * 524_287 % count) as f64).unwrap());
        let median = found.median(0);
        assert!((median / count as f64 - 0.5).abs() < 0.004, "{median}");
        assert_eq!(found.most_frequent(0), None);
        assert!(budget.peak_bytes() < 1 << 20);
    }
}
