//! How the dual sum V = Σ xβᵀ becomes weights: the part of a run that depends on the penalty.
//!
//! One trait for one and for several outputs, whose weights lie side by side for each column. What a visit of a row
//! does is apart: [`Weights`] and [`SingleLink`] for one margin, [`JointLink`] for several.
use rayon::prelude::*;

use crate::block::Row;
use crate::engine::certificate::proximal::{ProximalScan, Scanned};
use crate::engine::certificate::{Certificate, Scan};
use crate::engine::problem::{ProximalSteps, Resume};
use crate::loss::Loss;
use crate::penalty::L2;
use crate::prefetch::large_zeroed;
use crate::solver::{RowState, Weights, add_with_bias, margin_with_bias};

/// Weights that follow V, with all that a run asks of them between sweeps. Defaults are those of weights that are just the
/// sum, without a centre.
pub trait Link: ProximalSteps + Resume + Send {
    /// The weights that a certificate speaks of, by column, the constant feature last.
    fn weights(&self) -> &[f64];

    /// The same as [`weights`](Self::weights), for good.
    fn into_weights(self) -> Vec<f64>;

    /// Keeps the weights of now, for [`remembered`](Self::remembered), if there is room for that until the next scan.
    fn remember(&mut self) -> bool {
        false
    }

    /// Whether there is ever room for that.
    fn can_remember(&self) -> bool {
        true
    }

    /// The weights that were kept.
    fn remembered(&self) -> &[f64] {
        &[]
    }

    /// Goes back to the weights of the last certificate, if they are still there.
    fn go_back(&mut self) -> bool {
        false
    }

    /// Weights that a checkpoint needs besides the dual variables.
    fn to_save(&self) -> &[f64] {
        &[]
    }

    /// V, for good, unless it is the weights.
    fn sums(&mut self) -> Vec<f64> {
        Vec::new()
    }

    /// Rows have come, with these weights and squared norms: the first ones tell what the data is like.
    fn observe_rows(&mut self, rows: impl ExactSizeIterator<Item = (f64, f64)>) {
        let _ = rows;
    }
}

/// A link for one output: visits see it as [`Weights`], and scans add a row at a time.
pub trait SingleLink: Link + Weights {
    /// Begins a scan; `dual_sums` are those of the negative and the positive dual variables that it will meet, without
    /// their signs.
    fn begin_scan(&mut self, dual_sums: [f64; 2]);

    /// Adds a row to the scan, and returns its margin.
    fn scan<L: Loss>(&mut self, loss: L, row: Row, state: &RowState) -> f64;

    /// What came of it; what was summed anew replaces what was updated step by step.
    fn end_scan(&mut self) -> Certificate;
}

/// A link for several outputs.
pub trait JointLink: Link {
    /// `margins ← Wᵀx`, the constant feature included; what `products` is left with is for [`add`](Self::add).
    fn margins(&self, row: Row, products: &mut [f64], margins: &mut [f64]);

    /// `V ← V + x·stepsᵀ` for the outputs that are named, which may be changed.
    fn add(&mut self, row: Row, sq_norm: f64, products: &[f64], steps: &mut [(u32, f64)]);

    /// How steeply margins follow the dual variables of a row with this squared norm, at most.
    fn curvature(&self, sq_norm: f64) -> f64;

    /// Begins a scan. Where an intercept asks for dual variables that add up to 0 for each output, also says what they
    /// add up to.
    fn begin_scan(&mut self) -> (ProximalScan, Option<Vec<f64>>);

    /// The weights that are scanned, and V, which the scan sums anew.
    fn scanned(&mut self) -> Scanned<'_>;

    /// What came of a scan; what was summed anew replaces what was updated step by step.
    fn end_scan(&mut self, scan: ProximalScan) -> Certificate;
}

/// `W = V`, for R = ½‖W‖².
pub struct Identity {
    w: Vec<f64>,
    /// V, summed anew by a certificate, or weights that are remembered.
    v: Vec<f64>,
    bias: f64,
    width: usize,
    /// The scan at hand, of one output.
    scan: Scan,
    /// Whether v holds the weights of the last certificate.
    certified: bool,
}

/// R.
const RIDGE: L2 = L2 { lambda: 1.0 };

impl Identity {
    /// Dense vectors that it holds.
    pub const VECTORS: u64 = 2;

    /// w = 0 for so many columns and a constant feature.
    pub fn new(columns: usize, bias: f64) -> Self {
        Identity::with_outputs(columns, 1, bias)
    }

    /// The same for several outputs.
    pub fn with_outputs(columns: usize, width: usize, bias: f64) -> Self {
        let zeros = || large_zeroed((columns + 1) * width);
        Identity { w: zeros(), v: zeros(), bias, width, scan: Scan::default(), certified: false }
    }

