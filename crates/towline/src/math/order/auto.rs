//! Shrinking and adaptive frequencies in one: neither has to be chosen.
//!
//! Shrinking finds out in two visits that a row at its bound does not matter; adaptive frequencies need fifteen to make
//! it rare, and then still visit it. Among the rows that matter, adaptive frequencies win by an order of magnitude at
//! large C, where a few rows move long after the others have settled. So rows are left out by the rule of the one, and
//! the rest is visited by the rule of the other.
use rand_xoshiro::Xoshiro256PlusPlus;

use super::adaptive::{CanStop, Preferences};
use super::shrinking::{ByStep, LeftOut};
use super::{Gradients, Order, Schedule, Visit};

/// Rows that matter, as often as they have been worth it.
#[derive(Default)]
pub struct Auto {
    can_stop: CanStop,
    left_out: LeftOut<ByStep>,
    preferences: Preferences,
    rows: Vec<u32>,
    schedule: Schedule,
}

impl Order for Auto {
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus) {
        self.preferences.resize(rows);
        self.left_out.begin_sweep(rows, &mut self.rows);
        self.preferences.lay_out(&self.rows, self.schedule.begin(), random);
    }

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.schedule.next()
    }

    #[inline]
    fn learn(&mut self, row: usize, visit: Visit) {
        self.left_out.learn(row, &visit);
        self.preferences.learn(row, visit.gain);
    }

    fn revise(&mut self, row: usize, slack: f64) {
        self.left_out.revise(row, slack);
    }

    fn begin_step(&mut self) {
        self.left_out.bring_back();
    }

    fn is_settled(&mut self, gradients: Gradients, bound: f64) -> bool {
        let after = self.can_stop.after(gradients.violation() < bound);
        if after.is_none() {
            self.preferences.reset();
        }
        after != Some(false) && self.left_out.is_whole() && after == Some(true)
    }

    fn retain(&mut self, keep: &mut dyn FnMut(usize) -> bool) {
        let mut kept = Vec::new();
        self.left_out.retain(&mut |i| {
            kept.push(keep(i));
            kept[i]
        });
        self.preferences.retain(&mut |i| kept[i]);
    }

    fn resize(&mut self, rows: usize) {
        self.left_out.resize(rows);
        self.preferences.resize(rows);
    }
}
