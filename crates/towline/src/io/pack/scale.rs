//! Scaling features while packing: to [0, 1], or by their standard deviation.
//!
//! Zeros are not stored, yet they count: a feature that is absent from some row has 0 among its values. Where [0, 1]
//! moves that 0 (a feature with negative values), the rows without it get the value that 0 becomes, so that the map is
//! the same for every row.
use super::PackError;
use crate::budget::{Budget, BudgetError, Reservation};
use crate::input::RowBatch;
use crate::input::libsvm::Precision;
use crate::store::features::Scaling;
use crate::store::manifest::Scale;

/// What is known of a feature: its least and largest value, or sum and sum of squares, or shift and factor.
pub type Pair = (f64, f64);

/// What has to be known of each feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing.
    None,
    /// The least and the largest value.
    Minmax,
    /// Sum and sum of squares.
    Standard,
    /// How it was scaled in older rows, which cannot be scaled again; new features stay as they are.
    AsBefore,
}

impl Rule {
    /// What `scale` has to know; `is_first` where there are no older rows.
    pub fn of(scale: Scale, is_first: bool) -> Rule {
        match (scale, is_first) {
            (Scale::Minmax | Scale::Standard, false) => Rule::AsBefore,
            (Scale::Minmax, true) => Rule::Minmax,
            (Scale::Standard, true) => Rule::Standard,
            (Scale::None | Scale::Rows | Scale::Auto, _) => Rule::None,
        }
    }

    /// Whether features are scaled.
    pub fn is_some(self) -> bool {
        self != Rule::None
    }

    /// Whether the values of all rows have to be seen.
    pub fn sees_values(self) -> bool {
        matches!(self, Rule::Minmax | Rule::Standard)
    }

    /// Before the first value.
    pub fn start(self) -> Pair {
        match self {
            Rule::Minmax => (f64::INFINITY, f64::NEG_INFINITY),
            Rule::None | Rule::Standard => (0.0, 0.0),
            Rule::AsBefore => (0.0, 1.0),
        }
    }

    /// After one more value.
    pub fn add(self, pair: Pair, value: f64) -> Pair {
        match self {
            Rule::Minmax => (pair.0.min(value), pair.1.max(value)),
            Rule::Standard => (pair.0 + value, pair.1 + value * value),
            Rule::None | Rule::AsBefore => pair,
        }
    }

