//! What the losses have in the quadratic model, seen along the columns of a working set.
use super::design::Design;

/// `Σ_i [s_i (Xd)_i + ½ h_i (Xd)_i²]` for moves d of some columns, which are numbered from 0.
pub trait QuadraticColumns {
    /// The slope along column `k`, which has moved so far.
    fn slope(&self, k: usize, moved: f64) -> f64;

    /// Moves column `k` on.
    fn go(&mut self, k: usize, step: f64);

    /// H: how the slope along column `k` grows with its moves.
    fn curvature(&self, k: usize) -> f64;

    /// The sum, up to what is the same for all d; `moves` are those of all columns.
    fn value(&self, moves: impl Iterator<Item = f64>) -> f64;

    /// Keeps where it is now, for [`back`](Self::back).
    fn keep(&mut self);

    /// Goes back to what was kept.
    fn back(&mut self);

    /// Values of column `k`.
    fn len(&self, k: usize) -> usize;

    /// Brings the beginning of column `k` closer to the processor.
    fn prefetch(&self, k: usize);
}

/// Columns that stay where all of them are: nothing is copied.
pub struct InPlace<'a> {
    /// X.
    pub design: Design<'a>,
    /// The numbers of the columns in X.
    pub members: &'a [u32],
    /// h.
    pub h: &'a [f64],
    /// `r = s + h·Xd`.
    pub r: &'a mut [f64],
    /// r that was kept.
    pub kept: Vec<f64>,
}

impl QuadraticColumns for InPlace<'_> {
    #[inline]
    fn slope(&self, k: usize, _moved: f64) -> f64 {
        self.design.dot(self.members[k] as usize, self.r)
    }

    #[inline]
    fn go(&mut self, k: usize, step: f64) {
        self.design.add_weighted_to(self.members[k] as usize, self.r, self.h, step);
    }

    fn curvature(&self, k: usize) -> f64 {
        self.design.curvature(self.members[k] as usize, self.h)
    }

    /// `Σ r²/2h`, since r = s + h·Xd.
    fn value(&self, _moves: impl Iterator<Item = f64>) -> f64 {
        let squares = self.r.iter().zip(self.h).filter(|(_, h)| **h > 0.0).map(|(r, h)| r * r / h);
        0.5 * squares.sum::<f64>()
    }

    fn keep(&mut self) {
        self.kept.clear();
        self.kept.extend_from_slice(self.r);
    }

    fn back(&mut self) {
        self.r.copy_from_slice(&self.kept);
    }

    fn len(&self, k: usize) -> usize {
        self.design.len(self.members[k] as usize)
    }

    #[inline]
    fn prefetch(&self, k: usize) {
        self.design.prefetch(self.members[k] as usize);
    }
}
