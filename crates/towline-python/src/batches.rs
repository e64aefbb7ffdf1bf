//! Batches of rows that a Python program makes one after the other.
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use pyo3_arrow::PyRecordBatchReader;
use towline::budget::{Budget, BudgetError};
use towline::input::arrow::ArrowSource;
use towline::input::{InputError, RowBatch, RowSource, TableOptions};

use crate::rows::Rows;

/// What Python raised while it made a batch. The library only knows that there was an error; the caller wants the
/// exception.
#[derive(Clone, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// The exception, if there was one.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, error: PyErr) -> String {
        let message = error.to_string();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        message
    }
}

/// Rows with feature numbers, from an iterator of [`Rows`].
pub struct Batches {
    iterator: Py<PyIterator>,
    /// Where labels are numbers of classes, what these are called.
    classes: Vec<String>,
    raised: Raised,
}

impl Batches {
    /// Reads `iterator`; what it raises goes to `raised`.
    pub fn new(iterator: Py<PyIterator>, classes: Vec<String>, raised: Raised) -> Self {
        Batches { iterator, classes, raised }
    }

    fn fill(&self, py: Python<'_>, batch: &mut RowBatch) -> PyResult<bool> {
        let Some(next) = self.iterator.bind(py).clone().next() else { return Ok(false) };
        let rows = next?.cast_into::<Rows>()?;
        let block = rows.get().block();
        self.classes.iter().for_each(|name| _ = batch.classes.intern(name.as_bytes()));
        for i in 0..block.rows() {
            block.row(i).for_each(|column, value| {
                if value != 0.0 {
                    batch.keys.push(u64::from(column));
                    batch.values.push(value);
                }
            });
            batch.end_row(block.labels()[i]);
        }
        if block.weights().iter().any(|&weight| weight != 1.0) {
            batch.weights.extend_from_slice(block.weights());
        }
        Ok(true)
    }
}

impl RowSource for Batches {
    fn next_batch(&mut self, batch: &mut RowBatch) -> Result<bool, InputError> {
        batch.clear();
        Python::attach(|py| self.fill(py, batch))
            .map_err(|error| InputError::file("batches", self.raised.put(error), "see the exception"))
    }

    fn features_are_named(&self) -> bool {
        false
    }
}

/// The rows of anything that has an Arrow stream.
pub fn arrow(
    data: &Bound<'_, PyAny>,
    options: &TableOptions,
    budget: &Budget,
) -> PyResult<Result<ArrowSource, BudgetError>> {
    let reader = data.extract::<PyRecordBatchReader>()?.into_reader()?;
    Ok(ArrowSource::from_reader("Arrow stream", reader, options, budget))
}

/// The rows of an iterator of data frames, of which each has an Arrow stream.
pub fn frames(
    py: Python<'_>,
    iterator: Py<PyIterator>,
    raised: Raised,
    options: &TableOptions,
    budget: &Budget,
) -> PyResult<Result<ArrowSource, BudgetError>> {
    let Some(current) = next_frame(py, &iterator)? else {
        return Err(crate::errors::bad_value("there is no data frame; a store needs at least one row"));
    };
    let frames = Frames { schema: current.schema(), iterator, current, raised };
    Ok(ArrowSource::from_reader("data frames", Box::new(frames), options, budget))
}

type Reader = Box<dyn RecordBatchReader + Send>;

/// One data frame after the other.
struct Frames {
    schema: SchemaRef,
    iterator: Py<PyIterator>,
    current: Reader,
    raised: Raised,
}

fn next_frame(py: Python<'_>, iterator: &Py<PyIterator>) -> PyResult<Option<Reader>> {
    let Some(frame) = iterator.bind(py).clone().next() else { return Ok(None) };
    Ok(Some(frame?.extract::<PyRecordBatchReader>()?.into_reader()?))
}

impl Iterator for Frames {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.current.next() {
                return Some(batch);
            }
            match Python::attach(|py| next_frame(py, &self.iterator)) {
                Ok(Some(frame)) if frame.schema() != self.schema => {
                    return Some(Err(ArrowError::SchemaError("data frames differ in their columns".into())));
                }
                Ok(Some(frame)) => self.current = frame,
                Ok(None) => return None,
                Err(error) => return Some(Err(ArrowError::ExternalError(self.raised.put(error).into()))),
            }
        }
    }
}

impl RecordBatchReader for Frames {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
