//! Dual variables on disk: what a killed run goes on from, and what another one starts from.
//!
//! ```text
//! "TOWDUALS" │ header bytes u64 │ header, JSON │ dual variables │ weights x f64 │ CRC-32C of all of that, u32
//!
//! dual variables, version 1    rows x width x f64
//! dual variables, version 2    rows x (count u32, count x (class u32, value f64)), where most of them are 0; classes ascend
//! dual variables, version 3    count u64, count x (position u64, value f64), where most of them are 0; positions
//! ascend
//! ```
//! Those of many models lie in one file, which [`super::checkpoints`] describes. With the penalty ½‖w‖² only the dual
//! variables are kept. w is their sum over the rows, which the first certificate computes anew, so that a run that goes
//! on has no rounding errors from before. Other penalties need the weights of the last proximal step beside them.
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::Cost;
use crate::engine::duals::checkpoints::Checkpoints;
use crate::engine::duals::stored::{Stored, StoredDuals, few_bytes, put_few, put_pairs};
use crate::engine::duals::{self, Duals};
use crate::objective::Objective;
use crate::output::{self, DUALS_MAGIC as MAGIC, Kind, OutputError};
use crate::store::StoreFingerprint;

/// The version of dual variables that are all written.
const DENSE: u32 = 1;
/// The version of pairs of class and value.
const SPARSE: u32 = 2;
/// The version of pairs of position and value.
const FEW: u32 = 3;
/// A header is a few hundred bytes; a larger one is not ours.
const LARGEST_HEADER: u64 = 1 << 20;

/// What a run says whose numbers have grown beyond all bounds.
const NOT_FINITE: &str = "a dual variable is not a finite number; use a smaller C, or scale labels, weights and values";

/// Dual variables in a file that has been checked, and what they belong to. They are read when they are wanted: there
/// may be more of them than fit into memory.
#[derive(Debug)]
pub struct Checkpoint {
    /// What they belong to.
    pub header: CheckpointHeader,
    pub(crate) file: Arc<File>,
    /// Where the dual variables begin, and where the weights do.
    pub(crate) begin: u64,
    pub(crate) weights_begin: u64,
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

impl CheckpointHeader {
    /// Whether this program can read what belongs to it.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.version {
            DENSE..=FEW => Ok(()),
            version => Err(format!("format version {version}; this program reads versions {DENSE} to {FEW}")),
        }
    }
}

/// A checkpoint cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    #[error("{}: {problem}; begin anew with `restart`", path.display())]
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
    /// Its name among those of other models, if they share the file.
    among: Option<(Arc<Checkpoints>, String)>,
}

impl CheckpointFile {
    /// A file for one model.
    pub fn alone(path: PathBuf, store: StoreFingerprint) -> Self {
        CheckpointFile { path, store, among: None }
    }

    /// A place in a file of many models.
    pub fn among(all: &Arc<Checkpoints>, name: String, store: StoreFingerprint) -> Self {
        CheckpointFile { path: all.path().to_path_buf(), store, among: Some((all.clone(), name)) }
    }

    /// Writes a checkpoint so that the file is the old one or the new one, never something between. Among many, it
    /// becomes the new one with
    /// [`commit`](Self::commit), or some seconds later.
    pub fn save(
        &self,
        objective: &Objective,
        cost: Cost,
        duals: &Duals,
        weights: &[f64],
    ) -> Result<(), CheckpointError> {
        let body = Body::new(self.store.clone(), objective, cost, duals, weights)
            .map_err(|source| CheckpointError::Io { path: self.path.clone(), action: "write it", source })?;
        if let Some((all, name)) = &self.among {
            return all.put(name, &body);
        }
        let text = serde_json::to_vec(&body.header).map_err(|error| CheckpointError::Io {
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
            body.write(&mut put)?;
            out.write_all(&checksum.to_le_bytes())
        };
        Ok(output::replace(&self.path, Kind::Duals, write)?)
    }

    /// Makes what was saved last what the next run finds, whatever happens from now on.
    pub fn commit(&self) -> Result<(), CheckpointError> {
        self.among.as_ref().map_or(Ok(()), |(all, _)| all.commit())
    }
}

/// The dual variables and weights of a model, and how they are written.
pub(crate) struct Body<'a> {
    pub header: CheckpointHeader,
    duals: &'a Duals,
    weights: &'a [f64],
    /// How many dual variables are not 0.
    support: u64,
}

