//! Scaling features while packing: to [0, 1], or by their standard deviation.
//!
//! Zeros are not stored, yet they count: a feature that is absent from some row has 0 among its values. Where [0, 1]
//! moves that 0 (a feature with negative values), the rows without it get the value that 0 becomes, so that the map is
//! the same for every row.
use crate::budget::{Budget, BudgetError, Reservation};
use crate::input::RowBatch;
use crate::store::features::Scaling;
use crate::store::manifest::Scale;

/// What scaling needs to know of each feature: least and largest value, or sum and sum of squares.
pub struct Statistics {
    scale: Scale,
    pairs: Vec<(f64, f64)>,
    paid: Reservation,
}

impl Statistics {
    /// Nothing seen yet.
    pub fn new(scale: Scale, budget: &Budget) -> Result<Self, BudgetError> {
        Ok(Statistics { scale, pairs: Vec::new(), paid: budget.reserve("feature statistics", 0)? })
    }

    /// Notes the values of a batch whose keys are ids below `features`.
    pub fn add(&mut self, batch: &RowBatch, features: usize) -> Result<(), BudgetError> {
        let start = match self.scale {
            Scale::Minmax => (f64::INFINITY, f64::NEG_INFINITY),
            Scale::Standard => (0.0, 0.0),
            Scale::None | Scale::Rows | Scale::Auto => return Ok(()),
        };
        if features > self.pairs.capacity() {
            let room = features + features / 2;
            // A large array is moved by the system, not copied.
            self.paid.resize(room as u64 * 16)?;
            self.pairs.reserve_exact(room - self.pairs.len());
        }
        self.pairs.resize(features, start);
        for (&id, &value) in batch.keys.iter().zip(&batch.values) {
            let pair = &mut self.pairs[id as usize];
            *pair = match self.scale {
                Scale::Minmax => (pair.0.min(value), pair.1.max(value)),
                _ => (pair.0 + value, pair.1 + value * value),
            };
        }
        Ok(())
    }

    /// How feature `id` is scaled when it was present in `count` of `rows` rows.
    pub fn scaling(&self, id: usize, count: u64, rows: u64) -> Scaling {
        let Some(&(a, b)) = self.pairs.get(id) else { return Scaling { shift: 0.0, factor: 1.0 } };
        match self.scale {
            Scale::Minmax => {
                let (min, max) = if count < rows { (a.min(0.0), b.max(0.0)) } else { (a, b) };
                Scaling { shift: min, factor: if max > min { 1.0 / (max - min) } else { 1.0 } }
            }
            _ => {
                if !b.is_finite() {
                    // The squares were too large to add: the caller refuses what is not a number.
                    return Scaling { shift: 0.0, factor: f64::NAN };
                }
                let n = rows.max(1) as f64;
                let variance = (b / n - (a / n) * (a / n)).max(0.0);
                let deviation = variance.sqrt();
                // A constant feature has no deviation (up to rounding) and stays as it is.
                let constant = variance <= 1e-12 * (b / n);
                Scaling { shift: 0.0, factor: if constant { 1.0 } else { 1.0 / deviation } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as (id, value) pairs, scaled by hand and by the statistics.
    fn scaling(scale: Scale, rows: &[&[(u64, f64)]]) -> Vec<Scaling> {
        let mut batch = RowBatch::default();
        for row in rows {
            row.iter().for_each(|&(id, value)| {
                batch.keys.push(id);
                batch.values.push(value);
            });
            batch.end_row(0.0);
        }
        let mut statistics = Statistics::new(scale, &Budget::unlimited()).unwrap();
        statistics.add(&batch, 2).unwrap();
        let count = |id: u64| batch.keys.iter().filter(|&&k| k == id).count() as u64;
        (0..2).map(|id| statistics.scaling(id as usize, count(id), rows.len() as u64)).collect()
    }

    #[test]
    fn minmax_counts_absent_values_as_zero() {
        let s = scaling(Scale::Minmax, &[&[(0, 2.0), (1, -1.0)], &[(0, 4.0)]]);
        assert_eq!(s[0], Scaling { shift: 2.0, factor: 0.5 });
        assert_eq!(s[1], Scaling { shift: -1.0, factor: 1.0 });
    }

    #[test]
    fn standard_divides_by_the_deviation_with_zeros() {
        let s = scaling(Scale::Standard, &[&[(0, 2.0), (1, 3.0)], &[(1, 3.0)]]);
        assert_eq!(s[0], Scaling { shift: 0.0, factor: 1.0 });
        assert_eq!(s[1], Scaling { shift: 0.0, factor: 1.0 }, "constant");
        let s = scaling(Scale::Standard, &[&[(0, 6.0)], &[(0, 2.0)]]);
        assert_eq!(s[0], Scaling { shift: 0.0, factor: 0.5 });
    }
}
