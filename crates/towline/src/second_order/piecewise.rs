//! Training with the method of multipliers, on a sample of the rows first.
//!
//! Where rows are in memory, all of them follow. Where they are not, those near the kinks of their losses are gathered, and all others
//! are fixed at a bound:
//!
//! ```text
//! scan  certify w; some rows of each feature are near, β of the others follows from their side           (near.rs)
//! w     the solution of  min R(w) - v̄·w + Σ_near c L(y, w·x),  v̄ = Σ βx of the others;  scan again
//! ```
//! What is fixed is a tangent of its loss, so the minimum of each problem is a lower bound, and it is the optimum if no margin has
//! crossed to the other side of its kink. As w settles, none does: at the optimum there are hardly more rows at a kink than features.
use super::multipliers::{self, Solution};
use super::near::{Distances, Near, distance};
use super::newton::Quadratic;
use super::rows::{Subset, TaskRows};
use super::sample::Sample;
use super::session::Session;
use crate::block::Row;
use crate::budget::Budget;
use crate::loss::PiecewiseLinear;
use crate::trainer::{Status, TrainError, Trained};

/// Problems are solved this much further than the whole.
const FURTHER: f64 = 0.1;
/// A sample is solved to this gap: its own error is larger.
const SAMPLE_TOLERANCE: f64 = 1e-3;
/// The part of the rows of a feature that is near, at first, and how much it grows where w moves too far for it.
const NEAR_PART: (f64, f64) = (0.15, 3.0);
/// Problems with rows left out, at most.
const MOST_PROBLEMS: u32 = 12;

/// Trains one model.
pub fn train<L: PiecewiseLinear>(
    loss: L,
    rows: &mut TaskRows,
    part: Quadratic,
    (mut w, len): (Vec<f64>, f64),
    budget: &Budget,
    session: Session,
) -> Result<Trained, TrainError> {
    let beside = 8 + multipliers::row_bytes(L::TERMS as u64);
    if let Some(sample) = Sample::of(rows, w.len() as u64, beside, budget)? {
        let mut some = Subset::new(sample.block(rows), &sample.rows);
        let stop = || session.reason_to_stop().is_some();
        w = multipliers::solve(loss, part, (w, len), &mut some, SAMPLE_TOLERANCE, stop)?.w;
    }
    match rows.store_rows().in_memory() {
        true => all_rows(loss, rows, part, (w, len), session),
        false => near_rows(loss, rows, part, (w, len), budget, session),
    }
}

/// All rows are in memory.
fn all_rows<L: PiecewiseLinear>(
    loss: L,
    rows: &mut TaskRows,
    part: Quadratic,
    (mut w, len): (Vec<f64>, f64),
    mut session: Session,
) -> Result<Trained, TrainError> {
    let mut duals = vec![0.0; rows.store_rows().store().shape().rows as usize];
    let mut tolerance = FURTHER * session.limits.options().tolerance;
    loop {
        let stop = || session.reason_to_stop().is_some();
        let found = multipliers::solve(loss, part, (w, len), rows, tolerance, stop)?;
        w = found.w;
        session.scans += found.scans;
        rows.scan_positions(|position, number, _, _, _| duals[position as usize] = found.duals[number])?;
        if let Some(status) = session.certify(loss, rows, &w, &mut duals, |_, _, _| {})? {
            return session.finish(rows, duals, status);
        }
        if tolerance < 1e-13 {
            // Rounding has the last word.
            return session.finish(rows, duals, Status::OutOfPasses);
        }
        tolerance *= 0.01;
    }
}

/// Rows near their kinks are in memory, the others on disk.
fn near_rows<L: PiecewiseLinear>(
    loss: L,
    rows: &mut TaskRows,
    part: Quadratic,
    (mut w, len): (Vec<f64>, f64),
    budget: &Budget,
    mut session: Session,
) -> Result<Trained, TrainError> {
    let shape = rows.store_rows().store().shape();
    let beside = 8 + multipliers::row_bytes(L::TERMS as u64);
    let mut duals = vec![0.0; shape.rows as usize];
    let mut distances = Distances::new(shape.columns as usize);
    let each = |row: Row, y, z| distances.add(row, distance(loss, y, z));
    if let Some(status) = session.certify(loss, rows, &w, &mut duals, each)? {
        return session.finish(rows, duals, status);
    }
    let tolerance = session.limits.options().tolerance;
    let mut share = NEAR_PART.0;
    for _ in 0..MOST_PROBLEMS {
        let radii = distances.radii(share);
        let near = Near::gather(loss, rows, (&w, &radii), part, &mut duals, (budget, beside))?;
        session.scans += 1;
        // More rows than fit.
        let Some(near) = near else { break };
        let Solution { w: found, duals: of_near, scans } = {
            let mut some = Subset::new(near.block(rows), &near.rows);
            let shifted = Quadratic { shift: &near.shift, ..part };
            let stop = || session.reason_to_stop().is_some();
            multipliers::solve(loss, shifted, (w.clone(), len), &mut some, FURTHER * tolerance, stop)?
        };
        session.scans += scans * near.rows.len() as u64 / shape.rows.max(1);
        near.positions.iter().zip(&of_near).for_each(|(&position, &beta)| duals[position as usize] = beta);
        let (before, gap) = (session.objective(), session.relative_gap());
        let mut at_found = Distances::new(shape.columns as usize);
        let each = |row: Row, y, z| at_found.add(row, distance(loss, y, z));
        if let Some(status) = session.certify(loss, rows, &found, &mut duals, each)? {
            return session.finish(rows, duals, status);
        }
        // From worse weights nothing is learnt but that they were too far away.
        if session.objective() < before {
            (w, distances) = (found, at_found);
        }
        if session.objective() >= before || session.relative_gap() > 0.3 * gap {
            share *= NEAR_PART.1;
        }
    }
    session.finish(rows, duals, Status::OutOfPasses)
}
