//! Models: bytes, files, weights by feature, and scores for files.
use std::path::PathBuf;

use numpy::ndarray::{Array2, ArrayView2};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use pyo3_arrow::PyRecordBatchReader;
use towline::budget::Budget;
use towline::export::{ExportFormat, export, liblinear_names};
use towline::input::arrow::ArrowSource;
use towline::input::fourier::mapped;
use towline::input::{Progress, RowBatch, RowSource};
use towline::model::{Features, Model as LibraryModel};
use towline::output::{Inputs, Kind, OutputFile};
use towline::predict::Scorer;

use crate::errors::{OrRaise, bad_value};
use crate::reading::{Reading, choose, expand};
use crate::schema;

/// A trained model.
#[pyclass(frozen, module = "towline._native")]
pub struct Model {
    model: LibraryModel,
}

impl From<LibraryModel> for Model {
    fn from(model: LibraryModel) -> Self {
        Model { model }
    }
}

impl Model {
    /// As the library has it.
    pub fn library(&self) -> &LibraryModel {
        &self.model
    }

    fn exported(&self, format: ExportFormat) -> PyResult<Vec<u8>> {
        let mut bytes = Vec::new();
        export(&self.model, format, &mut bytes).map_err(bad_value)?;
        Ok(bytes)
    }

    fn scores<'py>(
        &self,
        py: Python<'py>,
        memory: Option<u64>,
        open: impl FnOnce(&Budget) -> PyResult<Box<dyn RowSource>> + Send,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let budget = Budget::new(memory.unwrap_or_else(towline::machine::default_memory_bytes));
        let outputs = self.model.outputs();
        let scores = py.detach(|| -> PyResult<Vec<f64>> {
            let scorer = Scorer::new(&self.model, &budget).or_raise()?;
            let mut source = mapped(self.model.header.fourier, open(&budget)?, &budget).or_raise()?;
            let (mut batch, mut places, mut scores) = (RowBatch::default(), Vec::new(), Vec::new());
            while source.next_batch(&mut batch).or_raise()? {
                scorer.look_up(&batch, &mut places);
                scorer.score(&batch, &places, 0..batch.rows(), &mut scores);
                Python::attach(|py| py.check_signals())?;
            }
            Ok(scores)
        })?;
        let shape = (scores.len() / outputs, outputs);
        Ok(PyArray2::from_owned_array(py, Array2::from_shape_vec(shape, scores).map_err(bad_value)?))
    }
}

#[pymethods]
impl Model {
    /// The reverse of `to_bytes`; bytes that are no model raise a ValueError.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        LibraryModel::from_bytes(bytes).map(Model::from).map_err(bad_value)
    }

    /// Reads a file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        LibraryModel::load(&path).map(Model::from).or_raise()
    }

    /// The file as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.model.to_bytes().map_err(bad_value)?))
    }

    /// Writes a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.model.save(&path)).or_raise()
    }

    /// Writes the model as other programs read it: liblinear, json, text, sql, c or onnx. LIBLINEAR has no place for names,
    /// which are in a table beside it.
    fn export(&self, path: PathBuf, to: &str) -> PyResult<()> {
        let format = choose("to", to, &ExportFormat::ALL)?;
        let bytes = self.exported(format)?;
        let mut place = OutputFile::open(&path, format.kind(), &Inputs::none()).or_raise()?;
        place.write(|out| out.write_all(&bytes)).or_raise()?;
        let names = if format == ExportFormat::Liblinear { liblinear_names(&self.model) } else { None };
        let Some(names) = names else { return Ok(()) };
        let beside = PathBuf::from(format!("{}.names", path.display()));
        let mut table = OutputFile::open(&beside, Kind::Names, &Inputs::none()).or_raise()?;
        table.write(|out| out.write_all(names.as_bytes())).or_raise()
    }

    /// The same as bytes.
    fn export_bytes<'py>(&self, py: Python<'py>, to: &str) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.exported(choose("to", to, &ExportFormat::ALL)?)?))
    }

    /// What the columns of its table are, as JSON; none if it is of arrays or of libsvm rows.
    #[getter]
    fn schema(&self) -> PyResult<Option<String>> {
        self.model.header.schema.as_ref().map(schema::json).transpose()
    }

    /// For pickle: the bytes, which are checked when they are read.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let class = PyType::new::<Model>(py);
        Ok((class.getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// What is known of it besides its weights, as JSON.
    #[getter]
    fn header(&self) -> PyResult<String> {
        serde_json::to_string(&self.model.header).map_err(bad_value)
    }

    /// Added to the score of each output.
    #[getter]
    fn intercepts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.model.header.intercepts)
    }

    /// Feature numbers with a weight other than 0, in ascending order; none if features have names.
    #[getter]
    fn numbers<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u64>>> {
        match &self.model.features {
            Features::Numbered(numbers) => Some(PyArray1::from_slice(py, numbers)),
            Features::Named(_) => None,
        }
    }

    /// Feature names with a weight other than 0; none if features have numbers.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        match &self.model.features {
            Features::Numbered(_) => None,
            Features::Named(names) => Some(names.clone()),
        }
    }

    /// The weights of these features: a row for each, a column for each output.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let shape = (self.model.features.len(), self.model.outputs());
        let table = ArrayView2::from_shape(shape, &self.model.weights).map_err(bad_value)?;
        Ok(PyArray2::from_array(py, &table))
    }

    /// The scores of the rows of files, in their order.
    fn score_files<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<String>,
        reading: Reading,
        memory: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.scores(py, memory, |budget| {
            let schema = self.model.header.schema.as_ref();
            let (inputs, options) = (expand(&paths)?, reading.options_by(schema, false, false)?);
            towline::input::open(&inputs, &options, budget, &Progress::default()).or_raise()
        })
    }

    /// The scores of the rows of an Arrow stream.
    fn score_arrow<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        reading: Reading,
        memory: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let reader = data.extract::<PyRecordBatchReader>()?.into_reader()?;
        self.scores(py, memory, |budget| {
            let options = reading.options_by(self.model.header.schema.as_ref(), false, false)?;
            let source = ArrowSource::from_reader("Arrow stream", reader, &options.table, budget).or_raise()?;
            Ok(Box::new(source))
        })
    }
}
