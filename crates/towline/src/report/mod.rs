//! A page to look at: whether a run converged, what the model has learnt, where it errs, and what the rows are like.
//!
//! ```text
//! model with the record of its run ─┐
//! labelled rows, scanned in a budget ┼► Report: plain numbers ─► page: one HTML file that needs nothing else
//! path, cross-validation ───────────┘
//! ```
//! ```
//! use towline::report::{LabelledRows, Look, ModelReport, Question, Report};
//! use towline::{Fit, Rows};
//!
//! let values: Vec<f64> = (0..80).map(|k| f64::from(k * k % 17) - 8.0).collect();
//! let labels: Vec<f64> = values.chunks(2).map(|row| if row[0] > row[1] { 1.0 } else { -1.0 }).collect();
//! let rows = Rows::dense(values, 2, &labels)?;
//! let model = Fit::logistic().run(&rows)?;
//! let budget = towline::budget::Budget::unlimited();
//! let seen = LabelledRows::of_rows("the same rows", &rows, None);
//! let mut report = Report::new("two columns");
//! report.add(ModelReport::new("model", &model).judge(&model, &seen, Question::default(), &budget)?);
//! report.look_at(&seen, Look { model: &model, are_training: true }, &budget)?;
//! assert!(report.to_html().starts_with("<!DOCTYPE html>"));
//! # Ok::<(), towline::FitError>(())
//! ```
mod data;
mod histogram;
mod labelled;
mod page;
mod path;
mod rows;
mod short;
#[cfg(test)]
mod tests;
mod thin;
mod trace;
mod validation;
mod weights;

pub use data::{Advice, DataReport, LabelCount, Labels, Leak, Look, TargetRange};
pub use histogram::Histogram;
pub use labelled::LabelledRows;
pub use path::{PathPointReport, PathReport};
pub use rows::{
    BinaryRows, CalibrationBin, ClassRows, ClassSummary, Confused, Detail, LiftRow, Measure, NumberRows, PredictionBin,
    Pull, Question, RowsReport, ThresholdRow, WrongRow,
};
pub use thin::Curve;
pub use trace::{TraceError, read_trace};
pub use validation::ValidationReport;
pub use weights::{Weight, Weights};

use serde::Serialize;

use crate::budget::Budget;
use crate::fit::FitError;
use crate::model::{Features, Header, Model};

/// Everything that a page shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What it is about.
    pub title: String,
    /// The program that made it.
    pub made_by: String,
    /// One model, or several to be compared.
    pub models: Vec<ModelReport>,
    /// Models along a series of penalties.
    pub path: Option<PathReport>,
    /// Values of C by rows that were held out.
    pub validation: Option<ValidationReport>,
    /// What the rows are like.
    pub data: Option<DataReport>,
}

/// A model, and how it does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelReport {
    /// What it is called.
    pub name: String,
    /// What is known of it, with the record of its run.
    pub header: Header,
    /// What it has learnt.
    pub weights: Weights,
    /// How it does on labelled rows.
    pub rows: Option<RowsReport>,
}

impl Report {
    /// Nothing yet.
    pub fn new(title: &str) -> Report {
        let made_by = format!("towline {}", env!("CARGO_PKG_VERSION"));
        Report { title: title.to_string(), made_by, models: Vec::new(), path: None, validation: None, data: None }
    }

    /// Adds a model.
    pub fn add(&mut self, model: ModelReport) {
        self.models.push(model);
    }

    /// Looks at rows: what they are like, and what features do to the scores of the first model, which should be that of
    /// `look`.
    pub fn look_at(&mut self, rows: &LabelledRows, look: Look, budget: &Budget) -> Result<(), FitError> {
        let (found, effects) = DataReport::gather(rows, look, budget)?;
        self.data = Some(found);
        if let Some(first) = self.models.first_mut().filter(|_| look.model.header.fourier.is_none()) {
            first.weights = Weights { largest: effects.largest, by_effect: true, ..first.weights.clone() };
        }
        Ok(())
    }

    /// A few lines without a script, for notebooks.
    pub fn to_fragment(&self) -> String {
        page::fragment::html(self)
    }

    /// The page. It is one file that needs no other.
    pub fn to_html(&self) -> String {
        page::html(self)
    }
}

impl ModelReport {
    /// What the model itself says.
    pub fn new(name: &str, model: &Model) -> ModelReport {
        ModelReport::with_names(name, model, None)
    }

    /// The same where features that have numbers in the model have names after all.
    pub fn with_names(name: &str, model: &Model, names: Option<&[String]>) -> ModelReport {
        let feature = |i: usize| match (&model.features, names) {
            (Features::Numbered(numbers), Some(names)) => {
                names.get(numbers[i] as usize).cloned().unwrap_or_else(|| numbers[i].to_string())
            }
            _ => model.features.name(i),
        };
        let weights = Weights::of(model, feature);
        ModelReport { name: name.to_string(), header: model.header.clone(), weights, rows: None }
    }

    /// The same with how it does on labelled rows.
    pub fn judge(
        mut self,
        model: &Model,
        rows: &LabelledRows,
        question: Question,
        budget: &Budget,
    ) -> Result<ModelReport, FitError> {
        self.rows = Some(RowsReport::gather(model, rows, question, budget)?);
        Ok(self)
    }
}
