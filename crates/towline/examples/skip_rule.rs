//! What it would save to skip rows that cannot have become active: `skip_rule STORE [C]`.
//!
//! A row at its bound whose margin is farther on the right side than `‖x‖ ‖w - w_ref‖` cannot matter at w if it did not
//! at w_ref. This program trains to a series of gaps and, from each to the next, counts the rows that the rule proves
//! idle, and the blocks all of whose rows are, also when the least certain rows are cached and need not be read: a
//! block is the least that is read from disk.
use std::error::Error;
use std::sync::Arc;

use towline::block::Block;
use towline::budget::Budget;
use towline::loss::{AnyLoss, Loss};
use towline::objective::{Objective, Targets};
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers};
use towline::trainer::{Start, Task, TrainOptions, Trained, train};

/// Parts of the rows that a cache holds.
const CACHED: [f64; 4] = [0.0, 0.05, 0.1, 0.2];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: skip_rule STORE [C]")?;
    let c: f64 = arguments.get(1).map_or(Ok(1.0), |c| c.parse())?;
    let store = Arc::new(DiskStore::open(path)?);
    let targets = Targets::binary(&store.manifest().labels, None)?;
    let objective = Objective::new(AnyLoss::named("hinge")?, c, targets);
    println!(
        "| from gap | to gap | rows proven idle | blocks, with none, 5 %, 10 %, 20 % of the rows cached |\n| --- | --- \
         | --- | --- |"
    );
    let mut last: Option<(f64, Trained)> = None;
    for gap in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5] {
        let start = last.as_ref().map(|(_, trained)| trained.duals.values().map(Start::Values)).transpose()?;
        let task = Task { start, ..Task::new(objective.clone()) };
        let options = TrainOptions { tolerance: gap, ..TrainOptions::of(task) };
        let trained = train(store.clone(), &options, &Budget::unlimited(), &mut ())?;
        if let Some((from, before)) = &last {
            let moved = before.weights.iter().zip(&trained.weights).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
            let radii = radii(&store, &objective, before)?;
            report(*from, gap, moved, &radii);
        }
        last = Some((gap, trained));
    }
    Ok(())
}

/// How far w may move before each row matters, block by block.
fn radii(store: &DiskStore, objective: &Objective, trained: &Trained) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let shape = store.shape();
    let duals = trained.duals.values()?;
    let mut block = Block::new(shape.layout, shape.columns as usize);
    let (mut buffers, mut first, mut all) = (ReadBuffers::default(), 0, Vec::new());
    for number in 0..store.blocks().len() as u32 {
        block.clear();
        store.read(BlockId(number), &mut buffers, &mut block)?;
        let radius = |i: usize| {
            let (y, c) = objective.row(&block.info(i));
            let row = block.row(i);
            let slack = objective.loss.slack(y, row.dot(&trained.weights), duals[first + i], c);
            slack.max(0.0) / row.sq_norm().sqrt().max(f64::MIN_POSITIVE)
        };
        all.push((0..block.rows()).map(radius).collect());
        first += block.rows();
    }
    Ok(all)
}

fn report(from: f64, to: f64, moved: f64, radii: &[Vec<f64>]) {
    let mut sorted: Vec<f64> = radii.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let idle = sorted.iter().filter(|&&radius| radius > moved).count() as f64 / sorted.len() as f64;
    let skipped = CACHED.map(|share| {
        // Rows below this radius are cached.
        let cached = sorted[((sorted.len() - 1) as f64 * share) as usize];
        let is_idle = |rows: &&Vec<f64>| rows.iter().all(|&radius| radius > moved || (share > 0.0 && radius <= cached));
        format!("{:.0} %", 100.0 * radii.iter().filter(is_idle).count() as f64 / radii.len() as f64)
    });
    println!("| {from:.0e} | {to:.0e} | {:.0} % | {} |", 100.0 * idle, skipped.join(", "));
}
