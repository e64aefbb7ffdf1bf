//! F with the penalty ½ Σ ρw², as Newton's method sees it: when its Hessian is summed up, and for how many steps one
//! serves.
use super::changes::Changes;
use super::choose::hessian_scans;
use super::equations::{Equations, Way};
use super::line_search::Line;
use super::newton::{Ahead, Function};
use super::one_output::{Look, Quadratic, RowLoss};
use super::quasi_newton::Memory;
use super::scanning::Rows;
use crate::engine::TrainError;

/// Second derivatives are used again where they take as long as this many gradients.
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
    /// The rows that the Hessian is the sum of, where it takes longer than a gradient.
    changes: Option<Changes>,
    /// Whether a factor serves several steps.
    reuses: bool,
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
        Look::<L>::bytes(size, rows) + Equations::exact_bytes(size) + Memory::bytes(size) + Changes::bytes(size, rows)
    }

    /// Nothing has been looked at.
    pub fn new(loss: L, part: Quadratic<'a>, way: Way<'a>) -> Self {
        let equations = Equations::new(part.ridge.len(), way);
        let is_dear = matches!(way, Way::Exact { len } if hessian_scans(part.ridge.len(), len) > DEAR);
        let (changes, reuses) = (is_dear.then(Changes::default), is_dear && loss.may_reuse());
        let (look, hessian, memory) = (Look::new(loss, part), Hessian::Due, Memory::default());
        Smooth { look, equations, value: 0.0, is_cautious: true, way, hessian, memory, changes, reuses, is_late: false }
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
        changes.bring(equations, look.part, rows, second)?;
        self.hessian = Hessian::Fresh;
        self.memory.clear();
        Ok(())
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
        self.changes.iter_mut().for_each(Changes::forget);
    }

    fn renew(&mut self) {
        self.hessian = Hessian::Due;
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
