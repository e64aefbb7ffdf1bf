//! Checks everything that an index holds.
use super::Forest;
use crate::bits::RowBits;
use crate::block::Block;
use crate::budget::Budget;
use crate::store::{DiskStore, Fault, ReadBuffers, StoreError};

/// Reads and decodes every page of the index of `store`, and lists what is broken: pages whose checksums do not hold,
/// and rows that are not there once. `seen` is told the bytes of each page.
pub fn verify(store: &DiskStore, budget: &Budget, mut seen: impl FnMut(u64)) -> Result<Vec<Fault>, StoreError> {
    let forest = match Forest::open(store, budget) {
        Ok(forest) => forest,
        Err(error @ StoreError::Index { .. }) => return Ok(vec![Fault { error }]),
        Err(error) => return Err(error),
    };
    let largest = forest.nodes().iter().map(|node| {
        forest.layout().resident_bytes(u64::from(node.rows), node.values) + u64::from(node.bytes) + 4 * node.values
    });
    let _paid = budget.reserve("a page", largest.max().unwrap_or(0) + RowBits::bytes(forest.rows()))?;
    let mut page = Block::new(forest.layout(), forest.columns());
    let mut buffers = ReadBuffers::default();
    let mut met = RowBits::new(forest.rows());
    let mut faults = Vec::new();
    for (number, node) in forest.nodes().iter().enumerate() {
        page.clear();
        if let Err(error) = forest.read(number as u32, &mut buffers, &mut page) {
            faults.push(Fault { error });
        } else if node.is_leaf() {
            for &position in page.ids() {
                if met.get(position) {
                    let problem = format!("the index is damaged: page {number} holds row {position} once more");
                    faults.push(Fault { error: StoreError::index(store.path(), problem) });
                }
                met.set(position, true);
            }
        }
        seen(u64::from(node.bytes));
    }
    Ok(faults)
}
