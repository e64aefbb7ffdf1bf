//! What solvers of second order take of the budget.
use super::choose::{Candidate, Matrix, has_products, reduced_shape};
use super::class_margins::ClassMargins;
use super::conjugate::Conjugate;
use super::heavy::Heavy;
use super::hessian::Smooth;
use super::moments::Moments;
use super::one_output::{Look, Same};
use super::rows::TaskRows;
use super::softmax::SoftmaxSum;
use super::sparse::Sparse;
use super::train::l1_part;
use super::{by_scans, few_rows, least_squares, multipliers, piecewise};
use crate::budget::Budget;
use crate::engine::{Needs, READ_AHEAD, Solver};
use crate::loss::Squared;
use crate::objective::Objective;
use crate::store::{BlockStore, ReadAhead, Shape};

/// Dense vectors of a model besides those of a look and of conjugate gradients: its start, penalty and shift, where a
/// step begins and ends, and the best weights so far.
const VECTORS: u64 = 13;

/// Bytes of memory for conjugate gradients with this many heavy columns, besides the rows, which are in memory or not.
pub fn conjugate_bytes(shape: &Shape, solver: Solver, objective: &Objective, heavy: u64, in_memory: bool) -> u64 {
    let (size, kept) = (shape.columns + 1, if in_memory { shape.rows } else { 0 });
    let terms = objective.loss.terms() as u64;
    let of_terms = if solver == Solver::Multipliers { multipliers::row_bytes(terms) } else { 0 };
    let of_rows = (8 + of_terms) * shape.rows + if in_memory { TaskRows::bytes(shape.rows) } else { 0 };
    let vectors = Look::<Same<Squared>>::bytes(size, kept) + 8 * VECTORS * size + Heavy::bytes(size);
    vectors + Conjugate::bytes(size, heavy, shape.rows) + of_rows
}

/// Bytes of memory for one model, besides the rows.
pub fn model_bytes(shape: &Shape, chosen: &Candidate, objective: &Objective) -> u64 {
    let &Candidate { solver, in_memory, .. } = chosen;
    match chosen.matrix {
        Matrix::Features => bytes(shape, solver, objective, in_memory),
        // Where rows are fewer than features, matrices are of rows by rows.
        Matrix::Rows => bytes(&reduced_shape(shape), solver, objective, in_memory),
        Matrix::Heavy(heavy) => conjugate_bytes(shape, solver, objective, heavy, in_memory),
    }
}

/// Bytes of the weights of models that are done while the last of this many trains.
pub fn finished_bytes(shape: &Shape, solver: Solver, objective: &Objective, models: usize) -> u64 {
    let weights = 8 * objective.width() as u64 * (shape.columns + 1);
    // Those of normal equations come all at once.
    if solver == Solver::Gram { 0 } else { weights.saturating_mul(models as u64 - 1) }
}

/// Bytes of memory that a solver takes at least, where rows are not in memory. Multipliers by conjugate gradients are
/// for those who ask.
pub fn least_bytes(shape: &Shape, solver: Solver, objective: &Objective, is_asked: bool) -> u64 {
    let exact = bytes(shape, solver, objective, false);
    match solver {
        Solver::Newton | Solver::Multipliers
            if (is_asked || solver == Solver::Newton) && has_products(shape, objective) =>
        {
            exact.min(conjugate_bytes(shape, solver, objective, 1, false))
        }
        _ => exact,
    }
}

/// Bytes of memory with the whole matrix, besides the rows, which are in memory or not.
pub fn bytes(shape: &Shape, solver: Solver, objective: &Objective, in_memory: bool) -> u64 {
    let size = shape.columns + 1;
    let of_rows = 8 * shape.rows + if in_memory { TaskRows::bytes(shape.rows) } else { 0 };
    // Of rows that are on disk no margins are kept.
    let of_kept = if in_memory { shape.rows } else { 0 };
    let (width, terms) = (objective.width() as u64, objective.loss.terms() as u64);
    let method = match solver {
        Solver::Gram => {
            return 2 * Moments::bytes(shape) + least_squares::bytes(shape.columns, objective);
        }
        Solver::Multipliers if width > 1 => ClassMargins::bytes(width, size, shape.rows) + 8 * (width - 1) * shape.rows,
        Solver::Newton if width > 1 => SoftmaxSum::bytes(width, size, of_kept) + 8 * (width - 1) * shape.rows,
        Solver::Multipliers if in_memory => {
            Smooth::<Same<Squared>>::bytes(size, 0) + shape.rows * piecewise::row_bytes(terms)
        }
        Solver::Multipliers => {
            return Smooth::<Same<Squared>>::bytes(size, 0) + shape.rows * multipliers::row_bytes(terms);
        }
        _ if l1_part(&objective.penalty) > 0.0 => Sparse::<Same<Squared>>::bytes(size, of_kept),
        _ if in_memory => Smooth::<Same<Squared>>::bytes(size, of_kept) + Smooth::<Same<Squared>>::reused_bytes(size),
        _ => Smooth::<Same<Squared>>::bytes(size, of_kept),
    };
    method + of_rows
}

/// What a run of this many models takes of the budget, and what it would take at least.
pub fn needs(store: &dyn BlockStore, objective: &Objective, chosen: &Candidate, models: u64, budget: &Budget) -> Needs {
    let &Candidate { solver, matrix, in_memory, .. } = chosen;
    let (shape, width) = (store.shape(), objective.width() as u64);
    let more = if matrix == Matrix::Rows { few_rows::bytes(shape.rows) } else { 0 };
    let all_bytes = model_bytes(&shape, chosen, objective) + more;
    let dual_bytes = if solver == Solver::Gram { 0 } else { 8 * width * shape.rows };
    let (resident_rows, resident_bytes, solver_bytes) = if in_memory {
        let rows = if store.resident().is_some() { 0 } else { shape.layout.resident_bytes(shape.rows, shape.values) };
        (shape.rows, rows, all_bytes)
    } else {
        let weights = 8 * width * (shape.columns + 1) * models;
        let taken = all_bytes + weights + ReadAhead::needed_bytes(store, READ_AHEAD);
        let free = budget.free_bytes().saturating_sub(taken);
        let has_set = solver == Solver::Multipliers && matrix == Matrix::Features;
        match by_scans::room(&shape, objective.loss.terms() as u64, free).filter(|_| has_set) {
            Some(rows) => {
                let matrices = by_scans::bytes(shape.columns + 1);
                (rows, by_scans::set_bytes(&shape, objective.loss.terms() as u64, rows), all_bytes + matrices)
            }
            None => (0, 0, all_bytes),
        }
    };
    let least = match matrix {
        Matrix::Rows => all_bytes + resident_bytes,
        _ => least_bytes(&shape, solver, objective, chosen.is_iterative()),
    };
    Needs {
        solver,
        solver_bytes: solver_bytes.saturating_sub(dual_bytes),
        dual_bytes,
        resident_rows,
        resident_bytes,
        in_memory,
        least_bytes: least.saturating_add(ReadAhead::needed_bytes(store, READ_AHEAD)).saturating_add(finished_bytes(
            &shape,
            solver,
            objective,
            models as usize,
        )),
    }
}
