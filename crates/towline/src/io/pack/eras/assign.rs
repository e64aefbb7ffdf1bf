//! Features get columns.
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use super::super::PackError;
use super::super::by_column::ByColumn;
use super::super::keys::too_many;
use super::super::scale::Placed;
use super::super::select::{DROPPED, Placing, Selection};
use super::super::streams::{StreamReader, Streams};
use super::join::{Feature, Joined};
use super::{ColumnOrder, Eras, FeatureKey, LENGTHS, PART_OF, PARTS, Place, append_pair, read_all};
use crate::budget::{Budget, Reservation};
use crate::store::StoreError;

/// Notes the column of each feature.
pub struct Assigner<'a> {
    eras: &'a Eras,
    joined: &'a Joined,
    place: Place<'a>,
    /// By part the number of each feature within the part, its column, and how it is scaled.
    columns: Streams,
    /// New features, by column counted from the first new one; with how they are scaled behind the key.
    keys: ByColumn,
    key: Vec<u8>,
    /// Which features get columns, if not all do.
    selection: Option<&'a mut Selection>,
}

impl<'a> Assigner<'a> {
    /// `name_bytes` is what all names take, if features have them.
    pub fn new(
        eras: &'a Eras,
        joined: &'a Joined,
        name_bytes: u64,
        selection: Option<&'a mut Selection>,
        place: Place<'a>,
        budget: &Budget,
    ) -> Result<Self, StoreError> {
        let scale_bytes = if eras.rule.is_some() { 16 * joined.features } else { 0 };
        let key_bytes = if eras.named { name_bytes } else { 8 * joined.features };
        let keys = ByColumn::new(joined.columns - eras.old, key_bytes + scale_bytes, &eras.folder, budget)?;
        let columns = Streams::new(&eras.folder, PARTS, budget)?;
        Ok(Assigner { eras, joined, place, columns, keys, key: Vec::new(), selection })
    }

    /// Features in the order in which they were first seen.
    pub fn as_they_came(
        &mut self,
        order: ColumnOrder,
        names: Option<&mut File>,
        budget: &Budget,
    ) -> Result<(), PackError> {
        let (eras, joined) = (self.eras, self.joined);
        let mut next = NextColumn::new(order, eras.old as u32, &joined.counts);
        let mut old = 0..eras.old as u32;
        let rare_columns = self.selection.as_ref().map_or(0, |selection| selection.rare_columns()) as u32;
        each_feature(eras, joined, names, budget, |part, feature, name, _| {
            if let Some(column) = old.next() {
                return self.assign(part, feature, name, (column, false));
            }
            let rare = |of: u32| joined.columns as u32 - rare_columns + of;
            let (column, names_it) = match self.placing(feature, name)? {
                Placing::Column => (next.of(feature.count)?, true),
                Placing::Dropped => (DROPPED, false),
                Placing::Rare(of) => (rare(of), false),
                Placing::RareItself(of) => (rare(of), true),
            };
            self.assign(part, feature, name, (column, names_it))
        })
    }

    fn placing(&mut self, feature: &Feature, name: Option<&[u8]>) -> Result<Placing, StoreError> {
        let key = name.map_or(FeatureKey::Number(feature.number), FeatureKey::Name);
        match &mut self.selection {
            Some(selection) => Ok(selection.place(key, feature.count)?),
            None => Ok(Placing::Column),
        }
    }

    /// Features in the order of their numbers, those of older generations before them.
    pub fn by_number(&mut self, budget: &Budget) -> Result<(), PackError> {
        let (eras, joined) = (self.eras, self.joined);
        let kind = (eras.named, eras.rule);
        let mut features = read_all(&joined.streams, PARTS..2 * PARTS, budget)?;
        let mut left: Vec<u64> = (0..PARTS).map(|part| joined.streams.bytes(PARTS + part)).collect();
        let feature_bytes = 4 + 4 + 8 + if eras.rule.is_some() { 16 } else { 0 };
        let mut read = |part: usize| -> Result<Option<Feature>, StoreError> {
            if left[part] == 0 {
                return Ok(None);
            }
            left[part] -= feature_bytes;
            Feature::read(kind, &mut features[part]).map(Some)
        };
        let mut part_of = eras.streams.read(PART_OF, budget)?;
        for column in 0..eras.old as u32 {
            let part = part_of.u8()? as usize;
            if let Some(feature) = read(part)? {
                self.assign(part, &feature, None, (column, false))?;
            }
        }
        let (mut heads, mut least) = (Vec::new(), BinaryHeap::new());
        for part in 0..PARTS {
            let head = read(part)?;
            least.extend(head.iter().map(|feature| Reverse((feature.number, part))));
            heads.push(head);
        }
        let mut columns = eras.old as u32..;
        while let Some(Reverse((_, part))) = least.pop() {
            let after = read(part)?;
            least.extend(after.iter().map(|feature| Reverse((feature.number, part))));
            let Some(feature) = std::mem::replace(&mut heads[part], after) else { continue };
            let keeps = self.placing(&feature, None)? == Placing::Column;
            let column = if keeps { columns.next() } else { None };
            self.assign(part, &feature, None, (column.unwrap_or(DROPPED), keeps))?;
        }
        Ok(())
    }