    /// The same for a stream, which has no scans.
    pub fn for_stream(columns: usize, width: usize, bias: f64) -> Self {
        let w = large_zeroed((columns + 1) * width);
        Identity { w, v: Vec::new(), bias, width, scan: Scan::default(), certified: false }
    }

    /// More columns have come; the constant feature stays the last one.
    pub fn grow(&mut self, columns: usize) {
        insert_columns(&mut self.w, self.width, columns);
    }

    /// Takes over weights.
    pub fn begin_with(&mut self, weights: Vec<f64>) {
        self.w = weights;
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

    fn forget_sums(&mut self) {
        self.v.fill(0.0);
        self.certified = false;
    }

    /// What was summed anew takes the place of what was updated step by step; what was certified is kept.
    fn take_sums(&mut self) {
        std::mem::swap(&mut self.w, &mut self.v);
        self.certified = true;
    }
}

impl ProximalSteps for Identity {}

impl Resume for Identity {}

impl Link for Identity {
    fn weights(&self) -> &[f64] {
        &self.w
    }

    /// Those that were certified, not those that were summed anew: where columns differ by many orders of magnitude,
    /// rounding leaves them far apart.
    fn into_weights(self) -> Vec<f64> {
        if self.certified { self.v } else { self.w }
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
}

impl Weights for Identity {
    #[inline(always)]
    fn margin(&self, row: Row) -> f64 {
        margin_with_bias(row, &self.w, self.bias)
    }

    #[inline(always)]
    fn add(&mut self, row: Row, delta: f64) {
        add_with_bias(row, &mut self.w, self.bias, delta);
    }

    #[inline(always)]
    fn curvature(&self, sq_norm: f64) -> f64 {
        sq_norm
    }
}

impl SingleLink for Identity {
    fn begin_scan(&mut self, _dual_sums: [f64; 2]) {
        self.forget_sums();
        self.scan = Scan::default();
    }

    #[inline]
    fn scan<L: Loss>(&mut self, loss: L, row: Row, state: &RowState) -> f64 {
        self.scan.add(loss, row, state, &self.w, &mut self.v, self.bias)
    }

    fn end_scan(&mut self) -> Certificate {
        let certificate = self.scan.finish(&self.w, &self.v);
        self.take_sums();
        certificate
    }
}

impl JointLink for Identity {
    #[inline]
    fn margins(&self, row: Row, _products: &mut [f64], margins: &mut [f64]) {
        margins_of(row, &self.w, self.bias, margins);
    }

    #[inline]
    fn add(&mut self, row: Row, _sq_norm: f64, _products: &[f64], steps: &mut [(u32, f64)]) {
        add_row(row, &mut self.w, self.width, self.bias, steps);
    }

    fn curvature(&self, sq_norm: f64) -> f64 {
        sq_norm
    }

    fn begin_scan(&mut self) -> (ProximalScan, Option<Vec<f64>>) {
        self.forget_sums();
        (ProximalScan::new(None), None)
    }

    fn scanned(&mut self) -> Scanned<'_> {
        let Identity { w, v, bias, width, .. } = self;
        Scanned { w, v, penalty: &RIDGE, bias: *bias, intercept: false, width: *width }
    }

    fn end_scan(&mut self, scan: ProximalScan) -> Certificate {
        let certificate = scan.finish(self.scanned());
        self.take_sums();
        certificate
    }
}

/// Makes room for so many columns in all before the constant feature, which stays the last one.
pub fn insert_columns(weights: &mut Vec<f64>, width: usize, columns: usize) {
    let Some(constant) = weights.len().checked_sub(width) else { return };
    let constants = weights.split_off(constant);
    // To the number: a model that has paid for its columns must not hold more.
    weights.reserve_exact((columns + 1) * width - constant);
    weights.resize(columns * width, 0.0);
    weights.extend(constants);
}

/// `margins ← Wᵀx` with a constant feature of value `bias` last.
#[inline]
pub fn margins_of(row: Row, w: &[f64], bias: f64, margins: &mut [f64]) {
    row.dot_side_by_side(w, margins);
    if bias != 0.0 {
        let constants = &w[w.len() - margins.len()..];
        margins.iter_mut().zip(constants).for_each(|(margin, w)| *margin += bias * w);
    }
}

/// `V ← V + x·stepsᵀ` with a constant feature of value `bias` last.
#[inline]
pub fn add_row(row: Row, v: &mut [f64], width: usize, bias: f64, steps: &[(u32, f64)]) {
    row.add_side_by_side(v, width, steps);
    if bias != 0.0 {
        let constants = v.len() - width;
        steps.iter().for_each(|&(m, step)| v[constants + m as usize] += bias * step);
    }
}
