//! Which resident row is visited next.
//!
//! A sweep is as many visits as there are rows. An order lays out a sweep, and learns from what each visit brought.
//! Orders keep something per row; when rows leave the working set, [`Order::retain`] and [`Order::resize`] follow.
mod adaptive;
mod auto;
mod noting;
mod permutation;
mod schedule;
mod shrinking;

pub use adaptive::Adaptive;
pub use auto::Auto;
pub use noting::{NewestFirst, Noting};
pub use permutation::Permutation;
use schedule::Schedule;
pub use shrinking::Shrinking;

use rand_xoshiro::Xoshiro256PlusPlus;

/// What a visit brought.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visit {
    /// How much the dual objective rose.
    pub gain: f64,
    /// How far the dual variable wanted to move, as a change of the margin; what LIBLINEAR calls the projected
    /// gradient.
    pub violation: f64,
    /// How far the margin may move before the row matters again ([`crate::loss::Loss::slack`]).
    pub slack: f64,
}

/// Lays out sweeps.
pub trait Order: Send {
    /// Lays out the next sweep over `rows` rows.
    fn begin_sweep(&mut self, rows: usize, random: &mut Xoshiro256PlusPlus);

    /// The next row, or `None` at the end of the sweep.
    fn next(&mut self) -> Option<usize>;

    /// Learns from a visit.
    fn learn(&mut self, row: usize, visit: Visit);

    /// A scan at fixed weights has found this slack of a row ([`crate::loss::Loss::slack`]).
    fn revise(&mut self, row: usize, slack: f64) {
        let _ = (row, slack);
    }

    /// New rows have come, and what was learnt about slacks is out of date.
    fn begin_step(&mut self) {}

    /// The working set now has just the rows for which `keep` holds, moved together.
    fn retain(&mut self, keep: &mut dyn FnMut(usize) -> bool);

    /// The working set has `rows` rows; those beyond the ones known so far are new.
    fn resize(&mut self, rows: usize);
}

/// The orders by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OrderName {
    /// Every row once, in random order.
    Permutation,
    /// The same, leaving out rows that have stopped to matter.
    Shrinking,
    /// Rows as often as they are worth it.
    Adaptive,
    /// Shrinking and adaptive in one.
    Auto,
}

impl OrderName {
    /// Every order, for tests and messages.
    pub const ALL: [OrderName; 4] =
        [OrderName::Auto, OrderName::Permutation, OrderName::Shrinking, OrderName::Adaptive];

    /// A new order of this name.
    pub fn make(self) -> Box<dyn Order> {
        match self {
            OrderName::Permutation => Box::new(Permutation::default()),
            OrderName::Shrinking => Box::new(Shrinking::default()),
            OrderName::Adaptive => Box::new(Adaptive::default()),
            OrderName::Auto => Box::new(Auto::default()),
        }
    }
}
