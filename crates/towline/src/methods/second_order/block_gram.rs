//! `Σ M ⊗ x xᵀ`: the matrix of normal equations where a row has a margin for each of K outputs, and M, K x K, says how
//! they curve.
//!
//! It has a block of d x d for each pair of outputs, all of them symmetric: K(K + 1)/2 sums like that of
//! [`super::gram`]. Dense rows are gathered to panels, one rank-k update for each pair. For sparse rows the numbers of
//! all pairs lie side by side, so that each product of two values is one short vector.
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};

use super::gram::Gram;
use crate::block::Row;

/// Rows of a panel.
const PANEL_ROWS: usize = 128;
/// A step of a sparse sum takes about as long as this many of a rank-k update.
const SPARSE_COST: f64 = 4.0;
/// Rows with fewer values than this part of the columns are sparse.
const SPARSE_PART: f64 = 0.5;

/// The sum.
pub struct BlockGram {
    outputs: usize,
    /// Columns, the constant feature included.
    size: usize,
    /// The triangle of each block, by row; for sparse rows by entry, all blocks side by side.
    sums: Vec<f64>,
    panel: Vec<f64>,
    scaled: Vec<f64>,
    /// The entries of M for the rows of the panel, those of a pair side by side; for sparse rows those of the row at
    /// hand.
    weights: Vec<f64>,
    filled: usize,
    /// Of the row at hand.
    entries: Vec<(u32, f64)>,
    dense: bool,
}

/// Pairs of this many outputs, each with itself included.
pub fn pairs(outputs: usize) -> usize {
    outputs * (outputs + 1) / 2
}

impl BlockGram {
    /// Bytes of memory for this many outputs and columns, the constant feature included.
    pub fn bytes(outputs: u64, size: u64) -> u64 {
        let pairs = pairs(outputs as usize) as u64;
        8 * pairs.saturating_mul(size.saturating_mul(size) + PANEL_ROWS as u64) + 2 * 8 * size * PANEL_ROWS as u64
    }

    /// About how long it takes to add a row of `len` values to one block, in multiplications of a rank-k update.
    pub fn row_cost(size: f64, len: f64) -> f64 {
        if len > SPARSE_PART * size { 0.5 * size * size } else { 0.5 * SPARSE_COST * len * len }
    }

    /// 0, for rows that have about `len` of `size` values, the constant feature included.
    pub fn new(outputs: usize, size: usize, len: f64) -> Self {
        let (pairs, dense) = (pairs(outputs), len > SPARSE_PART * size as f64);
        let room = |width: usize| vec![0.0; if dense { width * PANEL_ROWS } else { 0 }];
        BlockGram {
            outputs,
            size,
            sums: vec![0.0; size * size * pairs],
            panel: room(size),
            scaled: room(size),
            weights: if dense { room(pairs) } else { vec![0.0; pairs] },
            filled: 0,
            entries: Vec::new(),
            dense,
        }
    }

    /// Makes it 0.
    pub fn clear(&mut self) {
        self.sums.fill(0.0);
        self.filled = 0;
    }

    /// Adds `M ⊗ x xᵀ` for a row and a constant feature of value `bias`; `weight` says what M has in row k and column
    /// l, l ≤ k.
    #[inline]
    pub fn add(&mut self, row: Row, bias: f64, weight: impl Fn(usize, usize) -> f64) {
        let BlockGram { outputs, size, sums, entries, panel, weights, filled, .. } = self;
        let pairs = (0..*outputs).flat_map(|k| (0..=k).map(move |l| (k, l)));
        if self.dense {
            let place = &mut panel[*filled * *size..][..*size];
            place.fill(0.0);
            row.add_to(place, 1.0);
            place[*size - 1] = bias;
            pairs.enumerate().for_each(|(pair, (k, l))| weights[pair * PANEL_ROWS + *filled] = weight(k, l));
            self.filled += 1;
            if self.filled == PANEL_ROWS {
                self.flush();
            }
            return;
        }
        entries.clear();
        row.for_each(|j, x| entries.push((j, x)));
        entries.extend((bias != 0.0).then_some((*size as u32 - 1, bias)));
        weights.iter_mut().zip(pairs).for_each(|(place, (k, l))| *place = weight(k, l));
        let width = weights.len();
        for (at, &(i, x)) in entries.iter().enumerate() {
            let line = &mut sums[i as usize * *size * width..][..*size * width];
            // Columns ascend, so that all of these are left of the diagonal.
            for &(j, other) in &entries[..=at] {
                let product = x * other;
                let place = &mut line[j as usize * width..][..width];
                place.iter_mut().zip(weights.iter()).for_each(|(sum, weight)| *sum += product * weight);
            }
        }
    }

