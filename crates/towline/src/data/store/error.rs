use std::path::{Path, PathBuf};

use super::format::FormatError;
use crate::budget::BudgetError;
use crate::output::OutputError;

/// A store cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system said no.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The reason.
        source: std::io::Error,
    },
    /// The path does not hold a store.
    #[error("{}: this is not a Towline store ({problem}); make one with `pack(INPUT).to(STORE)`", path.display())]
    NotAStore {
        /// The path.
        path: PathBuf,
        /// What is missing.
        problem: String,
    },
    /// The store is damaged or forged.
    #[error("{}: the store is damaged: {problem}; `verify` lists all that is broken, pack it again from the \
        source", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The store was written by another version.
    #[error("{}: store format version {found}; this program reads versions up to {supported}; pack it \
        again", path.display())]
    Version {
        /// The store.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// Ours.
        supported: u64,
    },
    /// Somebody else is at work on the store.
    #[error("{}: another process is writing this store; wait for it to end", path.display())]
    Busy {
        /// The store.
        path: PathBuf,
    },
    /// There is something at the path already.
    #[error("{}: exists already; use `force` to replace it or `append` to add rows", path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// There is something at the path that is no store, and that nobody asked to lose.
    #[error("{}: there is something else already, not a store; choose another name, or remove it \
        yourself", path.display())]
    Occupied {
        /// The path.
        path: PathBuf,
    },
    /// There is something in the store that does not belong to it.
    #[error("{}: the store holds '{name}', which is not part of it and would be lost; move that away \
        first", path.display())]
    Foreign {
        /// The store.
        path: PathBuf,
        /// What is in it.
        name: String,
    },
    /// Sums over all rows are too large for floating point.
    #[error("{}: sums of labels or of squared values are not finite numbers; divide labels or values by the same \
        number", path.display())]
    NotFinite {
        /// The store.
        path: PathBuf,
    },
    /// Something cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The index of a store is missing, damaged, or that of other rows.
    #[error("{}: {problem}; build it with `index({})`", store.display(), store.display())]
    Index {
        /// The store.
        store: PathBuf,
        /// What is wrong with its index.
        problem: String,
    },
    /// Reading needs more memory than there is.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The reading thread has ended, after an error that was already reported.
    #[error("the reading thread has ended")]
    ReaderGone,
}

impl StoreError {
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.to_path_buf();
        move |source| StoreError::Io { path, action, source }
    }

    pub(crate) fn damaged(path: &Path, problem: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: path.to_path_buf(), problem: problem.into() }
    }

    pub(crate) fn index(store: &Path, problem: impl Into<String>) -> StoreError {
        StoreError::Index { store: store.to_path_buf(), problem: problem.into() }
    }

    pub(crate) fn block(path: &Path, number: u32, error: &FormatError) -> StoreError {
        StoreError::damaged(path, format!("block {number}, {error}"))
    }
}
