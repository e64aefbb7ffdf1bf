//! The function of one weight per feature with a sum of |w|, as Newton's method sees it: l1 and elastic net.
//!
//! ```text
//! F(w) = f(w) + Σ λ_j |w_j|,   f(w) = ½ Σ ρ_j w_j² + Σ c L(y, w·x)
//! w + d = argmin ∇f·(u - w) + ½ (u - w)ᵀ H (u - w) + Σ λ_j |u_j|
//! ```
//! The quadratic model is a Lasso of as many weights as H has columns (proximal Newton; Lee, Sun and Saunders 2014).
//! With many features H is that of a working set: weights that are not 0, and columns whose gradient is near its bound,
//! for what the gap leaves open (Ndiaye et al. 2017 leave columns out by the gap). Columns that turn out to be missing
//! come with the next scan.
use super::factor::Factor;
use super::gram::{Chosen, Gram};
use super::lasso::Lasso;
use super::line_search::Line;
use super::newton::{Ahead, Function};
use super::one_output::{Look, Quadratic, RowLoss};
use super::scanning::Rows;
use crate::block::Row;
use crate::engine::{TrainError, Watch};
use crate::penalty::soft;

/// Up to so many features the Hessian is that of all of them: its sums take no longer than the products of a row.
const FEW_FEATURES: usize = 64;
/// A column waits in the working set if its gradient is this part of its bound, unless the gap is so small that it
/// cannot leave 0.
const NEAR_BOUND: f64 = 0.5;
/// Another look is taken if what is promised without the missing columns is less than this part of the gap.
const TOO_LITTLE: f64 = 0.1;
/// Curvatures are at least this part of those of majorants: a model must have a minimum.
const LEAST_PART: f64 = 1e-3;

/// A loss with curvature wherever it has a slope.
#[derive(Clone, Copy)]
pub struct Curved<L>(pub L);

impl<L: RowLoss> RowLoss for Curved<L> {
    #[inline(always)]
    fn value(&self, i: usize, target: (f64, f64), z: f64) -> f64 {
        self.0.value(i, target, z)
    }

    #[inline(always)]
    fn slope(&self, i: usize, target: (f64, f64), z: f64) -> f64 {
        self.0.slope(i, target, z)
    }

    #[inline(always)]
    fn second(&self, i: usize, target: (f64, f64), z: f64, majorant: bool) -> f64 {
        let second = self.0.second(i, target, z, majorant);
        if majorant { second } else { second.max(LEAST_PART * self.0.second(i, target, z, true)) }
    }
}

/// F with the penalty ½ Σ ρw² + Σ λ|w|.
pub struct Sparse<'a, L> {
    pub(super) look: Look<'a, Curved<L>>,
    /// λ; 0 for a weight that is free.
    bounds: &'a [f64],
    /// Σ c L'' x xᵀ.
    gram: Gram,
    /// The working set, if it is not all columns.
    chosen: Option<Chosen>,
    /// Values of a row, on average.
    len: f64,
    /// Σ c x² of each column, where there is a working set, times the largest curvature of the loss.
    squares: Vec<f64>,
    curvature: f64,
    /// The gap and the losses at the weights that were looked at last.
    last_gap: f64,
    losses: f64,
}

impl<'a, L: RowLoss> Sparse<'a, L> {
    /// Bytes of memory for this many weights and rows.
    pub fn bytes(size: u64, rows: u64) -> u64 {
        Look::<L>::bytes(size, rows) + Gram::bytes(size) + Factor::bytes(size) + 12 * 8 * size
    }

    /// Nothing has been looked at; rows have about `len` values, and L'' is at most `curvature`.
    pub fn new(loss: L, part: Quadratic<'a>, bounds: &'a [f64], (len, curvature): (f64, f64)) -> Self {
        let few = bounds.len() <= FEW_FEATURES;
        let look = Look::new(Curved(loss), part);
        // Of no column but the constant feature until others are chosen.
        let gram = if few { Gram::new(bounds.len(), len) } else { Gram::new(1, 1.0) };
        let chosen = (!few).then(|| Chosen::new(bounds.len() - 1, |_| false));
        Sparse { look, bounds, gram, chosen, len, squares: Vec::new(), curvature, last_gap: f64::INFINITY, losses: 0.0 }
    }

