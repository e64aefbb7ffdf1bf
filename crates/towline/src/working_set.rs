//! The rows that are in memory, and their dual variables.
use crate::block::{Block, Layout};
use crate::loss::Loss;
use crate::nearby::prefetch;
use crate::objective::Objective;
use crate::store::Shape;

/// What a visit needs of a row besides its values: together, so that it is one cache line and not four.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowState {
    /// The target.
    pub y: f64,
    /// The weight of the row's loss.
    pub c: f64,
    /// ‖x‖², the bias included.
    pub sq_norm: f64,
    /// The dual variable.
    pub beta: f64,
}

/// Bytes of a row besides its block: state and position.
pub const ROW_STATE_BYTES: u64 = 40;

/// Resident rows in one arena (SBM, section 5.1).
pub struct WorkingSet {
    /// The rows.
    pub block: Block,
    /// The state of each row.
    pub states: Vec<RowState>,
    /// Where each row lies in the store: rows of the blocks before its own, plus its number in the block.
    pub positions: Vec<u64>,
}

impl WorkingSet {
    /// An empty set with room for `rows` rows and `values` values.
    pub fn with_capacity(shape: Shape, rows: usize, values: usize) -> Self {
        let block = Block::with_capacity(shape.layout, shape.columns as usize, rows, values);
        WorkingSet { block, states: Vec::with_capacity(rows), positions: Vec::with_capacity(rows) }
    }

    /// Bytes of memory for so much.
    pub fn bytes(layout: Layout, rows: u64, values: u64) -> u64 {
        layout.resident_bytes(rows, values) + rows * ROW_STATE_BYTES
    }

    /// Rows in the set.
    pub fn rows(&self) -> usize {
        self.states.len()
    }

    /// Appends row `i` of `block`, with `beta` brought within its bounds; rows of weight 0 have no part in the objective and are left out.
    pub fn push<L: Loss>(&mut self, loss: L, block: &Block, i: usize, position: u64, beta: f64, objective: &Objective) {
        let (y, c) = objective.row(&block.info(i));
        if c > 0.0 {
            let (low, high) = loss.dual_bounds(y, c);
            let beta = beta.clamp(low, high);
            let sq_norm = block.row(i).sq_norm() + objective.bias * objective.bias;
            self.block.push_from(block, i);
            self.states.push(RowState { y, c, sq_norm, beta });
            self.positions.push(position);
        }
    }

    /// Brings row `i` closer to the processor.
    #[inline]
    pub fn prefetch(&self, i: usize) {
        prefetch(&self.states, i);
        self.block.prefetch(i);
    }

    /// Keeps the rows for which `keep(i)` holds, moving them together.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let kept: Vec<bool> = (0..self.rows()).map(&mut keep).collect();
        self.block.retain(|i| kept[i]);
        let mut i = 0;
        self.states.retain(|_| {
            i += 1;
            kept[i - 1]
        });
        let mut i = 0;
        self.positions.retain(|_| {
            i += 1;
            kept[i - 1]
        });
    }
}
