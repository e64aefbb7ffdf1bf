//! What models are fitted on: a store on disk, or rows in memory.
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use super::error::FitError;
use super::rows::Rows;
use crate::budget::Budget;
use crate::engine::Trained;
use crate::index::{self, IndexOptions};
use crate::model::Model;
use crate::objective::Objective;
use crate::schema::Kind;
use crate::store::features::FeatureName;
use crate::store::manifest::{LabelSummary, Manifest, TargetSummary};
use crate::store::{self, BlockStore, DiskStore, Fault};

/// An opened store of rows on disk. Clones share it.
///
/// [`pack`](crate::pack()) makes one, and [`Store::open`] opens one that is there.
#[derive(Clone, Debug)]
pub struct Store(Arc<DiskStore>);

impl Store {
    /// Opens the store in this folder.
    pub fn open(path: impl AsRef<Path>) -> Result<Store, FitError> {
        Ok(Store(Arc::new(DiskStore::open(path)?)))
    }

    /// The same within a budget.
    pub fn open_within(path: impl AsRef<Path>, budget: &Budget) -> Result<Store, FitError> {
        Ok(Store(Arc::new(DiskStore::open_within(path, budget)?)))
    }

    /// Builds the index of the rows, by which a fit with a truncated loss reads only those that matter.
    pub fn index(&self, budget: &Budget) -> Result<(), FitError> {
        index::build(&self.0, &IndexOptions::default(), budget, |_| {})?;
        Ok(())
    }

    /// Holds every block against its checksums, and lists what is broken.
    pub fn verify(&self, budget: &Budget) -> Result<Vec<Fault>, FitError> {
        Ok(store::verify(&self.0, budget, |_| {})?)
    }

    /// The store itself, for the parts of the library below this one.
    pub fn shared(&self) -> &Arc<DiskStore> {
        &self.0
    }
}

impl Deref for Store {
    type Target = DiskStore;

    fn deref(&self) -> &DiskStore {
        &self.0
    }
}

/// What a model is fitted on; made from a [`Store`] or [`Rows`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Data {
    /// A store on disk.
    Disk(Arc<DiskStore>),
    /// Rows in memory.
    Memory(Rows),
}

impl From<&Store> for Data {
    fn from(store: &Store) -> Self {
        Data::Disk(store.0.clone())
    }
}

impl From<&Arc<DiskStore>> for Data {
    fn from(store: &Arc<DiskStore>) -> Self {
        Data::Disk(store.clone())
    }
}

impl From<&Rows> for Data {
    fn from(rows: &Rows) -> Self {
        Data::Memory(rows.clone())
    }
}

impl From<&Data> for Data {
    fn from(data: &Data) -> Self {
        data.clone()
    }
}

/// What an objective depends on besides what was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    /// All targets, where rows have several.
    pub targets: &'a [TargetSummary],
    /// Whether features are columns of a table, which have an intercept by default.
    pub is_table: bool,
    /// Whether some of them are text to read.
    pub has_text: bool,
    pub rows: u64,
    /// The largest ‖x‖², where it is known.
    pub max_sq_norm: f64,
}

impl Facts<'_> {
    /// The loss that classes have unless another one is asked for. For tables that is the logistic loss: noise and rare
    /// classes are the rule there, and people expect probabilities. Rows of text are of unit length, for which the
    /// logistic loss with C = 1 is regularized too much, and the squared hinge loss is not. Rows of numbers have the
    /// hinge loss, as in LIBLINEAR.
    pub fn loss_of_classes(&self) -> &'static str {
        match (self.is_table, self.has_text) {
            (false, _) => "hinge",
            (true, true) => "squared-hinge",
            (true, false) => "logistic",
        }
    }
}

impl Data {
    /// As a store of blocks.
    pub fn store(&self) -> Arc<dyn BlockStore> {
        match self {
            Data::Disk(store) => store.clone(),
            Data::Memory(rows) => rows.store().clone(),
        }
    }

    /// The store on disk, if it is one.
    pub fn disk(&self) -> Option<&Arc<DiskStore>> {
        match self {
            Data::Disk(store) => Some(store),
            Data::Memory(_) => None,
        }
    }

