//! `manifest.json`: what a store holds and which files belong to it. The only file whose replacement changes a store.
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::StoreError;
use super::files::{StoreFolder, while_it_changes};
use crate::block::Precision;
use crate::block::{Layout, ValueKind};
use crate::fourier::FourierMap;
use crate::schema::Schema;

/// The newest version of the store format that this program reads. A store is written in the least version that knows
/// what it holds, so that older programs read it where they can: 1, rows with several targets 2, rows that are mapped
/// when they are read 3, feature maps of the second version 4, a schema of tables 5.
pub const VERSION: u64 = 5;
/// The name of the file.
pub const FILE_NAME: &str = "manifest.json";
/// A manifest lists files and classes, never rows: a larger one is not ours.
const LARGEST_BYTES: u64 = 64 << 20;

/// What a store holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version of the store.
    pub version: u64,
    /// Counts the times that rows were added, from 1.
    pub generation: u64,
    /// The program that wrote it.
    pub created_by: String,
    /// Rows in all blocks.
    pub rows: u64,
    /// Values in all blocks.
    pub values: u64,
    /// Features that were seen; columns are numbered below this.
    pub features: u64,
    /// The least layout that holds every block.
    pub layout: Layout,
    /// How values are kept.
    pub precision: Precision,
    /// How rows or features were scaled.
    pub scale: Scale,
    /// Features that fewer rows had have no column.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub min_count: u32,
    /// The random Fourier features that rows are mapped to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fourier: Option<FourierMap>,
    /// What lies on disk, where rows are mapped when they are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_from: Option<StoredRows>,
    /// Whether the rows of the first generation were shuffled; the seed if so.
    pub shuffle_seed: Option<u64>,
    /// Whether the columns of the first generation are numbered by frequency.
    pub renumbered: bool,
    /// Whether features have names instead of numbers.
    pub named_features: bool,
    /// Whether any row has a weight of its own.
    pub weighted: bool,
    /// Whether any row belongs to a group.
    pub grouped: bool,
    /// What the labels look like; the first target where there are several.
    pub labels: LabelSummary,
    /// All targets, where rows have several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetSummary>,
    /// What the rows look like.
    pub row_summary: RowSummary,
    /// What the columns of the tables are that the rows came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// Where the rows came from.
    pub sources: Vec<Source>,
    /// The block table.
    pub table: FileEntry,
    /// Feature maps, one per generation that brought new features.
    pub feature_maps: Vec<FileEntry>,
    /// Files with blocks; the block table refers to them by position.
    pub block_files: Vec<FileEntry>,
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// Rows as they lie in the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRows {
    /// Columns are numbered below this; the feature maps name them.
    pub features: u64,
    /// Values in all blocks.
    pub values: u64,
    /// The least layout that holds every block.
    pub layout: Layout,
    /// Whether features have names instead of numbers.
    pub named_features: bool,
}

/// How values were scaled while packing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scale {
    /// As they came.
    #[default]
    None,
    /// Every row to unit length.
    Rows,
    /// Every feature to [0, 1].
    Minmax,
    /// Every feature divided by its standard deviation, without centring.
    Standard,
    /// Numbers of a table by their mean and standard deviation, everything else as it came.
    Auto,
}

/// A file of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its name, relative to the store.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// CRC-32C of its contents; 0 for block files, which carry checksums inside.
    pub checksum: u32,
}

/// Where rows came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The input as the user named it.
    pub name: String,
    /// Its size on disk, 0 if unknown.
    pub bytes: u64,
    /// When it was last changed, in nanoseconds since 1970; 0 if unknown.
    #[serde(default)]
    pub modified: u64,
    /// The options of reading that decide what rows a file holds, as on a command line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reading: String,
    /// The options of packing that decide what becomes of those rows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preparation: String,
    /// The generation that it became part of.
    pub generation: u64,
}

/// What the labels look like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelSummary {
    /// Class names, where labels are text: the label of a row is a position in here.
    pub names: Option<Vec<String>>,
    /// Distinct labels with their number of rows, in ascending order; none if there are very many.
    pub histogram: Option<Vec<(f64, u64)>>,
    /// The smallest label.
    pub min: f64,
    /// The largest label.
    pub max: f64,
    /// The mean label.
    pub mean: f64,
}

/// One of several targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetSummary {
    /// What it is called.
    pub name: String,
    /// The smallest number.
    pub min: f64,
    /// The largest number.
    pub max: f64,
    /// The mean number.
    pub mean: f64,
}

/// What the rows look like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowSummary {
    /// The least number of values in a row.
    pub min_values: u64,
    /// The largest number of values in a row.
    pub max_values: u64,
    /// The smallest squared length of a row.
    pub min_sq_norm: f64,
    /// The largest squared length of a row.
    pub max_sq_norm: f64,
    /// The mean squared length of a row.
    pub mean_sq_norm: f64,
}

