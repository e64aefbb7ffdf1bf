//! Any order, until the limits of the run say that it is enough.
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::engine::Pace;
use crate::order::{Order, Visit};

/// Ends a sweep early where it has to: what was visited is a valid state, whatever is left out.
pub struct Until<'a> {
    /// Lays out the sweep.
    pub order: &'a mut dyn Order,
    /// Looks at the limits now and then.
    pub pace: Pace<'a>,
    /// Whether visits say their gradients, also to an order that does without.
    pub wants_gradients: bool,
}

impl Order for Until<'_> {
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus) {
        self.order.begin_sweep(rows, random);
    }

    fn next(&mut self) -> Option<usize> {
        match self.pace.step() {
            None => self.order.next(),
            Some(_) => None,
        }
    }

    fn learn(&mut self, row: usize, visit: Visit) {
        self.order.learn(row, visit);
    }

    fn revise(&mut self, row: usize, slack: f64) {
        self.order.revise(row, slack);
    }

    fn begin_step(&mut self) {
        self.order.begin_step();
    }

    fn wants_gradients(&self) -> bool {
        self.wants_gradients || self.order.wants_gradients()
    }

    fn retain(&mut self, keep: &mut dyn FnMut(usize) -> bool) {
        self.order.retain(keep);
    }

    fn resize(&mut self, rows: usize) {
        self.order.resize(rows);
    }
}
