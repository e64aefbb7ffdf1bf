//! The Huber loss: squared for small residuals, linear for large ones.
//!
//! With r = z - y: L = ½r² for |r| ≤ δ and δ|r| - ½δ² beyond, L*(u) = uy + ½u² on \[-δ, δ\] (Huber, "Robust estimation
//! of a location parameter", Annals of Mathematical Statistics 35, 1964). In the dual it is the squared loss with
//! bounds, so the step is that of the squared loss, clipped: the one-row dual is concave.
use serde::{Deserialize, Serialize};

use super::parameter::{checked_delta, deserialize_delta};
use super::{Loss, LossError, SmoothLoss};

/// ½r² where |r| ≤ δ, δ|r| - ½δ² elsewhere, with r = z - y
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Huber {
    #[serde(deserialize_with = "deserialize_delta")]
    pub(super) delta: f64,
}

impl Huber {
    /// Linear beyond residuals of `delta` > 0.
    pub fn new(delta: f64) -> Result<Self, LossError> {
        Ok(Huber { delta: checked_delta(delta)? })
    }

    /// The residual where the loss becomes linear.
    pub fn delta(self) -> f64 {
        self.delta
    }
}

impl Loss for Huber {
    #[inline]
    fn value(&self, y: f64, z: f64) -> f64 {
        let size = (z - y).abs();
        if size > self.delta { self.delta * (size - 0.5 * self.delta) } else { 0.5 * size * size }
    }

    #[inline]
    fn slope(&self, y: f64, z: f64) -> f64 {
        (z - y).clamp(-self.delta, self.delta)
    }

    fn conjugate(&self, y: f64, u: f64) -> f64 {
        if u.abs() <= self.delta { u * (y + 0.5 * u) } else { f64::INFINITY }
    }

    #[inline]
    fn dual_bounds(&self, _y: f64, c: f64) -> (f64, f64) {
        (-c * self.delta, c * self.delta)
    }

    fn curvature(&self) -> f64 {
        1.0
    }

    #[inline]
    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        let (diagonal, bound) = (1.0 / c, c * self.delta);
        (beta - (z - y + diagonal * beta) / (q + diagonal)).max(-bound).min(bound)
    }

    #[inline]
    fn slack(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        if beta.abs() == c * self.delta { ((y - z) * beta.signum() - self.delta).max(0.0) } else { 0.0 }
    }

    #[inline]
    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let bound = c * self.delta;
        if beta.abs() > bound {
            return f64::INFINITY;
        }
        // By symmetry let r ≥ 0.
        let (r, beta) = if z < y { (y - z, -beta) } else { (z - y, beta) };
        let off = r + beta / c;
        if r > self.delta {
            // c(δr - ½δ²) + β²/2c + βr, which has the factor cδ + β: exactly zero at the right bound.
            (bound + beta) * 0.5 * (off + (r - self.delta))
        } else {
            0.5 * c * off * off
        }
    }

    fn dual_value(&self, y: f64, beta: f64, c: f64) -> f64 {
        // Not through L*(-β/c): at a bound, (cδ)/c may round to more than δ, where L* is infinite.
        if beta.abs() <= c * self.delta { beta * (y - 0.5 * (beta / c)) } else { f64::NEG_INFINITY }
    }
}

impl SmoothLoss for Huber {
    #[inline]
    fn second(&self, y: f64, z: f64) -> f64 {
        if (z - y).abs() > self.delta { 0.0 } else { 1.0 }
    }

    #[inline]
    fn majorant(&self, y: f64, z: f64) -> f64 {
        (self.delta / (z - y).abs()).min(1.0)
    }

    fn widened(&self, radius: f64) -> Option<(Self, f64)> {
        (radius > self.delta).then(|| (Huber { delta: radius }, self.delta / radius))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_in_the_domain_however_they_round() {
        for k in 1..2000 {
            let (delta, c) = (0.1 * k as f64, 1.0 / (k as f64 + 0.3));
            let loss = Huber::new(delta).unwrap();
            let (low, high) = loss.dual_bounds(0.0, c);
            assert!(loss.dual_value(0.0, low, c).is_finite() && loss.dual_value(0.0, high, c).is_finite());
            assert_eq!(loss.gap(0.0, 2.0 * delta, low, c), 0.0);
            assert_eq!(loss.gap(0.0, -2.0 * delta, high, c), 0.0);
        }
    }
}