/// The manifest and a checksum of its text.
#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    crc32c: String,
    #[serde(borrow)]
    manifest: &'a RawValue,
}

impl Manifest {
    /// Reads the manifest of the store at `store`.
    pub fn read(store: &Path) -> Result<Manifest, StoreError> {
        while_it_changes(store, || Manifest::read_in(&StoreFolder::open(store)?))
    }

    /// The size of the file in an open store.
    pub(super) fn file_bytes(folder: &StoreFolder) -> Result<u64, StoreError> {
        let file = Manifest::open(folder)?;
        Ok(file.metadata().map_err(StoreError::io(&folder.path().join(FILE_NAME), "look at it"))?.len())
    }

    fn open(folder: &StoreFolder) -> Result<std::fs::File, StoreError> {
        let not_a_store = |problem: String| StoreError::NotAStore { path: folder.path().to_path_buf(), problem };
        folder.open_plain(FILE_NAME).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => not_a_store(format!("it has no {FILE_NAME}")),
            _ => not_a_store(format!("{FILE_NAME}: {error}")),
        })
    }

    /// Reads the manifest of an open store.
    pub(super) fn read_in(folder: &StoreFolder) -> Result<Manifest, StoreError> {
        let (store, path) = (folder.path(), folder.path().join(FILE_NAME));
        let file = Manifest::open(folder)?;
        let mut text = String::new();
        file.take(LARGEST_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| StoreError::damaged(&path, error.to_string()))?;
        let damaged = |error: serde_json::Error| StoreError::damaged(&path, error.to_string());
        let inner = unsealed(&text).map_err(|problem| StoreError::damaged(&path, problem))?;
        // The version is looked at first: other fields may have another meaning in another version.
        #[derive(Deserialize)]
        struct VersionOnly {
            version: u64,
        }
        let VersionOnly { version } = serde_json::from_str(inner.get()).map_err(damaged)?;
        if !(1..=VERSION).contains(&version) {
            return Err(StoreError::Version { path: store.to_path_buf(), found: version, supported: VERSION });
        }
        let manifest: Manifest = serde_json::from_str(inner.get()).map_err(damaged)?;
        if manifest.layout.targets as usize != manifest.targets.len().max(1) {
            return Err(StoreError::damaged(&path, "it does not name as many targets as a row has"));
        }
        manifest.check_made().map_err(|problem| StoreError::damaged(&path, problem))?;
        if let Some(Err(problem)) = manifest.schema.as_ref().map(Schema::check) {
            return Err(StoreError::damaged(&path, format!("its schema is wrong: {problem}")));
        }
        Ok(manifest)
    }

    /// Rows as they lie in the blocks, which are those that a reader gets unless they are mapped on the way.
    pub fn stored(&self) -> StoredRows {
        let Manifest { features, values, layout, named_features, .. } = *self;
        self.made_from.unwrap_or(StoredRows { features, values, layout, named_features })
    }

    /// Rows that are made when they are read have just the features of the map.
    fn check_made(&self) -> Result<(), &'static str> {
        let Some(stored) = self.made_from else { return Ok(()) };
        let Some(map) = self.fourier else { return Err("it does not say what rows are mapped to") };
        let features = u64::from(map.features());
        let is_whole = self.features == features && Some(self.values) == self.rows.checked_mul(features);
        let is_dense = self.layout.dense && self.layout.values >= ValueKind::F32 && !self.named_features;
        match is_whole && is_dense && stored.layout.targets == self.layout.targets {
            true => Ok(()),
            false => Err("its rows are not those that the map makes"),
        }
    }

    /// Whether `text` can be read as a manifest.
    pub(super) fn is_readable(text: &str) -> bool {
        unsealed(text).is_ok_and(|inner| serde_json::from_str::<Manifest>(inner.get()).is_ok())
    }

    /// The text of the file.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        sealed(self)
    }
}

/// The text of a manifest in its envelope.
pub(crate) fn sealed<T: Serialize>(manifest: &T) -> Result<String, serde_json::Error> {
    let manifest = serde_json::value::to_raw_value(manifest)?;
    let envelope = Envelope { crc32c: checksum(&manifest), manifest: &manifest };
    Ok(serde_json::to_string(&envelope)? + "\n")
}

/// The manifest in an envelope, if its checksum holds; says what is wrong otherwise.
pub(crate) fn unsealed(text: &str) -> Result<&RawValue, String> {
    let envelope: Envelope = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if checksum(envelope.manifest) != envelope.crc32c {
        return Err("checksum mismatch".into());
    }
    Ok(envelope.manifest)
}

fn checksum(manifest: &RawValue) -> String {
    format!("{:08x}", crc32c::crc32c(manifest.get().as_bytes()))
}
