//! Arrays of a Python program as rows.
use numpy::ndarray::Array2;
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use towline::block::{Block, SharedColumns, SharedRows, SharedValues};

use crate::arrays::cells;
use crate::errors::{OrRaise, bad_value};

/// Rows in arrays that stay where they are.
#[pyclass(frozen, module = "towline._native")]
pub struct Rows {
    rows: towline::Rows,
}

type Floats<'py> = Option<PyReadonlyArray1<'py, f64>>;

#[pymethods]
impl Rows {
    /// The values of a C-contiguous table, flattened; rows of weight 0 are left out, for which the others are copied.
    /// `further` has the targets behind the first, those of a row side by side.
    #[staticmethod]
    #[pyo3(signature = (values, width, labels=None, weights=None, further=None))]
    fn dense(
        values: &Bound<'_, PyAny>,
        width: usize,
        labels: Floats<'_>,
        weights: Floats<'_>,
        further: Floats<'_>,
    ) -> PyResult<Self> {
        let values = shared_values(values)?;
        let rows = count(&values).checked_div(width).unwrap_or(0);
        let ends = (1..=rows).map(|row| row * width).collect();
        Rows::new(width, ends, (SharedColumns::All, values), (labels, weights, further))
    }

    /// The arrays of a CSR matrix.
    #[staticmethod]
    #[pyo3(signature = (values, columns, starts, width, labels=None, weights=None, further=None))]
    fn sparse(
        values: &Bound<'_, PyAny>,
        columns: &Bound<'_, PyAny>,
        starts: &Bound<'_, PyAny>,
        width: usize,
        labels: Floats<'_>,
        weights: Floats<'_>,
        further: Floats<'_>,
    ) -> PyResult<Self> {
        let columns = if let Ok(narrow) = columns.extract::<PyReadonlyArray1<'_, i32>>() {
            if width > i32::MAX as usize {
                return Err(PyValueError::new_err("32-bit columns cannot number this many features"));
            }
            SharedColumns::Narrow(cells(&narrow)?)
        } else if let Ok(wide) = columns.extract::<PyReadonlyArray1<'_, i64>>() {
            SharedColumns::Wide(cells(&wide)?)
        } else {
            return Err(PyTypeError::new_err("columns are neither int32 nor int64"));
        };
        let ends = if let Ok(narrow) = starts.extract::<PyReadonlyArray1<'_, i32>>() {
            ends(narrow.as_array().iter().map(|&start| i64::from(start)))?
        } else {
            ends(starts.extract::<PyReadonlyArray1<'_, i64>>()?.as_array().iter().copied())?
        };
        Rows::new(width, ends, (columns, shared_values(values)?), (labels, weights, further))
    }

    /// Rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.block().rows(), self.block().columns())
    }

    /// The scores of all rows: a column for each row of `weights`, whose `intercepts` are added.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        weights: PyReadonlyArray2<'py, f64>,
        intercepts: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (weights, intercepts) = (weights.as_array(), intercepts.as_array());
        let classes: Option<Vec<&[f64]>> = weights.rows().into_iter().map(|row| row.to_slice()).collect();
        let Some(classes) = classes.filter(|_| weights.ncols() == self.block().columns()) else {
            return Err(PyValueError::new_err("the weights do not fit to the rows"));
        };
        if intercepts.len() != classes.len() {
            return Err(PyValueError::new_err("there is not one intercept for each row of weights"));
        }
        let block = self.block();
        let score = |(row, class): (usize, usize)| block.row(row).dot(classes[class]) + intercepts[class];
        let scores = py.detach(|| Array2::from_shape_fn((block.rows(), classes.len()), score));
        Ok(PyArray2::from_owned_array(py, scores))
    }
}

impl Rows {
    fn new(
        width: usize,
        ends: Vec<usize>,
        (columns, values): (SharedColumns, SharedValues),
        (labels, weights, further): (Floats<'_>, Floats<'_>, Floats<'_>),
    ) -> PyResult<Self> {
        let rows = ends.len();
        let list = |given: Floats<'_>, otherwise: f64| {
            given.map_or_else(|| vec![otherwise; rows], |array| array.as_array().to_vec())
        };
        let (labels, weights) = (list(labels, 0.0), list(weights, 1.0));
        let further = further.map_or_else(Vec::new, |array| array.as_array().to_vec());
        let rows = SharedRows { width, ends, columns, values, labels, further, weights };
        Ok(Rows { rows: towline::Rows::over(rows).or_raise()? })
    }

    /// As the library has them.
    pub fn rows(&self) -> &towline::Rows {
        &self.rows
    }

    /// The rows themselves.
    pub fn block(&self) -> &Block {
        self.rows.block()
    }
}

fn shared_values(values: &Bound<'_, PyAny>) -> PyResult<SharedValues> {
    if let Ok(values) = values.extract::<PyReadonlyArray1<'_, f32>>() {
        return Ok(SharedValues::F32(cells(&values)?));
    }
    match values.extract::<PyReadonlyArray1<'_, f64>>() {
        Ok(values) => Ok(SharedValues::F64(cells(&values)?)),
        Err(_) => Err(PyTypeError::new_err("values are neither float32 nor float64")),
    }
}

fn count(values: &SharedValues) -> usize {
    match values {
        SharedValues::F32(values) => values.len(),
        SharedValues::F64(values) => values.len(),
    }
}

/// One past the last value of each row, from where rows start.
fn ends(starts: impl Iterator<Item = i64>) -> PyResult<Vec<usize>> {
    let mut starts = starts.map(|start| usize::try_from(start).map_err(bad_value));
    match starts.next().transpose()? {
        Some(0) => starts.collect(),
        _ => Err(PyValueError::new_err("the first row does not start at 0")),
    }
}
