//! `min ½ wᵀAw - b·w + Σ λ_j |w_j|` for a matrix in memory: Lasso and elastic net of the squared loss, and of quadratic models.
//!
//! Coordinate descent finds which weights are not 0 (Friedman et al. 2010, covariance updates); then the equations of those weights,
//! with their signs, are solved exactly, and the step goes as far as no sign changes (feature-sign search, Lee et al. 2007,
//! Algorithm 1). So correlated columns do not slow the end down, as they do coordinate descent.
use super::factor::Factor;
use super::gram::Gram;
use crate::penalty::soft;
use crate::trainer::Watch;

/// Sweeps of coordinate descent between two looks at the equations.
const SWEEPS: usize = 10;
/// Rounds of both, at most: each lowers the objective, and there are finitely many sets of signs.
const MOST_ROUNDS: usize = 1000;
/// Visits between two looks at the limits of the run.
const VISITS: usize = 256;
/// A gradient may exceed its bound by this part of its own terms: rounding.
const ROUNDING: f64 = 1e-13;

/// The problem.
pub struct Lasso<'a> {
    /// A, with the ridge of an elastic net on its diagonal.
    pub matrix: &'a Gram,
    /// What is added to the diagonal.
    pub ridge: &'a [f64],
    /// b.
    pub linear: &'a [f64],
    /// λ_j; 0 for a weight that is free.
    pub bounds: &'a [f64],
}

impl Lasso<'_> {
    fn diagonal(&self, j: usize) -> f64 {
        self.matrix.at(j, j) + self.ridge[j]
    }

    /// Minimises from `w` on, until `watch` says that it is enough.
    pub fn solve(&self, w: &mut [f64], watch: Option<&Watch>) {
        let is_over = || watch.is_some_and(|watch| watch.look().is_some());
        let size = w.len();
        let mut pull = vec![0.0; size];
        for _ in 0..MOST_ROUNDS {
            self.refresh(w, &mut pull);
            let mut active: Vec<usize> =
                (0..size).filter(|&j| w[j] != 0.0 || self.violates(j, w[j], pull[j])).collect();
            if active.iter().all(|&j| !self.violates(j, w[j], pull[j])) {
                return;
            }
            for _ in 0..SWEEPS {
                for some in active.chunks(VISITS) {
                    if is_over() {
                        return;
                    }
                    some.iter().for_each(|&j| self.visit(j, w, &mut pull, &active));
                }
            }
            active.retain(|&j| w[j] != 0.0);
            while !is_over() && !self.solve_signs(w, &mut active, watch) {}
        }
    }

    /// b - (A + ridge) w.
    fn refresh(&self, w: &[f64], pull: &mut [f64]) {
        self.matrix.product(self.ridge, w, pull);
        pull.iter_mut().zip(self.linear).for_each(|(p, b)| *p = b - *p);
    }

    /// Whether coordinate j is not where its optimality condition holds: pull = λ sign(w), or |pull| ≤ λ at 0.
    fn violates(&self, j: usize, w: f64, pull: f64) -> bool {
        let noise = ROUNDING * (self.linear[j].abs() + self.diagonal(j) * w.abs() + self.bounds[j]);
        match w != 0.0 && self.diagonal(j) > 0.0 {
            true => (pull - self.bounds[j] * w.signum()).abs() > 1e3 * noise,
            false => pull.abs() > self.bounds[j] + noise,
        }
    }

    /// The best w_j, all others fixed; the pulls of active coordinates follow.
    fn visit(&self, j: usize, w: &mut [f64], pull: &mut [f64], active: &[usize]) {
        let diagonal = self.diagonal(j);
        if diagonal <= 0.0 {
            return;
        }
        let found = soft(pull[j] + diagonal * w[j], self.bounds[j]) / diagonal;
        let delta = found - w[j];
        if delta != 0.0 {
            w[j] = found;
            active.iter().for_each(|&k| pull[k] -= delta * self.matrix.at(k, j));
            pull[j] -= delta * self.ridge[j];
        }
    }

    /// Solves the equations of the active weights with their signs. Goes there, and returns true, or as far as the first of them becomes 0, which leaves then.
    fn solve_signs(&self, w: &mut [f64], active: &mut Vec<usize>, watch: Option<&Watch>) -> bool {
        if active.is_empty() {
            return true;
        }
        let mut part = Gram::new(active.len(), 0.0);
        for (i, &a) in active.iter().enumerate() {
            for (k, &b) in active[..=i].iter().enumerate() {
                part.lower_mut()[i * active.len() + k] = self.matrix.at(a, b);
            }
        }
        let ridge: Vec<f64> = active.iter().map(|&j| self.ridge[j]).collect();
        let mut found: Vec<f64> = active.iter().map(|&j| self.linear[j] - self.bounds[j] * w[j].signum()).collect();
        let mut factor = Factor::new(active.len(), watch);
        if factor.find(&part, &ridge).is_err() {
            return true;
        }
        factor.solve(&part, &ridge, &mut found);
        // A singular matrix has many solutions, and some numbers of this one may be beyond all bounds.
        if found.iter().any(|x| !x.is_finite()) {
            return true;
        }
        let crossing = |(&j, &to): (&usize, &f64)| {
            let from = w[j];
            (self.bounds[j] > 0.0 && to * from <= 0.0).then(|| (from / (from - to), j))
        };
        let first = active.iter().zip(&found).filter_map(crossing).min_by(|a, b| a.0.total_cmp(&b.0));
        let t = first.map_or(1.0, |(t, _)| t);
        active.iter().zip(&found).for_each(|(&j, &to)| w[j] += t * (to - w[j]));
        if let Some((_, left)) = first {
            w[left] = 0.0;
            active.retain(|&j| j != left);
        }
        first.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Row;
    use proptest::prelude::*;

    proptest! {
        /// Columns of any scale, two of them nearly the same: the optimality conditions hold.
        #[test]
        fn conditions_hold(
            rows in proptest::collection::vec(proptest::collection::vec(-1.0..1.0f64, 5), 3..30),
            part in 0.01..1.2f64, power in -4i32..5, ridge in 0.0..0.1f64,
        ) {
            let mut gram = Gram::new(6, 6.0);
            let mut linear = vec![0.0; 6];
            for row in &rows {
                let mut x = row.clone();
                x[1] *= 10f64.powi(power);
                x[4] = x[0] + 1e-6 * x[4];
                let y = x[0] + x[2] - x[3];
                gram.add(Row::dense(&x), &[1.0], 1.0);
                x.iter().chain(&[1.0]).zip(&mut linear).for_each(|(x, b)| *b += x * y);
            }
            gram.flush();
            let most = linear[..5].iter().fold(0.0f64, |most, b| most.max(b.abs()));
            let mut bounds = vec![part * most; 6];
            bounds[5] = 0.0;
            let lasso = Lasso { matrix: &gram, ridge: &[ridge; 6], linear: &linear, bounds: &bounds };
            let mut w = vec![0.0; 6];
            lasso.solve(&mut w, None);
            let mut pull = vec![0.0; 6];
            lasso.refresh(&w, &mut pull);
            for j in 0..6 {
                let noise = 1e-8 * (linear[j].abs() + most);
                match w[j] == 0.0 {
                    true => prop_assert!(pull[j].abs() <= bounds[j] + noise, "{j} {w:?} {pull:?}"),
                    false => prop_assert!((pull[j] - bounds[j] * w[j].signum()).abs() <= noise, "{j} {w:?} {pull:?}"),
                }
            }
        }
    }
}
