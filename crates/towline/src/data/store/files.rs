//! The files of a store, opened once, as plain files and nothing else.
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};

use super::StoreError;
use super::manifest::{FILE_NAME, FileEntry};
use crate::output::Seen;

/// An open store: whatever is put in its place meanwhile, files are opened in this one.
pub(crate) struct StoreFolder {
    path: PathBuf,
    handle: File,
}

impl StoreFolder {
    pub fn open(path: &Path) -> Result<StoreFolder, StoreError> {
        let not_a_store = |problem: &str| StoreError::NotAStore { path: path.to_path_buf(), problem: problem.into() };
        if !path.is_dir() {
            return Err(not_a_store(match path.exists() {
                true => "it is a file, not a folder",
                false => "there is nothing there",
            }));
        }
        let handle = File::open(path).map_err(StoreError::io(path, "open it"))?;
        Ok(StoreFolder { path: path.to_path_buf(), handle })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a plain file. A pipe would be waited for, and a device may be anything.
    pub fn open_plain(&self, name: &str) -> std::io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(openat(&self.handle, name, flags, Mode::empty())?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(std::io::Error::other("it is not a plain file")),
        }
    }

    /// Opens a file that a manifest lists and checks its size.
    pub fn open_file(&self, entry: &FileEntry) -> Result<File, StoreError> {
        let path = checked_path(&self.path, &entry.name)?;
        let file = self.open_plain(&entry.name).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => StoreError::damaged(&path, "the file is missing"),
            std::io::ErrorKind::Other => StoreError::damaged(&path, error.to_string()),
            _ => StoreError::io(&path, "open it")(error),
        })?;
        let found = file.metadata().map_err(StoreError::io(&path, "look at it"))?.len();
        if found != entry.bytes {
            return Err(StoreError::damaged(&path, format!("it has {found} bytes and should have {}", entry.bytes)));
        }
        Ok(file)
    }

    /// Reads a small file whole and checks it.
    pub fn read_checked(&self, entry: &FileEntry) -> Result<Vec<u8>, StoreError> {
        read_checked(&self.open_file(entry)?, &self.path.join(&entry.name), entry)
    }
}

/// Holds an open file of a store against its checksum, in little memory.
pub(super) fn check_file(file: &File, path: &Path, entry: &FileEntry) -> Result<(), StoreError> {
    let (mut checksum, mut at, mut piece) = (0, 0, [0; 1 << 14]);
    while at < entry.bytes {
        let count = (entry.bytes - at).min(piece.len() as u64) as usize;
        file.read_exact_at(&mut piece[..count], at).map_err(StoreError::io(path, "read it"))?;
        checksum = crc32c::crc32c_append(checksum, &piece[..count]);
        at += count as u64;
    }
    if checksum == entry.checksum { Ok(()) } else { Err(StoreError::damaged(path, "checksum mismatch")) }
}

/// Reads an open file of a store whole and checks it.
pub(super) fn read_checked(file: &File, path: &Path, entry: &FileEntry) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    // A file with holes may have any size.
    if bytes.try_reserve_exact(usize::try_from(entry.bytes).unwrap_or(usize::MAX)).is_err() {
        return Err(StoreError::damaged(path, format!("its {} bytes are more than memory holds", entry.bytes)));
    }
    bytes.resize(entry.bytes as usize, 0);
    file.read_exact_at(&mut bytes, 0).map_err(StoreError::io(path, "read it"))?;
    if crc32c::crc32c(&bytes) != entry.checksum {
        return Err(StoreError::damaged(path, "checksum mismatch"));
    }
    Ok(bytes)
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

/// A store that is replaced again and again is not opened for ever.
const ATTEMPTS: usize = 100;

/// Opens what lies at `path`, once more whenever it was replaced on the way.
pub(crate) fn while_it_changes<T>(path: &Path, open: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let state = || [FILE_NAME, "index/index.json", ""].map(|name| Seen::at(&path.join(name)));
    let mut before = state();
    for _ in 1..ATTEMPTS {
        let opened = open();
        let after = state();
        if opened.is_ok() || after == before {
            return opened;
        }
        before = after;
    }
    open()
}