    /// Chooses a working set for w by the gradient that was found last.
    fn choose(&mut self, w: &[f64]) {
        if self.chosen.is_none() {
            return;
        }
        let gradient = &self.look.gradient;
        let radius = (2.0 * self.last_gap).sqrt();
        let waits = |j: usize| {
            let pull = gradient.get(j).map_or(0.0, |g| g.abs());
            let bound = self.bounds[j];
            pull > bound || pull > NEAR_BOUND * bound && pull + radius * self.squares[j].sqrt() > bound
        };
        let columns = w.len() - 1;
        let chosen = Chosen::new(columns, |j| w[j] != 0.0 || self.bounds[j] == 0.0 || waits(j));
        let share = chosen.columns().len() as f64 / columns as f64;
        self.gram = Gram::new(chosen.columns().len() + 1, share * self.len + 1.0);
        self.chosen = Some(chosen);
    }

    /// The numbers of `all` that belong to the columns of the Hessian.
    fn part(&self, all: &[f64]) -> Vec<f64> {
        match &self.chosen {
            None => all.to_vec(),
            Some(chosen) => {
                let constant = all.len() - 1;
                chosen.columns().iter().map(|&j| all[j as usize]).chain([all[constant]]).collect()
            }
        }
    }

    /// The other way round, with 0 for all others.
    fn whole(&self, part: Vec<f64>) -> Vec<f64> {
        let Some(chosen) = &self.chosen else { return part };
        let mut whole = vec![0.0; self.bounds.len()];
        chosen.columns().iter().zip(&part).for_each(|(&j, &x)| whole[j as usize] = x);
        whole[self.bounds.len() - 1] = part[part.len() - 1];
        whole
    }
}

impl<L: RowLoss> Sparse<'_, L> {
    /// Σ λ|w|.
    pub fn norm(&self, w: &[f64]) -> f64 {
        w.iter().zip(self.bounds).map(|(w, bound)| bound * w.abs()).sum()
    }

    /// The derivative of Σ λ|w| along a direction, on the side to which it goes.
    fn slope_of_kinks(&self, w: &[f64], direction: &[f64]) -> f64 {
        let of = |((w, d), bound): ((&f64, &f64), &f64)| match *w == 0.0 {
            true => bound * d.abs(),
            false => bound * d * w.signum(),
        };
        w.iter().zip(direction).zip(self.bounds).map(of).sum()
    }
}

