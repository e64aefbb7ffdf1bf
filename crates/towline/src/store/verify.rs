//! Checks everything that a store holds.
use super::features::FeatureMap;
use super::{BlockId, BlockStore, DiskStore, ReadBuffers, StoreError};
use crate::block::Block;
use crate::budget::Budget;

/// Something that is broken.
#[derive(Debug)]
pub struct Fault {
    /// What is wrong, with the file that it is in.
    pub error: StoreError,
}

/// Opens a store, reads and decodes every block and the feature map, and lists what is broken. `seen` is told the bytes of each block.
///
/// An error means that the store could not be opened at all.
pub fn verify(store: &DiskStore, budget: &Budget, mut seen: impl FnMut(u64)) -> Result<Vec<Fault>, StoreError> {
    let shape = store.shape();
    let largest = store.blocks().iter().map(|b| b.resident_bytes(shape.layout) + b.stored_bytes).max().unwrap_or(0);
    let _paid = budget.reserve("a block", largest)?;
    let mut block = Block::new(shape.layout, shape.columns as usize);
    let mut buffers = ReadBuffers::default();
    let mut faults = Vec::new();
    for number in 0..store.blocks().len() as u32 {
        block.clear();
        if let Err(error) = store.read(BlockId(number), &mut buffers, &mut block) {
            faults.push(Fault { error });
        }
        seen(store.blocks()[number as usize].stored_bytes);
    }
    if let Err(error) = FeatureMap::read(store.path(), store.manifest(), budget) {
        faults.push(Fault { error });
    }
    Ok(faults)
}
