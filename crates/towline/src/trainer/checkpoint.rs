//! Dual variables on disk: what a killed run goes on from, and what another one starts from.
//!
//! ```text
//! "TOWDUALS" │ header bytes u64 │ header, JSON │ dual variables │ weights x f64 │ CRC-32C of all of that, u32
//!
//! dual variables, version 1    rows x width x f64
//! dual variables, version 2    rows x (count u32, count x (class u32, value f64)), where most of them are 0; classes ascend
//! ```
//! With the penalty ½‖w‖² only the dual variables are kept. w is their sum over the rows, which the first certificate computes
//! anew, so that a run that goes on has no rounding errors from before. Other penalties need the weights of the last
//! proximal step beside them.
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Cost;
use super::duals::{self, Duals};
use super::stored_duals::{StoredDuals, put_pairs};
use crate::objective::Objective;
use crate::output::{self, Kind, OutputError};
use crate::store::manifest::Manifest;

pub(crate) const MAGIC: [u8; 8] = *b"TOWDUALS";
/// The version of dual variables that are all written.
const DENSE: u32 = 1;
/// The version of pairs of class and value.
const SPARSE: u32 = 2;
/// A header is a few hundred bytes; a larger one is not ours.
const LARGEST_HEADER: u64 = 1 << 20;

/// What a run says whose numbers have grown beyond all bounds.
const NOT_FINITE: &str = "a dual variable is not a finite number; use a smaller C, or scale labels, weights and values";

/// Which data dual variables belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreFingerprint {
    /// Rows of the store.
    pub rows: u64,
    /// Its generation.
    pub generation: u64,
    /// The checksum of its block table, which holds the sizes of all blocks.
    pub table_checksum: u32,
}

impl StoreFingerprint {
    /// The fingerprint of a store.
    pub fn of(manifest: &Manifest) -> Self {
        StoreFingerprint {
            rows: manifest.rows,
            generation: manifest.generation,
            table_checksum: manifest.table.checksum,
        }
    }
}

/// Dual variables in a file that has been checked, and what they belong to. They are read when they are wanted: there may be more of them than fit
/// into memory.
#[derive(Debug)]
pub struct Checkpoint {
    /// What they belong to.
    pub header: CheckpointHeader,
    file: File,
    /// Where the dual variables begin, and where the weights do.
    begin: u64,
    weights_begin: u64,
}

/// What dual variables belong to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointHeader {
    version: u32,
    /// The data.
    pub store: StoreFingerprint,
    /// What is minimised.
    pub objective: Objective,
    /// What it has cost so far.
    pub cost: Cost,
    /// How many weights there are: one per column and one for the constant feature, or none.
    #[serde(default)]
    pub weights: u64,
}

/// A checkpoint cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The operating system said no.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// The checkpoint cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The file is no checkpoint, or a damaged one.
    #[error("{}: {problem}; begin anew with --restart", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// Where checkpoints go, and what they say of the run.
#[derive(Clone, Debug)]
pub struct CheckpointFile {
    /// The file.
    pub path: PathBuf,
    /// The data.
    pub store: StoreFingerprint,
}

impl CheckpointFile {
    /// Writes a checkpoint so that the file is the old one or the new one, never something between.
    pub fn save(
        &self,
        objective: &Objective,
        cost: Cost,
        duals: &Duals,
        weights: &[f64],
    ) -> Result<(), CheckpointError> {
        let header = CheckpointHeader {
            version: if matches!(duals, Duals::Sparse { .. }) { SPARSE } else { DENSE },
            store: self.store.clone(),
            objective: objective.clone(),
            cost,
            weights: weights.len() as u64,
        };
        let text = serde_json::to_vec(&header).map_err(|error| CheckpointError::Io {
            path: self.path.clone(),
            action: "write it",
            source: error.into(),
        })?;
        let write = |out: &mut dyn Write| -> io::Result<()> {
            let mut checksum = 0;
            let mut put = |bytes: &[u8]| {
                checksum = crc32c::crc32c_append(checksum, bytes);
                out.write_all(bytes)
            };
            put(&MAGIC)?;
            put(&(text.len() as u64).to_le_bytes())?;
            put(&text)?;
            let width = objective.width();
            duals.for_each_chunk(|values| match header.version {
                // The next run would find a damaged file.
                _ if !values.iter().all(|value| value.is_finite()) => Err(io::Error::other(NOT_FINITE)),
                SPARSE => values.chunks_exact(width).try_for_each(|row| put_pairs(row, &mut put)),
                _ => values.iter().try_for_each(|value| put(&value.to_le_bytes())),
            })?;
            weights.iter().try_for_each(|weight| put(&weight.to_le_bytes()))?;
            out.write_all(&checksum.to_le_bytes())
        };
        Ok(output::replace(&self.path, Kind::Duals, write)?)
    }
}

impl Checkpoint {
    /// Opens a checkpoint of at most so many dual variables and weights, and checks all of it. `None` if there is no file.
    pub fn open(path: &Path, numbers: u64) -> Result<Option<Checkpoint>, CheckpointError> {
        let io = |source| CheckpointError::Io { path: path.to_path_buf(), action: "read it", source };
        // A pipe would be waited for.
        let file = match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        check(file, numbers).map(Some).map_err(|error| match error.downcast::<std::io::Error>() {
            Ok(error) => io(*error),
            Err(problem) => CheckpointError::Damaged { path: path.to_path_buf(), problem: problem.to_string() },
        })
    }

