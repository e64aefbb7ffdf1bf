//! F with the penalty ½ Σ ρw², as Newton's method sees it: when its Hessian is summed up, and for how many steps one
//! serves.
use super::changes::Changes;
use super::choose::hessian_scans;
use super::equations::{Equations, Way};
use super::line_search::Line;
use super::newton::{Ahead, Function};
use super::one_output::{Look, Quadratic, RowLoss};
use super::quasi_newton::Memory;
use super::sampled::Sampled;
use super::scanning::Rows;
use crate::engine::TrainError;

/// Second derivatives are used again where they take as long as this many gradients.
const DEAR: f64 = 4.0;

/// When F can fall by no more than this part of itself, Newton's own steps are the fastest.
const LATE: f64 = 1e-6;

/// Dense vectors of steps and searches, at most.
const VECTORS: u64 = 18;

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
    /// The rows that the Hessian is the sum of, where it takes longer than a gradient.
    changes: Option<Changes>,
    /// Where a factor serves several steps: how many rows it is of, and whether it has served for long.
    sampled: Option<Sampled>,
    has_served: bool,
    /// Whether the optimum is near.
    is_late: bool,
}

/// What is known of second derivatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hessian {
    /// Nothing that would do: the next look sums them up, or the next direction where that takes long, since not every
    /// look is followed by one.
    Due,
    /// Those of the last look were summed up.
    Fresh,
    /// There is the factor of an earlier look.
    Factored,
}

impl<'a, L: RowLoss> Smooth<'a, L> {
    /// Bytes of memory for this many weights and rows, with the whole Hessian.
    pub fn bytes(size: u64, rows: u64) -> u64 {
        Look::<L>::bytes(size, rows) + Equations::exact_bytes(size) + 8 * VECTORS * size + Changes::bytes(size, rows)
    }

    /// Bytes besides, for a loss whose Hessian may serve several steps.
    pub fn reused_bytes(size: u64) -> u64 {
        Memory::bytes(size) + Sampled::bytes(size)
    }

    /// Nothing has been looked at.
    pub fn new(loss: L, part: Quadratic<'a>, way: Way<'a>) -> Self {
        let equations = Equations::new(part.ridge.len(), way);
        let price = match way {
            Way::Exact { len } => hessian_scans(part.ridge.len(), len),
            Way::Conjugate { .. } => 0.0,
        };
        // Without a penalty the matrix may be singular, and has to be exact. An intercept is curved by every row.
        let is_stiff = part.ridge[..part.ridge.len() - 1].iter().all(|ridge| *ridge > 0.0);
        let mut sampled = (price > DEAR && loss.may_reuse() && part.proximal.is_none()).then(|| Sampled::new(price));
        sampled.iter_mut().filter(|_| !is_stiff).for_each(Sampled::take_all);
        Smooth {
            look: Look::new(loss, part),
            equations,
            value: 0.0,
            is_cautious: true,
            way,
            hessian: Hessian::Due,
            memory: Memory::default(),
            changes: (price > DEAR).then(Changes::default),
            sampled,
            has_served: true,
            is_late: false,
        }
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

    /// Sums up second derivatives at the weights that were looked at last.
    fn sum_up<R: Rows>(&mut self, rows: &mut R) -> Result<(), TrainError> {
        let Smooth { look, equations, changes, is_cautious, .. } = self;
        let (Some(changes), Some(margins)) = (changes, &look.margins) else { return Ok(()) };
        let second = |i: usize, target: (f64, f64)| look.loss.second(i, target, margins[i], *is_cautious);
        let size = look.part.ridge.len();
        if let Some(part) = self.sampled.as_ref().and_then(|sampled| sampled.part(rows.most(), size)) {
            Sampled::factor(part, (equations, look.part), rows, second)?;
            self.hessian = Hessian::Factored;
        } else {
            changes.bring(equations, look.part, rows, second)?;
            self.hessian = Hessian::Fresh;
        }
        self.memory.renew();
        self.has_served = false;
        Ok(())
    }

    /// Whether the factor is that of a part of the rows.
    fn is_part<R: Rows>(&self, rows: &R) -> bool {
        self.sampled.as_ref().is_some_and(|sampled| sampled.part(rows.most(), self.look.part.ridge.len()).is_some())
    }

    /// A factor has served for a trial, well or not. A second one of as many rows is worth it where the first one has
    /// served well for a while.
    fn judge(&mut self, is_slow: bool) {
        if !is_slow {
            return self.has_served = true;
        }
        self.hessian = Hessian::Due;
        if !self.has_served {
            self.sampled.iter_mut().for_each(Sampled::grow);
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
        let is_split = self.changes.is_some() && rows.are_in_memory();
        if is_split {
            if self.hessian == Hessian::Fresh {
                self.hessian = Hessian::Due;
            }
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
        if self.hessian == Hessian::Due {
            self.sum_up(rows)?;
        }
        if self.sampled.is_some() {
            self.memory.note(w, &self.look.gradient);
        }
        if self.hessian == Hessian::Factored {
            let mut direction: Vec<f64> = self.look.gradient.iter().map(|g| -g).collect();
            self.memory.direction(&mut direction, |towards| self.equations.solve_as_before(towards));
            let promised = -0.5 * self.look.slope(&direction);
            self.is_late |= promised <= LATE * self.value.abs();
            if let Some(is_slow) = self.memory.trial(promised) {
                self.judge(is_slow);
            }
            if self.is_late && !self.is_part(rows) {
                self.hessian = Hessian::Due;
            }
            return Ok(Ahead { direction, promised, products: 0 });
        }
        let Look { gradient, part, .. } = &self.look;
        // Another loss that this one stands for has a gap of its own, of which what is left should be a part.
        let enough = (self.tolerance() * self.value.abs()).max(OF_GAP * self.look.row_gaps.0);
        let (direction, products) = self.equations.step(*part, gradient, enough, rows)?;
        let ends = gradient.iter().zip(part.ridge).enumerate();
        let is_flat = ends.into_iter().any(|(j, (g, ridge))| *g != 0.0 && self.equations.diagonal(j) + ridge == 0.0);
        let promised = -0.5 * self.look.slope(&direction);
        let promised = if is_flat && !self.is_cautious { f64::INFINITY } else { promised };
        self.is_late |= promised <= LATE * self.value.abs();
        let is_reused = self.sampled.is_some() && !self.is_late && !is_flat;
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

    fn samples_rows<R: Rows>(&self, rows: &R) -> bool {
        rows.are_in_memory() && self.is_part(rows)
    }

    fn is_dear(&self) -> bool {
        matches!(self.way, Way::Conjugate { .. })
    }

    fn begin(&mut self) {
        self.is_late = false;
        self.memory.clear();
        self.sampled.iter_mut().for_each(Sampled::forget);
        self.changes.iter_mut().for_each(Changes::forget);
    }

    fn renew(&mut self) {
        self.hessian = Hessian::Due;
        if self.is_late {
            self.sampled.iter_mut().for_each(Sampled::take_all);
        }
        self.changes.iter_mut().for_each(Changes::forget);
    }

    fn take_margins(&mut self) -> Option<Vec<f64>> {
        self.look.margins.take()
    }

    fn derivatives<R: Rows>(&self, line: &Line, steps: &[f64], rows: &mut R) -> Result<Vec<f64>, TrainError> {
        self.look.derivatives(line, steps, rows)
    }

    fn slope(&self, _w: &[f64], direction: &[f64]) -> f64 {
        self.look.slope(direction)
    }
}
