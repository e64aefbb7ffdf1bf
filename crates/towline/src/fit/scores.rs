//! Scores of all rows of an input or a store, in the order of the input.
use std::fmt;
use std::path::Path;

use super::error::{FitError, refuse};
use crate::block::Block;
use crate::budget::{Budget, Reservation};
use crate::input::text::TextLimits;
use crate::input::{self, Input, Progress, ReadOptions, RowBatch, RowSource, Unlabelled};
use crate::model::Model;
use crate::objective::Targets;
use crate::predict::{self, Scorer};
use crate::store::{BlockId, BlockStore, DiskStore, ReadBuffers};

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

/// The scores that a model gives to rows, one row after the other.
pub struct Scores<'a> {
    targets: &'a Targets,
    outputs: usize,
    rows: Source<'a>,
}

enum Source<'a> {
    Input(Box<FromInput<'a>>),
    Store(FromStore),
}

struct FromInput<'a> {
    scorer: Scorer<'a>,
    source: Box<dyn RowSource>,
    /// Whether the model says how columns are read.
    by_schema: bool,
    /// Values of features that training has not seen.
    unseen: u64,
    batch: RowBatch,
    /// Where the weights of its names are.
    places: Vec<u32>,
    /// The classes of its labels, where those are text.
    classes: Vec<Option<usize>>,
    /// The last label that is a number, and its class: most rows have one of a few.
    last: (f64, Option<usize>),
    /// The next row of the batch.
    next: usize,
    /// Rows that have scores end here.
    end: usize,
    scores: Vec<f64>,
}

struct FromStore {
    class_names: Option<Vec<String>>,
    rows: Vec<(u64, f64)>,
    scores: Vec<f64>,
    further: Vec<f64>,
    further_count: usize,
    order: Vec<u32>,
    next: usize,
    _paid: Reservation,
}

impl<'a> Scores<'a> {
    /// Begins with the first row of a file, of standard input (`-`), or of a store.
    pub fn open(model: &'a Model, name: &str, options: &ReadOptions, budget: &Budget) -> Result<Self, FitError> {
        Scores::open_beside(model, name, options, 0, budget)
    }

    /// The same where the caller keeps this many bytes of each row besides, so that a refusal names a budget for both.
    pub fn open_beside(
        model: &'a Model,
        name: &str,
        options: &ReadOptions,
        kept_bytes: u64,
        budget: &Budget,
    ) -> Result<Self, FitError> {
        let targets = &model.header.objective.targets;
        if name != "-" && Path::new(name).is_dir() {
            // Its columns have weights of their own, so that no table of numbers is needed.
            let scorer = Scorer::without_table(model, budget)?;
            let rows = Source::Store(FromStore::read(model, &scorer, Path::new(name), kept_bytes, budget)?);
            return Ok(Scores { targets, outputs: scorer.outputs(), rows });
        }
        let scorer = Scorer::new(model, budget)?;
        let outputs = scorer.outputs();
        let options =
            ReadOptions { fourier: model.header.fourier, ..options.by_schema(model.header.schema.as_ref(), false) };
        let source = input::open(&[Input::new(name)], &options, budget, &Progress::default())?;
        if source.features_are_named() != model.header.named_features && model.header.hash_bits.is_none() {
            let kind = |named| if named { "named columns" } else { "numbered features" };
            let (model_has, input_has) = (kind(model.header.named_features), kind(source.features_are_named()));
            return refuse(format!(
                "{name}: the model was trained on {model_has} and this input has {input_has}; use the same format as \
                 in training"
            ));
        }
        let (batch, by_schema) = (RowBatch::default(), model.header.schema.is_some());
        let (scores, places, classes, last) = (Vec::new(), Vec::new(), Vec::new(), (f64::NAN, None));
        let (unseen, next, end) = (0, 0, 0);
        let rows = FromInput { scorer, source, by_schema, unseen, batch, places, classes, last, next, end, scores };
        let rows = Source::Input(Box::new(rows));
        Ok(Scores { targets, outputs, rows })
    }

    /// Looks whether rows could be scored, without scoring all of a store.
    pub(super) fn check(model: &Model, name: &str, options: &ReadOptions, budget: &Budget) -> Result<(), FitError> {
        if Path::new(name).is_dir() {
            return check_fourier(model, &DiskStore::open_within(Path::new(name), budget)?);
        }
        Scores::open(model, name, options, budget)?.next_row().map(drop)
    }

    /// What scoring the rows of `name` takes at least beside the model in a file, of which nothing is loaded yet, where
    /// the caller keeps this many bytes of each row.
    pub fn least_bytes(model: &Path, name: &str, options: &ReadOptions, kept_bytes: u64, budget: &Budget) -> u64 {
        let outputs = Model::outputs_in(model).unwrap_or(1);
        if name != "-" && Path::new(name).is_dir() {
            let store = DiskStore::open_within(name, budget);
            return store.map_or(0, |store| FromStore::bytes(&store, outputs) + store.shape().rows * kept_bytes);
        }
        // Text takes at most half of what is free.
        2 * TextLimits::least_bytes(options.threads) + input::unpacking_bytes(&Input::new(name), 0)
    }

