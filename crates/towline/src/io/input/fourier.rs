//! Rows of any source, mapped while they are read: which features there will be is not known, so frequencies are kept
//! by their keys.
use rustc_hash::FxHashMap;

use super::{InputError, RowBatch, RowSource};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::fourier::{Angles, FourierMap};
use crate::schema::Schema;

/// Values of a batch, so that a few hundred bytes of text do not become a gigabyte of features.
const BATCH_VALUES: usize = 1 << 18;
/// The part of the budget that may hold entries of ω; beyond it they are made again.
const CACHE_SHARE: u64 = 8;
/// And at most this many bytes.
const MOST_CACHE_BYTES: u64 = 256 << 20;

/// The rows of `source`, mapped if there is a map.
pub fn mapped(
    map: Option<FourierMap>,
    source: Box<dyn RowSource>,
    budget: &Budget,
) -> Result<Box<dyn RowSource>, BudgetError> {
    Ok(match map {
        None => source,
        Some(map) => Box::new(FourierSource::new(map, source, budget)?),
    })
}

/// Another source, its rows mapped.
pub struct FourierSource {
    map: FourierMap,
    source: Box<dyn RowSource>,
    named: bool,
    /// Rows as they were, and how many of them have been mapped.
    raw: RowBatch,
    mapped: usize,
    cache: FxHashMap<u64, Vec<f32>>,
    most_cached: usize,
    angles: Angles,
    /// Entries of ω that are not kept.
    scratch: Vec<f32>,
    _paid: Reservation,
}

impl FourierSource {
    /// Maps the rows of `source`.
    pub fn new(map: FourierMap, source: Box<dyn RowSource>, budget: &Budget) -> Result<Self, BudgetError> {
        let features = u64::from(map.features());
        // Two vectors of doubles, one of floats, and a batch of keys and values.
        let fixed = features * 20 + 16 * (BATCH_VALUES as u64 + features);
        let cache_bytes = (budget.free_bytes().saturating_sub(fixed) / CACHE_SHARE).min(MOST_CACHE_BYTES);
        let entry_bytes = 4 * features + 64;
        Ok(FourierSource {
            named: source.features_are_named(),
            source,
            raw: RowBatch::default(),
            mapped: 0,
            cache: FxHashMap::default(),
            most_cached: (cache_bytes / entry_bytes) as usize,
            angles: Angles::new(&map),
            scratch: Vec::new(),
            _paid: budget.reserve("random Fourier features", fixed + cache_bytes)?,
            map,
        })
    }

    fn map_row(&mut self, i: usize) {
        self.angles.begin();
        for at in self.raw.range(i) {
            let (feature, value) = (self.raw.keys[at], self.raw.values[at]);
            let key = match self.named {
                true => self.map.key_of_name(self.raw.names.get(feature as usize)),
                false => self.map.key_of_number(feature),
            };
            if self.cache.len() < self.most_cached {
                let (map, scratch) = (&self.map, &mut self.scratch);
                self.cache.entry(key).or_insert_with(|| {
                    map.frequencies(key, scratch);
                    scratch.clone()
                });
            }
            let frequencies = match self.cache.get(&key) {
                Some(known) => known,
                None => {
                    self.map.frequencies(key, &mut self.scratch);
                    &self.scratch
                }
            };
            self.angles.add(frequencies, value);
        }
    }
}

impl RowSource for FourierSource {
    fn next_batch(&mut self, batch: &mut RowBatch) -> Result<bool, InputError> {
        batch.clear();
        while self.mapped == self.raw.rows() {
            self.mapped = 0;
            if !self.source.next_batch(&mut self.raw)? {
                self.raw.clear();
                return Ok(false);
            }
        }
        let features = self.map.features() as usize;
        let rows = (BATCH_VALUES / features).max(1).min(self.raw.rows() - self.mapped);
        for i in self.mapped..self.mapped + rows {
            self.map_row(i);
            batch.keys.extend(1..=features as u64);
            batch.values.extend_from_slice(self.angles.features());
            batch.further.extend_from_slice(self.raw.further_of(i));
            batch.end_row(self.raw.labels[i]);
        }
        let part = self.mapped..self.mapped + rows;
        if !self.raw.weights.is_empty() {
            batch.weights.extend_from_slice(&self.raw.weights[part.clone()]);
        }
        if !self.raw.groups.is_empty() {
            batch.groups.extend_from_slice(&self.raw.groups[part]);
        }
        batch.classes = self.raw.classes.clone();
        self.mapped += rows;
        Ok(true)
    }

