//! One run at a time for each output.
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::Errno;

use super::{OutputError, folder, name};

/// The name of an output, held against other runs until it is dropped, however the process ends.
#[derive(Debug)]
pub struct Claim {
    lock: PathBuf,
    _file: File,
}

/// Whoever held the lock may remove its file just before we hold it; that cannot go on for long.
const ATTEMPTS: usize = 100;

impl Claim {
    /// Claims `target`, and removes what a killed run of it has left.
    pub fn take(target: &Path) -> Result<Claim, OutputError> {
        let lock = name::lock(target)?;
        for _ in 0..ATTEMPTS {
            let flags = OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::RDWR | OFlags::CLOEXEC;
            let file = match openat(CWD, &lock, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => File::from(file),
                Err(Errno::LOOP | Errno::ISDIR) => return Err(OutputError::ForeignLock { path: lock }),
                Err(error) => return Err(OutputError::io(target, "write beside it")(error.into())),
            };
            let known = file.metadata().map_err(OutputError::io(&lock, "look at it"))?;
            if !known.is_file() || known.len() > 0 {
                return Err(OutputError::ForeignLock { path: lock });
            }
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(OutputError::Busy { path: target.to_path_buf() }),
                Err(error) => return Err(OutputError::io(&lock, "lock it")(error.into())),
            }
            let is_there = std::fs::symlink_metadata(&lock).is_ok_and(|there| there.ino() == known.ino());
            if is_there {
                folder::remove_left_overs(target);
                return Ok(Claim { lock, _file: file });
            }
        }
        Err(OutputError::Busy { path: target.to_path_buf() })
    }
}

impl Claim {
    /// Removes what a killed run has left of another output, which is written under this claim as well.
    pub fn covers(&self, other: &Path) {
        folder::remove_left_overs(other);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // While we hold it nobody else does, and whoever waits looks whether the name is still there.
        let _ = std::fs::remove_file(&self.lock);
    }
}
