//! Losses of one margin per class, and the best dual variables for one row.
//!
//! With margins z_m = w_m·x for each class m, and y the class of the row:
//!
//! ```text
//! primal   F(W) = ½Σ‖w_m‖² + Σ c_i L(y_i, z_i)
//! dual     D(β) = -½Σ‖w_m‖² - Σ c_i L*(-β_i/c_i)        with w_m = Σ β_im x_i
//! ```
//! Both losses here are of the form max over the simplex of p·z - z_y - g(p), so that β_i = c_i(e_y - p_i) for a point
//! p_i of the simplex: the dual variables of a row add up to 0, and only that of its own class is positive.
//!
//! | name | L(y, z) | -cL*(-β/c) |
//! | --- | --- | --- |
//! | `crammer-singer` | max_m (z_m + \[m ≠ y\]) - z_y | β_y |
//! | `softmax` | log Σ exp(z_m) - z_y | -c Σ p_m log p_m |
mod crammer_singer;
mod softmax;
#[cfg(test)]
mod tests;

pub use crammer_singer::CrammerSinger;
pub use softmax::Softmax;

/// A convex loss of one margin per class, with its dual.
pub trait ClassLoss: Copy + Send + Sync + 'static {
    /// L(y, z).
    fn value(&self, class: usize, margins: &[f64]) -> f64;

    /// The row's term of the dual objective, -cL*(-β/c), for dual variables within their bounds.
    fn dual_value(&self, class: usize, duals: &[f64], c: f64) -> f64;

    /// Replaces the dual variables by those that maximise the dual over one row, all others fixed; `margins` are as
    /// they stand, with the part that the current dual variables contribute; `q` = ‖x‖². `room` is for as many numbers
    /// as there are classes.
    fn dual_step(&self, row: ClassRow, margins: &[f64], duals: &mut [f64], room: &mut [f64]);

    /// How far each margin may move, either way, before the dual variables would want to leave the corner where they
    /// are; 0 if they are in none.
    fn slack(&self, class: usize, margins: &[f64], duals: &[f64], c: f64) -> f64;

    /// The margin as a part of the one from which on the row costs nothing; -∞ for a loss that has no such margin.
    fn clearance(&self, class: usize, margins: &[f64]) -> f64 {
        let _ = (class, margins);
        f64::NEG_INFINITY
    }

    /// The largest curvature along any direction; infinite where the slope jumps.
    fn curvature(&self) -> f64 {
        f64::INFINITY
    }
}

/// What a step needs of a row besides its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassRow {
    /// Its class.
    pub class: u32,
    /// The weight of its loss.
    pub c: f64,
    /// ‖x‖², the bias included.
    pub sq_norm: f64,
}

/// Brings any dual variables into the domain: β_m ≤ 0 for other classes, their sum at least -c, and β_y what is missing
/// to 0.
pub fn make_feasible(class: usize, duals: &mut [f64], c: f64) {
    duals[class] = 0.0;
    duals.iter_mut().for_each(|beta| *beta = beta.min(0.0));
    let sum: f64 = duals.iter().sum();
    if sum < -c {
        let factor = -c / sum;
        duals.iter_mut().for_each(|beta| *beta *= factor);
    }
    duals[class] = -duals.iter().sum::<f64>();
    // Rounding may have left a hair too much.
    duals[class] = duals[class].min(c);
}
