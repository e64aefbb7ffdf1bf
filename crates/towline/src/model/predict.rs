//! Scores for rows: from any input, a batch at a time, or from a store.
use std::borrow::Cow;
use std::ops::Range;

use hashbrown::HashTable;

use crate::budget::{Budget, BudgetError, Reservation};
use crate::data::hashing::{hashed_name, hashed_number};
use crate::input::RowBatch;
use crate::model::{Features, Header, Model};
use crate::objective::{Multiclass, Targets};
use crate::store::StoreError;
use crate::store::features::{Columns, FeatureName, Scaling};

/// A model made ready for looking up weights.
pub struct Scorer<'a> {
    lookup: Lookup<'a>,
    /// The weights of each place, one per output, side by side.
    weights: Cow<'a, [f64]>,
    intercepts: Vec<f64>,
    unit_rows: bool,
    hash_bits: Option<u32>,
    /// Whether all features that training has seen have a weight.
    has_all: bool,
    _paid: Reservation,
}

/// Where the weights of a feature are.
enum Lookup<'a> {
    /// At the place of its number, where numbers are small enough for a table.
    Table,
    /// Where the number is in this list.
    Sorted(&'a [u64]),
    /// Places, found by the names.
    Names(&'a [String], HashTable<u32>),
}

/// The place of a name that has no weight.
const NO_PLACE: u32 = u32::MAX;

/// A table is used while it is at most this many times as large as the list of weights.
const TABLE_RATIO: u64 = 16;

/// The part of the budget that a table of numbers leaves to rows.
const ROWS_PART: u64 = 4;

impl<'a> Scorer<'a> {
    /// Prepares `model`. A table of all numbers is fastest; where it would leave no room for rows, numbers are searched
    /// for in the model.
    pub fn new(model: &'a Model, budget: &Budget) -> Result<Self, BudgetError> {
        Scorer::make(model, true, budget)
    }

    /// The same without such a table, where each feature is looked up once.
    pub fn without_table(model: &'a Model, budget: &Budget) -> Result<Self, BudgetError> {
        Scorer::make(model, false, budget)
    }

    fn make(model: &'a Model, may_have_table: bool, budget: &Budget) -> Result<Self, BudgetError> {
        let reserve = |bytes| budget.reserve_few("weights by feature", bytes);
        let (outputs, count) = (model.outputs(), model.features.len() as u64);
        let mut weights = Cow::Borrowed(&model.weights[..]);
        let (lookup, paid) = match &model.features {
            Features::Numbered(numbers) => {
                // The largest number of all has no place after it.
                let places = numbers.last().map_or(0, |&largest| largest.saturating_add(1));
                let bytes = places.saturating_mul(8 * outputs as u64);
                let has_room = budget.free_bytes().saturating_sub(bytes) >= budget.data_bytes() / ROWS_PART;
                let is_dense = may_have_table && places / TABLE_RATIO <= count;
                let table = if is_dense && has_room { reserve(bytes).ok() } else { None };
                match table {
                    Some(paid) => {
                        let mut table = vec![0.0; places as usize * outputs];
                        for (i, &number) in numbers.iter().enumerate() {
                            table[number as usize * outputs..][..outputs].copy_from_slice(model.weights_of(i));
                        }
                        weights = Cow::Owned(table);
                        (Lookup::Table, paid)
                    }
                    None => (Lookup::Sorted(numbers), reserve(0)?),
                }
            }
            Features::Named(names) => {
                // A power of two of slots, with a byte of control each.
                let paid = reserve((count * 8).div_ceil(7).next_power_of_two().max(16) * 5 + 16)?;
                let mut places = HashTable::with_capacity(names.len());
                let hash_of = |&place: &u32| hash(names[place as usize].as_bytes());
                for place in 0..names.len() as u32 {
                    places.insert_unique(hash_of(&place), place, hash_of);
                }
                (Lookup::Names(names, places), paid)
            }
        };
        let Header { intercepts, unit_rows, hash_bits, .. } = &model.header;
        let (intercepts, unit_rows, hash_bits) = (intercepts.clone(), *unit_rows, *hash_bits);
        let has_all = model.header.named_features && model.header.features == count;
        Ok(Scorer { lookup, weights, intercepts, unit_rows, hash_bits, has_all, _paid: paid })
    }

    /// Scores of a row.
    pub fn outputs(&self) -> usize {
        self.intercepts.len()
    }

    fn weights_at(&self, place: Option<u32>) -> Option<&[f64]> {
        let outputs = self.outputs();
        let begin = (place? as usize).checked_mul(outputs)?;
        self.weights.get(begin..)?.get(..outputs)
    }

    /// Where the weights of a feature number are.
    #[inline]
    fn place_of_number(&self, number: u64) -> Option<u32> {
        let number = self.hash_bits.map_or(number, |bits| hashed_number(number, bits));
        match &self.lookup {
            Lookup::Table => u32::try_from(number).ok(),
            Lookup::Sorted(numbers) => numbers.binary_search(&number).ok().map(|place| place as u32),
            Lookup::Names(..) => None,
        }
    }

    /// Where the weights of a feature name are.
    fn place_of_name(&self, name: &[u8]) -> Option<u32> {
        match (&self.lookup, self.hash_bits) {
            (Lookup::Names(names, places), _) => {
                places.find(hash(name), |&place| names[place as usize].as_bytes() == name).copied()
            }
            (Lookup::Table, Some(bits)) => u32::try_from(hashed_name(name, bits)).ok(),
            (Lookup::Sorted(numbers), Some(bits)) => {
                numbers.binary_search(&hashed_name(name, bits)).ok().map(|place| place as u32)
            }
            _ => None,
        }
    }

    /// Replaces `places` by where the weights of the names of a batch are, to be found once for all of its rows.
    pub fn look_up(&self, batch: &RowBatch, places: &mut Vec<u32>) {
        places.clear();
        places.extend(batch.names.iter().map(|name| self.place_of_name(name).unwrap_or(NO_PLACE)));
    }

    /// How many of the values of a batch belong to features that training has not seen, if the model knows that: where
    /// some features have no weight, it has forgotten them.
    pub fn unseen(&self, batch: &RowBatch, places: &[u32]) -> u64 {
        if !self.has_all || !places.contains(&NO_PLACE) {
            return 0;
        }
        batch.keys.iter().filter(|&&key| places.get(key as usize) == Some(&NO_PLACE)).count() as u64
    }

    /// Appends the scores of these rows of `batch` to `scores`, one per output, side by side. Where features have names,
    /// `places` is what [`Scorer::look_up`] found.
    pub fn score(&self, batch: &RowBatch, places: &[u32], rows: Range<usize>, scores: &mut Vec<f64>) {
        match places.is_empty() {
            true => self.score_by(batch, rows, scores, |key| self.place_of_number(key)),
            false => self.score_by(batch, rows, scores, |key| places.get(key as usize).copied()),
        }
    }

    #[inline(always)]
    fn score_by(
        &self,
        batch: &RowBatch,
        rows: Range<usize>,
        scores: &mut Vec<f64>,
        place: impl Fn(u64) -> Option<u32>,
    ) {
        let outputs = self.outputs();
        let begin = scores.len();
        scores.resize(begin + rows.len() * outputs, 0.0);
        for (i, sums) in rows.zip(scores[begin..].chunks_exact_mut(outputs)) {
            let range = batch.range(i);
            let mut sq_norm = 0.0;
            let values = batch.keys[range.clone()].iter().zip(&batch.values[range]);
            // One output is by far the most usual, and a sum in a register is faster than one in memory.
            if let [sum] = sums {
                for (&key, &value) in values {
                    let weight = place(key).and_then(|place| self.weights.get(place as usize)).copied();
                    *sum += weight.unwrap_or(0.0) * value;
                    sq_norm += value * value;
                }
            } else {
                for (&key, &value) in values {
                    if let Some(weights) = self.weights_at(place(key)) {
                        sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight * value);
                    }
                    sq_norm += value * value;
                }
            }
            let length = if self.unit_rows && sq_norm > 0.0 { f64::sqrt(sq_norm) } else { 1.0 };
            sums.iter_mut().zip(&self.intercepts).for_each(|(sum, intercept)| *sum = *sum / length + intercept);
        }
    }

    /// Weights by column for the rows of a store, whose features may be others than those of training, one per output
    /// side by side; and the intercepts.
    ///
    /// Rows of the store are scaled already, so scaling is taken out of the weights again.
    pub fn for_store(&self, mut features: Columns) -> Result<(Vec<f64>, Vec<f64>), StoreError> {
        let outputs = self.outputs();
        let mut intercepts = self.intercepts.clone();
        let mut weights = vec![0.0; features.len() as usize * outputs];
        for here in weights.chunks_mut(outputs) {
            let Some((name, scaling)) = features.next()? else { break };
            let place = match name {
                FeatureName::Number(number) => self.place_of_number(number),
                FeatureName::Name(name) => self.place_of_name(name.as_bytes()),
            };
            let Some(raw) = self.weights_at(place) else { continue };
            here.copy_from_slice(raw);
            // stored = (raw - shift)·factor, so weight·raw = (weight/factor)·stored + weight·shift
            if let Some(Scaling { shift, factor }) = scaling.filter(|scaling| scaling.factor != 0.0) {
                for (weight, intercept) in here.iter_mut().zip(&mut intercepts) {
                    *intercept += *weight * shift;
                    *weight /= factor;
                }
            }
        }
        Ok((weights, intercepts))
    }
}

