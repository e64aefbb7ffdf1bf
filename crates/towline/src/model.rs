//! A trained model: weights in the user's own feature numbers or names, and how good they are.
//!
//! ```text
//! "TOWMODEL" │ header bytes u64 │ header, JSON │ count u64
//! numbered:    count x u64 feature numbers          named: count x u64 ends, names
//! count x outputs x f64 weights │ CRC-32C of all of that, u32
//! ```
//! A model has one output, or one per class or target; the weights of a feature for all of them lie side by side.
//! Weights are for raw inputs: what scaling did to features while packing is folded into weights and intercept. Only rows scaled to unit
//! length remain to be scaled, which [`Header::unit_rows`] says.
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::baselines::Baseline;
use crate::fourier::FourierMap;
use crate::objective::{Objective, Targets};
use crate::output::{Inputs, Kind, OutputError, OutputFile};
use crate::store::DiskStore;
use crate::store::features::{FeatureMap, FeatureName, Scaling};
use crate::store::manifest::Scale;
use crate::trainer::{Certificate, Cost, Status, Trained};

pub(crate) const MAGIC: [u8; 8] = *b"TOWMODEL";
/// The version of the format that this program writes and reads.
pub const VERSION: u32 = 2;

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
    /// How good the model is; of several independent outputs, the sums of both sides. None for a stream, which cannot be looked at twice.
    pub certificate: Option<Certificate>,
    /// How good each output is, where they are independent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<Certificate>,
    /// What training cost.
    pub cost: Cost,
    /// The method, if it is one of the baselines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Rows that it was trained on.
    pub rows: u64,
    /// Features that were seen in training.
    pub features: u64,
    /// Added to the score of each output.
    pub intercepts: Vec<f64>,
    /// What rows are mapped to first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fourier: Option<FourierMap>,
    /// Whether rows are scaled to unit length then.
    pub unit_rows: bool,
    /// Whether features have names.
    pub named_features: bool,
    /// Features are known by so many bits of a hash of their names or numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash_bits: Option<u32>,
}

impl Header {
    /// Scores of a row that this objective asks for.
    fn outputs(&self) -> usize {
        match &self.objective.targets {
            Targets::Classes { classes, .. } => classes.len(),
            Targets::Several { names } => names.len(),
            _ => 1,
        }
    }
}

/// Features that have a weight.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// By number, ascending.
    Numbered(Vec<u64>),
    /// By name.
    Named(Vec<String>),
}

impl Features {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Features::Numbered(numbers) => numbers.len(),
            Features::Named(names) => names.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the feature is called.
    pub fn name(&self, i: usize) -> String {
        match self {
            Features::Numbered(numbers) => numbers[i].to_string(),
            Features::Named(names) => names[i].clone(),
        }
    }
}

/// A trained model.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What is known of it.
    pub header: Header,
    /// Features with a weight other than 0 for some output.
    pub features: Features,
    /// The weights of each feature, one per output, side by side.
    pub weights: Vec<f64>,
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
    /// The model has numbers that no file can hold.
    #[error("{}: the model was not written: {problem}; use a smaller C, or scale labels, weights and values", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The model cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The file is no model, or a damaged one.
    #[error("{}: {problem}; train it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// What a model keeps of the data that it was trained on.
struct Data {
    rows: u64,
    features: u64,
    fourier: Option<FourierMap>,
    unit_rows: bool,
    named_features: bool,
}

impl Model {
    /// Names the weights of a training run on `store`: of one model with one output or several, or of one model per class.
    pub fn new(trained: &[Trained], objective: &Objective, store: &DiskStore, map: &FeatureMap) -> Model {
        let manifest = store.manifest();
        let data = Data {
            rows: manifest.rows,
            features: manifest.features,
            fourier: manifest.fourier,
            unit_rows: manifest.scale == Scale::Rows,
            named_features: manifest.named_features,
        };
        Model::assemble(trained, objective, data, |column| (map.name(column), map.scaling(column)))
    }

    /// The same for rows without names, in memory: column j is feature number j.
    pub fn of_columns(trained: &[Trained], objective: &Objective, rows: u64, columns: u64) -> Model {
        let data = Data { rows, features: columns, fourier: None, unit_rows: false, named_features: false };
        Model::assemble(trained, objective, data, |column| (FeatureName::Number(column.into()), None))
    }

