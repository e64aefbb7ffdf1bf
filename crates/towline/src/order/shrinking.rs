//! The permutation order without rows that have stopped to matter (LIBLINEAR's rule: Hsieh et al., ICML 2008, section 3.2).
//!
//! A row at a bound is left out when its margin is farther on the right side than the largest violation of the last sweep.
//! When what is left has nothing more to give, all rows come back once; a certificate over all rows decides the end.
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Order, Visit, shuffle};

/// Rows that still matter, in random order.
pub struct Shrinking {
    left_out: Vec<bool>,
    rows: Vec<u32>,
    at: usize,
    /// The largest violation of the last sweep and of this one.
    last_violation: f64,
    violation: f64,
}

impl Default for Shrinking {
    fn default() -> Self {
        Shrinking { left_out: Vec::new(), rows: Vec::new(), at: 0, last_violation: f64::INFINITY, violation: 0.0 }
    }
}

/// All rows come back when the largest violation among the rest has fallen below this part of what it was when rows were first
/// left out.
const BRING_BACK: f64 = 1e-2;

impl Order for Shrinking {
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus) {
        self.resize(rows);
        self.last_violation = if self.violation > 0.0 { self.violation } else { f64::INFINITY };
        self.violation = 0.0;
        self.rows.clear();
        self.rows.extend((0..rows as u32).filter(|&row| !self.left_out[row as usize]));
        if self.rows.is_empty() || self.last_violation < BRING_BACK {
            self.left_out.fill(false);
            self.rows.clear();
            self.rows.extend(0..rows as u32);
            self.last_violation = f64::INFINITY;
        }
        shuffle(&mut self.rows, random);
        self.at = 0;
    }

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let row = self.rows.get(self.at).copied();
        self.at += 1;
        row.map(|row| row as usize)
    }

    #[inline]
    fn learn(&mut self, row: usize, visit: Visit) {
        self.violation = self.violation.max(visit.violation);
        if visit.slack > self.last_violation {
            self.left_out[row] = true;
        }
    }

    fn retain(&mut self, keep: &mut dyn FnMut(usize) -> bool) {
        let mut row = 0;
        self.left_out.retain(|_| {
            row += 1;
            keep(row - 1)
        });
    }

    fn resize(&mut self, rows: usize) {
        self.left_out.resize(rows, false);
    }
}
