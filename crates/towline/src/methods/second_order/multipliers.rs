//! The method of multipliers for losses that are made of straight pieces: each of its problems is smooth, for Newton's
//! method.
//!
//! A term `c max(0, t - sz)` with the dual variable α is replaced by `max over a in [0, c] of a(t - sz) - (a -
//! α)²/(2σc)`, the proximal point method on the dual (Rockafellar 1976). It is a parabola of curvature σc where `α +
//! σc(t - sz)` is within the bounds, and straight elsewhere. Its maximiser a is the next α. At the minimum over w the
//! dual variables are those of w, `ρw = v̄ + Σ βx`, so the gap is what the rows say themselves; it falls by about the
//! factor that σ grows by, squared. Newton's method is exact after a few steps (semismooth, as Li, Sun and Toh 2018
//! have it for the Lasso), whatever the scale of columns and C, and only rows on a parabola have a part in its matrix.
//! In the end those are the rows at their kink.
use super::band::Band;
use super::equations::Way;
use super::hessian::Smooth;
use super::newton::{Function, Newton};
use super::one_output::{Quadratic, RowLoss};
use super::scanning::Rows;
use super::session::Estimate;
use crate::engine::TrainError;
use crate::loss::{Loss, PiecewiseLinear};

/// Problems, at most: it takes about ten.
const MOST_PROBLEMS: u32 = 200;
/// Newton steps for each of them, at most: it takes about five.
const MOST_STEPS: u32 = 60;
/// A problem is solved when what is left of it is this part of the gap.
const SOLVED: f64 = 0.1;
/// By how much σ grows from one problem to the next: the more, the fewer steps the problem took. A large σ leaves fewer
/// rows on their parabolas than there are features, and then steps find them one by one; problems that took too many
/// are followed by one with a smaller σ.
const GROWTH: [(u64, f64); 6] = [(5, 10.0), (8, 4.0), (16, 2.0), (24, 1.0), (40, 0.3), (u64::MAX, 0.1)];
/// Conjugate gradients make a problem as hard as a step more for each batch of this many products: they take more of
/// them, the larger σ is.
const EASY_PRODUCTS: u64 = 50;
/// σ does not grow beyond this many times what it was: rounding would have the last word.
const MOST_GROWTH: f64 = 1e12;

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
            let (a, _, s) = self.term(i, k, target, z);
            if a > 0.0 && a < target.1 { self.sigma * target.1 * s * s } else { 0.0 }
        };
        (0..L::TERMS).map(of).sum()
    }

    #[inline(always)]
    fn gap(&self, i: usize, (y, c): (f64, f64), z: f64) -> (f64, f64) {
        let (low, high) = self.loss.dual_bounds(y, c);
        let beta = (-self.slope(i, (y, c), z)).clamp(low, high);
        (Loss::gap(&self.loss, y, z, beta, c), c * self.loss.value(y, z))
    }
}

/// Bytes of memory for each row, besides those of Newton's method.
pub fn row_bytes(terms: u64) -> u64 {
    8 * terms
}

