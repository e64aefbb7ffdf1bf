//! A store on disk, read block by block with positioned reads.
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::format::{self, Header};
use super::made::Made;
use super::manifest::{FileEntry, Manifest};
use super::table::{self, Entry};
use super::{BlockId, BlockInfo, BlockStore, ReadBuffers, Shape, StoreError, reading_bytes};
use crate::block::{Block, ValueKind};

/// A store in a folder.
#[derive(Debug)]
pub struct DiskStore {
    path: PathBuf,
    manifest: Manifest,
    files: Vec<File>,
    entries: Vec<Entry>,
    infos: Vec<BlockInfo>,
    made: Option<Made>,
}

impl DiskStore {
    /// Opens the store at `path` and checks everything but the contents of its blocks.
    pub fn open(path: impl AsRef<Path>) -> Result<DiskStore, StoreError> {
        let path = path.as_ref();
        let manifest = Manifest::read(path)?;
        let (largest, stored) = (u64::from(u32::MAX) + 1, manifest.stored());
        if manifest.features.max(stored.features) > largest {
            return Err(StoreError::damaged(path, "more features than 32 bits can number"));
        }
        if stored.layout.dense && stored.layout.values < ValueKind::F32 {
            return Err(StoreError::damaged(path, "dense rows without values"));
        }
        for map in &manifest.feature_maps {
            open_file(path, map)?;
        }
        let files = manifest.block_files.iter().map(|entry| open_file(path, entry)).collect::<Result<Vec<_>, _>>()?;
        let bytes = read_checked(path, &manifest.table)?;
        let entries = table::parse(&path.join(&manifest.table.name), &bytes, &manifest)?;
        let mut infos: Vec<BlockInfo> = entries.iter().map(|entry| entry.info).collect();
        let made = Made::new(&manifest, &mut infos);
        Ok(DiskStore { path: path.to_path_buf(), manifest, files, entries, infos, made })
    }

    /// What the store holds.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
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
        self.read_bytes(id, &mut buffers.bytes)?;
        let header = Header::parse(&buffers.bytes).map_err(damaged)?;
        let info = &self.entries[id.0 as usize].info;
        if (header.rows, header.values) != (info.rows, info.values) {
            let problem = format!("block {} does not have the size that the block table says", id.0);
            return Err(StoreError::damaged(&self.file_of(id), problem));
        }
        format::decode(&buffers.bytes, into, &mut buffers.scratch).map_err(damaged)
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
        made.append(&self.path, &self.manifest, &rows, into)?;
        buffers.stored = Some(rows);
        Ok(())
    }

    fn reading_bytes(&self) -> u64 {
        self.made.as_ref().map_or_else(|| reading_bytes(&self.infos), Made::reading_bytes)
    }
}

/// Names come from the manifest, which may be forged: a plain name or one folder down, nothing else.
pub(super) fn checked_path(store: &Path, name: &str) -> Result<PathBuf, StoreError> {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-')
    };
    let mut parts = name.split('/');
    let fits = parts.next().is_some_and(plain) && parts.next().is_none_or(plain) && parts.next().is_none();
    if fits {
        Ok(store.join(name))
    } else {
        Err(StoreError::damaged(store, format!("the file name '{name}' is not one of ours")))
    }
}

/// Opens a file of the store and checks its size.
pub(crate) fn open_file(store: &Path, entry: &FileEntry) -> Result<File, StoreError> {
    let path = checked_path(store, &entry.name)?;
    let file = File::open(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => StoreError::damaged(&path, "the file is missing"),
        _ => StoreError::io(&path, "open it")(error),
    })?;
    let found = file.metadata().map_err(StoreError::io(&path, "look at it"))?.len();
    if found != entry.bytes {
        return Err(StoreError::damaged(&path, format!("it has {found} bytes and should have {}", entry.bytes)));
    }
    Ok(file)
}

/// Reads a small file of the store whole and checks it.
pub(crate) fn read_checked(store: &Path, entry: &FileEntry) -> Result<Vec<u8>, StoreError> {
    let mut file = open_file(store, entry)?;
    let path = store.join(&entry.name);
    let mut bytes = Vec::with_capacity(entry.bytes as usize);
    file.read_to_end(&mut bytes).map_err(StoreError::io(&path, "read it"))?;
    if crc32c::crc32c(&bytes) != entry.checksum {
        return Err(StoreError::damaged(&path, "checksum mismatch"));
    }
    Ok(bytes)
}
