//! What a stream takes at least.
//!
//! Text, rows and the window of packed data are known before anything is read. Features are not: weights grow with
//! them. So a budget in which nothing could begin is refused with one that is likely to last to the end, judged by how
//! fast features come in the beginning of the file.
use std::collections::HashSet;

use crate::budget::{Budget, BudgetError};
use crate::data::hashing::hashed_name;
use crate::input::text::TextLimits;
use crate::input::{self, Input, Progress, ReadOptions, RowBatch, unpacking_bytes};
use crate::stream::{StreamClasses, StreamOptions};

/// What text and rows of a stream take, at least.
const LEAST_BYTES: u64 = 4 << 20;
/// The beginning of a table, by which its columns are judged, and some rows.
const HEAD_AND_ROWS_BYTES: u64 = (1 << 20) + (3 << 19);
/// A feature beside its weights: its number or hash, in a table that has just doubled, beside the one before it.
const FEATURE_BYTES: u64 = 80;
/// A look at the beginning of a file may take this much memory. The run is refused by then, so that nothing else is
/// held.
const LOOK_BYTES: u64 = 12 << 20;
/// It ends after this many bytes of the file, or this many features.
const LOOK_FILE_BYTES: u64 = 1 << 20;
const LOOK_FEATURES: usize = 1 << 16;
/// Bits of the hash by which names are distinguished in it.
const NAME_BITS: u32 = 40;

/// Threads that read: fewer where their pieces of text would take more than a quarter of what is free.
pub(super) fn threads(wanted: usize, budget: &Budget) -> usize {
    let fits = |threads: &usize| TextLimits::least_bytes(*threads) <= budget.free_bytes() / 4;
    (1..=wanted).rev().find(fits).unwrap_or(1)
}

/// Refuses a budget in which a stream of `input` cannot begin.
pub(super) fn check(
    input: &Input,
    reading: &ReadOptions,
    options: &StreamOptions,
    budget: &Budget,
) -> Result<(), BudgetError> {
    let fixed = LEAST_BYTES.max(TextLimits::least_bytes(reading.threads) + HEAD_AND_ROWS_BYTES);
    let free = budget.free_bytes();
    if fixed + unpacking_bytes(input, free) <= free {
        return Ok(());
    }
    // Text takes a quarter, and of the rest three eighths are for rows: features and weights grow into what is left.
    let wanted = fixed + growing_bytes(input, reading, options) / 15 * 32;
    // Where more is free, packed data takes a part of that.
    let mut least = wanted;
    for _ in 0..8 {
        least = wanted + unpacking_bytes(input, least);
    }
    Err(budget.refusal("a stream", least, budget.held_bytes()))
}

/// What the features of `input` are likely to take with their weights.
fn growing_bytes(input: &Input, reading: &ReadOptions, options: &StreamOptions) -> u64 {
    let mut look = Look::default();
    let features = match options.hash_bits {
        // A few rows tell of classes only.
        Some(bits) => {
            look.read(input, reading);
            1 << bits
        }
        None => look.read(input, reading).unwrap_or(0),
    };
    let (outputs, width) = (look.classes.outputs(options) as u64, look.classes.width(options) as u64);
    features * (FEATURE_BYTES + 8 * (2 * outputs + width.max(3)))
}

/// What the beginning of a file has.
#[derive(Default)]
struct Look {
    features: HashSet<u64>,
    classes: StreamClasses,
    /// Bytes of the file that were read by then, and features, after each batch.
    growth: Vec<(u64, usize)>,
}

impl Look {
    /// Reads the beginning, and says how many features the whole file is likely to have. None of what cannot be read
    /// again, or not within the memory of a look.
    fn read(&mut self, input: &Input, reading: &ReadOptions) -> Option<u64> {
        let Input::File(_) = input else { return None };
        let total = input.size_bytes()?;
        let (budget, progress) = (Budget::new(LOOK_BYTES), Progress::new(Some(total)));
        let reading = ReadOptions { threads: 1, ..reading.clone() };
        let ahead = TextLimits::for_budget(&budget, 1).ahead_bytes();
        let mut source = input::open(std::slice::from_ref(input), &reading, &budget, &progress).ok()?;
        let (mut batch, mut row_classes) = (RowBatch::default(), Vec::new());
        while source.next_batch(&mut batch).ok()? {
            match batch.names.is_empty() {
                true => self.features.extend(&batch.keys),
                false => self.features.extend(batch.names.iter().map(|name| hashed_name(name, NAME_BITS))),
            }
            self.classes.resolve(&batch, &mut row_classes);
            // What is read ahead of the rows has brought no features yet. How much that is depends on threads; this is
            // the most.
            let bytes = progress.read_bytes().saturating_sub(ahead).max(progress.read_bytes() / 2);
            self.growth.push((bytes, self.features.len()));
            if progress.read_bytes() > LOOK_FILE_BYTES || self.features.len() > LOOK_FEATURES {
                return Some(expected(&self.growth, total));
            }
        }
        Some(self.features.len() as u64)
    }
}

/// Features of `total` bytes. They grow like a power of what was read (Heaps, Information Retrieval, 1978, section
/// 7.5), which is that of the second half of the beginning.
fn expected(growth: &[(u64, usize)], total: u64) -> u64 {
    let Some(&(bytes, features)) = growth.last() else { return 0 };
    let half = growth.iter().find(|(read, _)| *read >= bytes / 2);
    let power = match half {
        Some(&(read, few)) if read < bytes && few > 0 => {
            ((features as f64 / few as f64).ln() / (bytes as f64 / read as f64).ln()).clamp(0.0, 1.0)
        }
        _ => 1.0,
    };
    (features as f64 * (total as f64 / bytes.max(1) as f64).max(1.0).powf(power)).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_grow_like_a_power() {
        let growth = |power: f64| (1..=10).map(|k| (100 * k, (1000.0 * (k as f64).powf(power)) as usize)).collect();
        for (power, least, most) in [(0.0, 1000, 1000), (0.5, 30_000, 33_000), (1.0, 990_000, 1_000_000)] {
            let growth: Vec<(u64, usize)> = growth(power);
            let found = expected(&growth, 100_000);
            assert!((least..=most).contains(&found), "{power}: {found}");
        }
        // Of a single batch nothing more is known than that it has some.
        assert_eq!((expected(&[(100, 7)], 1000), expected(&[], 1000)), (70, 0));
    }
}
