//! Scores of all rows of an input or a store, in the order of the input.
use std::path::Path;

use towline::block::Block;
use towline::budget::Budget;
use towline::input::{self, Input, Progress, ReadOptions, RowBatch};
use towline::model::Model;
use towline::objective::Targets;
use towline::predict::Scorer;
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers, StoreError};

/// A row's scores and what is known of its label.
#[derive(Clone, Copy, Debug)]
pub struct Scored<'a> {
    /// One score, or one per class.
    pub scores: &'a [f64],
    /// The number in the input; NaN if there is none.
    pub label: f64,
    /// Further targets of the row.
    pub further: &'a [f64],
    /// Its class, as the targets number them, if it is one of them.
    pub class: Option<usize>,
}

/// Scores that are in memory at a time, for the rows of a batch.
const SCORES_AT_ONCE: usize = 1 << 15;

/// Calls `each` with the rows, one after the other.
pub fn score(
    model: &Model,
    name: &str,
    options: &ReadOptions,
    budget: &Budget,
    mut each: impl FnMut(Scored) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let scorer = Scorer::new(model, budget).map_err(StoreError::from)?;
    if name != "-" && Path::new(name).is_dir() {
        return score_store(model, &scorer, Path::new(name), budget, each);
    }
    let options = ReadOptions { fourier: model.header.fourier, ..options.clone() };
    let mut source = input::open(&[Input::new(name)], &options, budget, &Progress::default())?;
    if source.features_are_named() != model.header.named_features && model.header.hash_bits.is_none() {
        let kind = |named| if named { "named columns" } else { "numbered features" };
        let (model_has, input_has) = (kind(model.header.named_features), kind(source.features_are_named()));
        anyhow::bail!(
            "{name}: the model was trained on {model_has} and this input has {input_has}; use the same format as in training"
        );
    }
    let targets = &model.header.objective.targets;
    let mut batch = RowBatch::default();
    // Many classes have many scores, and rows may be short.
    let part = (SCORES_AT_ONCE / scorer.outputs()).max(1);
    let mut scores = Vec::new();
    while source.next_batch(&mut batch)? {
        for first in (0..batch.rows()).step_by(part) {
            let rows = first..batch.rows().min(first + part);
            scores.clear();
            scorer.score(&batch, rows.clone(), &mut scores);
            for (i, scores) in rows.zip(scores.chunks(scorer.outputs())) {
                let label = batch.labels[i];
                let class = match batch.classes.is_empty() {
                    true => class_of(targets, label),
                    false if label >= 0.0 => std::str::from_utf8(batch.classes.get(label as usize))
                        .ok()
                        .and_then(|name| class_named(targets, name)),
                    false => None,
                };
                each(Scored { scores, label, further: batch.further_of(i), class })?;
            }
        }
    }
    Ok(())
}

/// The class of a label that is a number.
fn class_of(targets: &Targets, label: f64) -> Option<usize> {
    match targets {
        Targets::Binary { positive, .. } => (!label.is_nan()).then_some(usize::from(label == *positive)),
        Targets::Classes { classes, .. } | Targets::OneOf { classes, .. } => classes.find(label),
        Targets::Numbers | Targets::Several { .. } => None,
    }
}

/// The class of a label that is text. Of two classes the first is all that is not the second.
fn class_named(targets: &Targets, name: &str) -> Option<usize> {
    match targets {
        Targets::Binary { names, .. } => Some(usize::from(name == names[1])),
        Targets::Classes { classes, .. } | Targets::OneOf { classes, .. } => classes.named(name),
        Targets::Numbers | Targets::Several { .. } => None,
    }
}

/// The class of a label of a store, whose classes may have names.
pub fn class_in_store(targets: &Targets, class_names: Option<&[String]>, label: f64) -> Option<usize> {
    match class_names {
        Some(known) => known.get(label as usize).and_then(|name| class_named(targets, name)),
        None => class_of(targets, label),
    }
}

fn score_store(
    model: &Model,
    scorer: &Scorer,
    path: &Path,
    budget: &Budget,
    mut each: impl FnMut(Scored) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let store = DiskStore::open_within(path, budget)?;
    if store.manifest().fourier != model.header.fourier {
        anyhow::bail!(
            "{}: its rows were not mapped to the same random Fourier features as those of the model; name the file that it was packed from",
            path.display()
        );
    }
    let outputs = scorer.outputs();
    let shape = store.shape();
    let count = shape.layout.targets as usize - 1;
    let per_row = 32 + 8 * (outputs + count) as u64;
    let weight_bytes = shape.columns * 8 * outputs as u64;
    let _paid = budget
        .reserve("scores in the order of the input", shape.rows * per_row + weight_bytes + store.one_block_bytes())
        .map_err(StoreError::from)?;
    let (weights, intercepts) = scorer.for_store(store.feature_columns(budget)?)?;
    let class_names = store.manifest().labels.names.as_deref();
    let mut block = Block::new(shape.layout, shape.columns as usize);
    let mut buffers = ReadBuffers::default();
    let mut rows: Vec<(u64, f64)> = Vec::with_capacity(shape.rows as usize);
    let mut scores: Vec<f64> = Vec::with_capacity(shape.rows as usize * outputs);
    let mut further: Vec<f64> = Vec::with_capacity(shape.rows as usize * count);
    let mut sums = vec![0.0; outputs];
    for number in 0..store.blocks().len() as u32 {
        block.clear();
        store.read(BlockId(number), &mut buffers, &mut block)?;
        for i in 0..block.rows() {
            let info = block.info(i);
            block.row(i).dot_side_by_side(&weights, &mut sums);
            scores.extend(sums.iter().zip(&intercepts).map(|(sum, intercept)| sum + intercept));
            rows.push((info.id, info.label));
            further.extend_from_slice(block.further(i));
        }
    }
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_unstable_by_key(|&row| rows[row as usize].0);
    for row in order {
        let label = rows[row as usize].1;
        let class = class_in_store(&model.header.objective.targets, class_names, label);
        let scores = &scores[row as usize * outputs..][..outputs];
        each(Scored { scores, label, further: &further[row as usize * count..][..count], class })?;
    }
    Ok(())
}
