//! A store on disk.
use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use towline::block::Block;
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers};

use crate::errors::OrRaise;
use crate::schema;

/// An opened store.
#[pyclass(frozen, subclass, module = "towline._native")]
pub struct Store {
    pub store: Arc<DiskStore>,
}

#[pymethods]
impl Store {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        Ok(Store { store: Arc::new(DiskStore::open(&path).or_raise()?) })
    }

    /// The folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.store.path().to_path_buf()
    }

    /// Rows in it.
    #[getter]
    fn rows(&self) -> u64 {
        self.store.manifest().rows
    }

    /// Features seen in it.
    #[getter]
    fn features(&self) -> u64 {
        self.store.manifest().features
    }

    /// Values in it.
    #[getter]
    fn values(&self) -> u64 {
        self.store.manifest().values
    }

    /// What the weights of all rows add up to. Reads every block if rows have weights.
    fn weight_sum(&self, py: Python<'_>) -> PyResult<f64> {
        if !self.store.manifest().weighted {
            return Ok(self.store.manifest().rows as f64);
        }
        py.detach(|| {
            let mut sum = 0.0;
            self.each_block(|block| sum += block.weights().iter().sum::<f64>())?;
            Ok(sum)
        })
    }

    /// The weight of each row, in the order of the store; none if rows have no weights.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        if !self.store.manifest().weighted {
            return Ok(None);
        }
        let mut weights = Vec::new();
        py.detach(|| self.each_block(|block| weights.extend_from_slice(block.weights())))?;
        Ok(Some(PyArray1::from_vec(py, weights)))
    }

    /// What the columns of its table are, as JSON; none if it is of arrays or of libsvm rows.
    #[getter]
    fn schema_json(&self) -> PyResult<Option<String>> {
        self.store.manifest().schema.as_ref().map(schema::json).transpose()
    }

    /// Whether features have names.
    #[getter]
    fn named_features(&self) -> bool {
        self.store.manifest().named_features
    }

    /// Distinct labels with their number of rows; none if there are very many.
    #[getter]
    fn label_counts(&self) -> Option<Vec<(f64, u64)>> {
        self.store.manifest().labels.histogram.clone()
    }

    /// Names of classes, where labels are text: the label of a row is a position in here.
    #[getter]
    fn label_names(&self) -> Option<Vec<String>> {
        self.store.manifest().labels.names.clone()
    }

    /// The sources as (name, bytes, modified in nanoseconds, generation).
    #[getter]
    fn sources(&self) -> Vec<(String, u64, u64, u64)> {
        let sources = self.store.manifest().sources.iter();
        sources.map(|source| (source.name.clone(), source.bytes, source.modified, source.generation)).collect()
    }
}

impl Store {
    fn each_block(&self, mut see: impl FnMut(&Block)) -> PyResult<()> {
        let (store, shape) = (&self.store, self.store.shape());
        let mut block = Block::new(shape.layout, shape.columns as usize);
        let mut buffers = ReadBuffers::default();
        (0..store.blocks().len() as u32).try_for_each(|id| {
            block.clear();
            store.read(BlockId(id), &mut buffers, &mut block).or_raise()?;
            see(&block);
            Ok(())
        })
    }
}
