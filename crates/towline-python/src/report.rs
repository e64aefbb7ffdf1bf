//! Pages to look at.
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;
use towline::budget::Budget;
use towline::input::arrow::ArrowSource;
use towline::output::{Inputs, Kind, OutputFile};
use towline::report::{LabelledRows, Look, ModelReport, Question, Report};

use crate::errors::OrRaise;
use crate::model::Model;
use crate::reading::Reading;
use crate::rows::Rows;
use crate::store::Store;

/// A model, and labelled rows for it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Part {
    /// What it is called.
    name: String,
    model: Py<Model>,
    /// `Rows`, a `Store`, the name of a file, or anything with an Arrow stream.
    rows: Option<Py<PyAny>>,
    /// What features are called that have numbers in the model.
    names: Option<Vec<String>>,
    /// What labels of `Rows` stand for, where they are places in a list of classes.
    classes: Option<Vec<String>>,
}

/// What is asked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Arguments {
    title: String,
    reading: Reading,
    memory: Option<u64>,
    costs: [f64; 2],
    /// Whether the model was trained on the rows.
    are_training: bool,
}

/// The page of models, as text.
#[pyfunction]
pub fn report(py: Python<'_>, parts: Vec<Part>, arguments: Arguments) -> PyResult<String> {
    let budget = Budget::new(arguments.memory.unwrap_or_else(towline::machine::default_memory_bytes));
    let mut report = Report::new(&arguments.title);
    for (number, part) in parts.iter().enumerate() {
        let model = part.model.get().library();
        let mut one = ModelReport::with_names(&part.name, model, part.names.as_deref());
        let rows = part.rows.as_ref().map(|rows| labelled(py, rows.bind(py), part, &arguments.reading, &budget));
        let Some(rows) = rows.transpose()? else {
            report.add(one);
            continue;
        };
        let question = Question { costs: arguments.costs, ..Question::default() };
        one = py.detach(|| one.judge(model, &rows, question, &budget)).or_raise()?;
        report.add(one);
        if number == 0 {
            let look = Look { model, are_training: arguments.are_training };
            py.detach(|| report.look_at(&rows, look, &budget)).or_raise()?;
        }
    }
    Ok(report.to_html())
}

/// Writes a page to a file, which may be there if it is a report.
#[pyfunction]
pub fn save_report(py: Python<'_>, path: PathBuf, page: &str) -> PyResult<()> {
    py.detach(|| {
        let mut place = OutputFile::open(&path, Kind::Report, &Inputs::none())?;
        place.write(|out| out.write_all(page.as_bytes()))
    })
    .or_raise()
}

/// A few lines on models, as HTML without a script.
#[pyfunction]
pub fn report_fragment(parts: Vec<Part>) -> String {
    let mut report = Report::new("");
    for part in &parts {
        report.add(ModelReport::with_names(&part.name, part.model.get().library(), part.names.as_deref()));
    }
    report.to_fragment()
}

fn labelled(
    py: Python<'_>,
    rows: &Bound<'_, PyAny>,
    part: &Part,
    reading: &Reading,
    budget: &Budget,
) -> PyResult<LabelledRows> {
    let model = part.model.get().library();
    if let Ok(rows) = rows.cast::<Rows>() {
        return Ok(LabelledRows::of_rows("the rows given", rows.get().rows(), part.names.clone())
            .with_classes(part.classes.clone()));
    }
    if let Ok(store) = rows.cast::<Store>() {
        return Ok(LabelledRows::of_store(&store.get().store));
    }
    if let Ok(name) = rows.extract::<String>() {
        let options = reading.options(true)?;
        return py.detach(|| LabelledRows::open(&name, model, &options, budget)).or_raise();
    }
    let reader = rows.extract::<PyRecordBatchReader>()?.into_reader()?;
    let options = reading.options_by(model.header.schema.as_ref(), true, false)?;
    py.detach(|| {
        let source = ArrowSource::from_reader("the rows given", reader, &options.table, budget).or_raise()?;
        LabelledRows::of_source("the rows given", Box::new(source), model, &options, budget).or_raise()
    })
}
