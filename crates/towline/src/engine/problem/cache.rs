//! Which rows stay in memory when the next blocks come (SBM, section 2.2).
use serde::{Deserialize, Serialize};

use crate::block::Row;
use crate::loss::Loss;
use crate::residents::Residents;
use crate::solver::{RowState, Weights};

/// How rows are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Selection {
    /// Rows that are not at a bound, those with the larger gradient first; then those nearest to leaving their bound
    /// (the paper's two scores).
    #[default]
    Gradient,
    /// At random (the paper's SBM-1/2-rand).
    Random,
    /// Rows with the largest share of the duality gap, then as by gradient.
    Gap,
}

impl Selection {
    /// Every selection, for tests.
    pub const ALL: [Selection; 3] = [Selection::Gradient, Selection::Random, Selection::Gap];

    /// How much a row is worth keeping.
    pub fn score<L: Loss, W: Weights>(self, loss: L, weights: &W, row: Row, state: &RowState) -> f64 {
        let z = weights.margin(row);
        let slack = loss.slack(state.y, z, state.beta, state.c);
        let by_gradient = if slack > 0.0 {
            -slack
        } else {
            let q = weights.curvature(state.sq_norm);
            let wanted = loss.dual_step(state.y, z, state.beta, q, state.c);
            (wanted - state.beta).abs() * q
        };
        if self == Selection::Gap {
            let gap = loss.gap(state.y, z, state.beta, state.c);
            if gap > 0.0 { gap } else { by_gradient.min(0.0) }
        } else {
            by_gradient
        }
    }
}

/// Marks the rows to keep: the first choices of each model, then the second ones, as long as they fit into `rows` rows
/// and `values` values; `best` is the best rank of each row. A row that several models want is held once.
pub fn choose(residents: &Residents, best: &[u32], (rows, values): (u64, u64)) -> Vec<bool> {
    let mut order: Vec<u32> = (0..residents.rows() as u32).collect();
    order.sort_unstable_by_key(|&row| (best[row as usize], row));
    let mut keep = vec![false; residents.rows()];
    let (mut rows_left, mut values_left) = (rows, values);
    for row in order {
        let length = residents.block.row_len(row as usize) as u64;
        if rows_left == 0 {
            break;
        }
        if length <= values_left {
            keep[row as usize] = true;
            rows_left -= 1;
            values_left -= length;
        }
    }
    keep
}
