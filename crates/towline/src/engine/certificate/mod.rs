//! How far from the optimum w can be at most.
//!
//! For any w and any feasible β, `F(w) - D(β) ≥ F(w) - F(w*)`, with `D(β) = -½‖v‖² - Σ c_i L*(-β_i/c_i)`,
//! `v = Σ β_i x_i`. One scan over all rows at a fixed w gives both sides exactly. v is summed anew, so rounding that
//! has crept into w cannot hide: w is then replaced by v.
//!
//! The primal side may be any vector. The scan evaluates F at several multiples of w, which costs a few loss values a
//! row, and the model is the best of them: far from the optimum, and at large C, that closes much of the gap.
pub(crate) mod proximal;
pub(crate) mod support;

use serde::{Deserialize, Serialize};

use crate::block::Row;
use crate::engine::certificate::support::SupportCount;
use crate::loss::Loss;
use crate::solver::RowState;

/// Multiples of w that are tried. The first is w itself, the last is no model at all: a run that is stopped early is
/// never worse than that.
const MULTIPLES: [f64; 9] = [1.0, 0.9995, 0.998, 0.99, 0.97, 0.92, 0.8, 1.005, 0.0];

/// The two sides of the duality gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// F at the best multiple of w.
    pub objective: f64,
    /// D.
    pub dual_objective: f64,
    /// The best multiple of w: what the model is.
    pub multiple: f64,
    /// Support vectors: rows whose dual variable is more than a trace.
    pub support: u64,
    /// Where there is no penalty at all: the bound is for weights of at most this norm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// Support vectors that no bound holds, 0 < α < C, where that was counted (SBM, section 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unbounded: Option<u64>,
    /// The largest violation of the Karush-Kuhn-Tucker conditions that the last sweep has met, where the run was to end by
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violation: Option<f64>,
}

impl Certificate {
    /// `(F - D) / F`: the objective is at most this part above the optimum.
    pub fn relative_gap(&self) -> f64 {
        let gap = self.objective - self.dual_objective;
        if gap <= 0.0 { 0.0 } else { gap / self.objective.abs().max(f64::MIN_POSITIVE) }
    }

    /// The certificate of several models as one: sums on both sides.
    pub fn total(all: &[Certificate]) -> Option<Certificate> {
        let add = |a: Certificate, b: Certificate| Certificate {
            objective: a.objective + b.objective,
            dual_objective: a.dual_objective + b.dual_objective,
            multiple: if a.multiple == b.multiple { a.multiple } else { 1.0 },
            support: a.support + b.support,
            radius: a.radius.or(b.radius),
            unbounded: a.unbounded.zip(b.unbounded).map(|(a, b)| a + b),
            violation: a.violation.zip(b.violation).map(|(a, b)| a.max(b)),
        };
        all.iter().copied().reduce(add)
    }
}

/// Margins may miss 1 by rounding, and then a large C would make something of nothing.
const SAFE: f64 = 1.0 + 1e-11;

/// The losses of rows at several multiples of one weight vector.
///
/// One more multiple is known only in the end: the least for which all margins are so large that nothing is lost. Where
/// classes can be separated and values are large, the optimum is tiny, and no fixed multiple is near enough.
#[derive(Clone, Copy, Debug)]
pub struct Losses {
    sums: [f64; MULTIPLES.len()],
    /// The least margin, as a part of the one from which on nothing is lost.
    least_margin: f64,
}

impl Default for Losses {
    fn default() -> Self {
        Losses { sums: [0.0; MULTIPLES.len()], least_margin: f64::INFINITY }
    }
}

impl Losses {
    /// Adds a row with margin z.
    #[inline]
    pub fn add<L: Loss>(&mut self, loss: L, y: f64, c: f64, z: f64) {
        for (sum, multiple) in self.sums.iter_mut().zip(MULTIPLES) {
            *sum += c * loss.value(y, multiple * z);
        }
        self.least_margin = self.least_margin.min(loss.clearance(y, z));
    }

    /// Adds a row whose loss at each multiple of its margins is known otherwise.
    #[inline]
    pub fn add_each(&mut self, clearance: f64, mut value: impl FnMut(f64) -> f64) {
        self.sums.iter_mut().zip(MULTIPLES).for_each(|(sum, multiple)| *sum += value(multiple));
        self.least_margin = self.least_margin.min(clearance);
    }

    /// The losses of these rows and of others.
    pub fn with(mut self, others: Losses) -> Losses {
        self.sums.iter_mut().zip(others.sums).for_each(|(sum, other)| *sum += other);
        self.least_margin = self.least_margin.min(others.least_margin);
        self
    }

    /// The losses where all margins are 0.
    pub fn at_zero(&self) -> f64 {
        let at_zero = self.sums.iter().zip(MULTIPLES).find(|&(_, multiple)| multiple == 0.0);
        at_zero.map_or(f64::INFINITY, |(&loss, _)| loss)
    }

    /// The least F among the multiples of `w`, and which it is, for R = ½‖w‖².
    pub fn best(&self, w: &[f64]) -> (f64, f64) {
        self.best_along(0.0, 0.5 * sq_norm(w))
    }

    /// The least F among the multiples t of weights with R(tw) = at + bt², and which it is.
    pub fn best_along(&self, a: f64, b: f64) -> (f64, f64) {
        let separating = Some((0.0, SAFE / self.least_margin)).filter(|(_, t)| *t > 0.0 && t.is_finite());
        let all = self.sums.iter().copied().zip(MULTIPLES).chain(separating);
        let objectives = all.map(|(loss, t)| (t * a + t * t * b + loss, t));
        objectives.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 1.0))
    }
}

pub fn sq_norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

/// What a scan over all rows has found so far, for R = ½‖w‖².
#[derive(Clone, Copy, Debug, Default)]
pub struct Scan {
    losses: Losses,
    conjugates: f64,
    support: SupportCount,
}

impl Scan {
    /// Adds a row with its margin at w, and its part to `v`, which is Σ βx in the end. The last entry of both is for a
    /// constant feature of value `bias`.
    #[inline]
    pub fn add<L: Loss>(&mut self, loss: L, row: Row, state: &RowState, w: &[f64], v: &mut [f64], bias: f64) -> f64 {
        let last = w.len() - 1;
        let RowState { y, c, beta, .. } = *state;
        let z = row.dot(w) + bias * w[last];
        self.losses.add(loss, y, c, z);
        self.conjugates -= loss.dual_value(y, beta, c);
        if beta != 0.0 {
            row.add_to(v, beta);
            v[last] += beta * bias;
        }
        self.support.add_row(loss, y, beta, c);
        z
    }

    /// What was found of these rows and of others.
    pub fn with(self, others: Scan) -> Scan {
        Scan {
            losses: self.losses.with(others.losses),
            conjugates: self.conjugates + others.conjugates,
            support: self.support.with(others.support),
        }
    }

    /// The certificate of all rows that were added.
    pub fn finish(self, w: &[f64], v: &[f64]) -> Certificate {
        let best = self.losses.best(w);
        Certificate {
            objective: best.0,
            dual_objective: -0.5 * sq_norm(v) - self.conjugates,
            multiple: best.1,
            support: self.support.count(),
            unbounded: Some(self.support.unbounded()),
            ..Certificate::default()
        }
    }
}
