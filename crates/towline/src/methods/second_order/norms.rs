//! Penalties that bind several weights, rounded off at 0: groups, and the nuclear norm.
//!
//! ```text
//! group     Σ_g λω_g √(‖w_g‖² + ε_g²)           nuclear     λ tr (WᵀW + ε²I)^½
//! ```
//! At the minimum with such a penalty, Σ xβᵀ is its gradient, which lies inside the dual ball of the penalty itself:
//! the point is dual feasible as it is, and what the rounding costs is at most what it is at 0.
use super::factor::Factor;
use super::gram::Gram;
use crate::engine::{TrainError, Watch};
use crate::penalty::{Group, Nuclear, Spectrum};

/// A penalty that is rounded off, at one W. Weights of one column lie side by side.
pub trait Rounded {
    /// Rounds it off so that it is this at 0.
    fn round_to(&mut self, at_zero: f64);

    /// Goes to W: all that follows is there. Returns the value.
    fn look(&mut self, w: &[f64]) -> f64;

    /// Its gradient at W.
    fn gradient(&self, w: &[f64]) -> Vec<f64>;

    /// Its Hessian at W times a direction.
    fn curved(&self, w: &[f64], direction: &[f64]) -> Vec<f64>;

    /// Finds how to solve `(A ⊗ I + M) x = r` for the parabola M that touches it at W and is nowhere below. `watch`
    /// says when the run has to end.
    fn factor(&mut self, matrix: &Gram, watch: &Watch) -> Result<(), TrainError>;

    /// Solves it.
    fn solve(&mut self, matrix: &Gram, r: &mut [f64]);

    /// Makes 0 what is 0 but for the rounding.
    fn clear(&self, w: &mut [f64]);
}

/// What is below this many times its rounding is 0.
const ZERO: f64 = 10.0;

/// Groups.
pub struct RoundedGroups<'a> {
    group: &'a Group,
    outputs: usize,
    /// ε of each group.
    rounding: Vec<f64>,
    /// √(‖w_g‖² + ε²) of each group.
    lengths: Vec<f64>,
    factor: Factor,
    ridge: Vec<f64>,
}

impl<'a> RoundedGroups<'a> {
    /// Not rounded off yet; for this many columns of the matrix.
    pub fn new(group: &'a Group, outputs: usize, columns: usize) -> Self {
        let count = group.groups.weights().len();
        let (rounding, lengths) = (vec![0.0; count], vec![0.0; count]);
        RoundedGroups { group, outputs, rounding, lengths, factor: Factor::new(columns), ridge: vec![0.0; columns] }
    }

    fn of(&self, weight: usize) -> usize {
        self.group.groups.of_column()[weight] as usize
    }

    fn bound(&self, g: usize) -> f64 {
        self.group.lambda * self.group.groups.weights()[g]
    }
}

impl Rounded for RoundedGroups<'_> {
    fn round_to(&mut self, at_zero: f64) {
        // The same share for each, whatever the scale of its columns.
        let share = at_zero / self.rounding.len().max(1) as f64;
        self.rounding = (0..self.rounding.len()).map(|g| share / self.bound(g)).collect();
    }

    fn look(&mut self, w: &[f64]) -> f64 {
        let norms = self.group.groups.sq_norms(w);
        self.lengths =
            norms.iter().zip(&self.rounding).map(|(sq, rounding)| (sq + rounding * rounding).sqrt()).collect();
        (0..self.lengths.len()).map(|g| self.bound(g) * self.lengths[g]).sum()
    }

    fn gradient(&self, w: &[f64]) -> Vec<f64> {
        let slope = |(i, w): (usize, &f64)| self.bound(self.of(i)) * w / self.lengths[self.of(i)];
        w.iter().enumerate().map(slope).collect()
    }

    fn curved(&self, w: &[f64], direction: &[f64]) -> Vec<f64> {
        let mut products = vec![0.0; self.lengths.len()];
        w.iter().zip(direction).enumerate().for_each(|(i, (w, d))| products[self.of(i)] += w * d);
        let of = |(i, (w, d)): (usize, (&f64, &f64))| {
            let (g, length) = (self.of(i), self.lengths[self.of(i)]);
            self.bound(g) / length * (d - w * (products[g] / (length * length)))
        };
        w.iter().zip(direction).enumerate().map(of).collect()
    }

    fn factor(&mut self, matrix: &Gram, watch: &Watch) -> Result<(), TrainError> {
        let ridge = |j: usize| {
            let g = self.of(j * self.outputs);
            self.bound(g) / self.lengths[g]
        };
        self.ridge = (0..self.ridge.len()).map(ridge).collect();
        self.factor.find(matrix, &self.ridge, Some(watch))
    }

    fn solve(&mut self, matrix: &Gram, r: &mut [f64]) {
        for k in 0..self.outputs {
            let mut part: Vec<f64> = r.iter().skip(k).step_by(self.outputs).copied().collect();
            self.factor.solve(matrix, &self.ridge, &mut part);
            r.iter_mut().skip(k).step_by(self.outputs).zip(part).for_each(|(r, x)| *r = x);
        }
    }

    fn clear(&self, w: &mut [f64]) {
        let norms = self.group.groups.sq_norms(w);
        for (i, w) in w.iter_mut().enumerate() {
            let g = self.of(i);
            if norms[g].sqrt() <= ZERO * self.rounding[g] {
                *w = 0.0;
            }
        }
    }
}

