//! Test scores while a run goes on, in a fixed amount of memory.
//!
//! The test rows lie in a store: their own, or one in a temporary folder. What the budget pays for is a link per test
//! feature and one block; a score is one scan of that store.
use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use towline::block::Block;
use towline::budget::{Budget, Reservation};
use towline::fit::class_in_store;
use towline::input::{Input, Progress, ReadOptions};
use towline::objective::{Objective, Targets};
use towline::output::ScratchFolder;
use towline::pack::{PackOptions, pack};
use towline::predict;
use towline::store::features::{FeatureName, Scaling};
use towline::store::manifest::Scale;
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers, StoreError};
use towline::trainer::WeightsNow;

/// Rows to score a run by.
pub struct HeldOut {
    store: DiskStore,
    objective: Objective,
    links: Vec<Link>,
    /// What the scaling of a training column adds to the intercept per unit of its weight; empty if nothing is scaled.
    shifts: Vec<f64>,
    weights: Vec<f64>,
    block: Block,
    buffers: ReadBuffers,
    every_seconds: f64,
    due_seconds: f64,
    /// Seconds spent on scores so far.
    pub spent_seconds: f64,
    _paid: Reservation,
}

/// How the weight of a test column follows from that of a training column: `raw = w·factor`, plus `w·shift` in the
/// intercept.
#[derive(Clone, Copy)]
struct Link {
    column: u32,
    factor: f64,
    shift: f64,
}

/// The column of a feature that training has not seen.
const UNSEEN: u32 = u32::MAX;
/// Bytes of a training feature while the two stores are matched: an entry of a hash table, with its share of empty
/// slots.
const MATCH_BYTES: u64 = 64;

impl HeldOut {
    /// Makes the rows of `test` ready for weights of a run on `train`; scores are due every `every_seconds`.
    pub fn open(
        test: &str,
        reading: ReadOptions,
        train: &DiskStore,
        objective: &Objective,
        every_seconds: f64,
        budget: &Budget,
    ) -> anyhow::Result<HeldOut> {
        if test == "-" {
            bail!(
                "--test-every reads the test rows again and again, and standard input can be read only once; name a file"
            );
        }
        let store = if Path::new(test).is_dir() {
            DiskStore::open_within(Path::new(test), budget)?
        } else {
            // Gone when this call returns: an open store needs no names, and a kill leaves none.
            let folder = ScratchFolder::create("test-rows")?;
            let path = folder.path().join("test.tow");
            // Features are scaled through the weights; only the length of rows cannot be.
            let scale = if train.manifest().scale == Scale::Rows { Scale::Rows } else { Scale::None };
            let threads = reading.threads;
            let fourier = train.manifest().fourier;
            let read = reading.by_schema(train.manifest().schema.as_ref(), false);
            let options = PackOptions { read, fourier, scale, threads, ..PackOptions::default() };
            pack(&[Input::new(test)], &path, &options, budget, &Progress::default())?;
            DiskStore::open_within(&path, budget)?
        };
        if store.manifest().named_features != train.manifest().named_features {
            bail!("{test}: one of training and test data has named columns and the other has numbered features");
        }
        if store.manifest().layout.targets != train.manifest().layout.targets {
            let (here, there) = (store.manifest().layout.targets, train.manifest().layout.targets);
            bail!("{test}: its rows have {here} targets, and those of training {there}; give both the same");
        }
        if store.manifest().fourier != train.manifest().fourier {
            bail!(
                "{test}: its rows were not mapped to the same random Fourier features as those of training; name the file"
            );
        }
        let shape = store.shape();
        let scaled = !matches!(train.manifest().scale, Scale::None | Scale::Rows);
        let shift_bytes = if scaled { 8 * train.manifest().features } else { 0 };
        let outputs = match &objective.targets {
            Targets::Classes { classes, .. } => classes.len(),
            Targets::Several { names } => names.len(),
            _ => 1,
        };
        let per_column = (size_of::<Link>() + outputs * size_of::<f64>()) as u64;
        let paid = budget
            .reserve("test rows", shape.columns * per_column + shift_bytes + store.one_block_bytes())
            .map_err(StoreError::from)?;
        let (links, shifts) = link(train, &store, scaled, budget)?;
        Ok(HeldOut {
            objective: objective.clone(),
            weights: vec![0.0; links.len() * outputs],
            links,
            shifts,
            block: Block::new(shape.layout, shape.columns as usize),
            buffers: ReadBuffers::default(),
            every_seconds,
            due_seconds: 0.0,
            spent_seconds: 0.0,
            store,
            _paid: paid,
        })
    }

