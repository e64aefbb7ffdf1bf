use std::sync::Arc;

use super::{BlockId, BlockInfo, BlockStore, ReadBuffers, Shape, StoreError};
use crate::block::{Block, Layout};

/// Blocks that are in memory already, for tests and for arrays that a program holds.
#[derive(Debug)]
pub struct MemoryStore {
    blocks: Vec<Block>,
    infos: Vec<BlockInfo>,
    shape: Shape,
    /// Whether the one block is to be used where it lies.
    is_resident: bool,
    /// Its values by column, if it has none by row.
    columns: Option<Arc<Block>>,
}

impl MemoryStore {
    /// A store of one block that training uses where it lies, such as [`Block::over`].
    pub fn resident(block: Block) -> Self {
        MemoryStore { is_resident: true, ..MemoryStore::new(vec![block]) }
    }

    /// The same with all values by column: `rows` has none.
    pub(crate) fn by_column(rows: Block, columns: Arc<Block>) -> Self {
        MemoryStore { columns: Some(columns), ..MemoryStore::resident(rows) }
    }

    /// The first block, which is the only one of a resident store.
    pub(crate) fn first_block(&self) -> &Block {
        &self.blocks[0]
    }

    /// A store of these blocks.
    pub fn new(blocks: Vec<Block>) -> Self {
        let infos: Vec<BlockInfo> = blocks
            .iter()
            .map(|b| BlockInfo { rows: b.rows() as u32, values: b.values() as u64, stored_bytes: 0 })
            .collect();
        let shape = Shape {
            rows: infos.iter().map(|i| u64::from(i.rows)).sum(),
            values: infos.iter().map(|i| i.values).sum(),
            columns: blocks.iter().map(|b| b.columns() as u64).max().unwrap_or(0),
            layout: blocks.iter().map(Block::layout).reduce(Layout::join).unwrap_or(Layout::SPARSE_F32),
        };
        MemoryStore { blocks, infos, shape, is_resident: false, columns: None }
    }
}

impl BlockStore for MemoryStore {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn blocks(&self) -> &[BlockInfo] {
        &self.infos
    }

    fn read(&self, id: BlockId, _buffers: &mut ReadBuffers, into: &mut Block) -> Result<(), StoreError> {
        let block = &self.blocks[id.0 as usize];
        into.reserve(block.rows(), block.values());
        (0..block.rows()).for_each(|i| into.push_from(block, i));
        Ok(())
    }

    fn resident(&self) -> Option<&Block> {
        self.blocks.first().filter(|_| self.is_resident)
    }

    fn resident_columns(&self) -> Option<&Arc<Block>> {
        self.columns.as_ref()
    }
}
