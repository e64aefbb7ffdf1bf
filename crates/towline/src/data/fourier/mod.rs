//! Random Fourier features (Rahimi & Recht 2007): rows of any features become dense rows, whose products are close to a
//! Gaussian kernel.
//!
//! ```text
//! z_k(x) = sqrt(2/D) cos(ω_k·x + b_k),   ω_k ~ N(0, 2γ I),   b_k ~ U(0, 2π)        E z(x)·z(y) = exp(-γ‖x - y‖²)
//! ```
//! ω is never stored: its entries for a feature come from the seed and the feature's own number or name. So the map is
//! three numbers, it is the same for every file, and a feature that was not in the training data has its part all the
//! same. The new features are numbered from 1 to D.
//!
//! Two things are mapped: rows on their way from a file to a model ([`crate::input::fourier`]), and blocks of a store,
//! when they are written or each time that they are read ([`columns`]). Both end in the same sums and the same cosine
//! (`angles`), so that they agree.
mod angles;
pub mod columns;

pub(crate) use angles::Angles;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// More features than this are no approximation of anything.
const MOST_FEATURES: u32 = 1 << 20;

/// Between these, frequencies are far from the ends of 32-bit floats.
const LEAST_GAMMA: f64 = 1e-60;
const LARGEST_GAMMA: f64 = 1e60;
/// An angle of more turns than this has lost most of its fraction, which is all that counts.
const MOST_TURNS: f64 = (1u64 << 40) as f64;
/// Features that turn less than this are constants.
const LEAST_TURNS: f64 = 1e-9;

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
#[non_exhaustive]
pub enum FourierError {
    /// None, or too many.
    #[error("`rff` must be a number from 1 to {MOST_FEATURES}, not {features}")]
    Features {
        /// What was given.
        features: u32,
    },
    /// γ is not above 0, or frequencies would be too large or too small for 32 bits.
    #[error("`gamma` must be a number from {LEAST_GAMMA:e} to {LARGEST_GAMMA:e}, not {gamma}")]
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
        if !(LEAST_GAMMA..=LARGEST_GAMMA).contains(&gamma) {
            return Err(FourierError::Gamma { gamma });
        }
        Ok(FourierMap { features, gamma, seed })
    }

    /// D.
    pub fn features(&self) -> u32 {
        self.features
    }

    /// What is wrong with a map of rows whose largest value is this, if anything is: features that would be noise, or
    /// constants.
    pub(crate) fn unfit_for(&self, largest: f64) -> Option<&'static str> {
        let turns = largest.abs() * (2.0 * self.gamma).sqrt() / std::f64::consts::TAU;
        match turns {
            turns if turns > MOST_TURNS => Some("too large"),
            turns if turns < LEAST_TURNS && largest != 0.0 => Some("too small"),
            _ => None,
        }
    }

    /// In a few words.
    pub fn describe(&self) -> String {
        format!("{} random Fourier features, gamma {}, seed {}", self.features, self.gamma, self.seed)
    }

    /// What the frequencies of a numbered feature are made from.
    pub(crate) fn key_of_number(&self, number: u64) -> u64 {
        xxh3_64_with_seed(&number.to_le_bytes(), self.seed)
    }

    /// What the frequencies of a named feature are made from.
    pub(crate) fn key_of_name(&self, name: &[u8]) -> u64 {
        xxh3_64_with_seed(name, self.seed ^ 1)
    }

    /// Entries of ω for the feature with this key, in turns: ω/2π.
    pub(crate) fn frequencies(&self, key: u64, into: &mut Vec<f32>) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(key);
        let scale = (2.0 * self.gamma).sqrt() / std::f64::consts::TAU;
        into.clear();
        while into.len() < self.features as usize {
            // Box and Muller (1958): two normal numbers from two uniform ones.
            let radius = (-2.0 * (1.0 - unit(&mut random)).ln()).sqrt() * scale;
            let (sin, cos) = (std::f64::consts::TAU * unit(&mut random)).sin_cos();
            into.extend([(radius * cos) as f32, (radius * sin) as f32]);
        }
        into.truncate(self.features as usize);
    }

    /// b in turns.
    fn phases(&self) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(xxh3_64_with_seed(b"phases", self.seed));
        (0..self.features).map(|_| unit(&mut random)).collect()
    }
}

/// From [0, 1).
fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_maps_are_refused_wherever_they_come_from() {
        assert!(matches!(FourierMap::new(0, 1.0, 0), Err(FourierError::Features { .. })));
        for gamma in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e80, 1e300, 1e-300] {
            assert!(matches!(FourierMap::new(5, gamma, 0), Err(FourierError::Gamma { .. })));
        }
        let map = FourierMap::new(7, 0.25, 3).unwrap();
        assert_eq!(serde_json::from_str::<FourierMap>(&serde_json::to_string(&map).unwrap()).unwrap(), map);
        assert!(serde_json::from_str::<FourierMap>(r#"{"features":0,"gamma":1.0,"seed":0}"#).is_err());
    }
}
