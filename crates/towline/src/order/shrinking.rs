//! The permutation order without rows that have stopped to matter (LIBLINEAR's rule: Hsieh et al., ICML 2008, section 3.2).
//!
//! A row at a bound is left out when its margin is farther on the right side than the largest violation of the last sweep.
//! All rows come back when the rest has lost most of its violation, and after every certificate that did not end the run:
//! rows that were left out too early show there, and thresholds that do not depend on the scale of the data cannot be had.
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
    /// The largest violation of the last sweep over all rows.
    full_violation: f64,
    is_full: bool,
}

impl Default for Shrinking {
    fn default() -> Self {
        Shrinking {
            left_out: Vec::new(),
            rows: Vec::new(),
            at: 0,
            last_violation: f64::INFINITY,
            violation: 0.0,
            full_violation: 0.0,
            is_full: false,
        }
    }
}

/// All rows come back when the largest violation among the rest has fallen below this part of what it was when all were there.
const BRING_BACK: f64 = 0.05;

impl Shrinking {
    fn bring_back(&mut self) {
        self.left_out.fill(false);
        self.last_violation = f64::INFINITY;
    }
}

impl Order for Shrinking {
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus) {
        self.resize(rows);
        if self.is_full {
            self.full_violation = self.violation;
        }
        self.last_violation = if self.violation > 0.0 { self.violation } else { f64::INFINITY };
        if self.last_violation < BRING_BACK * self.full_violation {
            self.bring_back();
        }
        self.rows.clear();
        self.rows.extend((0..rows as u32).filter(|&row| !self.left_out[row as usize]));
        if self.rows.is_empty() {
            self.bring_back();
            self.rows.extend(0..rows as u32);
        }
        self.is_full = self.rows.len() == rows;
        self.violation = 0.0;
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

    fn note_gap(&mut self, _gap: f64) {
        self.bring_back();
        self.violation = 0.0;
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
