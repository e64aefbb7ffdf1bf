//! Newton's method with the exact d x d Hessian, for losses with a continuous slope.
//!
//! ```text
//! F(w) = ½ Σ ρ_j w_j² - v̄·w + Σ c L(y, w·x)
//! d = -(diag(ρ) + Σ c L''(z) x xᵀ)⁻¹ ∇F        w ← w + td
//! ```
//! A scan at w + d finds F, its gradient and its Hessian there at once, so an iteration is one scan as long as t = 1 will do. Where
//! it will not, t minimises F along d, which needs the margins at both ends and no values of rows. The steps do not
//! depend on how columns are scaled, nor does the Cholesky factor.
use super::factor::Factor;
use super::gram::Gram;
use crate::loss::SmoothLoss;
use crate::newton::Rows;
use crate::trainer::TrainError;

/// A full step is taken if F falls by this part of what the quadratic model promises.
const ENOUGH: f64 = 0.1;
/// Cuts of the interval in which the best t is searched, at most.
const BISECTIONS: usize = 60;
/// Second derivatives are trusted when F can fall by no more than this part of itself.
const NEARBY: f64 = 1e-2;
/// F is known up to this part of itself.
const NOISE: f64 = 1e-12;

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

/// A run of Newton's method.
pub struct Newton<'a, L> {
    loss: L,
    part: Quadratic<'a>,
    gram: Gram,
    factor: Factor,
    /// The weights so far.
    pub w: Vec<f64>,
    /// F there.
    pub objective: f64,
    /// ∇F there.
    pub gradient: Vec<f64>,
    /// Scans so far.
    pub scans: u64,
    /// w·x of each row.
    pub margins: Vec<f64>,
    /// The direction from w and what it promises, once it has been asked for: a factorisation is made once.
    ahead: Option<(Vec<f64>, f64)>,
    /// Whether curvatures are those of majorants: far from the optimum, where second derivatives may all be 0.
    cautious: bool,
}

impl<'a, L: RowLoss> Newton<'a, L> {
    /// Bytes of memory for so many weights and rows.
    pub fn bytes(size: u64, rows: u64) -> u64 {
        Gram::bytes(size) + Factor::bytes(size) + 6 * 8 * size + 2 * 8 * rows
    }

    /// Begins at `w`; rows have about `len` values.
    pub fn begin<R: Rows>(
        loss: L,
        part: Quadratic<'a>,
        w: Vec<f64>,
        len: f64,
        rows: &mut R,
    ) -> Result<Self, TrainError> {
        let (gram, factor) = (Gram::new(w.len(), len), Factor::new(w.len(), rows.watch()));
        let (objective, gradient, margins) = (0.0, Vec::new(), Vec::new());
        let mut newton =
            Newton { loss, part, gram, factor, w, objective, gradient, scans: 0, margins, ahead: None, cautious: true };
        newton.objective = newton.evaluate(rows)?;
        Ok(newton)
    }

    /// F at w; gradient, Hessian and margins are those of w afterwards.
    fn evaluate<R: Rows>(&mut self, rows: &mut R) -> Result<f64, TrainError> {
        let Newton { loss, part, gram, w, margins, cautious, .. } = self;
        let (last, bias) = (w.len() - 1, part.bias);
        let mut gradient = part.gradient(w);
        let mut losses = 0.0;
        gram.clear();
        margins.clear();
        rows.scan(|i, row, y, c| {
            let z = row.dot(w) + bias * w[last];
            margins.push(z);
            losses += loss.value(i, (y, c), z);
            let (slope, second) = (loss.slope(i, (y, c), z), loss.second(i, (y, c), z, *cautious));
            if slope != 0.0 {
                row.add_to(&mut gradient, slope);
                gradient[last] += slope * bias;
            }
            if second > 0.0 {
                gram.add(row, &[bias], second);
            }
        })?;
        gram.flush();
        self.ahead = None;
        self.scans += 1;
        self.gradient = gradient;
        Ok(self.part.value(&self.w) + losses)
    }

    /// ½ Σ ρw² - v̄·w.
    pub fn penalty(&self) -> f64 {
        self.part.value(&self.w)
    }

    /// The gap of the slopes as dual variables, but for what an intercept asks of them: Σ g²/(2ρ).
    pub fn gap(&self) -> f64 {
        let squares = self.gradient.iter().zip(self.part.ridge).filter(|(_, ridge)| **ridge > 0.0);
        squares.map(|(g, ridge)| g * g / (2.0 * ridge)).sum()
    }

