//! Small files of a store on their way.
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::StoreError;
use super::manifest::FileEntry;
use crate::output::create_in;

/// A file that keeps the checksum of what was written to it.
pub struct CheckedFile {
    path: PathBuf,
    name: String,
    out: BufWriter<File>,
    bytes: u64,
    checksum: u32,
}

impl CheckedFile {
    pub(super) fn create(folder: &File, path: PathBuf, name: String) -> Result<Self, StoreError> {
        let file = create_in(folder, &name).map_err(StoreError::io(&path, "create it"))?;
        Ok(CheckedFile { path, name, out: BufWriter::with_capacity(1 << 16, file), bytes: 0, checksum: 0 })
    }

    /// Appends `bytes`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.out.write_all(bytes).map_err(StoreError::io(&self.path, "write it"))?;
        self.checksum = crc32c::crc32c_append(self.checksum, bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn finish(self) -> Result<FileEntry, StoreError> {
        let file = self.out.into_inner().map_err(|e| StoreError::io(&self.path, "write it")(e.into_error()))?;
        file.sync_all().map_err(StoreError::io(&self.path, "sync it"))?;
        Ok(FileEntry { name: self.name, bytes: self.bytes, checksum: self.checksum })
    }
}
