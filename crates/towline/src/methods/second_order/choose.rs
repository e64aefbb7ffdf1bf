//! Which solver suits the data, by its shape and by what each would cost.
use super::block_gram::BlockGram;
use super::error::can_use_newton;
use super::gram::Gram;
use super::heavy;
use super::rows::row_work;
use super::{by_scans, few_rows, least_squares, needs};
use crate::budget::Budget;
use crate::engine::{Plan, READ_AHEAD, Solver};
use crate::loss::{AnyLoss, Loss};
use crate::machine::default_memory_bytes;
use crate::objective::{Multiclass, Objective};
use crate::penalty::AnyPenalty;
use crate::store::{BlockStore, ReadAhead, Shape};

/// Seconds of a multiplication and an addition in a rank-k update, on one core of about 3 GHz. Other machines differ by
/// a factor that all costs share.
const UPDATE_SECONDS: f64 = 1e-10;
/// Seconds of looking at a value of a row in a scan.
const VALUE_SECONDS: f64 = 1.5e-9;
/// Seconds of a visit of dual coordinate descent for each value of the row, and for the row itself where rows lie in a
/// cache and where they do not: visits are in random order, and a row and its state are four misses. Measured on a9a,
/// w8a and ijcnn1 (6 to 11 MiB), and on covtype, kddcup99, flights and MNIST (76 to 126 MiB).
const VISIT_VALUE_SECONDS: f64 = 1e-9;
const CACHED_VISIT_SECONDS: f64 = 7e-8;
const VISIT_SECONDS: f64 = 2.4e-7;
/// Rows of more bytes do not lie in a cache.
const CACHE_BYTES: u64 = 32 << 20;
/// Seconds of a row in a step of the method of multipliers, besides its values.
const TERM_SECONDS: f64 = 4e-8;
/// Full scans of Newton's method after a sample, and of the method of multipliers: what runs on real tables took.
const NEWTON_STEPS: f64 = 8.0;
const MULTIPLIER_STEPS: f64 = 50.0;
/// Factors of normal equations with a penalty that binds several weights.
const ROUNDED_STEPS: f64 = 50.0;
/// Iterations of the interior point method.
const INTERIOR_STEPS: f64 = 25.0;
/// The part of the rows that is on a parabola.
const CURVED_PART: f64 = 0.1;
/// Dual coordinate descent is not tried at all where another solver takes no longer than this many of its sweeps: few
/// tables are solved in less.
const FEW_SWEEPS: f64 = 40.0;
/// Nor where it takes no longer than this, by these numbers.
const SHORT_SECONDS: f64 = 0.1;

/// Matrices of this many features are small, however few the rows are. They are preferred: the scale of a column
/// cancels out of them, and stays in matrices of rows by rows.
const FEW_COLUMNS: u64 = 300;

/// Products with the Hessian that conjugate gradients take, for all rows: from 100 to 4,000 on wide tables.
const PRODUCTS: f64 = 500.0;
/// The whole Hessian is preferred where it takes no longer than this many times what conjugate gradients do: how many
/// products those take depends on the data.
const PREFERENCE: f64 = 4.0;

/// What equations are solved with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// Features by features.
    Features,
    /// Rows by rows.
    Rows,
    /// That of this many heavy columns at most, as the preconditioner of conjugate gradients.
    Heavy(u64),
}

/// A solver of second order that can do it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Which.
    pub solver: Solver,
    /// What it solves equations with.
    pub matrix: Matrix,
    /// About how long it takes for one model, in sweeps of coordinate descent over all rows.
    pub sweeps: f64,
    /// Whether coordinate descent on rows is worth a try before.
    pub after_dual: bool,
    /// Whether rows are in memory.
    pub in_memory: bool,
    /// Whether it is tried only where coordinate descent has ended nowhere.
    pub is_last_resort: bool,
}