    /// What there is to say of the rows that have been read, where their columns are not all those of training.
    pub fn remarks(&self) -> Vec<String> {
        match &self.rows {
            Source::Input(rows) if rows.by_schema => {
                let mut remarks = rows.source.remarks();
                if rows.unseen > 0 {
                    let unseen = rows.unseen;
                    remarks.push(format!("{unseen} cells and words were never seen in training, and count as 0"));
                }
                remarks
            }
            _ => Vec::new(),
        }
    }

    /// Calls `each` with the rows that are left.
    pub fn for_each<E: From<FitError>>(&mut self, mut each: impl FnMut(Scored) -> Result<(), E>) -> Result<(), E> {
        while let Some(row) = self.next_row()? {
            each(row)?;
        }
        Ok(())
    }

    /// The next row.
    pub fn next_row(&mut self) -> Result<Option<Scored<'_>>, FitError> {
        match &mut self.rows {
            Source::Input(rows) => rows.next(self.targets, self.outputs),
            Source::Store(rows) => Ok(rows.next(self.targets, self.outputs)),
        }
    }
}

impl FromInput<'_> {
    fn next(&mut self, targets: &Targets, outputs: usize) -> Result<Option<Scored<'_>>, FitError> {
        if self.next == self.end {
            while self.end == self.batch.rows() {
                if !self.source.next_batch(&mut self.batch)? {
                    return Ok(None);
                }
                (self.next, self.end) = (0, 0);
                self.scorer.look_up(&self.batch, &mut self.places);
                self.unseen += self.scorer.unseen(&self.batch, &self.places);
                let named = |name: &[u8]| class_named(targets, std::str::from_utf8(name).ok()?);
                self.classes.clear();
                self.classes.extend(self.batch.classes.iter().map(named));
            }
            // Many classes have many scores, and rows may be short.
            let part = (SCORES_AT_ONCE / outputs).max(1);
            self.end = self.batch.rows().min(self.next + part);
            self.scores.clear();
            self.scorer.score(&self.batch, &self.places, self.next..self.end, &mut self.scores);
        }
        let row = self.next;
        self.next += 1;
        let label = self.batch.labels[row];
        let class = match self.classes.is_empty() {
            true if label.is_nan() => None,
            true => {
                if self.last.0 != label {
                    self.last = (label, class_of(targets, label));
                }
                self.last.1
            }
            false if label >= 0.0 => self.classes.get(label as usize).copied().flatten(),
            false => None,
        };
        let from_end = (self.end - row) * outputs;
        let scores = &self.scores[self.scores.len() - from_end..][..outputs];
        Ok(Some(Scored { scores, label, further: self.batch.further_of(row), class }))
    }
}

impl FromStore {
    /// What the scores of all rows take, with the weights by column and a block.
    fn bytes(store: &DiskStore, outputs: u64) -> u64 {
        let shape = store.shape();
        let per_row = 32 + 8 * (outputs + shape.layout.targets as u64 - 1);
        shape.rows * per_row + shape.columns * 8 * outputs + store.one_block_bytes()
    }

    fn read(
        model: &Model,
        scorer: &Scorer,
        path: &Path,
        kept_bytes: u64,
        budget: &Budget,
    ) -> Result<FromStore, FitError> {
        let store = DiskStore::open_within(path, budget)?;
        check_fourier(model, &store)?;
        let (outputs, shape) = (scorer.outputs(), store.shape());
        let further_count = shape.layout.targets as usize - 1;
        let bytes = FromStore::bytes(&store, outputs as u64);
        budget.check("scores in the order of the input", bytes + shape.rows * kept_bytes)?;
        let paid = budget.reserve("scores in the order of the input", bytes)?;
        let (weights, intercepts) = scorer.for_store(store.feature_columns(budget)?)?;
        let mut block = Block::new(shape.layout, shape.columns as usize);
        let mut buffers = ReadBuffers::default();
        let mut rows: Vec<(u64, f64)> = Vec::with_capacity(shape.rows as usize);
        let mut scores: Vec<f64> = Vec::with_capacity(shape.rows as usize * outputs);
        let mut further: Vec<f64> = Vec::with_capacity(shape.rows as usize * further_count);
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
        let class_names = store.manifest().labels.names.clone();
        Ok(FromStore { class_names, rows, scores, further, further_count, order, next: 0, _paid: paid })
    }

