//! The ridge penalty: strongly convex, so that v alone determines w.
use serde::{Deserialize, Serialize};

use super::{ElasticTerms, Listed, NonNegative, Penalty, Structure, sq_norm};

/// λ/2 ‖w‖²
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct L2 {
    /// λ, above 0.
    pub lambda: f64,
}

impl Penalty for L2 {
    fn along(&self, w: &[f64]) -> (f64, f64) {
        (0.0, 0.5 * self.lambda * sq_norm(w))
    }

    fn prox(&self, eta: f64, u: &mut [f64]) {
        let factor = 1.0 / (1.0 + eta * self.lambda);
        u.iter_mut().for_each(|u| *u *= factor);
    }

    fn conjugate(&self, v: &[f64], scale: f64) -> f64 {
        scale * scale * sq_norm(v) / (2.0 * self.lambda)
    }

    fn feasible_scale(&self, _v: &[f64]) -> f64 {
        1.0
    }

    fn strong_convexity(&self) -> f64 {
        self.lambda
    }

    fn determines_weights(&self) -> bool {
        true
    }
}

impl Listed for L2 {
    fn lambda(&self) -> f64 {
        self.lambda
    }

    fn with_lambda(&self, lambda: f64) -> Self {
        L2 { lambda }
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Coordinates(ElasticTerms { l1: 0.0, l2: self.lambda, non_negative: false })
    }

    fn least_lambda(&self, _v: &[f64]) -> Option<f64> {
        None
    }

    fn non_negative(&self) -> Option<NonNegative> {
        Some(NonNegative { lambda: self.lambda, l1_ratio: 0.0 })
    }
}
