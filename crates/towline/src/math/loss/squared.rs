//! The squared loss of ridge regression.
//!
//! With r = z - y: L = ½r², L*(u) = uy + ½u². The step is the exact solution of one row, as in Shalev-Shwartz & Zhang,
//! "Stochastic dual coordinate ascent methods for regularized loss minimization" (JMLR 14, 2013).
use serde::{Deserialize, Serialize};

use super::{Loss, SmoothLoss};

/// ½(z - y)²
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Squared;

impl Loss for Squared {
    #[inline]
    fn value(&self, y: f64, z: f64) -> f64 {
        0.5 * (z - y) * (z - y)
    }

    #[inline]
    fn slope(&self, y: f64, z: f64) -> f64 {
        z - y
    }

    fn conjugate(&self, y: f64, u: f64) -> f64 {
        u * (y + 0.5 * u)
    }

    #[inline]
    fn dual_bounds(&self, _y: f64, _c: f64) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    fn curvature(&self) -> f64 {
        1.0
    }

    #[inline]
    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        let diagonal = 1.0 / c;
        beta - (z - y + diagonal * beta) / (q + diagonal)
    }

    #[inline]
    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let off = z - y + beta / c;
        0.5 * c * off * off
    }
}

impl SmoothLoss for Squared {
    #[inline]
    fn second(&self, _y: f64, _z: f64) -> f64 {
        1.0
    }

    fn is_quadratic(&self) -> bool {
        true
    }
}
