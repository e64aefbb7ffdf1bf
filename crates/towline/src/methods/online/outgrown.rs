//! A stream has outgrown its budget: what would be enough for the rest of it, as far as can be told.
use super::{StreamClasses, StreamOptions};
use crate::budget::BudgetError;
use crate::input::Progress;

/// A stream has outgrown its budget.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{refused}, for the {rows} rows and {features} features that have come so far")]
pub struct Outgrown {
    /// What was refused. Its least budget is that of the next step only.
    pub refused: BudgetError,
    /// Rows that had come.
    pub rows: u64,
    /// Features that had come.
    pub features: u64,
    /// A budget that is enough for the whole input if new features keep coming as they did; none where the size of the
    /// input is not known.
    pub likely_bytes: Option<u64>,
    /// Hash bits with which the weights fit into the budget as it is.
    pub hash_bits: Option<u32>,
}

/// What is left of the budget for features, weights and models beside rows; they begin with three eighths of it.
const REST: f64 = 5.0 / 8.0;
/// Tables of features double when they are full, and text is read ahead of what was learnt: more than in proportion.
const LEAPS: f64 = 1.25;
/// Part of it that weights may fill; buffers of text are in it, too.
const FILL: f64 = 0.8;

impl Outgrown {
    /// After this many rows and features, `rows_bytes` of the budget being for rows.
    pub fn new(
        refused: BudgetError,
        (rows, features): (u64, u64),
        rows_bytes: u64,
        classes: &StreamClasses,
        options: &StreamOptions,
    ) -> Self {
        // New features become rarer, so that growth in proportion is the worst that is likely, but for leaps.
        let program_bytes = refused.program_bytes;
        let growing = refused.least_bytes.saturating_sub(rows_bytes + program_bytes) as f64;
        let likely_bytes = options
            .progress
            .as_ref()
            .and_then(share_read)
            .map(|share| (LEAPS * growing / share / REST) as u64 + program_bytes);
        // Weights, their mean, and those that grow; as many again may be there while a model is made of them.
        let (outputs, width) = (classes.outputs(options) as u64, classes.width(options) as u64);
        let column_bytes = 8 * (2 * outputs + width.max(3));
        let columns = refused.limit_bytes.saturating_sub(program_bytes) as f64 * REST * FILL / column_bytes as f64;
        let bits = columns.log2().floor();
        let hash_bits = (options.hash_bits.is_none() && bits >= 1.0).then_some((bits as u32).min(31));
        // Less than what the next step needs is not enough.
        let likely_bytes = likely_bytes.map(|bytes| bytes.max(refused.least_bytes));
        Outgrown { refused, rows, features, likely_bytes, hash_bits }
    }
}

/// The part of the input that has been read, where its size is known.
fn share_read(progress: &Progress) -> Option<f64> {
    let total = progress.total_bytes.filter(|&total| total > 0)?;
    Some((progress.read_bytes() as f64 / total as f64).clamp(1e-6, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{AnyLoss, Hinge};

    fn outgrown(read: Option<u64>) -> Outgrown {
        let progress = Progress::new(read.map(|_| 1000));
        progress.add(read.unwrap_or(5));
        let refused = BudgetError {
            purpose: "weights",
            wanted_bytes: 300,
            free_bytes: 100,
            limit_bytes: 1 << 20,
            least_bytes: 1 << 21,
            program_bytes: 0,
        };
        let options = StreamOptions { progress: Some(progress), ..StreamOptions::new(AnyLoss::Hinge(Hinge), 1.0) };
        Outgrown::new(refused, (10, 20), 1 << 20, &StreamClasses::default(), &options)
    }

    #[test]
    fn what_grows_is_expected_to_grow_in_proportion() {
        // One MiB for features after a quarter is four for all, and rows take three eighths of the whole.
        assert_eq!(outgrown(Some(250)).likely_bytes, Some((LEAPS * (4 << 20) as f64 / REST) as u64));
        // Never less than the next step needs, which in the end is two MiB.
        assert_eq!(outgrown(Some(1000)).likely_bytes, Some(1 << 21));
        assert_eq!(outgrown(None).likely_bytes, None);
        // Five numbers of 8 bytes a column.
        let bits = outgrown(None).hash_bits.unwrap();
        assert!(40 << bits <= (1 << 20) * 5 / 8 && 40 << (bits + 2) > (1 << 20) * 5 / 8, "{bits}");
    }
}
