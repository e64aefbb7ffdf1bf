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

impl RowState {
    /// That of row `i` of `block`, with `beta` brought within its bounds.
    fn new<L: Loss>(loss: L, block: &Block, i: usize, beta: f64, objective: &Objective) -> Self {
        let (y, c) = objective.row(&block.info(i));
        let (low, high) = loss.dual_bounds(y, c);
        let sq_norm = block.row(i).sq_norm() + objective.bias * objective.bias;
        RowState { y, c, sq_norm, beta: beta.clamp(low, high) }
    }
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

    /// All rows of `block`, which stay where they are, with the dual variables `betas` brought within their bounds; rows of weight 0 have no part
    /// in the objective, and where there are some the others are copied.
    pub fn over<L: Loss>(loss: L, block: &Block, betas: &[f64], objective: &Objective) -> Self {
        let has_weight = |i: usize| objective.row(&block.info(i)).1 > 0.0;
        let positions: Vec<u64> = (0..block.rows()).filter(|&i| has_weight(i)).map(|i| i as u64).collect();
        let states = positions.iter().map(|&i| RowState::new(loss, block, i as usize, betas[i as usize], objective));
        let states = states.collect();
        let mut block = block.clone();
        if positions.len() < block.rows() {
            let mut kept = positions.iter().peekable();
            block.retain(|i| kept.next_if(|&&position| position == i as u64).is_some());
        }
        WorkingSet { block, states, positions }
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
        if objective.row(&block.info(i)).1 > 0.0 {
            self.block.push_from(block, i);
            self.states.push(RowState::new(loss, block, i, beta, objective));
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
