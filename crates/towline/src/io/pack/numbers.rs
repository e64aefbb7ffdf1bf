//! The numbers of a table: how large they are, what stands for an absent one, and how they are scaled.
//!
//! With a free intercept, subtracting the mean of a feature changes nothing but the intercept: w·(x - μ) + b is
//! w·x + (b - w·μ), and b is not penalised. So a feature is centred only where that takes no room, because most of its
//! values are not 0 anyway; others are divided by their deviation alone. Either way the model is that of standardized
//! features.
use super::quantiles::Quantiles;
use crate::budget::{Budget, BudgetError};
use crate::input::RowBatch;
use crate::input::libsvm::Precision;
use crate::schema::{ImputeBy, Schema};
use crate::store::features::Scaling;

/// What was seen of a feature that is a number. Values are taken relative to the first one, so that squares of dates
/// and of other large numbers do not drown their differences.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    pivot: f64,
    /// Values other than 0.
    count: u64,
    sum: f64,
    squares: f64,
    /// Rows in which it was absent.
    absent: u64,
}

/// What a feature becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The mean of all rows that have it.
    pub mean: f64,
    /// How it is scaled.
    pub scaling: Scaling,
}

/// Statistics of the numbers of a table, in its order. They are as few as its columns.
#[derive(Debug, Default)]
pub struct Numbers {
    names: Vec<String>,
    seen: Vec<Seen>,
    /// Numbers of which more than the mean is wanted, by place.
    quantiles: Vec<(usize, Quantiles)>,
}

/// Where at least this part of the values is not 0, a feature is centred.
const DENSE: f64 = 0.5;

impl Numbers {
    /// Looks which of the numbers that a batch brings will be imputed by more than their mean.
    pub fn expect(&mut self, batch: &RowBatch, schema: &Schema, budget: &Budget) -> Result<(), BudgetError> {
        for slot in self.names.len()..batch.numbers {
            let is_it = |name: String| name.as_bytes() == batch.names.get(slot);
            let column = schema.columns.iter().find(|column| column.number_feature().is_some_and(is_it));
            let by = column.filter(|column| column.impute.is_none()).map(|column| column.impute_by);
            if matches!(by, Some(ImputeBy::Median | ImputeBy::MostFrequent)) {
                self.quantiles.push((slot, Quantiles::new(budget)?));
            }
        }
        Ok(())
    }

    /// Notes a batch whose keys are still places in its list of names.
    pub fn add(&mut self, batch: &RowBatch) -> Result<(), BudgetError> {
        for slot in self.seen.len()..batch.numbers {
            self.names.push(String::from_utf8_lossy(batch.names.get(slot)).into_owned());
            self.seen.push(Seen::default());
        }
        for (&key, &value) in batch.keys.iter().zip(&batch.values) {
            if (key as usize) < batch.numbers {
                let seen = &mut self.seen[key as usize];
                if seen.count == 0 {
                    seen.pivot = value;
                }
                let from_pivot = value - seen.pivot;
                seen.count += 1;
                seen.sum += from_pivot;
                seen.squares += from_pivot * from_pivot;
            }
        }
        for (seen, &absent) in self.seen.iter_mut().zip(&batch.absent) {
            seen.absent += absent;
        }
        for (slot, quantiles) in &mut self.quantiles {
            let of_slot = batch.keys.iter().zip(&batch.values).filter(|(key, _)| **key == *slot as u64);
            of_slot.into_iter().try_for_each(|(_, &value)| quantiles.add(value))?;
        }
        Ok(())
    }