/// Where to begin, as far as that is known.
#[derive(Default)]
pub struct Origin {
    /// How curved parabolas are at first; else that is found by a scan.
    pub band: Option<Band>,
    /// β of each row; else it follows from the weights.
    pub duals: Option<Vec<f64>>,
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

/// Minimises `½ Σ ρw² - v̄·w + Σ c L(y, w·x)` from `w` on until the gap is below `tolerance` of it, or `stop`, which is
/// told of weights and what is known of them, says so; `way` says how equations are solved. Without a
/// `band` to begin with one is found by a scan.
pub fn solve<L: PiecewiseLinear, R: Rows>(
    loss: L,
    part: Quadratic,
    (mut w, way): (Vec<f64>, Way),
    rows: &mut R,
    (tolerance, origin): (f64, Origin),
    mut stop: impl FnMut(&[f64], Estimate) -> bool,
) -> Result<Solution, TrainError> {
    let way = way.within(tolerance);
    let mut scans = 1 + u64::from(origin.band.is_none());
    let Band { radius, mut sigma } = match origin.band {
        Some(band) => band,
        None => Band::of(loss, part, &w, rows, None)?,
    };
    let most = MOST_GROWTH * sigma;
    let mut state = match origin.duals {
        Some(duals) => State::of(loss, duals, rows)?,
        None => State::at(loss, part, &w, rows, radius)?,
    };
    for problem in 0..MOST_PROBLEMS {
        let smoothed = Smoothed { loss, alphas: &state.alphas, sigma };
        let mut newton = match Newton::begin(Smooth::new(smoothed, part, way), w.clone(), rows) {
            Err(TrainError::Stopped(_)) => {
                // Weights and dual variables are those of the problem before.
                rows.begin_end();
                state.advance(loss, part, (&w, None), rows, (0.0, true))?;
                break;
            }
            begun => begun?,
        };
        let ended = match solve_one(&mut newton, rows, tolerance, &mut stop) {
            // The weights are those of the last step, and so are the dual variables that follow from them.
            Err(TrainError::Stopped(_)) => true,
            ended => ended?,
        };
        let all_scans = newton.all_scans(rows);
        let Newton { mut function, w: found, scans: steps, products, .. } = newton;
        let margins = function.take_margins();
        drop(function);
        w = found;
        let is_last = ended || problem + 1 == MOST_PROBLEMS;
        if is_last {
            rows.let_end();
        }
        state.advance(loss, part, (&w, margins.as_deref()), rows, (sigma, is_last))?;
        scans += all_scans + u64::from(margins.is_none());
        if is_last {
            break;
        }
        let effort = steps + products / EASY_PRODUCTS;
        let growth = GROWTH.iter().find(|(most, _)| effort <= *most).map_or(1.0, |found| found.1);
        sigma = (growth * sigma).min(most);
    }
    Ok(Solution { w, duals: state.alphas, scans })
}

/// Newton steps until a problem is solved well enough. True if the whole is, or has to end.
fn solve_one<L: PiecewiseLinear, R: Rows>(
    newton: &mut Newton<Smooth<Smoothed<L>>>,
    rows: &mut R,
    tolerance: f64,
    stop: &mut impl FnMut(&[f64], Estimate) -> bool,
) -> Result<bool, TrainError> {
    for _ in 0..MOST_STEPS {
        let (gap, losses) = newton.function.row_gaps();
        let value = losses + newton.function.penalty(&newton.w);
        let objective = value.abs();
        let enough = tolerance * objective;
        let whole = gap + newton.gap();
        if stop(&newton.w, Estimate { objective: Some(value), gap: whole / objective }) {
            return Ok(true);
        }
        let promised = newton.promised(rows)?;
        if whole <= enough && promised <= enough {
            return Ok(true);
        }
        // The last digits of the gradient are worth it only where the gap is small enough without them.
        let is_solved = promised <= SOLVED * gap && gap > enough;
        if is_solved || !newton.step(rows)? {
            break;
        }
    }
    Ok(false)
}

/// Dual variables.
struct State {
    /// α of each term; β of each row in the end, so that there is no other array of this size.
    alphas: Vec<f64>,
}

impl State {
    /// Begins with β of each row.
    fn of<L: PiecewiseLinear, R: Rows>(loss: L, duals: Vec<f64>, rows: &mut R) -> Result<State, TrainError> {
        let mut alphas = Vec::with_capacity(L::TERMS * duals.len());
        rows.scan(|i, _, y, c| alphas.extend((0..L::TERMS).map(|k| (duals[i] / loss.term(y, k).0).clamp(0.0, c))))?;
        Ok(State { alphas })
    }

    /// Begins at w: rows that are far on the wrong side have α at their bound, the others at 0. Where rows can be
    /// separated, α stays far below its bound, and would not find back from there.
    fn at<L: PiecewiseLinear, R: Rows>(
        loss: L,
        part: Quadratic,
        w: &[f64],
        rows: &mut R,
        radius: f64,
    ) -> Result<State, TrainError> {
        let (mut alphas, last) = (Vec::with_capacity(L::TERMS * rows.most()), w.len() - 1);
        rows.scan(|_, row, y, c| {
            let z = row.dot(w) + part.bias * w[last];
            alphas
                .extend((0..L::TERMS).map(|k| loss.term(y, k)).map(|(s, t)| if t - s * z > radius { c } else { 0.0 }));
        })?;
        Ok(State { alphas })
    }

    /// The maximisers at w are the next dual variables; the last ones are summed to those of rows.
    fn advance<L: PiecewiseLinear, R: Rows>(
        &mut self,
        loss: L,
        part: Quadratic,
        (w, margins): (&[f64], Option<&[f64]>),
        rows: &mut R,
        (sigma, is_last): (f64, bool),
    ) -> Result<(), TrainError> {
        let (last, mut count) = (w.len() - 1, 0);
        rows.scan(|i, row, y, c| {
            let z = margins.map_or_else(|| row.dot(w) + part.bias * w[last], |margins| margins[i]);
            let (mut beta, of_row) = (0.0, i * L::TERMS);
            for (k, alpha) in self.alphas[of_row..][..L::TERMS].iter_mut().enumerate() {
                let (s, t) = loss.term(y, k);
                *alpha = (*alpha + sigma * c * (t - s * z)).clamp(0.0, c);
                beta += s * *alpha;
            }
            if is_last {
                self.alphas[i] = beta;
            }
            count += 1;
        })?;
        if is_last {
            self.alphas.truncate(count);
        }
        Ok(())
    }
}
