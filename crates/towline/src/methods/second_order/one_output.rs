//! The function of one weight per feature, as Newton's method sees it.
//!
//! ```text
//! F(w) = ½ Σ ρ_j w_j² - v̄·w + Σ c L(y, w·x)        d = -(diag(ρ) + Σ c L''(z) x xᵀ)⁻¹ ∇F
//! ```
use super::gram::Gram;
use super::line_search::{self, Line};
use super::scanning::Rows;
use crate::block::Row;
use crate::engine::TrainError;
use crate::loss::SmoothLoss;

/// The part of F that is not the losses.
#[derive(Clone, Copy, Debug)]
pub struct Quadratic<'a> {
    /// ρ; 0 for a weight that is free of the penalty. The constant feature is the last one.
    pub ridge: &'a [f64],
    /// v̄: what rows that are left out add to the gradient.
    pub shift: &'a [f64],
    /// The value of the constant feature.
    pub bias: f64,
    /// What rows that are left out cost at w = 0.
    pub constant: f64,
    /// A matrix M and a factor τ: τ/2 wᵀMw besides, which keeps w near where rows that are left out were looked at.
    pub proximal: Option<(&'a Gram, f64)>,
}

impl Quadratic<'_> {
    /// ½ Σ ρw² - v̄·w, and what is constant and proximal.
    pub fn value(&self, w: &[f64]) -> f64 {
        let terms = w.iter().zip(self.ridge).zip(self.shift);
        let plain: f64 = terms.map(|((w, ridge), shift)| (0.5 * ridge * w - shift) * w).sum();
        let along = self.proximal_gradient(w);
        self.constant + plain + 0.5 * along.iter().zip(w).map(|(g, w)| g * w).sum::<f64>()
    }

    /// Its gradient.
    pub fn gradient(&self, w: &[f64]) -> Vec<f64> {
        let plain = w.iter().zip(self.ridge).zip(self.shift).map(|((w, ridge), shift)| ridge * w - shift);
        let mut gradient: Vec<f64> = plain.collect();
        gradient.iter_mut().zip(self.proximal_gradient(w)).for_each(|(g, along)| *g += along);
        gradient
    }

    /// τMw; nothing where there is no such part.
    fn proximal_gradient(&self, w: &[f64]) -> Vec<f64> {
        let Some((matrix, factor)) = self.proximal else { return Vec::new() };
        let mut along = vec![0.0; w.len()];
        matrix.product(&vec![0.0; w.len()], w, &mut along);
        along.iter_mut().for_each(|g| *g *= factor);
        along
    }

    /// Makes a matrix τM, to which others are added.
    pub fn begin_matrix(&self, gram: &mut Gram) {
        gram.clear();
        if let Some((matrix, factor)) = self.proximal {
            gram.lower_mut().iter_mut().zip(matrix.lower()).for_each(|(to, from)| *to = factor * from);
        }
    }
}

/// What Newton's method asks of the loss of a row, its weight included.
pub trait RowLoss: Copy {
    /// The loss of row `i` at margin z.
    fn value(&self, i: usize, target: (f64, f64), z: f64) -> f64;

    /// Its slope.
    fn slope(&self, i: usize, target: (f64, f64), z: f64) -> f64;

    /// Its second derivative, or that of a majorant.
    fn second(&self, i: usize, target: (f64, f64), z: f64, majorant: bool) -> f64;

    /// Whether second derivatives change so little from step to step that those of an earlier one will do for some.
    fn may_reuse(&self) -> bool {
        false
    }

    /// For a loss that stands for another one: what the row has of the gap of that one, with the slope of this one as
    /// its dual variable, and that loss.
    #[inline(always)]
    fn gap(&self, _i: usize, _target: (f64, f64), _z: f64) -> (f64, f64) {
        (0.0, 0.0)
    }
}

/// A loss that knows no row from another.
#[derive(Clone, Copy)]
pub struct Same<L>(pub L);

impl<L: SmoothLoss> RowLoss for Same<L> {
    #[inline(always)]
    fn value(&self, _i: usize, (y, c): (f64, f64), z: f64) -> f64 {
        c * self.0.value(y, z)
    }

    #[inline(always)]
    fn slope(&self, _i: usize, (y, c): (f64, f64), z: f64) -> f64 {
        c * self.0.slope(y, z)
    }

    #[inline(always)]
    fn second(&self, _i: usize, (y, c): (f64, f64), z: f64, majorant: bool) -> f64 {
        c * if majorant { self.0.majorant(y, z) } else { self.0.second(y, z) }
    }

    fn may_reuse(&self) -> bool {
        self.0.is_curved_everywhere()
    }
}

