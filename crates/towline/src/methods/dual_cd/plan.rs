//! Where every byte of the budget goes, decided before the first block is read.
use crate::budget::{Budget, BudgetError};
use crate::columns::{self, Groups};
use crate::engine::duals::sparse_rows;
use crate::engine::parts;
use crate::engine::plan::{READ_AHEAD, largest_block};
use crate::engine::problem::lean::Lean;
use crate::engine::problem::link::Identity;
use crate::engine::problem::proximal::Proximal;
use crate::engine::{Plan, Solver, TrainError};
use crate::loss::Loss;
use crate::objective::{Objective, Targets};
use crate::penalty::{SoftThresholding, Structure};
use crate::residents::Residents;
use crate::store::{BlockStore, ReadAhead, Shape};

/// Bytes of a resident row in each model: its state, and its number among all residents.
const ROW_STATE_BYTES: u64 = 36;
/// Bytes that it takes in each model besides: preferences, schedule and what is left out by the order, its score when
/// the cache is chosen, and its dual variable on the way to disk.
const ORDER_BYTES: u64 = 32;

/// Dual variables stay in memory if they take at most this part of the room that rows would have.
const DUAL_SHARE: u64 = 8;

/// Where not all rows are in memory, parts take at most this part of the room that rows have.
const PART_SHARE: u64 = 8;

/// Copies of columns take at most this part of what is left over: others take from it, too.
const SPARE_SHARE: u64 = 2;

impl Plan {
    /// Plans for one model with the penalty ½‖w‖².
    pub fn new(store: &dyn BlockStore, budget: &Budget) -> Result<Plan, BudgetError> {
        let vector = 8 * (store.shape().columns + 1);
        let lean_bytes = Some(Lean::VECTORS * vector);
        let model = ModelBytes { lean_bytes, ..ModelBytes::of_one(Identity::VECTORS * vector) };
        Plan::with(store, model, Wave::whole(1), budget)
    }

    /// Plans for so many models with this objective that train together.
    pub fn for_models(
        store: &dyn BlockStore,
        objective: &Objective,
        models: u64,
        budget: &Budget,
    ) -> Result<Plan, BudgetError> {
        Plan::with(store, ModelBytes::new(store, objective), Wave::whole(models), budget)
    }

    /// Plans for as many of `models` models as should train together: all that leave every row in memory, if one does;
    /// else as many as leave half of the budget to rows. At least one. Nothing is kept of a wave while the next one
    /// trains.
    pub fn for_wave(
        store: &dyn BlockStore,
        objective: &Objective,
        models: usize,
        budget: &Budget,
    ) -> Result<(Plan, usize), BudgetError> {
        Plan::wave(store, ModelBytes::new(store, objective), models, false, budget)
    }

    /// The same for the solver of a run. By columns is for all rows in memory; where they do not fit twice, or where
    /// there are more rows than columns, `Auto` is dual: few columns are mostly not 0, and a sweep over rows moves all
    /// of them.
    pub fn for_solver(
        store: &dyn BlockStore,
        objective: &Objective,
        solver: Solver,
        models: usize,
        budget: &Budget,
    ) -> Result<(Plan, usize), TrainError> {
        Plan::for_run(store, objective, (solver, None), (models, true), budget)
    }

    /// The same where the weights of a wave are kept while the next ones train, or not, and with as many parts as asked
    /// for. One model of one output with ½‖w‖² has parts; several models are shared out among threads themselves.
    pub(crate) fn for_run(
        store: &dyn BlockStore,
        objective: &Objective,
        (solver, parts): (Solver, Option<u32>),
        (models, are_kept): (usize, bool),
        budget: &Budget,
    ) -> Result<(Plan, usize), TrainError> {
        let (plan, size) = Plan::by_coordinates(store, objective, solver, (models, are_kept), budget)?;
        let Some(count) = parts.filter(|&count| count > 1) else { return Ok((plan, size)) };
        if models > 1 || plan.solver != Solver::Dual || !can_have_parts(objective) {
            return Err(TrainError::Parts);
        }
        Ok((plan.in_parts(store, objective, count, budget)?, size))
    }

