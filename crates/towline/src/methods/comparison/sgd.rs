//! Stochastic gradient descent on any loss.
//!
//! With λ = 1/(nC) and a row of weight c and slope L', Bottou's schedule ("Stochastic gradient descent tricks", 2012,
//! section 5.2) is
//! ```text
//! w ← (1 - η_t λ) w - η_t (c/C) L' x,   η_t = η_0 / (1 + λ η_0 t) = 1 / (λ (t + t_0)),   t_0 = 1 / (λ η_0)
//! ```
//! η_0 is found on a thousand of the first rows, as he advises: doubled or halved for as long as that leaves a lower
//! objective after one pass over them. The model is the average of the second half of all w (Rakhlin, Shamir &
//! Sridharan, "Making gradient descent optimal for strongly convex stochastic optimization", ICML 2012, section 5).
//!
//! On a stream n is the number of rows that is expected, or that has come: then η_t is η_0/(1 + η_0/C) all the time,
//! and the average follows w.
use super::averaged::Averaged;
use super::{Descent, Online};
use crate::block::{Block, Row};
use crate::loss::Loss;
use crate::objective::Objective;

/// Rows that the first step size is tried on.
const SAMPLE_ROWS: usize = 1000;
/// Doublings or halvings at most: rows whose squared length is 2^±60 are no data.
const MOST_TRIALS: u32 = 60;

/// The state of gradient descent.
#[derive(Clone)]
pub struct Sgd<L> {
    loss: L,
    w: Averaged,
    lambda: f64,
    c: f64,
    /// η_0.
    first_step: f64,
    /// t.
    step: f64,
}

impl<L: Loss> Sgd<L> {
    /// Begins at 0; `visits` is how many rows will be seen in all passes.
    pub fn new(loss: L, columns: usize, bias: f64, lambda: f64, c: f64, visits: u64) -> Self {
        Sgd { loss, w: Averaged::new(columns, bias, visits / 2), lambda, c, first_step: 1.0, step: 0.0 }
    }

    /// The same for a stream, whose λ is set before each row.
    pub fn for_stream(loss: L, columns: usize, bias: f64, c: f64) -> Self {
        Sgd { w: Averaged::growing(columns, bias), ..Sgd::new(loss, 0, bias, 1.0, c, 0) }
    }

    fn reset(&mut self, first_step: f64) {
        self.w.clear();
        (self.first_step, self.step) = (first_step, 0.0);
    }

    /// The mean objective over the sample after a pass over it that begins with `first_step`; infinite if it came to
    /// nothing.
    fn trial(&mut self, first_step: f64, sample: &Block, objective: &Objective) -> f64 {
        self.reset(first_step);
        let rows = sample.rows().min(SAMPLE_ROWS);
        let weighted = || (0..rows).map(|i| (i, objective.row(&sample.info(i)))).filter(|(_, (_, c))| *c > 0.0);
        for (i, (y, c)) in weighted() {
            self.learn(sample.row(i), y, c);
        }
        let losses: f64 =
            weighted().map(|(i, (y, c))| c / self.c * self.loss.value(y, self.w.dot(sample.row(i)))).sum();
        let mean = 0.5 * self.lambda * self.w.sq_norm() + losses / rows.max(1) as f64;
        if mean.is_nan() { f64::INFINITY } else { mean }
    }
}

impl<L: Loss> Online for Sgd<L> {
    fn look_at(&mut self, first: &Block, objective: &Objective) {
        let (mut best, mut cost) = (1.0, self.trial(1.0, first, objective));
        for factor in [2.0, 0.5] {
            for _ in 0..MOST_TRIALS {
                let other = self.trial(best * factor, first, objective);
                // Steps that came to nothing are halved until they do not.
                if other >= cost && (cost.is_finite() || factor > 1.0) {
                    break;
                }
                (best, cost) = (best * factor, other);
            }
        }
        self.reset(best);
    }

    #[inline]
    fn learn(&mut self, row: Row, y: f64, c: f64) {
        let slope = self.loss.slope(y, self.w.dot(row));
        // t + t_0 of the step before.
        let time = self.step + 1.0 / (self.lambda * self.first_step);
        self.w.multiply(time / (time + 1.0));
        self.step += 1.0;
        if slope != 0.0 {
            self.w.add(row, -slope * c / (self.c * self.lambda * (time + 1.0)));
        }
        self.w.end_step();
    }

    fn write(&self, w: &mut [f64]) {
        self.w.write(w);
    }
}

impl<L: Loss> Descent for Sgd<L> {
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