    /// How many dual variables there are.
    pub fn count(&self) -> u64 {
        self.header.store.rows * self.header.objective.width() as u64
    }

    /// All weights.
    pub fn weights(&self) -> io::Result<Vec<f64>> {
        let mut weights = Vec::new();
        duals::read_at(&self.file, self.weights_begin, self.header.weights as usize, &mut weights)?;
        Ok(weights)
    }

    /// All dual variables from the first one on.
    pub fn duals(&self) -> io::Result<StoredDuals<'_>> {
        StoredDuals::new(&self.file, self.begin, self.header.objective.width(), self.header.version == SPARSE)
    }
}

/// Reads all of a file once, a piece at a time. An error is one of the system or a description of the damage.
fn check(file: File, numbers: u64) -> Result<Checkpoint, Box<dyn std::error::Error>> {
    const EARLY: &str = "it ends too early";
    let known = file.metadata()?;
    if !known.is_file() {
        return Err("it is not a plain file".into());
    }
    let size = known.len();
    // A pair has twelve bytes, the count of a row four.
    if size > numbers.saturating_mul(16).saturating_add(LARGEST_HEADER) {
        return Err("it has more dual variables and weights than the store has rows and columns".into());
    }
    let mut start = [0; MAGIC.len() + 8];
    let mut input = BufReader::new(&file);
    if size < start.len() as u64 + 4 {
        return Err("these are not dual variables of a training run".into());
    }
    input.read_exact(&mut start)?;
    if !start.starts_with(&MAGIC) {
        return Err("these are not dual variables of a training run".into());
    }
    let length = start.last_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    if length > LARGEST_HEADER.min(size - start.len() as u64 - 4) {
        return Err(EARLY.into());
    }
    let mut text = vec![0; length as usize];
    input.read_exact(&mut text)?;
    let mut checksum = crc32c::crc32c_append(crc32c::crc32c(&start), &text);
    let begin = start.len() as u64 + length;
    let mut piece = vec![0; 64 << 10];
    let mut left = size - begin - 4;
    while left > 0 {
        let piece = &mut piece[..left.min(64 << 10) as usize];
        input.read_exact(piece)?;
        checksum = crc32c::crc32c_append(checksum, piece);
        left -= piece.len() as u64;
    }
    let mut stored = [0; 4];
    input.read_exact(&mut stored)?;
    if checksum != u32::from_le_bytes(stored) {
        return Err("checksum mismatch".into());
    }
    let header: CheckpointHeader =
        serde_json::from_slice(&text).map_err(|error| format!("its header is damaged: {error}"))?;
    if ![DENSE, SPARSE].contains(&header.version) {
        return Err(
            format!("format version {}; this program reads versions {DENSE} and {SPARSE}", header.version).into()
        );
    }
    let weights_begin = header.weights.checked_mul(8).and_then(|bytes| (size - 4).checked_sub(bytes));
    let Some(weights_begin) = weights_begin.filter(|&weights_begin| weights_begin >= begin) else {
        return Err(EARLY.into());
    };
    let checkpoint = Checkpoint { header, file, begin, weights_begin };
    let rows = checkpoint.header.store.rows;
    let numbers_are_sound = checkpoint.duals()?.are_sound(rows, weights_begin - begin, checkpoint.header.weights)?;
    if !numbers_are_sound {
        return Err("its dual variables are damaged".into());
    }
    Ok(checkpoint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::AnyLoss;
    use crate::objective::Targets;

    #[test]
    fn what_is_saved_is_read_and_every_flip_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let store = StoreFingerprint { rows: 5, generation: 1, table_checksum: 7 };
        let file = CheckpointFile { path: folder.path().join("a.duals"), store };
        let loss = AnyLoss::from_name("hinge", 0.1, 1.0).unwrap();
        let objective = Objective::new(loss, 2.0, Targets::Numbers);
        let values = vec![0.5, -0.25, 0.0, 1e-300, 3.0];
        file.save(&objective, Cost::default(), &Duals::Memory(values.clone()), &[7.0, -8.0]).unwrap();
        let found = Checkpoint::open(&file.path, 7).unwrap().unwrap();
        assert_eq!((found.count(), &found.header.objective), (5, &objective));
        let mut read = vec![f64::NAN; 5];
        found.duals().unwrap().next(&mut read).unwrap();
        assert_eq!(read, values);
        assert_eq!(found.weights().unwrap(), [7.0, -8.0]);
        assert!(Checkpoint::open(&folder.path().join("none"), 7).unwrap().is_none());

        let bytes = std::fs::read(&file.path).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&file.path, &damaged).unwrap();
            assert!(matches!(Checkpoint::open(&file.path, 7), Err(CheckpointError::Damaged { .. })), "byte {at}");
            std::fs::write(&file.path, &bytes[..at]).unwrap();
            assert!(Checkpoint::open(&file.path, 7).is_err(), "cut at {at}");
        }
    }
}
