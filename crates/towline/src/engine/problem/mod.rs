//! The mathematics of one model in training, as the loop sees it: its rows, sweeps, scans. One row has `width` dual
//! variables.
//!
//! The loop is compiled once and calls these through a pointer, once a sweep or a row; what happens in a sweep is
//! compiled for each loss and link.
pub(crate) mod balance;
pub(crate) mod cache;
pub(crate) mod joint;
mod joint_rows;
pub(crate) mod lean;
pub(crate) mod link;
pub(crate) mod make;
pub(crate) mod own;
pub(crate) mod proximal;
pub(crate) mod rows;
pub(crate) mod single;

use std::ops::Range;

use crate::block::{Block, Row, RowInfo};
use crate::engine::certificate::Certificate;
use crate::engine::problem::link::Link;
use crate::engine::{Selection, TrainError};
use crate::order::Order;
use crate::residents::View;
use crate::solver::Sweep;

/// Rows move dual variables, dual variables move weights.
pub trait Problem: OwnRows + Certify + LaggedObjective + ProximalSteps + Resume + Send {
    /// Visits its rows in the order that `order` has laid out.
    fn sweep(&mut self, rows: View, order: &mut dyn Order) -> Sweep;

    /// A certificate that needs no scan, where all rows are in memory; `None` from a problem that has to scan them.
    fn certify(&mut self, rows: View) -> Option<Certificate> {
        let _ = rows;
        None
    }

    /// How much its row `i` is worth keeping in memory.
    fn score(&self, selection: Selection, row: Row, i: usize) -> f64;

    /// The weights that a certificate speaks of, by column, the constant feature last; several models side by side for
    /// each column.
    fn weights(&self) -> &[f64];

    /// Weights that a checkpoint needs besides the dual variables.
    fn to_save(&self) -> &[f64];

    /// Σ βx, where the weights are not just that.
    fn sums(&mut self) -> Vec<f64>;

    /// The same as [`weights`](Self::weights), for good.
    fn into_weights(self: Box<Self>) -> Vec<f64>;
}

/// A series of problems with a proximal term, whose centre moves from step to step.
pub trait ProximalSteps {
    /// Whether sweeps are over such a series, so that their gains do not add up.
    fn is_proximal(&self) -> bool {
        false
    }

    /// Sweeps over all rows before [`advance`](Self::advance).
    fn sweeps(&self) -> u32 {
        1
    }

    /// Every row has had its turn: the proximal centre may move. Returns how far the weights have come since it did so
    /// before, as a part of their norm.
    fn advance(&mut self) -> f64 {
        0.0
    }
}

/// Going on from weights that were found elsewhere, for few of the columns.
pub trait Resume {
    /// Whether it can do that.
    fn can_resume(&self) -> bool {
        false
    }

    /// Σ βx for a column, as it is known; only where it can go on from weights that were found elsewhere.
    fn sum_of(&self, column: usize) -> f64 {
        let _ = column;
        0.0
    }

    /// Forgets all that grows with the columns, until [`resume_at`](Self::resume_at).
    fn release(&mut self) {}

    /// Goes on from weights that were found elsewhere: those of `columns` and of the constant feature behind them; all
    /// others are 0. `sums` are Σ βx there. A scan has to follow.
    fn resume_at(&mut self, columns: &[u32], weights: &[f64], sums: &[f64]) {
        let _ = (columns, weights, sums);
    }
}

/// A problem whose weights follow its dual variables through a link, which says how steps and resuming go.
pub trait Linked {
    /// How they follow.
    type Link: Link;

    /// The weights.
    fn link(&self) -> &Self::Link;

    /// The weights, to change them from outside.
    fn link_mut(&mut self) -> &mut Self::Link;
}

impl<T: Linked> ProximalSteps for T {
    fn is_proximal(&self) -> bool {
        self.link().is_proximal()
    }

    fn sweeps(&self) -> u32 {
        self.link().sweeps()
    }

    fn advance(&mut self) -> f64 {
        self.link_mut().advance()
    }
}

