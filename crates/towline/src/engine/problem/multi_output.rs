//! How dual variables become weights where each column has several of them: the part of a joint model that depends on
//! the penalty.
use crate::block::Row;
use crate::engine::certificate::Certificate;
use crate::engine::certificate::proximal::{ProximalScan, Scanned};
use crate::penalty::AnyPenalty;
use crate::prefetch::large_zeroed;

/// Weights that follow V = Σ xβᵀ, with all that a run asks of them between sweeps; [`super::link::Link`] is the same
/// for one weight per column.
pub trait MultiOutput: Send {
    /// Whether sweeps are over a series of problems with a proximal term, so that their gains do not add up.
    const IS_PROXIMAL: bool;

    /// `margins ← Wᵀx`, the constant feature included; what `products` is left with is for [`add`](Self::add).
    fn margins(&self, row: Row, products: &mut [f64], margins: &mut [f64]);

    /// `V ← V + x·stepsᵀ` for the outputs that are named, which may be changed.
    fn add(&mut self, row: Row, sq_norm: f64, products: &[f64], steps: &mut [(u32, f64)]);

    /// How steeply margins follow the dual variables of a row with this squared norm, at most.
    fn curvature(&self, sq_norm: f64) -> f64;

    /// Rows have come, with these weights and squared norms: the first ones tell what the data is like.
    fn see(&mut self, rows: impl ExactSizeIterator<Item = (f64, f64)>) {
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

    /// Begins a scan. Where an intercept asks for dual variables that add up to 0 for each output, also says what they
    /// add up to.
    fn begin_scan(&mut self) -> (ProximalScan, Option<Vec<f64>>);

    /// The weights that are scanned, and V, which the scan sums anew.
    fn scanned(&mut self) -> Scanned<'_>;

    /// What came of a scan; what was summed anew replaces what was updated step by step.
    fn end_scan(&mut self, scan: ProximalScan) -> Certificate;

    /// Keeps the weights of now as the V of [`scanned`](Self::scanned), if there is room for that until the next scan.
    fn remember(&mut self) -> bool;

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

    /// V, for good, unless it is the weights.
    fn sums(&mut self) -> Vec<f64> {
        Vec::new()
    }
}

/// `W = V`, for R = ½‖W‖².
pub struct Plain {
    w: Vec<f64>,
    /// V, summed anew by a certificate, or weights that are remembered.
    v: Vec<f64>,
    bias: f64,
    width: usize,
    penalty: AnyPenalty,
    /// Whether v holds the weights of the last certificate.
    certified: bool,
}

impl Plain {
    /// W = 0 for so many columns and a constant feature.
    pub fn new(columns: usize, width: usize, bias: f64) -> Self {
        let zeros = || large_zeroed((columns + 1) * width);
        Plain { w: zeros(), v: zeros(), bias, width, penalty: AnyPenalty::default(), certified: false }
    }
}

impl Plain {
    /// W = 0 for a stream, which has no scans.
    pub fn for_stream(columns: usize, width: usize, bias: f64) -> Self {
        let w = large_zeroed((columns + 1) * width);
        Plain { w, v: Vec::new(), bias, width, penalty: AnyPenalty::default(), certified: false }
    }

    /// More columns have come; the constant feature stays the last one.
    pub fn grow(&mut self, columns: usize) {
        insert_columns(&mut self.w, self.width, columns);
    }

    /// Takes over weights.
    pub fn begin_with(&mut self, weights: Vec<f64>) {
        self.w = weights;
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

impl MultiOutput for Plain {
    const IS_PROXIMAL: bool = false;

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
        self.v.fill(0.0);
        self.certified = false;
        (ProximalScan::new(None), None)
    }

    fn scanned(&mut self) -> Scanned<'_> {
        let Plain { w, v, bias, width, penalty, .. } = self;
        Scanned { w, v, penalty, bias: *bias, intercept: false, width: *width }
    }

    fn end_scan(&mut self, scan: ProximalScan) -> Certificate {
        let certificate = scan.finish(self.scanned());
        std::mem::swap(&mut self.w, &mut self.v);
        self.certified = true;
        certificate
    }

    fn remember(&mut self) -> bool {
        self.v.copy_from_slice(&self.w);
        self.certified = false;
        true
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

    /// Those that were certified, not those that were summed anew.
    fn into_weights(self) -> Vec<f64> {
        if self.certified { self.v } else { self.w }
    }
}