impl Candidate {
    /// For people.
    pub fn name(&self) -> String {
        let with = if self.is_iterative() { " by conjugate gradients" } else { "" };
        format!("{}{with}", self.solver.name())
    }

    /// Whether it solves equations step by step.
    pub fn is_iterative(&self) -> bool {
        matches!(self.matrix, Matrix::Heavy(_))
    }

    /// About what a row costs, in values.
    pub fn row_work(&self, shape: &Shape) -> u64 {
        match self.matrix {
            Matrix::Heavy(heavy) => row_work(&Shape { columns: heavy, ..*shape }),
            _ => row_work(shape),
        }
    }
}

/// Whether a solver can minimise an objective, whatever the shape of the data.
pub fn can_train(solver: Solver, objective: &Objective) -> bool {
    let is_plain = matches!(objective.penalty, AnyPenalty::L2(_) | AnyPenalty::None(_));
    let is_sparse = matches!(objective.penalty, AnyPenalty::L1(_) | AnyPenalty::ElasticNet(_));
    let is_one = objective.width() == 1 && objective.truncate.is_none();
    let is_smooth = objective.loss.curvature().is_finite();
    let joint = objective.targets.multiclass().filter(|_| is_plain && objective.width() > 1);
    match solver {
        Solver::Gram => least_squares::can_train(objective),
        Solver::Newton => is_one && is_smooth && (is_plain || is_sparse) || joint == Some(Multiclass::Softmax),
        Solver::Multipliers => is_one && !is_smooth && is_plain || joint == Some(Multiclass::CrammerSinger),
        Solver::Auto | Solver::Dual | Solver::Columns => false,
    }
}

/// The solver of second order for an objective, if there is one.
pub fn solver_of(objective: &Objective) -> Option<Solver> {
    let all = [Solver::Gram, Solver::Newton, Solver::Multipliers];
    all.into_iter().find(|&solver| can_train(solver, objective))
}

/// The solver of second order, or the one that was asked for, if it can minimise `objective` within the budget for so
/// many models, one after the other.
pub fn candidate(
    store: &dyn BlockStore,
    objective: &Objective,
    (asked, models): (Option<Solver>, usize),
    budget: &Budget,
) -> Option<Candidate> {
    // Who asks for Newton's method may mean a convex problem of a loss that is cut off.
    let is_asked = asked == Some(Solver::Newton) && can_use_newton(objective).is_ok();
    let can = |solver: &Solver| is_asked || can_train(*solver, objective);
    let solver = asked.or_else(|| solver_of(objective)).filter(can)?;
    if store.resident_columns().is_some() {
        return None;
    }
    let shape = store.shape();
    // Where nobody has said how much there is, matrices that nobody has asked for leave the machine usable.
    let most = if asked.is_none() && budget.is_unlimited() { default_memory_bytes() } else { u64::MAX };
    let others = ReadAhead::needed_bytes(store, READ_AHEAD) + needs::finished_bytes(&shape, solver, objective, models);
    let room = Room {
        free: budget.free_bytes().min(most).saturating_sub(others),
        resident: match store.resident() {
            Some(_) => 0,
            None => shape.layout.resident_bytes(shape.rows, shape.values),
        },
    };
    let exact = with_matrix(store, objective, solver, room, budget);
    // Normal equations that do not fit are a Newton step.
    let other = if solver == Solver::Gram { Solver::Newton } else { solver };
    let by_products = match (asked, other) {
        (Some(Solver::Gram), _) => None,
        // A large σ makes equations of multipliers so badly conditioned that conjugate gradients may get nowhere: on
        // raw word counts with a large C they end with a worse objective than coordinate descent.
        (None, Solver::Multipliers) => {
            with_products(&shape, objective, other, room).map(|found| Candidate { is_last_resort: true, ..found })
        }
        _ => with_products(&shape, objective, other, room),
    };
    match (exact, by_products) {
        (Some(exact), Some(other))
            if !other.is_last_resort && exact.after_dual && exact.sweeps > PREFERENCE * other.sweeps =>
        {
            Some(other)
        }
        (exact, other) => exact.or(other),
    }
}

