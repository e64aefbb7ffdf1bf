//! The softmax loss of all classes together, as Newton's method sees it: a Hessian of K d x K d.
//!
//! ```text
//! F(W) = ½ Σ ρ_j ‖w_j‖² + Σ c (log Σ exp(z_k) - z_y),   z = Wᵀx,   H = diag(ρ) + Σ c (diag(p) - ppᵀ) ⊗ x xᵀ
//! ```
//! The same number added to the weights of all classes changes no loss. Where a column has no ridge, that direction
//! gets a curvature of its own: the gradient has no part in it, so no step does.
use super::block_gram::BlockGram;
use super::factor::Factor;
use super::gram::Gram;
use super::line_search::{self, Line};
use super::newton::{Ahead, Function};
use super::rows::TaskRows;
use super::scanning::Rows;
use super::session::Session;
use super::smooth::Model;
use crate::block::Row;
use crate::engine::{Status, TrainError, add_row, margins_of};
use crate::loss::classes::{ClassLoss, Softmax};
use crate::loss::joint::OfClass;

/// F; the weights of one column lie side by side.
pub struct SoftmaxSum<'a> {
    classes: usize,
    /// ρ of each weight.
    ridge: &'a [f64],
    bias: f64,
    blocks: BlockGram,
    matrix: Gram,
    factor: Factor,
    gradient: Vec<f64>,
    margins: Option<Vec<f64>>,
}

impl<'a> SoftmaxSum<'a> {
    /// Bytes of memory for this many classes, columns with the constant feature, and rows.
    pub fn bytes(classes: u64, size: u64, rows: u64) -> u64 {
        let all = classes * size;
        let matrices = BlockGram::bytes(classes, size) + Gram::bytes(all) + Factor::bytes(all);
        matrices + 7 * 8 * all + (2 * 8 * classes + line_search::ROW_BYTES) * rows
    }

    /// Nothing has been looked at; rows have about `len` values.
    pub fn new(classes: usize, ridge: &'a [f64], bias: f64, len: f64) -> Self {
        let blocks = BlockGram::new(classes, ridge.len() / classes, len);
        let (matrix, factor) = (Gram::new(ridge.len(), 0.0), Factor::new(ridge.len()));
        SoftmaxSum { classes, ridge, bias, blocks, matrix, factor, gradient: Vec::new(), margins: None }
    }
}

/// Replaces margins by probabilities.
pub fn probabilities(margins: &mut [f64]) {
    let most = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for z in margins.iter_mut() {
        *z = (*z - most).exp();
        sum += *z;
    }
    margins.iter_mut().for_each(|p| *p /= sum);
}

/// Curvature for the directions that change no margin's lead over another, in columns without a ridge.
pub fn hold_free_columns(matrix: &mut Gram, ridge: &[f64], outputs: usize) {
    let all = ridge.len();
    for first in (0..all).step_by(outputs).filter(|&first| ridge[first] == 0.0) {
        let mean = (first..first + outputs).map(|a| matrix.at(a, a)).sum::<f64>() / outputs as f64;
        for a in first..first + outputs {
            (first..=a).for_each(|b| matrix.lower_mut()[a * all + b] += mean / outputs as f64);
        }
    }
}

