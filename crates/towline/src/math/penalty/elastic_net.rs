//! The elastic net (Zou & Hastie 2005): sparse as the lasso, and features that say the same share their weight.
use serde::{Deserialize, Serialize};

use super::{ElasticTerms, L1, L2, Listed, NonNegative, Penalty, PenaltyError, Structure, largest, soft};

/// λ(ρ‖w‖₁ + (1-ρ)/2 ‖w‖²)
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElasticNet {
    /// λ, above 0.
    pub lambda: f64,
    /// ρ in \[0, 1\]: 1 is the lasso, 0 the ridge penalty.
    pub l1_ratio: f64,
}

impl ElasticNet {
    /// The ratio is a share.
    pub fn new(lambda: f64, l1_ratio: f64) -> Result<Self, PenaltyError> {
        match (0.0..=1.0).contains(&l1_ratio) {
            true => Ok(ElasticNet { lambda, l1_ratio }),
            false => Err(PenaltyError::Ratio { ratio: l1_ratio }),
        }
    }

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

    /// Inside the ball of the l1 part, the conjugate is 0; which side wins depends on how small the other part is.
    fn dual_scales(&self, v: &[f64]) -> [f64; 2] {
        [self.feasible_scale(v), self.parts().0.feasible_scale(v)]
    }
}

impl Listed for ElasticNet {
    fn lambda(&self) -> f64 {
        self.lambda
    }

    fn with_lambda(&self, lambda: f64) -> Self {
        ElasticNet { lambda, ..*self }
    }

    fn structure(&self) -> Structure<'_> {
        let (l1, l2) = self.parts();
        Structure::Coordinates(ElasticTerms { l1: l1.lambda, l2: l2.lambda, non_negative: false })
    }

    fn least_lambda(&self, v: &[f64]) -> Option<f64> {
        (self.l1_ratio > 0.0).then(|| largest(v) / self.l1_ratio)
    }

    fn non_negative(&self) -> Option<NonNegative> {
        Some(NonNegative { lambda: self.lambda, l1_ratio: self.l1_ratio })
    }

    fn describe(&self, name: &str) -> String {
        format!("{name} penalty, lambda = {}, l1 ratio {}", self.lambda, self.l1_ratio)
    }
}
