//! A trained model: weights in the user's own feature numbers or names, and how good they are.
//!
//! ```text
//! "TOWMODEL" │ header bytes u64 │ header, JSON │ count u64
//! numbered:    count x u64 feature numbers          named: count x u64 ends, names
//! count x outputs x f64 weights │ CRC-32C of all of that, u32
//! ```
//! A model has one output, or one per class or target; the weights of a feature for all of them lie side by side.
//! Weights are for raw inputs: what scaling did to features while packing is folded into weights and intercept. Only
//! rows scaled to unit length remain to be scaled, which [`Header::unit_rows`] says.
pub mod calibration;
pub mod chances;
pub mod evaluate;
pub mod export;
mod file;
pub mod predict;
mod read;
mod runs;
pub mod spread;
mod write;

pub use write::ModelWriter;
pub(crate) use write::writing_bytes;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::budget::BudgetError;
use crate::fourier::FourierMap;
use crate::objective::{Objective, Targets};
use crate::output::{MODEL_MAGIC as MAGIC, OutputError};
use crate::schema::Schema;
use crate::store::features::{FeatureMap, FeatureName, Scaling};
use crate::store::manifest::{Manifest, Scale};
use crate::store::{DiskStore, StoreError};
use calibration::{Calibration, Curve};
use write::Weights;

use crate::engine::{Baseline, Certificate, Cost, RunRecord, Status, Trained};

/// The newest version of the format. Models without a schema are written in version 2, which older programs read.
pub const VERSION: u32 = 3;
/// The oldest version that is read.
const FIRST_VERSION: u32 = 2;

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
    /// How good the model is; of several independent outputs, the sums of both sides. None for a stream, which cannot
    /// be looked at twice.
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
    /// Features are known by this many bits of a hash of their names or numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash_bits: Option<u32>,
    /// How the model is judged and what its scores mean.
    #[serde(default, skip_serializing_if = "Reporting::is_empty")]
    pub reporting: Reporting,
    /// What the columns of the tables are that it was trained on: others are read in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// How it came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<RunRecord>>,
}

/// What is told of a model that its objective does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reporting {
    /// Of two classes, the place of the one that precision, recall and such are about; the second if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive_class: Option<usize>,
    /// How scores become probabilities, if the model was calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

impl Reporting {
    fn is_empty(&self) -> bool {
        *self == Reporting::default()
    }

    /// Whether it fits to a model with this many scores a row: what is read from a file may be anything.
    fn is_whole(&self, outputs: usize) -> bool {
        let is_whole = |calibration: &Calibration| {
            calibration.curves.len() == outputs && calibration.curves.iter().all(Curve::is_whole)
        };
        self.calibration.as_ref().is_none_or(is_whole)
    }

    /// The place of the positive one of two classes.
    pub fn positive(&self) -> usize {
        self.positive_class.unwrap_or(1).min(1)
    }
}

impl Header {
    /// The least version that knows all of a model.
    pub(crate) fn version_for(schema: Option<&Schema>) -> u32 {
        if schema.is_some() { VERSION } else { FIRST_VERSION }
    }

    /// What is known of a training run.
    fn of(trained: &[Trained], objective: &Objective, data: Data, intercepts: Vec<f64>) -> Header {
        let Data { rows, features, fourier, unit_rows, named_features, schema } = data;
        let certificates: Vec<Certificate> = trained.iter().map(|model| model.certificate).collect();
        Header {
            version: Header::version_for(schema.as_ref()),
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
            reporting: Reporting::default(),
            schema,
            run: None,
        }
    }

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
#[non_exhaustive]
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
    /// A folder, such as a store, was named in the place of a model.
    #[error("{}: this is a folder{}, not a model; name a file that training has written", path.display(),
        if *is_store { " with a store" } else { "" })]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Whether there is a store in it.
        is_store: bool,
    },
    /// The model has numbers that no file can hold.
    #[error("{}: the model was not written: {problem}; use a smaller C, or scale labels, weights and \
        values", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The model cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The store that it was trained on cannot be read.
    #[error(transparent)]
    Store(StoreError),
    /// The budget is too small.
    #[error(transparent)]
    Budget(#[from] BudgetError),
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
    schema: Option<Schema>,
}

