//! The leaves of an index as blocks of rows: all rows of the store, in another order and in smaller pieces.
use std::sync::Arc;

use super::forest::Forest;
use crate::block::Block;
use crate::store::{BlockId, BlockInfo, BlockStore, ReadBuffers, Shape, StoreError};

/// Every leaf is a block; the id of a row is its position in the store.
pub struct Leaves {
    forest: Arc<Forest>,
    numbers: Vec<u32>,
    infos: Vec<BlockInfo>,
}

impl Leaves {
    /// Memory for so many leaves.
    pub fn bytes(leaves: u64) -> u64 {
        leaves * (4 + size_of::<BlockInfo>() as u64)
    }

    /// The leaves of `forest`.
    pub fn new(forest: Arc<Forest>) -> Self {
        let is_leaf = |&number: &u32| forest.nodes()[number as usize].is_leaf();
        let numbers: Vec<u32> = (0..forest.nodes().len() as u32).filter(is_leaf).collect();
        let info = |&number: &u32| {
            let node = &forest.nodes()[number as usize];
            BlockInfo { rows: node.rows, values: node.values, stored_bytes: u64::from(node.bytes) }
        };
        let infos = numbers.iter().map(info).collect();
        Leaves { forest, numbers, infos }
    }
}

impl BlockStore for Leaves {
    fn shape(&self) -> Shape {
        Shape {
            rows: self.forest.rows(),
            values: self.infos.iter().map(|info| info.values).sum(),
            columns: self.forest.columns() as u64,
            layout: self.forest.layout(),
        }
    }

    fn blocks(&self) -> &[BlockInfo] {
        &self.infos
    }

    fn read(&self, id: BlockId, buffers: &mut ReadBuffers, into: &mut Block) -> Result<(), StoreError> {
        self.forest.read(self.numbers[id.0 as usize], buffers, into)
    }
}
