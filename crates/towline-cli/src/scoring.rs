//! Scores of all rows of an input or a store, in the order of the input.
use std::path::Path;

use towline::block::Block;
use towline::budget::Budget;
use towline::input::{self, Input, Progress, ReadOptions, RowBatch};
use towline::model::Model;
use towline::objective::Targets;
use towline::predict::Scorer;
use towline::store::features::FeatureMap;
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers, StoreError};

/// A row's score and what is known of its label.
#[derive(Clone, Copy, Debug)]
pub struct Scored {
    /// w·x.
    pub score: f64,
    /// The number in the input; NaN if there is none.
    pub label: f64,
    /// Whether the label is that of the positive class.
    pub positive: bool,
}

/// Calls `each` with batches of scored rows.
pub fn score(
    model: &Model,
    name: &str,
    options: &ReadOptions,
    budget: &Budget,
    mut each: impl FnMut(&[Scored]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let scorer = Scorer::new(model, budget).map_err(StoreError::from)?;
    if name != "-" && Path::new(name).is_dir() {
        return score_store(model, &scorer, Path::new(name), budget, each);
    }
    let mut source = input::open(&[Input::new(name)], options, budget, &Progress::default())?;
    if source.features_are_named() != model.header.named_features {
        let kind = |named| if named { "named columns" } else { "numbered features" };
        let (model_has, input_has) = (kind(model.header.named_features), kind(source.features_are_named()));
        anyhow::bail!(
            "{name}: the model was trained on {model_has} and this input has {input_has}; use the same format as in training"
        );
    }
    let mut batch = RowBatch::default();
    let (mut scores, mut rows) = (Vec::new(), Vec::new());
    while source.next_batch(&mut batch)? {
        scores.clear();
        rows.clear();
        scorer.score(&batch, &mut scores);
        for (&score, &label) in scores.iter().zip(&batch.labels) {
            let positive = match &model.header.objective.targets {
                Targets::Binary { names, .. } if !batch.classes.is_empty() => {
                    label >= 0.0 && batch.classes.get(label as usize) == names[1].as_bytes()
                }
                Targets::Binary { positive, .. } => label == *positive,
                Targets::Numbers => false,
            };
            rows.push(Scored { score, label, positive });
        }
        each(&rows)?;
    }
    Ok(())
}

/// Whether a label of a store, whose classes may have names, is that of the positive class.
pub fn is_positive(targets: &Targets, class_names: Option<&[String]>, label: f64) -> bool {
    match (targets, class_names) {
        (Targets::Binary { names, .. }, Some(known)) => known.get(label as usize) == Some(&names[1]),
        (Targets::Binary { positive, .. }, None) => label == *positive,
        (Targets::Numbers, _) => false,
    }
}

fn score_store(
    model: &Model,
    scorer: &Scorer,
    path: &Path,
    budget: &Budget,
    mut each: impl FnMut(&[Scored]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let store = DiskStore::open(path)?;
    let features = FeatureMap::read(path, store.manifest(), budget)?;
    let (weights, intercept) = scorer.for_store(&features);
    let shape = store.shape();
    let largest = store.blocks().iter().map(|b| b.resident_bytes(shape.layout) + b.stored_bytes).max().unwrap_or(0);
    let _paid = budget
        .reserve("scores in the order of the input", shape.rows * 32 + shape.columns * 8 + largest)
        .map_err(StoreError::from)?;
    let class_names = store.manifest().labels.names.as_deref();
    let mut block = Block::new(shape.layout, shape.columns as usize);
    let mut buffers = ReadBuffers::default();
    let mut rows: Vec<(u64, Scored)> = Vec::with_capacity(shape.rows as usize);
    for number in 0..store.blocks().len() as u32 {
        block.clear();
        store.read(BlockId(number), &mut buffers, &mut block)?;
        for i in 0..block.rows() {
            let info = block.info(i);
            let positive = is_positive(&model.header.objective.targets, class_names, info.label);
            let score = block.row(i).dot(&weights) + intercept;
            rows.push((info.id, Scored { score, label: info.label, positive }));
        }
    }
    rows.sort_unstable_by_key(|&(id, _)| id);
    let rows: Vec<Scored> = rows.into_iter().map(|(_, row)| row).collect();
    each(&rows)
}
