//! `Σ θ x xᵀ`: the d x d matrix of normal equations, summed row by row.
//!
//! Dense rows are gathered to panels, and a panel is one rank-k update of the triangle, which faer does near the
//! processor's peak. A sparse row is an outer product of its own values: fewer operations, each of them dearer.
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};

use crate::block::Row;

/// Rows of a panel.
const PANEL_ROWS: usize = 128;
/// A step of a sparse outer product takes about as long as this many of a rank-k update (one core with AVX2).
const SPARSE_COST: f64 = 10.0;

/// A symmetric matrix: a column for each feature, and further ones behind them.
#[derive(Debug)]
pub struct Gram {
    size: usize,
    /// By row; only entries left of the diagonal and on it count.
    lower: Vec<f64>,
    panel: Vec<f64>,
    filled: usize,
    /// Whether the rows of the panel are subtracted.
    is_negative: bool,
    /// Of the row at hand.
    entries: Vec<(u32, f64)>,
    dense: bool,
}

/// Columns that have a part in a matrix, in order; the constant feature is behind them.
pub struct Chosen {
    /// Where each column is among them, if it is.
    places: Vec<u32>,
    columns: Vec<u32>,
}

/// A column that is left out.
const LEFT_OUT: u32 = u32::MAX;

impl Chosen {
    /// Those of so many columns that `is_in` says.
    pub fn new(columns: usize, is_in: impl Fn(usize) -> bool) -> Self {
        let mut places = vec![LEFT_OUT; columns];
        let columns: Vec<u32> = (0..columns).filter(|&j| is_in(j)).map(|j| j as u32).collect();
        columns.iter().zip(0..).for_each(|(&j, place)| places[j as usize] = place);
        Chosen { places, columns }
    }

    /// Which they are.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Whether a column is one of them.
    pub fn has(&self, j: usize) -> bool {
        self.places[j] != LEFT_OUT
    }
}

impl Gram {
    /// Bytes of memory for rows with this many columns, the constant feature included.
    pub fn bytes(size: u64) -> u64 {
        8 * size.saturating_mul(size + PANEL_ROWS as u64)
    }

    /// About how long it takes to add a row of `len` values, in multiplications of a rank-k update.
    pub fn row_cost(size: f64, len: f64) -> f64 {
        (0.5 * size * size).min(0.5 * SPARSE_COST * len * len)
    }

    /// Whether rows of about `len` values are gathered to panels.
    pub fn is_dense(size: usize, len: f64) -> bool {
        Gram::row_cost(size as f64, len) >= 0.5 * (size * size) as f64
    }

    /// 0, for rows that have about `len` of `size` values, those of further columns included.
    pub fn new(size: usize, len: f64) -> Self {
        let dense = Gram::is_dense(size, len);
        let panel = if dense { vec![0.0; size * PANEL_ROWS] } else { Vec::new() };
        Gram { size, lower: vec![0.0; size * size], panel, filled: 0, is_negative: false, entries: Vec::new(), dense }
    }

    /// Makes it 0.
    pub fn clear(&mut self) {
        self.lower.fill(0.0);
        (self.filled, self.is_negative) = (0, false);
    }

    /// Adds θ x xᵀ for a row and more columns behind its own; θ ≥ 0.
    #[inline]
    pub fn add(&mut self, row: Row, more: &[f64], theta: f64) {
        if self.dense { self.add_dense(row, more, theta) } else { self.add_sparse(row, more, theta) }
    }

    /// Adds δ x xᵀ, whatever the sign of δ.
    pub fn change(&mut self, row: Row, more: &[f64], delta: f64) {
        if !self.dense {
            return self.add_sparse(row, more, delta);
        }
        let is_negative = delta < 0.0;
        if is_negative != self.is_negative {
            self.flush();
            self.is_negative = is_negative;
        }
        self.add_dense(row, more, delta.abs());
    }

    fn add_dense(&mut self, row: Row, more: &[f64], theta: f64) {
        let root = theta.sqrt();
        let place = &mut self.panel[self.filled * self.size..][..self.size];
        place.fill(0.0);
        row.add_to(place, root);
        let behind = self.size - more.len();
        place[behind..].iter_mut().zip(more).for_each(|(place, x)| *place = root * x);
        self.filled += 1;
        if self.filled == PANEL_ROWS {
            self.flush();
        }
    }

    /// The same with `shift` subtracted from the row, which is all 0 unless rows are gathered to panels.
    pub fn add_shifted(&mut self, row: Row, shift: &[f64], more: &[f64], theta: f64) {
        if !self.dense {
            return self.add_sparse(row, more, theta);
        }
        let (root, behind) = (theta.sqrt(), self.size - more.len());
        let place = &mut self.panel[self.filled * self.size..][..self.size];
        place.iter_mut().zip(shift).for_each(|(place, shift)| *place = -shift);
        row.add_to(place, 1.0);
        place[behind..].copy_from_slice(more);
        place.iter_mut().for_each(|x| *x *= root);
        self.filled += 1;
        if self.filled == PANEL_ROWS {
            self.flush();
        }
    }

