//! The features of a store in the order of their columns, in the memory of some thousand of them.
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::chunks::{self, Chunk, ChunkReader, Trouble};
use super::{FeatureFiles, FeatureName, MAGIC, Scaling, first};
use crate::budget::{Budget, Reservation};
use crate::store::StoreError;
use crate::store::files::{check_file, read_checked};
use crate::store::format::packed;
use crate::store::manifest::{FileEntry, Manifest};

/// Features of a store, column by column.
pub struct Columns<'a> {
    /// The maps that have not been begun, the next one last.
    waiting: Vec<Map<'a>>,
    open: Option<(PathBuf, ChunkReader<'a>)>,
    chunk: Chunk,
    /// Columns of the chunk that have been handed out.
    taken: usize,
    /// Numbers that are made, not read.
    made: std::ops::RangeInclusive<u64>,
    named: bool,
    scaled: bool,
    len: u64,
    file_bytes: u64,
    paid: Reservation,
    budget: Budget,
}

struct Map<'a> {
    file: &'a File,
    entry: &'a FileEntry,
    path: PathBuf,
    version: u16,
}

impl Chunk {
    /// What its feature number `k` is called.
    pub fn name(&self, k: usize) -> FeatureName<'_> {
        match self.numbers.get(k) {
            Some(&number) => FeatureName::Number(number),
            None => {
                let start = if k == 0 { 0 } else { self.ends[k - 1] };
                FeatureName::Name(&self.text[start as usize..self.ends[k] as usize])
            }
        }
    }
}

impl<'a> Columns<'a> {
    /// The columns of the rows that lie on disk. Checksums are looked at first.
    pub(in crate::data::store) fn stored(
        files: &'a FeatureFiles,
        manifest: &'a Manifest,
        budget: &Budget,
    ) -> Result<Self, StoreError> {
        let stored = manifest.stored();
        let mut columns = Columns::none(stored.named_features, budget)?;
        for (file, entry) in files.files.iter().zip(&manifest.feature_maps) {
            let map = Map { file, entry, path: files.store.join(&entry.name), version: 0 };
            columns.add(map)?;
        }
        columns.waiting.reverse();
        if columns.len != stored.features {
            return Err(StoreError::damaged(&files.store, "the feature maps do not add up to the number of features"));
        }
        Ok(columns)
    }

    /// Columns of features that are made when rows are read: numbers from 1.
    pub(crate) fn made(features: u64, budget: &Budget) -> Result<Self, StoreError> {
        Ok(Columns { made: 1..=features, len: features, ..Columns::none(false, budget)? })
    }

    /// No columns.
    pub(crate) fn none(named: bool, budget: &Budget) -> Result<Self, StoreError> {
        #[allow(clippy::reversed_empty_ranges)]
        let made = 1..=0;
        Ok(Columns {
            waiting: Vec::new(),
            open: None,
            chunk: Chunk::default(),
            taken: 0,
            made,
            named,
            scaled: false,
            len: 0,
            file_bytes: 0,
            paid: budget.reserve_few("features of a store", 0)?,
            budget: budget.clone(),
        })
    }

    /// Looks at a map, which is read later.
    fn add(&mut self, mut map: Map<'a>) -> Result<(), StoreError> {
        check_file(map.file, &map.path, map.entry)?;
        let damaged = |problem: &str| Err(StoreError::damaged(&map.path, problem));
        let mut header = [0; first::HEADER_BYTES];
        if map.entry.bytes < header.len() as u64 {
            return damaged("it ends too early");
        }
        map.file.read_exact_at(&mut header, 0).map_err(StoreError::io(&map.path, "read it"))?;
        if header[..4] != MAGIC {
            return damaged("it is not a feature map");
        }
        let version = u16::from_le_bytes([header[4], header[5]]);
        if ![first::VERSION, chunks::VERSION].contains(&version) {
            return damaged("it has another format version");
        }
        if (header[6] == 1) != self.named {
            return damaged("the manifest says otherwise about named features");
        }
        map.version = version;
        self.scaled |= header[7] == 1;
        let count = u64::from_le_bytes(std::array::from_fn(|k| header[8 + k]));
        // A column has a byte at least, or a group of them.
        let columns_per_byte = if version == first::VERSION { 1 } else { packed::GROUP as u64 };
        if count > map.entry.bytes.saturating_mul(columns_per_byte) {
            return damaged("it ends too early");
        }
        self.len = self.len.saturating_add(count);
        self.file_bytes = self.file_bytes.saturating_add(map.entry.bytes);
        self.waiting.push(map);
        Ok(())
    }

