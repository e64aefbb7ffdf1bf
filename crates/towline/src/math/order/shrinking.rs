//! The permutation order without rows that have stopped to matter (LIBLINEAR's rule: Hsieh et al., ICML 2008, section
//! 3.2).
//!
//! A row at a bound is left out when its margin is farther on the right side than the largest violation of the last
//! sweep. Violations of visited rows cannot tell when a row that was left out matters again; a scan over all rows does
//! ([`Order::revise`]).
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Order, Schedule, Visit};
use crate::base::random::shuffle;

/// Which rows are left out.
pub struct LeftOut {
    rows: Vec<bool>,
    /// The largest violation of the last sweep and of this one.
    last_violation: f64,
    violation: f64,
}

impl Default for LeftOut {
    fn default() -> Self {
        LeftOut { rows: Vec::new(), last_violation: f64::INFINITY, violation: 0.0 }
    }
}

impl LeftOut {
    /// Replaces `rows` by those that matter. There is always one, if there are rows at all.
    pub fn begin_sweep(&mut self, count: usize, rows: &mut Vec<u32>) {
        self.resize(count);
        self.last_violation = if self.violation > 0.0 { self.violation } else { f64::INFINITY };
        self.violation = 0.0;
        rows.clear();
        rows.extend((0..count as u32).filter(|&row| !self.rows[row as usize]));
        if rows.is_empty() {
            self.bring_back();
            rows.extend(0..count as u32);
        }
    }

    /// Leaves the row out if the visit says so.
    #[inline]
    pub fn learn(&mut self, row: usize, visit: &Visit) {
        self.violation = self.violation.max(visit.violation);
        if visit.slack > self.last_violation {
            self.rows[row] = true;
        }
    }

    /// A scan has found this slack.
    pub fn revise(&mut self, row: usize, slack: f64) {
        self.rows[row] &= slack > self.last_violation;
    }

    /// All rows matter again.
    pub fn bring_back(&mut self) {
        self.rows.fill(false);
        (self.last_violation, self.violation) = (f64::INFINITY, 0.0);
    }

    /// See [`Order::retain`].
    pub fn retain(&mut self, keep: &mut dyn FnMut(usize) -> bool) {
        let mut row = 0;
        self.rows.retain(|_| {
            row += 1;
            keep(row - 1)
        });
    }

    /// See [`Order::resize`].
    pub fn resize(&mut self, rows: usize) {
        self.rows.resize(rows, false);
    }
}

/// Rows that still matter, in random order.
#[derive(Default)]
pub struct Shrinking {
    left_out: LeftOut,
    schedule: Schedule,
}

impl Order for Shrinking {
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus) {
        let visits = self.schedule.begin();
        self.left_out.begin_sweep(rows, visits);
        shuffle(visits, random);
    }

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.schedule.next()
    }

    #[inline]
    fn learn(&mut self, row: usize, visit: Visit) {
        self.left_out.learn(row, &visit);
    }

    fn revise(&mut self, row: usize, slack: f64) {
        self.left_out.revise(row, slack);
    }

    fn begin_step(&mut self) {
        self.left_out.bring_back();
    }

    fn retain(&mut self, keep: &mut dyn FnMut(usize) -> bool) {
        self.left_out.retain(keep);
    }

    fn resize(&mut self, rows: usize) {
        self.left_out.resize(rows);
    }
}
