//! Penalties: what weights cost, and how a sum of rows becomes weights.
//!
//! With margins z_i = w·x_i the trainers minimise `F(w) = R(w) + Σ c_i L(y_i, z_i)`. Its dual, with v = Σ β_i x_i, is
//! `D(β) = -R*(v) - Σ c_i L*(-β_i/c_i)`: a penalty is known to the rest through R, R*, and its proximal map
//! `prox_{ηR}(u) = argmin R(w) + ‖w - u‖²/(2η)`.
//!
//! | name | R(w) | R*(v) | prox_{ηR}(u)_j |
//! | --- | --- | --- | --- |
//! | `l2` | λ/2 ‖w‖² | ‖v‖²/(2λ) | u_j / (1 + ηλ) |
//! | `l1` | λ‖w‖₁ | 0 if ‖v‖_∞ ≤ λ, else ∞ | soft(u_j, ηλ) |
//! | `elastic-net` | λ(ρ‖w‖₁ + (1-ρ)/2 ‖w‖²) | Σ max(0, \|v_j\| - λρ)² / (2λ(1-ρ)) | soft(u_j, ηλρ) / (1 + ηλ(1-ρ)) |
//! | `group` | λ Σ_g ω_g ‖w_g‖ | 0 if ‖v_g‖ ≤ λω_g for all g, else ∞ | u_j max(0, 1 - ηλω_g/‖u_g‖) |
//! | `nuclear` | λ‖W‖_*, the sum of singular values | 0 if the largest of V is ≤ λ, else ∞ | (U·G)_j, see [`nuclear`](Nuclear) |
//! | `non-negative` | λ(ρ Σw_j + (1-ρ)/2 ‖w‖²) if w ≥ 0, else ∞ | Σ max(0, v_j - λρ)² / (2λ(1-ρ)) | max(0, u_j - ηλρ) / (1 + ηλ(1-ρ)) |
//! | `none` | 0 | 0 if v = 0, else ∞ | u_j |
//!
//! With several outputs the weights of a feature lie side by side, and W has a row for each feature. All penalties but
//! `nuclear` see one long vector.
//!
//! soft(u, t) is u moved towards 0 by t, and 0 where that would pass it. Most of these are not strongly convex, so that
//! v does not determine w; the proximal point method (DA-BCD, Algorithm 2) makes up for that, see
//! `engine::problem::proximal`.
//!
//! A new penalty is a file with an `impl Penalty` and an `impl Listed`, and a line in the table `penalties!` of
//! `any.rs`: its name, and how it is made from parameters. Which weights hang together ([`Structure`]) tells the
//! solvers how to evaluate its proximal map. A penalty that only another program needs is a [`CoordinatePenalty`].
mod any;
mod by_coordinate;
mod elastic_net;
mod group;
mod l1;
mod l2;
mod lazy;
mod listed;
mod matrix;
mod non_negative;
mod none;
mod nuclear;
mod parameter;
mod spectrum;
#[cfg(test)]
mod tests;

pub use any::{AnyPenalty, Regularizer};
pub use by_coordinate::CoordinatePenalty;
pub(crate) use by_coordinate::ProxByCoordinate;
pub use elastic_net::ElasticNet;
pub use group::{Group, GroupMap};
pub use l1::L1;
pub use l2::L2;
pub use lazy::{GroupShrinkage, LazyProx, ProxMap, SoftThreshold, SoftThresholding};
pub use listed::{ElasticTerms, Listed, Structure};
pub use matrix::{MatrixProx, NuclearShrinkage, WholeRow};
pub use non_negative::NonNegative;
pub use none::NoPenalty;
pub use nuclear::Nuclear;
pub use parameter::{PenaltyError, PenaltyParameters};
pub(crate) use spectrum::Spectrum;

/// A convex penalty on weights that is 0 at 0 and nowhere below.
pub trait Penalty: Send + Sync {
    /// R along a ray: the two numbers (a, b) with `R(t w) = t a + t² b` for every t ≥ 0.
    fn along(&self, w: &[f64]) -> (f64, f64);

    /// `u ← prox_{ηR}(u)`.
    fn prox(&self, eta: f64, u: &mut [f64]);

    /// R*(s v) for a scale s ≥ 0; infinite outside its domain, beyond what rounding explains ([`ROUNDING`]).
    fn conjugate(&self, v: &[f64], scale: f64) -> f64;

    /// The largest s in \[0, 1\] for which R*(s v) is finite.
    fn feasible_scale(&self, v: &[f64]) -> f64;

    /// Two multiples s of a dual point with Σ βx = v that are worth trying: for both R*(s v) is finite.
    fn dual_scales(&self, v: &[f64]) -> [f64; 2] {
        let feasible = self.feasible_scale(v);
        [feasible, feasible]
    }

    /// How far v is from where R* is finite, for a penalty without a price for large weights, where no multiple of v
    /// leads there; none for all others.
    fn unpaid(&self, v: &[f64]) -> Option<f64> {
        let _ = v;
        None
    }

    /// Whether it bounds Σ βx, so that dual variables can be scaled to that bound.
    fn bounds_sums(&self) -> bool {
        self.unpaid(&[]).is_none()
    }

    /// Whether v determines w well enough without a proximal term. A penalty that is strongly convex may have so
    /// little of it that the dual is ill-conditioned.
    fn determines_weights(&self) -> bool {
        false
    }

    /// The largest m for which R(w) - m/2 ‖w‖² is convex.
    fn strong_convexity(&self) -> f64 {
        0.0
    }

    /// R(w).
    fn value(&self, w: &[f64]) -> f64 {
        let (a, b) = self.along(w);
        a + b
    }
}

/// What a bound of a dual ball may be exceeded by, relatively: a vector that was scaled onto the ball is there up to
/// rounding.
pub const ROUNDING: f64 = 1e-12;

/// u moved towards 0 by t ≥ 0, and 0 where that would pass it.
#[inline(always)]
pub(crate) fn soft(u: f64, t: f64) -> f64 {
    u - u.clamp(-t, t)
}

fn sq_norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most, x| x.abs().max(most))
}
