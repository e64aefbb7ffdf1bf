//! Orders around an order, for the steps of a stream.
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Order, Schedule, Visit};
use crate::base::random::shuffle;

/// Notes what each row is worth keeping when other rows come (SBM, section 2.2), as its last visit has found it: rows
/// that moved by how far, rows at a bound by how near they are to leaving it.
pub struct Noting<'a> {
    /// The order.
    pub order: &'a mut dyn Order,
    /// What each row is worth.
    pub worth: &'a mut [f32],
}

impl Order for Noting<'_> {
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus) {
        self.order.begin_sweep(rows, random);
    }

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.order.next()
    }

    #[inline]
    fn learn(&mut self, row: usize, visit: Visit) {
        self.worth[row] = if visit.slack > 0.0 { -visit.slack } else { visit.violation } as f32;
        self.order.learn(row, visit);
    }

    fn wants_gradients(&self) -> bool {
        self.order.wants_gradients()
    }

    fn retain(&mut self, keep: &mut dyn FnMut(usize) -> bool) {
        self.order.retain(keep);
    }

    fn resize(&mut self, rows: usize) {
        self.order.resize(rows);
    }
}

/// One sweep over every row once, the new ones first: whatever they did to the weights, rows that have been learnt
/// before answer it. The order learns from the visits, as from its own.
pub struct NewestFirst<'a> {
    order: &'a mut dyn Order,
    schedule: Schedule,
}

impl<'a> NewestFirst<'a> {
    /// Rows from `newest` on are new. `order` has begun a sweep.
    pub fn new(order: &'a mut dyn Order, rows: usize, newest: usize, random: &mut Xoshiro256PlusPlus) -> Self {
        let mut schedule = Schedule::default();
        let visits = schedule.begin();
        visits.extend((newest as u32..rows as u32).chain(0..newest as u32));
        let (new, old) = visits.split_at_mut(rows - newest);
        shuffle(new, random);
        shuffle(old, random);
        NewestFirst { order, schedule }
    }
}

impl Order for NewestFirst<'_> {
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus) {
        self.order.begin_sweep(rows, random);
    }

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.schedule.next()
    }

    #[inline]
    fn learn(&mut self, row: usize, visit: Visit) {
        self.order.learn(row, visit);
    }

    fn wants_gradients(&self) -> bool {
        self.order.wants_gradients()
    }

    fn retain(&mut self, keep: &mut dyn FnMut(usize) -> bool) {
        self.order.retain(keep);
    }

    fn resize(&mut self, rows: usize) {
        self.order.resize(rows);
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;
    use crate::order::OrderName;

    #[test]
    fn new_rows_come_first_and_every_row_once() {
        for name in OrderName::ALL {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut order = name.make();
            order.begin_sweep(10, &mut random);
            let mut first = NewestFirst::new(&mut *order, 10, 6, &mut random);
            let mut visits: Vec<usize> = std::iter::from_fn(|| first.next()).collect();
            assert!(visits[..4].iter().all(|&row| row >= 6));
            visits.sort_unstable();
            assert_eq!(visits, (0..10).collect::<Vec<_>>());
        }
    }

    #[test]
    fn visits_tell_what_rows_are_worth() {
        let (mut order, mut worth) = (OrderName::Permutation.make(), [0.0; 3]);
        let mut noting = Noting { order: &mut *order, worth: &mut worth };
        noting.learn(0, Visit { violation: 2.0, ..Visit::default() });
        noting.learn(1, Visit { violation: 3.0, slack: 0.5, ..Visit::default() });
        assert_eq!(worth, [2.0, -0.5, 0.0]);
    }
}
