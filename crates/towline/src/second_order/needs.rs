//! What solvers of second order take of the budget.
use super::choose::{Candidate, reduced_shape};
use super::class_margins::ClassMargins;
use super::moments::Moments;
use super::one_output::{Same, Smooth};
use super::rows::TaskRows;
use super::softmax::SoftmaxSum;
use super::sparse::Sparse;
use super::train::l1_part;
use super::{by_scans, few_rows, least_squares, multipliers, piecewise};
use crate::budget::Budget;
use crate::loss::Squared;
use crate::objective::Objective;
use crate::store::{BlockStore, ReadAhead, Shape};
use crate::trainer::{Needs, READ_AHEAD, Solver};

/// Bytes of memory besides the rows, which are in memory or not.
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
        _ => Smooth::<Same<Squared>>::bytes(size, of_kept),
    };
    method + of_rows
}

/// What a run of so many models takes of the budget, and what it would take at least.
pub fn needs(store: &dyn BlockStore, objective: &Objective, chosen: &Candidate, models: u64, budget: &Budget) -> Needs {
    let &Candidate { solver, by_rows, in_memory, .. } = chosen;
    let (shape, width) = (store.shape(), objective.width() as u64);
    let size = if by_rows { reduced_shape(&shape) } else { shape };
    let more = if by_rows { few_rows::bytes(shape.rows) } else { 0 };
    let all_bytes = bytes(&size, solver, objective, in_memory) + more;
    let dual_bytes = if solver == Solver::Gram { 0 } else { 8 * width * shape.rows };
    let (resident_rows, resident_bytes, solver_bytes) = if in_memory {
        let rows = if store.resident().is_some() { 0 } else { shape.layout.resident_bytes(shape.rows, shape.values) };
        (shape.rows, rows, all_bytes)
    } else {
        let weights = 8 * width * (shape.columns + 1) * models;
        let taken = all_bytes + weights + ReadAhead::needed_bytes(store, READ_AHEAD);
        let free = budget.free_bytes().saturating_sub(taken);
        match by_scans::room(&shape, objective.loss.terms() as u64, free).filter(|_| solver == Solver::Multipliers) {
            Some(rows) => {
                let matrices = by_scans::bytes(shape.columns + 1);
                (rows, by_scans::set_bytes(&shape, objective.loss.terms() as u64, rows), all_bytes + matrices)
            }
            None => (0, 0, all_bytes),
        }
    };
    let least = if by_rows { all_bytes + resident_bytes } else { bytes(&shape, solver, objective, false) };
    Needs {
        solver,
        solver_bytes: solver_bytes.saturating_sub(dual_bytes),
        dual_bytes,
        resident_rows,
        resident_bytes,
        in_memory,
        least_bytes: least.saturating_add(ReadAhead::needed_bytes(store, READ_AHEAD)),
    }
}