    /// Half of the squared Newton decrement: about what F can still fall by.
    pub fn promised(&mut self) -> Result<f64, TrainError> {
        let ahead = self.look_ahead()?;
        Ok(self.ahead.insert(ahead).1)
    }

    fn look_ahead(&mut self) -> Result<(Vec<f64>, f64), TrainError> {
        match self.ahead.take() {
            Some(ahead) => Ok(ahead),
            None => self.direction(),
        }
    }

    /// The Newton direction, and what it promises.
    fn direction(&mut self) -> Result<(Vec<f64>, f64), TrainError> {
        let mut direction: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        self.factor.find(&self.gram, self.part.ridge)?;
        self.factor.solve(&self.gram, self.part.ridge, &mut direction);
        let slope: f64 = direction.iter().zip(&self.gradient).map(|(d, g)| d * g).sum();
        Ok((direction, -0.5 * slope))
    }

    /// One step. False if it did not lower F; another one is worth a try, with curvatures of majorants. A step that is broken off leaves weights and
    /// margins where they were.
    pub fn step<R: Rows>(&mut self, rows: &mut R) -> Result<bool, TrainError> {
        let (start, margins) = (self.w.clone(), self.margins.clone());
        let done = self.try_step(rows);
        if matches!(done, Err(TrainError::Stopped(_))) {
            (self.w, self.margins) = (start, margins);
        }
        done
    }

    fn try_step<R: Rows>(&mut self, rows: &mut R) -> Result<bool, TrainError> {
        let (direction, promised) = self.look_ahead()?;
        if promised.is_nan() || promised <= 0.0 {
            return Ok(false);
        }
        self.cautious = promised > NEARBY * self.objective;
        let (before, margins, start) = (self.objective, std::mem::take(&mut self.margins), self.w.clone());
        self.w.iter_mut().zip(&direction).for_each(|(w, d)| *w += d);
        let after = self.evaluate(rows)?;
        // So near the optimum, sums over rows do not tell any more which F is less; the step is right all the same.
        let noise = NOISE * before.abs();
        if before - after >= ENOUGH * promised || promised <= noise && after <= before + 10.0 * noise {
            self.objective = after;
            return Ok(true);
        }
        let t = self.search(rows, &margins, &start, &direction)?;
        self.cautious |= t < ENOUGH;
        self.w.iter_mut().zip(&start).zip(&direction).for_each(|((w, s), d)| *w = s + t * d);
        let found = self.evaluate(rows)?;
        if found >= before || found.is_nan() {
            // Back to where it was, with curvatures that never promise too much.
            (self.w, self.cautious) = (start, true);
            self.objective = self.evaluate(rows)?;
            return Ok(false);
        }
        self.objective = found;
        Ok(true)
    }

    /// The t that minimises F(start + t·direction): the root of its derivative, which increases, by bisection.
    fn search<R: Rows>(
        &mut self,
        rows: &mut R,
        margins: &[f64],
        start: &[f64],
        direction: &[f64],
    ) -> Result<f64, TrainError> {
        let mut targets = Vec::with_capacity(margins.len());
        rows.scan(|_, _, y, c| targets.push((y, c)))?;
        let loss = self.loss;
        let ends = || targets.iter().zip(margins).zip(&self.margins).enumerate();
        let derivative = |t: f64| {
            let w: Vec<f64> = start.iter().zip(direction).map(|(w, d)| w + t * d).collect();
            let part: f64 = self.part.gradient(&w).iter().zip(direction).map(|(g, d)| g * d).sum();
            let losses =
                ends().map(|(i, ((&target, &from), &to))| loss.slope(i, target, from + t * (to - from)) * (to - from));
            part + losses.sum::<f64>()
        };
        let (mut low, mut high) = (0.0, 1.0);
        if derivative(high) < 0.0 {
            return Ok(1.0);
        }
        for _ in 0..BISECTIONS {
            // The root may be many orders of magnitude below 1.
            let middle = match low > 0.0 {
                true if high < 4.0 * low => 0.5 * (low + high),
                true => (low * high).sqrt(),
                false => 0.03 * high,
            };
            if derivative(middle) < 0.0 {
                low = middle
            } else {
                high = middle
            }
            if low > 0.0 && high - low < 1e-2 * high {
                break;
            }
        }
        Ok(if low > 0.0 { low } else { high })
    }
}
