//! The Hessian of some rows, for losses whose second derivatives all change with every step.
//!
//! ```text
//! M = diag(ρ) + Σ over a sample of θ̂ x xᵀ + diag(what all rows have more on the diagonal)
//! ```
//! Where a Hessian takes as long as many gradients, that of a part of the rows is worth nearly as much (sub-sampled
//! Newton methods, Roosta-Khorasani and Mahoney 2019), and what it lacks shows in how gradients change
//! (quasi_newton.rs). A row is drawn for each T = Σθ/m of the running sum of θ (systematic sampling, Madow 1949), and has
//! the weight T; rows with θ ≥ T are all there as they are. A column that few rows have may be missing in a sample: with
//! the diagonal of all rows M never takes it for free.
use super::equations::Equations;
use super::one_output::Quadratic;
use super::scanning::Rows;
use crate::engine::TrainError;

/// The first sample costs about as much as this many gradients.
const FIRST_PRICE: f64 = 4.0;
/// It has at least this many rows for each weight.
const ROWS_PER_WEIGHT: f64 = 2.0;
/// A sample of more than this part of the rows is all of them.
const MOST_PART: f64 = 0.5;
/// By how much samples grow where one has been too small.
const GROWTH: f64 = 2.0;

/// How large samples are.
pub struct Sampled {
    /// How many gradients the Hessian of all rows costs.
    price: f64,
    /// By how much samples are larger than the first one.
    times: f64,
}

impl Sampled {
    /// Bytes of memory for this many weights.
    pub fn bytes(size: u64) -> u64 {
        8 * size
    }

    /// A Hessian of all rows costs as much as `price` gradients.
    pub fn new(price: f64) -> Self {
        Sampled { price, times: 1.0 }
    }

    /// Other rows follow.
    pub fn forget(&mut self) {
        self.times = 1.0;
    }

    /// The last sample was too small.
    pub fn grow(&mut self) {
        self.times *= GROWTH;
    }

    /// The next Hessian is that of all rows.
    pub fn take_all(&mut self) {
        self.times = f64::INFINITY;
    }

    /// The part of so many rows that the next sample has, for this many weights; nothing where that is all of them.
    pub fn part(&self, rows: usize, size: usize) -> Option<f64> {
        let first = (FIRST_PRICE / self.price).max(ROWS_PER_WEIGHT * size as f64 / rows.max(1) as f64);
        Some(self.times * first).filter(|part| *part <= MOST_PART)
    }

    /// Makes `equations` those of `part` of the rows, drawn by the second derivatives that `second` says, of row
    /// number, target and weight, and factors them.
    pub fn factor<R: Rows>(
        part: f64,
        (equations, quadratic): (&mut Equations, Quadratic),
        rows: &mut R,
        second: impl Fn(usize, (f64, f64)) -> f64,
    ) -> Result<(), TrainError> {
        let (mut count, mut sum, last) = (0.0, 0.0, quadratic.ridge.len() - 1);
        rows.scan(|i, _, y, c| {
            count += 1.0;
            sum += second(i, (y, c));
        })?;
        let share = sum / (part * count);
        let (mut running, mut diagonal) = (0.0, vec![0.0; last + 1]);
        equations.begin(quadratic);
        rows.scan(|i, row, y, c| {
            let theta = second(i, (y, c));
            if theta <= 0.0 {
                return;
            }
            row.for_each(|j, x| diagonal[j as usize] += theta * x * x);
            diagonal[last] += theta * quadratic.bias * quadratic.bias;
            if theta >= share {
                return equations.add(i, row, quadratic.bias, theta);
            }
            running += theta;
            if running >= share {
                running -= share;
                equations.add(i, row, quadratic.bias, share);
            }
        })?;
        equations.flush();
        for (j, (more, ridge)) in diagonal.iter_mut().zip(quadratic.ridge).enumerate() {
            *more = (*more - equations.diagonal(j)).max(0.0) + ridge;
        }
        equations.factor(&diagonal, rows.watch())
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
        /// Columns in other units, one that a single row has, and second derivatives that differ by 1e6: where
        /// the sample lacks a column, its curvature is that of all rows.
        #[test]
        fn no_column_is_taken_for_free(
            rows in proptest::collection::vec(proptest::collection::vec(-3.0..3.0f64, 4), 100..300),
            sizes in proptest::collection::vec(0.0..6.0f64, 300),
            unit in -3i32..4,
            part in 0.05..0.5f64,
        ) {
            let mut rows = Plain(rows);
            for (i, row) in rows.0.iter_mut().enumerate() {
                row[0] *= 10f64.powi(unit);
                row[3] = if i == 17 { 50.0 } else { 0.0 };
            }
            let thetas: Vec<f64> = sizes.iter().map(|size| 10f64.powf(-size)).collect();
            let quadratic = Quadratic { ridge: &[1.0; 5], shift: &[0.0; 5], bias: 1.0, constant: 0.0, proximal: None };
            let mut equations = Equations::new(5, Way::Exact { len: 5.0 });
            Sampled::factor(part, (&mut equations, quadratic), &mut rows, |i, _| thetas[i]).unwrap();
            let mut alone = [0.0, 0.0, 0.0, 1.0, 0.0];
            equations.solve_as_before(&mut alone);
            let exact = 1.0 / (1.0 + thetas[17] * 2500.0);
            prop_assert!(alone[3] > 0.0 && alone[3] <= 1.0 + 1e-9, "{}", alone[3]);
            if equations.diagonal(3) == 0.0 {
                prop_assert!((alone[3] - exact).abs() <= 1e-9, "the row is not in the sample: {} {exact}", alone[3]);
            }
            for j in 0..5 {
                let whole: f64 = rows.0.iter().zip(&thetas).map(|(row, theta)| theta * row.get(j).unwrap_or(&1.0).powi(2)).sum();
                let mut step = [0.0; 5];
                step[j] = 1.0;
                let mut out = step;
                equations.solve_as_before(&mut out);
                prop_assert!(out[j] >= (1.0 - 1e-9) / (1.0 + whole + equations.diagonal(j)), "{j} {} {whole}", out[j]);
            }
        }
    }

    #[test]
    fn all_rows_of_equal_curvature_are_drawn_evenly() {
        let mut rows = Plain((0..1000).map(|i| vec![f64::from(i % 7) - 3.0, 1.0]).collect());
        let quadratic = Quadratic { ridge: &[1.0; 3], shift: &[0.0; 3], bias: 0.0, constant: 0.0, proximal: None };
        let mut equations = Equations::new(3, Way::Exact { len: 3.0 });
        Sampled::factor(0.1, (&mut equations, quadratic), &mut rows, |_, _| 2.0).unwrap();
        assert!((equations.diagonal(1) - 2000.0).abs() <= 20.0, "{}", equations.diagonal(1));
        assert!((equations.diagonal(0) / 8000.0 - 1.0).abs() < 0.05, "{}", equations.diagonal(0));
    }

    #[test]
    fn samples_grow_to_all_rows() {
        let mut sampled = Sampled::new(40.0);
        assert_eq!(sampled.part(60_000, 100), Some(0.1));
        assert_eq!(sampled.part(60_000, 6_000), Some(0.2));
        sampled.grow();
        assert_eq!(sampled.part(60_000, 100), Some(0.2));
        sampled.take_all();
        assert_eq!(sampled.part(60_000, 100), None);
        sampled.forget();
        assert_eq!((sampled.part(60_000, 100), sampled.part(100, 100)), (Some(0.1), None));
    }
}
