//! `index/index.json`: what an index is made of, and which rows it is of.
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::store::StoreError;
use crate::store::StoreFingerprint;
use crate::store::files::StoreFolder;
use crate::store::manifest::{FileEntry, unsealed};

/// The version of the index format that this program writes and reads.
pub const VERSION: u64 = 1;
/// The folder of the index in its store.
pub const FOLDER: &str = "index";
/// The file that makes it one.
pub const FILE_NAME: &str = "index.json";
/// It lists two files; a larger one is not ours.
const LARGEST_BYTES: u64 = 1 << 20;

/// What an index holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexManifest {
    /// Format version of the index.
    pub version: u64,
    /// The program that wrote it.
    pub created_by: String,
    /// The rows that it is of.
    pub store: StoreFingerprint,
    /// Trees.
    pub trees: u64,
    /// Nodes of all trees.
    pub nodes: u64,
    /// Nodes that hold rows.
    pub leaves: u64,
    /// Rows of a tree, at most.
    pub tree_rows: u64,
    /// Children of a node, at most.
    pub fan_out: u64,
    /// Seed of the random choices.
    pub seed: u64,
    /// The node table.
    pub table: FileEntry,
    /// The pages; they carry checksums inside.
    pub pages: FileEntry,
}

impl IndexManifest {
    /// Reads the manifest of the index of the store at `store`; `None` if it has no index.
    pub fn read(store: &Path) -> Result<Option<IndexManifest>, StoreError> {
        let path = store.join(FOLDER).join(FILE_NAME);
        let damaged =
            |problem: String| StoreError::index(store, format!("the index is damaged: {FILE_NAME}: {problem}"));
        let file = match StoreFolder::open(store)?.open_plain(&format!("{FOLDER}/{FILE_NAME}")) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::Other => return Err(damaged(error.to_string())),
            Err(error) => return Err(StoreError::io(&path, "open it")(error)),
        };
        let mut text = String::new();
        file.take(LARGEST_BYTES).read_to_string(&mut text).map_err(|error| damaged(error.to_string()))?;
        let inner = unsealed(&text).map_err(damaged)?.get();
        // The version is looked at first: other fields may have another meaning in another version.
        #[derive(Deserialize)]
        struct VersionOnly {
            version: u64,
        }
        let parse = |error: serde_json::Error| damaged(error.to_string());
        let VersionOnly { version } = serde_json::from_str(inner).map_err(parse)?;
        if version != VERSION {
            let problem = format!("the index has format version {version}, and this program reads version {VERSION}");
            return Err(StoreError::index(store, problem));
        }
        serde_json::from_str(inner).map(Some).map_err(parse)
    }

    /// Whether it is of these rows, and not of those before rows were added.
    pub fn is_of(&self, store: &StoreFingerprint) -> bool {
        self.store == *store
    }
}
