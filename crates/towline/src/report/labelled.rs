//! Labelled rows that a report is made from: a store, a file that becomes one for a while, or rows in memory.
use std::path::Path;
use std::sync::Arc;

use crate::block::{Block, Row, RowInfo};
use crate::budget::Budget;
use crate::fit::{FitError, Rows, class_in_store};
use crate::input::{Input, Progress, ReadOptions, RowSource};
use crate::model::{Features, Model};
use crate::objective::Targets;
use crate::output::ScratchFolder;
use crate::pack::{PackError, PackOptions, pack, pack_rows};
use crate::predict::Scorer;
use crate::store::features::Scaling;
use crate::store::manifest::Scale;
use crate::store::{BlockId, BlockStore, DiskStore, ReadBuffers};

/// Labelled rows, which can be read again and again.
pub struct LabelledRows {
    /// What they are called.
    pub name: String,
    store: Arc<dyn BlockStore>,
    disk: Option<Arc<DiskStore>>,
    /// What columns of rows in memory are called.
    names: Option<Vec<String>>,
    /// What their labels stand for, where they are places in a list of classes.
    classes: Option<Vec<String>>,
}

/// Weights of a model by column of some rows.
pub struct ColumnWeights {
    /// Those of a column for all outputs lie side by side.
    pub weights: Vec<f64>,
    /// Added to each score.
    pub intercepts: Vec<f64>,
    /// Whether rows are still to be scaled to unit length.
    unit_rows: bool,
}

impl ColumnWeights {
    /// Replaces `scores` by those of a row.
    pub fn score(&self, row: &Row, scores: &mut [f64]) {
        row.dot_side_by_side(&self.weights, scores);
        let length = if self.unit_rows { row.sq_norm().sqrt() } else { 1.0 };
        let length = if length > 0.0 { length } else { 1.0 };
        scores.iter_mut().zip(&self.intercepts).for_each(|(score, intercept)| *score = *score / length + intercept);
    }

    /// Of a column, one for each output.
    pub fn of(&self, column: usize) -> &[f64] {
        let outputs = self.intercepts.len();
        &self.weights[column * outputs..][..outputs]
    }
}

impl LabelledRows {
    /// The rows of a store, as they are.
    pub fn of_store(store: &Arc<DiskStore>) -> LabelledRows {
        let name = store.path().display().to_string();
        LabelledRows { name, store: store.clone(), disk: Some(store.clone()), names: None, classes: None }
    }

    /// Rows in memory, whose columns may have names.
    pub fn of_rows(name: &str, rows: &Rows, names: Option<Vec<String>>) -> LabelledRows {
        let store = crate::fit::Data::from(rows).store();
        let names = names.filter(|names| names.len() as u64 == store.shape().columns);
        LabelledRows { name: name.to_string(), store, disk: None, names, classes: None }
    }

    /// The same where labels of rows in memory are places in a list of classes.
    pub fn with_classes(self, classes: Option<Vec<String>>) -> LabelledRows {
        LabelledRows { classes, ..self }
    }

    /// The rows of `name` for `model`: a store, a file, or standard input (`-`). What is no store becomes one in a
    /// temporary folder, which is gone when it has been opened: everything else is then a scan in fixed memory.
    pub fn open(name: &str, model: &Model, options: &ReadOptions, budget: &Budget) -> Result<LabelledRows, FitError> {
        if name != "-" && Path::new(name).is_dir() {
            return LabelledRows::fitting(name, DiskStore::open_within(name, budget)?, model);
        }
        let read = options.by_schema(model.header.schema.as_ref(), false);
        LabelledRows::packed(name, model, read, budget, |path, options| {
            pack(&[Input::new(name)], path, options, budget, &Progress::default()).map(drop)
        })
    }

    /// The same for rows that a program hands over, which have been read with the schema of the model.
    pub fn of_source(
        name: &str,
        source: Box<dyn RowSource>,
        model: &Model,
        options: &ReadOptions,
        budget: &Budget,
    ) -> Result<LabelledRows, FitError> {
        LabelledRows::packed(name, model, options.clone(), budget, |path, options| {
            pack_rows(name, source, path, options, budget).map(drop)
        })
    }

    fn packed(
        name: &str,
        model: &Model,
        read: ReadOptions,
        budget: &Budget,
        pack: impl FnOnce(&Path, &PackOptions) -> Result<(), PackError>,
    ) -> Result<LabelledRows, FitError> {
        let folder = ScratchFolder::create("report-rows")?;
        let path = folder.path().join("rows.tow");
        // Weights are for rows as they come; only the length of rows cannot be a part of weights.
        let scale = if model.header.unit_rows { Scale::Rows } else { Scale::None };
        let (threads, fourier) = (read.threads, model.header.fourier);
        pack(&path, &PackOptions { read, fourier, scale, threads, ..PackOptions::default() })?;
        LabelledRows::fitting(name, DiskStore::open_within(&path, budget)?, model)
    }

