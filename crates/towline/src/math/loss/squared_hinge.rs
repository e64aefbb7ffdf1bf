//! The squared hinge loss, scaled as in LIBLINEAR: without a half.
//!
//! With m = 1 - yz and α = yβ: L = max(0, m)², L*(-ya) = a²/4 - a for a ≥ 0. The step is Algorithm 1 of Hsieh et al.
//! (ICML 2008), loss L2: the hinge step with 1/(2c) added to the diagonal and no upper bound.
use serde::{Deserialize, Serialize};

use super::{Loss, SmoothLoss};

/// max(0, 1 - yz)²
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SquaredHinge;

impl Loss for SquaredHinge {
    #[inline]
    fn value(&self, y: f64, z: f64) -> f64 {
        let m = 1.0 - y * z;
        if m < 0.0 { 0.0 } else { m * m }
    }

    #[inline]
    fn slope(&self, y: f64, z: f64) -> f64 {
        let m = 1.0 - y * z;
        if m < 0.0 { 0.0 } else { -2.0 * y * m }
    }

    fn conjugate(&self, y: f64, u: f64) -> f64 {
        let a = -y * u;
        if a >= 0.0 { a * (0.25 * a - 1.0) } else { f64::INFINITY }
    }

    #[inline]
    fn dual_bounds(&self, y: f64, _c: f64) -> (f64, f64) {
        if y > 0.0 { (0.0, f64::INFINITY) } else { (f64::NEG_INFINITY, 0.0) }
    }

    fn curvature(&self) -> f64 {
        2.0
    }

    #[inline]
    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        let (alpha, diagonal) = (y * beta, 0.5 / c);
        let alpha = alpha + (1.0 - y * z - diagonal * alpha) / (q + diagonal);
        y * alpha.max(0.0)
    }

    #[inline]
    fn clearance(&self, y: f64, z: f64) -> f64 {
        y * z
    }

    #[inline]
    fn slack(&self, y: f64, z: f64, beta: f64, _c: f64) -> f64 {
        if beta == 0.0 { (y * z - 1.0).max(0.0) } else { 0.0 }
    }

    #[inline]
    fn dual_gradient(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        1.0 - y * z - 0.5 * y * beta / c
    }

    #[inline]
    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let (alpha, m) = (y * beta, 1.0 - y * z);
        if alpha < 0.0 {
            return f64::INFINITY;
        }
        // c max(0, m)² + α²/4c - αm, a perfect square for m > 0.
        let half = 0.5 * alpha / c;
        if m > 0.0 { c * (m - half) * (m - half) } else { alpha * (0.5 * half - m) }
    }

    fn ceiling_margin(&self, s: f64) -> Option<f64> {
        Some(1.0 - (1.0 + s).sqrt())
    }
}

impl SmoothLoss for SquaredHinge {
    #[inline]
    fn second(&self, y: f64, z: f64) -> f64 {
        if y * z < 1.0 { 2.0 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_keeps_its_digits() {
        // β off the optimum 2cm by a relative 1e-9: the three terms agree to eighteen digits.
        let (c, m) = (1e3, 0.5);
        let beta = 2.0 * c * m * (1.0 + 1e-9);
        let expected = c * (m * 1e-9) * (m * 1e-9);
        assert!((SquaredHinge.gap(1.0, 1.0 - m, beta, c) / expected - 1.0).abs() < 1e-6);
    }
}
