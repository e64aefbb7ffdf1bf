//! Bytes from outside become rows: formats, compression, and errors that name the place.
//!
//! ```text
//! bytes (file, stdin; gzip, bzip2, zstd) ─► format (libsvm, vw, csv, json, parquet, arrow) ─► RowSource ─► RowBatch, RowBatch, …
//! ```
//! Text is cut into pieces of whole records by one thread and parsed by several ([`text`]); batches come out in the
//! order of the input, whatever the number of threads.
#[cfg(feature = "arrow")]
pub mod arrow;
pub mod batch;
pub mod bytes;
mod choices;
pub mod csv;
mod detect;
pub mod fourier;
pub mod json;
pub mod libsvm;
pub mod number;
mod separators;
pub mod table;
pub mod text;
pub(crate) mod unchanged;
pub mod vw;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use batch::{NameList, RowBatch};
pub(crate) use bytes::unpacking_bytes;
pub use bytes::{Compression, Input};
pub use detect::{Format, ReadOptions, check, open};
pub use table::{ColumnPolicy, ColumnRef, Known, TableOptions, Unlabelled};

use crate::budget::BudgetError;
use crate::schema::Schema;

/// What is refused where a row is longer than the budget.
pub(crate) const LONG_ROW: &str = "a long row";

/// Rows in the order of the input, a batch at a time.
pub trait RowSource: Send {
    /// Replaces the contents of `batch` with the next rows; `false` when there are no more.
    fn next_batch(&mut self, batch: &mut RowBatch) -> Result<bool, InputError>;

    /// Whether features have names (tables) or numbers (libsvm text).
    fn features_are_named(&self) -> bool;

    /// What the targets are called, where a row has several and they have names; known with the first batch.
    fn target_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the columns of a table are taken for; known with the first batch.
    fn schema(&self) -> Option<Schema> {
        None
    }

    /// What can only be said once all rows have been seen.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// How much of the input has been read, for progress.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    read_bytes: Arc<AtomicU64>,
    /// Size of all inputs as they lie on disk, if known (not for stdin).
    pub total_bytes: Option<u64>,
}

impl Progress {
    /// Nothing read yet of `total_bytes`.
    pub fn new(total_bytes: Option<u64>) -> Self {
        Progress { read_bytes: Arc::default(), total_bytes }
    }

    /// Bytes of the input read so far, as they lie on disk.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Where in the input something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from 1, and a byte within it, counted from 1, where that helps.
    Line(u64, Option<u64>),
    /// A row of a table without lines, counted from 1.
    Row(u64),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::File => Ok(()),
            Place::Line(line, None) => write!(f, ":{line}"),
            Place::Line(line, Some(column)) => write!(f, ":{line}:{column}"),
            Place::Row(row) => write!(f, ", row {row}"),
        }
    }
}

/// The input cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The operating system or a decompressor said no.
    #[error("{file}: cannot {action}: {source}")]
    Io {
        /// The input as the user named it.
        file: String,
        /// What was tried.
        action: &'static str,
        /// The reason.
        source: std::io::Error,
    },
    /// The contents are not what they should be.
    #[error("{file}{place}: {problem}; {remedy}")]
    Bad {
        /// The input as the user named it.
        file: String,
        /// Where in it.
        place: Place,
        /// What was found and what was expected.
        problem: String,
        /// What to do about it.
        remedy: String,
    },
    /// The input needs more memory than there is.
    #[error("{file}: {source}")]
    Budget {
        /// The input as the user named it.
        file: String,
        /// What was refused.
        source: BudgetError,
    },
}

impl InputError {
    /// An error about a file as a whole.
    pub fn file(file: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        InputError::Bad { file: file.to_string(), place: Place::File, problem: problem.into(), remedy: remedy.into() }
    }
}
