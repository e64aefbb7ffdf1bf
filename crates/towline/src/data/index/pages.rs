//! Writing an index so that it exists whole or not at all.
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use super::manifest::{FILE_NAME, FOLDER, IndexManifest, VERSION};
use super::nodes::{ENTRY_BYTES, NO_NODE, Node};
use crate::block::Block;
use crate::budget::{Budget, Reservation};
use crate::output::{NewFolder, create_in, open_folder};
use crate::store::StoreFingerprint;
use crate::store::folder::{foreign_in_index, lock, write_synced};
use crate::store::format::{self, Scratch};
use crate::store::manifest::{FileEntry, sealed};
use crate::store::{DiskStore, StoreError};

const PAGES: &str = "pages.dat";
const TABLE: &str = "nodes.tab";
/// The buffer in which entries of the table wait.
const TABLE_BUFFER: usize = 64 << 10;

/// The node table on its way to disk.
struct Table {
    out: BufWriter<File>,
    bytes: u64,
    checksum: u32,
}

impl Table {
    fn write(&mut self, entry: &[u8]) -> std::io::Result<()> {
        self.bytes += entry.len() as u64;
        self.checksum = crc32c::crc32c_append(self.checksum, entry);
        self.out.write_all(entry)
    }
}

/// Pages and nodes on their way to disk: they grow in a folder of their own, which is renamed when everything in it
/// is synced.
pub struct PageWriter {
    store: PathBuf,
    folder: NewFolder,
    out: BufWriter<File>,
    bytes: u64,
    /// Nodes of the tree at hand; those without a page yet have `bytes` 0.
    nodes: Vec<Node>,
    /// Nodes of the trees before it, which are in the table.
    written: u32,
    table: Table,
    trees: u64,
    leaves: u64,
    paid: Reservation,
    scratch: Scratch,
    encoded: Vec<u8>,
    /// The index that is replaced.
    old: Option<File>,
    _lock: File,
}

impl PageWriter {
    /// What it takes besides the nodes of a tree: buffers of both files.
    pub const BYTES: u64 = (1 << 20) + TABLE_BUFFER as u64;

    /// What the nodes of a tree take that has as many leaves as rows, half of them empty places of a list that grows.
    pub fn node_bytes(rows: u64) -> u64 {
        4 * rows * size_of::<Node>() as u64
    }

