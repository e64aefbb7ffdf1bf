//! `min ½ (w - w⁰)ᵀA(w - w⁰) - p·(w - w⁰) + Σ λ_j |w_j|` for a matrix in memory: Lasso and elastic net of the squared
//! loss, also with w ≥ 0, and of quadratic models at w⁰, where -p is the gradient.
//!
//! Coordinate descent finds which weights are not 0 (Friedman et al. 2010, covariance updates); then the equations of
//! those weights, with their signs, are solved exactly, and the step goes as far as no sign changes (feature-sign
//! search, Lee et al. 2007, Algorithm 1). So correlated columns do not slow the end down, as they do coordinate
//! descent.
use super::factor::Factor;
use super::gram::Gram;
use crate::engine::Watch;
use crate::penalty::soft;

/// Sweeps of coordinate descent between two looks at the equations: until no sign has changed in this many of them, and
/// at most this many.
const CALM_SWEEPS: usize = 5;
const MOST_SWEEPS: usize = 100;
/// Rounds that bring no weight nearer to its condition, at most.
const MOST_STALLS: usize = 3;
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
    /// w⁰.
    pub centre: &'a [f64],
    /// p.
    pub pull: &'a [f64],
    /// λ_j; 0 for a weight that is free.
    pub bounds: &'a [f64],
    /// Whether no weight may be below 0.
    pub non_negative: bool,
}

