//! Confidence-weighted classification with a variance per feature.
//!
//! Weights are Gaussians with mean μ and variance Σ (diagonal). A row moves them as little as possible, in relative
//! entropy, so that its class is predicted with probability η or more (Dredze, Crammer & Pereira, "Confidence-weighted
//! linear classification", ICML 2008, section 3). With M = y μ·x, V = Σ_j Σ_j x_j² and φ the quantile of η:
//! ```text
//! α = max(0, (-(1 + 2φM) + √((1 + 2φM)² - 8φ(M - φV))) / (4φV)),   μ ← μ + α y Σx,   1/Σ_j ← 1/Σ_j + 2αφ x_j²
//! ```
//! Every row is obeyed, also one with a wrong label, so that μ wavers where classes overlap: the model is its average
//! over all visits.
use super::Online;
use crate::block::Row;

/// The quantile φ of η = 0.54. The paper chooses η for each data set. A high one obeys wrong labels: on a9a, five
/// passes with η = 0.9 end at a test accuracy of 83.6 %, with this one at 84.8 %; the exact model has 85.0 %.
const PHI: f64 = 0.1;

/// Weights with a mean and a variance each, and the average of the means.
pub struct Confident {
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// Σ (steps before) · (change of μ), so that the average of μ is μ - lag / steps; see [`super::averaged`].
    lag: Vec<f64>,
    bias: f64,
    steps: f64,
}

impl Confident {
    /// Begins with mean 0 and variance 1.
    pub fn new(columns: usize, bias: f64) -> Self {
        let zeros = || vec![0.0; columns + 1];
        Confident { mean: zeros(), variance: vec![1.0; columns + 1], lag: zeros(), bias, steps: 0.0 }
    }

    /// More columns have come; the constant feature stays the last one.
    pub fn grow(&mut self, columns: usize) {
        for (vector, new) in [(&mut self.mean, 0.0), (&mut self.variance, 1.0), (&mut self.lag, 0.0)] {
            if let Some(constant) = vector.pop() {
                vector.resize(columns, new);
                vector.push(constant);
            }
        }
    }

    /// μ·x.
    #[inline]
    pub fn margin(&self, row: Row) -> f64 {
        row.dot(&self.mean) + self.bias * self.mean[self.mean.len() - 1]
    }

    /// The variance of the margin.
    #[inline]
    pub fn spread(&self, row: Row) -> f64 {
        let mut spread = self.variance[self.variance.len() - 1] * self.bias * self.bias;
        row.for_each(|column, x| spread += self.variance[column as usize] * x * x);
        spread
    }

    /// α for a margin `m` in favour of the true class and its variance `v`; 0 if the row is obeyed already.
    pub fn step(m: f64, v: f64) -> f64 {
        // An empty row says nothing, and no variance means that nothing can be learnt from it any more.
        if v <= 0.0 {
            return 0.0;
        }
        let b = 1.0 + 2.0 * PHI * m;
        ((-b + (b * b - 8.0 * PHI * (m - PHI * v)).sqrt()) / (4.0 * PHI * v)).max(0.0)
    }

    /// Moves the mean by `alpha` times variance times row, and is surer of it then.
    #[inline]
    pub fn shift(&mut self, row: Row, alpha: f64) {
        let last = self.mean.len() - 1;
        let bias = self.bias;
        let mut change = |column: usize, x: f64| {
            let variance = &mut self.variance[column];
            let step = alpha * *variance * x;
            self.mean[column] += step;
            self.lag[column] += self.steps * step;
            *variance /= 1.0 + 2.0 * alpha.abs() * PHI * x * x * *variance;
        };
        row.for_each(|column, x| change(column as usize, x));
        change(last, bias);
    }

    /// A row is done.
    #[inline]
    pub fn end_step(&mut self) {
        self.steps += 1.0;
    }

    /// The average of the means.
    pub fn write(&self, w: &mut [f64]) {
        let steps = self.steps.max(1.0);
        for ((w, mean), lag) in w.iter_mut().zip(&self.mean).zip(&self.lag) {
            *w = mean - lag / steps;
        }
    }
}

/// The rule for two classes.
pub struct ConfidenceWeighted(Confident);

impl ConfidenceWeighted {
    /// Begins with mean 0 and variance 1.
    pub fn new(columns: usize, bias: f64) -> Self {
        ConfidenceWeighted(Confident::new(columns, bias))
    }
}

impl Online for ConfidenceWeighted {
    #[inline]
    fn learn(&mut self, row: Row, y: f64, _c: f64) {
        let alpha = Confident::step(y * self.0.margin(row), self.0.spread(row));
        if alpha > 0.0 {
            self.0.shift(row, alpha * y);
        }
        self.0.end_step();
    }

    fn write(&self, w: &mut [f64]) {
        self.0.write(w);
    }
}
