//! How far from the optimum w can be at most, for any penalty.
//!
//! For any w and any β with R*(v) finite, `F(w) - D(β)` bounds what is above the optimum. Most penalties have a bounded
//! domain of R*, which v reaches only at the optimum. Where v = Σ βx is outside, sβ is tried: s is the largest multiple
//! that is feasible (Bonnefoy et al. 2015 scale residuals in the same way). v is known before the scan, so s is, and
//! one scan is enough; it sums v anew, and where that asks for a smaller multiple s', `D(s'sβ) ≥ s'D(sβ)` since D is
//! concave and D(0) ≥ 0.
//!
//! An unpenalised intercept needs Σβ = 0 exactly: positive or negative β, whichever weigh more, are scaled down.
//!
//! Without any penalty v = 0 would have to hold, which no scaling reaches. There the bound is for weights of norm at
//! most twice that of w: `F(w') ≥ -Σ c_i L*(-β_i/c_i) - 2‖w‖‖v‖` for all of those. By convexity, at most k times that
//! gap is left to win within k times that distance.
use crate::block::Row;
use crate::engine::certificate::support::SupportCount;
use crate::engine::certificate::{Certificate, Losses};
use crate::loss::Loss;
use crate::loss::joint::{JointLoss, JointRow};
use crate::penalty::Penalty;
use crate::solver::RowState;

/// What is scanned: weights, the sum over rows that the scan makes anew, and what weights cost.
pub struct Scanned<'a> {
    /// The weights, fixed.
    pub w: &'a [f64],
    /// The sum of rows, each times its balanced dual variable.
    pub v: &'a mut [f64],
    /// R.
    pub penalty: &'a dyn Penalty,
    /// The value of the constant feature, which is the last one.
    pub bias: f64,
    /// Whether its weight is free of the penalty.
    pub intercept: bool,
    /// Weights that lie side by side for each column.
    pub width: usize,
}

impl Scanned<'_> {
    /// How many of the weights are under the penalty: all but those of an intercept.
    fn penalised(&self) -> usize {
        self.w.len() - if self.intercept { self.width } else { 0 }
    }
}

/// What a scan over all rows has found so far.
#[derive(Default)]
pub struct ProximalScan {
    /// Multiples of all dual variables that are tried.
    scales: [f64; 2],
    /// Multiples of negative and positive dual variables before that.
    balance: [f64; 2],
    losses: Losses,
    duals: [f64; 2],
    /// What the row before added to them.
    last_values: [f64; 2],
    /// Σ|β|, against which Σβ is 0 or not.
    dual_mass: f64,
    support: SupportCount,
}

impl ProximalScan {
    /// Begins a scan, with dual variables balanced first if their sums are given.
    pub fn new(dual_sums: Option<[f64; 2]>) -> Self {
        ProximalScan { scales: [1.0; 2], balance: dual_sums.map_or([1.0; 2], balance), ..Default::default() }
    }

    /// Before the first row: tries these multiples of all dual variables.
    pub fn set_scales(&mut self, scales: [f64; 2]) {
        self.scales = scales;
    }

    /// The dual variable of a row as its bound has it.
    #[inline]
    pub fn balanced(&self, beta: f64) -> f64 {
        beta * self.balance[usize::from(beta > 0.0)]
    }

    /// Adds a row, and returns its margin.
    #[inline]
    pub fn add<L: Loss>(&mut self, loss: L, row: Row, state: &RowState, scanned: Scanned) -> f64 {
        let Scanned { w, v, bias, .. } = scanned;
        let last = w.len() - 1;
        let z = row.dot(w) + bias * w[last];
        let beta = self.add_margin(loss, state, z);
        if beta != 0.0 {
            row.add_to(v, beta);
            v[last] += beta * bias;
        }
        z
    }

    /// Adds a row with several margins, whose dual variables are balanced already; its part of v is added elsewhere.
    pub fn add_joint<M: JointLoss>(
        &mut self,
        loss: M,
        row: JointRow,
        margins: &[f64],
        duals: &[f64],
        room: &mut [f64],
    ) {
        let JointRow { target, c, .. } = row;
        self.losses.add_each(loss.clearance(target, margins), |multiple| {
            room.iter_mut().zip(margins).for_each(|(scaled, z)| *scaled = multiple * z);
            c * loss.value(target, room)
        });
        for at in 0..self.scales.len() {
            let scale = self.scales[at];
            // Mostly both are the same.
            let known = (0..at).find(|&before| self.scales[before] == scale);
            room.iter_mut().zip(duals).for_each(|(scaled, beta)| *scaled = scale * beta);
            self.last_values[at] = match known {
                Some(before) => self.last_values[before],
                None => loss.dual_value(target, room, c),
            };
            self.duals[at] += self.last_values[at];
        }
        let mass: f64 = duals.iter().map(|beta| beta.abs()).sum();
        self.dual_mass += mass;
        self.support.add(mass, c);
    }

    /// Adds a row whose margin is known, and returns what its dual variable is in Σ βx, which is summed elsewhere.
    #[inline]
    pub fn add_margin<L: Loss>(&mut self, loss: L, state: &RowState, z: f64) -> f64 {
        let RowState { y, c, beta, .. } = *state;
        self.losses.add(loss, y, c, z);
        let beta = self.balanced(beta);
        for (sum, scale) in self.duals.iter_mut().zip(self.scales) {
            *sum += loss.dual_value(y, scale * beta, c);
        }
        self.dual_mass += beta.abs();
        self.support.add_row(loss, y, beta, c);
        beta
    }

    /// The certificate of all rows that were added.
    pub fn finish(self, scanned: Scanned) -> Certificate {
        let (dual, radius) = self.dual_objective(&scanned);
        let (norm, square) = scanned.penalty.along(&scanned.w[..scanned.penalised()]);
        let best = self.losses.best_along(norm, square);
        Certificate {
            objective: best.0,
            // No loss is ever negative.
            dual_objective: dual.max(0.0),
            multiple: best.1,
            support: self.support.count(),
            radius,
            unbounded: self.support.counted_unbounded(),
            ..Certificate::default()
        }
    }

    /// The best D among the scales, and the radius within which it holds.
    fn dual_objective(&self, scanned: &Scanned) -> (f64, Option<f64>) {
        let Scanned { w, v, penalty, bias, intercept, width } = scanned;
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        if let Some(unpaid) = penalty.unpaid(&v[..scanned.penalised()]) {
            let radius = 2.0 * norm(w);
            let free = norm(&v[scanned.penalised()..]);
            return (self.duals[0] - radius * unpaid.hypot(free), Some(radius));
        }
        let constants = &v[v.len() - width..];
        if *intercept && constants.iter().any(|sum| sum.abs() > 1e-10 * self.dual_mass * bias) {
            return (f64::NEG_INFINITY, None);
        }
        let penalised = &v[..scanned.penalised()];
        let largest = penalty.feasible_scale(penalised);
        let bound = |(&scale, &dual): (&f64, &f64)| {
            let (again, scale) = if scale > largest { (largest / scale, largest) } else { (1.0, scale) };
            again * dual - penalty.conjugate(penalised, scale)
        };
        (self.scales.iter().zip(&self.duals).map(bound).fold(f64::NEG_INFINITY, f64::max), None)
    }
}

/// Multiples of negative and positive dual variables for which both add up to the same.
pub fn balance(sums: [f64; 2]) -> [f64; 2] {
    let less = sums[0].min(sums[1]);
    sums.map(|sum| if sum > less { less / sum } else { 1.0 })
}