    /// The same plan with so many parts, if rows make room for their copies of the weights without leaving memory.
    fn in_parts(
        &self,
        store: &dyn BlockStore,
        objective: &Objective,
        count: u32,
        budget: &Budget,
    ) -> Result<Plan, BudgetError> {
        let bytes = parts::bytes(u64::from(count), store.shape().columns, self.resident_rows);
        let model = ModelBytes::new(store, objective);
        let model = ModelBytes { vector_bytes: model.vector_bytes + bytes, lean_bytes: None, ..model };
        let is_little = bytes <= self.resident_bytes / PART_SHARE;
        match Plan::with(store, model, Wave::whole(1), budget) {
            Ok(plan) if plan.in_memory || is_little && !self.in_memory => {
                let (columns_from_bytes, least_bytes) = (self.columns_from_bytes, self.least_bytes);
                Ok(Plan { parts: count, columns_from_bytes, least_bytes, ..plan })
            }
            _ => {
                let free =
                    self.used_bytes() - self.program_bytes + bytes.max(1) * if is_little { 1 } else { PART_SHARE };
                Err(budget.refusal("training in parts", free, self.program_bytes))
            }
        }
    }

    fn by_coordinates(
        store: &dyn BlockStore,
        objective: &Objective,
        solver: Solver,
        (models, are_kept): (usize, bool),
        budget: &Budget,
    ) -> Result<(Plan, usize), TrainError> {
        let shape = store.shape();
        // Dual variables of a loss with kinks are slow to settle by rows.
        let suits_rows = shape.rows > shape.columns && objective.loss.curvature().is_finite();
        let can = match solver {
            Solver::Dual => None,
            Solver::Auto if suits_rows => None,
            _ => Some(columns::can_train(objective)),
        };
        let dual = ModelBytes::new(store, objective);
        match can {
            Some(Ok(())) => {}
            Some(Err(error)) if solver == Solver::Columns => return Err(error.into()),
            _ => return Ok(Plan::wave(store, dual, models, are_kept, budget)?),
        }
        let by_columns = dual.by_columns(store, objective);
        let found = Plan::wave(store, by_columns, models, are_kept, budget);
        if let Ok((Plan { in_memory: true, .. }, _)) = found {
            return Ok(found?);
        }
        let enough =
            Plan::with(store, by_columns, Wave::whole(1), &Budget::unlimited())?.used_bytes() + budget.held_bytes();
        if solver == Solver::Columns {
            columns::can_train_blocks(objective, enough)?;
            return Ok(found?);
        }
        let (plan, size) = Plan::wave(store, dual, models, are_kept, budget)?;
        Ok((Plan { columns_from_bytes: Some(enough), ..plan }, size))
    }

    fn wave(
        store: &dyn BlockStore,
        model: ModelBytes,
        models: usize,
        are_kept: bool,
        budget: &Budget,
    ) -> Result<(Plan, usize), BudgetError> {
        let all = models as u64;
        let wave = |models: u64| Wave { models, all: if are_kept { all } else { models } };
        let plan = |models: usize| Plan::with(store, model, wave(models as u64), budget);
        let one = plan(1)?;
        let fits = |plan: &Plan| match one.in_memory {
            true => plan.in_memory,
            false => plan.weight_bytes + plan.dual_bytes <= budget.free_bytes() / 2,
        };
        // More models never fit better than fewer.
        let (mut most, mut best) = (1, one.clone());
        let mut above = models + 1;
        while most + 1 < above {
            // The whole lot first: it often fits.
            let middle = if above == models + 1 { models } else { (most + above) / 2 };
            match plan(middle) {
                Ok(found) if fits(&found) => (most, best) = (middle, found),
                _ => above = middle,
            }
        }
        Ok((best, most))
    }

    /// Plans for one model that needs so many dense vectors and a dual variable a row.
    pub(crate) fn for_vectors(store: &dyn BlockStore, vectors: u64, budget: &Budget) -> Result<Plan, BudgetError> {
        Plan::with(store, ModelBytes::of_one(vectors * 8 * (store.shape().columns + 1)), Wave::whole(1), budget)
    }

    /// Plans with as many vectors as make a run fast, or with fewer where all rows are in memory only then, or nothing
    /// else fits.
    fn with(store: &dyn BlockStore, model: ModelBytes, wave: Wave, budget: &Budget) -> Result<Plan, BudgetError> {
        let roomy = Plan::with_vectors(store, model, wave, budget);
        let Some(lean_bytes) = model.lean_bytes else { return roomy };
        let lean = Plan::with_vectors(store, ModelBytes { vector_bytes: lean_bytes, ..model }, wave, budget);
        match (roomy, lean) {
            (Ok(roomy), Ok(lean)) => Ok(match !roomy.in_memory && lean.in_memory {
                true => Plan { is_lean: true, ..lean },
                false => Plan { least_bytes: roomy.least_bytes.min(lean.least_bytes), ..roomy },
            }),
            (Ok(roomy), Err(_)) => Ok(roomy),
            (Err(_), lean) => Ok(Plan { is_lean: true, ..lean? }),
        }
    }