    /// What it is called: the files that a store was packed from.
    pub fn describe(&self) -> String {
        let Some(store) = self.disk() else { return "rows in memory".into() };
        let names: Vec<&str> = store.manifest().sources.iter().map(|source| source.name.as_str()).collect();
        match names[..] {
            [] => store.path().display().to_string(),
            [name] => name.to_string(),
            [first, .., last] => format!("{} files from {first} to {last}", names.len()),
        }
    }

    /// What the store says of itself.
    pub(super) fn manifest(&self) -> Option<&Manifest> {
        self.disk().map(|store| store.manifest())
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        match self {
            Data::Disk(store) => {
                let Manifest { targets, named_features, rows, row_summary, schema, .. } = store.manifest();
                let (is_table, rows) = (*named_features, *rows);
                let columns = schema.iter().flat_map(|schema| &schema.columns);
                let has_text = columns.map(|column| column.kind).any(|kind| matches!(kind, Kind::Text(_)));
                Facts { targets, is_table, has_text, rows, max_sq_norm: row_summary.max_sq_norm }
            }
            Data::Memory(rows) => {
                let (is_table, rows) = (rows.is_dense(), rows.store().shape().rows);
                Facts { targets: &[], is_table, has_text: false, rows, max_sq_norm: 0.0 }
            }
        }
    }

    /// What the labels look like.
    pub(super) fn labels(&self) -> &LabelSummary {
        match self {
            Data::Disk(store) => &store.manifest().labels,
            Data::Memory(rows) => rows.labels(),
        }
    }

    /// The largest absolute value of a target, and at least 1.
    pub(super) fn largest_target(&self) -> f64 {
        let largest = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(f64::abs).fold(1.0, f64::max);
        match self {
            Data::Disk(store) => {
                let Manifest { labels, targets, .. } = store.manifest();
                let further = targets.iter().flat_map(|target| [target.min, target.max]);
                largest(&mut [labels.min, labels.max].into_iter().chain(further))
            }
            Data::Memory(rows) => largest(&mut rows.block().labels().iter().copied()),
        }
    }

    /// Whether rows have weights of their own.
    pub(super) fn is_weighted(&self) -> bool {
        match self {
            Data::Disk(store) => store.manifest().weighted,
            Data::Memory(rows) => rows.is_weighted(),
        }
    }

    /// Whether rows belong to groups.
    pub fn is_grouped(&self) -> bool {
        self.manifest().is_some_and(|manifest| manifest.grouped)
    }

    /// Whether rows lie in random order.
    pub(super) fn is_shuffled(&self) -> bool {
        self.manifest().is_some_and(|manifest| manifest.shuffle_seed.is_some() && manifest.generation == 1)
    }

    /// What a fit may hold if nothing else is said. Rows in memory are there already, and what comes on top is little.
    pub fn default_budget(&self) -> Budget {
        match self {
            Data::Disk(_) => Budget::new(crate::machine::default_memory_bytes()),
            Data::Memory(_) => Budget::unlimited(),
        }
    }

    /// Refuses a budget in which the weights of a store cannot become a model in memory in the end.
    pub(super) fn check_model(&self, models: usize, objective: &Objective, budget: &Budget) -> Result<(), FitError> {
        let Data::Disk(store) = self else { return Ok(()) };
        let columns = store.shape().columns;
        let outputs = (models * objective.width()) as u64;
        let made = Model::assembly_bytes(columns, outputs, store.manifest().named_features);
        Ok(budget.check("the model", 8 * outputs * (columns + 1) + made + 8 * columns)?)
    }

    /// The model of what was trained, in the user's own feature numbers or names, and how many columns an array of the
    /// same features has: one more than the largest number.
    pub(super) fn model(
        &self,
        all: &[Trained],
        objective: &Objective,
        budget: &Budget,
    ) -> Result<(Model, u64), FitError> {
        match self {
            Data::Memory(rows) => {
                let shape = rows.store().shape();
                Ok((Model::of_columns(all, objective, shape.rows, shape.columns), shape.columns))
            }
            Data::Disk(store) => {
                let features = store.features(budget)?;
                let ends = (0..features.len() as u32).map(|column| match features.name(column) {
                    FeatureName::Number(number) => number.saturating_add(1),
                    FeatureName::Name(_) => features.len() as u64,
                });
                let width = ends.max().unwrap_or(0);
                Ok((Model::new(all, objective, store, &features), width))
            }
        }
    }
}
