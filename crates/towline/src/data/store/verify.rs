//! Checks everything that a store holds.
use super::manifest::Manifest;
use super::{BlockId, BlockStore, DiskStore, ReadBuffers, StoreError};
use crate::block::Block;
use crate::budget::Budget;

/// Something that is broken.
#[derive(Debug)]
pub struct Fault {
    /// What is wrong, with the file that it is in.
    pub error: StoreError,
}

/// The file and what is wrong with it, without the advice that an error has.
impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.error {
            StoreError::Damaged { path, problem } => write!(f, "{}: {problem}", path.display()),
            other => write!(f, "{other}"),
        }
    }
}

/// Reads and decodes every block and the feature map, and lists what is broken. `seen` is told the bytes of each block.
pub fn verify(store: &DiskStore, budget: &Budget, mut seen: impl FnMut(u64)) -> Result<Vec<Fault>, StoreError> {
    let shape = store.shape();
    let _paid = budget.reserve("a block", store.one_block_bytes())?;
    let mut block = Block::new(shape.layout, shape.columns as usize);
    let mut buffers = ReadBuffers::default();
    let mut faults = Vec::new();
    match read_features(store, budget) {
        Err(error @ StoreError::Budget(_)) => return Err(error),
        Err(error) => faults.push(Fault { error }),
        Ok(()) => {}
    }
    // Rows that are made of features that nobody knows would each say so again.
    let readable = if faults.is_empty() || store.manifest().made_from.is_none() { store.blocks().len() } else { 0 };
    for number in 0..readable as u32 {
        block.clear();
        let id = BlockId(number);
        let read = store.read(id, &mut buffers, &mut block).and_then(|()| check_classes(store, id, &block));
        faults.extend(read.err().map(|error| Fault { error }));
        seen(store.blocks()[number as usize].stored_bytes);
    }
    Ok(faults)
}

/// Reads all features, of which there may be more than memory holds.
fn read_features(store: &DiskStore, budget: &Budget) -> Result<(), StoreError> {
    let mut features = store.stored_columns(budget)?;
    while features.next()?.is_some() {}
    Ok(())
}

/// Where classes have names, every label must be the number of one.
fn check_classes(store: &DiskStore, id: BlockId, block: &Block) -> Result<(), StoreError> {
    let Manifest { labels, .. } = store.manifest();
    let Some(names) = &labels.names else { return Ok(()) };
    let is_class = |label: f64| label >= 0.0 && label.fract() == 0.0 && label < names.len() as f64;
    match block.labels().iter().find(|&&label| !is_class(label)) {
        Some(label) => {
            let problem = format!("block {}: there is no class with the number {label}", id.0);
            Err(StoreError::damaged(&store.file_of(id), problem))
        }
        None => Ok(()),
    }
}
