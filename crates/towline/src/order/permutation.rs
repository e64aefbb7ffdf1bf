use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Order, Visit, shuffle};

/// Every row once a sweep, in an order drawn anew each time.
#[derive(Default)]
pub struct Permutation {
    rows: Vec<u32>,
    at: usize,
}

impl Order for Permutation {
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus) {
        self.rows.clear();
        self.rows.extend(0..rows as u32);
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
    fn learn(&mut self, _row: usize, _visit: Visit) {}

    fn retain(&mut self, _keep: &mut dyn FnMut(usize) -> bool) {}

    fn resize(&mut self, _rows: usize) {}
}
