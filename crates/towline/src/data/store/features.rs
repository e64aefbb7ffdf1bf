//! `features.N.map`: which feature of the user each column is, and how it was scaled.
//!
//! There are two versions of the file: the one that is written (`chunks`), and the first one (`first`), which is still
//! read. All columns can be held ([`FeatureMap`]), or come by in order ([`Columns`]).
mod chunks;
mod columns;
mod first;

pub(crate) use chunks::{Chunk, Kind, MapWriter};
pub use columns::Columns;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::files::StoreFolder;
use super::manifest::Manifest;
use crate::budget::{Budget, Reservation};

const MAGIC: [u8; 4] = *b"TOWF";

/// What a feature is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FeatureName<'a> {
    /// A number, as in libsvm text.
    Number(u64),
    /// A name, as in tables.
    Name(&'a str),
}

impl std::fmt::Display for FeatureName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FeatureName::Number(number) => write!(f, "{number}"),
            FeatureName::Name(name) => f.write_str(name),
        }
    }
}

/// How a feature was scaled: `stored = (raw - shift) · factor`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// Subtracted first.
    pub shift: f64,
    /// Multiplied then.
    pub factor: f64,
}

impl Scaling {
    /// As it was.
    pub const NONE: Scaling = Scaling { shift: 0.0, factor: 1.0 };

    /// Shift and factor as they lie in files.
    pub fn to_bytes(self) -> [u8; 16] {
        let (shift, factor) = (self.shift.to_le_bytes(), self.factor.to_le_bytes());
        std::array::from_fn(|k| if k < 8 { shift[k] } else { factor[k - 8] })
    }

    /// The reverse.
    pub fn from_bytes(bytes: &[u8; 16]) -> Self {
        let at = |from: usize| f64::from_le_bytes(std::array::from_fn(|k| bytes[from + k]));
        Scaling { shift: at(0), factor: at(8) }
    }

    /// What a value becomes.
    pub fn apply(&self, raw: f64) -> f64 {
        (raw - self.shift) * self.factor
    }
}

/// The feature maps of a store, opened.
#[derive(Debug)]
pub(super) struct FeatureFiles {
    store: PathBuf,
    files: Vec<File>,
}

impl FeatureFiles {
    pub fn open(folder: &StoreFolder, manifest: &Manifest) -> Result<FeatureFiles, StoreError> {
        let files = manifest.feature_maps.iter().map(|entry| folder.open_file(entry)).collect::<Result<_, _>>()?;
        Ok(FeatureFiles { store: folder.path().to_path_buf(), files })
    }
}

/// The features of a store, by column.
#[derive(Debug)]
pub struct FeatureMap {
    chunk: Chunk,
    _paid: Reservation,
}

impl FeatureMap {
    /// The features that rows of a store have when they have been read.
    pub fn read(store: &Path, manifest: &Manifest, budget: &Budget) -> Result<FeatureMap, StoreError> {
        let files = FeatureFiles::open(&StoreFolder::open(store)?, manifest)?;
        FeatureMap::read_opened(&files, manifest, budget)
    }

    pub(super) fn read_opened(
        files: &FeatureFiles,
        manifest: &Manifest,
        budget: &Budget,
    ) -> Result<FeatureMap, StoreError> {
        if manifest.made_from.is_none() {
            return FeatureMap::read_stored(files, manifest, budget);
        }
        let paid = budget.reserve_few("feature names", 8 * manifest.features)?;
        let chunk = Chunk { numbers: (1..=manifest.features).collect(), ..Chunk::default() };
        Ok(FeatureMap { chunk, _paid: paid })
    }

    /// The features of the rows that lie on disk.
    pub(super) fn read_stored(
        files: &FeatureFiles,
        manifest: &Manifest,
        budget: &Budget,
    ) -> Result<FeatureMap, StoreError> {
        let mut paid = budget.reserve_few("feature names", 0)?;
        let (mut whole, mut columns) = (Chunk::default(), Columns::stored(files, manifest, budget)?);
        let count = usize::try_from(columns.len()).unwrap_or(usize::MAX);
        let text_bytes = if columns.is_named() { columns.file_bytes() } else { 0 };
        let scaling_bytes = if columns.is_scaled() { 16 * columns.len() } else { 0 };
        paid.grow_few(8 * columns.len() + text_bytes + scaling_bytes)?;
        let has_room = match columns.is_named() {
            true => whole.ends.try_reserve_exact(count),
            false => whole.numbers.try_reserve_exact(count),
        };
        if has_room.is_err() {
            return Err(StoreError::damaged(&files.store, "its features are more than memory holds"));
        }
        while columns.append_to(&mut whole)? {}
        Ok(FeatureMap { chunk: whole, _paid: paid })
    }

    /// How many features there are.
    pub fn len(&self) -> usize {
        self.chunk.len()
    }

    /// Whether there are no features.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the feature in `column` is called.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn name(&self, column: u32) -> FeatureName<'_> {
        self.chunk.name(column as usize)
    }

    /// How the feature in `column` was scaled, if it was.
    pub fn scaling(&self, column: u32) -> Option<Scaling> {
        self.chunk.scaling.get(column as usize).copied()
    }
}
