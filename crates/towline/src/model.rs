//! A trained model: weights in the user's own feature numbers or names, and how good they are.
//!
//! ```text
//! "TOWMODEL" │ header bytes u64 │ header, JSON │ count u64
//! numbered:    count x u64 feature numbers          named: count x u64 ends, names
//! count x f64 weights │ CRC-32C of all of that, u32
//! ```
//! Weights are for raw inputs: what scaling did to features while packing is folded into weights and intercept. Only rows scaled to unit
//! length remain to be scaled, which [`Header::unit_rows`] says.
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::baselines::Baseline;
use crate::objective::Objective;
use crate::store::DiskStore;
use crate::store::features::{FeatureMap, FeatureName, Scaling};
use crate::store::manifest::Scale;
use crate::trainer::{Certificate, Cost, Status, Trained};

const MAGIC: [u8; 8] = *b"TOWMODEL";
/// The version of the format that this program writes and reads.
pub const VERSION: u32 = 1;

/// What is known of a model besides its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Format version.
    pub version: u32,
    /// The program that wrote it.
    pub created_by: String,
    /// What was minimised.
    pub objective: Objective,
    /// How training ended.
    pub status: Status,
    /// How good the model is.
    pub certificate: Certificate,
    /// What training cost.
    pub cost: Cost,
    /// The method, if it is one of the baselines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Rows that it was trained on.
    pub rows: u64,
    /// Features that were seen in training.
    pub features: u64,
    /// Added to every score.
    pub intercept: f64,
    /// Whether rows are scaled to unit length first.
    pub unit_rows: bool,
    /// Whether features have names.
    pub named_features: bool,
}

/// Weights by feature.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// Feature numbers in ascending order, and their weights.
    Numbered(Vec<(u64, f64)>),
    /// Feature names and their weights.
    Named(Vec<(String, f64)>),
}

/// A trained model.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What is known of it.
    pub header: Header,
    /// Its weights; features of weight 0 are left out.
    pub weights: Weights,
}

