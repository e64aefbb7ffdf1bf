//! Numbering features of which not all fit into memory.
//!
//! The rows come in eras. In each, features get ids as they are first seen; when there is no room for more, the era
//! ends: its features go to disk with their counts, its rows with the ids of the era, and the table is empty again. At
//! the end a feature is known by several ids, one of each era that has seen it. Features are parted by their hash, so
//! that the ones of a part fit into memory:
//!
//! ```text
//! join      each part alone: the same feature in several eras ─► one number within the part, and the sum of its counts
//! assign    all ids in the order in which they came: a feature that comes for the first time gets its column,
//!           behind those of its count that came before, and its key goes to the feature map;
//!           or all parts together, each sorted, in the order of feature numbers
//! tell      each part alone: the column of each id, and how it is scaled
//! ```
//! Then the rows of an era need only the columns of its ids. Every step reads and writes in order; what is held is a
//! part of the features and buffers. Columns are those that a table of all features would give.
//!
//! Sums over the values of a feature must not depend on where eras end. Those of the first era are added up in memory;
//! later values go to disk with the place of their feature, and are added one by one when its part is joined.
mod assign;
mod join;
mod tell;

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::PackError;
use super::keys::{Key, Keys};
use super::scale::{Pair, Placed, Rule};
use super::select::Selection;
use super::streams::{StreamReader, Streams};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::input::RowBatch;
use crate::store::StoreError;
use crate::store::features::Scaling;
use assign::Assigner;
use join::Joined;
pub use tell::Numbering;

/// Parts by hash. A part of features takes some 60 bytes for each, and so about a byte for each of all.
const PARTS: usize = 64;
/// Which part each id belongs to, and the length of its name, are streams of their own.
const PART_OF: usize = PARTS;
const LENGTHS: usize = PARTS + 1;
/// Values of each part, where they have to be seen.
const VALUES: usize = PARTS + 2;

/// In which order features get columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnOrder {
    /// The most frequent ones first; among equals, as they were first seen.
    ByCount,
    /// As they were first seen.
    AsSeen,
    /// By their number.
    ByNumber,
}

/// Features of eras that have ended.
pub struct Eras {
    folder: PathBuf,
    named: bool,
    rule: Rule,
    streams: Streams,
    /// Features of each era.
    sizes: Vec<u32>,
    /// Ids in each part.
    records: Vec<u64>,
    /// Features of older generations, which came first; in all, and in each part.
    old: u64,
    old_in_part: Vec<u32>,
    /// Where the features of this era will be, by id, and how many of each part have a place.
    places: Vec<RecordPlace>,
    placed: Vec<u64>,
    paid: Reservation,
}

/// Where a feature will be when its era ends.
#[derive(Clone, Copy)]
struct RecordPlace {
    record: u32,
    part: u8,
}

/// Is told the key and the column of a feature, which may be [`DROPPED`](super::select::DROPPED), and says how it is
/// scaled.
pub type Place<'a> = &'a mut dyn FnMut(FeatureKey<'_>, &Placed) -> Result<Scaling, PackError>;

/// What a feature is called.
#[derive(Clone, Copy, Debug)]
pub enum FeatureKey<'a> {
    /// Its number.
    Number(u64),
    /// Its name.
    Name(&'a [u8]),
}

impl std::fmt::Display for FeatureKey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FeatureKey::Number(number) => number.fmt(f),
            FeatureKey::Name(name) => String::from_utf8_lossy(name).fmt(f),
        }
    }
}

fn stream_count(rule: Rule) -> usize {
    if rule.sees_values() { VALUES + PARTS } else { VALUES }
}

/// What ending an era takes, whenever that will be.
pub fn ending_bytes(rule: Rule, budget: &Budget) -> u64 {
    Streams::needed_bytes(stream_count(rule), budget)
}

impl Eras {
    /// No era has ended. The first `old` features that come are of older generations.
    pub fn new(named: bool, rule: Rule, old: u64, folder: &Path, budget: &Budget) -> Result<Self, StoreError> {
        Ok(Eras {
            folder: folder.to_path_buf(),
            named,
            rule,
            streams: Streams::new(folder, stream_count(rule), budget)?,
            sizes: Vec::new(),
            records: vec![0; PARTS],
            old,
            old_in_part: vec![0; PARTS],
            places: Vec::new(),
            placed: vec![0; PARTS],
            paid: budget.reserve("places of features", 0)?,
        })
    }

    /// What places of this era take.
    pub fn place_bytes(&self) -> u64 {
        self.paid.bytes()
    }