    /// The score of weights by training column, the bias last, if one is due after `seconds` of the run, and there are
    /// weights for all classes.
    pub fn score_if_due(&mut self, seconds: f64, w: &WeightsNow) -> Result<Option<serde_json::Value>, StoreError> {
        let trained_seconds = seconds - self.spent_seconds;
        let is_whole = w.models.len() * self.objective.width() * self.links.len() == self.weights.len();
        if trained_seconds < self.due_seconds || !is_whole {
            return Ok(None);
        }
        self.due_seconds = trained_seconds + self.every_seconds;
        let begin = Instant::now();
        let score = self.score(w)?;
        self.spent_seconds += begin.elapsed().as_secs_f64();
        Ok(Some(score))
    }

    /// Weights by test column for all outputs, and the intercepts.
    fn translate(&mut self, w: &WeightsNow) -> Vec<f64> {
        let width = self.objective.width();
        let outputs = w.models.len() * width;
        let weight = |column: usize, output: usize| w.models[output / width][column * width + output % width];
        let constant = w.models[0].len() / width - 1;
        let mut intercepts: Vec<f64> = Vec::with_capacity(outputs);
        for output in 0..outputs {
            let shifted = self.shifts.iter().enumerate().map(|(column, shift)| shift * weight(column, output));
            intercepts.push(weight(constant, output) * self.objective.bias - shifted.sum::<f64>());
        }
        for (here, link) in self.weights.chunks_mut(outputs).zip(&self.links) {
            for (output, (here, intercept)) in here.iter_mut().zip(&mut intercepts).enumerate() {
                let w = if link.column == UNSEEN { 0.0 } else { weight(link.column as usize, output) };
                *here = w * link.factor;
                *intercept += w * link.shift;
            }
        }
        intercepts
    }

    fn score(&mut self, w: &WeightsNow) -> Result<serde_json::Value, StoreError> {
        let intercepts = self.translate(w);
        let targets = &self.objective.targets;
        let class_names = self.store.manifest().labels.names.as_deref();
        let (mut right, mut squared, mut rows) = (0u64, 0.0, 0u64);
        let mut scores = vec![0.0; intercepts.len()];
        for number in 0..self.store.blocks().len() as u32 {
            self.block.clear();
            self.store.read(BlockId(number), &mut self.buffers, &mut self.block)?;
            for i in 0..self.block.rows() {
                let label = self.block.info(i).label;
                self.block.row(i).dot_side_by_side(&self.weights, &mut scores);
                scores.iter_mut().zip(&intercepts).for_each(|(score, intercept)| *score += intercept);
                right += u64::from(class_in_store(targets, class_names, label) == Some(predict::class(&scores)));
                let truths = std::iter::once(&label).chain(self.block.further(i));
                squared +=
                    scores.iter().zip(truths).map(|(score, truth)| (score - truth) * (score - truth)).sum::<f64>();
            }
            rows += self.block.rows() as u64;
        }
        let rows = rows.max(1) as f64;
        Ok(match targets {
            Targets::Several { names } => {
                serde_json::json!({ "rmse": (squared / (rows * names.len() as f64)).sqrt() })
            }
            Targets::Numbers => serde_json::json!({ "rmse": (squared / rows).sqrt() }),
            _ => serde_json::json!({ "accuracy": right as f64 / rows }),
        })
    }
}

/// Finds the training column of each test column, and what scaling does to its weight.
fn link(train: &DiskStore, test: &DiskStore, scaled: bool, budget: &Budget) -> anyhow::Result<(Vec<Link>, Vec<f64>)> {
    let known = train.features(budget)?;
    let wanted = test.features(budget)?;
    let _paid = budget.reserve("matching features", known.len() as u64 * MATCH_BYTES).map_err(StoreError::from)?;
    let unscaled = Scaling { shift: 0.0, factor: 1.0 };
    let columns: HashMap<FeatureName, u32> =
        (0..known.len() as u32).map(|column| (known.name(column), column)).collect();
    let links = (0..wanted.len() as u32).map(|column| {
        let Some(&trained) = columns.get(&wanted.name(column)) else {
            return Link { column: UNSEEN, factor: 0.0, shift: 0.0 };
        };
        // stored = (raw - shift)·factor on both sides: w·factor is the weight of the raw value, and that over the
        // factor of the test column the weight of what its store holds.
        let raw = known.scaling(trained).unwrap_or(unscaled).factor;
        let here = wanted.scaling(column).filter(|scaling| scaling.factor != 0.0).unwrap_or(unscaled);
        Link { column: trained, factor: raw / here.factor, shift: raw * here.shift }
    });
    let links = links.collect();
    let shift = |column| known.scaling(column).map_or(0.0, |Scaling { shift, factor }| shift * factor);
    let shifts = if scaled { (0..known.len() as u32).map(shift).collect() } else { Vec::new() };
    Ok((links, shifts))
}
