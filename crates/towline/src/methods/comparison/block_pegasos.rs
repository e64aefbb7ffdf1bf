//! Pegasos with a block a step: BM-Pegasos, as SBM compares with it (section 7.1).
//!
//! Yu, Hsieh, Chang & Lin, "Large linear classification when data cannot fit in memory" (KDD 2010), section 3.2, where each
//! block is one subset: all its rows are seen at the same w, and then, with B⁺ those of a margin below 1,
//! ```text
//! w ← (1 - 1/t) w + Σ_{B⁺} y x / (λt|B|),   w ← min(1, 1 / (√λ ‖w‖)) w,   λ = 1/(nC)
//! ```
//! The model is the last w.
use super::Online;
use crate::block::Row;

/// The state of BM-Pegasos.
pub struct BlockPegasos {
    w: Vec<f64>,
    /// Σ y x over the rows of the block at hand that have a slope.
    sum: Vec<f64>,
    rows: u64,
    bias: f64,
    lambda: f64,
    c: f64,
    step: u64,
}

impl BlockPegasos {
    /// Begins at 0.
    pub fn new(columns: usize, bias: f64, lambda: f64, c: f64) -> Self {
        let zeros = || vec![0.0; columns + 1];
        BlockPegasos { w: zeros(), sum: zeros(), rows: 0, bias, lambda, c, step: 0 }
    }
}

impl Online for BlockPegasos {
    #[inline]
    fn learn(&mut self, row: Row, y: f64, c: f64) {
        let last = self.w.len() - 1;
        self.rows += 1;
        if y * (row.dot(&self.w) + self.bias * self.w[last]) < 1.0 {
            let part = c / self.c * y;
            row.add_to(&mut self.sum, part);
            self.sum[last] += part * self.bias;
        }
    }

    fn end_block(&mut self) {
        if self.rows == 0 {
            return;
        }
        self.step += 1;
        let t = self.step as f64;
        let (shrink, gain) = (1.0 - 1.0 / t, 1.0 / (self.lambda * t * self.rows as f64));
        for (w, sum) in self.w.iter_mut().zip(&mut self.sum) {
            *w = shrink * *w + gain * std::mem::take(sum);
        }
        self.rows = 0;
        let sq_norm: f64 = self.w.iter().map(|w| w * w).sum();
        if sq_norm * self.lambda > 1.0 {
            let back = (1.0 / (self.lambda * sq_norm)).sqrt();
            self.w.iter_mut().for_each(|w| *w *= back);
        }
    }

    fn write(&self, w: &mut [f64]) {
        w.copy_from_slice(&self.w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, Layout, RowInfo};

    #[test]
    fn a_block_is_a_step_at_the_weights_with_which_it_began() {
        let mut rows = Block::new(Layout::SPARSE_F32, 2);
        let info = RowInfo { label: 1.0, weight: 1.0, group: 0, id: 0 };
        rows.push(info, [(0, 1.0)]);
        rows.push(info, [(0, 0.5), (1, 1.0)]);
        let (lambda, c) = (0.25, 2.0);
        let mut rule = BlockPegasos::new(2, 0.0, lambda, c);
        let mut plain = [0.0f64; 2];
        for step in 1..=5 {
            for (i, y) in [(0, 1.0), (1, -1.0)] {
                rule.learn(rows.row(i), y, c);
            }
            rule.end_block();
            let margins = [plain[0], -(0.5 * plain[0] + plain[1])];
            let mut sum = [0.0; 2];
            if margins[0] < 1.0 {
                sum[0] += 1.0;
            }
            if margins[1] < 1.0 {
                sum = [sum[0] - 0.5, sum[1] - 1.0];
            }
            let t = f64::from(step);
            plain = [0, 1].map(|j| (1.0 - 1.0 / t) * plain[j] + sum[j] / (lambda * t * 2.0));
            let norm = plain.iter().map(|w| w * w).sum::<f64>().sqrt();
            let back = (1.0 / (lambda.sqrt() * norm)).min(1.0);
            plain = plain.map(|w| back * w);
            let mut w = [0.0; 3];
            rule.write(&mut w);
            assert!((w[0] - plain[0]).abs() < 1e-12 && (w[1] - plain[1]).abs() < 1e-12, "{step}: {w:?} {plain:?}");
        }
    }
}