    /// Adds θ x xᵀ for the columns that were chosen and a constant feature of value `bias`; θ ≥ 0.
    pub fn add_chosen(&mut self, row: Row, chosen: &Chosen, bias: f64, theta: f64) {
        let Gram { entries, panel, size, filled, .. } = self;
        if self.dense {
            let root = theta.sqrt();
            let place = &mut panel[*filled * *size..][..*size];
            place.fill(0.0);
            row.for_each(|j, x| {
                let at = chosen.places[j as usize];
                if at != LEFT_OUT {
                    place[at as usize] = root * x;
                }
            });
            place[*size - 1] = root * bias;
            self.filled += 1;
            if self.filled == PANEL_ROWS {
                self.flush();
            }
            return;
        }
        entries.clear();
        row.for_each(|j, x| {
            let at = chosen.places[j as usize];
            if at != LEFT_OUT {
                entries.push((at, x));
            }
        });
        entries.extend((bias != 0.0).then_some((*size as u32 - 1, bias)));
        self.add_entries(theta);
    }

    fn add_sparse(&mut self, row: Row, more: &[f64], theta: f64) {
        self.entries.clear();
        row.for_each(|j, x| self.entries.push((j, x)));
        let behind = self.size - more.len();
        self.entries.extend((behind as u32..).zip(more.iter().copied()).filter(|(_, x)| *x != 0.0));
        self.add_entries(theta);
    }

    /// Adds θ times the outer product of the entries at hand.
    fn add_entries(&mut self, theta: f64) {
        let Gram { entries, lower, size, .. } = self;
        for (k, &(i, x)) in entries.iter().enumerate() {
            let line = &mut lower[i as usize * *size..][..*size];
            let scaled = theta * x;
            // Columns ascend, so that all of these are left of the diagonal.
            entries[..=k].iter().for_each(|&(j, x)| line[j as usize] += scaled * x);
        }
    }

    /// The sum is complete after this.
    pub fn flush(&mut self) {
        let rows = std::mem::take(&mut self.filled);
        if rows == 0 {
            return;
        }
        let (size, sign) = (self.size, if self.is_negative { -1.0 } else { 1.0 });
        let panel = MatRef::from_row_major_slice(&self.panel[..rows * size], rows, size);
        matmul(
            MatMut::from_row_major_slice_mut(&mut self.lower, size, size),
            BlockStructure::TriangularLower,
            Accum::Add,
            panel.transpose(),
            BlockStructure::Rectangular,
            panel,
            BlockStructure::Rectangular,
            sign,
            Par::Seq,
        );
    }

    /// The entry in row i and column j.
    #[inline]
    pub fn at(&self, i: usize, j: usize) -> f64 {
        if j <= i { self.lower[i * self.size + j] } else { self.lower[j * self.size + i] }
    }

    /// Its columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Its triangle, by row.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// The same, to change.
    pub fn lower_mut(&mut self) -> &mut [f64] {
        &mut self.lower
    }

    /// `out = (G + diag(ridge)) x`.
    pub fn product(&self, ridge: &[f64], x: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(ridge).zip(x).for_each(|((out, ridge), x)| *out = ridge * x);
        for i in 0..self.size {
            let line = &self.lower[i * self.size..][..i];
            let mut sum = self.lower[i * self.size + i] * x[i];
            for (j, g) in line.iter().enumerate() {
                sum += g * x[j];
                out[j] += g * x[i];
            }
            out[i] += sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn panels_and_outer_products_are_the_same_sum(
            rows in proptest::collection::vec(proptest::collection::vec(-3.0..3.0f64, 5), 1..300),
            theta in proptest::collection::vec(0.0..2.0f64, 300),
        ) {
            let (mut dense, mut sparse) = (Gram::new(6, 6.0), Gram::new(6, 0.1));
            prop_assert!(dense.dense && !sparse.dense);
            let mut plain = [[0.0; 6]; 6];
            for (row, &theta) in rows.iter().zip(&theta) {
                dense.add(Row::dense(row), &[0.5], theta);
                sparse.add(Row::dense(row), &[0.5], theta);
                let whole = [row[0], row[1], row[2], row[3], row[4], 0.5];
                (0..36).for_each(|k| plain[k / 6][k % 6] += theta * whole[k / 6] * whole[k % 6]);
            }
            dense.flush();
            sparse.flush();
            let ridge = [1.0, 0.0, 2.0, 0.0, 0.0, 3.0];
            let x = [1.0, -2.0, 0.5, 3.0, 0.0, -1.0];
            let (mut a, mut b) = ([0.0; 6], [0.0; 6]);
            dense.product(&ridge, &x, &mut a);
            sparse.product(&ridge, &x, &mut b);
            for i in 0..6 {
                let exact: f64 = (0..6).map(|j| plain[i][j] * x[j]).sum::<f64>() + ridge[i] * x[i];
                prop_assert!((a[i] - exact).abs() < 1e-8 && (b[i] - exact).abs() < 1e-8);
                (0..6).for_each(|j| assert!((dense.at(i, j) - plain[i][j]).abs() < 1e-8));
            }
        }
    }
}
