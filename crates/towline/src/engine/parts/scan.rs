//! The scan of a certificate on several cores.
use rayon::prelude::*;

use super::ByParts;
use crate::engine::certificate::Scan;
use crate::engine::problem::link::Identity;
use crate::loss::Loss;
use crate::residents::View;
use crate::solver::RowState;

impl ByParts {
    /// Copies of the weights make room for Σ βx: an interval begins with new ones.
    pub(super) fn begin_scan(&mut self) {
        let ByParts { threads, parts, .. } = self;
        threads.install(|| {
            parts.par_iter_mut().for_each(|part| {
                part.weights.w.fill(0.0);
                part.scan = Scan::default();
            });
        });
    }

    /// Adds the rows of `states`, which are those of `rows` from `first` on: each part has a range of them.
    pub(super) fn scan_rows<L: Loss>(
        &mut self,
        loss: L,
        (rows, first): (View, usize),
        states: &[RowState],
        w: &[f64],
        slacks: &mut Vec<f64>,
    ) {
        let ByParts { threads, parts, .. } = self;
        let each = states.len().div_ceil(parts.len()).max(1);
        let old = slacks.len();
        slacks.resize(old + states.len(), 0.0);
        threads.install(|| {
            let ranges = parts.par_iter_mut().zip(states.par_chunks(each)).zip(slacks[old..].par_chunks_mut(each));
            ranges.enumerate().for_each(|(k, ((part, states), slacks))| {
                let bias = part.weights.bias;
                for (i, (state, slack)) in states.iter().zip(slacks).enumerate() {
                    let row = rows.row(first + k * each + i);
                    let z = part.scan.add(loss, row, state, w, &mut part.weights.w, bias);
                    *slack = loss.slack(state.y, z, state.beta, state.c);
                }
            });
        });
    }

    /// The sums of all parts, in their order, are those of the scan.
    pub(super) fn end_scan(&mut self, weights: &mut Identity) {
        let sums: Vec<&[f64]> = self.parts.iter().map(|part| &part.weights.w[..]).collect();
        let total = self.parts.iter().map(|part| part.scan).reduce(Scan::with).unwrap_or_default();
        self.threads.install(|| weights.take_scan(total, &sums));
    }
}
