//! `features.N.map`: which feature of the user each column is, and how it was scaled.
//!
//! ```text
//! "TOWF" │ version u16 │ named u8 │ scaled u8 │ count u64
//! numbered: count x u64, the feature numbers in column order
//! named:    count x u32 (column ─► place), count x u64 (ends of the names in order of place), names
//! scaled:   count x (shift f64, factor f64) in column order: stored = (raw - shift) · factor
//! ```
//! Names lie in the order in which they were first seen, so that packing can write them as they come and never holds them.
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::files::{StoreFolder, read_checked};
use super::manifest::Manifest;
use super::writer::CheckedFile;
use crate::budget::{Budget, Reservation};

const MAGIC: [u8; 4] = *b"TOWF";
const VERSION: u16 = 1;

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
    parts: Vec<Part>,
    _paid: Reservation,
}

/// The features that one generation brought.
#[derive(Debug)]
struct Part {
    first: usize,
    count: usize,
    keys: Keys,
    scaling: Vec<Scaling>,
}

#[derive(Debug)]
enum Keys {
    Numbers(Vec<u64>),
    Names { place: Vec<u32>, ends: Vec<u64>, text: String },
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
        let keys = Keys::Numbers((1..=manifest.features).collect());
        let part = Part { first: 0, count: manifest.features as usize, keys, scaling: Vec::new() };
        Ok(FeatureMap { parts: vec![part], _paid: paid })
    }

    /// No features.
    pub fn empty(budget: &Budget) -> Result<FeatureMap, StoreError> {
        Ok(FeatureMap { parts: Vec::new(), _paid: budget.reserve_few("feature names", 0)? })
    }

    /// The features of the rows that lie on disk.
    pub(super) fn read_stored(
        files: &FeatureFiles,
        manifest: &Manifest,
        budget: &Budget,
    ) -> Result<FeatureMap, StoreError> {
        let stored = manifest.stored();
        // The bytes of the file and what they become.
        let bytes =
            manifest.feature_maps.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes.saturating_mul(2)));
        let paid = budget.reserve_few("feature names", bytes)?;
        let mut parts = Vec::new();
        let mut first = 0;
        for (file, entry) in files.files.iter().zip(&manifest.feature_maps) {
            let path = files.store.join(&entry.name);
            let bytes = read_checked(file, &path, entry)?;
            let part = parse(&bytes, first).map_err(|problem| StoreError::damaged(&path, problem))?;
            if matches!(part.keys, Keys::Names { .. }) != stored.named_features {
                return Err(StoreError::damaged(&path, "the manifest says otherwise about named features"));
            }
            first += part.count;
            parts.push(part);
        }
        if first as u64 != stored.features {
            return Err(StoreError::damaged(&files.store, "the feature maps do not add up to the number of features"));
        }
        Ok(FeatureMap { parts, _paid: paid })
    }

    /// How many features there are.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.count).sum()
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
        let (part, k) = self.part(column);
        match &part.keys {
            Keys::Numbers(numbers) => FeatureName::Number(numbers[k]),
            Keys::Names { place, ends, text } => {
                let place = place[k] as usize;
                let start = if place == 0 { 0 } else { ends[place - 1] };
                FeatureName::Name(&text[start as usize..ends[place] as usize])
            }
        }
    }

    /// How the feature in `column` was scaled, if it was.
    pub fn scaling(&self, column: u32) -> Option<Scaling> {
        let (part, k) = self.part(column);
        part.scaling.get(k).copied()
    }

    fn part(&self, column: u32) -> (&Part, usize) {
        let column = column as usize;
        let part = self.parts.partition_point(|part| part.first <= column) - 1;
        (&self.parts[part], column - self.parts[part].first)
    }
}

fn parse(bytes: &[u8], first: usize) -> Result<Part, String> {
    let early = || "it ends too early".to_string();
    let mut rest = bytes;
    let mut take = |n: usize| {
        let (taken, after) = rest.split_at_checked(n).ok_or_else(early)?;
        rest = after;
        Ok::<_, String>(taken)
    };
    let header = take(16)?;
    if header[..4] != MAGIC {
        return Err("it is not a feature map".into());
    }
    if u16::from_le_bytes([header[4], header[5]]) != VERSION {
        return Err("it has another format version".into());
    }
    let (named, scaled) = (header[6] == 1, header[7] == 1);
    let count = u64::from_le_bytes(std::array::from_fn(|k| header[8 + k]));
    let count = usize::try_from(count).ok().filter(|&n| n <= bytes.len()).ok_or_else(early)?;
    let numbers =
        |bytes: &[u8]| -> Vec<u64> { bytes.as_chunks::<8>().0.iter().map(|&b| u64::from_le_bytes(b)).collect() };
    let keys = if named {
        let place: Vec<u32> = take(count * 4)?.as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b)).collect();
        let ends = numbers(take(count * 8)?);
        let text = take(usize::try_from(ends.last().copied().unwrap_or(0)).map_err(|_| early())?)?;
        let text = String::from_utf8(text.to_vec()).map_err(|_| "a name is not UTF-8".to_string())?;
        let mut last = 0;
        for &end in &ends {
            if end < last || !text.is_char_boundary(end as usize) {
                return Err("the names overlap".into());
            }
            last = end;
        }
        if place.iter().any(|&p| p as usize >= count) {
            return Err("a column refers to no name".into());
        }
        Keys::Names { place, ends, text }
    } else {
        Keys::Numbers(numbers(take(count * 8)?))
    };
    let mut scaling = Vec::new();
    if scaled {
        for pair in take(count * 16)?.as_chunks::<16>().0 {
            let at = |from: usize| f64::from_le_bytes(std::array::from_fn(|k| pair[from + k]));
            let pair = Scaling { shift: at(0), factor: at(8) };
            if !pair.shift.is_finite() || !pair.factor.is_finite() {
                return Err("a scale is not finite".into());
            }
            scaling.push(pair);
        }
    }
    if !rest.is_empty() {
        return Err("it has bytes left over".into());
    }
    Ok(Part { first, count, keys, scaling })
}

/// What the packer knows of the features it writes, in column order.
pub enum NewFeatures<'a> {
    /// Feature numbers.
    Numbers(&'a mut dyn Iterator<Item = u64>),
    /// For each column the place of its name; the ends of the names and the names themselves, by place.
    Names {
        /// Column to place.
        places: &'a mut dyn Iterator<Item = u32>,
        /// Ends of the names.
        ends: &'a [u64],
        /// All names, one after the other.
        text: &'a mut dyn Read,
    },
}

/// Writes a feature map.
pub fn write(
    file: &mut CheckedFile,
    count: u64,
    features: NewFeatures,
    scaling: Option<&mut dyn Iterator<Item = Scaling>>,
) -> Result<(), StoreError> {
    let named = matches!(features, NewFeatures::Names { .. });
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.extend_from_slice(&[u8::from(named), u8::from(scaling.is_some())]);
    header.extend_from_slice(&count.to_le_bytes());
    file.write(&header)?;
    match features {
        NewFeatures::Numbers(numbers) => {
            for number in numbers {
                file.write(&number.to_le_bytes())?;
            }
        }
        NewFeatures::Names { places, ends, text } => {
            for place in places {
                file.write(&place.to_le_bytes())?;
            }
            for end in ends {
                file.write(&end.to_le_bytes())?;
            }
            file.copy(text)?;
        }
    }
    if let Some(scaling) = scaling {
        for Scaling { shift, factor } in scaling {
            file.write(&shift.to_le_bytes())?;
            file.write(&factor.to_le_bytes())?;
        }
    }
    Ok(())
}
