//! The pinball loss of quantile regression (Koenker & Bassett 1978): its minimiser has a part τ of the targets below
//! it.
//!
//! With r = z - y: L = -τr below the target and (1 - τ)r above it, L*(u) = uy on \[-τ, 1 - τ\].
use serde::{Deserialize, Serialize};

use super::parameter::{checked_quantile, deserialize_quantile};
use super::{Loss, LossError, PiecewiseLinear};

/// max(-τ(z - y), (1 - τ)(z - y))
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    #[serde(deserialize_with = "deserialize_quantile")]
    pub(super) quantile: f64,
}

impl Quantile {
    /// The quantile τ, between 0 and 1; one half gives the median, and half of the absolute loss.
    pub fn new(quantile: f64) -> Result<Self, LossError> {
        Ok(Quantile { quantile: checked_quantile(quantile)? })
    }

    /// τ.
    pub fn quantile(self) -> f64 {
        self.quantile
    }
}

impl Loss for Quantile {
    #[inline]
    fn value(&self, y: f64, z: f64) -> f64 {
        let r = z - y;
        (-self.quantile * r).max((1.0 - self.quantile) * r)
    }

    #[inline]
    fn slope(&self, y: f64, z: f64) -> f64 {
        if z < y {
            -self.quantile
        } else if z > y {
            1.0 - self.quantile
        } else {
            0.0
        }
    }

    fn conjugate(&self, y: f64, u: f64) -> f64 {
        if (-self.quantile..=1.0 - self.quantile).contains(&u) { u * y } else { f64::INFINITY }
    }

    #[inline]
    fn dual_bounds(&self, _y: f64, c: f64) -> (f64, f64) {
        (-(1.0 - self.quantile) * c, self.quantile * c)
    }

    fn curvature(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        let (low, high) = self.dual_bounds(y, c);
        let best = beta - (z - y) / q;
        // An empty row whose target is met is happy with any β.
        if best.is_nan() && z == y { beta.clamp(low, high) } else { best.max(low).min(high) }
    }

    #[inline]
    fn slack(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let (low, high) = self.dual_bounds(y, c);
        // A target above the margin pushes β up, so its bound is the upper one.
        if beta == high {
            (y - z).max(0.0)
        } else if beta == low {
            (z - y).max(0.0)
        } else {
            0.0
        }
    }

    fn dual_value(&self, y: f64, beta: f64, c: f64) -> f64 {
        let (low, high) = self.dual_bounds(y, c);
        if (low..=high).contains(&beta) { beta * y } else { f64::NEG_INFINITY }
    }

    #[inline]
    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let ((low, high), r) = (self.dual_bounds(y, c), z - y);
        if beta < low || beta > high {
            return f64::INFINITY;
        }
        // cL + cL* + βz = cL(r) + βr.
        if r < 0.0 { (high - beta) * -r } else { (beta - low) * r }
    }
}

impl PiecewiseLinear for Quantile {
    const TERMS: usize = 2;

    #[inline(always)]
    fn term(&self, y: f64, k: usize) -> (f64, f64) {
        let s = if k == 0 { self.quantile } else { self.quantile - 1.0 };
        (s, s * y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_constant_is_the_quantile() {
        let (loss, targets) = (Quantile::new(0.7).unwrap(), [1.0, 2.0, 3.0, 4.0, 50.0]);
        let cost = |z: f64| targets.iter().map(|&y| loss.value(y, z)).sum::<f64>();
        assert!(cost(4.0) < cost(3.9) && cost(4.0) < cost(4.1));
        let median = Quantile::new(0.5).unwrap();
        assert_eq!(median.value(3.0, 7.0), 2.0);
    }

    #[test]
    fn an_empty_row_goes_to_a_bound_or_stays() {
        let loss = Quantile::new(0.25).unwrap();
        assert_eq!(loss.dual_step(3.0, 0.0, 0.1, 0.0, 2.0), 0.5);
        assert_eq!(loss.dual_step(-3.0, 0.0, 0.1, 0.0, 2.0), -1.5);
        assert_eq!(loss.dual_step(0.0, 0.0, 0.1, 0.0, 2.0), 0.1);
    }
}
