//! A store on disk, read block by block with positioned reads.
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::features::{Columns, FeatureFiles, FeatureMap};
use super::files::{StoreFolder, while_it_changes};
use super::format::{self, Header};
use super::lazy_fourier::LazyFourier;
use super::manifest::Manifest;
use super::table::{self, Entry};
use super::{BlockId, BlockInfo, BlockStore, ReadBuffers, Shape, StoreError, reading_bytes};
use crate::block::{Block, ValueKind};
use crate::budget::{Budget, Reservation};

/// A store in a folder.
#[derive(Debug)]
pub struct DiskStore {
    path: PathBuf,
    manifest: Manifest,
    files: Vec<File>,
    entries: Vec<Entry>,
    infos: Vec<BlockInfo>,
    made: Option<LazyFourier>,
    spent: Spent,
    features: FeatureFiles,
    _paid: Option<Reservation>,
}

/// Nanoseconds that reading and decoding blocks took, by whichever thread.
#[derive(Debug, Default)]
struct Spent {
    reading: AtomicU64,
    decoding: AtomicU64,
}

fn add_since(total: &AtomicU64, begin: Instant) {
    total.fetch_add(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
}

/// A list of blocks and files of this size is nothing; what is larger is paid for.
const SMALL_BYTES: u64 = 1 << 20;

impl DiskStore {
    /// Opens the store at `path` and checks everything but the contents of its blocks.
    pub fn open(path: impl AsRef<Path>) -> Result<DiskStore, StoreError> {
        DiskStore::open_within(path, &Budget::unlimited())
    }

    /// The same within a budget: what is known of a store may be large where somebody has made it so.
    ///
    /// All files are opened here, so that a store that is replaced or removed meanwhile is read to the end as it was.
    pub fn open_within(path: impl AsRef<Path>, budget: &Budget) -> Result<DiskStore, StoreError> {
        let path = path.as_ref();
        while_it_changes(path, || DiskStore::open_once(path, budget))
    }

    fn open_once(path: &Path, budget: &Budget) -> Result<DiskStore, StoreError> {
        let folder = StoreFolder::open(path)?;
        let mut paid = budget.open("the list of blocks");
        // Text becomes at most eight times as much in memory: a class with a name of one letter is a string.
        let text_bytes = Manifest::file_bytes(&folder)?.saturating_mul(8);
        if text_bytes > SMALL_BYTES {
            paid.grow_to(text_bytes)?;
        }
        let manifest = Manifest::read_in(&folder)?;
        // A file of another size is damaged, however much memory there is.
        folder.open_file(&manifest.table)?;
        let table_bytes = manifest.table.bytes.saturating_mul(4);
        if table_bytes.saturating_add(text_bytes) > SMALL_BYTES {
            paid.grow_to(text_bytes.saturating_add(table_bytes))?;
        }
        let (largest, stored) = (u64::from(u32::MAX) + 1, manifest.stored());
        if manifest.features.max(stored.features) > largest {
            return Err(StoreError::damaged(path, "more features than 32 bits can number"));
        }
        if stored.layout.dense && stored.layout.values < ValueKind::F32 {
            return Err(StoreError::damaged(path, "dense rows without values"));
        }
        let features = FeatureFiles::open(&folder, &manifest)?;
        let files = manifest.block_files.iter().map(|entry| folder.open_file(entry)).collect::<Result<Vec<_>, _>>()?;
        let bytes = folder.read_checked(&manifest.table)?;
        let entries = table::parse(&path.join(&manifest.table.name), &bytes, &manifest)?;
        let mut infos: Vec<BlockInfo> = entries.iter().map(|entry| entry.info).collect();
        let made = LazyFourier::new(&manifest, &mut infos);
        let paid = Some(paid).filter(|paid| paid.bytes() > 0);
        Ok(DiskStore {
            path: path.to_path_buf(),
            manifest,
            files,
            entries,
            infos,
            made,
            spent: Spent::default(),
            features,
            _paid: paid,
        })
    }

    /// The features that its rows have, by column, from the files that were opened with it.
    pub fn features(&self, budget: &Budget) -> Result<FeatureMap, StoreError> {
        FeatureMap::read_opened(&self.features, &self.manifest, budget)
    }

    /// The same one after the other, in the memory of some thousand of them.
    pub fn feature_columns(&self, budget: &Budget) -> Result<Columns<'_>, StoreError> {
        match self.manifest.made_from {
            None => self.stored_columns(budget),
            Some(_) => Columns::made(self.manifest.features, budget),
        }
    }

    /// The features of the rows that lie on disk, one after the other.
    pub(crate) fn stored_columns(&self, budget: &Budget) -> Result<Columns<'_>, StoreError> {
        Columns::stored(&self.features, &self.manifest, budget)
    }

    /// Holds every block against its checksums, without decoding it.
    pub(crate) fn check_blocks(&self, budget: &Budget) -> Result<(), StoreError> {
        let largest = self.infos.iter().map(|info| info.stored_bytes).max().unwrap_or(0);
        let _paid = budget.reserve("checking the rows that are there", largest)?;
        let mut bytes = Vec::new();
        for number in 0..self.entries.len() as u32 {
            self.read_bytes(BlockId(number), &mut bytes)?;
            let file = self.file_of(BlockId(number));
            format::check(&bytes).map_err(|error| StoreError::block(&file, number, &error))?;
        }
        Ok(())
    }

    /// Where its blocks lie.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What the store holds.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Seconds that reading and decoding blocks took so far, on all threads together.
    pub fn spent_seconds(&self) -> [f64; 2] {
        [&self.spent.reading, &self.spent.decoding].map(|total| total.load(Ordering::Relaxed) as f64 * 1e-9)
    }

    /// How many blocks use which encoding of values.
    pub fn encodings(&self) -> Result<BTreeMap<&'static str, u64>, StoreError> {
        let mut counts = BTreeMap::new();
        for (number, entry) in self.entries.iter().enumerate() {
            let read = |at: u64, bytes: &mut [u8]| {
                let file = self.file_of(BlockId(number as u32));
                let result = self.files[entry.file as usize].read_exact_at(bytes, entry.offset + at);
                result.map_err(StoreError::io(&file, "read a block"))
            };
            let (mut header, mut tag) = ([0; format::HEADER_BYTES], [0]);
            let mut name = None;
            if entry.info.stored_bytes > format::HEADER_BYTES as u64 {
                read(0, &mut header)?;
                if let Some(at) = format::values_at(&header).filter(|&at| at < entry.info.stored_bytes) {
                    read(at, &mut tag)?;
                    name = format::encoding_name(tag[0]);
                }
            }
            *counts.entry(name.unwrap_or("unreadable")).or_default() += 1;
        }
        Ok(counts)
    }

    /// The file that holds a block.
    pub(crate) fn file_of(&self, id: BlockId) -> PathBuf {
        let file = self.entries[id.0 as usize].file as usize;
        self.path.join(&self.manifest.block_files[file].name)
    }

    /// Reads the bytes of a block without looking into them.
    pub(crate) fn read_bytes(&self, id: BlockId, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        let entry = &self.entries[id.0 as usize];
        bytes.resize(entry.info.stored_bytes as usize, 0);
        self.files[entry.file as usize]
            .read_exact_at(bytes, entry.offset)
            .map_err(StoreError::io(&self.file_of(id), "read a block"))
    }

    /// Appends the rows of a block as they lie on disk.
    fn read_stored(&self, id: BlockId, buffers: &mut ReadBuffers, into: &mut Block) -> Result<(), StoreError> {
        let damaged = |error| StoreError::block(&self.file_of(id), id.0, &error);
        let begin = Instant::now();
        self.read_bytes(id, &mut buffers.bytes)?;
        add_since(&self.spent.reading, begin);
        let begin = Instant::now();
        let header = Header::parse(&buffers.bytes).map_err(damaged)?;
        let info = &self.entries[id.0 as usize].info;
        if (header.rows, header.values) != (info.rows, info.values) {
            let problem = format!("block {} does not have the size that the block table says", id.0);
            return Err(StoreError::damaged(&self.file_of(id), problem));
        }
        format::decode(&buffers.bytes, into, &mut buffers.scratch).map_err(damaged)?;
        add_since(&self.spent.decoding, begin);
        Ok(())
    }
}

impl BlockStore for DiskStore {
    fn shape(&self) -> Shape {
        let Manifest { rows, values, features, layout, .. } = self.manifest;
        Shape { rows, values, columns: features, layout }
    }

    fn blocks(&self) -> &[BlockInfo] {
        &self.infos
    }

    fn read(&self, id: BlockId, buffers: &mut ReadBuffers, into: &mut Block) -> Result<(), StoreError> {
        let Some(made) = &self.made else { return self.read_stored(id, buffers, into) };
        let stored = self.manifest.stored();
        let kept = buffers
            .stored
            .take()
            .filter(|block| (block.layout(), block.columns() as u64) == (stored.layout, stored.features));
        let mut rows = kept.unwrap_or_else(|| Block::new(stored.layout, stored.features as usize));
        rows.clear();
        self.read_stored(id, buffers, &mut rows)?;
        made.append(&self.features, &self.manifest, &rows, into)?;
        buffers.stored = Some(rows);
        Ok(())
    }

    fn reading_bytes(&self) -> u64 {
        self.made.as_ref().map_or_else(|| reading_bytes(&self.infos), LazyFourier::reading_bytes)
    }
}
