//! Pegasos: projected stochastic subgradient descent on the hinge loss, which may be cut off.
//!
//! Shalev-Shwartz, Singer & Srebro, "Pegasos: primal estimated sub-gradient solver for SVM" (ICML 2007), Figure 1 with
//! one row a step, over blocks as in Yu, Hsieh, Chang & Lin, "Large linear classification when data cannot fit in
//! memory" (KDD 2010), section 3.2:
//! ```text
//! w ← (1 - 1/t) w - L'(y, w·x) x / (λt),   w ← min(1, r / ‖w‖) w,   λ = 1/(nC)
//! ```
//! r is 1/√λ for the hinge loss (their Theorem 1) and √(2/λ) for others, since ½λ‖w‖² is at most the mean loss at 0. A row
//! whose loss is cut off has no slope (IBCD, section 5: Online-L1).
//! The model is the average of the second half of all w: the last one alone wavers by several percent of the objective,
//! and the average over a last part converges as 1/T (Rakhlin, Shamir & Sridharan, "Making gradient descent optimal for
//! strongly convex stochastic optimization", ICML 2012, section 5).
//!
//! On a stream n is the number of rows that is expected, or that has come: then λt is 1/C, and every step is one of C.
//! The average follows w.
use super::averaged::Averaged;
use super::{Descent, Online};
use crate::block::Row;
use crate::engine::Ceiling;
use crate::loss::{Hinge, Loss};

/// The state of Pegasos.
#[derive(Clone)]
pub struct Pegasos<L> {
    loss: L,
    /// The margin below which a row has no slope.
    ceiling: f64,
    w: Averaged,
    sq_norm: f64,
    bias: f64,
    lambda: f64,
    c: f64,
    step: u64,
}

impl<L: Loss> Pegasos<L> {
    /// Begins at 0; `visits` is how many rows will be seen in all passes.
    pub fn new(loss: L, columns: usize, bias: f64, lambda: f64, c: f64, visits: u64) -> Self {
        let ceiling = f64::NEG_INFINITY;
        let w = Averaged::new(columns, bias, visits / 2);
        Pegasos { loss, ceiling, w, sq_norm: 0.0, bias, lambda, c, step: 0 }
    }

    /// The same for a loss that is cut off.
    pub fn below(self, ceiling: &Ceiling) -> Self {
        Pegasos { ceiling: ceiling.margin, ..self }
    }

    /// ‖w‖² that the optimum does not exceed.
    fn squared_radius(&self) -> f64 {
        (if self.loss.curvature().is_finite() { 2.0 } else { 1.0 }) / self.lambda
    }
}

impl Pegasos<Hinge> {
    /// The same for a stream, whose λ is set before each row.
    pub fn for_stream(columns: usize, bias: f64, c: f64) -> Self {
        Pegasos { w: Averaged::growing(columns, bias), ..Pegasos::new(Hinge, 0, bias, 1.0, c, 0) }
    }
}

impl Descent for Pegasos<Hinge> {
    fn set_lambda(&mut self, lambda: f64) {
        self.lambda = lambda;
    }

    fn weights(&mut self) -> &mut Averaged {
        &mut self.w
    }

    fn margin(&self, row: Row) -> f64 {
        self.w.dot(row)
    }

    fn copy(&self) -> Box<dyn Descent> {
        Box::new(self.clone())
    }
}

impl<L: Loss> Online for Pegasos<L> {
    #[inline]
    fn learn(&mut self, row: Row, y: f64, c: f64) {
        self.step += 1;
        let t = self.step as f64;
        let mut z = self.w.dot(row);
        let slope = if y * z < self.ceiling { 0.0 } else { self.loss.slope(y, z) };
        // The first factor is 0, and so is w.
        if self.step > 1 {
            let factor = 1.0 - 1.0 / t;
            self.w.multiply(factor);
            self.sq_norm *= factor * factor;
            z *= factor;
        }
        if slope != 0.0 {
            let step = c / self.c * -slope / (self.lambda * t);
            self.w.add(row, step);
            let sq_norm = row.sq_norm() + self.bias * self.bias;
            self.sq_norm = (self.sq_norm + step * (2.0 * z + step * sq_norm)).max(0.0);
            let squared_radius = self.squared_radius();
            if self.sq_norm > squared_radius {
                self.w.multiply((squared_radius / self.sq_norm).sqrt());
                self.sq_norm = squared_radius;
            }
        }
        self.w.end_step();
    }

    fn write(&self, w: &mut [f64]) {
        self.w.write(w);
    }
}
