//! Models in other words: what other programs read.
mod c_header;
mod columns;
mod graph;
mod liblinear;
mod onnx;
mod onnx_columns;
mod protobuf;
mod sql;

use std::io::Write;

use crate::model::{Features, Header, Model};
use crate::output::Kind;

pub use liblinear::names as liblinear_names;

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExportFormat {
    /// A model file of LIBLINEAR, which counts features from 1.
    Liblinear,
    /// JSON with everything that is known of the model.
    Json,
    /// A line per feature: name, tab, weight, and more of them for more classes.
    Text,
    /// An expression of SQL that scores a row of a table.
    Sql,
    /// A header of C with functions that score a row.
    C,
    /// A graph of ONNX.
    Onnx,
}

impl ExportFormat {
    /// All of them, by name.
    pub const ALL: [(&'static str, ExportFormat); 6] = [
        ("liblinear", ExportFormat::Liblinear),
        ("json", ExportFormat::Json),
        ("text", ExportFormat::Text),
        ("sql", ExportFormat::Sql),
        ("c", ExportFormat::C),
        ("onnx", ExportFormat::Onnx),
    ];

    /// The kind of file that it makes.
    pub fn kind(self) -> Kind {
        match self {
            ExportFormat::Liblinear => Kind::Liblinear,
            ExportFormat::Json => Kind::Json,
            ExportFormat::Text => Kind::Weights,
            ExportFormat::Sql => Kind::Table(sql::TITLE),
            ExportFormat::C => Kind::Table(c_header::TITLE),
            ExportFormat::Onnx => Kind::Onnx,
        }
    }
}

/// A model cannot be written in these words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The operating system said no.
    #[error("cannot write: {0}")]
    Io(#[from] std::io::Error),
    /// The format has no words for it.
    #[error("{problem}; use `to(text)` or `to(json)`")]
    Unknown {
        /// What it has no words for.
        problem: String,
    },
}

fn unknown<T>(problem: impl Into<String>) -> Result<T, ExportError> {
    Err(ExportError::Unknown { problem: problem.into() })
}

/// Writes `model`.
pub fn export(model: &Model, format: ExportFormat, out: &mut impl Write) -> Result<(), ExportError> {
    match format {
        ExportFormat::Liblinear => liblinear::write(model, out),
        ExportFormat::Json => json(model, out),
        ExportFormat::Text => text(model, out),
        ExportFormat::Sql => sql::write(model, out),
        ExportFormat::C => c_header::write(model, out),
        ExportFormat::Onnx => onnx::write(model, out),
    }
}

/// Refuses models whose score is more than a weighted sum of a row's values.
fn check_plain(model: &Model, format: &str) -> Result<(), ExportError> {
    let header = &model.header;
    if header.hash_bits.is_some() {
        return unknown(format!("{format} knows nothing of hashed features"));
    }
    if header.fourier.is_some() {
        return unknown(format!("{format} knows nothing of random Fourier features"));
    }
    if header.unit_rows {
        return unknown(format!("{format} does not scale rows, and this model expects rows of unit length"));
    }
    Ok(())
}

fn text(model: &Model, out: &mut impl Write) -> Result<(), ExportError> {
    let mut line = |name: &str, weights: &[f64]| {
        write!(out, "{name}")?;
        weights.iter().try_for_each(|weight| write!(out, "\t{weight}"))?;
        writeln!(out)
    };
    line("(intercept)", &model.header.intercepts)?;
    (0..model.features.len()).try_for_each(|i| line(&model.features.name(i), model.weights_of(i)))?;
    Ok(())
}

fn json(model: &Model, out: &mut impl Write) -> Result<(), ExportError> {
    // Other programs want the weights, not how they came about.
    let header = Header { run: None, ..model.header.clone() };
    let mut value = serde_json::to_value(&header).map_err(std::io::Error::from)?;
    let weights = (0..model.features.len()).map(|i| match &model.features {
        Features::Numbered(numbers) => serde_json::json!([numbers[i], model.weights_of(i)]),
        Features::Named(names) => serde_json::json!([names[i], model.weights_of(i)]),
    });
    value["weights"] = weights.collect();
    writeln!(out, "{value}")?;
    Ok(())
}