impl Lasso<'_> {
    fn diagonal(&self, j: usize) -> f64 {
        self.matrix.at(j, j) + self.ridge[j]
    }

    /// Minimises from `w` on, until `watch` says that it is enough. Returns the sweeps that it took.
    pub fn solve(&self, w: &mut [f64], watch: Option<&Watch>) -> u64 {
        let is_over = || watch.is_some_and(|watch| watch.look().is_some());
        let size = w.len();
        if self.non_negative {
            w.iter_mut().for_each(|w| *w = w.max(0.0));
        }
        let mut pull = vec![0.0; size];
        let (mut least, mut stalls, mut sweeps) = (f64::INFINITY, 0, 0);
        // Weights to start from, those of a problem nearby, mostly have their signs already.
        let known: Vec<usize> = (0..size).filter(|&j| w[j] != 0.0).collect();
        self.solve_signs(w, &known, watch);
        for _ in 0..MOST_ROUNDS {
            self.refresh(w, &mut pull);
            let mut active: Vec<usize> =
                (0..size).filter(|&j| w[j] != 0.0 || self.off(j, w[j], pull[j]) > 1.0).collect();
            let most = active.iter().map(|&j| self.off(j, w[j], pull[j])).fold(0.0, f64::max);
            if most <= 1.0 || stalls == MOST_STALLS {
                break;
            }
            let is_less = most < 0.5 * least;
            least = least.min(most);
            // Equations are dearer than sweeps: signs should have settled before.
            let mut calm = 0;
            for _ in 0..MOST_SWEEPS {
                sweeps += 1;
                let mut changed = 0;
                for some in active.chunks(VISITS) {
                    if is_over() {
                        return sweeps;
                    }
                    changed += some.iter().filter(|&&j| self.visit(j, w, &mut pull, &active)).count();
                }
                calm = if changed == 0 { calm + 1 } else { 0 };
                if calm == CALM_SWEEPS {
                    break;
                }
            }
            active.retain(|&j| w[j] != 0.0);
            // Rounding has the last word where the equations were solved, and nothing is nearer to its condition.
            stalls = if self.solve_signs(w, &active, watch) && !is_less { stalls + 1 } else { 0 };
        }
        sweeps
    }

    /// p - (A + ridge)(w - w⁰).
    fn refresh(&self, w: &[f64], pull: &mut [f64]) {
        let step: Vec<f64> = w.iter().zip(self.centre).map(|(w, centre)| w - centre).collect();
        self.matrix.product(self.ridge, &step, pull);
        pull.iter_mut().zip(self.pull).for_each(|(p, first)| *p = first - *p);
    }

    /// How far coordinate j is from its optimality condition, pull = λ sign(w), or |pull| ≤ λ at 0, in units of
    /// rounding.
    fn off(&self, j: usize, w: f64, pull: f64) -> f64 {
        let step = (w - self.centre[j]).abs();
        let noise = ROUNDING * (self.pull[j].abs() + self.diagonal(j) * step + self.bounds[j]);
        match w != 0.0 && self.diagonal(j) > 0.0 {
            true => (pull - self.bounds[j] * w.signum()).abs() / (1e3 * noise).max(f64::MIN_POSITIVE),
            false if self.non_negative => (pull - self.bounds[j]) / noise.max(f64::MIN_POSITIVE),
            false => (pull.abs() - self.bounds[j]) / noise.max(f64::MIN_POSITIVE),
        }
    }

    /// The best w_j, all others fixed; the pulls of active coordinates follow. True if its sign has changed.
    fn visit(&self, j: usize, w: &mut [f64], pull: &mut [f64], active: &[usize]) -> bool {
        let diagonal = self.diagonal(j);
        if diagonal <= 0.0 {
            return false;
        }
        let found = soft(pull[j] + diagonal * w[j], self.bounds[j]) / diagonal;
        let found = if self.non_negative { found.max(0.0) } else { found };
        let (before, delta) = (w[j], found - w[j]);
        if delta != 0.0 {
            w[j] = found;
            active.iter().for_each(|&k| pull[k] -= delta * self.matrix.at(k, j));
            pull[j] -= delta * self.ridge[j];
        }
        before * found <= 0.0 && delta != 0.0
    }

    /// Solves the equations of the active weights with their signs. Goes there, and returns true, or as far as the
    /// first of them becomes 0.
    fn solve_signs(&self, w: &mut [f64], active: &[usize], watch: Option<&Watch>) -> bool {
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
        let mut pull = vec![0.0; w.len()];
        self.refresh(w, &mut pull);
        let mut step: Vec<f64> = active.iter().map(|&j| pull[j] - self.bounds[j] * w[j].signum()).collect();
        let mut factor = Factor::new(active.len());
        if factor.find(&part, &ridge, watch).is_err() {
            return true;
        }
        factor.solve(&part, &ridge, &mut step);
        let found: Vec<f64> = active.iter().zip(&step).map(|(&j, step)| w[j] + step).collect();
        // A singular matrix has many solutions, and some numbers of this one may be beyond all bounds.
        if found.iter().any(|x| !x.is_finite()) {
            return true;
        }
        let crossing = |(&j, &to): (&usize, &f64)| {
            let from = w[j];
            ((self.bounds[j] > 0.0 || self.non_negative) && to * from <= 0.0).then(|| (from / (from - to), j))
        };
        let first = active.iter().zip(&found).filter_map(crossing).min_by(|a, b| a.0.total_cmp(&b.0));
        let t = first.map_or(1.0, |(t, _)| t);
        active.iter().zip(&found).for_each(|(&j, &to)| w[j] += t * (to - w[j]));
        if let Some((_, left)) = first {
            w[left] = 0.0;
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
            let (ridge, centre, non_negative) = (&[ridge; 6], &[0.0; 6], power % 2 == 0);
            let lasso = Lasso { matrix: &gram, ridge, centre, pull: &linear, bounds: &bounds, non_negative };
            let mut w = vec![0.0; 6];
            lasso.solve(&mut w, None);
            let mut pull = vec![0.0; 6];
            lasso.refresh(&w, &mut pull);
            prop_assert!(!non_negative || w.iter().all(|&w| w >= 0.0), "{w:?}");
            for j in 0..6 {
                let noise = 1e-8 * (linear[j].abs() + most);
                match w[j] == 0.0 {
                    true if non_negative => prop_assert!(pull[j] <= bounds[j] + noise, "{j} {w:?} {pull:?}"),
                    true => prop_assert!(pull[j].abs() <= bounds[j] + noise, "{j} {w:?} {pull:?}"),
                    false => prop_assert!((pull[j] - bounds[j] * w[j].signum()).abs() <= noise, "{j} {w:?} {pull:?}"),
                }
            }
        }
    }
}