fn hash(name: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(name)
}

/// The class that the scores of a row speak for: the second of two where there is one score.
pub fn class(scores: &[f64]) -> usize {
    match scores {
        [score] => usize::from(*score > 0.0),
        many => (0..many.len()).fold(0, |best, m| if many[m] > many[best] { m } else { best }),
    }
}

/// The predicted label, or numbers with blanks between them.
pub fn label<'t>(targets: &'t Targets, scores: &[f64]) -> Cow<'t, str> {
    match targets {
        Targets::Numbers | Targets::Several { .. } => {
            scores.iter().map(f64::to_string).collect::<Vec<_>>().join(" ").into()
        }
        _ => targets.names()[class(scores)].as_str().into(),
    }
}

/// The probability of the positive class, for the logistic loss.
pub fn probability(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// Replaces the scores of a row by the probabilities of all classes: those of softmax, or those of the single models
/// divided by their sum.
pub fn probabilities(targets: &Targets, scores: &[f64], out: &mut Vec<f64>) {
    out.clear();
    match targets.multiclass() {
        // Each from its own side, so that the smaller one keeps its digits.
        None => out.extend([probability(-scores[0]), probability(scores[0])]),
        Some(Multiclass::OneVsRest) => out.extend(scores.iter().map(|&score| probability(score))),
        Some(_) => {
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            out.extend(scores.iter().map(|score| (score - most).exp()));
        }
    }
    divide_by_sum(out);
}

/// Makes numbers that are 0 or more sum up to 1; all the same if none is above 0.
pub(crate) fn divide_by_sum(chances: &mut [f64]) {
    let sum: f64 = chances.iter().sum();
    let (count, even) = (chances.len() as f64, sum <= 0.0);
    chances.iter_mut().for_each(|p| *p = if even { 1.0 / count } else { *p / sum });
}
