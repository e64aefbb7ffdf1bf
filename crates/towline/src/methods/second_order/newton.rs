//! Newton's method with the exact Hessian, for functions with a continuous slope, and such with a sum of |w| beside it.
//!
//! A scan at w + d finds F, its gradient and its Hessian there at once, so an iteration is one scan as long as the
//! whole step will do. Where it will not, t minimises F along d (line_search.rs). The steps do not depend on how
//! columns are scaled.
use super::line_search::{Ends, Line, search};
use super::scanning::Rows;
use crate::engine::TrainError;

/// A full step is taken if F falls by this part of what the quadratic model promises.
const ENOUGH: f64 = 0.1;
/// A step goes on where this part of the slope is left at its end.
const SHORT: f64 = 0.5;
/// Second derivatives are trusted when F can fall by no more than this part of itself.
const NEARBY: f64 = 1e-2;
/// F is known up to this part of itself.
const NOISE: f64 = 1e-12;
/// Steps in a row that may leave F where it was.
const MOST_LEVEL: u32 = 5;

/// A step that may be taken.
pub struct Ahead {
    /// Where to.
    pub direction: Vec<f64>,
    /// By how much the quadratic model is less than F there: without a bound where F falls along a weight without being
    /// curved.
    pub promised: f64,
    /// Products with the Hessian that it took to find it.
    pub products: u64,
}

/// What Newton's method minimises: a sum over rows, and a penalty.
pub trait Function {
    /// F at w, by one scan. Gradient, Hessian and margins are those of w afterwards; curvatures are those of majorants
    /// if that is asked for.
    fn look<R: Rows>(&mut self, w: &[f64], majorant: bool, rows: &mut R) -> Result<f64, TrainError>;

    /// The step from w, which was looked at last, to the minimum of the quadratic model.
    fn direction<R: Rows>(&mut self, w: &[f64], rows: &mut R) -> Result<Ahead, TrainError>;

    /// About how far above the optimum F is at most at w, which was looked at last: the gap with slopes as dual
    /// variables.
    fn gap(&self, w: &[f64]) -> f64;

    /// Whether a direction takes longer than a scan, so that certificates come first.
    fn is_dear(&self) -> bool {
        false
    }

    /// Whether second derivatives are those of some rows, so that a sample of the rows says nothing more.
    fn samples_rows<R: Rows>(&self, rows: &R) -> bool {
        let _ = rows;
        false
    }

    /// A run begins, perhaps over other rows than the last one.
    fn begin(&mut self) {}

    /// A step has failed: the next look has to find second derivatives anew.
    fn renew(&mut self) {}

    /// Margins of all rows at the weights that were looked at last, to keep, where rows are in memory.
    fn take_margins(&mut self) -> Option<Vec<f64>>;

    /// The derivatives of F at start + t·direction along the direction, for each t of `steps`. One scan where rows are
    /// not in memory.
    fn derivatives<R: Rows>(&self, line: &Line, steps: &[f64], rows: &mut R) -> Result<Vec<f64>, TrainError>;

    /// The derivative of F along a direction at w, which was looked at last, on the side to which it goes.
    fn slope(&self, w: &[f64], direction: &[f64]) -> f64;

    /// Whether the Hessian lacks columns along which F would fall more than by this: then w is worth another look.
    fn lacks_columns(&self, w: &[f64], promised: f64) -> bool {
        let _ = (w, promised);
        false
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
    /// Scans so far, without those of products.
    pub scans: u64,
    /// Products with the Hessian so far.
    pub products: u64,
    /// The direction from w and what it promises, once it has been asked for: a factorisation is made once.
    ahead: Option<Ahead>,
    /// Whether curvatures are those of majorants: far from the optimum, where second derivatives may all be 0.
    cautious: bool,
    /// Steps in a row that have left F where it was, but for rounding.
    level: u32,
}

impl<F: Function> Newton<F> {
    /// Begins at `w`.
    pub fn begin<R: Rows>(mut function: F, w: Vec<f64>, rows: &mut R) -> Result<Self, TrainError> {
        function.begin();
        let mut newton =
            Newton { function, w, objective: 0.0, scans: 0, products: 0, ahead: None, cautious: true, level: 0 };
        newton.objective = newton.look(rows)?;
        Ok(newton)
    }

