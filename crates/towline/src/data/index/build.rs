//! One pass over a store, a tree for each group of rows.
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::manifest::IndexManifest;
use super::pages::PageWriter;
use super::tree::{LEAF_BYTES, LEAF_ROWS, TreeGrower};
use crate::base::random::shuffle;
use crate::block::Block;
use crate::budget::{Budget, BudgetError};
use crate::stop::Stop;
use crate::store::{BlockId, BlockStore, DiskStore, ReadAhead, StoreError};

/// How to build an index.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// Rows of a tree, at most; fewer if the budget holds fewer.
    pub tree_rows: u64,
    /// Children of a node, at most; at least 2.
    pub fan_out: u64,
    /// Bytes of a leaf in memory, about; fewer where rows are short.
    pub leaf_bytes: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Set from outside to stop.
    pub stop: Stop,
}

impl Default for IndexOptions {
    fn default() -> Self {
        IndexOptions { tree_rows: 32_768, fan_out: 16, leaf_bytes: LEAF_BYTES, seed: 0, stop: Stop::default() }
    }
}

/// What was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// What the index holds.
    pub manifest: IndexManifest,
    /// Its bytes on disk.
    pub bytes: u64,
}

/// A tree of fewer rows than this is not worth its root, unless the store has no more.
const LEAST_TREE_ROWS: u64 = 256;

/// Builds the index of `store` within `budget`; an index that is there is replaced once the new one is whole. `None` if
/// it was stopped. `seen` is told the bytes of each block.
pub fn build(
    store: &Arc<DiskStore>,
    options: &IndexOptions,
    budget: &Budget,
    mut seen: impl FnMut(u64),
) -> Result<Option<Built>, StoreError> {
    let fan_out = options.fan_out.clamp(2, 1 << 10);
    let least = Room::least(store, fan_out);
    let beside = PageWriter::BYTES + PageWriter::node_bytes(least.rows) + ReadAhead::needed_bytes(&**store, 1);
    budget.check("indexing", beside + least.bytes)?;
    let mut out = PageWriter::create(store, budget)?;
    let mut reader = ReadAhead::new(store.clone(), 1, budget)?;
    let room = Room::plan(store, options.tree_rows, fan_out, budget)?;
    let _paid = budget.reserve("rows of a tree", room.bytes)?;
    let shape = store.shape();
    let mut rows = Block::with_capacity(shape.layout, shape.columns as usize, room.rows as usize, room.values as usize);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    // Rows of a store lie in random order as a rule; where they do not, blocks at least come in one.
    let mut order: Vec<BlockId> = (0..store.blocks().len() as u32).map(BlockId).collect();
    shuffle(&mut order, &mut random);
    let mean_bytes = shape.layout.resident_bytes(shape.rows, shape.values) / shape.rows.max(1);
    let leaf_bytes = options.leaf_bytes.min(LEAF_ROWS * mean_bytes.max(1));
    let mut grower = TreeGrower::new((fan_out as usize, leaf_bytes), &rows, random);
    let firsts = first_rows(&**store);
    order.iter().for_each(|&id| reader.request(id));
    while let Some(block) = reader.take()? {
        if options.stop.is_requested() {
            return Ok(None);
        }
        let first = firsts[block.id().0 as usize];
        for i in 0..block.rows() {
            let is_full = rows.rows() as u64 == room.rows || (rows.values() + block.row_len(i)) as u64 > room.values;
            if is_full {
                grower.grow(&rows, &mut out)?;
                rows.clear();
            }
            rows.push_from(&block, i);
            // In a page, an id is a position in the store, and nobody asks for groups.
            let last = rows.rows() - 1;
            (rows.ids[last], rows.groups[last]) = (first + i as u64, 0);
        }
        seen(store.blocks()[block.id().0 as usize].stored_bytes);
    }
    if rows.rows() > 0 {
        grower.grow(&rows, &mut out)?;
    }
    let (manifest, bytes) = out.finish(store, (room.rows, fan_out, options.seed))?;
    Ok(Some(Built { manifest, bytes }))
}

/// Rows before each block.
pub fn first_rows(store: &dyn BlockStore) -> Vec<u64> {
    let rows = store.blocks().iter().map(|block| u64::from(block.rows));
    rows.scan(0, |before, rows| Some(std::mem::replace(before, *before + rows))).collect()
}

/// What a tree may hold.
struct Room {
    rows: u64,
    values: u64,
    bytes: u64,
}

impl Room {
    fn plan(store: &DiskStore, tree_rows: u64, fan_out: u64, budget: &Budget) -> Result<Room, BudgetError> {
        let room = |rows| Room::of(store, rows, fan_out);
        let most = tree_rows.clamp(1, u64::from(u32::MAX) / 2).min(store.shape().rows.max(1));
        let mut rows = most;
        // A part of the budget stays free for the nodes, whose number is known only when the tree is there.
        while room(rows).bytes > budget.free_bytes() / 4 * 3 && rows > LEAST_TREE_ROWS.min(most) {
            rows = (rows / 4 * 3).max(LEAST_TREE_ROWS.min(most));
        }
        Ok(room(rows))
    }

    /// The least that works.
    fn least(store: &DiskStore, fan_out: u64) -> Room {
        Room::of(store, LEAST_TREE_ROWS.min(store.shape().rows.max(1)), fan_out)
    }

    /// Room for trees of so many rows.
    fn of(store: &DiskStore, rows: u64, fan_out: u64) -> Room {
        let shape = store.shape();
        let longest = store.manifest().row_summary.max_values.min(shape.columns);
        let mean = shape.values as f64 / shape.rows.max(1) as f64;
        // Rows differ in length: a tenth more values than on average, and at least the longest row.
        let values = (rows as f64 * mean * 1.1) as u64 + longest;
        let page = 4 * shape.layout.resident_bytes(LEAST_TREE_ROWS, LEAST_TREE_ROWS * longest.min(1 << 10));
        let bytes = shape.layout.resident_bytes(rows, values) + TreeGrower::bytes(fan_out, shape.columns, rows);
        Room { rows, values, bytes: bytes + page }
    }
}
