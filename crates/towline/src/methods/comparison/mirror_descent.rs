//! SMIDAS, stochastic mirror descent made sparse (Shalev-Shwartz & Tewari 2011, Algorithm 3), for the l1 penalty.
//!
//! ```text
//! θ ← θ - ηL'x,    θ_j ← soft(θ_j, ηλ),    w_j = sign(θ_j) |θ_j|^{p-1} / ‖θ‖_p^{p-2},    p = 2 ln d
//! ```
//! with λ over the weight of all rows, as for gradient descent. Truncating every θ_j after every row would cost as much
//! as the model has features. It is done for all of them at once as soon as that is cheap against the values seen
//! since, by the sum of what is due: the only departure. η is constant, as in the paper; it is chosen on the first
//! rows.
use super::Online;
use crate::block::{Block, Row};
use crate::loss::Loss;
use crate::objective::Objective;

/// Rows that the step size is tried on.
const SAMPLE_ROWS: usize = 1000;
/// Step sizes that are tried, as powers of 4, around 1 over the largest squared value: the paper's range is four orders
/// of magnitude.
const STEPS: std::ops::RangeInclusive<i32> = -10..=5;

/// The state of mirror descent.
pub struct MirrorDescent<L> {
    loss: L,
    theta: Vec<f64>,
    /// p, a whole number.
    power: i32,
    /// Σ|θ_j/scale|^p, where scale is the largest |θ_j| at the last truncation.
    sum: f64,
    scale: f64,
    step: f64,
    lambda: f64,
    c: f64,
    bias: f64,
    /// Truncations that are due, and values seen since the last one.
    due: u64,
    seen: usize,
}

impl<L: Loss> MirrorDescent<L> {
    /// Begins at 0; `lambda` is that of the mean loss.
    pub fn new(loss: L, columns: usize, bias: f64, lambda: f64, c: f64) -> Self {
        let power = (2.0 * (columns as f64 + 1.0).ln()).round().max(2.0) as i32;
        let theta = vec![0.0; columns + 1];
        MirrorDescent { loss, theta, power, sum: 0.0, scale: 1.0, step: 1.0, lambda, c, bias, due: 0, seen: 0 }
    }

    fn norm(&self) -> f64 {
        self.scale * self.sum.max(0.0).powf(1.0 / f64::from(self.power))
    }

    /// w_j, given ‖θ‖_p: written so that nothing overflows however large p is.
    #[inline]
    fn weight(&self, theta: f64, norm: f64) -> f64 {
        if theta == 0.0 || norm == 0.0 { 0.0 } else { (theta.abs() / norm).powi(self.power - 1).copysign(theta) * norm }
    }

    fn part(&self, theta: f64) -> f64 {
        (theta.abs() / self.scale).powi(self.power)
    }

    fn truncate(&mut self) {
        let by = self.step * self.lambda * self.due as f64;
        self.theta.iter_mut().for_each(|theta| *theta -= theta.clamp(-by, by));
        let largest = self.theta.iter().fold(0.0, |most: f64, theta| theta.abs().max(most));
        self.scale = if largest > 0.0 { largest } else { 1.0 };
        self.sum = self.theta.iter().map(|&theta| self.part(theta)).sum();
        (self.due, self.seen) = (0, 0);
    }

    fn dot(&self, row: Row) -> f64 {
        let norm = self.norm();
        let last = self.theta.len() - 1;
        row.dot_mapped(&self.theta, |_, theta| self.weight(theta, norm))
            + self.bias * self.weight(self.theta[last], norm)
    }

    fn reset(&mut self, step: f64) {
        self.theta.fill(0.0);
        self.step = step;
        self.truncate();
    }

    /// The mean objective over the sample after a pass over it; infinite if it came to nothing.
    fn trial(&mut self, step: f64, sample: &Block, objective: &Objective) -> f64 {
        self.reset(step);
        let rows = sample.rows().min(SAMPLE_ROWS);
        let weighted = || (0..rows).map(|i| (i, objective.row(&sample.info(i)))).filter(|(_, (_, c))| *c > 0.0);
        weighted().for_each(|(i, (y, c))| self.learn(sample.row(i), y, c));
        self.truncate();
        let losses: f64 = weighted().map(|(i, (y, c))| c / self.c * self.loss.value(y, self.dot(sample.row(i)))).sum();
        let norm = self.norm();
        let penalty: f64 = self.theta.iter().map(|&theta| self.weight(theta, norm).abs()).sum();
        let mean = self.lambda * penalty + losses / rows.max(1) as f64;
        if mean.is_nan() { f64::INFINITY } else { mean }
    }
}

impl<L: Loss> Online for MirrorDescent<L> {
    fn look_at(&mut self, first: &Block, objective: &Objective) {
        let mut largest = self.bias * self.bias;
        for i in 0..first.rows().min(SAMPLE_ROWS) {
            first.row(i).for_each(|_, x| largest = largest.max(x * x));
        }
        let unit = if largest > 0.0 { 1.0 / largest } else { 1.0 };
        let steps = STEPS.map(|power| unit * 4f64.powi(power));
        let tried: Vec<(f64, f64)> = steps.map(|step| (self.trial(step, first, objective), step)).collect();
        let best = tried.iter().min_by(|a, b| a.0.total_cmp(&b.0)).map_or(unit, |&(_, step)| step);
        self.reset(best);
    }

    #[inline]
    fn learn(&mut self, row: Row, y: f64, c: f64) {
        let slope = self.loss.slope(y, self.dot(row)) * c / self.c;
        self.due += 1;
        self.seen += row.len() + 1;
        if slope != 0.0 {
            let by = -self.step * slope;
            let mut sum = self.sum;
            row.for_each(|j, x| {
                let old = self.theta[j as usize];
                let new = old + by * x;
                sum += self.part(new) - self.part(old);
                self.theta[j as usize] = new;
            });
            let last = self.theta.len() - 1;
            let old = self.theta[last];
            self.theta[last] += by * self.bias;
            self.sum = sum + self.part(self.theta[last]) - self.part(old);
        }
        // Sums of large powers lose what is small beside them, so they are made anew when they have grown.
        if self.seen >= self.theta.len() || self.sum > 1e6 {
            self.truncate();
        }
    }

    fn write(&self, w: &mut [f64]) {
        let by = self.step * self.lambda * self.due as f64;
        let norm = self.norm();
        w.iter_mut().zip(&self.theta).for_each(|(w, &theta)| *w = self.weight(theta - theta.clamp(-by, by), norm));
    }
}
