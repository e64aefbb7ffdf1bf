//! What a run reads, so that it does not write there.
use std::path::Path;

use super::{OutputError, Seen, name};

/// The files and stores that a run reads.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    files: Vec<(Seen, String)>,
}

impl Inputs {
    /// Nothing is read.
    pub fn none() -> Inputs {
        Inputs::default()
    }

    /// `path` is read; a store with all that is in it. What is not there, or is `-`, cannot be overwritten.
    pub fn and(mut self, path: impl AsRef<Path>) -> Inputs {
        let path = path.as_ref();
        // A pipe or a device may well be read and written.
        let known = std::fs::metadata(path).ok().filter(|known| known.is_file() || known.is_dir());
        self.files.extend(known.map(|known| (Seen::of(&known), path.display().to_string())));
        self
    }

    /// Refuses a `target` that is one of them, or lies in a store that is.
    pub fn check(&self, target: &Path) -> Result<(), OutputError> {
        for place in [target, name::parent(target)] {
            let Ok(known) = std::fs::metadata(place) else { continue };
            let seen = Seen::of(&known);
            if let Some((_, input)) = self.files.iter().find(|(file, _)| *file == seen) {
                return Err(OutputError::IsInput { path: target.to_path_buf(), input: input.clone() });
            }
        }
        Ok(())
    }
}