impl<L: RowLoss> Function for Sparse<'_, L> {
    fn look<R: Rows>(&mut self, w: &[f64], majorant: bool, rows: &mut R) -> Result<f64, TrainError> {
        self.choose(w);
        let norm = self.norm(w);
        let Sparse { look, gram, chosen, squares, curvature, .. } = self;
        let bias = look.part.bias;
        gram.clear();
        let is_first = chosen.is_some() && squares.is_empty();
        if is_first {
            squares.resize(w.len(), 0.0);
        }
        let mut add = |row: Row, second: f64| match chosen {
            None => gram.add(row, &[bias], second),
            Some(chosen) => gram.add_chosen(row, chosen, bias, second),
        };
        let mut is_flat = true;
        let value = look.scan((w, majorant), rows, |_, row, c, second| {
            if second > 0.0 {
                add(row, second);
                is_flat = false;
            }
            if is_first {
                row.for_each(|j, x| squares[j as usize] += *curvature * c * x * x);
            }
        })?;
        if is_flat {
            // No row costs anything, as where classes are separated: a model without curvature has no minimum.
            look.scan((w, majorant), rows, |_, row, c, _| add(row, *curvature * c))?;
        }
        gram.flush();
        self.losses = value - self.look.part.value(w);
        self.last_gap = self.gap(w);
        Ok(norm + value)
    }

    fn direction<R: Rows>(&mut self, w: &[f64], rows: &mut R) -> Result<Ahead, TrainError> {
        let (gram, watch) = (&self.gram, rows.watch());
        let Look { gradient, part, .. } = &self.look;
        let (from, gradient) = (self.part(w), self.part(gradient));
        let (ridge, bounds) = (self.part(part.ridge), self.part(self.bounds));
        let pull: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut to = from.clone();
        let (ridge, centre, pull, bounds) = (&ridge, &from, &pull, &bounds);
        Lasso { matrix: gram, ridge, centre, pull, bounds, non_negative: false }.solve(&mut to, watch);
        // What is promised holds at a minimum.
        watch.map_or(Ok(()), Watch::check)?;
        let step: Vec<f64> = to.iter().zip(&from).map(|(to, from)| to - from).collect();
        let mut curved = vec![0.0; step.len()];
        gram.product(ridge, &step, &mut curved);
        let (mut promised, mut square) = (0.0, 0.0);
        for j in 0..step.len() {
            let kink = bounds[j] * (to[j].abs() - from[j].abs());
            promised -= (gradient[j] + 0.5 * curved[j]) * step[j] + kink;
            square += curved[j] * step[j];
        }
        // At a minimum it is no less than this, which keeps its digits where the sum cancels.
        let promised = promised.max(0.5 * square);
        Ok(Ahead { direction: self.whole(step), promised, products: 0 })
    }

    /// F(w) - D(sβ) with the largest s for which sβ is feasible, but for what an intercept asks of dual variables.
    /// D(sβ) is about what a parabola through D(0) = 0 and D(β) says with its slope there. With a ridge on all weights
    /// β itself is feasible.
    fn gap(&self, w: &[f64]) -> f64 {
        let sums = self.look.sums(w);
        let (mut scale, mut is_ridge) = (1.0f64, true);
        for ((v, &bound), &ridge) in sums.iter().zip(self.bounds).zip(self.look.part.ridge) {
            if bound > 0.0 {
                scale = scale.min(bound / v.abs().max(bound));
                is_ridge &= ridge > 0.0;
            }
        }
        let (mut scaled, mut whole) = ((1.0 - scale).powi(2) * self.losses, 0.0);
        for j in (0..w.len()).filter(|&j| self.bounds[j] > 0.0) {
            let (w, v, bound, ridge) = (w[j], sums[j], self.bounds[j], self.look.part.ridge[j]);
            let inside = soft(v, bound);
            scaled += bound * w.abs() - scale * v * w + 0.5 * ridge * w * w;
            // Each of its terms is at least 0.
            whole += bound * w.abs() + (inside - v) * w;
            whole += if ridge > 0.0 { (ridge * w - inside).powi(2) / (2.0 * ridge) } else { 0.0 };
        }
        if is_ridge { whole.min(scaled.max(0.0)) } else { scaled.max(0.0) }
    }

    fn take_margins(&mut self) -> Option<Vec<f64>> {
        self.look.margins.take()
    }

    fn derivatives<R: Rows>(&self, line: &Line, steps: &[f64], rows: &mut R) -> Result<Vec<f64>, TrainError> {
        let mut slopes = self.look.derivatives(line, steps, rows)?;
        let terms = slopes.iter_mut().zip(steps);
        terms.for_each(|(slope, &t)| *slope += self.slope_of_kinks(&line.at(t), line.direction));
        Ok(slopes)
    }

    fn slope(&self, w: &[f64], direction: &[f64]) -> f64 {
        self.look.slope(direction) + self.slope_of_kinks(w, direction)
    }

    fn lacks_columns(&self, w: &[f64], promised: f64) -> bool {
        let Some(chosen) = &self.chosen else { return false };
        let missing = |j: usize| !chosen.has(j) && self.look.gradient[j].abs() > self.bounds[j];
        (0..w.len() - 1).any(missing) && (promised.is_nan() || promised <= TOO_LITTLE * self.gap(w))
    }
}
