//! Scores for rows: from any input, a batch at a time, or from a store.
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::budget::{Budget, BudgetError, Reservation};
use crate::input::RowBatch;
use crate::model::{Features, Header, Model};
use crate::objective::{Multiclass, Targets};
use crate::store::features::{FeatureMap, FeatureName, Scaling};
use crate::stream::{hashed_name, hashed_number};

/// A model made ready for looking up weights.
pub struct Scorer {
    lookup: Lookup,
    /// The weights of each place, one per output, side by side.
    weights: Vec<f64>,
    intercepts: Vec<f64>,
    unit_rows: bool,
    hash_bits: Option<u32>,
    _paid: Reservation,
}

/// Where the weights of a feature are.
enum Lookup {
    /// At the place of its number, where numbers are small enough for a table.
    Table,
    Numbers(FxHashMap<u64, u32>),
    Names(FxHashMap<Vec<u8>, u32>),
}

/// A table is used while it is at most this many times as large as the list of weights.
const TABLE_RATIO: u64 = 16;
/// Bytes of an entry in a hash table, with its share of empty slots.
const HASHED_BYTES: u64 = 32;

impl Scorer {
    /// Prepares `model`.
    pub fn new(model: &Model, budget: &Budget) -> Result<Scorer, BudgetError> {
        let reserve = |bytes| budget.reserve_few("weights by feature", bytes);
        let (outputs, count) = (model.outputs(), model.features.len() as u64);
        let weight_bytes = model.weights.len() as u64 * 8;
        let (lookup, weights, paid) = match &model.features {
            Features::Numbered(numbers) => {
                // The largest number of all has no place after it.
                let places = numbers.last().map_or(0, |&largest| largest.saturating_add(1));
                if places / TABLE_RATIO <= count {
                    let paid = reserve(places * 8 * outputs as u64)?;
                    let mut table = vec![0.0; places as usize * outputs];
                    for (i, &number) in numbers.iter().enumerate() {
                        table[number as usize * outputs..][..outputs].copy_from_slice(model.weights_of(i));
                    }
                    (Lookup::Table, table, paid)
                } else {
                    let paid = reserve(count * HASHED_BYTES + weight_bytes)?;
                    (Lookup::Numbers(numbers.iter().copied().zip(0..).collect()), model.weights.clone(), paid)
                }
            }
            Features::Named(names) => {
                let text: u64 = names.iter().map(|name| name.len() as u64).sum();
                let paid = reserve(count * (HASHED_BYTES + 32) + text + weight_bytes)?;
                let places = names.iter().map(|name| name.clone().into_bytes()).zip(0..).collect();
                (Lookup::Names(places), model.weights.clone(), paid)
            }
        };
        let Header { intercepts, unit_rows, hash_bits, .. } = &model.header;
        let (intercepts, unit_rows, hash_bits) = (intercepts.clone(), *unit_rows, *hash_bits);
        Ok(Scorer { lookup, weights, intercepts, unit_rows, hash_bits, _paid: paid })
    }

    /// Scores of a row.
    pub fn outputs(&self) -> usize {
        self.intercepts.len()
    }

    fn weights_at(&self, place: Option<u32>) -> Option<&[f64]> {
        let outputs = self.outputs();
        self.weights.get(place? as usize * outputs..)?.get(..outputs)
    }

    /// Where the weights of a feature number are.
    #[inline]
    fn place_of_number(&self, number: u64) -> Option<u32> {
        let number = self.hash_bits.map_or(number, |bits| hashed_number(number, bits));
        match &self.lookup {
            Lookup::Table => u32::try_from(number).ok(),
            Lookup::Numbers(numbers) => numbers.get(&number).copied(),
            Lookup::Names(_) => None,
        }
    }

    /// Where the weights of a feature name are.
    fn place_of_name(&self, name: &[u8]) -> Option<u32> {
        match (&self.lookup, self.hash_bits) {
            (Lookup::Names(names), _) => names.get(name).copied(),
            (Lookup::Table, Some(bits)) => u32::try_from(hashed_name(name, bits)).ok(),
            (Lookup::Numbers(numbers), Some(bits)) => numbers.get(&hashed_name(name, bits)).copied(),
            _ => None,
        }
    }

