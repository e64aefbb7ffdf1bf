//! The method of multipliers for losses that are made of straight pieces: each of its problems is smooth, for Newton's method.
//!
//! A term `c max(0, t - sz)` with the dual variable α is replaced by `max over a in [0, c] of a(t - sz) - (a - α)²/(2σc)`, the proximal
//! point method on the dual (Rockafellar 1976). It is a parabola of curvature σc where `α + σc(t - sz)` is within the bounds, and
//! straight elsewhere. Its maximiser a is the next α. At the minimum over w the dual variables are those of w, `ρw = v̄ + Σ βx`, so the
//! gap is what the rows say themselves; it falls by about the factor that σ grows by, squared. Newton's method is exact after a few
//! steps (semismooth, as Li, Sun and Toh 2018 have it for the Lasso), whatever the scale of columns and C, and only rows on a parabola
//! have a part in its matrix. In the end those are the rows at their kink.
use super::newton::{Newton, Quadratic, RowLoss};
use crate::loss::{Loss, PiecewiseLinear};
use crate::newton::Rows;
use crate::trainer::TrainError;

/// Problems, at most: it takes about ten.
const MOST_PROBLEMS: u32 = 200;
/// Newton steps for each of them, at most: it takes about five.
const MOST_STEPS: u32 = 60;
/// A problem is solved when what is left of it is this part of the gap.
const SOLVED: f64 = 0.1;
/// By how much σ grows from one problem to the next: the more, the fewer steps the problem took. A large σ leaves fewer rows on their parabolas than
/// there are features, and then steps find them one by one; problems that took too many are followed by one with a smaller σ.
const GROWTH: [(u32, f64); 6] = [(5, 10.0), (8, 4.0), (16, 2.0), (24, 1.0), (40, 0.3), (u32::MAX, 0.1)];
/// σ does not grow beyond this many times what it was: rounding would have the last word.
const MOST_GROWTH: f64 = 1e12;
/// At first, as many rows are on a parabola as are nearer to a kink than this part of them.
const FIRST_PART: f64 = 0.3;

/// How much rows weigh against the penalty at first, each for itself.
const FIRST_WEIGHT: f64 = 1.0;

/// The losses of rows with dual variables.
#[derive(Clone, Copy)]
struct Smoothed<'a, L> {
    loss: L,
    alphas: &'a [f64],
    sigma: f64,
}

impl<L: PiecewiseLinear> Smoothed<'_, L> {
    /// a before it is brought within its bounds, t - sz, and s, of a term.
    #[inline(always)]
    fn term(&self, i: usize, k: usize, (y, c): (f64, f64), z: f64) -> (f64, f64, f64) {
        let (s, t) = self.loss.term(y, k);
        let missing = t - s * z;
        (self.alphas[i * L::TERMS + k] + self.sigma * c * missing, missing, s)
    }
}

impl<L: PiecewiseLinear> RowLoss for Smoothed<'_, L> {
    #[inline(always)]
    fn value(&self, i: usize, target: (f64, f64), z: f64) -> f64 {
        let c = target.1;
        let of = |k: usize| {
            let (a, missing, _) = self.term(i, k, target, z);
            let a = a.clamp(0.0, c);
            let off = a - self.alphas[i * L::TERMS + k];
            a * missing - off * off / (2.0 * self.sigma * c)
        };
        (0..L::TERMS).map(of).sum()
    }

    #[inline(always)]
    fn slope(&self, i: usize, target: (f64, f64), z: f64) -> f64 {
        let of = |k: usize| {
            let (a, _, s) = self.term(i, k, target, z);
            -s * a.clamp(0.0, target.1)
        };
        (0..L::TERMS).map(of).sum()
    }

    #[inline(always)]
    fn second(&self, i: usize, target: (f64, f64), z: f64, _majorant: bool) -> f64 {
        let of = |k: usize| {
            let a = self.term(i, k, target, z).0;
            if a > 0.0 && a < target.1 { self.sigma * target.1 } else { 0.0 }
        };
        (0..L::TERMS).map(of).sum()
    }
}

/// Bytes of memory for each row, besides those of Newton's method.
pub fn row_bytes(terms: u64) -> u64 {
    // Targets and β; dual variables now and next, distances to kinks at first, and a copy of those to find their median.
    3 * 8 + 4 * 8 * terms
}

/// What came of it.
pub struct Solution {
    /// The weights.
    pub w: Vec<f64>,
    /// β of each row.
    pub duals: Vec<f64>,
    /// Scans.
    pub scans: u64,
}

/// Minimises `½ Σ ρw² - v̄·w + Σ c L(y, w·x)` from `w` on until the gap is below `tolerance` of it, or `stop` says so; rows have about `len` values.
pub fn solve<L: PiecewiseLinear, R: Rows>(
    loss: L,
    part: Quadratic,
    (mut w, len): (Vec<f64>, f64),
    rows: &mut R,
    tolerance: f64,
    mut stop: impl FnMut() -> bool,
) -> Result<Solution, TrainError> {
    let mut state = State::at(loss, part, &w, rows)?;
    let mut scans = 1;
    let most = MOST_GROWTH * state.sigma;
    for _ in 0..MOST_PROBLEMS {
        let smoothed = Smoothed { loss, alphas: &state.alphas, sigma: state.sigma };
        let mut newton = match Newton::begin(smoothed, part, w.clone(), len, rows) {
            Err(TrainError::Stopped(_)) => break,
            begun => begun?,
        };
        let done = match state.solve(smoothed, &mut newton, rows, tolerance, &mut stop) {
            // The weights are those of the last step, and so are the dual variables that follow from them.
            Err(TrainError::Stopped(_)) => true,
            done => done?,
        };
        scans += newton.scans;
        let steps = newton.scans as u32;
        let next = state.next(smoothed, &newton.margins);
        w = newton.w;
        state.alphas = next;
        if done || stop() {
            break;
        }
        let growth = GROWTH.iter().find(|(most, _)| steps <= *most).map_or(1.0, |found| found.1);
        state.sigma = (growth * state.sigma).min(most);
    }
    Ok(Solution { w, duals: state.duals(loss), scans })
}

