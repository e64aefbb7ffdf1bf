//! Scores for rows: from any input, a batch at a time, or from a store.
use rustc_hash::FxHashMap;

use crate::budget::{Budget, BudgetError, Reservation};
use crate::input::RowBatch;
use crate::model::{Model, Weights};
use crate::objective::Targets;
use crate::store::features::{FeatureMap, FeatureName, Scaling};

/// A model made ready for looking up weights.
pub struct Scorer {
    lookup: Lookup,
    intercept: f64,
    unit_rows: bool,
    _paid: Reservation,
}

enum Lookup {
    /// By feature number, where numbers are small enough for a table.
    Table(Vec<f64>),
    Numbers(FxHashMap<u64, f64>),
    Names(FxHashMap<Vec<u8>, f64>),
}

/// A table is used while it is at most this many times as large as the list of weights.
const TABLE_RATIO: u64 = 16;
/// Bytes of an entry in a hash table, with its share of empty slots.
const HASHED_BYTES: u64 = 32;

impl Scorer {
    /// Prepares `model`.
    pub fn new(model: &Model, budget: &Budget) -> Result<Scorer, BudgetError> {
        let reserve = |bytes| budget.reserve("weights by feature", bytes);
        let (lookup, paid) = match &model.weights {
            Weights::Numbered(weights) => {
                let largest = weights.last().map_or(0, |&(number, _)| number);
                if largest / TABLE_RATIO <= weights.len() as u64 {
                    let paid = reserve((largest + 1) * 8)?;
                    let mut table = vec![0.0; largest as usize + 1];
                    weights.iter().for_each(|&(number, weight)| table[number as usize] = weight);
                    (Lookup::Table(table), paid)
                } else {
                    let paid = reserve(weights.len() as u64 * HASHED_BYTES)?;
                    (Lookup::Numbers(weights.iter().copied().collect()), paid)
                }
            }
            Weights::Named(weights) => {
                let text: u64 = weights.iter().map(|(name, _)| name.len() as u64).sum();
                let paid = reserve(weights.len() as u64 * (HASHED_BYTES + 32) + text)?;
                (
                    Lookup::Names(weights.iter().map(|(name, weight)| (name.clone().into_bytes(), *weight)).collect()),
                    paid,
                )
            }
        };
        Ok(Scorer { lookup, intercept: model.header.intercept, unit_rows: model.header.unit_rows, _paid: paid })
    }

    /// Appends the score of each row of `batch` to `scores`.
    pub fn score(&self, batch: &RowBatch, scores: &mut Vec<f64>) {
        let by_name: Vec<f64> = match &self.lookup {
            Lookup::Names(names) => batch.names.iter().map(|name| names.get(name).copied().unwrap_or(0.0)).collect(),
            _ => Vec::new(),
        };
        let weight = |key: u64| match &self.lookup {
            Lookup::Table(table) => table.get(key as usize).copied().unwrap_or(0.0),
            Lookup::Numbers(numbers) => numbers.get(&key).copied().unwrap_or(0.0),
            Lookup::Names(_) => by_name.get(key as usize).copied().unwrap_or(0.0),
        };
        for i in 0..batch.rows() {
            let range = batch.range(i);
            let (mut sum, mut sq_norm) = (0.0, 0.0);
            for (&key, &value) in batch.keys[range.clone()].iter().zip(&batch.values[range]) {
                sum += weight(key) * value;
                sq_norm += value * value;
            }
            if self.unit_rows && sq_norm > 0.0 {
                sum /= sq_norm.sqrt();
            }
            scores.push(sum + self.intercept);
        }
    }

    /// Weights by column for the rows of a store, whose features may be others than those of training, and the intercept.
    ///
    /// Rows of the store are scaled already, so scaling is taken out of the weights again.
    pub fn for_store(&self, features: &FeatureMap) -> (Vec<f64>, f64) {
        let mut intercept = self.intercept;
        let weights = (0..features.len() as u32).map(|column| {
            let weight = match (features.name(column), &self.lookup) {
                (FeatureName::Number(number), Lookup::Table(table)) => {
                    table.get(number as usize).copied().unwrap_or(0.0)
                }
                (FeatureName::Number(number), Lookup::Numbers(numbers)) => numbers.get(&number).copied().unwrap_or(0.0),
                (FeatureName::Name(name), Lookup::Names(names)) => names.get(name.as_bytes()).copied().unwrap_or(0.0),
                _ => 0.0,
            };
            match features.scaling(column) {
                // stored = (raw - shift)·factor, so weight·raw = (weight/factor)·stored + weight·shift
                Some(Scaling { shift, factor }) if factor != 0.0 => {
                    intercept += weight * shift;
                    weight / factor
                }
                _ => weight,
            }
        });
        let weights = weights.collect();
        (weights, intercept)
    }
}

/// The predicted label.
pub fn label(targets: &Targets, score: f64) -> String {
    match targets {
        Targets::Binary { names, .. } => names[usize::from(score > 0.0)].clone(),
        Targets::Numbers => format!("{score}"),
    }
}

/// The probability of the positive class, for the logistic loss.
pub fn probability(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}
