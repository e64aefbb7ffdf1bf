//! The loss of support vector regression: free inside a tube, linear outside.
//!
//! With r = z - y: L = max(0, |r| - ε), L*(u) = uy + ε|u| on \[-1, 1\]. The step is a soft threshold, as in Ho & Lin,
//! "Large-scale linear support vector regression" (JMLR 13, 2012), loss L1.
use serde::{Deserialize, Serialize};

use super::parameter::{checked_epsilon, deserialize_epsilon};
use super::{Loss, LossError, PiecewiseLinear};

/// max(0, |z - y| - ε)
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpsilonInsensitive {
    #[serde(deserialize_with = "deserialize_epsilon")]
    pub(super) epsilon: f64,
}

impl EpsilonInsensitive {
    /// A tube of half width `epsilon` ≥ 0; zero gives the absolute loss.
    pub fn new(epsilon: f64) -> Result<Self, LossError> {
        Ok(EpsilonInsensitive { epsilon: checked_epsilon(epsilon)? })
    }

    /// The half width of the tube.
    pub fn epsilon(self) -> f64 {
        self.epsilon
    }
}

impl Loss for EpsilonInsensitive {
    #[inline]
    fn value(&self, y: f64, z: f64) -> f64 {
        let over = (z - y).abs() - self.epsilon;
        if over < 0.0 { 0.0 } else { over }
    }

    #[inline]
    fn slope(&self, y: f64, z: f64) -> f64 {
        let r = z - y;
        if r.abs() > self.epsilon { r.signum() } else { 0.0 }
    }

    fn conjugate(&self, y: f64, u: f64) -> f64 {
        if u.abs() <= 1.0 { u * y + self.epsilon * u.abs() } else { f64::INFINITY }
    }

    #[inline]
    fn dual_bounds(&self, _y: f64, c: f64) -> (f64, f64) {
        (-c, c)
    }

    fn curvature(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        let r = z - y;
        // The optimum if it is positive, and if it is negative; at most one of the two keeps its sign, and if neither
        // does the optimum is zero. q = 0 gives infinities that the bounds stop, or 0/0, which `max` and `min` discard.
        let positive = beta - (r + self.epsilon) / q;
        let negative = beta - (r - self.epsilon) / q;
        (positive.max(0.0) + negative.min(0.0)).max(-c).min(c)
    }

    #[inline]
    fn slack(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let r = z - y;
        if beta == 0.0 {
            (self.epsilon - r.abs()).max(0.0)
        } else if beta.abs() == c {
            // A target above the margin pushes β up, so its bound is the upper one.
            (-r * beta.signum() - self.epsilon).max(0.0)
        } else {
            0.0
        }
    }

    #[inline]
    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let size = beta.abs();
        if size > c {
            return f64::INFINITY;
        }
        // By symmetry let β ≥ 0, which pulls the residual up. Then c max(0, |r| - ε) + εβ + βr falls apart by where r
        // is.
        let r = if beta < 0.0 { y - z } else { z - y };
        let below = -r - self.epsilon;
        if below > 0.0 {
            (c - size) * below
        } else if r > self.epsilon {
            c * (r - self.epsilon) - size * below
        } else {
            -size * below
        }
    }
}

impl PiecewiseLinear for EpsilonInsensitive {
    const TERMS: usize = 2;

    #[inline(always)]
    fn term(&self, y: f64, k: usize) -> (f64, f64) {
        if k == 0 { (1.0, y - self.epsilon) } else { (-1.0, -y - self.epsilon) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_row_goes_to_a_bound_or_to_zero() {
        let loss = EpsilonInsensitive::new(0.5).unwrap();
        assert_eq!(loss.dual_step(3.0, 0.0, 0.1, 0.0, 2.0), 2.0);
        assert_eq!(loss.dual_step(-3.0, 0.0, 0.1, 0.0, 2.0), -2.0);
        assert_eq!(loss.dual_step(0.4, 0.0, 0.1, 0.0, 2.0), 0.0);
        assert_eq!(loss.dual_step(0.5, 0.0, 0.1, 0.0, 2.0), 0.0);
    }

    #[test]
    fn a_row_at_the_right_bound_owes_nothing() {
        let loss = EpsilonInsensitive::new(0.1).unwrap();
        assert_eq!(loss.gap(5.0, 3.3, 0.7, 0.7), 0.0);
        assert_eq!(loss.gap(-5.0, 3.3, -0.7, 0.7), 0.0);
        assert_eq!(loss.gap(1.0, 1.05, 0.0, 0.7), 0.0);
    }

    #[test]
    fn the_gap_keeps_its_digits() {
        let (loss, hair) = (EpsilonInsensitive::new(0.0).unwrap(), 2f64.powi(-50));
        assert_eq!(loss.gap(0.0, -1.3, 1.0 - hair, 1.0), 1.3 * hair);
    }
}