    /// Gives a feature its column, and the column its name if it is new and this is it.
    fn assign(
        &mut self,
        part: usize,
        feature: &Feature,
        name: Option<&[u8]>,
        (column, names_it): (u32, bool),
    ) -> Result<(), PackError> {
        let key = name.map_or(FeatureKey::Number(feature.number), FeatureKey::Name);
        let placed = Placed { column, count: feature.count, pair: feature.pair };
        let scaling = (self.place)(key, &placed)?;
        self.columns.append(part, &feature.id.to_le_bytes())?;
        self.columns.append(part, &column.to_le_bytes())?;
        self.key.clear();
        self.key.extend_from_slice(name.unwrap_or(&feature.number.to_le_bytes()));
        if self.eras.rule.is_some() {
            append_pair(&mut self.columns, part, (scaling.shift, scaling.factor))?;
            self.key.extend_from_slice(&scaling.to_bytes());
        }
        let old = self.eras.old as u32;
        if names_it {
            self.keys.add(column - old, &self.key)?;
        }
        Ok(())
    }

    /// The columns by part, and the keys by column.
    pub fn finish(mut self) -> Result<(Streams, ByColumn), StoreError> {
        self.keys.end_writing()?;
        self.columns.end_writing()?;
        Ok((self.columns, self.keys))
    }
}

/// Calls `each` with the part, the feature, its name if it has one, and whether it is of an older generation, for all
/// features in the order in which they were first seen.
pub fn each_feature<E: From<StoreError>>(
    eras: &Eras,
    joined: &Joined,
    names: Option<&mut File>,
    budget: &Budget,
    mut each: impl FnMut(usize, &Feature, Option<&[u8]>, bool) -> Result<(), E>,
) -> Result<(), E> {
    let mut ids = read_all(&joined.streams, 0..PARTS, budget)?;
    let mut features = read_all(&joined.streams, PARTS..2 * PARTS, budget)?;
    let mut part_of = eras.streams.read(PART_OF, budget).map_err(StoreError::from)?;
    let mut names = names.map(|file| Names::new(file, &eras.streams, budget)).transpose()?;
    let (mut seen, mut first_seen) = ([0; PARTS], 0);
    for _ in 0..eras.records.iter().sum() {
        let part = part_of.u8()? as usize;
        let is_new = ids[part].u32()? == seen[part];
        let name = names.as_mut().map(Names::next).transpose()?;
        if !is_new {
            continue;
        }
        let feature = Feature::read((eras.named, eras.rule), &mut features[part])?;
        seen[part] += 1;
        first_seen += 1;
        each(part, &feature, name, first_seen <= eras.old)?;
    }
    Ok(())
}

/// Columns in the order in which features ask for them.
struct NextColumn {
    /// The next one of each count, if counts matter; columns of a count follow those of all larger counts.
    by_count: Option<BTreeMap<u32, u32>>,
    next: u32,
}

impl NextColumn {
    fn new(order: ColumnOrder, first: u32, counts: &BTreeMap<u32, u32>) -> Self {
        let mut sum = first;
        let by_count = (order == ColumnOrder::ByCount).then(|| {
            let starts = counts.iter().rev().map(|(&count, &features)| {
                let start = sum;
                sum += features;
                (count, start)
            });
            starts.collect()
        });
        NextColumn { by_count, next: first }
    }

    fn of(&mut self, count: u32) -> Result<u32, StoreError> {
        let next = match &mut self.by_count {
            None => Some(&mut self.next),
            Some(by_count) => by_count.get_mut(&count),
        };
        let Some(next) = next else { return Err(too_many().into()) };
        Ok(std::mem::replace(next, *next + 1))
    }
}

/// Names of all ids, one after the other.
struct Names<'a> {
    text: BufReader<&'a mut File>,
    lengths: StreamReader<'a>,
    name: Vec<u8>,
    paid: Reservation,
}

impl<'a> Names<'a> {
    fn new(file: &'a mut File, streams: &'a Streams, budget: &Budget) -> Result<Self, StoreError> {
        file.rewind().map_err(StoreError::io(Path::new("feature names"), "read them"))?;
        let paid = budget.reserve("a feature name", 8 << 10)?;
        Ok(Names { text: BufReader::new(file), lengths: streams.read(LENGTHS, budget)?, name: Vec::new(), paid })
    }

    fn next(&mut self) -> Result<&[u8], StoreError> {
        let length = self.lengths.u32()?;
        self.paid.grow_to((8 << 10) + u64::from(length))?;
        self.name.resize(length as usize, 0);
        let read = self.text.read_exact(&mut self.name);
        read.map_err(StoreError::io(Path::new("feature names"), "read them"))?;
        Ok(&self.name)
    }
}
