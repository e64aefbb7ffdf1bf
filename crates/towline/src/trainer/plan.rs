//! Where every byte of the budget goes, decided before the first block is read.
use serde::Serialize;

use crate::budget::{Budget, BudgetError, Reservation};
use crate::store::{BlockStore, ReadAhead, Shape};
use crate::working_set::{ROW_STATE_BYTES, WorkingSet};

/// Blocks that are read ahead of the solver.
pub const READ_AHEAD: usize = 2;
/// Bytes that an order keeps per row: preferences, schedule, what is left out.
const ORDER_BYTES: u64 = 16;

/// How the budget is spent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The whole budget.
    pub budget_bytes: u64,
    /// w, and the sum Σ βx that the certificate computes anew.
    pub weight_bytes: u64,
    /// One dual variable per row, and a bit that says whether the row is cached.
    pub dual_bytes: u64,
    /// Blocks read ahead, and the buffers to read and decode them.
    pub read_ahead_bytes: u64,
    /// Resident rows with their state.
    pub resident_bytes: u64,
    /// Rows that fit.
    pub resident_rows: u64,
    /// Values that fit.
    pub resident_values: u64,
    /// Whether all rows are resident, so that the disk is read once.
    pub in_memory: bool,
    /// Bytes read from disk by a pass over all blocks.
    pub pass_bytes: u64,
    /// The least budget that would work.
    pub least_bytes: u64,
}

impl Plan {
    /// Plans for a store under a budget.
    pub fn new(store: &dyn BlockStore, budget: &Budget) -> Result<Plan, BudgetError> {
        let shape = store.shape();
        let weight_bytes = 2 * 8 * (shape.columns + 1);
        let dual_bytes = 8 * shape.rows + shape.rows.div_ceil(8);
        let read_ahead_bytes = ReadAhead::needed_bytes(store, READ_AHEAD);
        let fixed = weight_bytes + dual_bytes + read_ahead_bytes;
        let needed = |rows: u64, values: u64| WorkingSet::bytes(shape.layout, rows, values) + rows * ORDER_BYTES;
        let whole = needed(shape.rows, shape.values);
        let largest = store.blocks().iter().map(|b| needed(u64::from(b.rows), b.values)).max().unwrap_or(0);
        // Room for the largest block and as much again for rows that stay.
        let least_bytes = fixed + (2 * largest).min(whole);
        let free = budget.free_bytes();
        if least_bytes > free {
            let others = budget.limit_bytes() - free;
            return Err(BudgetError {
                purpose: "training",
                wanted_bytes: least_bytes,
                free_bytes: free,
                limit_bytes: budget.limit_bytes(),
                least_bytes: least_bytes + others,
            });
        }
        let room = free - fixed;
        let in_memory = whole <= room;
        let (resident_rows, resident_values) =
            if in_memory { (shape.rows, shape.values) } else { share(&shape, room, largest) };
        Ok(Plan {
            budget_bytes: budget.limit_bytes(),
            weight_bytes,
            dual_bytes,
            read_ahead_bytes,
            resident_bytes: needed(resident_rows, resident_values),
            resident_rows,
            resident_values,
            in_memory,
            pass_bytes: store.blocks().iter().map(|b| b.stored_bytes).sum(),
            least_bytes,
        })
    }

    /// Takes from the budget what the plan says, except for read-ahead, which pays for itself.
    pub fn reserve(&self, budget: &Budget) -> Result<[Reservation; 3], BudgetError> {
        Ok([
            budget.reserve("weights", self.weight_bytes)?,
            budget.reserve("dual variables", self.dual_bytes)?,
            budget.reserve("resident rows", self.resident_bytes)?,
        ])
    }
}

/// Rows and values that fit into `room`, in the proportion of the whole store, and enough for the largest block in any case.
fn share(shape: &Shape, room: u64, _largest: u64) -> (u64, u64) {
    let row_bytes = shape.layout.resident_bytes(1, 0) + ROW_STATE_BYTES + ORDER_BYTES;
    let value_bytes = shape.layout.value_bytes(1).max(1);
    let values_per_row = shape.values as f64 / shape.rows.max(1) as f64;
    let rows = room as f64 / (row_bytes as f64 + values_per_row * value_bytes as f64);
    // Both have a little more than their share, since rows differ; the plan's sum stays within the room.
    let rows = (rows as u64).max(1);
    let values = (room.saturating_sub(rows * row_bytes)) / value_bytes;
    (rows, values)
}