    fn with_vectors(
        store: &dyn BlockStore,
        model: ModelBytes,
        wave: Wave,
        budget: &Budget,
    ) -> Result<Plan, BudgetError> {
        let shape = store.shape();
        let Wave { models, all } = wave;
        let weight_bytes = models * model.vector_bytes;
        let finished_bytes = (all - models) * model.weights_bytes(&shape);
        let read_ahead_bytes = ReadAhead::needed_bytes(store, READ_AHEAD);
        let row_bytes = models * model.row_bytes();
        let needed = |rows: u64, values: u64| match store.resident() {
            Some(_) => rows * (Residents::ROW_BYTES + row_bytes),
            None => Residents::bytes(shape.layout, rows, values) + rows * row_bytes,
        };
        let by_column = |rows: u64, values: u64| match model.by_columns {
            false => 0,
            // Where they lie by column already, they are paid for.
            true if store.resident_columns().is_some() => models * rows * columns::ROW_BYTES,
            true => shape.layout.transposed_bytes(shape.columns, values) + models * rows * columns::ROW_BYTES,
        };
        let whole = needed(shape.rows, shape.values) + by_column(shape.rows, shape.values);
        // Where they would take much of the room for rows, dual variables go to disk: one read and one write per block
        // are cheaper than rows that leave.
        let room = budget.free_bytes().saturating_sub(weight_bytes + finished_bytes + read_ahead_bytes);
        let all_duals = models * model.dual_bytes * shape.rows;
        let of_block = |rows: u64, values: u64| needed(rows, values) + by_column(rows, values);
        let largest = store.blocks().iter().map(|b| of_block(u64::from(b.rows), b.values)).max().unwrap_or(0);
        // Room for the largest block and as much again for rows that stay.
        let least_rows = (2 * largest).min(whole);
        let is_much = all_duals > room / DUAL_SHARE || least_rows + all_duals > room;
        let duals_on_disk = is_much && whole + all_duals > room;
        let dual_bytes = if duals_on_disk { 0 } else { all_duals } + shape.rows.div_ceil(8);
        let fixed = weight_bytes + finished_bytes + dual_bytes + read_ahead_bytes;
        let least_bytes = (fixed + least_rows).max(model.assembly_bytes(&shape, all));
        let free = budget.free_bytes();
        let program_bytes = budget.held_bytes();
        if least_bytes > free {
            return Err(budget.refusal("training", least_bytes, program_bytes));
        }
        let room = free - fixed;
        let in_memory = whole <= room;
        let (resident_rows, resident_values) =
            if in_memory { (shape.rows, shape.values) } else { model.share(&shape, models, room) };
        Ok(Plan {
            models,
            budget_bytes: budget.limit_bytes(),
            program_bytes,
            weight_bytes,
            finished_bytes,
            dual_bytes,
            duals_on_disk,
            read_ahead_bytes,
            resident_bytes: needed(resident_rows, resident_values),
            solver: if model.by_columns { Solver::Columns } else { Solver::Dual },
            why: String::new(),
            solver_bytes: 0,
            column_bytes: by_column(resident_rows, resident_values),
            spare_bytes: if in_memory && model.by_columns { (room - whole) / SPARE_SHARE / models } else { 0 },
            columns_from_bytes: None,
            resident_rows,
            resident_values,
            largest_block: largest_block(store),
            in_memory,
            pass_bytes: store.blocks().iter().map(|b| b.stored_bytes).sum(),
            least_bytes: program_bytes + least_bytes,
            parts: 1,
            is_lean: false,
            later_bytes: [if duals_on_disk { 0 } else { shape.rows }, resident_rows]
                .map(|rows| rows * models * model.later_bytes),
        })
    }
}

/// Whether the rows of a model with this objective can be visited in several parts.
fn can_have_parts(objective: &Objective) -> bool {
    objective.is_plain_l2() && objective.width() == 1 && !matches!(objective.targets, Targets::Several { .. })
}

/// Models that train together, and all that there will be when they are done.
#[derive(Clone, Copy)]
struct Wave {
    models: u64,
    all: u64,
}

impl Wave {
    fn whole(models: u64) -> Self {
        Wave { models, all: models }
    }
}