    /// How many have ended.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Ends an era with these features in the order of their ids: key, count, length of the name, and what is known of
    /// its values.
    pub fn end_era(&mut self, features: impl Iterator<Item = (Key, u32, u32, Pair)>) -> Result<(), StoreError> {
        let before: u64 = self.sizes.iter().map(|&size| u64::from(size)).sum();
        let mut size = 0;
        for (key, count, length, pair) in features {
            let part = key.part(PARTS);
            self.streams.append(PART_OF, &[part as u8])?;
            match key {
                Key::Number(number) => self.streams.append(part, &number.to_le_bytes())?,
                Key::Name(hash) => {
                    self.streams.append(part, &hash.to_le_bytes())?;
                    self.streams.append(LENGTHS, &length.to_le_bytes())?;
                }
            }
            self.streams.append(part, &count.to_le_bytes())?;
            if self.rule.is_some() {
                append_pair(&mut self.streams, part, pair)?;
            }
            self.records[part] += 1;
            self.old_in_part[part] += u32::from(before + u64::from(size) < self.old);
            size += 1;
        }
        self.sizes.push(size);
        self.places = Vec::new();
        self.placed.clone_from(&self.records);
        Ok(self.paid.resize(0)?)
    }

    /// Finds places for all features of this era. Nothing changes where the budget says no.
    pub fn find_places(&mut self, keys: &Keys) -> Result<(), BudgetError> {
        if keys.len() > self.places.capacity() {
            let room = keys.len() + keys.len() / 2;
            self.paid.resize((room * size_of::<RecordPlace>()) as u64)?;
            self.places.reserve_exact(room - self.places.len());
        }
        for id in self.places.len()..keys.len() {
            let part = keys.key(id).part(PARTS);
            self.places.push(RecordPlace { record: self.placed[part] as u32, part: part as u8 });
            self.placed[part] += 1;
        }
        Ok(())
    }

    /// Puts the values of a batch aside, whose keys are ids with places.
    pub fn add_values(&mut self, batch: &RowBatch) -> Result<(), StoreError> {
        for (&id, &value) in batch.keys.iter().zip(&batch.values) {
            let RecordPlace { record, part } = self.places[id as usize];
            let stream = VALUES + part as usize;
            self.streams.append(stream, &record.to_le_bytes())?;
            self.streams.append(stream, &value.to_le_bytes())?;
        }
        Ok(())
    }

    /// The columns of all features, or of those that `selection` keeps; `place` is told of each of them. `names` holds
    /// the names of all eras, one behind the other.
    pub fn number(
        mut self,
        order: ColumnOrder,
        mut names: Option<&mut File>,
        mut selection: Option<&mut Selection>,
        place: Place,
        budget: &Budget,
    ) -> Result<Numbering, PackError> {
        self.streams.end_writing()?;
        let mut joined = Joined::new(&self, order, budget)?;
        if let Some(selection) = selection.as_deref_mut() {
            joined.select(&self, selection, names.as_deref_mut(), budget)?;
        }
        let length = names.as_ref().map_or(Ok(0), |file| file.metadata().map(|metadata| metadata.len()));
        let name_bytes = length.map_err(StoreError::io(Path::new("feature names"), "read them"))?;
        let mut assigner = Assigner::new(&self, &joined, name_bytes, selection, place, budget)?;
        match order {
            ColumnOrder::ByNumber => assigner.by_number(budget)?,
            ColumnOrder::ByCount | ColumnOrder::AsSeen => assigner.as_they_came(order, names, budget)?,
        }
        let (columns, keys) = assigner.finish()?;
        let told = tell::tell(&self, &joined, &columns, budget)?;
        let Joined { columns: features, largest, .. } = joined;
        let drops = features < joined.features;
        Ok(Numbering { eras: self, told, features, drops, largest, keys })
    }
}

fn append_pair(streams: &mut Streams, s: usize, (a, b): Pair) -> Result<(), StoreError> {
    streams.append(s, &a.to_le_bytes())?;
    streams.append(s, &b.to_le_bytes())
}

fn read_pair(reader: &mut StreamReader) -> Result<Pair, StoreError> {
    Ok((reader.f64()?, reader.f64()?))
}

fn read_all<'a>(
    streams: &'a Streams,
    which: Range<usize>,
    budget: &Budget,
) -> Result<Vec<StreamReader<'a>>, StoreError> {
    which.map(|s| Ok(streams.read(s, budget)?)).collect()
}
