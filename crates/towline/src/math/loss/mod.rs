//! Losses: what a margin costs, and the best dual variable for one row.
//!
//! Pure scalar mathematics; nothing here sees a matrix. With margins z_i = w·x_i and weights c_i > 0 the trainers
//! minimise
//!
//! ```text
//! primal   F(w) = ½‖w‖² + Σ c_i L(y_i, z_i)
//! dual     D(β) = -½‖w‖² - Σ c_i L*(-β_i/c_i)        with w = Σ β_i x_i
//! gap      F(w) - D(β) = Σ [ c_i L(y_i, z_i) + c_i L*(-β_i/c_i) + β_i z_i ]
//! ```
//! where L* is the convex conjugate in z. Every term of the last sum is at least zero (Fenchel–Young) and is zero
//! exactly when β_i ∈ -c_i ∂L(y_i, z_i). So each row carries its own share of the certificate, [`Loss::gap`], and it is
//! computed from a closed form per loss and not from that sum, whose terms cancel to nothing near the optimum.
//!
//! | name | L(y, z), with m = 1 - yz and r = z - y | L*(u) - uy (regression), L*(-ya) (classification) | β |
//! | --- | --- | --- | --- |
//! | `hinge` | max(0, m) | -a | yβ ∈ \[0, c\] |
//! | `squared-hinge` | max(0, m)² | a²/4 - a | yβ ≥ 0 |
//! | `logistic` | log(1 + exp(-yz)) | a log a + (1 - a) log(1 - a) | yβ ∈ (0, c) |
//! | `squared` | ½r² | ½u² | any |
//! | `epsilon-insensitive` | max(0, \|r\| - ε) | ε\|u\| | \|β\| ≤ c |
//! | `squared-epsilon-insensitive` | max(0, \|r\| - ε)² | u²/4 + ε\|u\| | any |
//! | `quantile` | max(-τr, (1 - τ)r) | 0 | β ∈ \[-(1 - τ)c, τc\] |
//! | `huber` | ½r² if \|r\| ≤ δ, else δ\|r\| - ½δ² | ½u² | \|β\| ≤ cδ |
//!
//! Classification losses expect y = -1 or y = +1, regression losses any finite y.
//!
//! A new loss is a file with an `impl Loss`, and a line in the table of `any.rs`, from which [`AnyLoss`], [`ALL`] and
//! all names follow; the tests walk that table.
//!
//! ```
//! use towline::loss::{AnyLoss, Loss};
//!
//! let hinge = AnyLoss::named("hinge")?;
//! // A row with ‖x‖² = 2 that is on the wrong side by 0.5, seen for the first time, C = 10.
//! let beta = hinge.dual_step(1.0, -0.5, 0.0, 2.0, 10.0);
//! assert_eq!(beta, 0.75);
//! // Moving w by β·x puts the row at margin one, where it owes nothing to the gap.
//! assert_eq!(hinge.gap(1.0, -0.5 + 2.0 * beta, beta, 10.0), 0.0);
//! # Ok::<(), towline::loss::LossError>(())
//! ```
mod any;
pub mod classes;
mod epsilon_insensitive;
mod hinge;
mod huber;
pub mod joint;
mod logistic;
mod parameter;
mod quantile;
mod squared;
mod squared_epsilon_insensitive;
mod squared_hinge;
#[cfg(test)]
mod tests;

pub use any::{ALL, AnyLoss, LossVisitor, PiecewiseVisitor, SmoothLossVisitor};
pub use epsilon_insensitive::EpsilonInsensitive;
pub use hinge::Hinge;
pub use huber::Huber;
pub use logistic::Logistic;
pub use parameter::{LossError, LossParameters};
pub use quantile::Quantile;
pub use squared::Squared;
pub use squared_epsilon_insensitive::SquaredEpsilonInsensitive;
pub use squared_hinge::SquaredHinge;

