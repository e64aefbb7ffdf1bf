//! The lasso's penalty (Tibshirani 1996): most weights are exactly 0.
use serde::{Deserialize, Serialize};

use super::{ElasticTerms, Listed, NonNegative, Penalty, ROUNDING, Structure, largest, soft};

/// λ‖w‖₁
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct L1 {
    /// λ, above 0.
    pub lambda: f64,
}

impl Penalty for L1 {
    fn along(&self, w: &[f64]) -> (f64, f64) {
        (self.lambda * w.iter().map(|w| w.abs()).sum::<f64>(), 0.0)
    }

    fn prox(&self, eta: f64, u: &mut [f64]) {
        u.iter_mut().for_each(|u| *u = soft(*u, eta * self.lambda));
    }

    fn conjugate(&self, v: &[f64], scale: f64) -> f64 {
        if scale * largest(v) <= self.lambda * (1.0 + ROUNDING) { 0.0 } else { f64::INFINITY }
    }

    fn feasible_scale(&self, v: &[f64]) -> f64 {
        (self.lambda / largest(v)).min(1.0)
    }
}

impl Listed for L1 {
    fn lambda(&self) -> f64 {
        self.lambda
    }

    fn with_lambda(&self, lambda: f64) -> Self {
        L1 { lambda }
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Coordinates(ElasticTerms::l1(self.lambda))
    }

    fn least_lambda(&self, v: &[f64]) -> Option<f64> {
        Some(largest(v))
    }

    fn non_negative(&self) -> Option<NonNegative> {
        Some(NonNegative { lambda: self.lambda, l1_ratio: 1.0 })
    }
}
