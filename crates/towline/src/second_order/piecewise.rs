//! Training with the method of multipliers or with interior points, on a sample of the rows first.
//!
//! Then all of them follow, in memory or by scans. Where not even the dual variables of all rows fit, those near the kinks of their losses are
//! gathered, and all others are fixed at a bound:
//!
//! ```text
//! scan  certify w; some rows of each feature are near, β of the others follows from their side           (near.rs)
//! w     the solution of  min R(w) - v̄·w + Σ_near c L(y, w·x),  v̄ = Σ βx of the others;  scan again
//! ```
//! What is fixed is a tangent of its loss, so the minimum of each problem is a lower bound, and it is the optimum if no margin has
//! crossed to the other side of its kink. As w settles, none does: at the optimum there are hardly more rows at a kink than features.
use super::interior_point::InteriorPoint;
use super::multipliers::{self, Solution};
use super::near::{Distances, Near, distance};
use super::newton::Quadratic;
use super::rows::{Subset, TaskRows};
use super::sample::Sample;
use super::session::Session;
use crate::block::Row;
use crate::budget::Budget;
use crate::loss::PiecewiseLinear;
use crate::newton::Rows;
use crate::trainer::{Status, TrainError, Trained};

/// Problems are solved this much further than the whole.
const FURTHER: f64 = 0.1;
/// The same where each step reads all rows.
const FURTHER_BY_SCANS: f64 = 0.5;
/// A sample is solved to this gap: its own error is larger.
const SAMPLE_TOLERANCE: f64 = 1e-3;
/// The part of the rows of a feature that is near, at first, and how much it grows where w moves too far for it.
const NEAR_PART: (f64, f64) = (0.15, 3.0);
/// Rows that are few enough for the interior point method to come first.
const FEW_ROWS: usize = 20_000;
/// Turns of both methods, at most.
const MOST_TURNS: u32 = 6;
/// Problems with rows left out, at most.
const MOST_PROBLEMS: u32 = 12;

/// Trains one model.
pub fn train<L: PiecewiseLinear>(
    loss: L,
    rows: &mut TaskRows,
    part: Quadratic,
    (mut w, len): (Vec<f64>, f64),
    budget: &Budget,
    session: &mut Session,
) -> Result<Trained, TrainError> {
    let beside = 8 + multipliers::row_bytes(L::TERMS as u64);
    if let Some(sample) = Sample::of(rows, w.len() as u64, beside, budget)? {
        let mut some = Subset::new(sample.block(rows), &sample.rows, session.limits.watch());
        let stop = || session.reason_to_stop().is_some();
        w = multipliers::solve(loss, part, (w, len), &mut some, SAMPLE_TOLERANCE, stop)?.w;
        session.latest = Some(w.clone());
    }
    if rows.store_rows().in_memory() {
        return all_rows(loss, rows, part, (w, len), session);
    }
    // What the method holds of each row is less than the row: where that fits, every scan is a step.
    let bytes = rows.store_rows().store().shape().rows * (16 + beside);
    match budget.reserve("dual variables and margins", bytes) {
        Ok(_paid) => all_rows(loss, rows, part, (w, len), session),
        Err(_) => near_rows(loss, rows, part, (w, len), budget, session),
    }
}

/// What a method has found: weights, β of each row, and scans.
type Found = (Vec<f64>, Vec<f64>, u64);

/// Minimises over rows in memory. Few rows are solved by the interior point method, whose iterations hardly depend on anything; many by that of
/// multipliers, whose iterations are cheaper. Where one does not get as far as asked, the other goes on: rows that can be separated with a large C are
/// hard for multipliers, and values that are millions of times as large as others for interior points.
pub fn solve<L: PiecewiseLinear, R: Rows>(
    loss: L,
    part: Quadratic,
    (w, len): (Vec<f64>, f64),
    rows: &mut R,
    tolerance: f64,
    (turn, count, session): (u32, usize, &Session),
) -> Result<Found, TrainError> {
    let stop = || session.reason_to_stop().is_some();
    if (turn % 2 == 0) == (count <= FEW_ROWS) {
        let begun = InteriorPoint::begin(loss, part, vec![0.0; w.len()], len, rows)?;
        let found = begun.run(tolerance, stop)?;
        return Ok((found.w, found.duals, found.iterations));
    }
    let found = multipliers::solve(loss, part, (w, len), rows, tolerance, stop)?;
    Ok((found.w, found.duals, found.scans))
}

/// All rows are in memory.
fn all_rows<L: PiecewiseLinear>(
    loss: L,
    rows: &mut TaskRows,
    part: Quadratic,
    (mut w, len): (Vec<f64>, f64),
    session: &mut Session,
) -> Result<Trained, TrainError> {
    let mut duals = vec![0.0; rows.store_rows().store().shape().rows as usize];
    let tolerance = session.limits.options().tolerance;
    for turn in 0..MOST_TURNS {
        // Each method has its turn before both are asked for more than the tolerance should take. By scans, an interior point would take three for a step.
        let (turn, count, further) = match rows.count() {
            Some(count) => (turn, count, FURTHER),
            None => (2 * turn, usize::MAX, FURTHER_BY_SCANS),
        };
        let tolerance = further * tolerance * 0.01f64.powi(turn as i32 / 2);
        let (found, of_rows, scans) = solve(loss, part, (w, len), rows, tolerance, (turn, count, session))?;
        w = found;
        session.latest = Some(w.clone());
        session.scans += scans;
        session.let_end(rows);
        rows.scan_positions(|position, number, _, _, _| duals[position as usize] = of_rows[number])?;
        if let Some(status) = session.certify(loss, rows, &w, &mut duals, |_, _, _| {})? {
            return session.finish(rows, duals, status);
        }
    }
    // Rounding has the last word.
    session.finish(rows, duals, Status::OutOfPasses)
}

/// Rows near their kinks are in memory, the others on disk.
fn near_rows<L: PiecewiseLinear>(
    loss: L,
    rows: &mut TaskRows,
    part: Quadratic,
    (mut w, len): (Vec<f64>, f64),
    budget: &Budget,
    session: &mut Session,
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
            let mut some = Subset::new(near.block(rows), &near.rows, session.limits.watch());
            let shifted = Quadratic { shift: &near.shift, ..part };
            let stop = || session.reason_to_stop().is_some();
            multipliers::solve(loss, shifted, (w.clone(), len), &mut some, FURTHER * tolerance, stop)?
        };
        session.latest = Some(found.clone());
        session.let_end(rows);
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