    fn next(&mut self, targets: &Targets, outputs: usize) -> Option<Scored<'_>> {
        let row = *self.order.get(self.next)? as usize;
        self.next += 1;
        let label = self.rows[row].1;
        let class = class_in_store(targets, self.class_names.as_deref(), label);
        let further = &self.further[row * self.further_count..][..self.further_count];
        Some(Scored { scores: &self.scores[row * outputs..][..outputs], label, further, class })
    }
}

/// Refuses a store of rows that were mapped otherwise.
fn check_fourier(model: &Model, store: &DiskStore) -> Result<(), FitError> {
    if store.manifest().fourier == model.header.fourier {
        return Ok(());
    }
    refuse(format!(
        "{}: its rows were not mapped to the same random Fourier features as those of the model; name the file that it \
         was \
         packed from",
        store.path().display()
    ))
}

/// The class of a label that is a number.
fn class_of(targets: &Targets, label: f64) -> Option<usize> {
    match targets {
        Targets::Binary { names, .. } => side_of(names, |name| name.parse() == Ok(label)).filter(|_| !label.is_nan()),
        Targets::Classes { classes, .. } | Targets::OneOf { classes, .. } => classes.find(label),
        Targets::Numbers | Targets::Several { .. } => None,
    }
}

/// The class of a label that is text.
fn class_named(targets: &Targets, name: &str) -> Option<usize> {
    match targets {
        Targets::Binary { names, .. } => side_of(names, |known| known == name || is_same_number(known, name)),
        Targets::Classes { classes, .. } | Targets::OneOf { classes, .. } => classes.named(name),
        Targets::Numbers | Targets::Several { .. } => None,
    }
}

/// The side of a label. Where one class was told from all others, the first side is all that is not the second.
fn side_of(names: &[String; 2], is_it: impl Fn(&str) -> bool) -> Option<usize> {
    let is_rest = names[0].strip_prefix("not ") == Some(&names[1]);
    if is_it(&names[1]) {
        return Some(1);
    }
    (is_rest || is_it(&names[0])).then_some(0)
}

fn is_same_number(a: &str, b: &str) -> bool {
    matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}

/// The class of a label of a store, whose classes may have names.
pub fn class_in_store(targets: &Targets, class_names: Option<&[String]>, label: f64) -> Option<usize> {
    match class_names {
        Some(known) => known.get(label as usize).and_then(|name| class_named(targets, name)),
        None => class_of(targets, label),
    }
}

/// What a model says of a row. Shown, it is the label, or the numbers with blanks between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The class, or the numbers as text.
    pub label: String,
    /// One score, or one per class or target.
    pub scores: Vec<f64>,
}

impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

/// What a model says of rows, in the order of the input.
pub struct Predictions<'a>(Scores<'a>);

impl Iterator for Predictions<'_> {
    type Item = Result<Prediction, FitError>;

    fn next(&mut self) -> Option<Self::Item> {
        let targets = self.0.targets;
        let found = self.0.next_row().transpose()?;
        Some(found.map(|row| Prediction {
            label: predict::label(targets, row.scores).into_owned(),
            scores: row.scores.to_vec(),
        }))
    }
}

impl Model {
    /// What the model says of the rows of a file or of a store, in the order of the input.
    pub fn predict(&self, input: impl AsRef<Path>) -> Result<Predictions<'_>, FitError> {
        let mut options = ReadOptions { threads: crate::machine::threads(), ..ReadOptions::default() };
        // Nobody needs labels here.
        options.table.unlabelled = Unlabelled::Keep;
        self.predict_within(input, &options, &Budget::new(crate::machine::default_memory_bytes()))
    }

    /// The same, reading in a certain way, inside a budget.
    pub fn predict_within(
        &self,
        input: impl AsRef<Path>,
        options: &ReadOptions,
        budget: &Budget,
    ) -> Result<Predictions<'_>, FitError> {
        let Some(name) = input.as_ref().to_str() else {
            return refuse(format!("{}: this name is not text", input.as_ref().display()));
        };
        Ok(Predictions(Scores::open(self, name, options, budget)?))
    }

    /// The scores of one row of numbered features: pairs of feature and value.
    pub fn scores(&self, row: &[(u64, f64)]) -> Result<Vec<f64>, FitError> {
        if self.header.named_features {
            return refuse("the features of this model have names; predict from a table");
        }
        if self.header.fourier.is_some() {
            return refuse("the rows of this model are mapped to random Fourier features; predict from a file");
        }
        let mut batch = RowBatch::default();
        batch.keys.extend(row.iter().map(|&(feature, _)| feature));
        batch.values.extend(row.iter().map(|&(_, value)| value));
        batch.end_row(0.0);
        let mut scores = Vec::new();
        Scorer::new(self, &Budget::unlimited())?.score(&batch, &[], 0..1, &mut scores);
        Ok(scores)
    }
}
