//! Features of a stream become columns, and rows become blocks.
use std::io::Read;
use std::path::Path;

use crate::data::hashing::{hashed_name, hashed_number};

use crate::block::{Block, RowInfo};
use crate::budget::Budget;
use crate::input::RowBatch;
use crate::model;
use crate::pack::Features;
use crate::store::StoreError;

/// Which column a feature has.
pub enum Columns {
    /// The next one when it is first seen.
    Seen(Box<Features>),
    /// What a hash of its name says, with this many bits.
    Hashed(u32),
}

impl Columns {
    /// No feature yet; names, if features have them, go to a nameless file in `folder`.
    pub fn new(named: bool, hash_bits: Option<u32>, folder: &Path, budget: &Budget) -> Result<Self, StoreError> {
        Ok(match hash_bits {
            Some(bits) => Columns::Hashed(bits),
            None => Columns::Seen(Box::new(Features::new(named, folder, budget)?)),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Columns::Seen(features) => features.len(),
            Columns::Hashed(bits) => 1 << bits,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces the keys of a batch by columns.
    pub fn resolve(&mut self, batch: &mut RowBatch, budget: &Budget) -> Result<(), StoreError> {
        match self {
            Columns::Seen(features) => features.resolve(batch, &mut 0, budget),
            Columns::Hashed(bits) => {
                let names: Vec<u64> = batch.names.iter().map(|name| hashed_name(name, *bits)).collect();
                let named = !names.is_empty();
                for key in &mut batch.keys {
                    *key = if named { names[*key as usize] } else { hashed_number(*key, *bits) };
                }
                sum_duplicates(batch);
                Ok(())
            }
        }
    }

    /// The features by column, for a model.
    pub fn names(&mut self) -> Result<model::Features, StoreError> {
        let features = match self {
            Columns::Hashed(bits) => return Ok(model::Features::Numbered((0..1u64 << *bits).collect())),
            Columns::Seen(features) => features,
        };
        let Some((ends, file)) = features.names()? else {
            return Ok(model::Features::Numbered(features.numbers().to_vec()));
        };
        let failed = StoreError::io(Path::new("feature names"), "read them");
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let starts = std::iter::once(0).chain(ends.iter().map(|&end| end as usize));
        let name = |(start, &end): (usize, &u64)| String::from_utf8_lossy(&text[start..end as usize]).into_owned();
        Ok(model::Features::Named(starts.zip(ends).map(name).collect()))
    }
}

/// Features of one row that share a column become one value: ‖x‖² has to be that of the row that the weights see.
fn sum_duplicates(batch: &mut RowBatch) {
    let mut entries: Vec<(u64, f64)> = Vec::new();
    let (mut to, mut start) = (0, 0);
    for end in &mut batch.ends {
        entries.clear();
        entries.extend(batch.keys[start..*end].iter().copied().zip(batch.values[start..*end].iter().copied()));
        start = *end;
        entries.sort_unstable_by_key(|entry| entry.0);
        let row = to;
        for &(key, value) in &entries {
            if to > row && batch.keys[to - 1] == key {
                batch.values[to - 1] += value;
            } else {
                (batch.keys[to], batch.values[to]) = (key, value);
                to += 1;
            }
        }
        *end = to;
    }
    batch.keys.truncate(to);
    batch.values.truncate(to);
}

/// Appends row `i` of a batch whose keys are columns; `label` is its class or number.
pub fn push(block: &mut Block, batch: &RowBatch, i: usize, label: f64, id: u64) {
    let range = batch.range(i);
    let weight = batch.weights.get(i).copied().unwrap_or(1.0);
    let group = batch.groups.get(i).copied().unwrap_or(0);
    let columns = batch.keys[range.clone()].iter().map(|&key| key as u32);
    block.push_arrays(RowInfo { label, weight, group, id }, columns, batch.values[range].iter().copied());
}
