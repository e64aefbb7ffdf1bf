//! How soon an index finds the rows that matter: `found_fraction STORE [POSITIVE_LABEL]`.
//!
//! Trains with the index (hinge, C = 1, s = 1) up to the first scan of all rows, keeping the weights of some rounds.
//! For each of them it asks the index for all rows that satisfy (10), and prints a line of JSON: which part of them had
//! been found when which part of all rows had been looked at. At random both are the same.
use std::error::Error;
use std::sync::Arc;

use towline::block::Block;
use towline::budget::Budget;
use towline::index::{Forest, PageCache, Question, Search};
use towline::indexed::{self, IndexedOptions};
use towline::loss::AnyLoss;
use towline::objective::{Objective, Targets};
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers};
use towline::trainer::{Observer, Step, TrainOptions, WeightsNow};

/// Rounds whose weights are kept; the last one is kept as well.
const ROUNDS: [u64; 3] = [1, 5, 20];
/// Points of a curve.
const POINTS: u64 = 40;
const S: f64 = 1.0;

#[derive(Default)]
struct Keep {
    rounds: u64,
    kept: Vec<(u64, Vec<f64>)>,
    last: Vec<f64>,
}

impl Observer for Keep {
    fn step(&mut self, _step: &Step, weights: &WeightsNow) {
        self.rounds += 1;
        self.last = weights.models[0].to_vec();
        if ROUNDS.contains(&self.rounds) {
            self.kept.push((self.rounds, self.last.clone()));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: found_fraction STORE [POSITIVE_LABEL]")?;
    let store = Arc::new(DiskStore::open(path)?);
    let targets = Targets::binary(&store.manifest().labels, arguments.get(1).map(String::as_str))?;
    let objective = Objective { truncate: Some(S), ..Objective::new(AnyLoss::named("hinge")?, 1.0, targets) };
    let budget = Budget::unlimited();
    let mut pages = PageCache::new(Arc::new(Forest::open(&store, &budget)?), &budget)?;
    let options = TrainOptions { max_passes: 1, ..TrainOptions::new(objective.clone()) };
    let mut keep = Keep::default();
    indexed::train(&store, &mut pages, (&options, &IndexedOptions::default()), &budget, &mut keep)?;
    keep.kept.push((keep.rounds, std::mem::take(&mut keep.last)));
    for (rounds, weights) in &keep.kept {
        let matching = count(&store, &objective, weights)?;
        let points = curve(&mut pages, &objective, weights, matching, &budget)?;
        let rows = store.shape().rows;
        println!("{}", serde_json::json!({ "rounds": rounds, "rows": rows, "matching": matching, "points": points }));
    }
    Ok(())
}

/// Rows that satisfy (10) with wᵗ = w: no outliers, and a margin below 1.
fn count(store: &DiskStore, objective: &Objective, weights: &[f64]) -> Result<u64, Box<dyn Error>> {
    let shape = store.shape();
    let (mut block, mut buffers) = (Block::new(shape.layout, shape.columns as usize), ReadBuffers::default());
    let mut matching = 0;
    for number in 0..store.blocks().len() as u32 {
        block.clear();
        store.read(BlockId(number), &mut buffers, &mut block)?;
        let margin = |i: usize| objective.row(&block.info(i)).0 * block.row(i).dot(weights);
        matching += (0..block.rows()).filter(|&i| (-S..1.0).contains(&margin(i))).count() as u64;
    }
    Ok(matching)
}

/// Asks again and again for a few more rows; no row is looked at twice.
fn curve(
    pages: &mut PageCache,
    objective: &Objective,
    weights: &[f64],
    matching: u64,
    budget: &Budget,
) -> Result<Vec<(f64, f64)>, Box<dyn Error>> {
    let rows = pages.forest().rows().max(1) as f64;
    let mut search = Search::new(pages.forest().clone(), 0, budget)?;
    let question = Question {
        weights,
        reference: weights,
        objective,
        threshold: -S,
        wanted: (matching / POINTS).max(1),
        far: 0.0,
        sampled: false,
    };
    let (mut found, mut looked, mut points) = (0, 0, Vec::new());
    loop {
        let answer = search.ask(&question, pages, || true, |_, _| true)?;
        (found, looked) = (found + answer.found, looked + answer.looked);
        points.push((looked as f64 / rows, found as f64 / matching.max(1) as f64));
        if answer.exhausted {
            return Ok(points);
        }
    }
}
