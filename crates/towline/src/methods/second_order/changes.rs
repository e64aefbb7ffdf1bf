//! A Hessian that follows from the one before by the rows whose second derivative has changed.
//!
//! ```text
//! H = diag(ρ) + Σ θ x xᵀ,    H' = H + Σ (θ' - θ) x xᵀ   over rows with θ' ≠ θ
//! ```
//! Second derivatives of losses that are made of parabolas and straight pieces are constant on each of them. From one
//! Newton step to the next some rows in a thousand go from one piece to another (raw MNIST with the squared hinge: 10
//! of 20,000 in most of 80 steps), so that a sum over all rows says nothing new.
use super::equations::Equations;
use super::one_output::Quadratic;
use super::scanning::Rows;
use crate::engine::TrainError;

/// Changes are added where they are at most this part of the rows that have a second derivative.
const FEW: f64 = 0.5;
/// Changes in a row, at most: each of them rounds.
const MOST_TURNS: u32 = 100;
/// What rows that are gone have left of themselves in a sum, as a part of what it was at most.
const ROUNDING: f64 = 1e-14;
/// A column may be wrong by this part of what is left of it.
const WRONG: f64 = 1e-6;

/// The second derivatives that a Hessian is the sum of.
#[derive(Default)]
pub struct Changes {
    /// θ of each row; empty where nothing is known.
    thetas: Vec<f64>,
    /// The largest Σ θx² of each column since the last sum over all rows.
    peaks: Vec<f64>,
    turns: u32,
}

impl Changes {
    /// Bytes of memory for this many weights and rows.
    pub fn bytes(size: u64, rows: u64) -> u64 {
        8 * (size + rows)
    }

    /// Other rows follow.
    pub fn forget(&mut self) {
        self.thetas.clear();
    }

    /// Makes `equations` those of rows with the second derivatives that `second` says, of row number, target and
    /// weight.
    pub fn bring<R: Rows>(
        &mut self,
        equations: &mut Equations,
        part: Quadratic,
        rows: &mut R,
        second: impl Fn(usize, (f64, f64)) -> f64,
    ) -> Result<(), TrainError> {
        // A run that is broken off leaves a sum that is that of no weights.
        let mut thetas = std::mem::take(&mut self.thetas);
        let is_done = self.turns < MOST_TURNS && self.change(&mut thetas, equations, part, rows, &second)?;
        if !is_done {
            equations.begin(part);
            thetas.clear();
            thetas.reserve_exact(rows.most());
            rows.scan(|i, row, y, c| {
                let theta = second(i, (y, c));
                thetas.push(theta);
                if theta > 0.0 {
                    equations.add(i, row, part.bias, theta);
                }
            })?;
            equations.flush();
            self.turns = 0;
            self.peaks.clear();
            self.peaks.extend((0..part.ridge.len()).map(|j| equations.diagonal(j)));
        }
        self.thetas = thetas;
        Ok(())
    }

    /// Adds what has changed, if that is little. False if all rows have to be summed up.
    fn change<R: Rows>(
        &mut self,
        thetas: &mut [f64],
        equations: &mut Equations,
        part: Quadratic,
        rows: &mut R,
        second: &impl Fn(usize, (f64, f64)) -> f64,
    ) -> Result<bool, TrainError> {
        let (mut changed, mut curved) = (0u64, 0u64);
        if thetas.is_empty() {
            return Ok(false);
        }
        rows.scan(|i, _, y, c| {
            let theta = second(i, (y, c));
            changed += u64::from(theta != thetas[i]);
            curved += u64::from(theta > 0.0);
        })?;
        if changed as f64 > FEW * curved as f64 {
            return Ok(false);
        }
        // First what is added: panels are of one sign.
        for is_more in [true, false] {
            rows.scan(|i, row, y, c| {
                let theta = second(i, (y, c));
                if theta != thetas[i] && is_more == (theta > thetas[i]) {
                    equations.change(row, part.bias, theta - thetas[i]);
                    thetas[i] = theta;
                }
            })?;
        }
        equations.flush();
        self.turns += 1;
        self.peaks.iter_mut().enumerate().for_each(|(j, peak)| *peak = peak.max(equations.diagonal(j)));
        let is_exact =
            |(j, peak): (usize, &f64)| ROUNDING * peak <= WRONG * (equations.diagonal(j).max(0.0) + part.ridge[j]);
        Ok(self.peaks.iter().enumerate().all(is_exact))
    }
}

#[cfg(test)]
mod tests {
    use super::super::equations::Way;
    use super::*;
    use crate::block::Row;
    use proptest::prelude::*;

    /// Dense rows with a target and a weight of 1.
    struct Plain(Vec<Vec<f64>>);

    impl Rows for Plain {
        fn scan(&mut self, mut visit: impl FnMut(usize, Row, f64, f64)) -> Result<(), TrainError> {
            self.0.iter().enumerate().for_each(|(i, row)| visit(i, Row::dense(row), 1.0, 1.0));
            Ok(())
        }

        fn most(&self) -> usize {
            self.0.len()
        }
    }

    proptest! {
        /// Rows come and go; a row in large units among them leaves nothing behind. By panels and by outer products.
        #[test]
        fn changes_lead_to_the_sum_of_all_rows(
            rows in proptest::collection::vec(proptest::collection::vec(-3.0..3.0f64, 4), 40..200),
            turns in proptest::collection::vec((0usize..7, 1usize..7), 1..12),
            size in 0i32..10,
            is_dense in any::<bool>(),
        ) {
            let mut rows = Plain(rows);
            rows.0[0].iter_mut().for_each(|x| *x *= 10f64.powi(size));
            let ridge = [1e-3; 5];
            let part = Quadratic { ridge: &ridge, shift: &[0.0; 5], bias: 0.5, constant: 0.0, proximal: None };
            let way = Way::Exact { len: if is_dense { 5.0 } else { 0.1 } };
            let (mut changes, mut equations) = (Changes::default(), Equations::new(5, way));
            for (from, step) in turns {
                let second = |i: usize, _: (f64, f64)| if i >= from && i % (7 * step) != from { 2.0 } else { 0.0 };
                changes.bring(&mut equations, part, &mut rows, second).unwrap();
                let (mut fresh, mut plain) = (Changes::default(), Equations::new(5, way));
                fresh.bring(&mut plain, part, &mut rows, second).unwrap();
                for (j, ridge) in ridge.iter().enumerate() {
                    let (a, b) = (equations.diagonal(j), plain.diagonal(j));
                    prop_assert!((a - b).abs() <= 1e-5 * (b + ridge), "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn few_changes_are_added() {
        let mut rows = Plain((0..100).map(|i| vec![f64::from(i), 1.0]).collect());
        let part = Quadratic { ridge: &[1.0; 3], shift: &[0.0; 3], bias: 0.0, constant: 0.0, proximal: None };
        let (mut changes, mut equations) = (Changes::default(), Equations::new(3, Way::Exact { len: 3.0 }));
        changes.bring(&mut equations, part, &mut rows, |_, _| 1.0).unwrap();
        changes.bring(&mut equations, part, &mut rows, |i, _| f64::from(u32::from(i != 7))).unwrap();
        assert_eq!((changes.turns, equations.diagonal(1)), (1, 99.0));
        changes.bring(&mut equations, part, &mut rows, |i, _| f64::from(u32::from(i < 20))).unwrap();
        assert_eq!((changes.turns, equations.diagonal(1)), (0, 20.0));
    }
}