/// Bytes that are free, and those that all rows take.
#[derive(Clone, Copy)]
struct Room {
    free: u64,
    resident: u64,
}

impl Room {
    fn has(self, bytes: u64) -> bool {
        bytes <= self.free
    }

    fn has_beside_rows(self, bytes: u64) -> bool {
        self.has(bytes.saturating_add(self.resident))
    }
}

/// Whether conjugate gradients can do it.
pub fn has_products(shape: &Shape, objective: &Objective) -> bool {
    let is_ridge = matches!(objective.penalty, AnyPenalty::L2(_));
    is_ridge && objective.width() == 1 && shape.rows <= u64::from(u32::MAX)
}

/// With the matrix of features by features, or of rows by rows.
fn with_matrix(
    store: &dyn BlockStore,
    objective: &Objective,
    solver: Solver,
    room: Room,
    budget: &Budget,
) -> Option<Candidate> {
    let all = store.shape();
    let is_ridge = matches!(objective.penalty, AnyPenalty::L2(_));
    // Matrices of rows by rows are smaller where rows are fewer.
    let is_joint = objective.width() > 1 && objective.targets.multiclass().is_some() && solver != Solver::Gram;
    let has_products = objective.width() == 1 || is_joint;
    let by_rows = is_ridge && has_products && all.rows < all.columns && all.columns > FEW_COLUMNS;
    let (solver, shape, more, in_memory) = if by_rows {
        let solver = if solver == Solver::Gram { Solver::Newton } else { solver };
        let small = reduced_shape(&all);
        let needed = few_rows::bytes(all.rows).saturating_add(needs::bytes(&small, solver, objective, true));
        if !room.has_beside_rows(needed) {
            return None;
        }
        (solver, small, products_seconds(&all), true)
    } else {
        let in_memory = room.has_beside_rows(needs::bytes(&all, solver, objective, true));
        // Interior points go over the rows three times for a step.
        let is_scanned = solver != Solver::Multipliers || objective.width() == 1;
        if !(in_memory || is_scanned && room.has(needs::bytes(&all, solver, objective, false))) {
            return None;
        }
        (solver, all, 0.0, in_memory)
    };
    let outputs = objective.width() as f64;
    let factors = match objective.penalty {
        AnyPenalty::Group(_) => ROUNDED_STEPS,
        AnyPenalty::Nuclear(_) => ROUNDED_STEPS * outputs,
        _ => 1.0,
    };
    // The squared loss with few rows is one factor of their products.
    let is_one_factor = by_rows && !is_joint && matches!(objective.loss, AnyLoss::Squared(_));
    let steps =
        if is_one_factor { factor_seconds(shape.columns as f64) } else { seconds(&shape, solver, outputs, factors) };
    let seconds = steps + more;
    let sweep = outputs * sweep_seconds(&all);
    // On disk, what counts is how often rows are read. Newton's method reads them a few times, and so do multipliers
    // where there is room for the rows near their kinks. Where there is none, or where dual coordinate descent has all
    // rows in memory, that comes before.
    let after_dual = match in_memory {
        true => seconds > SHORT_SECONDS.max(FEW_SWEEPS * sweep),
        false if solver == Solver::Multipliers => {
            let left = room.free.saturating_sub(needs::bytes(&shape, solver, objective, false));
            let has_room = by_scans::room(&shape, objective.loss.terms() as u64, left).is_some();
            let dual_in_memory = Plan::for_models(store, objective, 1, budget).is_ok_and(|plan| plan.in_memory);
            !has_room || dual_in_memory
        }
        false => false,
    };
    let matrix = if by_rows { Matrix::Rows } else { Matrix::Features };
    Some(Candidate { solver, matrix, sweeps: seconds / sweep, after_dual, in_memory, is_last_resort: false })
}