    /// All columns, those that have been handed out included.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether features have names.
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// Whether some were scaled.
    pub fn is_scaled(&self) -> bool {
        self.scaled
    }

    /// Bytes of the maps on disk.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The feature of the next column, and how it was scaled.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(FeatureName<'_>, Option<Scaling>)>, StoreError> {
        if let Some(number) = self.made.next() {
            return Ok(Some((FeatureName::Number(number), None)));
        }
        while self.taken == self.chunk.len() {
            let mut chunk = std::mem::take(&mut self.chunk);
            chunk.clear();
            self.taken = 0;
            let is_there = self.append_to(&mut chunk)?;
            self.chunk = chunk;
            if !is_there {
                return Ok(None);
            }
        }
        self.taken += 1;
        Ok(Some((self.chunk.name(self.taken - 1), self.chunk.scaling.get(self.taken - 1).copied())))
    }

    /// Appends some columns to `into`; false if there are no more.
    pub(super) fn append_to(&mut self, into: &mut Chunk) -> Result<bool, StoreError> {
        loop {
            if let Some((path, reader)) = &mut self.open {
                let before = into.len();
                match reader.next(into) {
                    Ok(true) => {
                        // Where some columns are scaled, all have a scale.
                        if self.scaled && !reader.is_scaled() {
                            into.scaling.resize(into.len(), Scaling { shift: 0.0, factor: 1.0 });
                        }
                        return Ok(into.len() > before);
                    }
                    Ok(false) => self.open = None,
                    Err(trouble) => return Err(error_of(trouble, path)),
                }
            }
            let Some(map) = self.waiting.pop() else { return Ok(false) };
            if map.version == first::VERSION {
                self.append_first(&map, into)?;
                return Ok(true);
            }
            let mut header = [0; chunks::HEADER_BYTES];
            let reader = match map.entry.bytes < header.len() as u64 {
                true => Err(Trouble::Damaged("it ends too early".into())),
                false => map
                    .file
                    .read_exact_at(&mut header, 0)
                    .map_err(Trouble::from)
                    .and_then(|()| ChunkReader::new(map.file, map.entry.bytes, &header, &self.budget)),
            };
            self.open = Some((map.path.clone(), reader.map_err(|trouble| error_of(trouble, &map.path))?));
        }
    }

    /// A map of the first version is held as a whole.
    fn append_first(&mut self, map: &Map, into: &mut Chunk) -> Result<(), StoreError> {
        // The bytes of the file and what they become.
        self.paid.grow_few(map.entry.bytes.saturating_mul(2))?;
        let bytes = read_checked(map.file, &map.path, map.entry)?;
        let mut part = first::parse(&bytes).map_err(|problem| StoreError::damaged(&map.path, problem))?;
        if self.scaled && part.scaling.is_empty() {
            part.scaling.resize(part.len(), Scaling { shift: 0.0, factor: 1.0 });
        }
        let before = into.text.len() as u64;
        into.numbers.append(&mut part.numbers);
        into.ends.extend(part.ends.iter().map(|end| before + end));
        into.text.push_str(&part.text);
        into.scaling.append(&mut part.scaling);
        Ok(())
    }
}

fn error_of(trouble: Trouble, path: &std::path::Path) -> StoreError {
    match trouble {
        Trouble::Io(error) => StoreError::io(path, "read it")(error),
        Trouble::Budget(error) => error.into(),
        Trouble::Damaged(problem) => StoreError::damaged(path, problem),
    }
}
