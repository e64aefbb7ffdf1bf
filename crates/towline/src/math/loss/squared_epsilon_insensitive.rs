//! The squared loss outside a tube, scaled as in LIBLINEAR: without a half.
//!
//! With r = z - y: L = max(0, |r| - ε)², L*(u) = uy + ε|u| + u²/4. The step is that of the epsilon-insensitive loss
//! with 1/(2c) added to the diagonal and no bounds (Ho & Lin, JMLR 13, 2012, loss L2).
use serde::{Deserialize, Serialize};

use super::parameter::{checked_epsilon, deserialize_epsilon};
use super::{Loss, LossError, SmoothLoss};

/// max(0, |z - y| - ε)²
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SquaredEpsilonInsensitive {
    #[serde(deserialize_with = "deserialize_epsilon")]
    pub(super) epsilon: f64,
}

impl SquaredEpsilonInsensitive {
    /// A tube of half width `epsilon` ≥ 0; zero gives twice the squared loss.
    pub fn new(epsilon: f64) -> Result<Self, LossError> {
        Ok(SquaredEpsilonInsensitive { epsilon: checked_epsilon(epsilon)? })
    }

    /// The half width of the tube.
    pub fn epsilon(self) -> f64 {
        self.epsilon
    }
}

impl Loss for SquaredEpsilonInsensitive {
    #[inline]
    fn value(&self, y: f64, z: f64) -> f64 {
        let over = (z - y).abs() - self.epsilon;
        if over < 0.0 { 0.0 } else { over * over }
    }

    #[inline]
    fn slope(&self, y: f64, z: f64) -> f64 {
        let r = z - y;
        let over = r.abs() - self.epsilon;
        if over < 0.0 { 0.0 } else { 2.0 * over.copysign(r) }
    }

    fn conjugate(&self, y: f64, u: f64) -> f64 {
        u * y + u.abs() * (self.epsilon + 0.25 * u.abs())
    }

    #[inline]
    fn dual_bounds(&self, _y: f64, _c: f64) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    fn curvature(&self) -> f64 {
        2.0
    }

    #[inline]
    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        let diagonal = 0.5 / c;
        let r = z - y + diagonal * beta;
        let scale = 1.0 / (q + diagonal);
        // The optimum if it is positive, and if it is negative; at most one keeps its sign.
        let positive = beta - (r + self.epsilon) * scale;
        let negative = beta - (r - self.epsilon) * scale;
        positive.max(0.0) + negative.min(0.0)
    }

    #[inline]
    fn slack(&self, y: f64, z: f64, beta: f64, _c: f64) -> f64 {
        if beta == 0.0 { (self.epsilon - (z - y).abs()).max(0.0) } else { 0.0 }
    }

    #[inline]
    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        // By symmetry let β ≥ 0; c max(0, |r| - ε)² + εβ + β²/4c + βr is a perfect square below the tube.
        let size = beta.abs();
        let r = if beta < 0.0 { y - z } else { z - y };
        let (below, half) = (-r - self.epsilon, 0.5 * size / c);
        if below > 0.0 {
            return c * (below - half) * (below - half);
        }
        let inside = size * (0.5 * half - below);
        if r > self.epsilon { inside + c * (r - self.epsilon) * (r - self.epsilon) } else { inside }
    }
}

impl SmoothLoss for SquaredEpsilonInsensitive {
    #[inline]
    fn second(&self, y: f64, z: f64) -> f64 {
        if (z - y).abs() > self.epsilon { 2.0 } else { 0.0 }
    }
}
