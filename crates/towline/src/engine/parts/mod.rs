//! Dual coordinate descent on several cores: parts of the rows in memory, each with a copy of the weights.
//!
//! The rows that an interval visits are dealt out to K parts. Each part makes the usual steps (Hsieh et al. 2008,
//! Algorithm 1) against its own copy, w + σ Δ_k, where Δ_k = Σ δ_i x_i is what it has changed itself: the scaled
//! subproblem of CoCoA+ (Ma et al. 2015, eq. 8), in which a part expects the others to do as it does. Columns are
//! sorted by frequency, and the first few carry most of what rows of different parts have in common: their changes
//! are exchanged every few hundred rows. At the end of the interval all changes are joined, w ← w + γ Σ Δ_k, with a γ
//! in [0, 1] for which the dual objective never falls.
//!
//! σ = K would always let γ be 1; σ follows ‖Σ Δ_k‖² / Σ ‖Δ_k‖², as it is measured. Rows are dealt out anew for each
//! interval: with fixed parts, what one part should give to another is found only as slowly as block Jacobi finds it.
//!
//! Everything follows from the data and K, sums have a fixed order, and threads only share out the work: the result is
//! the same bit for bit for any number of them.
mod count;
mod join;
mod scan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::block::Row;
use crate::engine::certificate::Scan;
use crate::engine::problem::link::Identity;
use crate::loss::Loss;
use crate::order::{Order, Visit};
use crate::prefetch::large_zeroed;
use crate::residents::View;
use crate::solver::{BlockSolver, RowState, Sweep, Weights, add_with_bias, margin_with_bias, sweep, visit};

pub use count::bytes;

/// Values of rows between two exchanges of frequent columns: about two milliseconds of work.
const EXCHANGE_VALUES: u64 = 1 << 21;
/// Visits between two of them, at most.
const EXCHANGE_VISITS: usize = 1 << 15;
/// Intervals end after as many values as this per column, or with the sweep. A join goes over all columns in all copies
/// twice, for the time of some ten values a column.
const INTERVAL: u64 = 64;
/// A sweep over fewer values per column than this is not worth a join, and one part does it all.
const LEAST_SWEEP: u64 = 12;

/// Rows that one thread works on, and its copy of the weights.
struct Part {
    weights: Local,
    /// What a scan has found so far in its rows; Σ βx takes the place of the weights meanwhile.
    scan: Scan,
    /// The rows to visit until the next exchange, and what the visits brought.
    rows: Vec<u32>,
    visits: Vec<Visit>,
}

/// w + σ Δ.
struct Local {
    w: Vec<f64>,
    bias: f64,
    sigma: f64,
}

impl Weights for Local {
    #[inline(always)]
    fn margin(&self, row: Row) -> f64 {
        margin_with_bias(row, &self.w, self.bias)
    }

    #[inline(always)]
    fn add(&mut self, row: Row, delta: f64) {
        add_with_bias(row, &mut self.w, self.bias, self.sigma * delta);
    }

    #[inline(always)]
    fn curvature(&self, sq_norm: f64) -> f64 {
        self.sigma * sq_norm
    }
}

/// Solves the problem of the rows in memory in parts.
pub struct ByParts {
    threads: Arc<ThreadPool>,
    parts: Vec<Part>,
    /// The dual variables when the interval began.
    before: Vec<f64>,
    /// The frequent columns, and the constant feature behind them, as of the last exchange.
    shared: Vec<f64>,
    sigma: f64,
    alignment: join::Alignment,
    /// Values in an interval, at most: less after a join that had to be cut short.
    interval_values: u64,
    /// Intervals so far.
    intervals: u64,
    /// Values that the last sweep visited, unless there was none.
    last_values: Option<u64>,
}

impl ByParts {
    /// So many parts for so many columns and a constant feature.
    pub fn new(parts: usize, columns: usize, bias: f64, threads: Arc<ThreadPool>) -> Self {
        let part = || Part {
            weights: Local { w: large_zeroed(columns + 1), bias, sigma: 1.0 },
            scan: Scan::default(),
            rows: Vec::new(),
            visits: Vec::new(),
        };
        ByParts {
            threads,
            parts: (0..parts).map(|_| part()).collect(),
            before: Vec::new(),
            shared: Vec::new(),
            sigma: parts as f64,
            alignment: join::Alignment::default(),
            interval_values: INTERVAL * columns as u64,
            intervals: 0,
            last_values: None,
        }
    }

    /// All copies are the weights.
    fn begin_interval(&mut self, w: &[f64], states: &[RowState]) {
        let ByParts { threads, parts, sigma, .. } = self;
        threads.install(|| {
            parts.par_iter_mut().for_each(|part| {
                part.weights.w.copy_from_slice(w);
                part.weights.sigma = *sigma;
            });
        });
        self.shared = join::shared_of(w);
        self.before.clear();
        self.before.extend(states.iter().map(|state| state.beta));
        self.intervals += 1;
    }

