//! Which data an index, or the state of a run, belongs to.
use serde::{Deserialize, Serialize};

use super::manifest::Manifest;

/// Tells one state of a store from any other.
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
