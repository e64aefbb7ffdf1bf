//! Random Fourier features (Rahimi & Recht 2007): rows of any features become dense rows, whose products are close to a Gaussian kernel.
//!
//! ```text
//! z_k(x) = sqrt(2/D) cos(ω_k·x + b_k),   ω_k ~ N(0, 2γ I),   b_k ~ U(0, 2π)        E z(x)·z(y) = exp(-γ‖x - y‖²)
//! ```
//! ω is never stored: its entries for a feature come from the seed and the feature's own number or name. So the map is three numbers, it is the same for
//! every file, and a feature that was not in the training data has its part all the same. The new features are numbered from 1 to D.
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{InputError, RowBatch, RowSource};
use crate::budget::{Budget, BudgetError, Reservation};

/// More features than this are no approximation of anything.
const MOST_FEATURES: u32 = 1 << 20;
/// Values of a batch, so that a few hundred bytes of text do not become a gigabyte of features.
const BATCH_VALUES: usize = 1 << 18;
/// The part of the budget that may hold entries of ω; beyond it they are made again.
const CACHE_SHARE: u64 = 8;
/// And at most this many bytes.
const MOST_CACHE_BYTES: u64 = 256 << 20;

/// Which features.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw")]
pub struct FourierMap {
    features: u32,
    gamma: f64,
    seed: u64,
}

#[derive(Deserialize)]
struct Raw {
    features: u32,
    gamma: f64,
    seed: u64,
}

impl TryFrom<Raw> for FourierMap {
    type Error = FourierError;

    fn try_from(raw: Raw) -> Result<Self, FourierError> {
        FourierMap::new(raw.features, raw.gamma, raw.seed)
    }
}

/// A map cannot be what was asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FourierError {
    /// None, or too many.
    #[error("--rff must be a number from 1 to {MOST_FEATURES}, not {features}")]
    Features {
        /// What was given.
        features: u32,
    },
    /// γ is not above 0.
    #[error("--gamma must be a number above 0, not {gamma}")]
    Gamma {
        /// What was given.
        gamma: f64,
    },
}

impl FourierMap {
    /// So many features for the kernel exp(-γ‖x - y‖²).
    pub fn new(features: u32, gamma: f64, seed: u64) -> Result<Self, FourierError> {
        if !(1..=MOST_FEATURES).contains(&features) {
            return Err(FourierError::Features { features });
        }
        if !(gamma.is_finite() && gamma > 0.0) {
            return Err(FourierError::Gamma { gamma });
        }
        Ok(FourierMap { features, gamma, seed })
    }

    /// D.
    pub fn features(&self) -> u32 {
        self.features
    }

    /// In a few words.
    pub fn describe(&self) -> String {
        format!("{} random Fourier features, gamma {}, seed {}", self.features, self.gamma, self.seed)
    }

    /// Entries of ω for the feature with this key.
    fn frequencies(&self, key: u64, into: &mut Vec<f32>) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(key);
        let scale = (2.0 * self.gamma).sqrt();
        into.clear();
        while into.len() < self.features as usize {
            // Box and Muller (1958): two normal numbers from two uniform ones.
            let radius = (-2.0 * (1.0 - unit(&mut random)).ln()).sqrt() * scale;
            let (sin, cos) = (std::f64::consts::TAU * unit(&mut random)).sin_cos();
            into.extend([(radius * cos) as f32, (radius * sin) as f32]);
        }
        into.truncate(self.features as usize);
    }

    fn phases(&self) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(xxh3_64_with_seed(b"phases", self.seed));
        (0..self.features).map(|_| std::f64::consts::TAU * unit(&mut random)).collect()
    }
}

/// From [0, 1).
fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

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
    phases: Vec<f64>,
    cache: FxHashMap<u64, Vec<f32>>,
    most_cached: usize,
    /// ω·x + b, and entries of ω that are not kept.
    angles: Vec<f64>,
    scratch: Vec<f32>,
    _paid: Reservation,
}

impl FourierSource {
    /// Maps the rows of `source`.
    pub fn new(map: FourierMap, source: Box<dyn RowSource>, budget: &Budget) -> Result<Self, BudgetError> {
        let features = u64::from(map.features);
        // Two vectors of doubles, one of floats, and a batch of keys and values.
        let fixed = features * 20 + 16 * (BATCH_VALUES as u64 + features);
        let cache_bytes = (budget.free_bytes().saturating_sub(fixed) / CACHE_SHARE).min(MOST_CACHE_BYTES);
        let entry_bytes = 4 * features + 64;
        Ok(FourierSource {
            named: source.features_are_named(),
            source,
            raw: RowBatch::default(),
            mapped: 0,
            phases: map.phases(),
            cache: FxHashMap::default(),
            most_cached: (cache_bytes / entry_bytes) as usize,
            angles: Vec::new(),
            scratch: Vec::new(),
            _paid: budget.reserve("random Fourier features", fixed + cache_bytes)?,
            map,
        })
    }

    fn map_row(&mut self, i: usize) {
        self.angles.clear();
        self.angles.extend_from_slice(&self.phases);
        for at in self.raw.range(i) {
            let (feature, value) = (self.raw.keys[at], self.raw.values[at]);
            let key = match self.named {
                true => xxh3_64_with_seed(self.raw.names.get(feature as usize), self.map.seed ^ 1),
                false => xxh3_64_with_seed(&feature.to_le_bytes(), self.map.seed),
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
            self.angles.iter_mut().zip(frequencies).for_each(|(angle, &omega)| *angle += f64::from(omega) * value);
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
        let features = self.map.features as usize;
        let rows = (BATCH_VALUES / features).max(1).min(self.raw.rows() - self.mapped);
        let scale = (2.0 / features as f64).sqrt();
        for i in self.mapped..self.mapped + rows {
            self.map_row(i);
            batch.keys.extend(1..=features as u64);
            batch.values.extend(self.angles.iter().map(|angle| scale * angle.cos()));
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
            assert!(batch.values.len() <= BATCH_VALUES.max(map.features as usize));
            for i in 0..batch.rows() {
                let range = batch.range(i);
                assert!(batch.keys[range.clone()].iter().copied().eq(1..=u64::from(map.features)));
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

    #[test]
    fn impossible_maps_are_refused_wherever_they_come_from() {
        assert!(matches!(FourierMap::new(0, 1.0, 0), Err(FourierError::Features { .. })));
        for gamma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(FourierMap::new(5, gamma, 0), Err(FourierError::Gamma { .. })));
        }
        let map = FourierMap::new(7, 0.25, 3).unwrap();
        assert_eq!(serde_json::from_str::<FourierMap>(&serde_json::to_string(&map).unwrap()).unwrap(), map);
        assert!(serde_json::from_str::<FourierMap>(r#"{"features":0,"gamma":1.0,"seed":0}"#).is_err());
    }
}
