//! The function of one weight per feature, as Newton's method sees it.
//!
//! ```text
//! F(w) = ½ Σ ρ_j w_j² - v̄·w + Σ c L(y, w·x)        d = -(diag(ρ) + Σ c L''(z) x xᵀ)⁻¹ ∇F
//! ```
use super::choose::hessian_scans;
use super::equations::{Equations, Way};
use super::gram::Gram;
use super::line_search::{self, CUTS, Line};
use super::newton::{Ahead, Function};
use super::quasi_newton::Memory;
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
    /// Bytes of memory for so many weights, and rows that are in memory.
    pub fn bytes(size: u64, rows: u64) -> u64 {
        8 * 8 * size + (2 * 8 + line_search::ROW_BYTES) * rows
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

    /// The derivatives of the same along a line.
    pub fn derivatives<R: Rows>(
        &self,
        line: &Line,
        steps: &[f64; CUTS],
        rows: &mut R,
    ) -> Result<[f64; CUTS], TrainError> {
        let of_part = |&t: &f64| {
            let along = self.part.gradient(&line.at(t));
            along.iter().zip(line.direction).map(|(g, d)| g * d).sum::<f64>()
        };
        let mut slopes = steps.each_ref().map(of_part);
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

/// Second derivatives are used again where they take as long as so many gradients.
const DEAR: f64 = 4.0;

/// When F can fall by no more than this part of itself, Newton's own steps are the fastest.
const LATE: f64 = 1e-6;

/// What equations may leave of the gap of the loss that another one stands for.
const OF_GAP: f64 = 0.5;

/// F with the penalty ½ Σ ρw².
pub struct Smooth<'a, L> {
    pub(super) look: Look<'a, L>,
    equations: Equations<'a>,
    /// F at the last look, and whether that was at majorants.
    value: f64,
    is_cautious: bool,
    /// How equations are solved.
    pub(super) way: Way<'a>,
    /// Whether there is a factor, and whether it is that of the last look.
    hessian: Hessian,
    memory: Memory,
    /// Whether a factor serves several steps.
    reuses: bool,
    /// Whether the optimum is near.
    is_late: bool,
}

/// What is known of second derivatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hessian {
    /// Nothing that would do: the next look sums them up.
    Due,
    /// They were summed up at the last look.
    Fresh,
    /// There is the factor of an earlier look.
    Factored,
}

impl<'a, L: RowLoss> Smooth<'a, L> {
    /// Bytes of memory for so many weights and rows, with the whole Hessian.
    pub fn bytes(size: u64, rows: u64) -> u64 {
        Look::<L>::bytes(size, rows) + Equations::exact_bytes(size) + Memory::bytes(size)
    }

    /// Nothing has been looked at.
    pub fn new(loss: L, part: Quadratic<'a>, way: Way<'a>) -> Self {
        let equations = Equations::new(part.ridge.len(), way);
        let is_dear = |len: f64| hessian_scans(part.ridge.len(), len) > DEAR;
        let reuses = matches!(way, Way::Exact { len } if is_dear(len)) && loss.may_reuse();
        let (look, hessian, memory) = (Look::new(loss, part), Hessian::Due, Memory::default());
        Smooth { look, equations, value: 0.0, is_cautious: true, way, hessian, memory, reuses, is_late: false }
    }

    /// Sums of [`RowLoss::gap`] over rows.
    pub fn row_gaps(&self) -> (f64, f64) {
        self.look.row_gaps
    }

    fn tolerance(&self) -> f64 {
        match self.way {
            Way::Conjugate { tolerance, .. } => tolerance,
            Way::Exact { .. } => 0.0,
        }
    }

    /// ½ Σ ρw² - v̄·w.
    pub fn penalty(&self, w: &[f64]) -> f64 {
        self.look.part.value(w)
    }
}

impl<L: RowLoss> Function for Smooth<'_, L> {
    fn look<R: Rows>(&mut self, w: &[f64], majorant: bool, rows: &mut R) -> Result<f64, TrainError> {
        let Smooth { look, equations, is_cautious, value, .. } = self;
        let bias = look.part.bias;
        *is_cautious = majorant;
        if self.hessian == Hessian::Factored && rows.are_in_memory() {
            *value = look.scan((w, majorant), rows, |_, _, _, _| {})?;
            return Ok(*value);
        }
        self.hessian = Hessian::Fresh;
        self.memory.clear();
        equations.begin(look.part);
        *value = look.scan((w, majorant), rows, |i, row, _, second| {
            if second > 0.0 {
                equations.add(i, row, bias, second);
            }
        })?;
        equations.flush();
        Ok(*value)
    }

    fn direction<R: Rows>(&mut self, w: &[f64], rows: &mut R) -> Result<Ahead, TrainError> {
        let Look { gradient, part, .. } = &self.look;
        if self.reuses {
            self.memory.note(w, gradient);
        }
        if self.hessian == Hessian::Factored {
            let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
            self.memory.direction(&mut direction, |towards| self.equations.solve_as_before(towards));
            let promised = -0.5 * self.look.slope(&direction);
            self.is_late |= promised <= LATE * self.value.abs();
            if self.is_late || self.memory.is_slow(promised) {
                self.hessian = Hessian::Due;
            }
            return Ok(Ahead { direction, promised, products: 0 });
        }
        // Another loss that this one stands for has a gap of its own, of which what is left should be a part.
        let enough = (self.tolerance() * self.value.abs()).max(OF_GAP * self.look.row_gaps.0);
        let (direction, products) = self.equations.step(*part, gradient, enough, rows)?;
        let ends = gradient.iter().zip(part.ridge).enumerate();
        let is_flat = ends.into_iter().any(|(j, (g, ridge))| *g != 0.0 && self.equations.diagonal(j) + ridge == 0.0);
        let promised = -0.5 * self.look.slope(&direction);
        let promised = if is_flat && !self.is_cautious { f64::INFINITY } else { promised };
        self.is_late |= promised <= LATE * self.value.abs();
        let is_reused = self.reuses && !self.is_late && !is_flat;
        self.hessian = if is_reused { Hessian::Factored } else { Hessian::Due };
        Ok(Ahead { direction, promised, products })
    }

    /// But for what an intercept asks of dual variables: Σ g²/(2ρ). With a proximal part, slopes are no dual variables
    /// of the whole problem, and what a step promises has to do.
    fn gap(&self, _w: &[f64]) -> f64 {
        if self.look.part.proximal.is_some() {
            return 0.0;
        }
        let squares = self.look.gradient.iter().zip(self.look.part.ridge).filter(|(_, ridge)| **ridge > 0.0);
        squares.map(|(g, ridge)| g * g / (2.0 * ridge)).sum()
    }

    fn is_dear(&self) -> bool {
        matches!(self.way, Way::Conjugate { .. })
    }

    fn begin(&mut self) {
        self.is_late = false;
        self.memory.clear();
    }

    fn renew(&mut self) {
        self.hessian = Hessian::Due;
    }

    fn take_margins(&mut self) -> Option<Vec<f64>> {
        self.look.margins.take()
    }

    fn derivatives<R: Rows>(&self, line: &Line, steps: &[f64; CUTS], rows: &mut R) -> Result<[f64; CUTS], TrainError> {
        self.look.derivatives(line, steps, rows)
    }

    fn slope(&self, _w: &[f64], direction: &[f64]) -> f64 {
        self.look.slope(direction)
    }
}