/// What a scan finds at w, without any penalty that has kinks.
pub struct Look<'a, L> {
    /// The losses.
    pub loss: L,
    /// The rest of F.
    pub part: Quadratic<'a>,
    /// The gradient.
    pub gradient: Vec<f64>,
    /// w·x of each row, where rows are in memory.
    pub margins: Option<Vec<f64>>,
    /// Sums of [`RowLoss::gap`].
    pub row_gaps: (f64, f64),
    /// Sums of the slopes as dual variables, those below 0 and those above.
    pub dual_sums: [f64; 2],
}

impl<'a, L: RowLoss> Look<'a, L> {
    /// Bytes of memory for this many weights, and rows that are in memory.
    pub fn bytes(size: u64, rows: u64) -> u64 {
        9 * 8 * size + (2 * 8 + line_search::ROW_BYTES) * rows
    }

    /// Nothing has been looked at.
    pub fn new(loss: L, part: Quadratic<'a>) -> Self {
        Look { loss, part, gradient: Vec::new(), margins: None, row_gaps: (0.0, 0.0), dual_sums: [0.0; 2] }
    }

    /// Σ βx + v̄ for the slopes at w as dual variables.
    pub fn sums(&self, w: &[f64]) -> Vec<f64> {
        w.iter().zip(self.part.ridge).zip(&self.gradient).map(|((w, ridge), g)| ridge * w - g).collect()
    }

    /// Scans at w, and returns ½ Σ ρw² - v̄·w and the losses. `each` is called with number, row, weight and second
    /// derivative.
    pub fn scan<R: Rows>(
        &mut self,
        (w, majorant): (&[f64], bool),
        rows: &mut R,
        mut each: impl FnMut(usize, Row, f64, f64),
    ) -> Result<f64, TrainError> {
        let Look { loss, part, margins, row_gaps, dual_sums, .. } = self;
        let (last, bias) = (w.len() - 1, part.bias);
        let mut gradient = part.gradient(w);
        let mut losses = 0.0;
        let mut kept = margins.take().filter(|_| rows.are_in_memory()).unwrap_or_default();
        let keeps = rows.are_in_memory();
        kept.clear();
        kept.reserve_exact(if keeps { rows.most() } else { 0 });
        (*row_gaps, *dual_sums) = ((0.0, 0.0), [0.0; 2]);
        rows.scan(|i, row, y, c| {
            let z = row.dot(w) + bias * w[last];
            if keeps {
                kept.push(z);
            }
            losses += loss.value(i, (y, c), z);
            let (gap, other) = loss.gap(i, (y, c), z);
            *row_gaps = (row_gaps.0 + gap, row_gaps.1 + other);
            let (slope, second) = (loss.slope(i, (y, c), z), loss.second(i, (y, c), z, majorant));
            if slope != 0.0 {
                row.add_to(&mut gradient, slope);
                gradient[last] += slope * bias;
                dual_sums[usize::from(slope < 0.0)] += slope.abs();
            }
            each(i, row, c, second);
        })?;
        *margins = keeps.then_some(kept);
        self.gradient = gradient;
        Ok(self.part.value(w) + losses)
    }

    /// ½ Σ ρw² - v̄·w and the losses of rows at w, and nothing else of them.
    pub fn value<R: Rows>(&self, w: &[f64], rows: &mut R) -> Result<f64, TrainError> {
        let (mut losses, last, bias) = (0.0, w.len() - 1, self.part.bias);
        rows.scan(|i, row, y, c| losses += self.loss.value(i, (y, c), row.dot(w) + bias * w[last]))?;
        Ok(self.part.value(w) + losses)
    }

    /// The derivatives of the same along a line.
    pub fn derivatives<R: Rows>(&self, line: &Line, steps: &[f64], rows: &mut R) -> Result<Vec<f64>, TrainError> {
        let of_part = |&t: &f64| {
            let along = self.part.gradient(&line.at(t));
            along.iter().zip(line.direction).map(|(g, d)| g * d).sum::<f64>()
        };
        let mut slopes: Vec<f64> = steps.iter().map(of_part).collect();
        let mut add = |i: usize, target: (f64, f64), from: f64, change: f64| {
            for (slope, t) in slopes.iter_mut().zip(steps) {
                *slope += self.loss.slope(i, target, from + t * change) * change;
            }
        };
        match &line.ends {
            Some(ends) => {
                let margins = ends.targets.iter().zip(ends.from).zip(ends.to).enumerate();
                margins.for_each(|(i, ((&target, &from), &to))| add(i, target, from, to - from));
            }
            None => {
                let (last, bias) = (line.start.len() - 1, self.part.bias);
                let of = |row: Row, w: &[f64]| row.dot(w) + bias * w[last];
                rows.scan(|i, row, y, c| add(i, (y, c), of(row, line.start), of(row, line.direction)))?;
            }
        }
        Ok(slopes)
    }

    /// The derivative along a direction at the weights that were looked at last.
    pub fn slope(&self, direction: &[f64]) -> f64 {
        self.gradient.iter().zip(direction).map(|(g, d)| g * d).sum()
    }
}
