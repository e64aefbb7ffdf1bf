//! The weights that a series of convex problems begins with.
use std::path::Path;
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::Beginning;
use crate::base::random::{below, shuffle};
use crate::block::Block;
use crate::budget::{Budget, Reservation};
use crate::engine::{Cost, Duals, Limits, TrainError, TrainOptions, Watch};
use crate::methods::auto::train;
use crate::objective::Objective;
use crate::store::{BlockId, BlockStore, MemoryStore, ReadBuffers, StoreError};

/// Rows of a block of the sample: many small ones need little memory to be read ahead.
const SAMPLE_BLOCK: usize = 512;
/// Bytes of such a block, about, where rows are long.
const SAMPLE_BLOCK_BYTES: u64 = 256 << 10;
/// The sample takes at most this part of the free budget: it is held twice, and some of it is read ahead.
const SAMPLE_PART: u64 = 4;

/// The first model need not be better than this: w⁰ tells who is an outlier, and is far from the model of all rows
/// however well it fits its few.
const FIRST_TOLERANCE: f64 = 1e-2;

/// Rows to begin with.
pub struct Sample {
    /// The rows.
    pub rows: Arc<MemoryStore>,
    /// Their positions in the store.
    pub positions: Vec<u64>,
    /// Bytes read for them.
    pub bytes_read: u64,
    _paid: Reservation,
}

impl Sample {
    /// Draws some rows of `store` at random.
    pub fn draw(
        store: &dyn BlockStore,
        beginning: Beginning,
        limits: &Limits,
        budget: &Budget,
    ) -> Result<Self, TrainError> {
        let (rows, positions, bytes_read) = draw(store, beginning, limits, budget)?;
        let held = rows.iter().map(Block::resident_bytes).sum::<u64>() + 24 * positions.len() as u64;
        let paid = budget.reserve("rows to begin with", held)?;
        Ok(Sample { rows: Arc::new(MemoryStore::new(rows)), positions, bytes_read, _paid: paid })
    }
}

/// A model of a few rows.
pub struct FirstModel {
    /// w⁰.
    pub weights: Vec<f64>,
    /// The positions of the rows in the store, and their dual variables.
    pub duals: Vec<(u64, f64)>,
    /// What it cost, without reading the rows.
    pub cost: Cost,
}

/// Solves the convex problem of these rows.
pub fn first_model(
    sample: &Sample,
    (limits, objective): (&Limits, &Objective),
    budget: &Budget,
) -> Result<FirstModel, TrainError> {
    let (begin, options) = (limits.seconds(), limits.options());
    let few = TrainOptions {
        tolerance: options.tolerance.max(FIRST_TOLERANCE),
        max_passes: options.max_passes,
        max_time: limits.rest(),
        order: options.order,
        seed: options.seed,
        stop: options.stop.clone(),
        threads: options.threads,
        ..TrainOptions::new(Objective { truncate: None, ..objective.clone() })
    };
    let trained = train(sample.rows.clone(), &few, budget, &mut ())?;
    let failed = StoreError::io(Path::new("dual variables"), "read them");
    let values = trained.duals.values().map_err(failed)?;
    let cost = Cost { bytes_read: 0, seconds: limits.seconds() - begin, passes: 0, ..trained.cost };
    let duals = sample.positions.iter().copied().zip(values).collect();
    Ok(FirstModel { weights: trained.weights, duals, cost })
}

/// Rows drawn at random with their positions, and the bytes read for them. From a shuffled store, the first rows of
/// blocks in random order; else rows of all blocks.
fn draw(
    store: &dyn BlockStore,
    beginning: Beginning,
    limits: &Limits,
    budget: &Budget,
) -> Result<(Vec<Block>, Vec<u64>, u64), TrainError> {
    let shape = store.shape();
    let mean = shape.layout.resident_bytes(shape.rows, shape.values) / shape.rows.max(1) + 1;
    let wanted = beginning.rows.clamp(1, shape.rows.max(1)).min(budget.free_bytes() / SAMPLE_PART / mean).max(1);
    let _paid = budget.reserve("a block", store.one_block_bytes())?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(limits.options().seed);
    let firsts = crate::index::first_rows(store);
    let mut order: Vec<BlockId> = (0..store.blocks().len() as u32).map(BlockId).collect();
    shuffle(&mut order, &mut random);
    let (mut taken, mut sample, mut positions, mut bytes) = (0, Vec::new(), Vec::new(), 0);
    let mut seen = 0;
    let (mut block, mut buffers) = (Block::new(shape.layout, shape.columns as usize), ReadBuffers::default());
    for id in order {
        if taken == wanted {
            break;
        }
        limits.watch().goes_on(false)?;
        block.clear();
        store.read(id, &mut buffers, &mut block)?;
        bytes += store.blocks()[id.0 as usize].stored_bytes;
        for i in 0..block.rows() {
            // Each of those that are still wanted is as likely as the others among the rows to come (Knuth's selection
            // sampling).
            let is_drawn = match beginning.shuffled {
                true => taken < wanted,
                false => below(&mut random, shape.rows - seen) < wanted - taken,
            };
            seen += 1;
            if !is_drawn {
                continue;
            }
            let is_full = |last: &Block| last.rows() == SAMPLE_BLOCK || last.resident_bytes() >= SAMPLE_BLOCK_BYTES;
            if sample.last().is_none_or(is_full) {
                sample.push(Block::new(shape.layout, shape.columns as usize));
            }
            if let Some(last) = sample.last_mut() {
                last.push_from(&block, i);
            }
            positions.push(firsts[id.0 as usize] + i as u64);
            taken += 1;
        }
    }
    Ok((sample, positions, bytes))
}

/// `Σ β x` over all rows of `store`, the constant feature last.
pub fn weights_of(
    store: &dyn BlockStore,
    duals: &Duals,
    objective: &Objective,
    (watch, budget): (&Watch, &Budget),
) -> Result<Vec<f64>, TrainError> {
    let shape = store.shape();
    let _paid = budget.reserve("a block", store.one_block_bytes())?;
    let mut w = vec![0.0; shape.columns as usize + 1];
    let last = w.len() - 1;
    let (mut block, mut buffers) = (Block::new(shape.layout, shape.columns as usize), ReadBuffers::default());
    let (mut first, mut betas) = (0, Vec::new());
    for id in 0..store.blocks().len() as u32 {
        watch.goes_on(false)?;
        block.clear();
        store.read(BlockId(id), &mut buffers, &mut block)?;
        duals.read(first, block.rows(), &mut betas)?;
        for (i, &beta) in betas.iter().enumerate().filter(|(_, beta)| **beta != 0.0) {
            block.row(i).add_to(&mut w, beta);
            w[last] += beta * objective.bias;
        }
        first += block.rows() as u64;
    }
    Ok(w)
}