/// The nuclear norm.
pub struct RoundedSpectrum {
    lambda: f64,
    outputs: usize,
    rounding: f64,
    /// Eigenvectors of WᵀW, one a row, and the roots of its eigenvalues, rounded off.
    vectors: Vec<f64>,
    roots: Vec<f64>,
    /// For each of them.
    factors: Vec<Factor>,
}

impl RoundedSpectrum {
    /// Bytes of memory for this many columns of the matrix.
    pub fn bytes(outputs: u64, columns: u64) -> u64 {
        outputs * (Factor::bytes(columns) + 8 * outputs)
    }

    /// Not rounded off yet; for this many columns of the matrix.
    pub fn new(nuclear: &Nuclear, outputs: usize, columns: usize) -> Self {
        let factors = (0..outputs).map(|_| Factor::new(columns)).collect();
        let (vectors, roots) = (vec![0.0; outputs * outputs], vec![0.0; outputs]);
        RoundedSpectrum { lambda: nuclear.lambda, outputs, rounding: 0.0, vectors, roots, factors }
    }

    /// `W G` for a matrix of outputs by outputs.
    fn times(&self, w: &[f64], map: &[f64]) -> Vec<f64> {
        let n = self.outputs;
        let mut out = vec![0.0; w.len()];
        for (from, to) in w.chunks(n).zip(out.chunks_mut(n)) {
            for (x, line) in from.iter().zip(map.chunks(n)) {
                to.iter_mut().zip(line).for_each(|(to, g)| *to += x * g);
            }
        }
        out
    }

    /// Q diag(f) Qᵀ.
    fn map(&self, f: impl Fn(f64) -> f64) -> Vec<f64> {
        let n = self.outputs;
        let mut map = vec![0.0; n * n];
        for (&root, q) in self.roots.iter().zip(self.vectors.chunks(n)) {
            let kept = f(root);
            (0..n * n).for_each(|at| map[at] += kept * q[at / n] * q[at % n]);
        }
        map
    }

    /// Uᵀ V.
    fn products(&self, u: &[f64], v: &[f64]) -> Vec<f64> {
        let n = self.outputs;
        let mut sum = vec![0.0; n * n];
        for (u, v) in u.chunks(n).zip(v.chunks(n)) {
            (0..n * n).for_each(|at| sum[at] += u[at / n] * v[at % n]);
        }
        sum
    }
}

impl Rounded for RoundedSpectrum {
    fn round_to(&mut self, at_zero: f64) {
        self.rounding = at_zero / (self.lambda * self.outputs as f64);
    }

    fn look(&mut self, w: &[f64]) -> f64 {
        let spectrum = Spectrum::of(&self.products(w, w), self.outputs);
        let root = |value: &f64| (value.max(0.0) + self.rounding * self.rounding).sqrt();
        self.roots = spectrum.values.iter().map(root).collect();
        self.vectors = spectrum.vectors;
        self.lambda * self.roots.iter().sum::<f64>()
    }

    fn gradient(&self, w: &[f64]) -> Vec<f64> {
        self.times(w, &self.map(|root| self.lambda / root))
    }