impl Function for SoftmaxSum<'_> {
    fn look<R: Rows>(&mut self, w: &[f64], _majorant: bool, rows: &mut R) -> Result<f64, TrainError> {
        let SoftmaxSum { classes, ridge, bias, blocks, gradient, margins, .. } = self;
        let (classes, bias) = (*classes, *bias);
        *gradient = w.iter().zip(*ridge).map(|(w, ridge)| ridge * w).collect();
        let penalty: f64 = 0.5 * gradient.iter().zip(w).map(|(g, w)| g * w).sum::<f64>();
        let (mut p, mut slopes) = (vec![0.0; classes], vec![(0, 0.0); classes]);
        let mut losses = 0.0;
        blocks.clear();
        let keeps = rows.are_in_memory();
        let mut kept = margins.take().unwrap_or_default();
        kept.clear();
        kept.reserve_exact(if keeps { classes * rows.most() } else { 0 });
        rows.scan(|_, row, y, c| {
            let class = y as usize;
            margins_of(row, w, bias, &mut p);
            if keeps {
                kept.extend_from_slice(&p);
            }
            losses += c * Softmax.value(class, &p);
            probabilities(&mut p);
            for (k, slope) in slopes.iter_mut().enumerate() {
                *slope = (k as u32, c * (p[k] - f64::from(k == class)));
            }
            add_row(row, gradient, classes, bias, &slopes);
            blocks.add(row, bias, |k, l| c * (if k == l { p[k] } else { 0.0 } - p[k] * p[l]));
        })?;
        blocks.flush();
        *margins = keeps.then_some(kept);
        Ok(penalty + losses)
    }

    fn direction<R: Rows>(&mut self, _w: &[f64], rows: &mut R) -> Result<Ahead, TrainError> {
        let SoftmaxSum { classes, ridge, blocks, matrix, factor, gradient, .. } = self;
        blocks.write_to(matrix);
        hold_free_columns(matrix, ridge, *classes);
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        factor.find(matrix, ridge, rows.watch())?;
        factor.solve(matrix, ridge, &mut direction);
        let slope: f64 = direction.iter().zip(gradient.iter()).map(|(d, g)| d * g).sum();
        Ok(Ahead { direction, promised: -0.5 * slope, products: 0 })
    }

    /// But for what intercepts ask of dual variables: Σ g²/(2ρ).
    fn gap(&self, _w: &[f64]) -> f64 {
        let squares = self.gradient.iter().zip(self.ridge).filter(|(_, ridge)| **ridge > 0.0);
        squares.map(|(g, ridge)| g * g / (2.0 * ridge)).sum()
    }

    fn take_margins(&mut self) -> Option<Vec<f64>> {
        self.margins.take()
    }

    fn derivatives<R: Rows>(&self, line: &Line, steps: &[f64], rows: &mut R) -> Result<Vec<f64>, TrainError> {
        let of_ridge = |&t: &f64| {
            let along = line.at(t).into_iter().zip(self.ridge).zip(line.direction);
            along.map(|((w, ridge), d)| ridge * w * d).sum::<f64>()
        };
        let mut slopes: Vec<f64> = steps.iter().map(of_ridge).collect();
        let (mut p, mut changes) = (vec![0.0; self.classes], vec![0.0; self.classes]);
        let mut add = |(y, c): (f64, f64), from: &[f64], changes: &[f64]| {
            for (slope, t) in slopes.iter_mut().zip(steps) {
                p.iter_mut().zip(from).zip(changes).for_each(|((z, from), change)| *z = from + t * change);
                probabilities(&mut p);
                p[y as usize] -= 1.0;
                *slope += c * p.iter().zip(changes).map(|(slope, change)| slope * change).sum::<f64>();
            }
        };
        match &line.ends {
            Some(ends) => {
                let margins = ends.from.chunks(self.classes).zip(ends.to.chunks(self.classes));
                for (&target, (from, to)) in ends.targets.iter().zip(margins) {
                    changes.iter_mut().zip(from).zip(to).for_each(|((change, from), to)| *change = to - from);
                    add(target, from, &changes);
                }
            }
            None => {
                let mut from = vec![0.0; self.classes];
                rows.scan(|_, row, y, c| {
                    margins_of(row, line.start, self.bias, &mut from);
                    margins_of(row, line.direction, self.bias, &mut changes);
                    add((y, c), &from, &changes);
                })?;
            }
        }
        Ok(slopes)
    }

    fn slope(&self, _w: &[f64], direction: &[f64]) -> f64 {
        self.gradient.iter().zip(direction).map(|(g, d)| g * d).sum()
    }
}

impl Model for SoftmaxSum<'_> {
    fn width(&self) -> usize {
        self.classes
    }

    fn value<R: Rows>(&self, w: &[f64], rows: &mut R) -> Result<f64, TrainError> {
        let mut value: f64 = w.iter().zip(self.ridge).map(|(w, ridge)| 0.5 * ridge * w * w).sum();
        let mut margins = vec![0.0; self.classes];
        rows.scan(|_, row, y, c| {
            margins_of(row, w, self.bias, &mut margins);
            value += c * Softmax.value(y as usize, &margins);
        })?;
        Ok(value)
    }

    fn certify(
        &self,
        rows: &mut TaskRows,
        w: &[f64],
        duals: &mut [f64],
        session: &mut Session,
    ) -> Result<Option<Status>, TrainError> {
        certify(rows, w, duals, session)
    }
}

/// Replaces the margins of a row of class y and weight c by its dual variables, -c times the slopes of the loss.
pub fn class_slopes((y, c): (f64, f64), margins: &mut [f64]) {
    probabilities(margins);
    margins.iter_mut().for_each(|p| *p *= -c);
    margins[y as usize] = 0.0;
    // What others have, to the last digit.
    margins[y as usize] = -margins.iter().sum::<f64>();
}

/// Certifies w with its slopes as dual variables. Returns how the run ended, if it did.
pub fn certify(
    rows: &mut TaskRows,
    w: &[f64],
    duals: &mut [f64],
    session: &mut Session,
) -> Result<Option<Status>, TrainError> {
    let bias = rows.task().objective.bias;
    let find = |_: usize, row: Row, target: (f64, f64), betas: &mut [f64]| {
        margins_of(row, w, bias, betas);
        class_slopes(target, betas);
    };
    session.certify_joint(OfClass(Softmax), rows, w, duals, find)
}
