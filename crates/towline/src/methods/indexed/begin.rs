//! The rows that are active at first.
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::sync::Arc;

use super::rounds::Rounds;
use super::solve::BlockSolver;
use crate::base::random::below;
use crate::block::Block;
use crate::budget::Budget;
use crate::engine::{Cost, Duals, Link, Pass, TrainError, Watch, scan_once};
use crate::index::PageCache;
use crate::loss::Loss;
use crate::solver::Weights;
use crate::store::{BlockId, BlockStore, DiskStore, ReadBuffers};
use crate::truncation::{FirstModel, Sample};

/// Makes the rows of the first model active, with their dual variables. Those without one as well: what the index finds
/// lies near the hyperplane, and without a fair sample of the others w turns away from them. The sample alone did not
/// end that on kddcup99; docs/decisions/062 says what else was needed.
pub fn with_first_model<L: Loss, S: BlockSolver<L>>(
    rounds: &mut Rounds<L, S>,
    (sample, first): (&Sample, &FirstModel),
    pages: &mut PageCache,
) -> Result<(), TrainError> {
    let shape = sample.rows.shape();
    let mut duals = first.duals.iter();
    let (mut block, mut buffers) = (Block::new(shape.layout, shape.columns as usize), ReadBuffers::default());
    for id in 0..sample.rows.blocks().len() as u32 {
        block.clear();
        sample.rows.read(BlockId(id), &mut buffers, &mut block)?;
        for (i, &(position, beta)) in (0..block.rows()).zip(&mut duals) {
            add(rounds, (&block, i), (position, beta), pages)?;
        }
    }
    rounds.reference.copy_from_slice(&first.weights);
    rounds.cost = first.cost;
    Ok(())
}

/// Goes on from dual variables: one scan finds their rows, and about `sample` others.
pub fn with_duals<L: Loss, S: BlockSolver<L>>(
    rounds: &mut Rounds<L, S>,
    store: &Arc<DiskStore>,
    (duals, sample): (&Duals, u64),
    (pages, budget): (&mut PageCache, &Budget),
    watch: &Watch,
) -> Result<(), TrainError> {
    let rows = store.shape().rows;
    rounds.active.make_room(Pass::bytes(&**store), &[], pages)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
    let mut betas = Vec::new();
    let (any, mut read): (Arc<dyn BlockStore>, _) = (store.clone(), Cost::default());
    let scanned = scan_once(&any, budget, &mut read, |block, first| {
        watch.goes_on(false)?;
        duals.read(first, block.rows(), &mut betas)?;
        for (i, &beta) in betas.iter().enumerate() {
            if beta != 0.0 || below(&mut random, rows) < sample {
                add(rounds, (block, i), (first + i as u64, beta), pages)?;
            }
        }
        Ok(())
    });
    pages.count_read(read.bytes_read);
    scanned?;
    rounds.reference.copy_from_slice(rounds.weights.weights());
    rounds.cost.passes += 1;
    Ok(())
}

fn add<L: Loss, S: BlockSolver<L>>(
    rounds: &mut Rounds<L, S>,
    (block, i): (&Block, usize),
    (position, beta): (u64, f64),
    pages: &mut PageCache,
) -> Result<(), TrainError> {
    let (y, c) = rounds.objective.row(&block.info(i));
    if c > 0.0 {
        let (low, high) = rounds.loss.dual_bounds(y, c);
        let beta = beta.clamp(low, high);
        rounds.active.push(rounds.loss, (block, i), (position, beta), rounds.objective, pages)?;
        if beta != 0.0 {
            rounds.weights.add(block.row(i), beta);
        }
    }
    Ok(())
}
