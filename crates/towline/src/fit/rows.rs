//! Rows in memory: arrays of a program.
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::error::FitError;
use crate::block::{Block, Cells, SharedColumns, SharedError, SharedRows, SharedValues};
use crate::pack::LARGEST_HISTOGRAM;
use crate::store::MemoryStore;
use crate::store::manifest::LabelSummary;

/// Labelled rows in memory. Clones share them.
///
/// ```
/// use towline::{Fit, Rows};
///
/// // Four rows of two features.
/// let values = [0.0f32, 1.0, 1.0, 3.0, 2.0, 5.0, 3.0, 7.0];
/// let rows = Rows::dense(&values[..], 2, &[0.0, 1.0, 2.0, 3.0])?;
/// let model = Fit::squared().c(1e6).run(&rows)?;
/// assert!((model.scores(&[(0, 4.0), (1, 9.0)])?[0] - 4.0).abs() < 1e-3);
/// # Ok::<(), towline::FitError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rows(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<MemoryStore>,
    is_dense: bool,
    is_weighted: bool,
    /// Looked at where no one has said what the targets are.
    labels: OnceLock<LabelSummary>,
}

/// A value of an array: `f32` or `f64`.
pub trait Value: Copy + Send + Sync + 'static {
    /// Values as blocks share them.
    #[doc(hidden)]
    fn shared(values: Vec<Self>) -> SharedValues;
}

impl Value for f32 {
    fn shared(values: Vec<f32>) -> SharedValues {
        SharedValues::F32(Cells::shared(Arc::new(values)))
    }
}

impl Value for f64 {
    fn shared(values: Vec<f64>) -> SharedValues {
        SharedValues::F64(Cells::shared(Arc::new(values)))
    }
}

impl Rows {
    /// A dense table, row by row: `columns` values for each label. A slice is copied, a vector is not.
    pub fn dense<T: Value>(values: impl Into<Vec<T>>, columns: usize, labels: &[f64]) -> Result<Rows, FitError> {
        let values = values.into();
        if columns.checked_mul(labels.len()) != Some(values.len()) {
            return Err(SharedError::Shape("there are not as many values as labels times columns").into());
        }
        let ends = (1..=labels.len()).map(|row| row * columns).collect();
        let (columns, width) = (SharedColumns::All, columns);
        Rows::over(SharedRows {
            width,
            ends,
            columns,
            values: T::shared(values),
            labels: labels.to_vec(),
            further: Vec::new(),
            weights: vec![1.0; labels.len()],
        })
    }

    /// A matrix in compressed sparse rows: where each row starts, and one past the end of the last; the column of each
    /// value, ascending in a row; the values; how many columns there are.
    pub fn csr<T: Value>(
        starts: &[usize],
        indices: impl Into<Vec<u32>>,
        values: impl Into<Vec<T>>,
        columns: usize,
        labels: &[f64],
    ) -> Result<Rows, FitError> {
        let Some((&0, ends)) = starts.split_first() else {
            return Err(SharedError::Shape("the first row does not start at 0").into());
        };
        Rows::over(SharedRows {
            width: columns,
            ends: ends.to_vec(),
            columns: SharedColumns::Narrow(Cells::shared(Arc::new(indices.into()))),
            values: T::shared(values.into()),
            labels: labels.to_vec(),
            further: Vec::new(),
            weights: vec![1.0; labels.len()],
        })
    }

    /// Rows over arrays that stay where they are.
    pub fn over(rows: SharedRows) -> Result<Rows, FitError> {
        Rows::of(Block::over(rows)?)
    }

    /// The rows of a block. Those of weight 0 are left out, for which the others are copied.
    pub fn of(mut block: Block) -> Result<Rows, FitError> {
        let further = (0..block.rows()).flat_map(|i| block.further(i));
        if block.labels().iter().chain(further).any(|label| !label.is_finite()) {
            return Err(SharedError::Shape("a label is not a finite number").into());
        }
        if block.weights().iter().any(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return Err(SharedError::Shape("a sample weight is negative or no number; weights are 0 or more").into());
        }
        if block.weights().contains(&0.0) {
            let weights = block.weights().to_vec();
            block.retain(|row| weights[row] > 0.0);
        }
        let (is_dense, is_weighted) = (block.layout().dense, block.weights().iter().any(|&weight| weight != 1.0));
        let store = Arc::new(MemoryStore::resident(block));
        Ok(Rows(Arc::new(Inner { store, is_dense, is_weighted, labels: OnceLock::new() })))
    }

    /// The same rows with a weight each, by which the loss of a row is multiplied.
    pub fn weighted(&self, weights: &[f64]) -> Result<Rows, FitError> {
        let mut block = self.block().clone();
        if block.weights().len() != weights.len() {
            return Err(SharedError::Shape("there is not one weight for each row").into());
        }
        block.weights = weights.to_vec();
        Rows::of(block)
    }

    /// The rows themselves.
    pub fn block(&self) -> &Block {
        self.0.store.first_block()
    }

    pub(super) fn store(&self) -> &Arc<MemoryStore> {
        &self.0.store
    }

    pub(super) fn is_dense(&self) -> bool {
        self.0.is_dense
    }

    pub(super) fn is_weighted(&self) -> bool {
        self.0.is_weighted
    }

    /// What the labels look like.
    pub(super) fn labels(&self) -> &LabelSummary {
        self.0.labels.get_or_init(|| summary(self.block().labels()))
    }
}

/// Counts labels as long as there are not too many values for classes.
fn summary(labels: &[f64]) -> LabelSummary {
    let (mut counts, mut sum) = (BTreeMap::<u64, u64>::new(), 0.0);
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    for &label in labels {
        (min, max, sum) = (min.min(label), max.max(label), sum + label);
        if counts.len() <= LARGEST_HISTOGRAM {
            // -0 is 0.
            *counts.entry((label + 0.0).to_bits()).or_default() += 1;
        }
    }
    let is_known = counts.len() <= LARGEST_HISTOGRAM;
    let mut histogram: Vec<(f64, u64)> = counts.into_iter().map(|(bits, rows)| (f64::from_bits(bits), rows)).collect();
    histogram.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mean = sum / labels.len().max(1) as f64;
    LabelSummary { names: None, histogram: is_known.then_some(histogram), min, max, mean }
}
