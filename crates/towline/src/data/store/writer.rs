//! Writing a store so that it exists whole or not at all.
//!
//! A new store grows in a folder of its own and is renamed when everything in it is synced. More rows for an old store
//! go into files that its manifest does not list; replacing the manifest makes them part of it in one step. Whatever a
//! crash leaves behind is not part of any store, and the next writer removes it.
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

pub use super::checked_file::CheckedFile;
use super::folder::{foreign, lock, open_blocks, remove_unlisted, write_synced};
use super::format::Header;
use super::manifest::{FILE_NAME, FileEntry, Manifest};
use super::table::{self, Entry};
use super::{BlockInfo, DiskStore, StoreError};
use crate::budget::Budget;
use crate::output::{self, Claim, NewFolder, OutputError, create_in};

/// A new block file is begun beyond this size.
const BLOCK_FILE_BYTES: u64 = 1 << 30;
pub(super) const BLOCK_FOLDER: &str = "blocks";
/// Start writing back after this many bytes, so that the final sync has little left to do.
const WRITE_BACK_BYTES: u64 = 8 << 20;

/// Writes the blocks of a new store, or of a new generation of an old one.
pub struct StoreWriter {
    target: PathBuf,
    /// A store that is to appear; none when rows are added.
    made: Option<NewFolder>,
    /// The store that is replaced or added to, held against other writers.
    held: Option<File>,
    /// The folder that is written.
    folder: File,
    blocks: File,
    /// The store that rows are added to.
    old: Option<DiskStore>,
    generation: u64,
    files: Vec<FileEntry>,
    entries: Vec<Entry>,
    open: Option<BlockFile>,
    is_finished: bool,
    /// Of the store that rows are added to; a new folder has its own.
    _claim: Option<Claim>,
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
#[non_exhaustive]
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
    pub fn create(target: &Path, existing: Existing, budget: &Budget) -> Result<StoreWriter, StoreError> {
        let target = &output::resolved(target)?;
        let is_store = target.join(FILE_NAME).is_file();
        match existing {
            Existing::Append => return Self::append(target, budget),
            // Only a store may be replaced: --force must not wipe out an unrelated folder.
            _ if target.exists() && !is_store => return Err(StoreError::Occupied { path: target.to_path_buf() }),
            Existing::Refuse if is_store => return Err(StoreError::Exists { path: target.to_path_buf() }),
            _ => {}
        }
        // Held from the beginning: rows that another process adds meanwhile would be lost with the old store.
        let held = is_store.then(|| lock(target, target)).transpose()?;
        if let Some(old) = &held
            && let Some(name) = foreign(old, target)?
        {
            return Err(StoreError::Foreign { path: target.to_path_buf(), name });
        }
        let parent = output::parent(target);
        if !parent.is_dir() {
            let missing = std::io::Error::from_raw_os_error(libc::ENOENT);
            return Err(StoreError::io(parent, "write a store into this folder")(missing));
        }
        let made = NewFolder::create(target).map_err(busy)?;
        let folder = made.handle().try_clone().map_err(StoreError::io(target, "open it"))?;
        rustix::fs::mkdirat(&folder, BLOCK_FOLDER, rustix::fs::Mode::from_raw_mode(0o777))
            .map_err(|error| StoreError::io(target, "create a folder in it")(error.into()))?;
        let blocks = open_blocks(&folder, made.path())?;
        Ok(StoreWriter::new(target, folder, blocks, Some(made), held))
    }

    fn append(target: &Path, budget: &Budget) -> Result<StoreWriter, StoreError> {
        // Looked at first: only a store has a message of its own for not being one.
        Manifest::read(target)?;
        let claim = Claim::take(target).map_err(busy)?;
        let held = lock(target, target)?;
        let old = DiskStore::open_within(target, budget)?;
        let folder = held.try_clone().map_err(StoreError::io(target, "open it"))?;
        let blocks = open_blocks(&folder, target)?;
        remove_unlisted(&folder, &blocks, target, old.manifest())?;
        let mut writer = StoreWriter::new(target, folder, blocks, None, Some(held));
        let next = old.manifest().generation.checked_add(1);
        writer.generation = next.ok_or_else(|| StoreError::damaged(target, "an impossible generation"))?;
        writer.files = old.manifest().block_files.clone();
        writer.entries = old.entries().to_vec();
        (writer.old, writer._claim) = (Some(old), Some(claim));
        Ok(writer)
    }

