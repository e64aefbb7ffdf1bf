//! Writing a store so that it exists whole or not at all.
//!
//! A new store grows in `STORE.partial` and is renamed when everything in it is synced. More rows for an old store go into
//! files that its manifest does not list; replacing the manifest makes them part of it in one step. Whatever a crash leaves
//! behind is not part of any store, and the next writer removes it.
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::folder::{
    exchange, lock, parent, partial, remove_abandoned, remove_contents, remove_replaced, remove_unlisted, sync_folder,
    write_synced,
};
use super::format::Header;
use super::manifest::{FILE_NAME, FileEntry, Manifest};
use super::table::{self, Entry};
use super::{BlockInfo, StoreError};

/// A new block file is begun beyond this size.
const BLOCK_FILE_BYTES: u64 = 1 << 30;
pub(super) const BLOCK_FOLDER: &str = "blocks";
/// Start writing back after this many bytes, so that the final sync has little left to do.
const WRITE_BACK_BYTES: u64 = 8 << 20;

/// A file that keeps the checksum of what was written to it.
pub struct CheckedFile {
    path: PathBuf,
    name: String,
    out: BufWriter<File>,
    bytes: u64,
    checksum: u32,
}

impl CheckedFile {
    fn create(folder: &Path, name: String) -> Result<Self, StoreError> {
        let path = folder.join(&name);
        let file = File::create(&path).map_err(StoreError::io(&path, "create it"))?;
        Ok(CheckedFile { path, name, out: BufWriter::with_capacity(1 << 16, file), bytes: 0, checksum: 0 })
    }

    /// Appends `bytes`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.out.write_all(bytes).map_err(StoreError::io(&self.path, "write it"))?;
        self.checksum = crc32c::crc32c_append(self.checksum, bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Appends everything that `source` has.
    pub fn copy(&mut self, source: &mut dyn Read) -> Result<(), StoreError> {
        let mut buffer = [0u8; 1 << 13];
        loop {
            match source.read(&mut buffer).map_err(StoreError::io(&self.path, "copy to it"))? {
                0 => return Ok(()),
                n => self.write(&buffer[..n])?,
            }
        }
    }

    fn finish(self) -> Result<FileEntry, StoreError> {
        let file = self.out.into_inner().map_err(|e| StoreError::io(&self.path, "write it")(e.into_error()))?;
        file.sync_all().map_err(StoreError::io(&self.path, "sync it"))?;
        Ok(FileEntry { name: self.name, bytes: self.bytes, checksum: self.checksum })
    }
}

/// Writes the blocks of a new store, or of a new generation of an old one.
pub struct StoreWriter {
    target: PathBuf,
    /// Where files are written: `STORE.partial`, or the store itself when rows are added.
    folder: PathBuf,
    old: Option<Manifest>,
    generation: u64,
    files: Vec<FileEntry>,
    entries: Vec<Entry>,
    open: Option<BlockFile>,
    published: bool,
    /// The folder that is written, and the store that it will replace.
    _locks: Vec<File>,
}

struct BlockFile {
    path: PathBuf,
    name: String,
    file: File,
    bytes: u64,
    written_back: u64,
}

/// What to do if something is at the path already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Refuse.
    #[default]
    Refuse,
    /// Replace it once the new store is whole.
    Replace,
    /// Add rows to it.
    Append,
}

