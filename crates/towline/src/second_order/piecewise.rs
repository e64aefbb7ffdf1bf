//! Training with an interior point method on rows near the kinks of their losses; all others are fixed at a bound.
//!
//! ```text
//! w     the solution for a sample, each of its rows standing for several
//! scan  certify w; some rows of each feature are near, β of the others follows from their side           (near.rs)
//! w     the solution of  min R(w) - v̄·w + Σ_near c L(y, w·x),  v̄ = Σ βx of the others;  scan again
//! ```
//! What is fixed is a tangent of its loss, so the minimum of each problem is a lower bound, and it is the optimum if no margin has
//! crossed to the other side of its kink. As w settles, none does: at the optimum there are hardly more rows at a kink than features.
use super::interior_point::{self, InteriorPoint, Solution};
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
/// Problems with rows left out, at most; then all rows are near.
const MOST_PROBLEMS: u32 = 12;

/// Trains one model.
pub fn train<L: PiecewiseLinear>(
    loss: L,
    rows: &mut TaskRows,
    part: Quadratic,
    (mut w, len): (Vec<f64>, f64),
    budget: &Budget,
    mut session: Session,
) -> Result<Trained, TrainError> {
    let shape = rows.store_rows().store().shape();
    let beside = interior_point::row_bytes(L::TERMS as u64);
    let sample = Sample::of(rows, w.len() as u64, beside, budget)?;
    let mut duals = vec![0.0; shape.rows as usize];
    let mut distances = Distances::new(shape.columns as usize);
    let mut share = if sample.is_some() { NEAR_PART.0 } else { 1.0 };
    if let Some(sample) = sample {
        let block = sample.block(rows);
        let mut some = Subset::new(block, &sample.rows);
        let stop = || session.reason_to_stop().is_some();
        w = InteriorPoint::begin(loss, part, w, len, &mut some)?.run(SAMPLE_TOLERANCE, stop)?.w;
    }
    let each = |row: Row, y, z| distances.add(row, distance(loss, y, z));
    if let Some(status) = session.certify(loss, rows, &w, &mut duals, each)? {
        return session.finish(rows, duals, status);
    }
    let mut problems = 0;
    let tolerance = session.limits.options().tolerance;
    loop {
        let radii = match share < 1.0 {
            true => distances.radii(share),
            false => vec![f64::INFINITY; w.len()],
        };
        let near = Near::gather(loss, rows, (&w, &radii), part, &mut duals, (budget, beside))?;
        session.scans += 1;
        let Some(near) = near else {
            // More rows than fit.
            return session.finish(rows, duals, Status::OutOfPasses);
        };
        let Solution { w: found, duals: of_near, iterations, .. } = {
            let block = near.block(rows);
            let mut some = Subset::new(block, &near.rows);
            let shifted = Quadratic { shift: &near.shift, ..part };
            let stop = || session.reason_to_stop().is_some();
            InteriorPoint::begin(loss, shifted, w.clone(), len, &mut some)?.run(FURTHER * tolerance, stop)?
        };
        session.scans += u64::from(iterations) * near.rows.len() as u64 / shape.rows.max(1);
        near.positions.iter().zip(&of_near).for_each(|(&position, &beta)| duals[position as usize] = beta);
        problems += 1;
        let (before, gap) = (session.objective(), session.relative_gap());
        let mut at_found = Distances::new(shape.columns as usize);
        let each = |row: Row, y, z| at_found.add(row, distance(loss, y, z));
        let ended = session.certify(loss, rows, &found, &mut duals, each)?;
        if std::env::var("TRACE").is_ok() {
            eprintln!(
                "DEBUG near {} iterations {iterations} gap {:e} t {:?} share {share}",
                near.rows.len(),
                session.relative_gap(),
                session.limits.seconds()
            );
        }
        if let Some(status) = ended {
            return session.finish(rows, duals, status);
        }
        if share >= 1.0 {
            // Rounding has the last word.
            return session.finish(rows, duals, Status::OutOfPasses);
        }
        // From worse weights nothing is learnt but that they were too far away.
        if session.objective() < before {
            (w, distances) = (found, at_found);
        }
        if session.objective() >= before || session.relative_gap() > 0.3 * gap {
            share *= NEAR_PART.1;
        }
        if problems == MOST_PROBLEMS {
            share = 1.0;
        }
    }
}