    /// The sum is complete after this.
    pub fn flush(&mut self) {
        let rows = std::mem::take(&mut self.filled);
        if rows == 0 {
            return;
        }
        let size = self.size;
        let panel = MatRef::from_row_major_slice(&self.panel[..rows * size], rows, size);
        for (block, weights) in self.sums.chunks_mut(size * size).zip(self.weights.chunks(PANEL_ROWS)) {
            let lines = self.scaled.chunks_mut(size).zip(self.panel.chunks(size)).zip(&weights[..rows]);
            for ((to, from), weight) in lines {
                to.iter_mut().zip(from).for_each(|(to, x)| *to = weight * x);
            }
            matmul(
                MatMut::from_row_major_slice_mut(block, size, size),
                BlockStructure::TriangularLower,
                Accum::Add,
                panel.transpose(),
                BlockStructure::Rectangular,
                MatRef::from_row_major_slice(&self.scaled[..rows * size], rows, size),
                BlockStructure::Rectangular,
                1.0,
                Par::Seq,
            );
        }
    }

    /// Writes it to a matrix whose weights of one column lie side by side.
    pub fn write_to(&self, whole: &mut Gram) {
        let (outputs, size) = (self.outputs, self.size);
        let (all, lower) = (outputs * size, whole.lower_mut());
        let (of_pair, of_entry) = if self.dense { (size * size, 1) } else { (1, pairs(outputs)) };
        for i in 0..size {
            for j in 0..=i {
                let mut at = (i * size + j) * of_entry;
                for k in 0..outputs {
                    for l in 0..=k {
                        lower[(i * outputs + k) * all + j * outputs + l] = self.sums[at];
                        // Blocks are symmetric; above the diagonal of the whole nothing counts.
                        lower[(i * outputs + l) * all + j * outputs + k] = self.sums[at];
                        at += of_pair;
                    }
                }
            }
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
            rows in proptest::collection::vec(proptest::collection::vec(-2.0..2.0f64, 2), 1..300),
            curves in proptest::collection::vec(proptest::collection::vec(-1.0..1.0f64, 6), 300),
        ) {
            let (mut dense, mut sparse) = (BlockGram::new(3, 3, 3.0), BlockGram::new(3, 3, 1.0));
            prop_assert!(dense.dense && !sparse.dense);
            let mut plain = [[0.0; 9]; 9];
            for (row, curve) in rows.iter().zip(&curves) {
                let entry = |k: usize, l: usize| curve[k.max(l) * (k.max(l) + 1) / 2 + k.min(l)];
                dense.add(Row::dense(row), 0.5, entry);
                sparse.add(Row::dense(row), 0.5, entry);
                let x = [row[0], row[1], 0.5];
                for (a, line) in plain.iter_mut().enumerate() {
                    (0..9).for_each(|b| line[b] += entry(a % 3, b % 3) * x[a / 3] * x[b / 3]);
                }
            }
            dense.flush();
            for sum in [dense, sparse] {
                let mut whole = Gram::new(9, 0.0);
                sum.write_to(&mut whole);
                for (a, line) in plain.iter().enumerate() {
                    (0..9).for_each(|b| assert!((whole.at(a, b) - line[b]).abs() < 1e-9, "{a} {b}"));
                }
            }
        }
    }
}