impl<'a> Body<'a> {
    fn new(
        store: StoreFingerprint,
        objective: &Objective,
        cost: Cost,
        duals: &'a Duals,
        weights: &'a [f64],
    ) -> io::Result<Self> {
        let mut support = 0;
        duals.for_each_chunk(|values| {
            // The next run would find a damaged file.
            if !values.iter().all(|value| value.is_finite()) {
                return Err(io::Error::other(NOT_FINITE));
            }
            support += values.iter().filter(|value| **value != 0.0).count() as u64;
            Ok(())
        })?;
        // A run without dual variables has none that is not 0.
        let count = store.rows * objective.width() as u64;
        let version = match duals {
            Duals::Sparse { .. } => SPARSE,
            _ if duals.rows() == 0 || few_bytes(support) < 8 * count => FEW,
            _ => DENSE,
        };
        let weights_count = weights.len() as u64;
        let objective = objective.clone();
        let header = CheckpointHeader { version, store, objective, cost, weights: weights_count };
        Ok(Body { header, duals, weights, support })
    }

    /// Bytes of the dual variables.
    pub fn dual_bytes(&self) -> u64 {
        match self.header.version {
            SPARSE => 4 * (self.duals.rows() / self.header.objective.width() as u64) + 12 * self.support,
            FEW => few_bytes(self.support),
            _ => 8 * self.duals.rows(),
        }
    }

    /// Bytes of dual variables and weights.
    pub fn bytes(&self) -> u64 {
        self.dual_bytes() + 8 * self.weights.len() as u64
    }

    /// Writes both.
    pub fn write(&self, put: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let width = self.header.objective.width();
        if self.header.version == FEW {
            put(&self.support.to_le_bytes())?;
        }
        let mut first = 0;
        self.duals.for_each_chunk(|values| {
            match self.header.version {
                SPARSE => values.chunks_exact(width).try_for_each(|row| put_pairs(row, put))?,
                FEW => put_few(first, values, put)?,
                _ => values.iter().try_for_each(|value| put(&value.to_le_bytes()))?,
            }
            first += values.len() as u64;
            Ok(())
        })?;
        self.weights.iter().try_for_each(|weight| put(&weight.to_le_bytes()))
    }
}

impl Checkpoint {
    /// Opens a checkpoint of at most so many dual variables and weights, and checks all of it. `None` if there is no
    /// file, or one of many models.
    pub fn open(path: &Path, numbers: u64) -> Result<Option<Checkpoint>, CheckpointError> {
        let io = |source| CheckpointError::Io { path: path.to_path_buf(), action: "read it", source };
        // A pipe would be waited for.
        let file = match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let known = file.metadata().map_err(io)?;
        if !known.is_file() {
            return Err(damaged(path, "it is not a plain file".into()));
        }
        if Checkpoints::is_one(&file).map_err(io)? {
            return Ok(None);
        }
        check(file, known.len(), numbers).map(Some).map_err(|error| damaged(path, error))
    }

    /// Whether its numbers are those of a run, where the dual variables of a model take so many bytes.
    pub(crate) fn is_sound(&self) -> io::Result<bool> {
        let bytes = self.weights_begin - self.begin;
        self.duals()?.are_sound(self.header.store.rows, bytes, self.header.weights)
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
        let stored = match self.header.version {
            SPARSE => Stored::Pairs,
            FEW => Stored::Few,
            _ => Stored::All,
        };
        StoredDuals::new(&self.file, self.begin, self.header.objective.width(), stored)
    }
}

/// What is wrong with a file: the system said no, or a description of the damage.
pub(crate) fn damaged(path: &Path, error: Box<dyn std::error::Error>) -> CheckpointError {
    match error.downcast::<std::io::Error>() {
        Ok(source) => CheckpointError::Io { path: path.to_path_buf(), action: "read it", source: *source },
        Err(problem) => CheckpointError::Damaged { path: path.to_path_buf(), problem: problem.to_string() },
    }
}

/// Reads all of a file once, a piece at a time. An error is one of the system or a description of the damage.
fn check(file: File, size: u64, numbers: u64) -> Result<Checkpoint, Box<dyn std::error::Error>> {
    const EARLY: &str = "it ends too early";
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
    header.check()?;
    let weights_begin = header.weights.checked_mul(8).and_then(|bytes| (size - 4).checked_sub(bytes));
    let Some(weights_begin) = weights_begin.filter(|&weights_begin| weights_begin >= begin) else {
        return Err(EARLY.into());
    };
    let checkpoint = Checkpoint { header, file: Arc::new(file), begin, weights_begin };
    if !checkpoint.is_sound()? {
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
        let file = CheckpointFile::alone(folder.path().join("a.duals"), store);
        let loss = AnyLoss::named("hinge").unwrap();
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