    /// Refuses rows that the model cannot score.
    fn fitting(name: &str, store: DiskStore, model: &Model) -> Result<LabelledRows, FitError> {
        let (header, manifest) = (&model.header, store.manifest());
        let refuse = |text: String| Err(FitError::Settings(format!("{name}: {text}")));
        if manifest.named_features != header.named_features && header.hash_bits.is_none() {
            let kind = |named| if named { "named columns" } else { "numbered features" };
            let (here, there) = (kind(manifest.named_features), kind(header.named_features));
            return refuse(format!(
                "the model was trained on {there} and these rows have {here}; use the same format as in training"
            ));
        }
        if manifest.fourier != header.fourier {
            return refuse(
                "its rows were not mapped to the same random Fourier features as those of the model; name the file"
                    .into(),
            );
        }
        if let Targets::Several { names } = &header.objective.targets
            && manifest.layout.targets as usize != names.len()
        {
            let (found, wanted) = (manifest.layout.targets, names.len());
            return refuse(format!("rows have {found} targets, and the model predicts {wanted}"));
        }
        let store = Arc::new(store);
        Ok(LabelledRows { name: name.to_string(), store: store.clone(), disk: Some(store), names: None, classes: None })
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.store.shape().rows
    }

    /// How many columns they have.
    pub fn columns(&self) -> u64 {
        self.store.shape().columns
    }

    /// Values other than 0, as far as they are stored.
    pub fn values(&self) -> u64 {
        self.store.shape().values
    }

    /// The store on disk, if they come from one.
    pub fn disk(&self) -> Option<&Arc<DiskStore>> {
        self.disk.as_ref()
    }

    /// What classes are called, where labels of the store are text.
    pub fn class_names(&self) -> Option<&[String]> {
        match &self.disk {
            Some(store) => store.manifest().labels.names.as_deref(),
            None => self.classes.as_deref(),
        }
    }

    /// The class of a row, as the targets number them.
    pub fn class_of(&self, targets: &Targets, label: f64) -> Option<usize> {
        class_in_store(targets, self.class_names(), label)
    }

    /// Whether any row has a label that is one of the targets' classes.
    pub fn has_known_label(&self, targets: &Targets) -> Result<bool, FitError> {
        let labels = self.disk.as_ref().and_then(|store| store.manifest().labels.histogram.as_ref());
        if let Some(histogram) = labels {
            return Ok(histogram.iter().any(|(label, _)| self.class_of(targets, *label).is_some()));
        }
        let mut is_known = false;
        self.scan(|info, _, _| is_known |= self.class_of(targets, info.label).is_some())?;
        Ok(is_known)
    }

    /// What a scan holds at a time.
    pub fn scan_bytes(&self) -> u64 {
        if self.store.resident().is_some() { 0 } else { self.store.one_block_bytes() }
    }

    /// Calls `each` with every row and its further targets.
    pub fn scan(&self, mut each: impl FnMut(RowInfo, &Row, &[f64])) -> Result<(), FitError> {
        let mut visit = |block: &Block| {
            (0..block.rows()).for_each(|i| each(block.info(i), &block.row(i), block.further(i)));
        };
        if let Some(block) = self.store.resident() {
            visit(block);
            return Ok(());
        }
        let shape = self.store.shape();
        let mut block = Block::new(shape.layout, shape.columns as usize);
        let mut buffers = ReadBuffers::default();
        for number in 0..self.store.blocks().len() as u32 {
            block.clear();
            self.store.read(BlockId(number), &mut buffers, &mut block)?;
            visit(&block);
        }
        Ok(())
    }

    /// Calls `each` with number, name and scaling of every column, in order.
    pub fn for_each_name(&self, budget: &Budget, mut each: impl FnMut(usize, &str, Scaling)) -> Result<(), FitError> {
        let Some(store) = &self.disk else {
            for column in 0..self.columns() as usize {
                match &self.names {
                    Some(names) => each(column, &names[column], Scaling::NONE),
                    None => each(column, &column.to_string(), Scaling::NONE),
                }
            }
            return Ok(());
        };
        let mut columns = store.feature_columns(budget)?;
        let mut column = 0;
        while let Some((name, scaling)) = columns.next()? {
            each(column, &name.to_string(), scaling.unwrap_or(Scaling::NONE));
            column += 1;
        }
        Ok(())
    }

    /// The weights of a model for these columns. The caller pays for them: [`LabelledRows::weight_bytes`].
    pub fn weights(&self, model: &Model, budget: &Budget) -> Result<ColumnWeights, FitError> {
        if let Some(store) = &self.disk {
            let scorer = Scorer::without_table(model, budget)?;
            let (weights, intercepts) = scorer.for_store(store.feature_columns(budget)?)?;
            return Ok(ColumnWeights { weights, intercepts, unit_rows: false });
        }
        let Features::Numbered(numbers) = &model.features else {
            return Err(FitError::Settings("the features of this model have names; give it a file or a frame".into()));
        };
        let outputs = model.outputs();
        let mut weights = vec![0.0; self.columns() as usize * outputs];
        for (i, &number) in numbers.iter().enumerate().filter(|(_, number)| **number < self.columns()) {
            weights[number as usize * outputs..][..outputs].copy_from_slice(model.weights_of(i));
        }
        let (intercepts, unit_rows) = (model.header.intercepts.clone(), model.header.unit_rows);
        Ok(ColumnWeights { weights, intercepts, unit_rows })
    }

    /// What the weights of a model take by column.
    pub fn weight_bytes(&self, model: &Model) -> u64 {
        8 * self.columns() * model.outputs() as u64
    }
}
