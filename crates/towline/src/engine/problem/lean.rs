//! `w = v` for R = ½‖w‖² in one dense vector, where memory has no room for a second one.
//!
//! A scan at w finds the losses, the conjugates and `Σ βz = w·v`, without v = Σ βx itself. With `e = ‖w - v‖`, what
//! rounding has added up to, `½‖v‖² = w·v - ½‖w‖² + ½e²`, so that the dual objective is at least
//! `½‖w‖² - Σ βz - ½e² - Σ c L*`: an error that is squared. A step w ← w + δx rounds each product and each sum, which
//! moves w by at most u(‖δx‖ + ‖w‖) (u: half of a unit in the last place; Higham 2002, section 2.2). Dual objectives
//! rise from step to step, and `-L*(-β/c) ≤ L(0)`, so that `½‖v‖² ≤ F(0) - D` of the start at any time, and with that V
//! for ‖v‖ it is `e ≤ 3uV` per step; 4 leaves room for what is of second order. After 1e9 steps ½e² is 1e-13 of V².
use crate::block::Row;
use crate::engine::certificate::support::SupportCount;
use crate::engine::certificate::{Certificate, Losses, sq_norm};
use crate::engine::problem::link::{Link, SingleLink};
use crate::engine::problem::{ProximalSteps, Resume};
use crate::loss::Loss;
use crate::prefetch::large_zeroed;
use crate::solver::{RowState, Weights, add_with_bias, margin_with_bias};

/// One vector of weights, and what is known of its rounding.
pub struct Lean {
    w: Vec<f64>,
    bias: f64,
    /// Steps since w was 0 or was summed.
    steps: u64,
    /// Whether w is the sum of dual variables that were there before the first step.
    is_summed: bool,
    /// The dual objective at the beginning, if it is less than 0.
    start: f64,
    scan: Scan,
}

/// What a scan has found so far.
#[derive(Clone, Copy, Default)]
struct Scan {
    /// Whether it sums up w from dual variables; the losses are those of w = 0 then.
    sums: bool,
    losses: Losses,
    conjugates: f64,
    /// Σ βz.
    products: f64,
    support: SupportCount,
}

impl Lean {
    /// Dense vectors that it holds.
    pub const VECTORS: u64 = 1;

    /// w = 0 for so many columns and a constant feature.
    pub fn new(columns: usize, bias: f64) -> Self {
        let w = large_zeroed(columns + 1);
        Lean { w, bias, steps: 0, is_summed: false, start: 0.0, scan: Scan::default() }
    }

    /// ½e².
    fn rounding(&self) -> f64 {
        let most_sq = 2.0 * (self.scan.losses.at_zero() - self.start);
        let relative = 4.0 * (f64::EPSILON / 2.0) * self.steps as f64;
        0.5 * relative * relative * most_sq
    }
}

impl Weights for Lean {
    #[inline(always)]
    fn margin(&self, row: Row) -> f64 {
        margin_with_bias(row, &self.w, self.bias)
    }

    #[inline(always)]
    fn add(&mut self, row: Row, delta: f64) {
        add_with_bias(row, &mut self.w, self.bias, delta);
        self.steps += 1;
    }

    #[inline(always)]
    fn curvature(&self, sq_norm: f64) -> f64 {
        sq_norm
    }
}

impl ProximalSteps for Lean {}

impl Resume for Lean {}

impl Link for Lean {
    fn weights(&self) -> &[f64] {
        &self.w
    }

    fn into_weights(self) -> Vec<f64> {
        self.w
    }

    fn can_remember(&self) -> bool {
        false
    }
}

impl SingleLink for Lean {
    fn begin_scan(&mut self, _dual_sums: [f64; 2]) {
        // Before the first step w may have to follow dual variables that came from elsewhere.
        let sums = self.steps == 0 && !self.is_summed;
        if sums {
            self.w.fill(0.0);
        }
        self.scan = Scan { sums, ..Scan::default() };
    }

    #[inline]
    fn scan<L: Loss>(&mut self, loss: L, row: Row, state: &RowState) -> f64 {
        let RowState { y, c, beta, .. } = *state;
        let z = if self.scan.sums { 0.0 } else { self.margin(row) };
        self.scan.losses.add(loss, y, c, z);
        self.scan.conjugates -= loss.dual_value(y, beta, c);
        self.scan.support.add_row(loss, y, beta, c);
        if beta != 0.0 {
            self.scan.products += beta * z;
            if self.scan.sums {
                add_with_bias(row, &mut self.w, self.bias, beta);
                self.steps += 1;
            }
        }
        z
    }

    fn end_scan(&mut self) -> Certificate {
        let Scan { sums, losses, conjugates, products, support } = self.scan;
        let (support, unbounded) = (support.count(), Some(support.unbounded()));
        let half_sq_norm = 0.5 * sq_norm(&self.w);
        if sums {
            let dual_objective = -half_sq_norm - conjugates;
            // How good the sum is, the next scan tells.
            (self.is_summed, self.start) = (true, dual_objective.min(0.0));
            return Certificate {
                objective: losses.at_zero(),
                dual_objective,
                multiple: 0.0,
                support,
                ..Certificate::default()
            };
        }
        let (objective, multiple) = losses.best_along(0.0, half_sq_norm);
        let half_sum = products - half_sq_norm + self.rounding();
        Certificate {
            objective,
            dual_objective: -half_sum - conjugates,
            multiple,
            support,
            unbounded,
            ..Certificate::default()
        }
    }
}
