use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Order, Schedule, Visit};
use crate::base::random::shuffle;

/// Every row once a sweep, in an order drawn anew each time.
#[derive(Default)]
pub struct Permutation {
    schedule: Schedule,
}

impl Order for Permutation {
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus) {
        let visits = self.schedule.begin();
        visits.extend(0..rows as u32);
        shuffle(visits, random);
    }

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.schedule.next()
    }

    #[inline]
    fn learn(&mut self, _row: usize, _visit: Visit) {}

    fn retain(&mut self, _keep: &mut dyn FnMut(usize) -> bool) {}

    fn resize(&mut self, _rows: usize) {}
}
