//! Which rows stay in memory when the next blocks come (SBM, section 2.2).
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::loss::Loss;
use crate::solver::Weights;
use crate::working_set::WorkingSet;

/// How rows are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Rows that are not at a bound, those with the larger gradient first; then those nearest to leaving their bound (the paper's two scores).
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
}

/// Marks the rows to keep: the best ones, as long as they fit into `rows` rows and `values` values.
pub fn choose<L: Loss, W: Weights>(
    selection: Selection,
    loss: L,
    set: &WorkingSet,
    weights: &W,
    (rows, values): (u64, u64),
    random: &mut Xoshiro256PlusPlus,
) -> Vec<bool> {
    let score = |i: usize| -> f64 {
        let state = &set.states[i];
        let z = weights.margin(set.block.row(i));
        let slack = loss.slack(state.y, z, state.beta, state.c);
        let by_gradient = if slack > 0.0 {
            -slack
        } else {
            let q = weights.curvature(state.sq_norm);
            let wanted = loss.dual_step(state.y, z, state.beta, q, state.c);
            (wanted - state.beta).abs() * q
        };
        match selection {
            Selection::Gap => {
                let gap = loss.gap(state.y, z, state.beta, state.c);
                if gap > 0.0 { gap } else { by_gradient.min(0.0) }
            }
            _ => by_gradient,
        }
    };
    let mut order: Vec<(f64, u32)> = match selection {
        Selection::Random => (0..set.rows() as u32).map(|i| ((random.next_u64() >> 11) as f64, i)).collect(),
        _ => (0..set.rows()).map(|i| (score(i), i as u32)).collect(),
    };
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut keep = vec![false; set.rows()];
    let (mut rows_left, mut values_left) = (rows, values);
    for (_, i) in order {
        let length = set.block.row_len(i as usize) as u64;
        if rows_left == 0 {
            break;
        }
        if length <= values_left {
            keep[i as usize] = true;
            rows_left -= 1;
            values_left -= length;
        }
    }
    keep
}
