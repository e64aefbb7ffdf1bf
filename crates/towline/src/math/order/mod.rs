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
    /// The derivative of the dual before the visit ([`crate::loss::Loss::dual_gradient`]), where the order asks for it
    /// ([`Order::wants_gradients`]); the slack is that of before, too.
    pub gradient: f64,
}

impl Visit {
    /// The projected gradient of LIBLINEAR, with its sign turned: 0 for a row that its bound holds.
    #[inline]
    pub fn projected_gradient(&self) -> f64 {
        if self.slack > 0.0 { 0.0 } else { self.gradient }
    }
}

/// The least and the largest projected gradient that a sweep has met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradients {
    /// The least.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl Default for Gradients {
    fn default() -> Self {
        Gradients { low: f64::INFINITY, high: f64::NEG_INFINITY }
    }
}

impl Gradients {
    /// Adds what a visit met.
    #[inline(always)]
    pub fn add(&mut self, visit: &Visit) {
        let gradient = visit.projected_gradient();
        (self.low, self.high) = (self.low.min(gradient), self.high.max(gradient));
    }

    /// These and others.
    pub fn with(self, other: Gradients) -> Gradients {
        Gradients { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The largest violation of the Karush-Kuhn-Tucker conditions: v of AVSF's Algorithm 3.
    pub fn violation(self) -> f64 {
        self.high.max(-self.low).max(0.0)
    }

    /// The range of violations: v_max - v_min of LIBLINEAR, AVSF's Algorithm 2.
    pub fn spread(self) -> f64 {
        (self.high - self.low).max(0.0)
    }
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

    /// Whether visits should say their [`gradient`](Visit::gradient).
    fn wants_gradients(&self) -> bool {
        false
    }

    /// A sweep has met these violations: whether they are below `bound` and the sweep has seen all rows alike, so that
    /// the rows may count as solved. If just the second is missing, the next sweep makes up for it.
    fn is_settled(&mut self, gradients: Gradients, bound: f64) -> bool {
        gradients.violation() < bound
    }

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
    /// The same, leaving out rows that have stopped to matter, by LIBLINEAR's rule.
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
