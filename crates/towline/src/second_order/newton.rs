//! Newton's method with the exact Hessian, for functions with a continuous slope, and such with a sum of |w| beside it.
//!
//! A scan at w + d finds F, its gradient and its Hessian there at once, so an iteration is one scan as long as the whole step will do.
//! Where it will not, t minimises F along d, which needs the margins at both ends and no values of rows. The steps do not depend on how
//! columns are scaled.
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

/// What Newton's method minimises: a sum over rows, and a penalty.
pub trait Function {
    /// F at w, by one scan. Gradient, Hessian and margins are those of w afterwards; curvatures are those of majorants if that is asked for.
    fn look<R: Rows>(&mut self, w: &[f64], majorant: bool, rows: &mut R) -> Result<f64, TrainError>;

    /// The step from w, which was looked at last, to the minimum of the quadratic model, and by how much that is less than F.
    fn direction(&mut self, w: &[f64]) -> (Vec<f64>, f64);

    /// About how far above the optimum F is at most at w, which was looked at last: the gap with slopes as dual variables.
    fn gap(&self, w: &[f64]) -> f64;

    /// Margins of all rows at the weights that were looked at last, to keep.
    fn take_margins(&mut self) -> Vec<f64>;

    /// The derivative of F at start + t·direction along the direction; rows have these targets and weights, and these margins at t = 0 and t = 1.
    fn derivative(&self, line: &Line, t: f64) -> f64;

    /// Whether the Hessian lacks columns along which F would fall more than by this: then w is worth another look.
    fn lacks_columns(&self, w: &[f64], promised: f64) -> bool {
        let _ = (w, promised);
        false
    }
}

/// A line from one point to another, with all that is known of its ends.
pub struct Line<'a> {
    /// Where it begins.
    pub start: &'a [f64],
    /// How far it goes.
    pub direction: &'a [f64],
    /// Target and weight of each row.
    pub targets: &'a [(f64, f64)],
    /// Margins at its beginning.
    pub from: &'a [f64],
    /// Margins at its end.
    pub to: &'a [f64],
}

impl Line<'_> {
    /// The weights at t.
    pub fn at(&self, t: f64) -> Vec<f64> {
        self.start.iter().zip(self.direction).map(|(w, d)| w + t * d).collect()
    }
}

/// A run of Newton's method.
pub struct Newton<F> {
    /// What is minimised.
    pub function: F,
    /// The weights so far.
    pub w: Vec<f64>,
    /// F there.
    pub objective: f64,
    /// Scans so far.
    pub scans: u64,
    /// The direction from w and what it promises, once it has been asked for: a factorisation is made once.
    ahead: Option<(Vec<f64>, f64)>,
    /// Whether curvatures are those of majorants: far from the optimum, where second derivatives may all be 0.
    cautious: bool,
}

impl<F: Function> Newton<F> {
    /// Begins at `w`.
    pub fn begin<R: Rows>(function: F, w: Vec<f64>, rows: &mut R) -> Result<Self, TrainError> {
        let mut newton = Newton { function, w, objective: 0.0, scans: 0, ahead: None, cautious: true };
        newton.objective = newton.look(rows)?;
        Ok(newton)
    }

    fn look<R: Rows>(&mut self, rows: &mut R) -> Result<f64, TrainError> {
        self.ahead = None;
        self.scans += 1;
        self.function.look(&self.w, self.cautious, rows)
    }

    /// See [`Function::gap`].
    pub fn gap(&self) -> f64 {
        self.function.gap(&self.w)
    }

    /// About what F can still fall by: half of the squared Newton decrement, where there is no kink.
    pub fn promised(&mut self) -> f64 {
        let ahead = self.ahead.take().unwrap_or_else(|| self.function.direction(&self.w));
        self.ahead.insert(ahead).1
    }

    /// Whether the next step is another look, see [`Function::lacks_columns`].
    pub fn lacks_columns(&mut self) -> bool {
        let promised = self.promised();
        self.function.lacks_columns(&self.w, promised)
    }

    /// One step. False if it did not lower F; another one is worth a try, with curvatures of majorants.
    pub fn step<R: Rows>(&mut self, rows: &mut R) -> Result<bool, TrainError> {
        let (direction, promised) = self.ahead.take().unwrap_or_else(|| self.function.direction(&self.w));
        if self.function.lacks_columns(&self.w, promised) {
            self.objective = self.look(rows)?;
            return Ok(true);
        }
        if promised.is_nan() || promised <= 0.0 {
            return Ok(false);
        }
        self.cautious = promised > NEARBY * self.objective;
        let (before, start) = (self.objective, self.w.clone());
        let margins = self.function.take_margins();
        self.w.iter_mut().zip(&direction).for_each(|(w, d)| *w += d);
        let after = self.look(rows)?;
        // So near the optimum, sums over rows do not tell any more which F is less; the step is right all the same.
        let noise = NOISE * before.abs();
        if before - after >= ENOUGH * promised || promised <= noise && after <= before + 10.0 * noise {
            self.objective = after;
            return Ok(true);
        }
        let t = self.search(rows, &margins, &start, &direction)?;
        self.cautious |= t < ENOUGH;
        self.w.iter_mut().zip(&start).zip(&direction).for_each(|((w, s), d)| *w = s + t * d);
        let found = self.look(rows)?;
        if found >= before || found.is_nan() {
            // Back to where it was, with curvatures that never promise too much.
            (self.w, self.cautious) = (start, true);
            self.objective = self.look(rows)?;
            return Ok(false);
        }
        self.objective = found;
        Ok(true)
    }

    /// The t that minimises F(start + t·direction): the root of its derivative, which increases, by bisection.
    fn search<R: Rows>(
        &mut self,
        rows: &mut R,
        from: &[f64],
        start: &[f64],
        direction: &[f64],
    ) -> Result<f64, TrainError> {
        let mut targets = Vec::new();
        rows.scan(|_, _, y, c| targets.push((y, c)))?;
        let to = self.function.take_margins();
        let line = Line { start, direction, targets: &targets, from, to: &to };
        let derivative = |t: f64| self.function.derivative(&line, t);
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