    /// Scans so far. Over rows in memory, an iteration counts once, however many products it takes.
    pub fn all_scans<R: Rows>(&self, rows: &R) -> u64 {
        self.scans + if rows.are_in_memory() { 0 } else { self.products }
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
    pub fn promised<R: Rows>(&mut self, rows: &mut R) -> Result<f64, TrainError> {
        let ahead = self.look_ahead(rows)?;
        Ok(self.ahead.insert(ahead).promised)
    }

    fn look_ahead<R: Rows>(&mut self, rows: &mut R) -> Result<Ahead, TrainError> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(ahead);
        }
        let ahead = self.function.direction(&self.w, rows)?;
        self.products += ahead.products;
        Ok(ahead)
    }

    /// Whether the next step is another look, see [`Function::lacks_columns`].
    pub fn lacks_columns<R: Rows>(&mut self, rows: &mut R) -> Result<bool, TrainError> {
        let promised = self.promised(rows)?;
        Ok(self.function.lacks_columns(&self.w, promised))
    }

    /// One step. False if it did not lower F; another one is worth a try, with curvatures of majorants. A step that is
    /// broken off leaves the weights where they were; the function has seen others.
    pub fn step<R: Rows>(&mut self, rows: &mut R) -> Result<bool, TrainError> {
        let start = self.w.clone();
        let done = self.try_step(rows, &start);
        if matches!(done, Err(TrainError::Stopped(_))) {
            self.w = start;
        }
        done
    }

    fn try_step<R: Rows>(&mut self, rows: &mut R, start: &[f64]) -> Result<bool, TrainError> {
        let Ahead { mut direction, mut promised, .. } = self.look_ahead(rows)?;
        if self.function.lacks_columns(&self.w, promised) {
            self.objective = self.look(rows)?;
            return Ok(true);
        }
        if (promised <= 0.0 || promised == f64::INFINITY) && !self.cautious {
            // No row that would tell has a second derivative here.
            self.cautious = true;
            self.function.renew();
            self.objective = self.look(rows)?;
            Ahead { direction, promised, .. } = self.look_ahead(rows)?;
        }
        if promised.is_nan() || promised <= 0.0 {
            return Ok(false);
        }
        self.cautious = promised > NEARBY * self.objective;
        let before = self.objective;
        let margins = self.function.take_margins();
        self.w.iter_mut().zip(&direction).for_each(|(w, d)| *w += d);
        let after = self.look(rows)?;
        // So near the optimum, sums over rows do not tell any more which F is less; the step is right all the same.
        let noise = NOISE * before.abs();
        let is_enough = before - after >= ENOUGH * promised && !self.is_short(&direction, promised, noise);
        if is_enough || promised <= noise && after <= before + 10.0 * noise {
            self.objective = after;
            return Ok(true);
        }
        let (t, scans) = self.search(rows, margins, start, &direction)?;
        self.scans += scans;
        self.cautious |= t < ENOUGH;
        self.w.iter_mut().zip(start).zip(&direction).for_each(|((w, s), d)| *w = s + t * d);
        let found = self.look(rows)?;
        // Slopes have led here, and keep their digits longer than F does; but not forever.
        let is_level = found >= before && found <= before + noise && self.level < MOST_LEVEL;
        self.level = if is_level { self.level + 1 } else { 0 };
        if found >= before && !is_level || found.is_nan() {
            // Back to where it was, with curvatures that never promise too much.
            self.w.copy_from_slice(start);
            self.cautious = true;
            self.function.renew();
            self.objective = self.look(rows)?;
            return Ok(false);
        }
        self.objective = found;
        Ok(true)
    }

    /// Whether most of the slope is left at the end of a step: majorants make short ones.
    fn is_short(&self, direction: &[f64], promised: f64, noise: f64) -> bool {
        promised > noise && self.function.slope(&self.w, direction) < -2.0 * SHORT * promised
    }

    /// The t that minimises F(start + t·direction), and the scans that it took.
    fn search<R: Rows>(
        &mut self,
        rows: &mut R,
        from: Option<Vec<f64>>,
        start: &[f64],
        direction: &[f64],
    ) -> Result<(f64, u64), TrainError> {
        let (mut targets, to) = (Vec::new(), self.function.take_margins());
        if from.is_some() {
            targets.reserve_exact(rows.most());
            rows.scan(|_, _, y, c| targets.push((y, c)))?;
        }
        let ends = from.as_deref().zip(to.as_deref());
        let ends = ends.map(|(from, to)| Ends { targets: &targets, from, to });
        search(&self.function, &Line { start, direction, ends }, rows)
    }
}
