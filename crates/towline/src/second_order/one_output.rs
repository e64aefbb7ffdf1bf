//! The function of one weight per feature, as Newton's method sees it.
//!
//! ```text
//! F(w) = ½ Σ ρ_j w_j² - v̄·w + Σ c L(y, w·x)        d = -(diag(ρ) + Σ c L''(z) x xᵀ)⁻¹ ∇F
//! ```
use super::factor::Factor;
use super::gram::{Chosen, Gram};
use super::newton::{Function, Line};
use crate::block::Row;
use crate::loss::SmoothLoss;
use crate::newton::Rows;
use crate::trainer::TrainError;

/// The part of F that is not the losses.
#[derive(Clone, Copy, Debug)]
pub struct Quadratic<'a> {
    /// ρ; 0 for a weight that is free of the penalty. The constant feature is the last one.
    pub ridge: &'a [f64],
    /// v̄: what rows that are left out add to the gradient.
    pub shift: &'a [f64],
    /// The value of the constant feature.
    pub bias: f64,
}

impl Quadratic<'_> {
    /// ½ Σ ρw² - v̄·w.
    pub fn value(&self, w: &[f64]) -> f64 {
        let terms = w.iter().zip(self.ridge).zip(self.shift);
        terms.map(|((w, ridge), shift)| (0.5 * ridge * w - shift) * w).sum()
    }

    /// Its gradient.
    pub fn gradient(&self, w: &[f64]) -> Vec<f64> {
        w.iter().zip(self.ridge).zip(self.shift).map(|((w, ridge), shift)| ridge * w - shift).collect()
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
}

/// What a scan finds at w, without any penalty that has kinks.
pub struct Look<'a, L> {
    /// The losses.
    pub loss: L,
    /// The rest of F.
    pub part: Quadratic<'a>,
    /// Σ c L'' x xᵀ.
    pub gram: Gram,
    /// The gradient.
    pub gradient: Vec<f64>,
    /// w·x of each row.
    pub margins: Vec<f64>,
    /// Sums of the slopes as dual variables, those below 0 and those above.
    pub dual_sums: [f64; 2],
}

impl<'a, L: RowLoss> Look<'a, L> {
    /// Bytes of memory for so many weights and rows.
    pub fn bytes(size: u64, rows: u64) -> u64 {
        Gram::bytes(size) + 6 * 8 * size + 2 * 8 * rows
    }

    /// Nothing has been looked at; rows have about `len` values.
    pub fn new(loss: L, part: Quadratic<'a>, len: f64) -> Self {
        let gram = Gram::new(part.ridge.len(), len);
        Look { loss, part, gram, gradient: Vec::new(), margins: Vec::new(), dual_sums: [0.0; 2] }
    }

    /// The same, with a Hessian of no columns but the constant feature until others are chosen.
    pub fn of_none(loss: L, part: Quadratic<'a>) -> Self {
        Look { loss, part, gram: Gram::new(1, 1.0), gradient: Vec::new(), margins: Vec::new(), dual_sums: [0.0; 2] }
    }

    /// Σ βx + v̄ for the slopes at w as dual variables.
    pub fn sums(&self, w: &[f64]) -> Vec<f64> {
        w.iter().zip(self.part.ridge).zip(&self.gradient).map(|((w, ridge), g)| ridge * w - g).collect()
    }

    /// Scans at w: the Hessian is that of all columns, or of those that were chosen. Returns ½ Σ ρw² - v̄·w and the losses. `each` is called with row and
    /// weight.
    pub fn scan<R: Rows>(
        &mut self,
        (w, majorant): (&[f64], bool),
        chosen: Option<&Chosen>,
        rows: &mut R,
        mut each: impl FnMut(Row, f64),
    ) -> Result<f64, TrainError> {
        let Look { loss, part, gram, margins, dual_sums, .. } = self;
        let (last, bias) = (w.len() - 1, part.bias);
        let mut gradient = part.gradient(w);
        let mut losses = 0.0;
        gram.clear();
        margins.clear();
        *dual_sums = [0.0; 2];
        rows.scan(|i, row, y, c| {
            let z = row.dot(w) + bias * w[last];
            margins.push(z);
            losses += loss.value(i, (y, c), z);
            let (slope, second) = (loss.slope(i, (y, c), z), loss.second(i, (y, c), z, majorant));
            if slope != 0.0 {
                row.add_to(&mut gradient, slope);
                gradient[last] += slope * bias;
                dual_sums[usize::from(slope < 0.0)] += slope.abs();
            }
            if second > 0.0 {
                match chosen {
                    None => gram.add(row, &[bias], second),
                    Some(chosen) => gram.add_chosen(row, chosen, bias, second),
                }
            }
            each(row, c);
        })?;
        gram.flush();
        self.gradient = gradient;
        Ok(self.part.value(w) + losses)
    }

    /// The derivative of the same along a line.
    pub fn derivative(&self, line: &Line, t: f64) -> f64 {
        let along = self.part.gradient(&line.at(t));
        let part: f64 = along.iter().zip(line.direction).map(|(g, d)| g * d).sum();
        let ends = line.targets.iter().zip(line.from).zip(line.to).enumerate();
        let slope = |(i, ((&target, &from), &to)): (usize, ((&(f64, f64), &f64), &f64))| {
            self.loss.slope(i, target, from + t * (to - from)) * (to - from)
        };
        part + ends.map(slope).sum::<f64>()
    }
}

/// F with the penalty ½ Σ ρw².
pub struct Smooth<'a, L> {
    pub(super) look: Look<'a, L>,
    factor: Factor,
}

impl<'a, L: RowLoss> Smooth<'a, L> {
    /// Bytes of memory for so many weights and rows.
    pub fn bytes(size: u64, rows: u64) -> u64 {
        Look::<L>::bytes(size, rows) + Factor::bytes(size)
    }

    /// Nothing has been looked at; rows have about `len` values.
    pub fn new(loss: L, part: Quadratic<'a>, len: f64) -> Self {
        Smooth { look: Look::new(loss, part, len), factor: Factor::new(part.ridge.len()) }
    }

    /// ½ Σ ρw² - v̄·w.
    pub fn penalty(&self, w: &[f64]) -> f64 {
        self.look.part.value(w)
    }

    /// w·x of each row.
    pub fn margins(&self) -> &[f64] {
        &self.look.margins
    }
}

impl<L: RowLoss> Function for Smooth<'_, L> {
    fn look<R: Rows>(&mut self, w: &[f64], majorant: bool, rows: &mut R) -> Result<f64, TrainError> {
        self.look.scan((w, majorant), None, rows, |_, _| {})
    }

    fn direction(&mut self, _w: &[f64]) -> (Vec<f64>, f64) {
        let Look { gram, gradient, part, .. } = &self.look;
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        self.factor.find(gram, part.ridge);
        self.factor.solve(gram, part.ridge, &mut direction);
        let slope: f64 = direction.iter().zip(gradient).map(|(d, g)| d * g).sum();
        (direction, -0.5 * slope)
    }

    /// But for what an intercept asks of dual variables: Σ g²/(2ρ).
    fn gap(&self, _w: &[f64]) -> f64 {
        let squares = self.look.gradient.iter().zip(self.look.part.ridge).filter(|(_, ridge)| **ridge > 0.0);
        squares.map(|(g, ridge)| g * g / (2.0 * ridge)).sum()
    }

    fn take_margins(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.look.margins)
    }

    fn derivative(&self, line: &Line, t: f64) -> f64 {
        self.look.derivative(line, t)
    }
}