    fn new(target: &Path, folder: File, blocks: File, made: Option<NewFolder>, held: Option<File>) -> StoreWriter {
        StoreWriter {
            target: target.to_path_buf(),
            made,
            held,
            folder,
            blocks,
            old: None,
            generation: 1,
            files: Vec::new(),
            entries: Vec::new(),
            open: None,
            is_finished: false,
            _claim: None,
        }
    }

    /// The store that rows are added to.
    pub fn old(&self) -> Option<&DiskStore> {
        self.old.as_ref()
    }

    /// Counts the times that rows were added, this one included.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The folder that temporary files may go to: on the same disk, and gone with an unfinished store.
    pub fn folder(&self) -> &Path {
        self.made.as_ref().map_or(&self.target, NewFolder::path)
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
            let plain = format!("{:05}.blk", self.files.len());
            let name = format!("{BLOCK_FOLDER}/{plain}");
            let path = self.target.join(&name);
            let file = create_in(&self.blocks, &plain).map_err(StoreError::io(&path, "create it"))?;
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
        let name = format!("{stem}.{}.{ending}", self.generation);
        CheckedFile::create(&self.folder, self.target.join(&name), name)
    }

    /// Makes the store whole: everything is synced, then one rename makes it visible. `manifest` comes without its
    /// files.
    pub fn finish(mut self, mut manifest: Manifest, feature_map: Option<CheckedFile>) -> Result<Manifest, StoreError> {
        self.close_block_file()?;
        let mut table = self.small_file("blocks", "tab")?;
        let mut bytes = Vec::with_capacity(self.entries.len() * table::ENTRY_BYTES);
        self.entries.iter().for_each(|entry| entry.write(&mut bytes));
        table.write(&bytes)?;
        manifest.table = table.finish()?;
        manifest.block_files = std::mem::take(&mut self.files);
        manifest.feature_maps = self.old.as_ref().map(|old| old.manifest().feature_maps.clone()).unwrap_or_default();
        if let Some(file) = feature_map {
            manifest.feature_maps.push(file.finish()?);
        }
        let text = manifest.to_text().map_err(|error| StoreError::damaged(&self.target, error.to_string()))?;
        // Numbers that are not finite have no words in JSON: nobody could open the store.
        if !Manifest::is_readable(&text) {
            return Err(StoreError::NotFinite { path: self.target.clone() });
        }
        // Everything that the manifest names is on disk before the manifest is.
        for folder in [&self.blocks, &self.folder] {
            folder.sync_all().map_err(StoreError::io(&self.target, "sync it"))?;
        }
        write_synced(&self.folder, &self.target, FILE_NAME, text.as_bytes())?;
        self.is_finished = true;
        let path = self.target.clone();
        match self.made.take() {
            // The rename was the last step: the rows are there now, whatever happens.
            None => {
                self.folder.sync_all().map_err(|source| {
                    StoreError::from(OutputError::NotDurable { path, done: "the rows were added", source })
                })?;
                // The table of the generation before; failing that, the next writer does it.
                let _ = remove_unlisted(&self.folder, &self.blocks, &self.target, &manifest);
            }
            Some(made) => {
                self.folder.sync_all().map_err(StoreError::io(&self.target, "sync it"))?;
                made.publish(self.held.as_ref())?;
            }
        }
        Ok(manifest)
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
        // What a failure has left is of no use to anybody. A new folder goes by itself.
        if let (false, Some(old)) = (self.is_finished, &self.old) {
            let _ = remove_unlisted(&self.folder, &self.blocks, &self.target, old.manifest());
        }
    }
}

/// A store that is being written has a message of its own.
fn busy(error: OutputError) -> StoreError {
    match error {
        OutputError::Busy { path } => StoreError::Busy { path },
        other => other.into(),
    }
}

impl BlockFile {
    /// Tells the kernel to begin writing, without waiting for it.
    fn write_back(&mut self) {
        if self.bytes - self.written_back >= WRITE_BACK_BYTES {
            let (from, length) = (self.written_back as i64, (self.bytes - self.written_back) as i64);
            // SAFETY: a plain system call on a file that we own; its failure only means that the final sync takes
            // longer.
            unsafe { libc::sync_file_range(self.file.as_raw_fd(), from, length, libc::SYNC_FILE_RANGE_WRITE) };
            self.written_back = self.bytes;
        }
    }
}
