//! Rows as often as they have been worth it: adaptive variable selection frequencies (AVSF, Glasmachers & Dogan 2013).
//!
//! Each row has a preference p_i. A sweep (Algorithm 4) lays out about ℓ visits, row i about p_i/p_sum · ℓ times; after
//! a visit with dual gain Δ (Algorithm 5) p_i ← clip(p_i · exp(c(Δ/Δref - 1))), where Δref is the running mean of
//! gains. Departures: the schedule never exceeds ℓ entries, Δref never reaches 0, and e^h is at most e⁴ = 54.6, which
//! changes p only where it is below p_max/e⁴ = 0.37 and a visit gained 21 times the mean: without it, one such visit takes a
//! row from the least to the largest frequency at once, and the row keeps that for ln(400)/c = 30 visits without a gain.
//! The stop test is the certificate unless violations are asked for (`Order::is_settled`, with the reset p ← 1 of
//! Algorithm 3), since a row may be visited only once in p_max/p_min = 400 sweeps.
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Gradients, Order, Schedule, Visit};
use crate::base::random::{shuffle, unit};

/// Change rate, least and largest preference: the paper's values.
const RATE: f64 = 0.2;
const LEAST: f32 = 1.0 / 20.0;
const LARGEST: f32 = 20.0;

/// How much each row is worth.
#[derive(Default)]
pub struct Preferences {
    rows: Vec<f32>,
    /// Sum of the gains of the first sweep, then the running mean.
    reference_gain: f64,
    /// Visits per sweep.
    sweep_visits: f64,
    first_sweep: bool,
    started: bool,
}

impl Preferences {
    /// Lays out a sweep over `rows` with as many visits as there are of them, in random order, in a `schedule` that is
    /// empty.
    pub fn lay_out(&mut self, rows: &[u32], schedule: &mut Vec<u32>, random: &mut Xoshiro256PlusPlus) {
        self.first_sweep = !self.started;
        self.started = true;
        self.sweep_visits = rows.len().max(1) as f64;
        let mut left: f64 = rows.iter().map(|&row| f64::from(self.rows[row as usize])).sum();
        for &row in rows {
            let preference = f64::from(self.rows[row as usize]);
            let free = rows.len() - schedule.len();
            let expected = preference * free as f64 / left.max(f64::MIN_POSITIVE);
            let whole = expected as usize;
            let more = usize::from(unit(random) < expected - whole as f64);
            for _ in 0..(whole + more).min(free) {
                schedule.push(row);
            }
            left -= preference;
        }
        shuffle(schedule, random);
    }

    /// A visit brought this gain.
    #[inline]
    pub fn learn(&mut self, row: usize, gain: f64) {
        if self.first_sweep {
            self.reference_gain += gain / self.sweep_visits;
            return;
        }
        let relative = gain / self.reference_gain.max(f64::MIN_POSITIVE);
        let factor = ((RATE * (relative - 1.0)).min(4.0) as f32).exp();
        let preference = &mut self.rows[row];
        *preference = (*preference * factor).clamp(LEAST, LARGEST);
        self.reference_gain += (gain - self.reference_gain) / self.sweep_visits;
    }

    /// All rows are worth the same again (Algorithm 3, p ← 1); the running mean stays.
    pub fn reset(&mut self) {
        self.rows.fill(1.0);
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
        self.rows.resize(rows, 1.0);
    }
}

/// Whether a sweep without violations is the end: only if all rows were equally likely to be visited (canstop of
/// Algorithm 3).
pub struct CanStop(bool);

impl Default for CanStop {
    fn default() -> Self {
        CanStop(true)
    }
}

impl CanStop {
    /// A sweep has ended, with violations or without. `None` if the next one should be over all rows alike.
    pub fn after(&mut self, is_without_violations: bool) -> Option<bool> {
        match (is_without_violations, self.0) {
            (false, _) => {
                self.0 = false;
                Some(false)
            }
            (true, true) => Some(true),
            (true, false) => {
                self.0 = true;
                None
            }
        }
    }
}

/// All rows, as often as they have been worth it.
#[derive(Default)]
pub struct Adaptive {
    can_stop: CanStop,
    preferences: Preferences,
    rows: Vec<u32>,
    schedule: Schedule,
}

impl Order for Adaptive {
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus) {
        self.preferences.resize(rows);
        self.rows.clear();
        self.rows.extend(0..rows as u32);
        self.preferences.lay_out(&self.rows, self.schedule.begin(), random);
    }

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.schedule.next()
    }

    #[inline]
    fn learn(&mut self, row: usize, visit: Visit) {
        self.preferences.learn(row, visit.gain);
    }

    fn is_settled(&mut self, gradients: Gradients, bound: f64) -> bool {
        let after = self.can_stop.after(gradients.violation() < bound);
        if after.is_none() {
            self.preferences.reset();
        }
        after == Some(true)
    }

    fn retain(&mut self, keep: &mut dyn FnMut(usize) -> bool) {
        self.preferences.retain(keep);
    }

    fn resize(&mut self, rows: usize) {
        self.preferences.resize(rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn rows_that_pay_are_visited_more_and_the_schedule_never_overruns() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut order = Adaptive::default();
        let mut visits = [0usize; 100];
        for _ in 0..200 {
            order.begin_sweep(100, &mut random);
            let before: usize = visits.iter().sum();
            while let Some(row) = order.next() {
                visits[row] += 1;
                order.learn(row, Visit { gain: if row < 10 { 5.0 } else { 0.01 }, ..Visit::default() });
            }
            assert!(visits.iter().sum::<usize>() - before <= 100);
        }
        let (good, bad): (usize, usize) = (visits[..10].iter().sum(), visits[10..].iter().sum());
        assert!(good as f64 / 10.0 > 20.0 * bad as f64 / 90.0, "{good} {bad}");
        assert!(visits.iter().all(|&n| n > 0));
    }

    #[test]
    fn a_sweep_without_violations_ends_only_after_one_over_all_rows_alike() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut order = Adaptive::default();
        let mut sweep = |order: &mut Adaptive, gain: f64| {
            order.begin_sweep(50, &mut random);
            let mut visited = [false; 50];
            while let Some(row) = order.next() {
                visited[row] = true;
                order.learn(row, Visit { gain: if row == 0 { gain } else { 0.0 }, ..Visit::default() });
            }
            visited.iter().all(|&seen| seen)
        };
        let (large, small) = (Gradients { low: -1.0, high: 0.5 }, Gradients { low: -1e-3, high: 1e-3 });
        for _ in 0..30 {
            sweep(&mut order, 1.0);
            assert!(!order.is_settled(large, 0.01));
        }
        assert!(!sweep(&mut order, 1.0), "some rows are rare by now");
        assert!(!order.is_settled(small, 0.01), "the schedule had favourites");
        assert!(sweep(&mut order, 0.0), "all are alike again");
        assert!(order.is_settled(small, 0.01));
        // The first sweep ever is over all rows alike.
        assert!(Adaptive::default().is_settled(small, 0.01) && !Adaptive::default().is_settled(large, 0.01));
    }

    #[test]
    fn gains_of_zero_do_not_break_it() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut order = Adaptive::default();
        for _ in 0..50 {
            order.begin_sweep(10, &mut random);
            while let Some(row) = order.next() {
                order.learn(row, Visit::default());
            }
        }
        assert!(order.preferences.rows.iter().all(|p| p.is_finite()));
    }
}