    fn features_are_named(&self) -> bool {
        false
    }

    fn target_names(&self) -> Vec<String> {
        self.source.target_names()
    }

    fn remarks(&self) -> Vec<String> {
        self.source.remarks()
    }

    fn schema(&self) -> Option<Schema> {
        self.source.schema()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out its batches.
    struct Ready(Vec<RowBatch>, bool);

    impl RowSource for Ready {
        fn next_batch(&mut self, batch: &mut RowBatch) -> Result<bool, InputError> {
            let next = self.0.pop();
            let found = next.is_some();
            *batch = next.unwrap_or_default();
            Ok(found)
        }

        fn features_are_named(&self) -> bool {
            self.1
        }
    }

    fn batch(rows: &[&[(u64, f64)]]) -> RowBatch {
        let mut batch = RowBatch::default();
        for (label, row) in rows.iter().enumerate() {
            row.iter().for_each(|&(key, value)| {
                batch.keys.push(key);
                batch.values.push(value);
            });
            batch.end_row(label as f64);
        }
        batch
    }

    fn map_all(map: FourierMap, batches: Vec<RowBatch>, budget: &Budget) -> Vec<Vec<f64>> {
        let mut source = FourierSource::new(map, Box::new(Ready(batches, false)), budget).unwrap();
        let (mut batch, mut rows) = (RowBatch::default(), Vec::new());
        while source.next_batch(&mut batch).unwrap() {
            assert!(batch.values.len() <= BATCH_VALUES.max(map.features() as usize));
            for i in 0..batch.rows() {
                let range = batch.range(i);
                assert!(batch.keys[range.clone()].iter().copied().eq(1..=u64::from(map.features())));
                rows.push(batch.values[range].to_vec());
            }
        }
        rows
    }

    #[test]
    fn products_are_close_to_the_kernel() {
        let points: [&[(u64, f64)]; 4] = [&[], &[(3, 0.5), (9, -1.0)], &[(3, 0.6), (9, -0.8), (20, 0.1)], &[(7, 1.5)]];
        let gamma = 0.4;
        let rows = map_all(FourierMap::new(20_000, gamma, 5).unwrap(), vec![batch(&points)], &Budget::unlimited());
        let at = |point: &[(u64, f64)], key: u64| point.iter().find(|item| item.0 == key).map_or(0.0, |item| item.1);
        for (a, x) in points.iter().zip(&rows) {
            for (b, y) in points.iter().zip(&rows) {
                let distance: f64 = (0..30).map(|key| (at(a, key) - at(b, key)).powi(2)).sum();
                let product: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
                assert!((product - (-gamma * distance).exp()).abs() < 0.03, "{product} at {distance}");
            }
        }
    }

    #[test]
    fn the_map_depends_on_the_features_and_the_seed_and_on_nothing_else() {
        let map = FourierMap::new(300, 0.5, 1).unwrap();
        let a: &[(u64, f64)] = &[(2, 1.0), (5, 0.5)];
        let b: &[(u64, f64)] = &[(8, 0.25)];
        let all = map_all(map, vec![batch(&[a, b, a])], &Budget::unlimited());
        assert_eq!(all[0], all[2]);
        assert_ne!(all[0], all[1]);
        // Another order, other batches, and no room to keep anything.
        let tight = Budget::new(300 * 20 + 16 * (BATCH_VALUES as u64 + 300) + 100);
        let again = map_all(map, vec![batch(&[a]), batch(&[b])], &tight);
        assert_eq!((&again[1], &again[0]), (&all[0], &all[1]));
        assert_ne!(map_all(FourierMap::new(300, 0.5, 2).unwrap(), vec![batch(&[a])], &Budget::unlimited())[0], all[0]);
    }
}
