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
    /// Rows that are not held by a bound, those whose margin a step would move the farthest first, up to the bound; then
    /// those nearest to leaving their bound.
    #[default]
    Gradient,
    /// The first score of the paper: rows that no bound holds, as they came, then those nearest to leaving theirs.
    FirstScore,
    /// Its second score: rows at a bound by -∇ or ∇, the others by |∇|, whatever the bound leaves of the step.
    SecondScore,
    /// At random (the paper's SBM-1/2-rand).
    Random,
    /// Rows with the largest share of the duality gap, then as by gradient.
    Gap,
}

impl Selection {
    /// Every selection, for tests.
    pub const ALL: [Selection; 5] =
        [Selection::Gradient, Selection::FirstScore, Selection::SecondScore, Selection::Random, Selection::Gap];

    /// The name that it is chosen by.
    pub const fn name(self) -> &'static str {
        match self {
            Selection::Gradient => "gradient",
            Selection::FirstScore => "first-score",
            Selection::SecondScore => "second-score",
            Selection::Random => "random",
            Selection::Gap => "gap",
        }
    }

    /// In a line what it does.
    pub const fn describe(self) -> &'static str {
        match self {
            Selection::Gradient => {
                "Rows whose margin the next step would move the farthest, then those nearest to leaving their bound"
            }
            Selection::FirstScore => {
                "The first score of SBM, section 2.2: rows that no bound holds, then those nearest to leaving theirs"
            }
            Selection::SecondScore => {
                "Its second score: rows between their bounds by the size of the gradient, not cut off at the bound"
            }
            Selection::Random => "Any, as SBM-1/2-rand",
            Selection::Gap => "Rows with the largest share of the duality gap",
        }
    }

    /// How much a row is worth keeping.
    pub fn score<L: Loss, W: Weights>(self, loss: L, weights: &W, row: Row, state: &RowState) -> f64 {
        let z = weights.margin(row);
        let slack = loss.slack(state.y, z, state.beta, state.c);
        match self {
            Selection::FirstScore => return -slack.max(0.0),
            Selection::SecondScore if slack > 0.0 => return -slack,
            Selection::SecondScore => return loss.dual_gradient(state.y, z, state.beta, state.c).abs(),
            Selection::Gradient | Selection::Random | Selection::Gap => {}
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Row;
    use crate::loss::Hinge;

    struct Margin(f64);

    impl Weights for Margin {
        fn margin(&self, _row: Row) -> f64 {
            self.0
        }

        fn add(&mut self, _row: Row, _delta: f64) {}

        fn curvature(&self, sq_norm: f64) -> f64 {
            sq_norm
        }
    }

    /// Margin, dual variable, and the scores of section 2.2 with ∇ = yz - 1 and C = 1.
    #[test]
    fn scores_are_those_of_the_paper() {
        let cases = [
            (3.0, 0.0, -2.0, -2.0),  // α = 0, ∇ = 2 > 0
            (0.5, 0.0, 0.0, 0.5),    // α = 0, ∇ = -0.5
            (-2.0, 1.0, -3.0, -3.0), // α = C, ∇ = -3 < 0
            (1.5, 1.0, 0.0, 0.5),    // α = C, ∇ = 0.5
            (0.25, 0.5, 0.0, 0.75),  // between
            (-9.0, 0.9, 0.0, 10.0),  // between, where the bound leaves little of the step
        ];
        for (z, beta, first, second) in cases {
            let state = RowState { y: 1.0, c: 1.0, sq_norm: 1.0, beta };
            let score = |selection: Selection| selection.score(Hinge, &Margin(z), Row::dense(&[]), &state);
            assert_eq!((score(Selection::FirstScore), score(Selection::SecondScore)), (first, second), "{z} {beta}");
        }
        let near_its_bound = RowState { y: 1.0, c: 1.0, sq_norm: 1.0, beta: 0.9 };
        let ours = Selection::Gradient.score(Hinge, &Margin(-9.0), Row::dense(&[]), &near_its_bound);
        assert!((ours - 0.1).abs() < 1e-12, "ours counts what the bound leaves");
    }
}
