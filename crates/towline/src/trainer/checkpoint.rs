//! Dual variables on disk: what a killed run goes on from, and what another one starts from.
//!
//! ```text
//! "TOWDUALS" │ header bytes u64 │ header, JSON │ rows x f64 │ CRC-32C of all of that, u32
//! ```
//! Only the dual variables are kept. w is their sum over the rows, which the first certificate computes anew, so that a run
//! that goes on has no rounding errors from before.
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Cost;
use crate::objective::Objective;
use crate::store::manifest::Manifest;

const MAGIC: [u8; 8] = *b"TOWDUALS";
const VERSION: u32 = 1;
/// A header is a few hundred bytes; a larger one is not ours.
const LARGEST_HEADER: u64 = 1 << 20;

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

/// Dual variables and what they belong to.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// What they belong to.
    pub header: CheckpointHeader,
    /// One per row, by position in the store.
    pub duals: Vec<f64>,
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
        source: std::io::Error,
    },
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
    pub fn save(&self, objective: &Objective, cost: Cost, duals: &[f64]) -> Result<(), CheckpointError> {
        let header =
            CheckpointHeader { version: VERSION, store: self.store.clone(), objective: objective.clone(), cost };
        let mut name = self.path.file_name().unwrap_or_default().to_os_string();
        name.push(".new");
        let new = self.path.with_file_name(name);
        let write = || -> std::io::Result<()> {
            let text = serde_json::to_vec(&header)?;
            let mut out = BufWriter::new(File::create(&new)?);
            let mut checksum = 0;
            let mut put = |bytes: &[u8]| {
                checksum = crc32c::crc32c_append(checksum, bytes);
                out.write_all(bytes)
            };
            put(&MAGIC)?;
            put(&(text.len() as u64).to_le_bytes())?;
            put(&text)?;
            for dual in duals {
                put(&dual.to_le_bytes())?;
            }
            out.write_all(&checksum.to_le_bytes())?;
            out.into_inner().map_err(|error| error.into_error())?.sync_all()?;
            std::fs::rename(&new, &self.path)
        };
        write().map_err(|source| {
            let _ = std::fs::remove_file(&new);
            CheckpointError::Io { path: self.path.clone(), action: "write it", source }
        })
    }
}

impl Checkpoint {
    /// Reads a checkpoint of at most `rows` rows, and checks all of it. `None` if there is no file.
    pub fn load(path: &Path, rows: u64) -> Result<Option<Checkpoint>, CheckpointError> {
        let io = |source| CheckpointError::Io { path: path.to_path_buf(), action: "read it", source };
        let damaged = |problem: String| CheckpointError::Damaged { path: path.to_path_buf(), problem };
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let size = file.metadata().map_err(io)?.len();
        if size > rows * 8 + LARGEST_HEADER {
            return Err(damaged("it has more dual variables than the store has rows".into()));
        }
        let mut bytes = Vec::with_capacity(size as usize);
        file.read_to_end(&mut bytes).map_err(io)?;
        parse(&bytes).map(Some).map_err(damaged)
    }
}

fn parse(bytes: &[u8]) -> Result<Checkpoint, String> {
    let early = || "it ends too early".to_string();
    if !bytes.starts_with(&MAGIC) {
        return Err("these are not dual variables of a training run".into());
    }
    let (body, checksum) = bytes.split_last_chunk::<4>().ok_or_else(early)?;
    if crc32c::crc32c(body) != u32::from_le_bytes(*checksum) {
        return Err("checksum mismatch".into());
    }
    let (length, rest) = body[MAGIC.len()..].split_first_chunk::<8>().ok_or_else(early)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| early())?;
    let (text, rest) = rest.split_at_checked(length).ok_or_else(early)?;
    let header: CheckpointHeader =
        serde_json::from_slice(text).map_err(|error| format!("its header is damaged: {error}"))?;
    if header.version != VERSION {
        return Err(format!("format version {}; this program reads version {VERSION}", header.version));
    }
    let (items, left) = rest.as_chunks::<8>();
    let duals: Vec<f64> = items.iter().map(|&b| f64::from_le_bytes(b)).collect();
    if !left.is_empty() || duals.len() as u64 != header.store.rows || duals.iter().any(|d| !d.is_finite()) {
        return Err("its dual variables are damaged".into());
    }
    Ok(Checkpoint { header, duals })
}
