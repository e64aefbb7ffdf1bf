//! Weights that may not be below 0 (non-negative least squares, Lawson & Hanson 1974, and the lasso with that bound).
use serde::{Deserialize, Serialize};

use super::{ElasticTerms, Listed, Penalty, ROUNDING, Structure};

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

    fn dual_scales(&self, v: &[f64]) -> [f64; 2] {
        [self.feasible_scale(v), self.linear_part().feasible_scale(v)]
    }

    fn unpaid(&self, v: &[f64]) -> Option<f64> {
        (self.lambda == 0.0).then(|| v.iter().map(|v| v.max(0.0)).map(|v| v * v).sum::<f64>().sqrt())
    }
}

impl Listed for NonNegative {
    fn lambda(&self) -> f64 {
        self.lambda
    }

    fn with_lambda(&self, lambda: f64) -> Self {
        NonNegative { lambda, ..*self }
    }

    fn structure(&self) -> Structure<'_> {
        let (l1, l2) = self.parts();
        Structure::Coordinates(ElasticTerms { l1, l2, non_negative: true })
    }

    fn least_lambda(&self, v: &[f64]) -> Option<f64> {
        (self.l1_ratio > 0.0).then(|| highest(v) / self.l1_ratio)
    }

    fn non_negative(&self) -> Option<NonNegative> {
        Some(*self)
    }

    fn describe(&self, _name: &str) -> String {
        match self.lambda == 0.0 {
            true => "no penalty, weights from 0 on".to_string(),
            false => {
                let NonNegative { lambda, l1_ratio } = self;
                format!("elastic-net penalty, lambda = {lambda}, l1 ratio {l1_ratio}, weights from 0 on")
            }
        }
    }
}

/// The largest number, or 0 if none is above it.
pub(super) fn highest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most, x| x.max(most))
}
