//! Folders that appear whole or not at all, and those that are gone with a run.
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, mkdirat, openat, unlinkat};

use super::publish::{make_durable, publish};
use super::remove::remove_folder;
use super::{Claim, OutputError, Seen, name};

/// Lies in every folder that we may remove with all that is in it.
pub(crate) const MARKER: &str = ".towline-unfinished";
const MARKER_TEXT: &[u8] = b"An unfinished folder of towline. The next run removes it.\n";

/// Opens a folder that is no link.
pub(crate) fn open_folder(within: impl AsFd, path: impl rustix::path::Arg) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(within, path, flags, Mode::empty())?.into())
}

/// A new file in an open folder, which cannot have been there before, nor be a link to elsewhere.
pub(crate) fn create_in(folder: impl AsFd, name: &str) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::from_raw_mode(0o666))?.into())
}

/// A folder on its way; removed if it does not arrive.
#[derive(Debug)]
pub struct NewFolder {
    target: PathBuf,
    path: PathBuf,
    handle: File,
    is_published: bool,
    _claim: Option<Claim>,
}

impl NewFolder {
    /// Claims `target` and begins a folder that is to appear there.
    pub fn create(target: &Path) -> Result<NewFolder, OutputError> {
        let claim = Claim::take(target)?;
        NewFolder::begin(target, Some(claim))
    }

    fn begin(target: &Path, claim: Option<Claim>) -> Result<NewFolder, OutputError> {
        let path = name::unfinished(target)?;
        mkdirat(CWD, &path, Mode::from_raw_mode(0o777))
            .map_err(|error| OutputError::io(target, "create it")(error.into()))?;
        let handle = open_folder(CWD, &path).map_err(OutputError::io(&path, "open it"))?;
        let folder = NewFolder { target: target.to_path_buf(), path, handle, is_published: false, _claim: claim };
        // Held before it is marked: what is marked and not held has been abandoned.
        flock(&folder.handle, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| OutputError::io(&folder.path, "lock it")(error.into()))?;
        mark(&folder.handle).map_err(OutputError::io(&folder.path, "write into it"))?;
        Ok(folder)
    }

    /// Where it grows.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open folder.
    pub fn handle(&self) -> &File {
        &self.handle
    }

    /// Makes the folder appear in one step: in place of `old`, an open folder of ours, which is removed, or of
    /// nothing. All that is in it
    /// has been synced.
    pub fn publish(mut self, old: Option<&File>) -> Result<(), OutputError> {
        let look = |old: &File| old.metadata().map(|known| Seen::of(&known));
        let seen = old.map(look).transpose().map_err(OutputError::io(&self.target, "look at it"))?;
        if let Some(old) = old {
            // What is replaced may be removed from now on, whoever gets to it.
            mark(old).map_err(OutputError::io(&self.target, "replace it"))?;
        }
        let published = publish(&self.path, &self.target, seen);
        if let (Err(_), Some(old)) = (&published, old) {
            unmark(old);
        }
        self.is_published = matches!(published, Ok(()) | Err(OutputError::Appeared { .. }));
        if self.is_published {
            unmark(&self.handle);
        }
        published?;
        match old {
            // Failing that, the next run does it.
            Some(_) if Seen::at(&self.path) == seen => drop(remove_folder(&self.path)),
            // Somebody has taken it away before it could be replaced.
            Some(old) => unmark(old),
            None => {}
        }
        make_durable(&self.target, "it is written")
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = remove_folder(&self.path);
        }
    }
}

fn mark(folder: &File) -> io::Result<()> {
    match create_in(folder, MARKER) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        marker => marker?.write_all(MARKER_TEXT),
    }
}

fn unmark(folder: &File) {
    let _ = unlinkat(folder, MARKER, rustix::fs::AtFlags::empty());
}

/// Removes what killed runs of `target` have left. The caller has claimed it, so that nobody is at work there.
pub fn remove_left_overs(target: &Path) {
    for entry in fs::read_dir(name::parent(target)).into_iter().flatten().flatten() {
        if name::belongs_to(&entry.file_name(), target) {
            remove_ours(&entry.path());
        }
    }
}

/// Removes a file, or a folder with our marker, or an empty one, that belongs to us. Links are not followed.
fn remove_ours(path: &Path) {
    let Ok(known) = fs::symlink_metadata(path) else { return };
    if known.uid() != rustix::process::geteuid().as_raw() {
        return;
    }
    let _ = match known.is_dir() {
        true if fs::read(path.join(MARKER)).is_ok_and(|text| text == MARKER_TEXT) => remove_folder(path),
        true if is_half_marked(path) => fs::remove_file(path.join(MARKER)).and_then(|()| fs::remove_dir(path)),
        true => fs::remove_dir(path),
        false if known.is_file() => fs::remove_file(path),
        false => Ok(()),
    };
}

/// Whether a run was killed while it wrote the marker: there is nothing else yet.
fn is_half_marked(path: &Path) -> bool {
    let is_marker = |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == MARKER);
    fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_marker))
        && fs::read(path.join(MARKER)).is_ok_and(|text| MARKER_TEXT.starts_with(&text))
}

/// A folder for what is needed during a run only, in the folder for temporary files. What a killed run left is
/// removed by the next.
#[derive(Debug)]
pub struct ScratchFolder {
    folder: NewFolder,
}

impl ScratchFolder {
    /// An empty one; `name` says what for.
    pub fn create(name: &str) -> Result<ScratchFolder, OutputError> {
        let target = std::env::temp_dir().join(format!("towline-{name}"));
        for entry in fs::read_dir(name::parent(&target)).into_iter().flatten().flatten() {
            if name::belongs_to(&entry.file_name(), &target) && is_abandoned(&entry.path()) {
                remove_ours(&entry.path());
            }
        }
        Ok(ScratchFolder { folder: NewFolder::begin(&target, None)? })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Whether nobody holds the folder; one that is being made has no marker yet and is left alone by that.
fn is_abandoned(path: &Path) -> bool {
    let is_free = |folder: File| flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok();
    path.join(MARKER).exists() && open_folder(CWD, path).is_ok_and(is_free)
}