/// What one model takes.
#[derive(Clone, Copy)]
struct ModelBytes {
    /// Its outputs.
    width: u64,
    /// Its dense vectors.
    vector_bytes: u64,
    /// The same if it does without a second vector, where it can.
    lean_bytes: Option<u64>,
    /// Its dual variables of a row, and what of it is taken only when it is needed.
    dual_bytes: u64,
    later_bytes: u64,
    /// Numbers that a row should come to.
    targets: u64,
    /// Whether its rows are needed by column, too.
    by_columns: bool,
}

impl ModelBytes {
    fn new(store: &dyn BlockStore, objective: &Objective) -> Self {
        let columns = store.shape().columns + 1;
        let width = objective.width() as u64;
        let of_prox = Proximal::<SoftThresholding>::VECTORS;
        let (vectors, more) = match objective.penalty.structure() {
            _ if objective.is_plain_l2() => (Identity::VECTORS, 0),
            Structure::Groups(group) => (of_prox, group.groups.bytes()),
            Structure::Coordinates(_) | Structure::Matrix(_) => (of_prox, 0),
        };
        let targets = if matches!(objective.targets, Targets::Several { .. }) { width } else { 1 };
        let vector_bytes = vectors * 8 * columns * width + more;
        let later_bytes = if objective.has_sparse_duals() { sparse_rows::expected_bytes(width) } else { 0 };
        let dual_bytes = if objective.has_sparse_duals() { sparse_rows::SLOT as u64 + later_bytes } else { 8 * width };
        let is_joint = width > 1 || targets > 1;
        let lean_bytes = (objective.is_plain_l2() && !is_joint).then_some(Lean::VECTORS * 8 * columns);
        ModelBytes { width, vector_bytes, lean_bytes, dual_bytes, later_bytes, targets, by_columns: false }
    }

    /// One output with these dense vectors.
    fn of_one(vector_bytes: u64) -> Self {
        ModelBytes {
            width: 1,
            vector_bytes,
            lean_bytes: None,
            dual_bytes: 8,
            later_bytes: 0,
            targets: 1,
            by_columns: false,
        }
    }

    /// The same, trained by columns.
    fn by_columns(self, store: &dyn BlockStore, objective: &Objective) -> Self {
        let shape = store.shape();
        let more = match objective.penalty.structure() {
            Structure::Groups(group) => Groups::bytes(shape.columns + 1, group.groups.count()),
            Structure::Coordinates(_) | Structure::Matrix(_) => 0,
        };
        // Beside those of the proximal point method, which are needed where blocks come and go.
        let vector_bytes = self.vector_bytes + 8 * columns::VECTORS * (shape.columns + 1) + more;
        ModelBytes { vector_bytes, lean_bytes: None, by_columns: true, ..self }
    }

    /// Its weights when it is done.
    fn weights_bytes(&self, shape: &Shape) -> u64 {
        8 * self.width * (shape.columns + 1)
    }

    /// What is needed in the end, when weights of so many models are written with the names of their features.
    fn assembly_bytes(&self, shape: &Shape, models: u64) -> u64 {
        models * self.weights_bytes(shape) + crate::model::writing_bytes(shape.columns)
    }

    /// Bytes for each of its resident rows.
    fn row_bytes(&self) -> u64 {
        // One dual variable and one target are in the state.
        ROW_STATE_BYTES + ORDER_BYTES + (self.dual_bytes - 8) + 8 * (self.targets - 1)
    }
}

impl ModelBytes {
    /// Rows and values that fit into `room`, in the proportion of the whole store, for so many models.
    fn share(&self, shape: &Shape, models: u64, room: u64) -> (u64, u64) {
        let columns = u64::from(self.by_columns);
        let room = room.saturating_sub(columns * shape.layout.transposed_bytes(shape.columns, 0));
        let row_bytes =
            Residents::bytes(shape.layout, 1, 0) + models * (self.row_bytes() + columns * columns::ROW_BYTES);
        let value_bytes = (shape.layout.value_bytes(1) + columns * shape.layout.transposed_bytes(0, 1)).max(1);
        let values_per_row = shape.values as f64 / shape.rows.max(1) as f64;
        let rows = room as f64 / (row_bytes as f64 + values_per_row * value_bytes as f64);
        // Both have a little more than their share, since rows differ; the plan's sum stays within the room.
        let rows = (rows as u64).max(1);
        let values = (room.saturating_sub(rows * row_bytes)) / value_bytes;
        (rows, values)
    }
}