    /// Deals the next visits out; returns their values, or `None` at the end of the sweep.
    fn deal(&mut self, rows: View, order: &mut dyn Order) -> Option<u64> {
        self.parts.iter_mut().for_each(|part| part.rows.clear());
        let (mut values, mut visits) = (0, 0);
        while values < EXCHANGE_VALUES && visits < EXCHANGE_VISITS {
            let Some(i) = order.next() else { break };
            // An empty row is work, too.
            values += rows.row(i).len() as u64 + 1;
            visits += 1;
            let part = part_of(i as u64, self.intervals, self.parts.len());
            self.parts[part].rows.push(i as u32);
        }
        (visits > 0).then_some(values)
    }

    /// Visits the rows that were dealt out, and lets the order learn from it.
    fn visit<L: Loss>(&mut self, loss: L, rows: View, states: &mut [RowState], order: &mut dyn Order) -> Sweep {
        let shared = Disjoint { first: states.as_mut_ptr(), count: states.len() };
        let ByParts { threads, parts, .. } = self;
        let exact = order.wants_gradients();
        threads.install(|| parts.par_iter_mut().for_each(|part| part.visit(loss, rows, &shared, exact)));
        let mut total = Sweep::default();
        for part in &self.parts {
            for (&i, &visit) in part.rows.iter().zip(&part.visits) {
                total.count(&visit);
                order.learn(i as usize, visit);
            }
        }
        total
    }
}

/// A row belongs to one part in an interval, and to any other in the next one (the mixer is that of SplitMix64).
fn part_of(row: u64, interval: u64, parts: usize) -> usize {
    let mut mixed = (row + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ interval.wrapping_mul(0xD1B5_4A32_D192_ED03);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (((mixed >> 32) * parts as u64) >> 32) as usize
}

/// States of rows, each of which is used by one thread only.
struct Disjoint {
    first: *mut RowState,
    count: usize,
}

// SAFETY: whoever takes a state promises that nobody else does, see `Disjoint::state`.
unsafe impl Sync for Disjoint {}

impl Disjoint {
    /// # Safety
    /// No other reference to the state of this row is used at the same time.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "rows of different parts are different rows")]
    unsafe fn state(&self, i: usize) -> &mut RowState {
        assert!(i < self.count);
        // SAFETY: inside the slice, and the caller promises the rest.
        unsafe { &mut *self.first.add(i) }
    }
}

impl Part {
    fn visit<L: Loss>(&mut self, loss: L, rows: View, states: &Disjoint, exact: bool) {
        self.visits.clear();
        for (k, &i) in self.rows.iter().enumerate() {
            if let Some(&next) = self.rows.get(k + 1) {
                rows.prefetch(next as usize);
            }
            // SAFETY: `part_of` gives every row to one part, and a part is one thread's.
            let state = unsafe { states.state(i as usize) };
            self.visits.push(visit(loss, rows.row(i as usize), state, &mut self.weights, exact));
        }
    }
}

impl<L: Loss> BlockSolver<L, Identity> for ByParts {
    fn begin_scan(&mut self) {
        ByParts::begin_scan(self);
    }

    fn scan(
        &mut self,
        loss: L,
        (rows, first): (View, usize),
        states: &[RowState],
        weights: &mut Identity,
        slacks: &mut Vec<f64>,
    ) -> bool {
        self.scan_rows(loss, (rows, first), states, weights.weights_mut(), slacks);
        true
    }

    fn end_scan(&mut self, weights: &mut Identity) {
        ByParts::end_scan(self, weights);
    }

    fn sweep(
        &mut self,
        loss: L,
        rows: View,
        states: &mut [RowState],
        weights: &mut Identity,
        order: &mut dyn Order,
    ) -> Sweep {
        let columns = weights.weights_mut().len() as u64;
        if self.last_values.is_some_and(|values| values < LEAST_SWEEP * columns) {
            let done = sweep(loss, rows, states, weights, order);
            // About: rows that matter are like the others.
            let all: u64 = (0..states.len()).map(|i| rows.row(i).len() as u64 + 1).sum();
            self.last_values = Some((done.visits as f64 * all as f64 / states.len().max(1) as f64) as u64);
            return done;
        }
        let mut total = Sweep::default();
        let (mut values, mut since) = (0, 0);
        loop {
            if since == 0 {
                self.begin_interval(weights.weights_mut(), states);
            }
            let Some(some) = self.deal(rows, order) else { break };
            let done = self.visit(loss, rows, states, order);
            total.violation = total.violation.max(done.violation);
            total.visits += done.visits;
            total.gradients = total.gradients.with(done.gradients);
            (values, since) = (values + some, since + some);
            self.exchange();
            if since >= self.interval_values {
                total.gain += self.join(loss, states, weights.weights_mut());
                since = 0;
            }
        }
        if since > 0 {
            total.gain += self.join(loss, states, weights.weights_mut());
        }
        self.last_values = Some(values);
        total
    }
}