    /// Appends the scores of these rows of `batch` to `scores`, one per output, side by side.
    pub fn score(&self, batch: &RowBatch, rows: Range<usize>, scores: &mut Vec<f64>) {
        let by_name: Vec<Option<u32>> = batch.names.iter().map(|name| self.place_of_name(name)).collect();
        let named = !by_name.is_empty();
        let place = |key: u64| if named { by_name[key as usize] } else { self.place_of_number(key) };
        let mut sums = vec![0.0; self.outputs()];
        for i in rows {
            let range = batch.range(i);
            sums.fill(0.0);
            let mut sq_norm = 0.0;
            for (&key, &value) in batch.keys[range.clone()].iter().zip(&batch.values[range]) {
                if let Some(weights) = self.weights_at(place(key)) {
                    sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight * value);
                }
                sq_norm += value * value;
            }
            let length = if self.unit_rows && sq_norm > 0.0 { f64::sqrt(sq_norm) } else { 1.0 };
            scores.extend(sums.iter().zip(&self.intercepts).map(|(sum, intercept)| sum / length + intercept));
        }
    }

    /// Weights by column for the rows of a store, whose features may be others than those of training, one per output side by side; and the intercepts.
    ///
    /// Rows of the store are scaled already, so scaling is taken out of the weights again.
    pub fn for_store(&self, features: &FeatureMap) -> (Vec<f64>, Vec<f64>) {
        let outputs = self.outputs();
        let mut intercepts = self.intercepts.clone();
        let mut weights = vec![0.0; features.len() * outputs];
        for column in 0..features.len() {
            let place = match features.name(column as u32) {
                FeatureName::Number(number) => self.place_of_number(number),
                FeatureName::Name(name) => self.place_of_name(name.as_bytes()),
            };
            let Some(raw) = self.weights_at(place) else { continue };
            let here = &mut weights[column * outputs..][..outputs];
            here.copy_from_slice(raw);
            // stored = (raw - shift)·factor, so weight·raw = (weight/factor)·stored + weight·shift
            if let Some(Scaling { shift, factor }) =
                features.scaling(column as u32).filter(|scaling| scaling.factor != 0.0)
            {
                for (weight, intercept) in here.iter_mut().zip(&mut intercepts) {
                    *intercept += *weight * shift;
                    *weight /= factor;
                }
            }
        }
        (weights, intercepts)
    }
}

/// The class that the scores of a row speak for: the second of two where there is one score.
pub fn class(scores: &[f64]) -> usize {
    match scores {
        [score] => usize::from(*score > 0.0),
        many => (0..many.len()).fold(0, |best, m| if many[m] > many[best] { m } else { best }),
    }
}

/// The predicted label, or numbers with blanks between them.
pub fn label(targets: &Targets, scores: &[f64]) -> String {
    match targets {
        Targets::Numbers | Targets::Several { .. } => scores.iter().map(f64::to_string).collect::<Vec<_>>().join(" "),
        _ => targets.names()[class(scores)].clone(),
    }
}

/// The probability of the positive class, for the logistic loss.
pub fn probability(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// Replaces the scores of a row by the probabilities of all classes: those of softmax, or those of the single models divided by their sum.
pub fn probabilities(targets: &Targets, scores: &[f64], out: &mut Vec<f64>) {
    out.clear();
    match targets.multiclass() {
        None => out.extend([1.0 - probability(scores[0]), probability(scores[0])]),
        Some(Multiclass::OneVsRest) => out.extend(scores.iter().map(|&score| probability(score))),
        Some(_) => {
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            out.extend(scores.iter().map(|score| (score - most).exp()));
        }
    }
    let sum: f64 = out.iter().sum();
    let (count, even) = (out.len() as f64, sum <= 0.0);
    out.iter_mut().for_each(|p| *p = if even { 1.0 / count } else { *p / sum });
}
