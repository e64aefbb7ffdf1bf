//! Training with Newton steps: on a sample of the rows first, then on all of them.
use super::hessian::Smooth;
use super::newton::{Function, Newton};
use super::one_output::Same;
use super::rows::TaskRows;
use super::sample::{BestSeen, GOOD_START, Samples, from_sample, worth};
use super::scanning::Rows;
use super::session::{Estimate, Session};
use super::sparse::Sparse;
use super::widen;
use crate::budget::Budget;
use crate::engine::{Status, TrainError, Trained};
use crate::loss::SmoothLoss;

/// A sample is solved until the decrement is this part of its objective, or more where it is small: its own error is
/// larger.
const SAMPLE_TOLERANCE: f64 = 1e-4;
/// It is given up after so many steps that have made F larger on rows that are held out.
const PATIENCE: u32 = 2;
/// Steps in a row that do not lower the gradient, at the end. Columns that say the same are distinguished by the
/// penalty alone, and where that is lost in rounding it takes many steps.
const MOST_STALLS: u32 = 3;
/// Steps in a row that do not lower F.
pub const MOST_TRIES: u32 = 2;
/// F is known up to this part of itself.
const NOISE: f64 = 1e-13;
/// Steps on rows in memory, at most.
const MOST_STEPS: usize = 100;
/// Steps on a sample, at most.
const SAMPLE_STEPS: usize = 30;

/// A function whose minimum is a model.
pub trait Model: Function {
    /// Margins of a row, and dual variables.
    fn width(&self) -> usize;

    /// Weights from which Newton's method does well, and the scans that it took to find them. `stop` is told of each
    /// step, and about how large the relative gap is.
    fn approach<R: Rows>(
        &self,
        w: Vec<f64>,
        _rows: &mut R,
        _stop: impl FnMut(&[f64], f64) -> bool,
    ) -> Result<(Vec<f64>, u64), TrainError> {
        Ok((w, 0))
    }

    /// F at w over rows.
    fn value<R: Rows>(&self, w: &[f64], rows: &mut R) -> Result<f64, TrainError>;

    /// Certifies w with its slopes as dual variables, which are left in `duals` by position. Returns how the run ended,
    /// if it did.
    fn certify(
        &self,
        rows: &mut TaskRows,
        w: &[f64],
        duals: &mut [f64],
        session: &mut Session,
    ) -> Result<Option<Status>, TrainError>;
}

impl<L: SmoothLoss> Model for Smooth<'_, Same<L>> {
    fn width(&self) -> usize {
        1
    }

    fn approach<R: Rows>(
        &self,
        w: Vec<f64>,
        rows: &mut R,
        stop: impl FnMut(&[f64], f64) -> bool,
    ) -> Result<(Vec<f64>, u64), TrainError> {
        widen::approach(self.look.loss.0, self.look.part, (w, self.way), rows, stop)
    }

    fn value<R: Rows>(&self, w: &[f64], rows: &mut R) -> Result<f64, TrainError> {
        self.look.value(w, rows)
    }

    fn certify(
        &self,
        rows: &mut TaskRows,
        w: &[f64],
        duals: &mut [f64],
        session: &mut Session,
    ) -> Result<Option<Status>, TrainError> {
        session.certify_slopes(self.look.loss.0, rows, w, duals, (self.look.dual_sums, &self.look.sums(w)))
    }
}

impl<L: SmoothLoss> Model for Sparse<'_, Same<L>> {
    fn width(&self) -> usize {
        1
    }

    fn value<R: Rows>(&self, w: &[f64], rows: &mut R) -> Result<f64, TrainError> {
        Ok(self.norm(w) + self.look.value(w, rows)?)
    }

    fn certify(
        &self,
        rows: &mut TaskRows,
        w: &[f64],
        duals: &mut [f64],
        session: &mut Session,
    ) -> Result<Option<Status>, TrainError> {
        session.certify_slopes(self.look.loss.0.0, rows, w, duals, (self.look.dual_sums, &self.look.sums(w)))
    }
}

