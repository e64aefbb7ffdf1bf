//! Where every byte of the budget goes.
use serde::Serialize;

use crate::budget::{Budget, BudgetError, Reservation};
use crate::engine::Solver;
use crate::objective::Objective;
use crate::store::{BlockInfo, BlockStore, ReadAhead};

/// Blocks that are read ahead of the solver.
pub const READ_AHEAD: usize = 2;
/// How the budget is spent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Models that train together.
    pub models: u64,
    /// The whole budget.
    pub budget_bytes: u64,
    /// What is taken before: by the program itself, and by what it knows of the store.
    pub program_bytes: u64,
    /// For each model w, and the sum Σ βx that the certificate computes anew; for the proximal point method also its
    /// centre and last step; for several parts also what they take.
    pub weight_bytes: u64,
    /// The weights of models that were trained before, while the last ones train.
    pub finished_bytes: u64,
    /// The dual variables of all rows, unless they are on disk, and a bit that says whether the row is cached.
    pub dual_bytes: u64,
    /// Whether dual variables of rows that are not resident are on disk.
    pub duals_on_disk: bool,
    /// Blocks read ahead, and the buffers to read and decode them.
    pub read_ahead_bytes: u64,
    /// Resident rows with their state in each model.
    pub resident_bytes: u64,
    /// How the problem is solved: the solver that a run begins with.
    pub solver: Solver,
    /// Why it is that one, in a few words; empty where there was no choice.
    pub why: String,
    /// Matrices of a solver of second order, and what it holds of each row; 0 for the others.
    pub solver_bytes: u64,
    /// The same values by column, and what their solver holds of each row; 0 for the other solver.
    pub column_bytes: u64,
    /// What each model may take besides for copies of columns: a part of what is left over.
    pub spare_bytes: u64,
    /// The budget from which on they would be solved by columns, where that is all that is in the way.
    pub columns_from_bytes: Option<u64>,
    /// Rows that fit.
    pub resident_rows: u64,
    /// Values that fit.
    pub resident_values: u64,
    /// Rows and values of the largest block.
    pub largest_block: (u64, u64),
    /// Whether all rows are resident, so that the disk is read once.
    pub in_memory: bool,
    /// Bytes read from disk by a pass over all blocks.
    pub pass_bytes: u64,
    /// The least budget that would work.
    pub least_bytes: u64,
    /// Parts of the rows in memory that are visited at the same time; each has a copy of the weights.
    pub parts: u32,
    /// Whether weights do without the sum that a certificate computes anew, since that leaves more rows in memory, or
    /// is all that there is room for.
    pub is_lean: bool,
    /// What is taken of the dual variables and of the resident rows only when rows have more classes than their slots
    /// hold.
    #[serde(skip)]
    pub(crate) later_bytes: [u64; 2],
}

impl Plan {
    /// Bytes that are taken in all.
    pub fn used_bytes(&self) -> u64 {
        let own = self.weight_bytes + self.dual_bytes + self.read_ahead_bytes + self.resident_bytes;
        self.program_bytes + self.finished_bytes + own + self.column_bytes + self.solver_bytes
    }

    /// The same, with the reason for its solver.
    pub(crate) fn because(self, why: &str) -> Plan {
        Plan { why: why.to_string(), ..self }
    }

    /// The plan of a solver of second order for so many models, which train one after the other.
    pub(crate) fn of_second_order(
        store: &dyn BlockStore,
        objective: &Objective,
        needs: Needs,
        models: u64,
        budget: &Budget,
    ) -> Plan {
        let shape = store.shape();
        let of_model = 8 * objective.width() as u64 * (shape.columns + 1);
        let part = |rows: u64| (shape.values as f64 * rows as f64 / shape.rows.max(1) as f64) as u64;
        Plan {
            models: 1,
            budget_bytes: budget.limit_bytes(),
            program_bytes: budget.held_bytes(),
            weight_bytes: of_model,
            finished_bytes: (models - 1) * of_model,
            dual_bytes: needs.dual_bytes,
            duals_on_disk: false,
            read_ahead_bytes: ReadAhead::needed_bytes(store, READ_AHEAD),
            resident_bytes: needs.resident_bytes,
            solver: needs.solver,
            why: String::new(),
            solver_bytes: needs.solver_bytes,
            column_bytes: 0,
            spare_bytes: 0,
            columns_from_bytes: None,
            resident_rows: needs.resident_rows,
            resident_values: part(needs.resident_rows),
            largest_block: largest_block(store),
            in_memory: needs.in_memory,
            pass_bytes: store.blocks().iter().map(|b| b.stored_bytes).sum(),
            least_bytes: budget.held_bytes() + needs.least_bytes,
            parts: 1,
            is_lean: false,
            later_bytes: [0; 2],
        }
    }

    /// Rows and values that may stay when new blocks come: this share, unless the largest block would not fit beside
    /// them.
    pub fn cache_room(&self, share: f64) -> (u64, u64) {
        let part = |all: u64, block: u64| ((all as f64 * share) as u64).min(all.saturating_sub(block));
        (part(self.resident_rows, self.largest_block.0), part(self.resident_values, self.largest_block.1))
    }

    /// Takes from the budget what the plan says, except for read-ahead and rows with many classes, which pay for
    /// themselves.
    pub fn reserve(&self, budget: &Budget) -> Result<[Reservation; 4], BudgetError> {
        Ok([
            budget.reserve("weights", self.weight_bytes + self.finished_bytes)?,
            budget.reserve("dual variables", self.dual_bytes - self.later_bytes[0])?,
            budget.reserve("resident rows", self.resident_bytes - self.later_bytes[1])?,
            budget.reserve("rows by column", self.column_bytes)?,
        ])
    }
}

/// What a solver of second order takes.
pub(crate) struct Needs {
    pub solver: Solver,
    pub solver_bytes: u64,
    pub dual_bytes: u64,
    /// Rows in memory: all, or those near their kinks, as many as fit.
    pub resident_rows: u64,
    pub resident_bytes: u64,
    pub in_memory: bool,
    /// The least that would work.
    pub least_bytes: u64,
}

/// Rows and values of the largest blocks.
pub(crate) fn largest_block(store: &dyn BlockStore) -> (u64, u64) {
    let most = |(rows, values): (u64, u64), rest: &BlockInfo| (rows.max(u64::from(rest.rows)), values.max(rest.values));
    store.blocks().iter().fold((0, 0), most)
}
