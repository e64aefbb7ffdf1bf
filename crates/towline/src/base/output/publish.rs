//! From an unfinished name to the one that was asked for, in one step.
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, RenameFlags, linkat, renameat_with};
use rustix::io::Errno;

use super::{OutputError, name};

/// The file or folder that was at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    device: u64,
    inode: u64,
}

impl Seen {
    pub fn of(metadata: &Metadata) -> Seen {
        Seen { device: metadata.dev(), inode: metadata.ino() }
    }

    /// What is at `path` now, links not followed.
    pub fn at(path: &Path) -> Option<Seen> {
        std::fs::symlink_metadata(path).ok().as_ref().map(Seen::of)
    }
}

pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder).and_then(|handle| handle.sync_all())
}

/// Moves `unfinished` to `target`, in place of `seen` or of nothing. What has been replaced is at `unfinished` then.
pub fn publish(unfinished: &Path, target: &Path, seen: Option<Seen>) -> Result<(), OutputError> {
    match seen {
        Some(seen) => replace(unfinished, target, seen),
        None => match take_free_name(unfinished, target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(keep_elsewhere(unfinished, target)),
            moved => moved.map_err(OutputError::io(target, "move the finished output there")),
        },
    }
}

/// After [`publish`]: makes sure that the new name outlives a loss of power.
pub fn make_durable(target: &Path, done: &'static str) -> Result<(), OutputError> {
    let path = target.to_path_buf();
    sync_folder(name::parent(target)).map_err(|source| OutputError::NotDurable { path, done, source })
}

fn take_free_name(unfinished: &Path, target: &Path) -> io::Result<()> {
    match renameat_with(CWD, unfinished, CWD, target, RenameFlags::NOREPLACE) {
        // Some file systems do not know how. A link is never made over anything, nor a folder moved over a full one.
        Err(Errno::INVAL | Errno::NOSYS) if unfinished.is_dir() => std::fs::rename(unfinished, target),
        Err(Errno::INVAL | Errno::NOSYS) => {
            linkat(CWD, unfinished, CWD, target, AtFlags::empty())?;
            std::fs::remove_file(unfinished)
        }
        moved => Ok(moved?),
    }
}

/// Swaps the two, and looks at what came out: anything but `seen` goes back.
fn replace(unfinished: &Path, target: &Path, seen: Seen) -> Result<(), OutputError> {
    // A kill between the two swaps would leave what came out under a name of ours: so it is looked at before, too.
    if Seen::at(target).is_some_and(|there| there != seen) {
        return Err(keep_elsewhere(unfinished, target));
    }
    match renameat_with(CWD, unfinished, CWD, target, RenameFlags::EXCHANGE) {
        Ok(()) if Seen::at(unfinished) == Some(seen) => Ok(()),
        Ok(()) => {
            renameat_with(CWD, unfinished, CWD, target, RenameFlags::EXCHANGE)
                .map_err(|error| OutputError::io(target, "put back what appeared there")(error.into()))?;
            Err(keep_elsewhere(unfinished, target))
        }
        Err(Errno::NOENT) => publish(unfinished, target, None),
        Err(Errno::INVAL | Errno::NOSYS) if !unfinished.is_dir() && Seen::at(target) == Some(seen) => {
            std::fs::rename(unfinished, target).map_err(OutputError::io(target, "replace it"))
        }
        Err(error) => Err(OutputError::io(target, "replace it")(error.into())),
    }
}

/// Hours of work do not go because a name was taken meanwhile: they go to the next free one.
fn keep_elsewhere(unfinished: &Path, target: &Path) -> OutputError {
    let numbered = |number: u32| -> PathBuf {
        let mut name = target.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{number}"));
        target.with_file_name(name)
    };
    let path = target.to_path_buf();
    let kept = (1..1000).map(numbered).find(|free| take_free_name(unfinished, free).is_ok());
    match kept {
        Some(kept) => OutputError::Appeared { path, kept },
        None => OutputError::Io { path, action: "write it", source: io::ErrorKind::AlreadyExists.into() },
    }
}
