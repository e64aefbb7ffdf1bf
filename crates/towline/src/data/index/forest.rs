//! An index on disk, read page by page.
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::manifest::IndexManifest;
use super::nodes::{self, NO_NODE, Node};
use crate::block::{Block, Layout};
use crate::budget::{Budget, Reservation};
use crate::store::StoreFingerprint;
use crate::store::files::{StoreFolder, while_it_changes};
use crate::store::format::{self, Header};
use crate::store::{BlockStore, DiskStore, ReadBuffers, StoreError};

/// The index of a store.
#[derive(Debug)]
pub struct Forest {
    store: PathBuf,
    manifest: IndexManifest,
    pages: File,
    nodes: Vec<Node>,
    roots: Vec<u32>,
    layout: Layout,
    columns: usize,
    rows: u64,
    _paid: Reservation,
}

impl Forest {
    /// Opens the index of `store` and checks everything but the contents of its pages.
    pub fn open(store: &DiskStore, budget: &Budget) -> Result<Forest, StoreError> {
        while_it_changes(store.path(), || Forest::open_once(store, budget))
    }

    fn open_once(store: &DiskStore, budget: &Budget) -> Result<Forest, StoreError> {
        let path = store.path();
        let Some(manifest) = IndexManifest::read(path)? else { return Err(StoreError::index(path, "it has no index")) };
        if !manifest.is_of(&StoreFingerprint::of(store.manifest())) {
            let problem = format!(
                "its index is of generation {} with {} rows, and the store is at generation {} with {}",
                manifest.store.generation,
                manifest.store.rows,
                store.manifest().generation,
                store.manifest().rows
            );
            return Err(StoreError::index(path, problem));
        }
        // Once as bytes, once as nodes.
        let paid = budget.reserve_few("nodes of the index", manifest.table.bytes.saturating_mul(3))?;
        let damaged = |error: StoreError| damaged_index(path, &error);
        let folder = StoreFolder::open(path)?;
        let bytes = folder.read_checked(&manifest.table).map_err(damaged)?;
        let pages = folder.open_file(&manifest.pages).map_err(damaged)?;
        let nodes = nodes::parse(&bytes, manifest.pages.bytes, store.manifest().rows)
            .map_err(|problem| StoreError::index(path, format!("the index is damaged: {problem}")))?;
        let roots = (0..nodes.len() as u32).filter(|&node| nodes[node as usize].parent == NO_NODE).collect();
        let shape = store.shape();
        Ok(Forest {
            store: path.to_path_buf(),
            manifest,
            pages,
            nodes,
            roots,
            layout: shape.layout,
            columns: shape.columns as usize,
            rows: shape.rows,
            _paid: paid,
        })
    }

    /// What it holds.
    pub fn manifest(&self) -> &IndexManifest {
        &self.manifest
    }

    /// The store that it lies in.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// All nodes.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The roots of all trees.
    pub(super) fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// Rows of the store.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Columns of the store.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The layout of its pages in memory: that of the store.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Appends the rows of a node's page to `into`. On failure it is as it was before.
    pub(super) fn read(&self, number: u32, buffers: &mut ReadBuffers, into: &mut Block) -> Result<(), StoreError> {
        let node = &self.nodes[number as usize];
        let damaged =
            |problem: String| StoreError::index(&self.store, format!("the index is damaged: page {number}, {problem}"));
        buffers.bytes.resize(node.bytes as usize, 0);
        self.pages
            .read_exact_at(&mut buffers.bytes, node.offset)
            .map_err(StoreError::io(&self.store.join(&self.manifest.pages.name), "read a page"))?;
        let header = Header::parse(&buffers.bytes).map_err(|error| damaged(error.to_string()))?;
        if (header.rows, header.values) != (node.rows, node.values) {
            return Err(damaged("it does not have the size that the node table says".into()));
        }
        let before = into.rows();
        format::decode(&buffers.bytes, into, &mut buffers.scratch).map_err(|error| damaged(error.to_string()))?;
        if into.ids()[before..].iter().any(|&position| position >= self.rows) {
            into.truncate(before);
            return Err(damaged("it holds a row that the store does not have".into()));
        }
        Ok(())
    }
}

/// The same problem with another remedy: the store itself is whole.
fn damaged_index(store: &Path, error: &StoreError) -> StoreError {
    match error {
        StoreError::Damaged { path, problem } => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            StoreError::index(store, format!("the index is damaged: {name}: {problem}"))
        }
        other => StoreError::index(store, other.to_string()),
    }
}
