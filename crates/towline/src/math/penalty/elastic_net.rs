//! The elastic net (Zou & Hastie 2005): sparse as the lasso, and features that say the same share their weight.
use serde::{Deserialize, Serialize};

use super::{L1, L2, Penalty, soft};

/// λ(ρ‖w‖₁ + (1-ρ)/2 ‖w‖²)
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElasticNet {
    /// λ, above 0.
    pub lambda: f64,
    /// ρ in \[0, 1\]: 1 is the lasso, 0 the ridge penalty.
    pub l1_ratio: f64,
}

impl ElasticNet {
    /// The two penalties that it is the sum of.
    pub fn parts(&self) -> (L1, L2) {
        (L1 { lambda: self.lambda * self.l1_ratio }, L2 { lambda: self.lambda * (1.0 - self.l1_ratio) })
    }
}

impl Penalty for ElasticNet {
    fn along(&self, w: &[f64]) -> (f64, f64) {
        let (l1, l2) = self.parts();
        (l1.along(w).0, l2.along(w).1)
    }

    fn prox(&self, eta: f64, u: &mut [f64]) {
        let (l1, l2) = self.parts();
        l1.prox(eta, u);
        l2.prox(eta, u);
    }

    fn conjugate(&self, v: &[f64], scale: f64) -> f64 {
        let (l1, l2) = self.parts();
        if l2.lambda == 0.0 {
            return l1.conjugate(v, scale);
        }
        let excess: f64 = v.iter().map(|&v| soft(scale * v, l1.lambda)).map(|excess| excess * excess).sum();
        excess / (2.0 * l2.lambda)
    }

    fn feasible_scale(&self, v: &[f64]) -> f64 {
        let (l1, l2) = self.parts();
        if l2.lambda == 0.0 { l1.feasible_scale(v) } else { 1.0 }
    }

    fn strong_convexity(&self) -> f64 {
        self.parts().1.lambda
    }
}
