use std::io;
use std::path::{Path, PathBuf};

/// Something cannot be written; what was there before is there still.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The operating system said no.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// Another run has claimed the name.
    #[error("{}: another run is writing it; wait for it to end, or choose another name", path.display())]
    Busy {
        /// The output.
        path: PathBuf,
    },
    /// The file that claims are made with is not ours.
    #[error("{}: this is not a lock file of ours; move it away", path.display())]
    ForeignLock {
        /// The file.
        path: PathBuf,
    },
    /// The output is read by the same run.
    #[error("{}: it is also read by this run, as {input}, and would be lost; choose another name", path.display())]
    IsInput {
        /// The output.
        path: PathBuf,
        /// The input.
        input: String,
    },
    /// What is there is not what would be written.
    #[error("{}: there is something else already, not {kind}; choose another name, or remove it \
        yourself", path.display())]
    OtherKind {
        /// The output.
        path: PathBuf,
        /// What would be written.
        kind: &'static str,
    },
    /// Something has appeared at the place of the output.
    #[error("{}: something else has appeared there meanwhile and was left alone; what was to be written is in \
        {}", path.display(), kept.display())]
    Appeared {
        /// The output.
        path: PathBuf,
        /// Where it went instead.
        kept: PathBuf,
    },
    /// The output is there and whole, but may not outlive a loss of power.
    #[error("{}: {done}, but the disk does not confirm it: {source}; do not repeat the command, run 'sync' and check \
        the disk", path.display())]
    NotDurable {
        /// The output.
        path: PathBuf,
        /// What has happened.
        done: &'static str,
        /// The reason.
        source: io::Error,
    },
}

impl OutputError {
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> OutputError {
        let path = path.to_path_buf();
        move |source| OutputError::Io { path, action, source }
    }
}
