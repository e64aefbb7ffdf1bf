//! Residuals of predicted numbers.
use serde::Serialize;

use crate::budget::{Budget, BudgetError, Reservation};
use crate::report::histogram::Histogram;

/// Of several targets, those whose residuals are drawn.
pub const MOST_TARGETS: usize = 6;
/// Points that are drawn of all rows.
const POINTS: usize = 800;
/// Bins of predictions, with as many rows each.
const BINS: usize = 24;

/// Predicted numbers against true ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberRows {
    /// What the target is called; nothing if there is one.
    pub target: String,
    /// Prediction and residual (truth - prediction) of some rows, evenly spread over the predictions.
    pub points: Vec<[f64; 2]>,
    /// Whether these are all rows.
    pub has_all: bool,
    /// Residuals by prediction, from all rows.
    pub bins: Vec<PredictionBin>,
    /// How residuals are spread.
    pub residuals: Histogram,
}

/// Rows with about the same prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictionBin {
    /// The median prediction.
    pub predicted: f64,
    /// The residuals that a tenth, half and nine tenths of the rows are below.
    pub residuals: [f64; 3],
    /// How many rows.
    pub rows: u64,
}

/// Predictions and truths of all rows.
pub(super) struct Pairs {
    target: String,
    /// Prediction and residual.
    pairs: Vec<[f64; 2]>,
    _paid: Reservation,
}

impl Pairs {
    pub fn new(target: &str, rows: u64, budget: &Budget) -> Result<Pairs, BudgetError> {
        let paid = budget.reserve("predictions", 16 * rows + 8 * rows.div_ceil(BINS as u64))?;
        Ok(Pairs { target: target.to_string(), pairs: Vec::with_capacity(rows as usize), _paid: paid })
    }

    pub fn add(&mut self, predicted: f64, truth: f64) {
        self.pairs.push([predicted, truth - predicted]);
    }

    pub fn finish(mut self) -> NumberRows {
        let pairs = &mut self.pairs;
        pairs.sort_unstable_by(|a, b| a[1].total_cmp(&b[1]));
        let range = Histogram::range(pairs.len(), |k| pairs[k][1]);
        let mut residuals = Histogram::new(range, vec![String::new()]);
        pairs.iter().for_each(|pair| residuals.add(pair[1], 0));
        pairs.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        let bins = bins(pairs);
        let step = pairs.len().div_ceil(POINTS).max(1);
        let points = pairs.iter().skip(step / 2).step_by(step).copied().collect();
        NumberRows { target: self.target, points, has_all: step == 1, bins, residuals }
    }
}

fn bins(sorted: &[[f64; 2]]) -> Vec<PredictionBin> {
    let size = sorted.len().div_ceil(BINS).max(1);
    let bin = |rows: &[[f64; 2]]| {
        let mut residuals: Vec<f64> = rows.iter().map(|pair| pair[1]).collect();
        residuals.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| residuals[((residuals.len() - 1) as f64 * share).round() as usize];
        PredictionBin {
            predicted: rows[rows.len() / 2][0],
            residuals: [at(0.1), at(0.5), at(0.9)],
            rows: rows.len() as u64,
        }
    };
    sorted.chunks(size).map(bin).collect()
}
