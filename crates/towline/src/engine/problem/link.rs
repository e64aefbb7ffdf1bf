//! How the dual sum v = Σ βx becomes weights: the part of a run that depends on the penalty.
use rayon::prelude::*;

use crate::block::Row;
use crate::engine::certificate::{Certificate, Scan};
use crate::engine::problem::multi_output::insert_columns;
use crate::loss::Loss;
use crate::prefetch::large_zeroed;
use crate::solver::{RowState, Weights};

/// Weights that follow v, with all that a run asks of them between sweeps. What has a default is for the proximal point
/// method: without it, weights are the sum and there is no centre.
pub trait Link: Weights + Send {
    /// Whether sweeps are over a series of problems with a proximal term, so that their gains do not add up.
    const IS_PROXIMAL: bool;

    /// Rows have come: the first ones tell what the data is like.
    fn see(&mut self, rows: &[RowState]) {
        let _ = rows;
    }

    /// Sweeps over all rows before the proximal centre moves.
    fn sweeps(&self) -> u32 {
        1
    }

    /// Every row has had its turn: the proximal centre may move. Returns how far the weights have come since it did so
    /// before, as a part of their norm.
    fn advance(&mut self) -> f64 {
        0.0
    }

    /// Begins a scan; `dual_sums` are those of the negative and the positive dual variables that it will meet, without
    /// their signs.
    fn begin_scan(&mut self, dual_sums: [f64; 2]);

    /// Adds a row to the scan, and returns its margin.
    fn scan<L: Loss>(&mut self, loss: L, row: Row, state: &RowState) -> f64;

    /// What came of it; what was summed anew replaces what was updated step by step.
    fn end_scan(&mut self) -> Certificate;

    /// Keeps the weights of now, for [`remembered`](Self::remembered), if there is room for that until the next scan.
    fn remember(&mut self) -> bool;

    /// Whether there is ever room for that.
    fn can_remember(&self) -> bool {
        true
    }

    /// The weights that were kept.
    fn remembered(&self) -> &[f64];

    /// Goes back to the weights of the last certificate, if they are still there.
    fn go_back(&mut self) -> bool {
        false
    }

    /// The weights that a certificate speaks of, by column, the constant feature last.
    fn weights(&self) -> &[f64];

    /// Weights that a checkpoint needs besides the dual variables.
    fn to_save(&self) -> &[f64] {
        &[]
    }

    /// The same as [`weights`](Self::weights), for good.
    fn into_weights(self) -> Vec<f64>;

    /// v_j, as it is known.
    fn sum_of(&self, column: usize) -> f64;

    /// Forgets all that grows with the columns, until [`begin_at`](Self::begin_at), where that can tell it again.
    fn rest(&mut self) {}

    /// Goes on from weights that were found elsewhere: those of `columns` and of the constant feature behind them; all
    /// others are 0. `sums` are v there. A scan sums v anew.
    fn begin_at(&mut self, columns: &[u32], weights: &[f64], sums: &[f64]);

    /// v, for good, unless it is the weights.
    fn sums(&mut self) -> Vec<f64> {
        Vec::new()
    }
}

/// `w = v`, for R = ½‖w‖².
pub struct Identity {
    w: Vec<f64>,
    /// Σ βx, summed anew by a certificate.
    v: Vec<f64>,
    bias: f64,
    scan: Scan,
    /// Whether v holds the weights of the last certificate.
    certified: bool,
}

impl Identity {
    /// Dense vectors that it holds.
    pub const VECTORS: u64 = 2;

    /// w = 0 for so many columns and a constant feature.
    pub fn new(columns: usize, bias: f64) -> Self {
        let zeros = || large_zeroed(columns + 1);
        Identity { w: zeros(), v: zeros(), bias, scan: Scan::default(), certified: false }
    }

    /// The weights, to change them from outside.
    pub fn weights_mut(&mut self) -> &mut [f64] {
        &mut self.w
    }

    /// A scan over all rows has been made elsewhere; v is the sum of `sums`, in their order.
    pub fn take_scan(&mut self, scan: Scan, sums: &[&[f64]]) {
        self.scan = scan;
        let add = |(j, v): (usize, &mut f64)| *v = sums.iter().map(|sum| sum[j]).sum();
        self.v.par_iter_mut().with_min_len(1 << 13).enumerate().for_each(add);
    }

    /// The value of the constant feature.
    pub fn bias(&self) -> f64 {
        self.bias
    }
}

impl Identity {
    /// w = 0 for a stream, which has no scans.
    pub fn for_stream(columns: usize, bias: f64) -> Self {
        Identity { w: vec![0.0; columns + 1], v: Vec::new(), bias, scan: Scan::default(), certified: false }
    }

    /// More columns have come; the constant feature stays the last one.
    pub fn grow(&mut self, columns: usize) {
        insert_columns(&mut self.w, 1, columns);
    }

    /// Takes over weights.
    pub fn begin_with(&mut self, weights: Vec<f64>) {
        self.w = weights;
    }
}

impl Weights for Identity {
    #[inline(always)]
    fn margin(&self, row: Row) -> f64 {
        row.dot(&self.w) + self.bias * self.w[self.w.len() - 1]
    }

    #[inline(always)]
    fn add(&mut self, row: Row, delta: f64) {
        let last = self.w.len() - 1;
        row.add_to(&mut self.w, delta);
        self.w[last] += delta * self.bias;
    }

    #[inline(always)]
    fn curvature(&self, sq_norm: f64) -> f64 {
        sq_norm
    }
}

impl Link for Identity {
    const IS_PROXIMAL: bool = false;

    fn begin_scan(&mut self, _dual_sums: [f64; 2]) {
        self.v.fill(0.0);
        (self.scan, self.certified) = (Scan::default(), false);
    }

    #[inline]
    fn scan<L: Loss>(&mut self, loss: L, row: Row, state: &RowState) -> f64 {
        self.scan.add(loss, row, state, &self.w, &mut self.v, self.bias)
    }

    fn end_scan(&mut self) -> Certificate {
        let certificate = self.scan.finish(&self.w, &self.v);
        std::mem::swap(&mut self.w, &mut self.v);
        self.certified = true;
        certificate
    }

    fn remember(&mut self) -> bool {
        self.v.copy_from_slice(&self.w);
        self.certified = false;
        true
    }

    fn remembered(&self) -> &[f64] {
        &self.v
    }

    fn go_back(&mut self) -> bool {
        if self.certified {
            self.w.copy_from_slice(&self.v);
        }
        self.certified
    }

    fn weights(&self) -> &[f64] {
        &self.w
    }

    /// Those that were certified, not those that were summed anew: where columns differ by many orders of magnitude,
    /// rounding leaves them far apart.
    fn into_weights(self) -> Vec<f64> {
        if self.certified { self.v } else { self.w }
    }

    fn sum_of(&self, column: usize) -> f64 {
        self.w[column]
    }

    fn begin_at(&mut self, columns: &[u32], weights: &[f64], _sums: &[f64]) {
        self.w.fill(0.0);
        let last = self.w.len() - 1;
        for (j, &w) in columns.iter().map(|&j| j as usize).chain([last]).zip(weights) {
            self.w[j] = w;
        }
    }
}
