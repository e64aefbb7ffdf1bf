//! Block Pegasos: projected stochastic subgradient descent on the hinge loss.
//!
//! Shalev-Shwartz, Singer & Srebro, "Pegasos: primal estimated sub-gradient solver for SVM" (ICML 2007), Figure 1 with
//! one row a step, over blocks as in Yu, Hsieh, Chang & Lin, "Large linear classification when data cannot fit in
//! memory" (KDD 2010), section 3.2:
//! ```text
//! w ← (1 - 1/t) w + [y w·x < 1] y x / (λt),   w ← min(1, 1 / (√λ ‖w‖)) w,   λ = 1/(nC)
//! ```
//! The model is the average of the second half of all w: the last one alone wavers by several percent of the objective,
//! and the average over a last part converges as 1/T (Rakhlin, Shamir & Sridharan, "Making gradient descent optimal for
//! strongly convex stochastic optimization", ICML 2012, section 5).
//!
//! On a stream n is the number of rows that is expected, or that has come: then λt is 1/C, and every step is one of C.
//! The average follows w.
use super::averaged::Averaged;
use super::{Descent, Online};
use crate::block::Row;

/// The state of Pegasos.
#[derive(Clone)]
pub struct Pegasos {
    w: Averaged,
    sq_norm: f64,
    bias: f64,
    lambda: f64,
    c: f64,
    step: u64,
}

impl Pegasos {
    /// Begins at 0; `visits` is how many rows will be seen in all passes.
    pub fn new(columns: usize, bias: f64, lambda: f64, c: f64, visits: u64) -> Self {
        Pegasos { w: Averaged::new(columns, bias, visits / 2), sq_norm: 0.0, bias, lambda, c, step: 0 }
    }

    /// The same for a stream, whose λ is set before each row.
    pub fn for_stream(columns: usize, bias: f64, c: f64) -> Self {
        Pegasos { w: Averaged::growing(columns, bias), ..Pegasos::new(0, bias, 1.0, c, 0) }
    }
}

impl Descent for Pegasos {
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

impl Online for Pegasos {
    #[inline]
    fn learn(&mut self, row: Row, y: f64, c: f64) {
        self.step += 1;
        let t = self.step as f64;
        let mut z = self.w.dot(row);
        let violated = y * z < 1.0;
        // The first factor is 0, and so is w.
        if self.step > 1 {
            let factor = 1.0 - 1.0 / t;
            self.w.multiply(factor);
            self.sq_norm *= factor * factor;
            z *= factor;
        }
        if violated {
            let step = c / self.c * y / (self.lambda * t);
            self.w.add(row, step);
            let sq_norm = row.sq_norm() + self.bias * self.bias;
            self.sq_norm = (self.sq_norm + step * (2.0 * z + step * sq_norm)).max(0.0);
            let squared_radius = 1.0 / self.lambda;
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