/// A model cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The operating system said no.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The reason.
        source: std::io::Error,
    },
    /// The file is no model, or a damaged one.
    #[error("{}: {problem}; train it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl Model {
    /// Names the weights of a training run on `store`.
    pub fn new(trained: &Trained, objective: &Objective, store: &DiskStore, features: &FeatureMap) -> Model {
        let manifest = store.manifest();
        let (weights, bias) = trained.weights.split_at(trained.weights.len() - 1);
        let mut intercept = bias[0] * objective.bias;
        let mut raw = |column: usize, weight: f64| match features.scaling(column as u32) {
            Some(Scaling { shift, factor }) => {
                intercept -= weight * factor * shift;
                weight * factor
            }
            None => weight,
        };
        let present = weights.iter().enumerate().filter(|&(_, &weight)| weight != 0.0);
        let mut named = Vec::new();
        let mut numbered = Vec::new();
        for (column, &weight) in present {
            let weight = raw(column, weight);
            match features.name(column as u32) {
                FeatureName::Number(number) => numbered.push((number, weight)),
                FeatureName::Name(name) => named.push((name.to_string(), weight)),
            }
        }
        numbered.sort_unstable_by_key(|&(number, _)| number);
        let header = Header {
            version: VERSION,
            created_by: format!("towline {}", env!("CARGO_PKG_VERSION")),
            objective: objective.clone(),
            status: trained.status,
            certificate: trained.certificate,
            cost: trained.cost,
            baseline: trained.baseline,
            rows: manifest.rows,
            features: manifest.features,
            intercept,
            unit_rows: manifest.scale == Scale::Rows,
            named_features: manifest.named_features,
        };
        let weights = if manifest.named_features { Weights::Named(named) } else { Weights::Numbered(numbered) };
        Model { header, weights }
    }

    /// Writes the model so that the file is whole or not there.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let bytes = self.to_bytes().map_err(|error| damaged(path, error.to_string()))?;
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".new");
        let new = path.with_file_name(name);
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            std::fs::rename(&new, path)
        };
        write().map_err(|source| {
            let _ = std::fs::remove_file(&new);
            ModelError::Io { path: path.to_path_buf(), action: "write it", source }
        })
    }

    /// Reads a model and checks all of it.
    pub fn load(path: &Path) -> Result<Model, ModelError> {
        let io = |source| ModelError::Io { path: path.to_path_buf(), action: "read it", source };
        let mut bytes = Vec::new();
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(io)?;
        Model::from_bytes(&bytes).map_err(|problem| damaged(path, problem))
    }

    /// The file as bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let header = serde_json::to_vec(&self.header)?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&header);
        match &self.weights {
            Weights::Numbered(weights) => {
                bytes.extend_from_slice(&(weights.len() as u64).to_le_bytes());
                weights.iter().for_each(|(number, _)| bytes.extend_from_slice(&number.to_le_bytes()));
                weights.iter().for_each(|(_, weight)| bytes.extend_from_slice(&weight.to_le_bytes()));
            }
            Weights::Named(weights) => {
                bytes.extend_from_slice(&(weights.len() as u64).to_le_bytes());
                let mut end = 0u64;
                for (name, _) in weights {
                    end += name.len() as u64;
                    bytes.extend_from_slice(&end.to_le_bytes());
                }
                weights.iter().for_each(|(name, _)| bytes.extend_from_slice(name.as_bytes()));
                weights.iter().for_each(|(_, weight)| bytes.extend_from_slice(&weight.to_le_bytes()));
            }
        }
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        Ok(bytes)
    }

    /// The reverse of [`Model::to_bytes`]; says what is wrong with bytes that are no model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model, String> {
        let early = || "it ends too early".to_string();
        if !bytes.starts_with(&MAGIC) {
            return Err("this is not a Towline model".into());
        }
        let (body, checksum) = bytes.split_last_chunk::<4>().ok_or_else(early)?;
        if crc32c::crc32c(body) != u32::from_le_bytes(*checksum) {
            return Err("checksum mismatch".into());
        }
        let mut rest = &body[MAGIC.len()..];
        let mut take = |n: u64| -> Result<&[u8], String> {
            let n = usize::try_from(n).map_err(|_| early())?;
            let (taken, after) = rest.split_at_checked(n).ok_or_else(early)?;
            rest = after;
            Ok(taken)
        };
        let length = first_u64(take(8)?);
        let header: Header =
            serde_json::from_slice(take(length)?).map_err(|error| format!("its header is damaged: {error}"))?;
        if header.version != VERSION {
            return Err(format!("model format version {}; this program reads version {VERSION}", header.version));
        }
        let count = first_u64(take(8)?);
        let size = count.checked_mul(8).ok_or_else(early)?;
        let numbers: Vec<u64> = take(size)?.as_chunks::<8>().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
        let mut names = Vec::new();
        if header.named_features {
            let text = std::str::from_utf8(take(numbers.last().copied().unwrap_or(0))?)
                .map_err(|_| "a name is not UTF-8".to_string())?;
            let mut start = 0;
            for &end in &numbers {
                names.push(text.get(start..end as usize).ok_or_else(|| "the names overlap".to_string())?.to_string());
                start = end as usize;
            }
        } else if !numbers.is_sorted_by(|a, b| a < b) {
            return Err("its features are not in order".into());
        }
        let weights: Vec<f64> = take(size)?.as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect();
        if !rest.is_empty() {
            return Err("it has bytes left over".into());
        }
        if weights.iter().any(|w| !w.is_finite()) || !header.intercept.is_finite() {
            return Err("a weight is not finite".into());
        }
        let weights = if header.named_features {
            Weights::Named(names.into_iter().zip(weights).collect())
        } else {
            Weights::Numbered(numbers.into_iter().zip(weights).collect())
        };
        Ok(Model { header, weights })
    }
}

fn first_u64(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|k| bytes[k]))
}

fn damaged(path: &Path, problem: String) -> ModelError {
    ModelError::Damaged { path: path.to_path_buf(), problem }
}