    /// Begins an index for the store; what an earlier run left unfinished is removed.
    pub fn create(store: &DiskStore, budget: &Budget) -> Result<Self, StoreError> {
        let path = store.path();
        let lock = lock(path, path)?;
        let paid = budget.reserve("nodes of the index", PageWriter::BYTES)?;
        let target = path.join(FOLDER);
        let old = match target.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            _ if target.join(FILE_NAME).is_file() => {
                let old = open_folder(rustix::fs::CWD, &target).map_err(StoreError::io(&target, "open it"))?;
                if let Some(name) = foreign_in_index(&old, &target)? {
                    return Err(StoreError::Foreign { path: target, name });
                }
                Some(old)
            }
            _ => return Err(StoreError::Foreign { path: path.to_path_buf(), name: FOLDER.to_string() }),
        };
        let folder = NewFolder::create(&target)?;
        let create = |name| create_in(folder.handle(), name).map_err(StoreError::io(&target, "create a file in it"));
        let (pages, table) = (create(PAGES)?, create(TABLE)?);
        Ok(PageWriter {
            store: path.to_path_buf(),
            folder,
            out: BufWriter::with_capacity(1 << 20, pages),
            bytes: 0,
            nodes: Vec::new(),
            written: 0,
            table: Table { out: BufWriter::with_capacity(TABLE_BUFFER, table), bytes: 0, checksum: 0 },
            trees: 0,
            leaves: 0,
            paid,
            scratch: Scratch::default(),
            encoded: Vec::new(),
            old,
            _lock: lock,
        })
    }

    /// Adds a node whose page comes later.
    pub fn add(&mut self, node: Node) -> Result<u32, StoreError> {
        let number = self.next();
        if number == NO_NODE - 1 {
            return Err(StoreError::index(&self.store, "the index would have more than 2^32 nodes"));
        }
        // The list doubles as it grows.
        self.paid.grow_to(PageWriter::BYTES + 2 * ((self.nodes.len() + 1) * size_of::<Node>()) as u64)?;
        self.nodes.push(node);
        Ok(number)
    }

    /// The number that the next node will have.
    pub fn next(&self) -> u32 {
        self.written + self.nodes.len() as u32
    }

    /// A node of the tree at hand.
    pub fn node(&mut self, number: u32) -> &mut Node {
        &mut self.nodes[(number - self.written) as usize]
    }

    /// Writes the page of a node. Pages come in the order of their nodes.
    pub fn write(&mut self, number: u32, page: &Block) -> Result<(), StoreError> {
        self.encoded.clear();
        let header = format::encode(page, &mut self.scratch, &mut self.encoded);
        let Ok(bytes) = u32::try_from(self.encoded.len()) else {
            return Err(StoreError::index(&self.store, "a row is too long for an index"));
        };
        self.out.write_all(&self.encoded).map_err(StoreError::io(&self.store.join(FOLDER).join(PAGES), "write it"))?;
        self.bytes += u64::from(bytes);
        let node = self.node(number);
        (node.bytes, node.rows, node.values) = (bytes, header.rows, header.values);
        Ok(())
    }

    /// All pages of the tree at hand are written: its nodes follow, so that memory does not grow with the trees.
    pub fn end_tree(&mut self) -> Result<(), StoreError> {
        let mut entry = Vec::with_capacity(ENTRY_BYTES);
        for node in &self.nodes {
            entry.clear();
            node.write(&mut entry);
            self.table.write(&entry).map_err(StoreError::io(&self.store.join(FOLDER).join(TABLE), "write it"))?;
        }
        self.trees += 1;
        self.leaves += self.nodes.iter().filter(|node| node.is_leaf()).count() as u64;
        self.written = self.next();
        self.nodes.clear();
        Ok(())
    }

    /// Makes the index whole: everything is synced, then one rename makes it visible. Returns its bytes on disk beside
    /// the manifest.
    pub fn finish(
        mut self,
        store: &DiskStore,
        (tree_rows, fan_out, seed): (u64, u64, u64),
    ) -> Result<(IndexManifest, u64), StoreError> {
        let target = self.store.join(FOLDER);
        let pages = target.join(PAGES);
        self.out.flush().and_then(|()| self.out.get_ref().sync_all()).map_err(StoreError::io(&pages, "sync it"))?;
        let table = &mut self.table;
        let synced = table.out.flush().and_then(|()| table.out.get_ref().sync_all());
        synced.map_err(StoreError::io(&target.join(TABLE), "sync it"))?;
        let entry =
            |name: &str, bytes: u64, checksum: u32| FileEntry { name: format!("{FOLDER}/{name}"), bytes, checksum };
        let manifest = IndexManifest {
            version: VERSION,
            created_by: format!("towline {}", env!("CARGO_PKG_VERSION")),
            store: StoreFingerprint::of(store.manifest()),
            trees: self.trees,
            nodes: u64::from(self.written),
            leaves: self.leaves,
            tree_rows,
            fan_out,
            seed,
            table: entry(TABLE, table.bytes, table.checksum),
            pages: entry(PAGES, self.bytes, 0),
        };
        let table_bytes = table.bytes;
        let text = sealed(&manifest).map_err(|error| StoreError::index(&self.store, error.to_string()))?;
        write_synced(self.folder.handle(), &target, FILE_NAME, text.as_bytes())?;
        self.folder.handle().sync_all().map_err(StoreError::io(&target, "sync it"))?;
        self.folder.publish(self.old.as_ref())?;
        Ok((manifest, self.bytes + table_bytes + text.len() as u64))
    }
}
