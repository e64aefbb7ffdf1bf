//! `min ½ tr(WᵀAW) - tr(BᵀW) + R(W)` for a matrix in memory and a penalty that binds several weights: group lasso,
//! nuclear norm.
//!
//! R is rounded off less and less, each time by a tenth. Each problem is smooth, and Newton's method solves it; its
//! equations, as many as there are weights, are solved by conjugate gradients with the parabola that touches R for a
//! preconditioner. That is exact but for one direction in each group that is not 0, so that a few iterations are
//! enough, whatever the scale of columns.
use super::gram::Gram;
use super::norms::Rounded;
use crate::engine::{TrainError, Watch};

/// What R is at 0, as a part of F: at first, by how much it falls, and in the end.
const ROUNDING: (f64, f64, f64) = (1e-1, 0.1, 1e-9);
/// F is taken for at least this part of what W = 0 costs.
const LEAST_PART: f64 = 1e-9;
/// Newton steps for each of them, at most.
const MOST_STEPS: usize = 30;
/// Whole steps in the end, and what F is known up to, as a part of what W = 0 costs.
const LAST_STEPS: usize = 4;
const NOISE: f64 = 1e-10;
/// Conjugate gradients for each step, at most.
const MOST_ITERATIONS: usize = 200;
/// A problem is solved when F can fall by no more than this part of the rounding.
const SOLVED: f64 = 1e-2;
/// A system of equations is solved when the residual is this part of what it was.
const RESIDUAL: f64 = 1e-3;

/// The problem; weights of one column lie side by side.
pub struct Problem<'a> {
    /// A.
    pub matrix: &'a Gram,
    /// B, for each output.
    pub linear: &'a [Vec<f64>],
    /// What W = 0 costs.
    pub at_zero: f64,
    /// Says when the run has to end.
    pub watch: &'a Watch,
}

impl Problem<'_> {
    /// `A W`.
    fn product(&self, w: &[f64]) -> Vec<f64> {
        let outputs = self.linear.len();
        let mut out = vec![0.0; w.len()];
        let none = vec![0.0; w.len() / outputs];
        for k in 0..outputs {
            let part: Vec<f64> = w.iter().skip(k).step_by(outputs).copied().collect();
            let mut product = none.clone();
            self.matrix.product(&none, &part, &mut product);
            out.iter_mut().skip(k).step_by(outputs).zip(product).for_each(|(out, x)| *out = x);
        }
        out
    }

    /// B, side by side.
    fn right(&self) -> Vec<f64> {
        let size = self.linear[0].len();
        (0..size).flat_map(|j| self.linear.iter().map(move |of| of[j])).collect()
    }

    /// F at W, less what W = 0 costs.
    fn value(&self, product: &[f64], right: &[f64], w: &[f64], of_penalty: f64) -> f64 {
        of_penalty + w.iter().zip(product).zip(right).map(|((w, a), b)| w * (0.5 * a - b)).sum::<f64>()
    }

    /// Minimises from `w` on, until it has to end: `w` is that of the last step then.
    pub fn solve<R: Rounded>(&self, penalty: &mut R, w: &mut Vec<f64>) {
        // There is no other error than that.
        let _ = self.minimise(penalty, w);
    }

    fn minimise<R: Rounded>(&self, penalty: &mut R, w: &mut Vec<f64>) -> Result<(), TrainError> {
        let right = self.right();
        let mut part = ROUNDING.0;
        while part >= ROUNDING.2 {
            let of_penalty = penalty.look(w);
            let now = self.at_zero + self.value(&self.product(w), &right, w, of_penalty);
            let rounding = part * now.clamp(LEAST_PART * self.at_zero, self.at_zero).max(f64::MIN_POSITIVE);
            penalty.round_to(rounding);
            for _ in 0..MOST_STEPS {
                if !self.step(penalty, &right, w, SOLVED * rounding)? {
                    break;
                }
            }
            part *= ROUNDING.1;
        }
        // F does not tell any more how near the gradient is to 0, but the dual point does: whole steps are right so
        // near the optimum.
        for _ in 0..LAST_STEPS {
            let (direction, promised, _) = self.direction(penalty, &right, w)?;
            if promised.is_nan() || promised > NOISE * self.at_zero {
                break;
            }
            w.iter_mut().zip(&direction).for_each(|(w, d)| *w += d);
        }
        Ok(())
    }

    /// The Newton direction at W, by how much F would fall, and F less what W = 0 costs.
    fn direction<R: Rounded>(
        &self,
        penalty: &mut R,
        right: &[f64],
        w: &[f64],
    ) -> Result<(Vec<f64>, f64, f64), TrainError> {
        let product = self.product(w);
        let of_penalty = penalty.look(w);
        let value = self.value(&product, right, w, of_penalty);
        let gradient = penalty.gradient(w);
        let residual: Vec<f64> = (0..w.len()).map(|i| right[i] - product[i] - gradient[i]).collect();
        penalty.factor(self.matrix, self.watch)?;
        let direction = self.conjugate_gradients(penalty, w, &residual)?;
        let promised: f64 = 0.5 * direction.iter().zip(&residual).map(|(d, r)| d * r).sum::<f64>();
        Ok((direction, promised, value))
    }

    /// One Newton step. False if none is needed, or F does not fall any more.
    fn step<R: Rounded>(
        &self,
        penalty: &mut R,
        right: &[f64],
        w: &mut Vec<f64>,
        enough: f64,
    ) -> Result<bool, TrainError> {
        let (direction, promised, before) = self.direction(penalty, right, w)?;
        if promised.is_nan() || promised <= enough {
            return Ok(false);
        }
        let mut t = 1.0;
        while t > 1e-6 {
            let moved: Vec<f64> = w.iter().zip(&direction).map(|(w, d)| w + t * d).collect();
            let of_penalty = penalty.look(&moved);
            let after = self.value(&self.product(&moved), right, &moved, of_penalty);
            if before - after >= 0.1 * t * promised {
                *w = moved;
                return Ok(true);
            }
            t *= 0.5;
        }
        Ok(false)
    }

    /// The Newton direction.
    fn conjugate_gradients<R: Rounded>(
        &self,
        penalty: &mut R,
        w: &[f64],
        residual: &[f64],
    ) -> Result<Vec<f64>, TrainError> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut found = vec![0.0; w.len()];
        let mut rest = residual.to_vec();
        let mut conditioned = rest.clone();
        penalty.solve(self.matrix, &mut conditioned);
        let mut direction = conditioned.clone();
        let mut size = dot(&rest, &conditioned);
        let enough = RESIDUAL * RESIDUAL * size;
        for _ in 0..MOST_ITERATIONS {
            if size.is_nan() || size <= enough {
                break;
            }
            self.watch.check()?;
            let mut curved = penalty.curved(w, &direction);
            curved.iter_mut().zip(self.product(&direction)).for_each(|(c, a)| *c += a);
            let along = dot(&direction, &curved);
            if along <= 0.0 || along.is_nan() {
                break;
            }
            let t = size / along;
            found.iter_mut().zip(&direction).for_each(|(x, d)| *x += t * d);
            rest.iter_mut().zip(&curved).for_each(|(r, c)| *r -= t * c);
            conditioned.copy_from_slice(&rest);
            penalty.solve(self.matrix, &mut conditioned);
            let next = dot(&rest, &conditioned);
            let share = next / size;
            size = next;
            direction.iter_mut().zip(&conditioned).for_each(|(d, r)| *d = r + share * *d);
        }
        Ok(found)
    }
}