    /// What stands for the number with place `slot` where it is absent, after `rows` rows; none if that is not its mean,
    /// and there are too many different ones to say.
    pub fn imputed(&self, slot: usize, by: ImputeBy, rows: u64, mean: f64, precision: Precision) -> Option<f64> {
        let Some((_, quantiles)) = self.quantiles.iter().find(|(of, _)| *of == slot) else { return Some(mean) };
        let seen = self.seen.get(slot).copied().unwrap_or_default();
        let zeros = rows.saturating_sub(seen.absent + seen.count);
        match by {
            ImputeBy::Median => Some(precision.round(quantiles.median(zeros))),
            ImputeBy::MostFrequent => quantiles.most_frequent(zeros).map(|value| precision.round(value)),
            _ => Some(mean),
        }
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the number with place `slot` is 0 in some of `rows` rows.
    pub fn has_zeros(&self, slot: usize, rows: u64) -> bool {
        self.seen.get(slot).is_none_or(|seen| seen.count + seen.absent < rows)
    }

    /// What the number with place `slot` becomes, if `scaled`, after `rows` rows.
    pub fn number(&self, slot: usize, rows: u64, scaled: bool, precision: Precision) -> Number {
        let seen = self.seen.get(slot).copied().unwrap_or_default();
        let present = rows.saturating_sub(seen.absent).max(1) as f64;
        let zeros = (present - seen.count as f64).max(0.0);
        let from_pivot = (seen.sum - zeros * seen.pivot) / present;
        let variance = ((seen.squares + zeros * seen.pivot * seen.pivot) / present - from_pivot * from_pivot).max(0.0);
        // As values are kept, so that an absent number is exactly 0 once it is centred.
        let mean = precision.round(seen.pivot + from_pivot);
        if !mean.is_finite() {
            return Number { mean: 0.0, scaling: Scaling::NONE };
        }
        let is_constant = variance <= 1e-24 * (mean * mean + variance);
        let factor = if is_constant { 1.0 } else { 1.0 / variance.sqrt() };
        if !scaled || !factor.is_finite() || factor <= 0.0 {
            return Number { mean, scaling: Scaling::NONE };
        }
        let is_dense = seen.count as f64 >= DENSE * present;
        Number { mean, scaling: Scaling { shift: if is_dense { mean } else { 0.0 }, factor } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn batch(column: &[Option<f64>]) -> RowBatch {
        let mut batch = RowBatch { numbers: 1, absent: vec![0], ..RowBatch::default() };
        batch.names.intern(b"x");
        for cell in column {
            match cell {
                None => batch.absent[0] += 1,
                Some(0.0) => {}
                Some(value) => {
                    batch.keys.push(0);
                    batch.values.push(*value);
                }
            }
            batch.end_row(0.0);
        }
        batch
    }

    proptest! {
        #[test]
        fn mean_and_deviation_are_those_of_the_definition(
            cells in proptest::collection::vec(proptest::option::weighted(0.8, prop_oneof![Just(0.0), -5.0..5.0]), 2..60),
            offset in prop_oneof![Just(0.0), Just(1e6)],
        ) {
            let cells: Vec<Option<f64>> = cells.iter().map(|cell| cell.map(|value| value + offset)).collect();
            let present: Vec<f64> = cells.iter().copied().flatten().collect();
            prop_assume!(!present.is_empty());
            let mut numbers = Numbers::default();
            for part in cells.chunks(7) {
                numbers.add(&batch(part)).unwrap();
            }
            let n = present.len() as f64;
            let mean = present.iter().sum::<f64>() / n;
            let deviation = (present.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt();
            let found = numbers.number(0, cells.len() as u64, true, Precision::F64);
            prop_assert!((found.mean - mean).abs() <= 1e-9 * (1.0 + mean.abs()));
            prop_assume!(deviation > 1e-3);
            prop_assert!((1.0 / found.scaling.factor - deviation).abs() <= 1e-6 * deviation, "{found:?} {deviation}");
            let zeros = present.iter().filter(|value| **value == 0.0).count();
            let is_centred = 2 * (present.len() - zeros) >= present.len();
            prop_assert_eq!(found.scaling.shift, if is_centred { found.mean } else { 0.0 });
        }
    }

    #[test]
    fn constants_and_what_was_never_seen() {
        let mut numbers = Numbers::default();
        numbers.add(&batch(&[Some(7.0), Some(7.0), None])).unwrap();
        let constant = numbers.number(0, 3, true, Precision::F32);
        assert_eq!(constant, Number { mean: 7.0, scaling: Scaling { shift: 7.0, factor: 1.0 } });
        assert_eq!(numbers.number(0, 3, false, Precision::F32), Number { mean: 7.0, scaling: Scaling::NONE });
        assert_eq!(numbers.number(5, 3, true, Precision::F32).mean, 0.0);
        let mut huge = Numbers::default();
        huge.add(&batch(&[Some(1e300), Some(-1e300)])).unwrap();
        assert_eq!(huge.number(0, 2, true, Precision::F64).scaling, Scaling::NONE, "squares overflow");
    }
}
