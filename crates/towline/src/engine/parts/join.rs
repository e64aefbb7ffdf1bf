//! How the changes of all parts become one change of the weights.
use rayon::prelude::*;

use super::{ByParts, INTERVAL};
use crate::block::Row;
use crate::loss::Loss;
use crate::solver::RowState;

/// Columns that are summed at a time: sums of chunks are added up in their order.
const CHUNK: usize = 1 << 13;
/// The most frequent columns, which are exchanged often: on the kernel data they have half of all values.
const FREQUENT: usize = 2 * CHUNK;

/// The frequent columns, and the constant feature behind them.
pub fn shared_of(w: &[f64]) -> Vec<f64> {
    let last = w.len() - 1;
    w[..FREQUENT.min(last)].iter().chain([&w[last]]).copied().collect()
}

/// ‖Σ Δ_k‖² and Σ ‖Δ_k‖² of the columns that are exchanged.
#[derive(Clone, Copy, Default)]
pub struct Alignment {
    of_sum: f64,
    sum_of: f64,
}

impl ByParts {
    /// All copies have the changes of all parts, as far as frequent columns go.
    pub(super) fn exchange(&mut self) {
        let ByParts { parts, shared, sigma, alignment, .. } = self;
        let (frequent, scale) = (shared.len() - 1, 1.0 / *sigma);
        let last = parts[0].weights.w.len() - 1;
        for (j, common) in (0..frequent).chain([last]).zip(shared.iter_mut()) {
            let mut sum = 0.0;
            for part in parts.iter() {
                let change = scale * (part.weights.w[j] - *common);
                alignment.sum_of += change * change;
                sum += change;
            }
            alignment.of_sum += sum * sum;
            *common += sum;
        }
        for part in parts.iter_mut() {
            part.weights.w[..frequent].copy_from_slice(&shared[..frequent]);
            part.weights.w[last] = shared[frequent];
        }
    }

    /// Moves `w` by γ Σ Δ_k and the dual variables with it, and returns by how much the dual objective has risen.
    ///
    /// With L the change of Σ -c L*(-β/c) at γ = 1, which is concave in γ, the dual objective rises by at least
    /// γ(L - w·Δ) - ½γ²‖Δ‖²; γ maximises that over [0, 1], which is exact for the hinge loss.
    pub(super) fn join<L: Loss>(&mut self, loss: L, states: &mut [RowState], w: &mut [f64]) -> f64 {
        let values = |states: &[RowState], before: &[f64]| -> f64 {
            let moved = states.iter().zip(before).filter(|(state, before)| state.beta != **before);
            let value = |(state, before): (&RowState, &f64)| {
                loss.dual_value(state.y, state.beta, state.c) - loss.dual_value(state.y, *before, state.c)
            };
            moved.map(value).sum()
        };
        let at_one = values(states, &self.before);
        let (product, sq_norm) = self.products(w);
        let slope = at_one - product;
        let gamma = if slope >= sq_norm { 1.0 } else { (slope / sq_norm).max(0.0) };
        self.adapt(gamma);
        if gamma == 1.0 {
            self.add(w, 1.0);
            return (slope - 0.5 * sq_norm).max(0.0);
        }
        for (state, &before) in states.iter_mut().zip(&self.before) {
            let (low, high) = loss.dual_bounds(state.y, state.c);
            state.beta = (before + gamma * (state.beta - before)).clamp(low, high);
        }
        self.add(w, gamma);
        let at_gamma = values(states, &self.before);
        (at_gamma - gamma * product - 0.5 * gamma * gamma * sq_norm).max(0.0)
    }

    /// Δ = Σ Δ_k for the columns of `w`, which are those from `first` on; all are frequent, or none.
    fn changes(&self, first: usize, w: &[f64], changes: &mut [f64]) {
        let is_shared = first < FREQUENT;
        // After an exchange all copies of frequent columns are the same.
        let parts = if is_shared { &self.parts[..1] } else { &self.parts[..] };
        let scale = if is_shared { 1.0 } else { 1.0 / self.sigma };
        changes.fill(0.0);
        for part in parts {
            let copy = &part.weights.w[first..first + w.len()];
            for ((change, copy), w) in changes.iter_mut().zip(copy).zip(w) {
                *change += scale * (copy - w);
            }
        }
    }

    /// w·Δ and ‖Δ‖².
    fn products(&self, w: &[f64]) -> (f64, f64) {
        let (columns, constant) = w.split_at(w.len() - 1);
        let of_chunk = |(k, w): (usize, &[f64])| {
            let mut changes = [0.0; CHUNK];
            let changes = &mut changes[..w.len()];
            self.changes(k * CHUNK, w, changes);
            let row = Row::dense(changes);
            (row.dot(w), row.dot(changes))
        };
        let sums: Vec<(f64, f64)> =
            self.threads.install(|| columns.par_chunks(CHUNK).enumerate().map(of_chunk).collect());
        let of_constant = self.shared[self.shared.len() - 1] - constant[0];
        let first = (constant[0] * of_constant, of_constant * of_constant);
        sums.into_iter().fold(first, |sum, chunk| (sum.0 + chunk.0, sum.1 + chunk.1))
    }

    /// w ← w + γ Δ.
    fn add(&self, w: &mut [f64], gamma: f64) {
        let last = w.len() - 1;
        let (columns, constant) = w.split_at_mut(last);
        let of_chunk = |(k, w): (usize, &mut [f64])| {
            let mut changes = [0.0; CHUNK];
            let changes = &mut changes[..w.len()];
            self.changes(k * CHUNK, w, changes);
            w.iter_mut().zip(changes).for_each(|(w, change)| *w += gamma * *change);
        };
        self.threads.install(|| columns.par_chunks_mut(CHUNK).enumerate().for_each(of_chunk));
        constant[0] += gamma * (self.shared[self.shared.len() - 1] - constant[0]);
    }

    /// A join has had to be cut short, or not: σ follows how much the parts agree, and intervals that went too far are
    /// shorter.
    fn adapt(&mut self, gamma: f64) {
        let most = INTERVAL * (self.parts[0].weights.w.len() as u64);
        let parts = self.parts.len() as f64;
        let Alignment { of_sum, sum_of } = std::mem::take(&mut self.alignment);
        if sum_of > 0.0 {
            self.sigma = (0.5 * (self.sigma + of_sum / sum_of)).clamp(1.0, parts);
        }
        if gamma < 0.5 {
            self.sigma = (2.0 * self.sigma).min(parts);
            self.interval_values /= 2;
        } else if gamma == 1.0 {
            self.interval_values = (2 * self.interval_values.max(1)).min(most);
        }
    }
}
