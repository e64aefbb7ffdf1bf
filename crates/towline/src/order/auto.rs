//! Chooses between shrinking and adaptive frequencies while running.
//!
//! Shrinking wins at small C and with few features; adaptive frequencies win by an order of magnitude at large C. Which is the case shows
//! only on the way. Shrinking begins; whenever a certificate tells how much the logarithm of the gap fell per visit, the
//! order in use is credited with that rate, and the next stretch belongs to the better one, the untried one counting as
//! better. Rates are per visit, not per second, so that the choice is the same on every machine.
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Adaptive, Order, Shrinking, Visit};

/// Both orders, and how each has done.
#[derive(Default)]
pub struct Auto {
    shrinking: Shrinking,
    adaptive: Adaptive,
    use_adaptive: bool,
    visits: u64,
    last_gap: Option<f64>,
    rates: [Option<f64>; 2],
}

/// A visit of the adaptive order costs more: it is of a row that moves w, and preferences are updated.
const ADAPTIVE_VISIT_COST: f64 = 1.3;

impl Order for Auto {
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus) {
        if self.use_adaptive {
            self.adaptive.begin_sweep(rows, random)
        } else {
            self.shrinking.begin_sweep(rows, random)
        }
    }

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.use_adaptive { self.adaptive.next() } else { self.shrinking.next() }
    }

    #[inline]
    fn learn(&mut self, row: usize, visit: Visit) {
        self.visits += 1;
        if self.use_adaptive { self.adaptive.learn(row, visit) } else { self.shrinking.learn(row, visit) }
    }

    fn note_gap(&mut self, gap: f64) {
        self.shrinking.note_gap(gap);
        let cost = self.visits as f64 * if self.use_adaptive { ADAPTIVE_VISIT_COST } else { 1.0 };
        if let Some(last) = self.last_gap.filter(|_| cost > 0.0 && gap > 0.0) {
            self.rates[usize::from(self.use_adaptive)] = Some((last / gap).ln() / cost);
            self.use_adaptive = match self.rates {
                [Some(shrinking), Some(adaptive)] => adaptive > shrinking,
                [Some(_), None] => true,
                _ => false,
            };
        }
        self.last_gap = Some(gap);
        self.visits = 0;
    }

    fn retain(&mut self, keep: &mut dyn FnMut(usize) -> bool) {
        let mut kept = Vec::new();
        self.shrinking.retain(&mut |i| {
            kept.push(keep(i));
            kept[i]
        });
        self.adaptive.retain(&mut |i| kept[i]);
    }

    fn resize(&mut self, rows: usize) {
        self.shrinking.resize(rows);
        self.adaptive.resize(rows);
    }
}