impl Data {
    fn of(manifest: &Manifest) -> Self {
        Data {
            rows: manifest.rows,
            features: manifest.features,
            fourier: manifest.fourier,
            unit_rows: manifest.scale == Scale::Rows,
            named_features: manifest.named_features,
            schema: manifest.schema.clone(),
        }
    }
}

impl Model {
    /// Names the weights of a training run on `store`: of one model with one output or several, or of one model per
    /// class.
    pub fn new(trained: &[Trained], objective: &Objective, store: &DiskStore, map: &FeatureMap) -> Model {
        Model::assemble(trained, objective, Data::of(store.manifest()), |column| {
            (map.name(column), map.scaling(column))
        })
    }

    /// The same for rows without names, in memory: column j is feature number j.
    pub fn of_columns(trained: &[Trained], objective: &Objective, rows: u64, columns: u64) -> Model {
        let (unit_rows, named_features) = (false, false);
        let data = Data { rows, features: columns, fourier: None, unit_rows, named_features, schema: None };
        Model::assemble(trained, objective, data, |column| (FeatureName::Number(column.into()), None))
    }

    /// A model of the objective before anything was learnt.
    pub(crate) fn without_weights(objective: &Objective, store: &DiskStore) -> Model {
        let data = Data::of(store.manifest());
        let features = if data.named_features { Features::Named(Vec::new()) } else { Features::Numbered(Vec::new()) };
        let mut header = Header::of(&[], objective, data, Vec::new());
        header.intercepts = vec![0.0; header.outputs()];
        Model { header, features, weights: Vec::new() }
    }

    fn assemble<'a>(
        trained: &[Trained],
        objective: &Objective,
        data: Data,
        feature: impl Fn(u32) -> (FeatureName<'a>, Option<Scaling>),
    ) -> Model {
        let named_features = data.named_features;
        let all = Weights::new(trained, objective);
        // There may be so many that what is not needed must not be made.
        let has_weight = |column: &u32| all.has_any(*column as usize);
        let mut kept = Vec::with_capacity((0..all.columns as u32).filter(has_weight).count());
        kept.extend((0..all.columns as u32).filter(has_weight));
        let mut intercepts = all.intercepts();
        let scaling = |column: u32| feature(column).1.unwrap_or(Scaling::NONE);
        kept.iter().for_each(|&column| all.shift(column, scaling(column), &mut intercepts));
        if !named_features {
            kept.sort_unstable_by_key(|&column| number_of(&feature(column).0));
        }
        let mut weights = Vec::with_capacity(kept.len() * all.outputs);
        for &column in &kept {
            let factor = scaling(column).factor;
            weights.extend((0..all.outputs).map(|output| all.get(column as usize, output) * factor));
        }
        let features = match named_features {
            true => Features::Named(kept.iter().map(|&column| feature(column).0.to_string()).collect()),
            false => Features::Numbered(kept.iter().map(|&column| number_of(&feature(column).0)).collect()),
        };
        Model { header: Header::of(trained, objective, data, intercepts), features, weights }
    }

    /// The features among the first `columns` that have a weight, and their weights for all outputs, in the order of a
    /// model.
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

    /// What it takes in memory.
    fn resident_bytes(&self) -> u64 {
        let features: usize = match &self.features {
            Features::Numbered(numbers) => 8 * numbers.len(),
            Features::Named(names) => names.iter().map(|name| name.len() + NAME_BYTES).sum(),
        };
        (features + 8 * self.weights.len()) as u64
    }

    /// What making a model of this many columns and outputs takes, besides the weights that it is made of.
    pub fn assembly_bytes(columns: u64, outputs: u64, named: bool) -> u64 {
        columns.saturating_mul(4 + 8 * outputs + if named { NAME_BYTES as u64 + NAME_LENGTH } else { 8 })
    }
}

/// The number of a feature that has one.
fn number_of(name: &FeatureName) -> u64 {
    match name {
        FeatureName::Number(number) => *number,
        FeatureName::Name(_) => 0,
    }
}

/// What a name takes in memory besides its letters, and how many of those a column of a table has at most, as a rule.
const NAME_BYTES: usize = 48;
const NAME_LENGTH: u64 = 32;
