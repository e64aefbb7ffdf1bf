//! The hinge loss of support vector machines.
//!
//! With m = 1 - yz and α = yβ: L = max(0, m), L*(-ya) = -a on \[0, 1\]. The step is Algorithm 1 of Hsieh, Chang, Lin,
//! Keerthi & Sundararajan, "A dual coordinate descent method for large-scale linear SVM" (ICML 2008), loss L1.
use serde::{Deserialize, Serialize};

use super::{Loss, PiecewiseLinear};

/// max(0, 1 - yz)
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hinge;

impl Loss for Hinge {
    #[inline]
    fn value(&self, y: f64, z: f64) -> f64 {
        let m = 1.0 - y * z;
        if m < 0.0 { 0.0 } else { m }
    }

    #[inline]
    fn slope(&self, y: f64, z: f64) -> f64 {
        if y * z < 1.0 { -y } else { 0.0 }
    }

    fn conjugate(&self, y: f64, u: f64) -> f64 {
        let a = -y * u;
        if (0.0..=1.0).contains(&a) { -a } else { f64::INFINITY }
    }

    #[inline]
    fn dual_bounds(&self, y: f64, c: f64) -> (f64, f64) {
        if y > 0.0 { (0.0, c) } else { (-c, 0.0) }
    }

    fn curvature(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        // q = 0 needs no branch: m/q is then an infinity that the bounds stop, or 0/0, which `max` discards.
        let alpha = y * beta + (1.0 - y * z) / q;
        y * alpha.max(0.0).min(c)
    }

    #[inline]
    fn clearance(&self, y: f64, z: f64) -> f64 {
        y * z
    }

    #[inline]
    fn slack(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let (alpha, m) = (y * beta, 1.0 - y * z);
        if alpha == 0.0 {
            (-m).max(0.0)
        } else if alpha == c {
            m.max(0.0)
        } else {
            0.0
        }
    }

    #[inline]
    fn dual_gradient(&self, y: f64, z: f64, _beta: f64, _c: f64) -> f64 {
        1.0 - y * z
    }

    #[inline]
    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let (alpha, m) = (y * beta, 1.0 - y * z);
        if !(0.0..=c).contains(&alpha) {
            return f64::INFINITY;
        }
        // c max(0, m) - αm; exactly zero for a row at the right bound.
        if m > 0.0 { (c - alpha) * m } else { -alpha * m }
    }

    fn ceiling_margin(&self, s: f64) -> Option<f64> {
        Some(-s)
    }
}

impl PiecewiseLinear for Hinge {
    const TERMS: usize = 1;

    #[inline(always)]
    fn term(&self, y: f64, _k: usize) -> (f64, f64) {
        (y, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_at_the_right_bound_owes_nothing() {
        assert_eq!(Hinge.gap(1.0, -3.0, 0.3, 0.3), 0.0);
        assert_eq!(Hinge.gap(-1.0, -3.0, 0.0, 0.3), 0.0);
        assert_eq!(Hinge.gap(1.0, 3.0, 0.25, 0.5), 0.5);
    }

    #[test]
    fn the_gap_keeps_its_digits() {
        let hair = 2f64.powi(-50);
        assert_eq!(Hinge.gap(1.0, -0.3, 1.0 - hair, 1.0), 1.3 * hair);
    }

    #[test]
    fn an_empty_row_goes_to_its_bound() {
        assert_eq!(Hinge.dual_step(-1.0, 0.0, -0.1, 0.0, 2.0), -2.0);
        assert_eq!(Hinge.dual_step(1.0, 1.0, 0.1, 0.0, 2.0), 0.0);
    }
}
