//! A start for losses whose slope is constant beyond a residual of δ, as that of Huber.
//!
//! Where residuals are thousands of δ, as with prices and the usual δ, hardly a row has a second derivative, and
//! Newton's method creeps. Losses with the same bounds of their slope and a larger δ have no such trouble. So δ falls
//! from a residual in the middle of all of them to its own value, and each problem starts at the solution of the one
//! before.
use super::equations::Way;
use super::hessian::Smooth;
use super::newton::Newton;
use super::one_output::{Quadratic, RowLoss, Same};
use super::scanning::Rows;
use crate::engine::TrainError;
use crate::loss::SmoothLoss;

/// The part of the rows whose residual is below the first δ.
const FIRST_PART: f64 = 0.3;
/// By how much δ falls: the more, the fewer steps the problem took.
const FALL: [(u32, f64); 3] = [(6, 0.03), (12, 0.1), (u32::MAX, 0.3)];
/// A problem is solved when F can fall by no more than this part of itself.
const SOLVED: f64 = 1e-3;
/// Steps for each of them, at most.
const MOST_STEPS: u32 = 30;

/// A loss times a factor.
#[derive(Clone, Copy)]
struct Times<L>(Same<L>, f64);

impl<L: SmoothLoss> RowLoss for Times<L> {
    #[inline(always)]
    fn value(&self, i: usize, (y, c): (f64, f64), z: f64) -> f64 {
        self.0.value(i, (y, self.1 * c), z)
    }

    #[inline(always)]
    fn slope(&self, i: usize, (y, c): (f64, f64), z: f64) -> f64 {
        self.0.slope(i, (y, self.1 * c), z)
    }

    #[inline(always)]
    fn second(&self, i: usize, (y, c): (f64, f64), z: f64, majorant: bool) -> f64 {
        self.0.second(i, (y, self.1 * c), z, majorant)
    }
}

/// Weights from which Newton's method does well, and the scans that they took; `w` itself where it does so from there.
/// `way` says how equations are solved; `stop` is told of each step.
pub fn approach<L: SmoothLoss, R: Rows>(
    loss: L,
    part: Quadratic,
    (mut w, way): (Vec<f64>, Way),
    rows: &mut R,
    mut stop: impl FnMut(&[f64], f64) -> bool,
) -> Result<(Vec<f64>, u64), TrainError> {
    if loss.widened(f64::MAX).is_none() {
        return Ok((w, 0));
    }
    let (last, mut sizes) = (w.len() - 1, Vec::new());
    rows.scan(|_, row, y, _| sizes.push((row.dot(&w) + part.bias * w[last] - y).abs()))?;
    let mut scans = 1;
    let at = ((sizes.len() as f64 * FIRST_PART) as usize).max(2 * w.len()).min(sizes.len().saturating_sub(1));
    let mut radius = match sizes.is_empty() {
        true => 0.0,
        false => *sizes.select_nth_unstable_by(at, f64::total_cmp).1,
    };
    drop(sizes);
    while let Some((wide, factor)) = loss.widened(radius) {
        let mut newton = Newton::begin(Smooth::new(Times(Same(wide), factor), part, way), w, rows)?;
        let (mut steps, mut stopped) = (0, false);
        while steps < MOST_STEPS {
            let left = newton.promised(rows)? / newton.objective.abs();
            if left.is_nan() || left <= SOLVED {
                break;
            }
            steps += 1;
            stopped = stop(&newton.w, left);
            if stopped || !newton.step(rows)? {
                break;
            }
        }
        scans += newton.all_scans(rows);
        w = newton.w;
        if stopped {
            break;
        }
        radius *= FALL.iter().find(|(most, _)| steps <= *most).map_or(0.3, |found| found.1);
    }
    Ok((w, scans))
}