    fn assemble<'a>(
        trained: &[Trained],
        objective: &Objective,
        data: Data,
        feature: impl Fn(u32) -> (FeatureName<'a>, Option<Scaling>),
    ) -> Model {
        let Data { rows, features, fourier, unit_rows, named_features } = data;
        let width = objective.width();
        let outputs = trained.len() * width;
        let weight = |column: usize, output: usize| trained[output / width].weights[column * width + output % width];
        let columns = trained.first().map_or(0, |model| model.weights.len() / width).saturating_sub(1);
        let mut intercepts: Vec<f64> = (0..outputs).map(|output| weight(columns, output) * objective.bias).collect();
        let (mut named, mut numbered) = (Vec::new(), Vec::new());
        for column in 0..columns {
            if (0..outputs).all(|output| weight(column, output) == 0.0) {
                continue;
            }
            match feature(column as u32).0 {
                FeatureName::Number(number) => numbered.push((number, column)),
                FeatureName::Name(name) => named.push((name.to_string(), column)),
            }
        }
        numbered.sort_unstable_by_key(|&(number, _)| number);
        let order = numbered.iter().map(|item| item.1).chain(named.iter().map(|item| item.1));
        let mut weights = Vec::with_capacity((numbered.len() + named.len()) * outputs);
        for column in order {
            let Scaling { shift, factor } = feature(column as u32).1.unwrap_or(Scaling { shift: 0.0, factor: 1.0 });
            for (output, intercept) in intercepts.iter_mut().enumerate() {
                let raw = weight(column, output) * factor;
                *intercept -= raw * shift;
                weights.push(raw);
            }
        }
        let certificates: Vec<Certificate> = trained.iter().map(|model| model.certificate).collect();
        let header = Header {
            version: VERSION,
            created_by: format!("towline {}", env!("CARGO_PKG_VERSION")),
            objective: objective.clone(),
            status: Status::of_all(trained.iter().map(|model| model.status)),
            certificate: Certificate::total(&certificates),
            certificates: if certificates.len() > 1 { certificates } else { Vec::new() },
            cost: Cost::of_all(trained.iter().map(|model| model.cost)),
            baseline: trained.first().and_then(|model| model.baseline),
            rows,
            features,
            intercepts,
            fourier,
            unit_rows,
            named_features,
            hash_bits: None,
        };
        let features = match named_features {
            true => Features::Named(named.into_iter().map(|(name, _)| name).collect()),
            false => Features::Numbered(numbered.into_iter().map(|(number, _)| number).collect()),
        };
        Model { header, features, weights }
    }

    /// The features among the first `columns` that have a weight, and their weights for all outputs, in the order of a model.
    pub fn collect(
        features: Features,
        columns: usize,
        outputs: usize,
        weight: impl Fn(usize, usize) -> f64,
    ) -> (Features, Vec<f64>) {
        let mut kept: Vec<usize> =
            (0..columns).filter(|&column| (0..outputs).any(|output| weight(output, column) != 0.0)).collect();
        if let Features::Numbered(numbers) = &features {
            kept.sort_unstable_by_key(|&column| numbers[column]);
        }
        let weights = kept.iter().flat_map(|&column| (0..outputs).map(move |output| (output, column)));
        let weights = weights.map(|(output, column)| weight(output, column)).collect();
        let features = match features {
            Features::Numbered(numbers) => Features::Numbered(kept.iter().map(|&column| numbers[column]).collect()),
            Features::Named(names) => Features::Named(kept.iter().map(|&column| names[column].clone()).collect()),
        };
        (features, weights)
    }

    /// Scores that it gives to a row.
    pub fn outputs(&self) -> usize {
        self.header.intercepts.len()
    }

    /// The weights of feature `i`, one per output.
    pub fn weights_of(&self, i: usize) -> &[f64] {
        &self.weights[i * self.outputs()..][..self.outputs()]
    }