    /// How a feature is scaled that was present in `count` of `rows` rows.
    pub fn scaling(self, (a, b): Pair, count: u64, rows: u64) -> Scaling {
        match self {
            Rule::None => Scaling::NONE,
            Rule::AsBefore => Scaling { shift: a, factor: b },
            Rule::Minmax => {
                let (min, max) = if count < rows { (a.min(0.0), b.max(0.0)) } else { (a, b) };
                Scaling { shift: min, factor: if max > min { 1.0 / (max - min) } else { 1.0 } }
            }
            Rule::Standard => {
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

/// What is known of the features in memory, by id.
pub struct Statistics {
    /// What that is.
    pub rule: Rule,
    pairs: Vec<Pair>,
    paid: Reservation,
}

impl Statistics {
    /// Nothing seen yet.
    pub fn new(rule: Rule, budget: &Budget) -> Result<Self, BudgetError> {
        Ok(Statistics { rule, pairs: Vec::new(), paid: budget.reserve("feature statistics", 0)? })
    }

    /// Makes room for `features` of them. Nothing changes where the budget says no.
    pub fn reserve(&mut self, features: usize) -> Result<(), BudgetError> {
        if features > self.pairs.capacity() {
            let room = features + features / 2;
            // A large array is moved by the system, not copied.
            self.paid.resize(room as u64 * 16)?;
            self.pairs.reserve_exact(room - self.pairs.len());
        }
        if features > self.pairs.len() {
            self.pairs.resize(features, self.rule.start());
        }
        Ok(())
    }

    /// Notes the values of a batch whose keys are ids that there is room for.
    pub fn add(&mut self, batch: &RowBatch) {
        for (&id, &value) in batch.keys.iter().zip(&batch.values) {
            let pair = &mut self.pairs[id as usize];
            *pair = self.rule.add(*pair, value);
        }
    }

    /// Notes how feature `id`, which there is room for, was scaled.
    pub fn set(&mut self, id: u32, Scaling { shift, factor }: Scaling) {
        self.pairs[id as usize] = (shift, factor);
    }

    /// What is known of feature `id`.
    pub fn pair(&self, id: usize) -> Pair {
        self.pairs.get(id).copied().unwrap_or(self.rule.start())
    }

    /// What that takes.
    pub fn held_bytes(&self) -> u64 {
        self.paid.bytes()
    }

    /// Forgets everything.
    pub fn clear(&mut self) -> Result<(), BudgetError> {
        self.pairs = Vec::new();
        self.paid.resize(0)
    }
}

/// A feature that has its column.
pub struct Placed {
    /// The column.
    pub column: u32,
    /// How many rows have it.
    pub count: u32,
    /// What is known of its values.
    pub pair: Pair,
}

/// Decides how features are scaled, and what becomes of absent values: 0, but for few columns.
pub struct Scaler {
    rule: Rule,
    precision: Precision,
    rows: u64,
    /// Values of all rows.
    values: u64,
    fill: Vec<(u32, f64)>,
    /// Columns to fill, of which not all are noted where they are too many.
    filled: u64,
}

/// Filling in what absent values become may make rows this many times longer.
const MOST_FILLED: u64 = 8;

impl Scaler {
    /// For `rows` rows with `values` values in all.
    pub fn new(rule: Rule, precision: Precision, (rows, values): (u64, u64)) -> Self {
        Scaler { rule, precision, rows, values, fill: Vec::new(), filled: 0 }
    }

    /// How a feature is scaled, which is called `name`.
    pub fn scale(&mut self, feature: &Placed, name: impl FnOnce() -> String) -> Result<Scaling, PackError> {
        let scaling = self.rule.scaling(feature.pair, u64::from(feature.count), self.rows);
        let Scaling { shift, factor } = scaling;
        if !factor.is_finite() || factor <= 0.0 {
            return Err(PackError::Mismatch {
                problem: format!(
                    "the values of feature {} are too far apart or too close together to be scaled",
                    name()
                ),
                remedy: "use `scale(rows)`, or scale the data before packing".into(),
            });
        }
        if shift != 0.0 && u64::from(feature.count) < self.rows {
            self.filled += 1;
            if !self.is_too_much() {
                self.fill.push((feature.column, self.precision.round(-shift * factor)));
            }
        }
        Ok(scaling)
    }

    fn is_too_much(&self) -> bool {
        self.filled * self.rows > MOST_FILLED * self.values
    }

    /// What 0 becomes in columns where that is not 0, in column order.
    pub fn fill(mut self) -> Result<Vec<(u32, f64)>, PackError> {
        if self.is_too_much() {
            let (values, filled) = (self.values, self.filled * self.rows);
            return Err(PackError::Mismatch {
                problem: format!(
                    "`scale(minmax)` would turn {values} values into about {filled}: {} features have negative values, \
                     so that 0 moves",
                    self.filled
                ),
                remedy: "use `scale(standard)` or `scale(rows)`, which keep zeros".into(),
            });
        }
        self.fill.sort_unstable_by_key(|&(column, _)| column);
        Ok(self.fill)
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
        let rule = Rule::of(scale, true);
        let mut statistics = Statistics::new(rule, &Budget::unlimited()).unwrap();
        statistics.reserve(2).unwrap();
        statistics.add(&batch);
        let count = |id: u64| batch.keys.iter().filter(|&&k| k == id).count() as u64;
        (0..2).map(|id| rule.scaling(statistics.pair(id as usize), count(id), rows.len() as u64)).collect()
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
