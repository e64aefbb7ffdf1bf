//! The permutation order without rows that have stopped to matter (Hsieh et al., ICML 2008, section 3.2).
//!
//! LIBLINEAR leaves a row at a bound out when its gradient pushes it there harder than any violation of the last sweep
//! pulls the other way: v_min for α = 0 and v_max for α = C, each forgotten where no violation has its sign (AVSF,
//! Algorithm 2). Violations of visited rows cannot tell when a row that was left out matters again: all rows come back
//! when the others have settled ([`Order::is_settled`]), or those that a scan over all rows has found
//! ([`Order::revise`]).
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Gradients, Order, Schedule, Visit};
use crate::base::random::shuffle;

/// When a row is left out.
pub trait Rule: Default + Send {
    /// A sweep ends, and another one begins.
    fn begin_sweep(&mut self);

    /// All rows matter again.
    fn reset(&mut self);

    /// Whether the visited row may be left out.
    fn leaves_out(&mut self, visit: &Visit) -> bool;

    /// Whether a row with this slack may stay left out.
    fn keeps_out(&self, slack: f64) -> bool;
}

/// Two thresholds on projected gradients: LIBLINEAR's rule.
#[derive(Default)]
pub struct ByGradients {
    last: Gradients,
    now: Gradients,
    is_begun: bool,
}

impl ByGradients {
    /// What a gradient that pushes β up has to exceed, and one that pushes it down.
    fn thresholds(&self) -> (f64, f64) {
        let known = |violation: f64| if self.is_begun && violation > 0.0 { violation } else { f64::INFINITY };
        (known(self.last.high), known(-self.last.low))
    }
}

impl Rule for ByGradients {
    fn begin_sweep(&mut self) {
        self.is_begun = self.now != Gradients::default();
        self.last = std::mem::take(&mut self.now);
    }

    fn reset(&mut self) {
        *self = ByGradients::default();
    }

    #[inline]
    fn leaves_out(&mut self, visit: &Visit) -> bool {
        let (up, down) = self.thresholds();
        let is_out = visit.slack > 0.0
            && match visit.gradient {
                gradient if gradient > 0.0 => gradient > up,
                gradient if gradient < 0.0 => -gradient > down,
                // Held from both sides.
                _ => visit.slack > up.max(down),
            };
        if !is_out {
            self.now.add(visit);
        }
        is_out
    }

    fn keeps_out(&self, slack: f64) -> bool {
        let (up, down) = self.thresholds();
        slack > up.max(down)
    }
}

/// One threshold, the largest step of the last sweep: steps are clipped at bounds, so it is below those of
/// [`ByGradients`], and rows leave sooner. A certificate brings those back that it should not have left out.
pub struct ByStep {
    last: f64,
    now: f64,
}

impl Default for ByStep {
    fn default() -> Self {
        ByStep { last: f64::INFINITY, now: 0.0 }
    }
}

impl Rule for ByStep {
    fn begin_sweep(&mut self) {
        self.last = if self.now > 0.0 { self.now } else { f64::INFINITY };
        self.now = 0.0;
    }

    fn reset(&mut self) {
        *self = ByStep::default();
    }

    #[inline]
    fn leaves_out(&mut self, visit: &Visit) -> bool {
        self.now = self.now.max(visit.violation);
        visit.slack > self.last
    }

    fn keeps_out(&self, slack: f64) -> bool {
        slack > self.last
    }
}

/// Which rows are left out.
#[derive(Default)]
pub struct LeftOut<R> {
    rows: Vec<bool>,
    rule: R,
}

impl<R: Rule> LeftOut<R> {
    /// Replaces `rows` by those that matter. There is always one, if there are rows at all.
    pub fn begin_sweep(&mut self, count: usize, rows: &mut Vec<u32>) {
        self.resize(count);
        self.rule.begin_sweep();
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
        if self.rule.leaves_out(visit) {
            self.rows[row] = true;
        }
    }

