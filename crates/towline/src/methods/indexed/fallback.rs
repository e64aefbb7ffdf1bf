//! When an index is of no use any more: too many rows matter, and going over the blocks of the store is cheaper.
//!
//! Active rows that do not fit go to disk and come back for their turns (IBCD, section 4.2). That pays while they are a
//! small part of all rows. Where most rows lie near the hyperplane, whatever it is, reading them back costs as much as
//! reading everything, block by block, and blocks need no states beside their rows. The series of convex problems then
//! goes on by blocks from where it is.
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::scan::Look;
use super::segment::STORED_STATE_BYTES;
use crate::base::random::below;
use crate::block::Block;
use crate::budget::{Budget, Reservation};
use crate::engine::{Ceiling, Identity, TrainError};
use crate::index::PageCache;
use crate::solver::Weights;
use crate::store::{BlockId, BlockStore, DiskStore, ReadBuffers};
use crate::truncation;

/// A turn of all active rows may read this part of what a pass over the blocks reads.
const PASS_PART: f64 = 0.5;
/// Blocks, drawn at random, that tell which part of the rows matters.
const SAMPLE_BLOCKS: usize = 3;
/// It is asked again when there are this many times more active rows.
const ASK_AGAIN: f64 = 1.25;

/// Says whether to hand over.
pub struct IndexCostModel {
    store: Arc<DiskStore>,
    budget: Budget,
    random: Xoshiro256PlusPlus,
    /// Active rows from which on it is asked again.
    due: u64,
    /// Whether training by blocks fits into the memory that the run had at first.
    is_possible: bool,
}

impl IndexCostModel {
    /// For a run that has so much memory.
    pub fn new(store: &Arc<DiskStore>, bytes: u64, seed: u64, budget: &Budget) -> IndexCostModel {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let is_possible = truncation::fits(&**store, bytes);
        IndexCostModel { store: store.clone(), budget: budget.clone(), random, due: 0, is_possible }
    }

    /// Whether this many active rows, which are not all in memory, cost too much to read back.
    pub fn are_too_many(&self, active: u64) -> bool {
        let rows = self.store.shape().rows.max(1);
        let pass: u64 = self.store.blocks().iter().map(|block| block.stored_bytes).sum();
        let turn = active as f64 * (pass as f64 / rows as f64 + STORED_STATE_BYTES as f64);
        self.is_possible && turn > PASS_PART * pass as f64
    }

    /// Whether too many rows matter. Asked when active rows stop fitting into memory.
    pub fn wants_blocks(
        &mut self,
        active: u64,
        look: Look,
        weights: &Identity,
        pages: &mut PageCache,
    ) -> Result<bool, TrainError> {
        if !self.is_possible || active < self.due {
            return Ok(false);
        }
        self.due = (active as f64 * ASK_AGAIN) as u64;
        // Active rows that do not matter any more will be forgotten, so that it is those that do which count.
        let part = self.part_that_matters(look, weights, pages)?;
        let expected = part.map(|part| (part * self.store.shape().rows as f64) as u64);
        Ok(self.are_too_many(expected.unwrap_or(active)))
    }

    /// The part of the rows that satisfy (10), judged by some blocks, if there is memory to look.
    fn part_that_matters(
        &mut self,
        look: Look,
        weights: &Identity,
        pages: &mut PageCache,
    ) -> Result<Option<f64>, TrainError> {
        let Some(_paid) = self.room_for_a_block(pages) else { return Ok(None) };
        let (shape, ceiling) = (self.store.shape(), Ceiling::of(look.objective));
        let (mut block, mut buffers) = (Block::new(shape.layout, shape.columns as usize), ReadBuffers::default());
        let (mut rows, mut matter) = (0u64, 0u64);
        for _ in 0..SAMPLE_BLOCKS {
            let id = BlockId(below(&mut self.random, self.store.blocks().len() as u64) as u32);
            block.clear();
            self.store.read(id, &mut buffers, &mut block)?;
            pages.count_read(self.store.blocks()[id.0 as usize].stored_bytes);
            rows += block.rows() as u64;
            for i in 0..block.rows() {
                let ((y, c), row) = (look.objective.row(&block.info(i)), block.row(i));
                let is_in = c > 0.0 && !ceiling.is_outlier(y, look.reference_margin(row));
                matter += u64::from(is_in && y * weights.margin(row) < 1.0);
            }
        }
        Ok(Some(matter as f64 / rows.max(1) as f64))
    }

    fn room_for_a_block(&self, pages: &mut PageCache) -> Option<Reservation> {
        let bytes = self.store.one_block_bytes();
        pages.make_room(bytes);
        self.budget.reserve("a block", bytes).ok()
    }
}
