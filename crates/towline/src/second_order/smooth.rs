//! Training with Newton steps: on a sample of the rows first, then on all of them.
use super::newton::{Newton, Quadratic, Same};
use super::rows::{Subset, TaskRows};
use super::sample::Sample;
use super::session::{Session, slopes};
use crate::budget::Budget;
use crate::loss::SmoothLoss;
use crate::newton::Rows;
use crate::trainer::{Status, TrainError, Trained};

/// A sample is solved until the decrement is this part of its objective: its own error is larger.
const SAMPLE_TOLERANCE: f64 = 1e-4;
/// Steps in a row that do not lower the gradient, at the end. Columns that say the same are told apart by the penalty alone, and where that is lost in
/// rounding it takes many steps.
const MOST_STALLS: u32 = 3;
/// Steps in a row that do not lower F.
const MOST_TRIES: u32 = 2;
/// F is known up to this part of itself.
const NOISE: f64 = 1e-13;
/// Steps on rows in memory, at most.
const MOST_STEPS: usize = 100;
/// Steps on a sample, at most.
const SAMPLE_STEPS: usize = 30;

/// Trains one model.
pub fn train<L: SmoothLoss>(
    loss: L,
    rows: &mut TaskRows,
    part: Quadratic,
    (mut w, len): (Vec<f64>, f64),
    budget: &Budget,
    session: &mut Session,
) -> Result<Trained, TrainError> {
    if let Some(sample) = Sample::of(rows, w.len() as u64, 2 * 8, budget)? {
        let block = sample.block(rows);
        let mut some = Subset::new(block, &sample.rows, session.limits.watch());
        let mut newton = Newton::begin(Same(loss), part, w, len, &mut some)?;
        for _ in 0..SAMPLE_STEPS {
            let promised = newton.promised()?;
            if promised <= SAMPLE_TOLERANCE * newton.objective.abs() || session.reason_to_stop().is_some() {
                break;
            }
            let went_on = newton.step(&mut some)?;
            session.latest = Some(newton.w.clone());
            if !went_on {
                break;
            }
        }
        w = newton.w;
    }
    let mut newton = Newton::begin(Same(loss), part, w, len, rows)?;
    let mut duals = vec![0.0; rows.store_rows().store().shape().rows as usize];
    let tolerance = session.limits.options().tolerance;
    let (mut scans, mut best, mut stalls, mut stuck) = (0, f64::INFINITY, 0, 0);
    loop {
        session.scans += newton.scans - std::mem::replace(&mut scans, newton.scans);
        let (gap, promised) = (newton.gap(), newton.promised()?);
        let near = gap <= tolerance * newton.objective && promised <= tolerance * newton.objective;
        let stop = session.reason_to_stop();
        // Rounding has the last word: F does not fall any more, nor does the gradient.
        stalls = if gap < 0.97 * best { 0 } else { stalls + 1 };
        best = best.min(gap);
        let settled = stuck >= MOST_TRIES || stalls >= MOST_STALLS && promised <= NOISE * newton.objective;
        if near || stop.is_some() || settled {
            session.let_end(rows);
            slopes(loss, rows, &newton.w, part.bias, &mut duals)?;
            let ended = session.certify(loss, rows, &newton.w, &mut duals, |_, _, _| {})?;
            if let Some(status) = ended.or(stop).or(settled.then_some(Status::OutOfPasses)) {
                return session.finish(rows, duals, status);
            }
        }
        stuck = if newton.step(rows)? { 0 } else { stuck + 1 };
        session.latest = Some(newton.w.clone());
    }
}

/// Minimises over rows in memory until the gradient says that the gap is below `tolerance`, and returns weights, slopes as dual variables, and scans.
pub fn solve<L: SmoothLoss, R: Rows>(
    loss: L,
    part: Quadratic,
    (w, len): (Vec<f64>, f64),
    rows: &mut R,
    tolerance: f64,
    session: &Session,
) -> Result<(Vec<f64>, Vec<f64>, u64), TrainError> {
    let mut newton = Newton::begin(Same(loss), part, w, len, rows)?;
    let mut stuck = 0;
    for _ in 0..MOST_STEPS {
        let promised = match newton.promised() {
            Err(TrainError::Stopped(_)) => break,
            promised => promised?,
        };
        if newton.gap() <= tolerance * newton.objective && promised <= tolerance * newton.objective {
            break;
        }
        if stuck >= MOST_TRIES || session.reason_to_stop().is_some() {
            break;
        }
        stuck = match newton.step(rows) {
            Err(TrainError::Stopped(_)) => break,
            went_on => {
                if went_on? {
                    0
                } else {
                    stuck + 1
                }
            }
        };
    }
    if session.reason_to_stop().is_some() {
        rows.begin_end();
    }
    let (w, mut duals) = (newton.w, Vec::new());
    let last = w.len() - 1;
    rows.scan(|_, row, y, c| {
        let (low, high) = loss.dual_bounds(y, c);
        let z = row.dot(&w) + part.bias * w[last];
        duals.push((-c * loss.slope(y, z)).clamp(low, high));
    })?;
    Ok((w, duals, newton.scans))
}