/// Trains one model from `w` on, which is near the optimum or not.
pub fn train<M: Model>(
    mut model: M,
    rows: &mut TaskRows,
    (mut w, is_near): (Vec<f64>, bool),
    budget: &Budget,
    session: &mut Session,
) -> Result<Trained, TrainError> {
    let width = model.width();
    let is_near = is_near || session.relative_gap() <= GOOD_START;
    if !is_near && !model.samples_rows(rows) {
        let sizes = (w.len() as u64, 8 * (2 * width as u64 + 1), 0);
        (model, w) = from_sample((model, w), rows, sizes, budget, |(model, w), Samples { some, others }| {
            let w = model.approach(w, some, |w, gap| session.iterated(0.0, Some(w), Estimate::of_gap(gap)))?.0;
            let enough = worth(w.len() / width, some.most(), SAMPLE_TOLERANCE);
            let mut newton = Newton::begin(model, w, some)?;
            let mut seen = BestSeen::new();
            for _ in 0..SAMPLE_STEPS {
                if let Some(others) = others {
                    let value = newton.function.value(&newton.w, others)?;
                    if seen.note(value, &newton.w, PATIENCE) {
                        break;
                    }
                }
                let gap = newton.promised(some)? / newton.objective.abs();
                let is_solved = gap <= enough && !newton.lacks_columns(some)?;
                if is_solved || session.iterated(0.0, Some(&newton.w), Estimate::of_gap(gap)) || !newton.step(some)? {
                    break;
                }
            }
            Ok((newton.function, seen.or(newton.w)))
        })?;
    }
    if !is_near {
        let (found, scans) = model.approach(w, rows, |w, gap| session.iterated(1.0, Some(w), Estimate::of_gap(gap)))?;
        w = found;
        session.count(scans);
    }
    let mut newton = Newton::begin(model, w, rows)?;
    let mut duals = vec![0.0; rows.store_rows().store().shape().rows as usize * width];
    let tolerance = session.limits.options().tolerance;
    let (mut scans, mut best, mut stalls, mut stuck) = (0, f64::INFINITY, 0, 0);
    loop {
        let so_far = newton.all_scans(rows);
        session.scans += so_far - std::mem::replace(&mut scans, so_far);
        let gap = newton.gap();
        let known = Estimate { objective: Some(newton.objective), gap: gap / newton.objective };
        session.iterated(0.0, Some(&newton.w), known);
        if newton.function.is_dear() && gap <= tolerance * newton.objective {
            rows.let_end();
            let ended = newton.function.certify(rows, &newton.w, &mut duals, session)?;
            if let Some(status) = ended {
                return session.finish(rows, duals, status);
            }
        }
        let promised = newton.promised(rows)?;
        let near = gap <= tolerance * newton.objective && promised <= tolerance * newton.objective;
        let stop = session.reason_to_stop();
        // Rounding has the last word: F does not fall any more, nor does the gradient.
        let is_flat = promised <= NOISE * newton.objective;
        stalls = if is_flat && gap >= 0.97 * best { stalls + 1 } else { 0 };
        if stalls > 0 {
            newton.function.renew();
        }
        best = if is_flat { best.min(gap) } else { f64::INFINITY };
        let settled = stuck >= MOST_TRIES || stalls >= MOST_STALLS;
        if near || stop.is_some() || settled {
            rows.let_end();
            let ended = newton.function.certify(rows, &newton.w, &mut duals, session)?;
            if let Some(status) = ended.or(stop).or(settled.then_some(Status::OutOfPasses)) {
                return session.finish(rows, duals, status);
            }
        }
        stuck = if newton.step(rows)? { 0 } else { stuck + 1 };
    }
}

/// Minimises over rows in memory until the gradient says that the gap is below `tolerance`, and returns weights, slopes
/// as dual variables, and scans.
pub fn solve<L: SmoothLoss, R: Rows>(
    function: Smooth<Same<L>>,
    w: Vec<f64>,
    rows: &mut R,
    tolerance: f64,
    session: &mut Session,
) -> Result<(Vec<f64>, Vec<f64>, u64), TrainError> {
    let (loss, bias) = (function.look.loss.0, function.look.part.bias);
    let (w, scans) = function.approach(w, rows, |_, gap| session.iterated(1.0, None, Estimate::of_gap(gap)))?;
    let mut newton = Newton::begin(function, w, rows)?;
    let mut stuck = 0;
    for _ in 0..MOST_STEPS {
        let promised = match newton.promised(rows) {
            Err(TrainError::Stopped(_)) => break,
            promised => promised?,
        };
        if newton.gap() <= tolerance * newton.objective && promised <= tolerance * newton.objective {
            break;
        }
        if stuck >= MOST_TRIES || session.iterated(1.0, None, Estimate::of_gap(newton.gap() / newton.objective)) {
            break;
        }
        let went_on = match newton.step(rows) {
            Err(TrainError::Stopped(_)) => break,
            went_on => went_on?,
        };
        stuck = if went_on { 0 } else { stuck + 1 };
    }
    rows.let_end();
    let (w, mut duals) = (newton.w, Vec::new());
    let last = w.len() - 1;
    rows.scan(|_, row, y, c| {
        let (low, high) = loss.dual_bounds(y, c);
        let z = row.dot(&w) + bias * w[last];
        duals.push((-c * loss.slope(y, z)).clamp(low, high));
    })?;
    Ok((w, duals, scans + newton.scans))
}