/// By conjugate gradients, with as many heavy columns as leave the rows in memory.
fn with_products(shape: &Shape, objective: &Objective, solver: Solver, room: Room) -> Option<Candidate> {
    if !has_products(shape, objective) {
        return None;
    }
    let sizes = || (0..10).map(|k| (heavy::MOST >> k).min(shape.columns));
    let bytes = |heavy: u64, in_memory: bool| needs::conjugate_bytes(shape, solver, objective, heavy, in_memory);
    let inside = sizes().find(|&heavy| room.has_beside_rows(bytes(heavy, true)));
    let heavy = inside.or_else(|| sizes().find(|&heavy| room.has(bytes(heavy, false))))?;
    let sweep = objective.width() as f64 * sweep_seconds(shape);
    let seconds = PRODUCTS * 2.0 * VALUE_SECONDS * shape.values as f64;
    let (matrix, in_memory) = (Matrix::Heavy(heavy), inside.is_some());
    Some(Candidate { solver, matrix, sweeps: seconds / sweep, after_dual: true, in_memory, is_last_resort: false })
}

/// How many scans for gradients a scan for a Hessian takes, for rows of about `len` values.
pub fn hessian_scans(size: usize, len: f64) -> f64 {
    let gradient = 4.0 * len * VALUE_SECONDS;
    (Gram::row_cost(size as f64, len) * UPDATE_SECONDS + gradient) / gradient
}

/// The shape of rows that have as many features as there are rows.
pub fn reduced_shape(shape: &Shape) -> Shape {
    Shape { columns: shape.rows, values: shape.rows * shape.rows, ..*shape }
}

fn sweep_seconds(shape: &Shape) -> f64 {
    let bytes = shape.layout.resident_bytes(shape.rows, shape.values);
    let visit = if bytes <= CACHE_BYTES { CACHED_VISIT_SECONDS } else { VISIT_SECONDS };
    VISIT_VALUE_SECONDS * shape.values as f64 + visit * shape.rows as f64
}

fn products_seconds(shape: &Shape) -> f64 {
    0.5 * (shape.rows * shape.rows) as f64 * shape.columns as f64 * UPDATE_SECONDS
}

fn factor_seconds(size: f64) -> f64 {
    size * size * size / 3.0 * UPDATE_SECONDS
}

/// About how long a solver takes for this many outputs in one objective, and this many factors of normal equations.
fn seconds(shape: &Shape, solver: Solver, outputs: f64, factors: f64) -> f64 {
    let (rows, size) = (shape.rows as f64, shape.columns as f64 + 1.0);
    let len = shape.values as f64 / rows.max(1.0) + 1.0;
    let of_row = |blocks: f64, margins: f64| {
        let updates = if blocks > 1.0 { blocks * BlockGram::row_cost(size, len) } else { Gram::row_cost(size, len) };
        updates * UPDATE_SECONDS + 4.0 * margins * len * VALUE_SECONDS
    };
    let factor = factor_seconds;
    // Each output with each.
    let pairs = 0.5 * outputs * (outputs + 1.0);
    match solver {
        Solver::Gram => rows * of_row(1.0, 1.0) + factors * factor(size),
        Solver::Multipliers if outputs > 1.0 => {
            INTERIOR_STEPS
                * (rows * (of_row(pairs, 2.0 * outputs) + outputs * TERM_SECONDS) + 3.0 * factor(outputs * size))
        }
        Solver::Multipliers => {
            let scan = 2.0 * len * VALUE_SECONDS + TERM_SECONDS;
            MULTIPLIER_STEPS * (rows * (CURVED_PART * of_row(1.0, 1.0) + scan) + 4.0 * factor(size))
        }
        _ => NEWTON_STEPS * (rows * of_row(pairs, outputs) + 4.0 * factor(outputs * size)),
    }
}
