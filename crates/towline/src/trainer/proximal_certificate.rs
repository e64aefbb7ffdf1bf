//! How far from the optimum w can be at most, for any penalty.
//!
//! For any w and any β with R*(v) finite, `F(w) - D(β)` bounds what is above the optimum. Most penalties have a bounded domain of R*, which
//! v reaches only at the optimum. Where v = Σ βx is outside, sβ is tried: s is the largest multiple that is feasible
//! (Bonnefoy et al. 2015 scale residuals in the same way). v is known before the scan, so s is, and one scan is enough;
//! it sums v anew, and where that asks for a smaller multiple s', `D(s'sβ) ≥ s'D(sβ)` since D is concave and D(0) ≥ 0.
//!
//! An unpenalised intercept needs Σβ = 0 exactly: positive or negative β, whichever weigh more, are scaled down.
//!
//! Without any penalty v = 0 would have to hold, which no scaling reaches. There the bound is for weights of norm at most
//! twice that of w: `F(w') ≥ -Σ c_i L*(-β_i/c_i) - 2‖w‖‖v‖` for all of those. By convexity, at most k times that gap is left to win within k times that distance.
use super::certificate::{Certificate, Losses};
use super::link::RowScan;
use crate::block::Row;
use crate::loss::Loss;
use crate::penalty::{AnyPenalty, Penalty};
use crate::working_set::RowState;

/// A scan over all rows.
pub struct ProximalScan<'a> {
    w: &'a [f64],
    v: &'a mut [f64],
    penalty: &'a AnyPenalty,
    bias: f64,
    intercept: bool,
    /// Multiples of all dual variables that are tried.
    scales: [f64; 2],
    /// Multiples of negative and positive dual variables before that.
    balance: [f64; 2],
    losses: Losses,
    duals: [f64; 2],
    /// Σ|β|, against which Σβ is 0 or not.
    dual_mass: f64,
    support: u64,
}

impl<'a> ProximalScan<'a> {
    /// Begins a scan at `w`; `v` becomes the sum of rows, each times its balanced dual variable.
    pub fn new(
        w: &'a [f64],
        v: &'a mut [f64],
        penalty: &'a AnyPenalty,
        (bias, intercept): (f64, bool),
        scales: [f64; 2],
        dual_sums: Option<[f64; 2]>,
    ) -> Self {
        v.fill(0.0);
        ProximalScan {
            w,
            v,
            penalty,
            bias,
            intercept,
            scales: if matches!(penalty, AnyPenalty::None(_)) { [1.0; 2] } else { scales },
            balance: dual_sums.map_or([1.0; 2], balance),
            losses: Losses::default(),
            duals: [0.0; 2],
            dual_mass: 0.0,
            support: 0,
        }
    }

    /// The best D among the scales, and the radius within which it holds.
    fn dual_objective(&self) -> (f64, Option<f64>) {
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        if matches!(self.penalty, AnyPenalty::None(_)) {
            let radius = 2.0 * norm(self.w);
            return (self.duals[0] - radius * norm(self.v), Some(radius));
        }
        let last = self.v.len() - 1;
        if self.intercept && self.v[last].abs() > 1e-10 * self.dual_mass * self.bias {
            return (f64::NEG_INFINITY, None);
        }
        let penalised = &self.v[..self.v.len() - usize::from(self.intercept)];
        let largest = self.penalty.feasible_scale(penalised);
        let bound = |(&scale, &dual): (&f64, &f64)| {
            let (again, scale) = if scale > largest { (largest / scale, largest) } else { (1.0, scale) };
            again * dual - self.penalty.conjugate(penalised, scale)
        };
        (self.scales.iter().zip(&self.duals).map(bound).fold(f64::NEG_INFINITY, f64::max), None)
    }
}

/// Multiples of negative and positive dual variables for which both add up to the same.
fn balance(sums: [f64; 2]) -> [f64; 2] {
    let less = sums[0].min(sums[1]);
    sums.map(|sum| if sum > less { less / sum } else { 1.0 })
}

impl RowScan for ProximalScan<'_> {
    #[inline]
    fn add<L: Loss>(&mut self, loss: L, row: Row, state: &RowState) -> f64 {
        let last = self.w.len() - 1;
        let RowState { y, c, beta, .. } = *state;
        let z = row.dot(self.w) + self.bias * self.w[last];
        self.losses.add(loss, y, c, z);
        let beta = beta * self.balance[usize::from(beta > 0.0)];
        for (sum, scale) in self.duals.iter_mut().zip(self.scales) {
            *sum += loss.dual_value(y, scale * beta, c);
        }
        if beta != 0.0 {
            row.add_to(self.v, beta);
            self.v[last] += beta * self.bias;
            self.dual_mass += beta.abs();
            self.support += 1;
        }
        z
    }

    fn finish(self) -> Certificate {
        let penalised = self.w.len() - usize::from(self.intercept);
        let (norm, square) = self.penalty.along(&self.w[..penalised]);
        let best = self.losses.best_along(norm, square);
        let (dual, radius) = self.dual_objective();
        Certificate {
            objective: best.0,
            // No loss is ever negative.
            dual_objective: dual.max(0.0),
            multiple: best.1,
            support: self.support,
            radius,
        }
    }
}
