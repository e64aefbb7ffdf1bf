//! Which rows are held out together.
//!
//! The fold of a row follows from a hash of its number, or of its group, and a seed: it is the same in every run, for
//! any order of the rows in the store, and costs no memory. To stratify, each class has its own limits between folds,
//! so that every fold has its share of every class.
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::block::{Block, RowInfo};
use crate::budget::Budget;
use crate::engine::RowFilter;
use crate::store::{BlockId, BlockStore, ReadBuffers, StoreError};

/// How rows are dealt out to folds.
#[derive(Clone, Debug)]
pub struct Folds {
    count: u32,
    seed: u64,
    by_group: bool,
    /// For each label the limits between folds, ascending; without it they are even.
    strata: Vec<(f64, Vec<u64>)>,
}

impl Folds {
    /// `count` folds; with `by_group`, rows of a group are in the same one.
    pub fn new(count: u32, seed: u64, by_group: bool) -> Self {
        Folds { count, seed, by_group, strata: Vec::new() }
    }

    /// The same, with limits that give every fold its share of the rows of every label; one scan of the store.
    pub fn stratified(count: u32, seed: u64, store: &dyn BlockStore, budget: &Budget) -> Result<Self, StoreError> {
        let even = Folds::new(count, seed, false);
        let shape = store.shape();
        let _paid = budget.reserve("strata", shape.rows * 32 + store.one_block_bytes())?;
        let mut hashes: Vec<(f64, u64)> = Vec::with_capacity(shape.rows as usize);
        let mut block = Block::new(shape.layout, shape.columns as usize);
        let mut buffers = ReadBuffers::default();
        for number in 0..store.blocks().len() as u32 {
            block.clear();
            store.read(BlockId(number), &mut buffers, &mut block)?;
            hashes.extend((0..block.rows()).map(|i| block.info(i)).map(|info| (info.label, even.hash(&info))));
        }
        hashes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let strata = hashes.chunk_by(|a, b| a.0 == b.0).map(|rows| {
            let limit = |fold: u64| rows[(rows.len() as u64 * fold / u64::from(count)) as usize].1;
            (rows[0].0, (1..u64::from(count)).map(limit).collect())
        });
        Ok(Folds { strata: strata.collect(), ..even })
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    fn hash(&self, info: &RowInfo) -> u64 {
        let key = if self.by_group { info.group } else { info.id };
        xxh3_64_with_seed(&key.to_le_bytes(), self.seed)
    }

    /// The fold of a row.
    pub fn of(&self, info: &RowInfo) -> u32 {
        let hash = self.hash(info);
        match self.strata.binary_search_by(|stratum| stratum.0.total_cmp(&info.label)) {
            Ok(at) => self.strata[at].1.partition_point(|&limit| limit <= hash) as u32,
            // The high half of the product is even over the folds.
            Err(_) => ((u128::from(hash) * u128::from(self.count)) >> 64) as u32,
        }
    }
}

/// All rows but those of one fold.
#[derive(Debug)]
pub struct AllBut {
    /// The folds.
    pub folds: Arc<Folds>,
    /// The one that is held out.
    pub held_out: u32,
}

impl RowFilter for AllBut {
    fn keeps(&self, info: &RowInfo, _position: u64) -> bool {
        self.folds.of(info) != self.held_out
    }
}