    /// λ (D M^-½ + W d(M^-½)) with the divided differences of x^-½ (Daleckii and Krein).
    fn curved(&self, w: &[f64], direction: &[f64]) -> Vec<f64> {
        let n = self.outputs;
        let one = self.products(w, direction);
        let change: Vec<f64> = (0..n * n).map(|at| one[at] + one[at % n * n + at / n]).collect();
        let mut map = vec![0.0; n * n];
        for (a, q) in self.vectors.chunks(n).enumerate() {
            for (b, r) in self.vectors.chunks(n).enumerate() {
                let along: f64 = (0..n * n).map(|at| q[at / n] * change[at] * r[at % n]).sum();
                let (x, y) = (self.roots[a], self.roots[b]);
                let differs = -self.lambda * along / (x * y * (x + y));
                (0..n * n).for_each(|at| map[at] += differs * q[at / n] * r[at % n]);
            }
        }
        let straight = self.times(direction, &self.map(|root| self.lambda / root));
        straight.iter().zip(self.times(w, &map)).map(|(a, b)| a + b).collect()
    }

    fn factor(&mut self, matrix: &Gram, watch: &Watch) -> Result<(), TrainError> {
        for (factor, root) in self.factors.iter_mut().zip(&self.roots) {
            factor.find(matrix, &vec![self.lambda / root; factor.size()], Some(watch))?;
        }
        Ok(())
    }

    fn solve(&mut self, matrix: &Gram, r: &mut [f64]) {
        let n = self.outputs;
        let mut out = vec![0.0; r.len()];
        for (m, factor) in self.factors.iter_mut().enumerate() {
            let q = &self.vectors[m * n..][..n];
            let mut part: Vec<f64> = r.chunks(n).map(|r| r.iter().zip(q).map(|(r, q)| r * q).sum()).collect();
            let ridge = vec![self.lambda / self.roots[m]; part.len()];
            factor.solve(matrix, &ridge, &mut part);
            for (out, x) in out.chunks_mut(n).zip(part) {
                out.iter_mut().zip(q).for_each(|(out, q)| *out += x * q);
            }
        }
        r.copy_from_slice(&out);
    }

    fn clear(&self, w: &mut [f64]) {
        let kept = self.times(w, &self.map(|root| if root <= ZERO * self.rounding { 0.0 } else { 1.0 }));
        w.copy_from_slice(&kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::penalty::GroupMap;
    use crate::stop::Stop;
    use proptest::prelude::*;

    const COLUMNS: usize = 4;
    const OUTPUTS: usize = 3;

    fn check<R: Rounded>(mut penalty: R, w: &[f64], direction: &[f64]) {
        penalty.round_to(0.3);
        let moved = |t: f64| w.iter().zip(direction).map(|(w, d)| w + t * d).collect::<Vec<f64>>();
        let mut at = |t: f64| {
            let w = moved(t);
            (penalty.look(&w), penalty.gradient(&w))
        };
        let h = 1e-5;
        let ((up, above), (down, below)) = (at(h), at(-h));
        let (_, gradient) = at(0.0);
        let slope: f64 = gradient.iter().zip(direction).map(|(g, d)| g * d).sum();
        assert!(((up - down) / (2.0 * h) - slope).abs() < 1e-6, "{up} {down} {slope}");
        let curved = penalty.curved(w, direction);
        for (i, curved) in curved.iter().enumerate() {
            assert!(((above[i] - below[i]) / (2.0 * h) - curved).abs() < 1e-5, "{i}");
        }
        // The parabola is nowhere below: its curvature along a direction is no less.
        let mut none = Gram::new(COLUMNS, 0.0);
        (0..COLUMNS).for_each(|j| none.lower_mut()[j * COLUMNS + j] = 1e-9);
        penalty.factor(&none, &Watch::new(&Stop::default(), None)).unwrap();
        let mut solved = curved.clone();
        penalty.solve(&none, &mut solved);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        assert!(dot(&curved, &solved) <= dot(&curved, direction) * (1.0 + 1e-6) + 1e-12);
    }

    proptest! {
        #[test]
        fn derivatives_are_those_of_the_value(
            w in proptest::collection::vec(-1.0..1.0f64, COLUMNS * OUTPUTS),
            direction in proptest::collection::vec(-1.0..1.0f64, COLUMNS * OUTPUTS),
        ) {
            let groups = GroupMap::new(vec![0, 1, 1, 0, 2], vec![1.0, 0.5, 1.0]).unwrap().repeated(OUTPUTS);
            check(RoundedGroups::new(&Group { lambda: 0.7, groups }, OUTPUTS, COLUMNS), &w, &direction);
            let nuclear = Nuclear { lambda: 0.7, outputs: OUTPUTS as u32 };
            check(RoundedSpectrum::new(&nuclear, OUTPUTS, COLUMNS), &w, &direction);
        }
    }
}