/// Where the method is.
struct State {
    /// y and c of each row.
    targets: Vec<(f64, f64)>,
    /// α of each term.
    alphas: Vec<f64>,
    sigma: f64,
}

impl State {
    /// Begins at w: rows that are far on the wrong side have α at their bound, the others at 0. Where rows can be separated, α stays far below its bound, and
    /// would not find back from there.
    fn at<L: PiecewiseLinear, R: Rows>(loss: L, part: Quadratic, w: &[f64], rows: &mut R) -> Result<State, TrainError> {
        let (mut targets, mut missing) = (Vec::new(), Vec::new());
        let (last, mut curved) = (w.len() - 1, 0.0);
        rows.scan(|_, row, y, c| {
            targets.push((y, c));
            curved += c * row.sq_norm();
            let z = row.dot(w) + part.bias * w[last];
            missing.extend((0..L::TERMS).map(|k| loss.term(y, k)).map(|(s, t)| t - s * z));
        })?;
        let mut distances: Vec<f64> = missing.iter().map(|missing| missing.abs()).collect();
        let at = (distances.len() as f64 * FIRST_PART) as usize;
        let radius = match distances.is_empty() {
            true => 1.0,
            false => distances.select_nth_unstable_by(at, f64::total_cmp).1.max(1e-6),
        };
        // Those of the rows that are on the wrong side of their kink are on a parabola, the farthest just so.
        let mut sigma = 0.99 / radius;
        if w.iter().all(|w| *w == 0.0) && curved > 0.0 {
            // Without a model to begin with: rows weigh no more than the penalty at first, which is solved in a few steps whatever comes of them.
            let ridge = part.ridge.iter().fold(0.0, |most: f64, ridge| most.max(*ridge));
            sigma = sigma.min(FIRST_WEIGHT * ridge.max(1e-6) * targets.len() as f64 / curved);
        }
        let weights = targets.iter().flat_map(|&(_, c)| (0..L::TERMS).map(move |_| c));
        let alpha = |(&m, c): (&f64, f64)| if m > radius { c } else { 0.0 };
        let alphas = missing.iter().zip(weights).map(alpha).collect();
        Ok(State { targets, alphas, sigma })
    }

    /// Newton steps until the problem is solved well enough. True if the whole is.
    fn solve<L: PiecewiseLinear, R: Rows>(
        &self,
        smoothed: Smoothed<L>,
        newton: &mut Newton<Smoothed<L>>,
        rows: &mut R,
        tolerance: f64,
        stop: &mut impl FnMut() -> bool,
    ) -> Result<bool, TrainError> {
        for _ in 0..MOST_STEPS {
            let (gap, losses) = self.gap(smoothed, &newton.margins);
            let enough = tolerance * (losses + newton.penalty()).abs();
            let promised = newton.promised()?;
            if gap + newton.gap() <= enough && promised <= enough {
                return Ok(true);
            }
            // The last digits of the gradient are worth it only where the gap is small enough without them.
            let is_solved = promised <= SOLVED * gap && gap > enough;
            if is_solved || stop() || !newton.step(rows)? {
                break;
            }
        }
        Ok(false)
    }

    /// What all rows have of the gap, and their losses.
    fn gap<L: PiecewiseLinear>(&self, smoothed: Smoothed<L>, margins: &[f64]) -> (f64, f64) {
        let (mut gap, mut losses) = (0.0, 0.0);
        for (i, (&(y, c), &z)) in self.targets.iter().zip(margins).enumerate() {
            let (low, high) = smoothed.loss.dual_bounds(y, c);
            let beta = (-smoothed.slope(i, (y, c), z)).clamp(low, high);
            gap += Loss::gap(&smoothed.loss, y, z, beta, c);
            losses += c * smoothed.loss.value(y, z);
        }
        (gap, losses)
    }

    fn next<L: PiecewiseLinear>(&self, smoothed: Smoothed<L>, margins: &[f64]) -> Vec<f64> {
        let of = |(i, (&target, &z)): (usize, (&(f64, f64), &f64))| {
            (0..L::TERMS).map(move |k| smoothed.term(i, k, target, z).0.clamp(0.0, target.1))
        };
        self.targets.iter().zip(margins).enumerate().flat_map(of).collect()
    }

    fn duals<L: PiecewiseLinear>(&self, loss: L) -> Vec<f64> {
        let of = |(&(y, _), alphas): (&(f64, f64), &[f64])| {
            alphas.iter().enumerate().map(|(k, alpha)| loss.term(y, k).0 * alpha).sum()
        };
        self.targets.iter().zip(self.alphas.chunks(L::TERMS)).map(of).collect()
    }
}
