//! A file that changes while it is read has been read in part before and in part after: its rows belong to no state
//! that it ever had.
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Input, InputError, RowBatch, RowSource};
use crate::schema::Schema;

/// What a file was like when it was opened.
pub(crate) struct Unchanged {
    path: PathBuf,
    state: State,
}

/// Device, inode, size, and when it was last written.
type State = (u64, u64, u64, (i64, i64));

fn state(path: &Path) -> Option<State> {
    let known = std::fs::metadata(path).ok().filter(|known| known.is_file())?;
    Some((known.dev(), known.ino(), known.len(), (known.mtime(), known.mtime_nsec())))
}

impl Unchanged {
    /// Remembers an input before it is opened. What is no plain file, or is read while it grows, has no state to keep.
    pub fn new(input: &Input) -> Option<Unchanged> {
        let Input::File(path) = input else { return None };
        Some(Unchanged { path: path.clone(), state: state(path)? })
    }

    /// Whether the file is what it was.
    pub fn check(&self) -> Result<(), InputError> {
        let now = state(&self.path);
        let what = match now {
            Some(now) if now == self.state => return Ok(()),
            Some((device, inode, ..)) if (device, inode) == (self.state.0, self.state.1) => "it was changed",
            Some(_) => "it was replaced",
            None => "it was removed",
        };
        let problem = format!("{what} while it was read, so that some of its rows may be missing");
        Err(InputError::file(&self.path.display().to_string(), problem, "run the command again when nobody writes it"))
    }
}

/// Rows of files that are held against what they were, once all have been read.
pub(super) struct Checked {
    pub source: Box<dyn RowSource>,
    pub files: Vec<Unchanged>,
}

impl RowSource for Checked {
    fn next_batch(&mut self, batch: &mut RowBatch) -> Result<bool, InputError> {
        // A file that was cut in the middle of a row is not a bad file but a changed one.
        let more = self.source.next_batch(batch);
        if !matches!(more, Ok(true)) {
            self.files.iter().try_for_each(Unchanged::check)?;
        }
        more
    }

    fn features_are_named(&self) -> bool {
        self.source.features_are_named()
    }

    fn target_names(&self) -> Vec<String> {
        self.source.target_names()
    }

    fn remarks(&self) -> Vec<String> {
        self.source.remarks()
    }

    fn schema(&self) -> Option<Schema> {
        self.source.schema()
    }
}
