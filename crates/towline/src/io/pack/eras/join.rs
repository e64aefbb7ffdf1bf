//! The same feature in several eras is one.
use std::collections::BTreeMap;
use std::fs::File;

use super::super::keys::{Key, Keys, too_many};
use super::super::scale::{Pair, Rule};
use super::super::select::Selection;
use super::super::streams::{StreamReader, Streams};
use super::assign::each_feature;
use super::{ColumnOrder, Eras, FeatureKey, PARTS, VALUES, append_pair, read_pair};
use crate::budget::{Budget, Reservation};
use crate::store::StoreError;

/// Features by part.
pub struct Joined {
    /// By part the numbers of its ids within the part, in the order of the ids; and its features as [`Feature::write`]
    /// has them: those of older generations first, and new ones in the order of their numbers if columns will be.
    pub streams: Streams,
    /// How many new features have each count.
    pub counts: BTreeMap<u32, u32>,
    /// The largest new feature number.
    pub largest: u64,
    /// Features in all.
    pub features: u64,
    /// Those that get columns, and those that have them already.
    pub columns: u64,
}

/// A feature of a part.
pub struct Feature {
    /// Its number within the part.
    pub id: u32,
    pub count: u32,
    /// The feature number; 0 if it has a name.
    pub number: u64,
    /// What is known of its values.
    pub pair: Pair,
}

impl Feature {
    fn write(&self, (named, rule): (bool, Rule), s: usize, streams: &mut Streams) -> Result<(), StoreError> {
        streams.append(s, &self.id.to_le_bytes())?;
        streams.append(s, &self.count.to_le_bytes())?;
        if !named {
            streams.append(s, &self.number.to_le_bytes())?;
        }
        if rule.is_some() { append_pair(streams, s, self.pair) } else { Ok(()) }
    }

    /// The next one.
    pub fn read((named, rule): (bool, Rule), reader: &mut StreamReader) -> Result<Self, StoreError> {
        Ok(Feature {
            id: reader.u32()?,
            count: reader.u32()?,
            number: if named { 0 } else { reader.u64()? },
            pair: if rule.is_some() { read_pair(reader)? } else { rule.start() },
        })
    }
}

impl Joined {
    /// Joins all parts.
    pub fn new(eras: &Eras, order: ColumnOrder, budget: &Budget) -> Result<Self, StoreError> {
        let streams = Streams::new(&eras.folder, 2 * PARTS, budget)?;
        let mut joined = Joined { streams, counts: BTreeMap::new(), largest: 0, features: 0, columns: 0 };
        for part in 0..PARTS {
            joined.join(eras, part, order, budget)?;
        }
        if joined.features > u64::from(u32::MAX) {
            return Err(too_many().into());
        }
        joined.streams.end_writing()?;
        joined.columns = joined.features;
        Ok(joined)
    }

    /// Only the features that `selection` keeps will get columns, and rare levels behind them.
    pub fn select(
        &mut self,
        eras: &Eras,
        selection: &mut Selection,
        names: Option<&mut File>,
        budget: &Budget,
    ) -> Result<(), StoreError> {
        let mut largest = 0;
        each_feature(eras, self, names, budget, |_, feature, name, is_old| {
            let key = name.map_or(FeatureKey::Number(feature.number), FeatureKey::Name);
            selection.survey(key, feature.count, is_old);
            if !is_old && selection.is_frequent(feature.count) {
                largest = largest.max(feature.number);
            }
            Ok::<_, StoreError>(())
        })?;
        self.largest = largest;
        self.counts = selection.decide();
        let own = self.counts.values().map(|&features| u64::from(features)).sum::<u64>();
        self.columns = eras.old + own + selection.rare_columns() as u64;
        Ok(())
    }

    fn join(&mut self, eras: &Eras, part: usize, order: ColumnOrder, budget: &Budget) -> Result<(), StoreError> {
        let mut reader = eras.streams.read(part, budget)?;
        let mut keys = Keys::new(eras.named, budget)?;
        let mut known = PartStatistics::new(eras.rule, eras.records[part], budget)?;
        for _ in 0..eras.records[part] {
            let key = if eras.named { Key::Name(reader.u128()?) } else { Key::Number(reader.u64()?) };
            let id = keys.add(key, reader.u32()?)?;
            self.streams.append(part, &id.to_le_bytes())?;
            if eras.rule.is_some() {
                known.record(id, read_pair(&mut reader)?);
            }
        }
        if eras.rule.sees_values() {
            known.add_values(&mut eras.streams.read(VALUES + part, budget)?, eras.streams.bytes(VALUES + part))?;
        }
        let old = eras.old_in_part[part] as usize;
        let (ids, _paid) = in_order(&keys, old, order, budget)?;
        for id in ids {
            let (key, count) = (keys.key(id as usize), keys.counts()[id as usize]);
            let number = if let Key::Number(number) = key { number } else { 0 };
            let feature = Feature { id, count, number, pair: known.pair(id) };
            feature.write((eras.named, eras.rule), PARTS + part, &mut self.streams)?;
            if id as usize >= old {
                self.largest = self.largest.max(number);
                *self.counts.entry(count).or_default() += 1;
            }
        }
        self.features += keys.len() as u64;
        Ok(())
    }
}

/// The ids of a part, new ones by their number if columns will be, and what pays for a list of them.
type OrderedIds = (Box<dyn Iterator<Item = u32>>, Option<Reservation>);

fn in_order(keys: &Keys, old: usize, order: ColumnOrder, budget: &Budget) -> Result<OrderedIds, StoreError> {
    let ids = 0..keys.len() as u32;
    if order != ColumnOrder::ByNumber {
        return Ok((Box::new(ids), None));
    }
    let paid = budget.reserve("features in the order of their numbers", 4 * u64::from(ids.end))?;
    let mut sorted: Vec<u32> = ids.collect();
    sorted[old..].sort_unstable_by_key(|&id| keys.numbers()[id as usize]);
    Ok((Box::new(sorted.into_iter()), Some(paid)))
}

/// What is known of the values of a part's features.
struct PartStatistics {
    rule: Rule,
    pairs: Vec<Pair>,
    /// The feature of each record.
    ids: Vec<u32>,
    _paid: Reservation,
}

impl PartStatistics {
    fn new(rule: Rule, records: u64, budget: &Budget) -> Result<Self, StoreError> {
        let records = if rule.is_some() { records } else { 0 };
        let paid = budget.reserve("feature statistics", records * (16 + 4))?;
        let (pairs, ids) = (Vec::with_capacity(records as usize), Vec::with_capacity(records as usize));
        Ok(PartStatistics { rule, pairs, ids, _paid: paid })
    }

    /// Only the first era that has seen a feature knows something.
    fn record(&mut self, id: u32, pair: Pair) {
        if id as usize == self.pairs.len() {
            self.pairs.push(pair);
        }
        self.ids.push(id);
    }

    /// Values of later eras, in the order of the rows.
    fn add_values(&mut self, reader: &mut StreamReader, bytes: u64) -> Result<(), StoreError> {
        for _ in 0..bytes / 12 {
            let (record, value) = (reader.u32()?, reader.f64()?);
            let pair = &mut self.pairs[self.ids[record as usize] as usize];
            *pair = self.rule.add(*pair, value);
        }
        Ok(())
    }

    fn pair(&self, id: u32) -> Pair {
        self.pairs.get(id as usize).copied().unwrap_or(self.rule.start())
    }
}