impl<T: Linked> Resume for T {
    fn can_resume(&self) -> bool {
        self.link().can_resume()
    }

    fn sum_of(&self, column: usize) -> f64 {
        self.link().sum_of(column)
    }

    fn release(&mut self) {
        self.link_mut().release();
    }

    fn resume_at(&mut self, columns: &[u32], weights: &[f64], sums: &[f64]) {
        self.link_mut().resume_at(columns, weights, sums);
    }
}

/// What a model keeps of each of its resident rows.
pub trait OwnRows {
    /// Dual variables a row.
    fn width(&self) -> usize {
        1
    }

    /// Whether a row has a part in the objective, and not weight 0.
    fn wants(&self, info: &RowInfo) -> bool;

    /// Appends a row that is wanted, its dual variables brought within their bounds; `further` are its targets behind
    /// the first.
    fn push(&mut self, info: &RowInfo, further: &[f64], sq_norm: f64, duals: &[f64]);

    /// Rows have come: the first ones tell what the data is like.
    fn observe_rows(&mut self) {}

    /// How many rows there are.
    fn rows(&self) -> usize;

    /// Appends the dual variables of a row.
    fn duals(&self, i: usize, out: &mut Vec<f64>) -> Result<(), TrainError>;

    /// Keeps the rows that are marked.
    fn retain(&mut self, keep: &[bool]);

    /// Forgets all rows.
    fn clear(&mut self);

    /// Why a row could not be kept as it should be, if that has happened since it was last asked.
    fn refusal(&mut self) -> Option<TrainError> {
        None
    }
}

/// One scan over all rows at fixed weights tells how far from the optimum they can be at most.
pub trait Certify: OwnRows {
    /// Begins a scan; `dual_sums` are those of the negative and the positive dual variables that it will meet, without
    /// their signs.
    fn begin_scan(&mut self, dual_sums: [f64; 2]);

    /// Adds one of its own rows, and returns its slack ([`crate::loss::Loss::slack`]).
    fn scan_own(&mut self, row: Row, i: usize) -> f64;

    /// Adds those of its own rows with these numbers, and appends their slacks; `rows` are all of its own.
    fn scan_own_rows(&mut self, rows: View, own: Range<usize>, slacks: &mut Vec<f64>) {
        slacks.extend(own.map(|i| self.scan_own(rows.row(i), i)));
    }

    /// Adds rows of a block that are wanted; `duals` are those of all rows from `first` on.
    fn scan_rows(&mut self, block: &Block, wanted: &[u32], first: usize, duals: &mut [f64]) {
        let width = self.width();
        for i in wanted.iter().map(|&i| i as usize) {
            let duals = &mut duals[(i - first) * width..][..width];
            self.scan(block.row(i), &block.info(i), block.further(i), duals);
        }
    }

    /// Adds a row that is wanted, whose dual variables are brought within their bounds.
    fn scan(&mut self, row: Row, info: &RowInfo, further: &[f64], duals: &mut [f64]);

    /// What a row costs where all weights are 0.
    fn at_zero(&self, info: &RowInfo, further: &[f64]) -> f64;

    /// What came of it. Sums over all rows that the scan made anew replace those that were updated step by step.
    fn end_scan(&mut self) -> Certificate;
}

/// Rows of a pass are read anyway: with one more product each they also tell the objective at the weights with which
/// the pass began.
pub trait LaggedObjective {
    /// Keeps the weights of now, if there is room for that until the next scan.
    fn remember(&mut self) -> bool;

    /// Whether there is ever room for that.
    fn can_look_back(&self) -> bool {
        true
    }

    /// Adds a row.
    fn look_back(&mut self, row: Row, info: &RowInfo, further: &[f64]);

    /// The objective at the weights that were kept, which are forgotten now.
    fn looked_back(&mut self) -> Option<f64>;

    /// Forgets them.
    fn forget(&mut self);

    /// Goes back to the weights of the last certificate, if they are still there.
    fn go_back(&mut self) -> bool {
        false
    }
}
