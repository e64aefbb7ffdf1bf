//! Blocks of rows on disk or in memory: which are there, and give me one.
//!
//! ```
//! use towline::block::{Block, Layout, RowInfo};
//! use towline::store::{BlockId, BlockStore, MemoryStore, ReadBuffers};
//!
//! let mut rows = Block::new(Layout::SPARSE_F32, 3);
//! rows.push(RowInfo { label: 1.0, weight: 1.0, group: 0, id: 0 }, [(0, 0.5), (2, 2.0)]);
//! let store = MemoryStore::new(vec![rows]);
//!
//! let mut block = Block::new(store.shape().layout, store.shape().columns as usize);
//! store.read(BlockId(0), &mut ReadBuffers::default(), &mut block).unwrap();
//! assert_eq!(block.row(0).dot(&[1.0, 1.0, 1.0]), 2.5);
//! ```
mod checked_file;
mod disk;
mod error;
pub mod features;
pub(crate) mod files;
mod fingerprint;
pub(crate) mod folder;
pub mod format;
mod lazy_fourier;
pub mod manifest;
mod memory;
mod read_ahead;
pub mod scales;
mod table;
mod table_columns;
mod verify;
pub mod writer;

pub use disk::DiskStore;
pub use error::StoreError;
pub use fingerprint::StoreFingerprint;
pub use memory::MemoryStore;
pub use read_ahead::{Lent, ReadAhead};
pub use table_columns::{Range, TableColumn, table_columns};
pub use verify::{Fault, verify};

use std::sync::Arc;

use crate::block::{Block, Layout};

/// A block's number in its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// How large the data of a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows in all blocks.
    pub rows: u64,
    /// Values in all blocks.
    pub values: u64,
    /// Every column is below this.
    pub columns: u64,
    /// The least layout that holds the rows of every block.
    pub layout: Layout,
}

/// What is known of a block before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Rows in the block.
    pub rows: u32,
    /// Values in the block.
    pub values: u64,
    /// Bytes that reading it takes from the disk; 0 in memory.
    pub stored_bytes: u64,
}

impl BlockInfo {
    /// Bytes that the block takes in memory with this layout.
    pub fn resident_bytes(&self, layout: Layout) -> u64 {
        layout.resident_bytes(u64::from(self.rows), self.values)
    }
}

/// What reading needs besides the block, kept between reads.
#[derive(Default)]
pub struct ReadBuffers {
    pub(crate) bytes: Vec<u8>,
    pub(crate) scratch: format::Scratch,
    /// Rows as they lie on disk, where those that are asked for are made from them.
    pub(crate) stored: Option<Block>,
}

/// Blocks of rows, wherever they lie.
pub trait BlockStore: Send + Sync {
    /// How large it all is.
    fn shape(&self) -> Shape;

    /// What is known of each block.
    fn blocks(&self) -> &[BlockInfo];

    /// Appends the rows of a block to `into`, whose layout and columns must be able to hold them (the store's own do).
    /// On failure `into` is as it was before.
    fn read(&self, id: BlockId, buffers: &mut ReadBuffers, into: &mut Block) -> Result<(), StoreError>;

    /// What reading takes at most besides the block that is read.
    fn reading_bytes(&self) -> u64 {
        reading_bytes(self.blocks())
    }

    /// What it takes to read one block after the other.
    fn one_block_bytes(&self) -> u64 {
        let layout = self.shape().layout;
        self.blocks().iter().map(|b| b.resident_bytes(layout)).max().unwrap_or(0) + self.reading_bytes()
    }

    /// All rows in one block, if they lie in the memory of another program, which has paid for them.
    fn resident(&self) -> Option<&Block> {
        None
    }

    /// The values of all rows by column, if they lie in memory like that: the rows that are resident have none of their
    /// own then.
    fn resident_columns(&self) -> Option<&Arc<Block>> {
        None
    }
}

/// The bytes of the largest block, and what decoding takes for each row and value.
fn reading_bytes(blocks: &[BlockInfo]) -> u64 {
    let stored = blocks.iter().map(|b| b.stored_bytes).max().unwrap_or(0);
    let decoded = blocks.iter().map(|b| b.values + u64::from(b.rows)).max().unwrap_or(0);
    stored + 4 * decoded
}

#[cfg(test)]
mod tests;
