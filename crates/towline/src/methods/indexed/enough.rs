//! The least memory with which models can be trained with an index.
use super::IndexedOptions;
use super::rounds::vector_bytes;
use super::segment::Room;
use crate::bits::RowBits;
use crate::budget::Budget;
use crate::engine::Pass;
use crate::index::Search;
use crate::store::{BlockStore, DiskStore};
use crate::truncation;

/// What a model holds besides its rows: vectors, what the search knows, and which rows are active.
pub fn fixed_bytes(store: &DiskStore, nodes: u64, indexed: &IndexedOptions) -> u64 {
    let shape = store.shape();
    let search = Search::needed_bytes(nodes, shape.columns, shape.rows);
    vector_bytes(shape.columns, indexed.primal) + search + RowBits::bytes(shape.rows)
}

/// What training takes at least beside the nodes of the index, of which there are this many: one model with a few of
/// its active rows while a scan reads all of them, or while the series goes on by blocks, since the index may turn out
/// to be of no help.
pub fn least_bytes(store: &DiskStore, nodes: u64, indexed: &IndexedOptions, budget: &Budget) -> u64 {
    let scan = Pass::bytes(store);
    // Pages, and each of two segments of active rows, may have an eighth of what is there beside the fixed part.
    let beside = scan / 5 * 8 + 2 * Room::of(store.shape(), store.manifest().row_summary.max_values, 0).bytes();
    (fixed_bytes(store, nodes, indexed) + beside).max(truncation::least_bytes(store, budget))
}