    /// A scan has found this slack.
    pub fn revise(&mut self, row: usize, slack: f64) {
        self.rows[row] &= self.rule.keeps_out(slack);
    }

    /// All rows matter again.
    pub fn bring_back(&mut self) {
        self.rows.fill(false);
        self.rule.reset();
    }

    /// Whether no row is left out; if one is, all come back.
    pub fn is_whole(&mut self) -> bool {
        let is_whole = !self.rows.contains(&true);
        if !is_whole {
            self.bring_back();
        }
        is_whole
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

/// Rows that still matter, in random order: LIBLINEAR's own way (AVSF, Algorithm 2).
#[derive(Default)]
pub struct Shrinking {
    left_out: LeftOut<ByGradients>,
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

    fn wants_gradients(&self) -> bool {
        true
    }

    fn is_settled(&mut self, gradients: Gradients, bound: f64) -> bool {
        gradients.spread() < bound && self.left_out.is_whole()
    }

    fn retain(&mut self, keep: &mut dyn FnMut(usize) -> bool) {
        self.left_out.retain(keep);
    }

    fn resize(&mut self, rows: usize) {
        self.left_out.resize(rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    /// A sweep in which row i has these gradients and slacks; the rows that the next one would visit.
    fn after(sweeps: &[&[(f64, f64)]]) -> Vec<usize> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut order = Shrinking::default();
        let mut left = Vec::new();
        for rows in sweeps.iter().copied().chain([&[(0.0, 0.0); 4][..]]) {
            order.begin_sweep(4, &mut random);
            left.clear();
            while let Some(row) = order.next() {
                left.push(row);
                let (gradient, slack) = rows[row];
                order.learn(row, Visit { gradient, slack, ..Visit::default() });
            }
        }
        left.sort_unstable();
        left
    }

    #[test]
    fn each_bound_has_its_own_threshold() {
        // Violations of -0.1 and 2 in the first sweep: α = 0 with a gradient below -0.1 leaves, α = C only above 2.
        let first = [(-0.1, 0.0), (2.0, 0.0), (-1.0, 1.0), (1.0, 1.0)];
        let second = [(-0.1, 0.0), (0.5, 0.0), (-1.0, 1.0), (1.0, 1.0)];
        assert_eq!(after(&[&first]), [0, 1, 2, 3], "there is nothing to compare with in the first sweep");
        assert_eq!(after(&[&first, &second]), [0, 1, 3]);
        // Then the largest is 0.5, and α = C may leave.
        assert_eq!(after(&[&first, &second, &second]), [0, 1]);
        // Without a violation of one sign no row of that bound leaves.
        let one_sided = [(0.1, 0.0), (2.0, 0.0), (-9.0, 9.0), (9.0, 9.0)];
        assert_eq!(after(&[&one_sided, &one_sided]), [0, 1, 2]);
        // Held from both sides: beyond both thresholds.
        let both = [(-0.1, 0.0), (2.0, 0.0), (0.0, 1.0), (0.0, 3.0)];
        assert_eq!(after(&[&both, &both]), [0, 1, 2]);
    }

    #[test]
    fn the_end_is_a_sweep_over_all_rows() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut order = Shrinking::default();
        let small = Gradients { low: -1e-3, high: 1e-3 };
        for _ in 0..2 {
            order.begin_sweep(2, &mut random);
            while let Some(row) = order.next() {
                let (gradient, slack) = [(-1e-3, 0.0), (-1.0, 1.0)][row];
                order.learn(row, Visit { gradient, slack, ..Visit::default() });
            }
        }
        assert!(!order.is_settled(Gradients { low: -0.006, high: 0.006 }, 0.01), "0.012 apart");
        assert!(!order.is_settled(small, 0.01), "a row is left out");
        assert!(order.is_settled(small, 0.01), "it is back");
    }
}