impl StoreWriter {
    /// Prepares to write at `target`; what an earlier run left unfinished there is removed.
    pub fn create(target: &Path, existing: Existing) -> Result<StoreWriter, StoreError> {
        let is_store = target.join(FILE_NAME).is_file();
        match existing {
            Existing::Append => return Self::append(target),
            // Only a store may be replaced: --force must not wipe out an unrelated folder.
            _ if target.exists() && !is_store => return Err(StoreError::Occupied { path: target.to_path_buf() }),
            Existing::Refuse if is_store => return Err(StoreError::Exists { path: target.to_path_buf() }),
            _ => {}
        }
        // Held from the beginning: rows that another process adds meanwhile would be lost with the old store.
        let mut locks = Vec::new();
        if is_store {
            locks.push(lock(target, target)?);
        }
        let folder = partial(target);
        let parent = parent(target);
        if !parent.is_dir() {
            let missing = std::io::Error::from_raw_os_error(libc::ENOENT);
            return Err(StoreError::io(parent, "write a store into this folder")(missing));
        }
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(StoreError::io(&folder, "create it")(error));
            }
            _ => {}
        }
        locks.push(lock(&folder, target)?);
        remove_contents(&folder)?;
        remove_replaced(&folder)?;
        let writer = StoreWriter::new(target, folder, None, locks);
        fs::create_dir(writer.folder.join(BLOCK_FOLDER))
            .map_err(StoreError::io(&writer.folder, "create a folder in it"))?;
        Ok(writer)
    }

    fn append(target: &Path) -> Result<StoreWriter, StoreError> {
        // Looked at first: only a store has a message of its own for not being one.
        Manifest::read(target)?;
        let lock = lock(target, target)?;
        let old = Manifest::read(target)?;
        remove_abandoned(&partial(target));
        remove_unlisted(target, &old)?;
        let bytes = super::disk::read_checked(target, &old.table)?;
        let entries = table::parse(&target.join(&old.table.name), &bytes, &old)?;
        let mut writer = StoreWriter::new(target, target.to_path_buf(), Some(old.clone()), vec![lock]);
        let next = old.generation.checked_add(1);
        writer.generation = next.ok_or_else(|| StoreError::damaged(target, "an impossible generation"))?;
        writer.files = old.block_files;
        writer.entries = entries;
        Ok(writer)
    }

    fn new(target: &Path, folder: PathBuf, old: Option<Manifest>, locks: Vec<File>) -> StoreWriter {
        StoreWriter {
            target: target.to_path_buf(),
            folder,
            old,
            generation: 1,
            files: Vec::new(),
            entries: Vec::new(),
            open: None,
            published: false,
            _locks: locks,
        }
    }

    /// The manifest of the store that rows are added to.
    pub fn old(&self) -> Option<&Manifest> {
        self.old.as_ref()
    }

    /// Counts the times that rows were added, this one included.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The folder that temporary files may go to: on the same disk, and gone with an unfinished store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Blocks written so far, those of older generations included.
    pub fn blocks(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of all block files.
    pub fn block_bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum::<u64>() + self.open.as_ref().map_or(0, |open| open.bytes)
    }

    /// Appends an encoded block.
    pub fn write_block(&mut self, header: &Header, bytes: &[u8]) -> Result<(), StoreError> {
        if self.open.as_ref().is_none_or(|open| open.bytes + bytes.len() as u64 > BLOCK_FILE_BYTES) {
            self.close_block_file()?;
            let name = format!("{BLOCK_FOLDER}/{:05}.blk", self.files.len());
            let path = self.folder.join(&name);
            let file = File::create(&path).map_err(StoreError::io(&path, "create it"))?;
            self.open = Some(BlockFile { path, name, file, bytes: 0, written_back: 0 });
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        open.file.write_all(bytes).map_err(StoreError::io(&open.path, "write a block"))?;
        let info = BlockInfo { rows: header.rows, values: header.values, stored_bytes: bytes.len() as u64 };
        self.entries.push(Entry { file: self.files.len() as u32, offset: open.bytes, info });
        open.bytes += bytes.len() as u64;
        open.write_back();
        Ok(())
    }

    /// Begins a small file of the store.
    pub fn small_file(&self, stem: &str, ending: &str) -> Result<CheckedFile, StoreError> {
        CheckedFile::create(&self.folder, format!("{stem}.{}.{ending}", self.generation))
    }

    /// Makes the store whole: everything is synced, then one rename makes it visible. `manifest` comes without its files.
    pub fn finish(mut self, mut manifest: Manifest, feature_map: Option<CheckedFile>) -> Result<Manifest, StoreError> {
        self.close_block_file()?;
        let mut table = self.small_file("blocks", "tab")?;
        let mut bytes = Vec::with_capacity(self.entries.len() * table::ENTRY_BYTES);
        self.entries.iter().for_each(|entry| entry.write(&mut bytes));
        table.write(&bytes)?;
        manifest.table = table.finish()?;
        manifest.block_files = std::mem::take(&mut self.files);
        manifest.feature_maps = self.old.as_ref().map(|old| old.feature_maps.clone()).unwrap_or_default();
        if let Some(file) = feature_map {
            manifest.feature_maps.push(file.finish()?);
        }
        let text = manifest.to_text().map_err(|error| StoreError::damaged(&self.folder, error.to_string()))?;
        write_synced(&self.folder, FILE_NAME, text.as_bytes())?;
        sync_folder(&self.folder.join(BLOCK_FOLDER))?;
        sync_folder(&self.folder)?;
        if self.folder != self.target {
            self.publish()?;
        }
        Ok(manifest)
    }

    fn publish(&mut self) -> Result<(), StoreError> {
        if self.target.exists() {
            exchange(&self.folder, &self.target).map_err(StoreError::io(&self.target, "replace it"))?;
            self.published = true;
            // Out of the way first: another writer may take the name of the folder at once, and must not lose what it puts there.
            let replaced = self.folder.with_extension(format!("replaced-{}", std::process::id()));
            fs::rename(&self.folder, &replaced)
                .map_err(StoreError::io(&self.folder, "move the replaced store away"))?;
            fs::remove_dir_all(&replaced).map_err(StoreError::io(&replaced, "remove the replaced store"))?;
        } else {
            fs::rename(&self.folder, &self.target)
                .map_err(StoreError::io(&self.target, "move the finished store there"))?;
            self.published = true;
        }
        sync_folder(parent(&self.target))
    }

    fn close_block_file(&mut self) -> Result<(), StoreError> {
        if let Some(open) = self.open.take() {
            open.file.sync_all().map_err(StoreError::io(&open.path, "sync it"))?;
            self.files.push(FileEntry { name: open.name, bytes: open.bytes, checksum: 0 });
        }
        Ok(())
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        // After success the folder has been renamed away; after a failure what is left is of no use to anybody.
        if self.published {
            return;
        }
        if self.folder != self.target {
            let _ = fs::remove_dir_all(&self.folder);
        } else if let Ok(current) = Manifest::read(&self.target) {
            let _ = remove_unlisted(&self.target, &current);
        }
    }
}

impl BlockFile {
    /// Tells the kernel to begin writing, without waiting for it.
    fn write_back(&mut self) {
        if self.bytes - self.written_back >= WRITE_BACK_BYTES {
            let (from, length) = (self.written_back as i64, (self.bytes - self.written_back) as i64);
            // SAFETY: a plain system call on a file that we own; its failure only means that the final sync takes longer.
            unsafe { libc::sync_file_range(self.file.as_raw_fd(), from, length, libc::SYNC_FILE_RANGE_WRITE) };
            self.written_back = self.bytes;
        }
    }
}