    /// Writes the model so that the file is whole or not there.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        self.save_to(&mut OutputFile::open(path, Kind::Model, &Inputs::none())?)
    }

    /// The same at a place that has been claimed, once or more often.
    pub fn save_to(&self, place: &mut OutputFile) -> Result<(), ModelError> {
        let path = place.path().to_path_buf();
        let unfit = |problem: String| ModelError::Unfit { path: path.clone(), problem };
        self.check_finite().map_err(unfit)?;
        let bytes = self.to_bytes().map_err(|error| unfit(error.to_string()))?;
        Ok(place.write(|out| out.write_all(&bytes))?)
    }

    /// Whatever is written can be read: numbers in memory may have grown beyond all bounds.
    fn check_finite(&self) -> Result<(), String> {
        if self.weights.iter().chain(&self.header.intercepts).any(|weight| !weight.is_finite()) {
            return Err("a weight is not a finite number".into());
        }
        // JSON has no words for other numbers, and the reader would miss them.
        let text = serde_json::to_vec(&self.header).map_err(|error| error.to_string())?;
        let read = serde_json::from_slice::<Header>(&text);
        read.map(|_| ()).map_err(|_| "its objective, or what was found of it, is not a finite number".into())
    }

    /// Reads a model and checks all of it.
    pub fn load(path: &Path) -> Result<Model, ModelError> {
        let io = |source| ModelError::Io { path: path.to_path_buf(), action: "read it", source };
        let mut bytes = Vec::new();
        let mut file = File::open(path).map_err(io)?;
        (&file).take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(io)?;
        // What is no model, or a file of holes, may have any size.
        let size = file.metadata().map_err(io)?.len();
        if bytes == MAGIC && bytes.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX)).is_err() {
            return Err(damaged(path, format!("its {size} bytes are more than memory holds")));
        } else if bytes == MAGIC {
            file.read_to_end(&mut bytes).map_err(io)?;
        }
        Model::from_bytes(&bytes).map_err(|problem| damaged(path, problem))
    }

    /// The file as bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let header = serde_json::to_vec(&self.header)?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&(self.features.len() as u64).to_le_bytes());
        match &self.features {
            Features::Numbered(numbers) => {
                numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            }
            Features::Named(names) => {
                let mut end = 0u64;
                for name in names {
                    end += name.len() as u64;
                    bytes.extend_from_slice(&end.to_le_bytes());
                }
                names.iter().for_each(|name| bytes.extend_from_slice(name.as_bytes()));
            }
        }
        self.weights.iter().for_each(|weight| bytes.extend_from_slice(&weight.to_le_bytes()));
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
        if header.hash_bits.is_some_and(|bits| !(1..=31).contains(&bits)) {
            return Err("its number of hash bits is not between 1 and 31".into());
        }
        if let Targets::Classes { classes, .. } | Targets::OneOf { classes, .. } = &header.objective.targets
            && !classes.is_whole()
        {
            return Err("its classes have not one label, name and weight each".into());
        }
        if header.intercepts.is_empty() || header.intercepts.len() != header.outputs() {
            return Err("it has not as many intercepts as outputs".into());
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
        let size = size.checked_mul(header.intercepts.len() as u64).ok_or_else(early)?;
        let weights: Vec<f64> = take(size)?.as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect();
        if !rest.is_empty() {
            return Err("it has bytes left over".into());
        }
        if weights.iter().chain(&header.intercepts).any(|w| !w.is_finite()) {
            return Err("a weight is not finite".into());
        }
        let features = if header.named_features { Features::Named(names) } else { Features::Numbered(numbers) };
        Ok(Model { header, features, weights })
    }
}

fn first_u64(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|k| bytes[k]))
}

fn damaged(path: &Path, problem: String) -> ModelError {
    ModelError::Damaged { path: path.to_path_buf(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::ALL;
    use crate::objective::{Classes, Multiclass};

    fn model(names: &[&str], intercepts: usize) -> Model {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        let classes = Classes { labels: vec![1.0, 2.0, 3.0], names, weights: vec![1.0; 3] };
        let targets = Targets::Classes { classes, multiclass: Multiclass::OneVsRest };
        let header = Header {
            version: VERSION,
            created_by: String::new(),
            objective: Objective::new(ALL[0], 1.0, targets),
            status: Status::Converged,
            certificate: None,
            certificates: Vec::new(),
            cost: Cost::default(),
            baseline: None,
            rows: 3,
            features: 1,
            intercepts: vec![0.0; intercepts],
            unit_rows: false,
            named_features: false,
            hash_bits: None,
            fourier: None,
        };
        Model { header, features: Features::Numbered(vec![4]), weights: vec![0.5; intercepts] }
    }

    #[test]
    fn classes_without_a_name_and_outputs_without_a_class_are_refused() {
        let read = |model: Model| Model::from_bytes(&model.to_bytes().unwrap());
        let whole = model(&["a", "b", "c"], 3);
        assert_eq!(read(whole.clone()), Ok(whole));
        assert!(read(model(&["a"], 3)).unwrap_err().contains("name and weight"));
        assert!(read(model(&["a", "b", "c"], 2)).unwrap_err().contains("intercepts"));
    }
}