/// A convex loss of one margin, with its dual.
///
/// `y` is the target, `z` = w·x the margin, `beta` the row's dual variable, `c` > 0 its weight. Seven methods are the
/// mathematics; the others have defaults that a loss may know better.
pub trait Loss: Copy + Send + Sync + 'static {
    /// L(y, z).
    fn value(&self, y: f64, z: f64) -> f64;

    /// dL/dz; at a kink one of the subgradients.
    fn slope(&self, y: f64, z: f64) -> f64;

    /// L*(u) = sup_z uz - L(y, z); infinite outside the domain.
    fn conjugate(&self, y: f64, u: f64) -> f64;

    /// The interval of β for weight `c`, infinite where unbounded. β may sit on a finite end, also for the logistic
    /// loss, whose interval is open in theory: the ends are where β rounds to.
    fn dual_bounds(&self, y: f64, c: f64) -> (f64, f64);

    /// sup L'', the Lipschitz constant of the slope; infinite for a loss with kinks.
    fn curvature(&self) -> f64;

    /// The β that maximises the dual over one row, all others fixed.
    ///
    /// `z` is the row's margin as it stands, with the part that the current `beta` contributes; `q` = ‖x‖², zero for an
    /// empty row. The result b maximises -½q(b - β)² - z(b - β) - cL*(-b/c), lies within
    /// [`dual_bounds`](Self::dual_bounds) exactly, and the caller then moves w by (b - β)x.
    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64;

    /// The row's share of the duality gap, cL(y, z) + cL*(-β/c) + βz.
    ///
    /// Never negative, and accurate relative to itself and not to c. Infinite if β is outside its bounds; NaN if the
    /// margin is, so that a broken run cannot certify itself.
    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64;

    /// How far the margin may move, either way, before β would want to leave the place where it is: positive only for a
    /// row that sits at a kink of L* on its right side (LIBLINEAR's shrinking and the reference distance both ask for
    /// this).
    fn slack(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let _ = (y, z, beta, c);
        0.0
    }

    /// The margin as a part of the one from which on the row costs nothing; -∞ for a loss that has no such margin.
    fn clearance(&self, y: f64, z: f64) -> f64 {
        let _ = (y, z);
        f64::NEG_INFINITY
    }

    /// The margin yz at which the loss reaches `1 + s`, above 0: L⁻¹(1 + s) of IBCD's equation (10). Rows below it are
    /// outliers of the loss that is cut off there. `None` for regression.
    fn ceiling_margin(&self, s: f64) -> Option<f64> {
        let _ = s;
        None
    }

    /// The derivative of the dual along β, all other rows fixed; for classes along α = yβ, which is -∇f of Hsieh et al.
    /// (2008). Where β is held by a bound or a kink ([`slack`](Self::slack) above 0) it says how hard, or 0 if both
    /// sides hold it.
    ///
    /// By default from the step of a row so long that β hardly moves, which is right to six digits; losses of classes
    /// bring their own.
    fn dual_gradient(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let q = f64::from(1u32 << 20) / c;
        (self.dual_step(y, z, beta, q, c) - beta) * q
    }

    /// The row's term of the dual objective, -cL*(-β/c).
    fn dual_value(&self, y: f64, beta: f64, c: f64) -> f64 {
        -c * self.conjugate(y, -beta / c)
    }

    /// Where a trainer starts a row: zero, which leaves w at zero, except for the [`Logistic`] loss.
    fn initial_dual(&self, y: f64, c: f64) -> f64 {
        let _ = (y, c);
        0.0
    }
}

/// A loss whose slope is continuous, for methods of second order.
pub trait SmoothLoss: Loss {
    /// An element of the generalised second derivative in z: L'' where it exists, one of the one-sided limits
    /// elsewhere.
    fn second(&self, y: f64, z: f64) -> f64;

    /// The least h for which the parabola with slope L' and curvature h at z is nowhere below the loss; what
    /// iteratively reweighted least squares take for the second derivative. For a loss whose slope is constant beyond
    /// some point that is more than 0 there.
    fn majorant(&self, y: f64, z: f64) -> f64 {
        self.second(y, z)
    }

    /// Whether the second derivative is the same everywhere.
    fn is_quadratic(&self) -> bool {
        false
    }

    /// Whether the second derivative is continuous and nowhere 0, so that it changes little from one step to the next.
    fn is_curved_everywhere(&self) -> bool {
        false
    }

    /// A loss that is quadratic for residuals up to `radius`, and a factor by which its slope has the same bounds as
    /// that of this one. `None` if the slope of this loss has no bounds, or is not constant for residuals of that size.
    fn widened(&self, _radius: f64) -> Option<(Self, f64)> {
        None
    }
}

/// A loss that is made of straight pieces: `Σ_k max(0, t_k - s_k z)` with s_k ≠ 0, for the method of multipliers.
pub trait PiecewiseLinear: Loss {
    /// How many terms there are.
    const TERMS: usize;

    /// (s_k, t_k) for the target y.
    fn term(&self, y: f64, k: usize) -> (f64, f64);
}
