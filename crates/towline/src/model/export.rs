//! Models in other words: what other programs read.
use std::io::Write;

use crate::loss::AnyLoss;
use crate::model::{Features, Model};
use crate::objective::{Multiclass, Targets};
use crate::output::Kind;
use crate::penalty::AnyPenalty;

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
}

impl ExportFormat {
    /// The kind of file that it makes.
    pub fn kind(self) -> Kind {
        match self {
            ExportFormat::Liblinear => Kind::Liblinear,
            ExportFormat::Json => Kind::Json,
            ExportFormat::Text => Kind::Weights,
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
        ExportFormat::Liblinear => liblinear(model, out),
        ExportFormat::Json => json(model, out),
        ExportFormat::Text => text(model, out),
    }
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
    let mut value = serde_json::to_value(&model.header).map_err(std::io::Error::from)?;
    let weights = (0..model.features.len()).map(|i| match &model.features {
        Features::Numbered(numbers) => serde_json::json!([numbers[i], model.weights_of(i)]),
        Features::Named(names) => serde_json::json!([names[i], model.weights_of(i)]),
    });
    value["weights"] = weights.collect();
    writeln!(out, "{value}")?;
    Ok(())
}

/// LIBLINEAR lists the weights of every feature up to the last.
fn liblinear(model: &Model, out: &mut impl Write) -> Result<(), ExportError> {
    let header = &model.header;
    let (is_l1, is_l2) = match header.objective.penalty {
        AnyPenalty::L1(_) => (true, false),
        AnyPenalty::L2(_) => (false, true),
        _ => (false, false),
    };
    let Features::Numbered(numbers) = &model.features else {
        return unknown("LIBLINEAR knows feature numbers only, and this model has names");
    };
    if numbers.first() == Some(&0) {
        return unknown("LIBLINEAR counts features from 1, and this model has a feature 0");
    }
    if header.hash_bits.is_some() {
        return unknown("LIBLINEAR knows nothing of hashed features");
    }
    if header.unit_rows {
        return unknown("LIBLINEAR does not scale rows, and this model expects rows of unit length");
    }
    let solver = match header.objective.loss {
        _ if header.objective.targets.multiclass() == Some(Multiclass::CrammerSinger) => "MCSVM_CS",
        _ if header.objective.targets.multiclass() == Some(Multiclass::Softmax) => {
            return unknown("LIBLINEAR has no softmax");
        }
        _ if model.outputs() > 1 && header.objective.targets.are_numbers() => {
            return unknown("LIBLINEAR has no models of several targets");
        }
        AnyLoss::SquaredHinge(_) if is_l1 => "L1R_L2LOSS_SVC",
        AnyLoss::Logistic(_) if is_l1 => "L1R_LR",
        other if !is_l2 => {
            let penalty = header.objective.penalty.describe();
            return unknown(format!("LIBLINEAR has no {} loss with {penalty}", other.name()));
        }
        AnyLoss::Hinge(_) => "L2R_L1LOSS_SVC_DUAL",
        AnyLoss::SquaredHinge(_) => "L2R_L2LOSS_SVC_DUAL",
        AnyLoss::Logistic(_) => "L2R_LR_DUAL",
        AnyLoss::EpsilonInsensitive(_) => "L2R_L1LOSS_SVR_DUAL",
        AnyLoss::SquaredEpsilonInsensitive(_) => "L2R_L2LOSS_SVR_DUAL",
        other => return unknown(format!("LIBLINEAR has no {} loss", other.name())),
    };
    writeln!(out, "solver_type {solver}")?;
    let names = header.objective.targets.names();
    // For numbers LIBLINEAR writes two classes and no labels.
    writeln!(out, "nr_class {}", names.len().max(2))?;
    if let Some(name) = names.iter().find(|name| name.parse::<i32>().is_err()) {
        return unknown(format!("LIBLINEAR knows whole numbers as labels only, and this model has {name}"));
    }
    let labels: Vec<&str> = match &header.objective.targets {
        // The first label is the one with positive scores.
        Targets::Binary { .. } => names.iter().rev().map(String::as_str).collect(),
        _ => names.iter().map(String::as_str).collect(),
    };
    if !labels.is_empty() {
        writeln!(out, "label {}", labels.join(" "))?;
    }
    let last = numbers.last().copied().unwrap_or(0);
    if last > 1 << 31 {
        return unknown(format!("LIBLINEAR cannot number features beyond 2^31, and this model has feature {last}"));
    }
    writeln!(out, "nr_feature {last}")?;
    // The intercept is the weight of a last feature of value 1.
    let bias = if header.intercepts.iter().all(|&intercept| intercept == 0.0) { -1 } else { 1 };
    writeln!(out, "bias {bias}")?;
    writeln!(out, "w")?;
    let mut line = |weights: &[f64]| {
        weights.iter().try_for_each(|weight| write!(out, "{weight} "))?;
        writeln!(out)
    };
    let nothing = vec![0.0; model.outputs()];
    let mut next = numbers.iter().enumerate().peekable();
    for number in 1..=last {
        line(next.next_if(|item| *item.1 == number).map_or(&nothing, |(i, _)| model.weights_of(i)))?;
    }
    if bias == 1 {
        line(&header.intercepts)?;
    }
    Ok(())
}
