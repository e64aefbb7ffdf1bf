//! Weights that may not be below 0 (non-negative least squares, Lawson & Hanson 1974, and the lasso with that bound).
use serde::{Deserialize, Serialize};

use super::{Penalty, ROUNDING};

/// λ(ρ Σ w_j + (1-ρ)/2 ‖w‖²) for w ≥ 0, infinite elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NonNegative {
    /// λ, from 0 on: with 0 there is the bound alone.
    pub lambda: f64,
    /// ρ in \[0, 1\].
    pub l1_ratio: f64,
}

impl NonNegative {
    /// λρ and λ(1-ρ).
    pub fn parts(&self) -> (f64, f64) {
        (self.lambda * self.l1_ratio, self.lambda * (1.0 - self.l1_ratio))
    }

    /// The same without the squares.
    pub fn linear_part(&self) -> NonNegative {
        NonNegative { lambda: self.parts().0, l1_ratio: 1.0 }
    }
}

impl Penalty for NonNegative {
    fn along(&self, w: &[f64]) -> (f64, f64) {
        if w.iter().any(|&w| w < 0.0) {
            // Infinite for every t > 0, and 0 for t = 0, where infinity would be no number.
            return (f64::MAX, 0.0);
        }
        let (l1, l2) = self.parts();
        (l1 * w.iter().sum::<f64>(), 0.5 * l2 * super::sq_norm(w))
    }

    fn prox(&self, eta: f64, u: &mut [f64]) {
        let (l1, l2) = self.parts();
        u.iter_mut().for_each(|u| *u = (*u - eta * l1).max(0.0) / (1.0 + eta * l2));
    }

    fn conjugate(&self, v: &[f64], scale: f64) -> f64 {
        let (l1, l2) = self.parts();
        if l2 == 0.0 {
            return if scale * highest(v) <= l1 * (1.0 + ROUNDING) { 0.0 } else { f64::INFINITY };
        }
        v.iter().map(|&v| (scale * v - l1).max(0.0)).map(|excess| excess * excess).sum::<f64>() / (2.0 * l2)
    }

    fn feasible_scale(&self, v: &[f64]) -> f64 {
        let ((l1, l2), most) = (self.parts(), highest(v));
        if l2 > 0.0 || most <= l1 { 1.0 } else { l1 / most }
    }

    fn strong_convexity(&self) -> f64 {
        self.parts().1
    }
}

/// The largest number, or 0 if none is above it.
pub(super) fn highest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most, x| x.max(most))
}
