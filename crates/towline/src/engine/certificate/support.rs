//! How many rows are support vectors.
//!
//! Coordinate descent leaves all other dual variables at 0. An interior point leaves a trace of every one: what counts
//! is how large β/c is against the largest of them, which is far below 1 where classes can be separated.
use crate::loss::Loss;

/// Dual variables of less than 2^-20, about a millionth, of the largest are a trace.
const OCTAVES: usize = 20;
/// The same as a number.
const TRACE: f64 = 1.0 / (1u64 << OCTAVES) as f64;

/// Counts rows by the power of two of β/c.
#[derive(Clone, Copy, Debug, Default)]
pub struct SupportCount {
    /// The largest exponent so far, biased as in the bits of a number.
    top: u64,
    /// Rows of this exponent, of one less, and so on.
    counts: [u64; OCTAVES],
    /// Rows between their bounds; none where a row has several dual variables.
    unbounded: u64,
    rows: u64,
}

impl SupportCount {
    /// Adds a row of weight `c` with this dual variable, and sees whether a bound holds it.
    #[inline]
    pub fn add_row<L: Loss>(&mut self, loss: L, y: f64, beta: f64, c: f64) {
        self.add(beta, c);
        let (low, high) = loss.dual_bounds(y, c);
        self.rows += 1;
        // An interior point comes only near to its bounds.
        let trace = TRACE * c;
        self.unbounded += u64::from(beta.abs() > trace && beta > low + trace && beta < high - trace);
    }

    /// Support vectors between their bounds.
    pub fn unbounded(&self) -> u64 {
        self.unbounded
    }

    /// The same, if rows have been asked.
    pub fn counted_unbounded(&self) -> Option<u64> {
        (self.rows > 0).then_some(self.unbounded)
    }

    /// Adds a row of weight `c` with this dual variable, or the sum of the sizes of several.
    #[inline]
    pub fn add(&mut self, beta: f64, c: f64) {
        let exponent = (beta / c).abs().to_bits() >> 52;
        // Numbers without an exponent are 0, up to rounding.
        if exponent == 0 {
            return;
        }
        self.raise(exponent);
        if let Some(count) = self.counts.get_mut((self.top - exponent) as usize) {
            *count += 1;
        }
    }

    /// The largest exponent is at least this one.
    fn raise(&mut self, exponent: u64) {
        if exponent > self.top {
            let shift = (exponent - self.top).min(OCTAVES as u64) as usize;
            self.counts.copy_within(..OCTAVES - shift, shift);
            self.counts[..shift].fill(0);
            self.top = exponent;
        }
    }

    /// These rows and others.
    pub fn with(mut self, mut others: SupportCount) -> SupportCount {
        self.raise(others.top);
        others.raise(self.top);
        self.counts.iter_mut().zip(others.counts).for_each(|(count, other)| *count += other);
        self.unbounded += others.unbounded;
        self.rows += others.rows;
        self
    }

    /// The support vectors among the rows.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn traces_are_left_out_whatever_the_largest_is() {
        for largest in [1.0, 1e-9, 1e9] {
            let mut support = SupportCount::default();
            [1e-9, -0.5, 0.0, 1.0, -1e-3, 1e-7].iter().for_each(|beta| support.add(beta * largest, 1.0));
            assert_eq!(support.count(), 3, "{largest}");
        }
    }

    proptest! {
        #[test]
        fn the_order_of_rows_does_not_matter(exponents in proptest::collection::vec(-40..5i32, 0..50)) {
            let count = |exponents: &mut dyn Iterator<Item = i32>| {
                let mut support = SupportCount::default();
                exponents.for_each(|exponent| support.add(2f64.powi(exponent), 1.0));
                support.count()
            };
            let top = exponents.iter().copied().max().unwrap_or(0);
            let exact = exponents.iter().filter(|&&exponent| exponent > top - OCTAVES as i32).count() as u64;
            prop_assert_eq!(count(&mut exponents.iter().copied()), exact);
            prop_assert_eq!(count(&mut exponents.iter().rev().copied()), exact);
            let half = |rows: &[i32]| {
                let mut support = SupportCount::default();
                rows.iter().for_each(|&exponent| support.add(2f64.powi(exponent), 1.0));
                support
            };
            let (first, second) = exponents.split_at(exponents.len() / 2);
            prop_assert_eq!(half(first).with(half(second)).count(), exact);
        }
    }
}
