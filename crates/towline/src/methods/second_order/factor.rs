//! The Cholesky factor of `G + diag(ridge)`, scaled so that columns in metres and in millimetres are the same to it.
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, MatMut, MatRef, Par};

use super::gram::Gram;
use crate::engine::{TrainError, Watch};

/// What is added to the unit diagonal where the matrix is singular, at first, and by how much it grows if that is not
/// enough.
const JITTER: (f64, f64) = (1e-14, 100.0);
/// Corrections of a solution by what it leaves over.
const REFINEMENTS: usize = 2;
/// Larger matrices are factored some columns at a time, and the limits of the run are looked at in between: after about
/// this many multiplications.
const WORK: usize = 1 << 28;
/// Columns at a time, at least and at most.
const COLUMNS: (usize, usize) = (16, 256);

/// `S (G + diag(ridge)) S = L Lᵀ` with S such that the diagonal is 1.
pub struct Factor {
    size: usize,
    scale: Vec<f64>,
    lower: Vec<f64>,
    /// What was added to the unit diagonal.
    jitter: f64,
    /// The next one is factored here.
    memory: MemBuffer,
    residual: Vec<f64>,
}

impl Factor {
    /// Bytes of memory for this many columns.
    pub fn bytes(size: u64) -> u64 {
        let scratch = cholesky_in_place_scratch::<f64>(size as usize, Par::Seq, Default::default());
        8 * size.saturating_mul(size + 3) + scratch.size_bytes() as u64
    }

    /// Room for matrices of this size.
    pub fn new(size: usize) -> Self {
        let scratch = cholesky_in_place_scratch::<f64>(size, Par::Seq, Default::default());
        let (scale, lower, residual) = (vec![1.0; size], vec![0.0; size * size], vec![0.0; size]);
        Factor { size, scale, lower, jitter: 0.0, memory: MemBuffer::new(scratch), residual }
    }

    /// Columns of the matrix.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Factors `G + diag(ridge)`. A column of zeros without a ridge is left alone: its part of every solution is 0.
    /// `watch` says when the run has to end.
    pub fn find(&mut self, gram: &Gram, ridge: &[f64], watch: Option<&Watch>) -> Result<(), TrainError> {
        let size = self.size;
        for (i, (scale, ridge)) in self.scale.iter_mut().zip(ridge).enumerate() {
            let diagonal = gram.at(i, i) + ridge;
            *scale = if diagonal > 0.0 { 1.0 / diagonal.sqrt() } else { 0.0 };
        }
        let mut jitter = 0.0;
        while !self.try_with(gram, jitter, watch)? {
            jitter = if jitter == 0.0 { JITTER.0 } else { jitter * JITTER.1 };
            if jitter > 1.0 || jitter.is_nan() {
                // Only where something is no number: a step along the diagonal, which ends the run in an orderly way.
                self.lower.fill(0.0);
                (0..size).for_each(|i| self.lower[i * size + i] = 1.0);
                break;
            }
        }
        self.jitter = jitter;
        Ok(())
    }

    /// Whether the matrix that was factored is singular, up to rounding: then it has many solutions, or none.
    pub fn is_singular(&self) -> bool {
        let least = (0..self.size).map(|i| self.lower[i * self.size + i]).fold(f64::INFINITY, f64::min);
        self.jitter > 0.0 || least * least <= 8.0 * f64::EPSILON * self.size as f64
    }

    fn try_with(&mut self, gram: &Gram, jitter: f64, watch: Option<&Watch>) -> Result<bool, TrainError> {
        let size = self.size;
        for i in 0..size {
            let (from, to) = (&gram.lower()[i * size..][..i], &mut self.lower[i * size..][..=i]);
            let scale = self.scale[i];
            to[..i].iter_mut().zip(from).zip(&self.scale).for_each(|((to, g), other)| *to = scale * g * other);
            // The ridge is in the scale: what is left is 1.
            to[i] = 1.0 + jitter;
        }
        Ok(self.factor_in_place(watch)? && (0..size).all(|i| self.lower[i * size + i].is_finite()))
    }

    /// Some columns after the others: `L₁₁L₁₁ᵀ = A₁₁`, `L₂₁ = A₂₁L₁₁⁻ᵀ`, and the rest is `A₂₂ - L₂₁L₂₁ᵀ`. False if the
    /// matrix is not positive definite.
    fn factor_in_place(&mut self, watch: Option<&Watch>) -> Result<bool, TrainError> {
        let size = self.size;
        let columns = (WORK / (size * size).max(1)).clamp(COLUMNS.0, COLUMNS.1);
        let mut rest = MatMut::from_row_major_slice_mut(&mut self.lower, size, size);
        while rest.nrows() > 0 {
            watch.map_or(Ok(()), Watch::check)?;
            let columns = if size <= 2 * COLUMNS.1 { size } else { columns.min(rest.nrows()) };
            let (mut corner, _, mut below, mut others) = rest.split_at_mut(columns, columns);
            let memory = MemStack::new(&mut self.memory);
            let done = cholesky_in_place(corner.as_mut(), Default::default(), Par::Seq, memory, Default::default());
            if done.is_err() {
                return Ok(false);
            }
            solve_lower_triangular_in_place(corner.as_ref(), below.as_mut().transpose_mut(), Par::Seq);
            matmul(
                others.as_mut(),
                BlockStructure::TriangularLower,
                Accum::Add,
                below.as_ref(),
                BlockStructure::Rectangular,
                below.as_ref().transpose(),
                BlockStructure::Rectangular,
                -1.0,
                Par::Seq,
            );
            rest = others;
        }
        Ok(true)
    }

