//! What a joint model keeps of its resident rows, and room for the one at hand.
use crate::budget::Budget;
use crate::engine::TrainError;
use crate::engine::duals::sparse_rows::{self, SparseRows};
use crate::loss::joint::{JointLoss, JointRow};
use crate::order::Visit;
use crate::residents;

/// Its resident rows.
pub struct JointRows {
    /// Weight and squared norm, the bias included.
    pub states: Vec<(f64, f64)>,
    /// Dual variables, one per output.
    pub duals: DualRows,
    /// What margins should be.
    pub targets: Vec<f64>,
}

impl JointRows {
    /// No row.
    pub fn new(duals: DualRows) -> Self {
        JointRows { states: Vec::new(), duals, targets: Vec::new() }
    }

    /// What the margins of row `i` should be.
    pub fn target(&self, i: usize, width: usize) -> &[f64] {
        &self.targets[i * width..][..width]
    }

    /// Keeps the rows that are marked; each has so many dual variables, and so many numbers as its target.
    pub fn retain(&mut self, width: usize, target_width: usize, keep: &[bool]) -> Result<(), TrainError> {
        residents::retain(&mut self.states, keep);
        retain_each(&mut self.targets, target_width, keep);
        match &mut self.duals {
            DualRows::Dense(numbers) => retain_each(numbers, width, keep),
            DualRows::Sparse(rows) => rows.retain(keep)?,
        }
        Ok(())
    }
}

/// Dual variables of resident rows.
pub enum DualRows {
    /// All of them.
    Dense(Vec<f64>),
    /// Those that are not 0.
    Sparse(Box<SparseRows>),
}

impl DualRows {
    /// No rows, sparse ones if there is a budget that pays for them.
    pub fn new(sparse: Option<&Budget>) -> Self {
        sparse
            .map_or(DualRows::Dense(Vec::new()), |budget| DualRows::Sparse(Box::new(SparseRows::in_memory(0, budget))))
    }

    /// Replaces `out` by those of row `i`.
    #[inline]
    pub fn read(&self, i: usize, out: &mut [f64]) -> Result<(), TrainError> {
        match self {
            DualRows::Dense(numbers) => out.copy_from_slice(&numbers[i * out.len()..][..out.len()]),
            DualRows::Sparse(rows) => rows.read(i as u64, out.len(), out)?,
        }
        Ok(())
    }

    /// Sets those of row `i`.
    #[inline]
    pub fn write(&mut self, i: usize, duals: &[f64]) -> Result<(), TrainError> {
        match self {
            DualRows::Dense(numbers) => numbers[i * duals.len()..][..duals.len()].copy_from_slice(duals),
            DualRows::Sparse(rows) => rows.write(i as u64, duals)?,
        }
        Ok(())
    }

    /// Appends a row.
    pub fn push(&mut self, duals: &[f64]) -> Result<(), TrainError> {
        match self {
            DualRows::Dense(numbers) => numbers.extend_from_slice(duals),
            DualRows::Sparse(rows) => rows.push(duals)?,
        }
        Ok(())
    }
}

/// Keeps the numbers of the rows that are marked, each of which has as many.
fn retain_each(numbers: &mut Vec<f64>, width: usize, keep: &[bool]) {
    let mut at = 0;
    numbers.retain(|_| {
        at += 1;
        keep[(at - 1) / width]
    });
}

/// Scratch for one row.
pub struct RowScratch {
    pub margins: Vec<f64>,
    pub products: Vec<f64>,
    /// Dual variables as they were, and as they become.
    pub before: Vec<f64>,
    pub duals: Vec<f64>,
    pub other: Vec<f64>,
    pub steps: Vec<(u32, f64)>,
    pub target: Vec<f64>,
}

impl RowScratch {
    pub fn new(width: usize) -> Self {
        let numbers = || vec![0.0; width];
        let (steps, target) = (Vec::with_capacity(width), Vec::with_capacity(width));
        let (before, duals) = (numbers(), numbers());
        RowScratch { margins: numbers(), products: numbers(), before, duals, other: numbers(), steps, target }
    }

    /// From the dual variables before and the margins to those that are best for the row, and the steps that lead
    /// there.
    pub fn step<M: JointLoss>(&mut self, loss: M, row: JointRow) -> Visit {
        let RowScratch { margins: z, before, duals, other, steps, .. } = self;
        duals.copy_from_slice(before);
        loss.dual_step(row, z, duals, other);
        steps.clear();
        let (mut change, mut largest) = (0.0, 0.0f64);
        for (m, (&new, &old)) in duals.iter().zip(&*before).enumerate() {
            if new != old {
                let delta = new - old;
                steps.push((m as u32, delta));
                change -= delta * (z[m] + 0.5 * delta * row.curvature);
                largest = largest.max(delta.abs());
            }
        }
        let value = |duals: &[f64]| loss.dual_value(row.target, duals, row.c);
        let gain = if steps.is_empty() { 0.0 } else { (value(duals) - value(before) + change).max(0.0) };
        Visit {
            gain,
            violation: largest * row.curvature,
            slack: loss.slack(row.target, z, duals, row.c),
            gradient: 0.0,
        }
    }

    /// Leaves classes out of the next step: beside the own one and those with a dual variable just as many have a part
    /// as a slot has room for, the largest margins first.
    pub fn leave_out(&mut self, own: usize) {
        let RowScratch { margins: z, before, other, .. } = self;
        let is_in = |m: usize| m == own || before[m] != 0.0;
        let more = sparse_rows::INLINE.saturating_sub((0..z.len()).filter(|&m| is_in(m)).count());
        let others = &mut other[..];
        others.iter_mut().enumerate().for_each(|(m, z_m)| *z_m = if is_in(m) { f64::NEG_INFINITY } else { z[m] });
        others.sort_unstable_by(|a, b| b.total_cmp(a));
        let least = if more == 0 { f64::INFINITY } else { others[more - 1] };
        let mut left = more;
        for (_, margin) in z.iter_mut().enumerate().filter(|(m, _)| !is_in(*m)) {
            let stays = *margin >= least && left > 0;
            if stays {
                left -= 1;
            } else {
                *margin = f64::NEG_INFINITY;
            }
        }
    }
}