    /// Row i of L without the scale, for a diagonal of the matrix whose root is `root`.
    pub fn unscaled(&self, i: usize, root: f64) -> impl Iterator<Item = f64> {
        let line = &self.lower[i * self.size..][..self.size];
        line.iter().enumerate().map(move |(j, &x)| if j <= i { root * x } else { 0.0 })
    }

    /// Vectors u with `Σ uuᵀ` the inverse of the matrix: what its column j has of each, from place `j * size` on. Those
    /// before the j-th are 0 there.
    pub fn inverse_roots(&self, roots: &mut [f64]) {
        let size = self.size;
        roots.fill(0.0);
        (0..size).for_each(|j| roots[j * size + j] = self.scale[j]);
        let lower = MatRef::from_row_major_slice(&self.lower, size, size);
        let columns = MatMut::from_column_major_slice_mut(roots, size, size);
        solve_lower_triangular_in_place(lower, columns, Par::Seq);
    }

    /// Replaces `rhs` by the solution for the factor itself.
    pub fn solve_once(&self, rhs: &mut [f64]) {
        let size = self.size;
        rhs.iter_mut().zip(&self.scale).for_each(|(x, scale)| *x *= scale);
        let lower = MatRef::from_row_major_slice(&self.lower, size, size);
        let mut x = MatMut::from_column_major_slice_mut(rhs, size, 1);
        solve_lower_triangular_in_place(lower, x.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(lower.transpose(), x.as_mut(), Par::Seq);
        rhs.iter_mut().zip(&self.scale).for_each(|(x, scale)| *x *= scale);
    }

    /// Replaces `rhs` by the solution for the matrix that was factored, refined with the matrix itself.
    pub fn solve(&mut self, gram: &Gram, ridge: &[f64], rhs: &mut [f64]) {
        let wanted = rhs.to_vec();
        self.solve_once(rhs);
        let mut residual = std::mem::take(&mut self.residual);
        let mut before = f64::INFINITY;
        for _ in 0..REFINEMENTS {
            gram.product(ridge, rhs, &mut residual);
            residual.iter_mut().zip(&wanted).for_each(|(r, b)| *r = b - *r);
            self.solve_once(&mut residual);
            let squares = residual.iter().zip(&self.scale).map(|(r, s)| if *s > 0.0 { (r / s).powi(2) } else { 0.0 });
            let size: f64 = squares.sum();
            // A correction that is not smaller than the last one is noise.
            if size.is_nan() || size >= 0.25 * before {
                break;
            }
            before = size;
            rhs.iter_mut().zip(&residual).for_each(|(x, r)| *x += r);
        }
        self.residual = residual;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Row;
    use proptest::prelude::*;

    proptest! {
        /// Columns from 1e-6 to 1e6, twice the same column, and a column of zeros.
        #[test]
        fn solutions_solve(rows in proptest::collection::vec(proptest::collection::vec(-1.0..1.0f64, 4), 8..40), seed in 0i32..13) {
            let mut gram = Gram::new(6, 6.0);
            let scales = [10f64.powi(seed - 6), 1.0, 10f64.powi(6 - seed), 1e-3];
            for row in &rows {
                let mut x: Vec<f64> = row.iter().zip(scales).map(|(x, s)| x * s).collect();
                x.push(x[1]);
                gram.add(Row::dense(&x), &[0.0], 1.0);
            }
            gram.flush();
            for ridge in [[1.0, 1.0, 1.0, 1.0, 1.0, 0.0], [0.0; 6]] {
                let mut factor = Factor::new(6);
                factor.find(&gram, &ridge, None).unwrap();
                let x = [1.0, 2.0, -1.0, 0.5, 2.0, 0.0];
                let mut b = [0.0; 6];
                gram.product(&ridge, &x, &mut b);
                let mut found = b;
                factor.solve(&gram, &ridge, &mut found);
                let mut again = [0.0; 6];
                gram.product(&ridge, &found, &mut again);
                for i in 0..6 {
                    let scale = (gram.at(i, i) + ridge[i]).sqrt() * 10.0;
                    prop_assert!((again[i] - b[i]).abs() <= 1e-7 * (b[i].abs() + scale), "{found:?} {again:?} {b:?}");
                }
                prop_assert_eq!(found[5], 0.0);
            }
        }
    }
}
