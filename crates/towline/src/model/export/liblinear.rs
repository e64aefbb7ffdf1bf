//! A model file of LIBLINEAR, and a table of the names that it has no place for.
use std::borrow::Cow;
use std::io::Write;

use super::{ExportError, check_plain, unknown};
use crate::loss::AnyLoss;
use crate::model::{Features, Model};
use crate::objective::{Multiclass, Targets};
use crate::penalty::AnyPenalty;

/// The names that LIBLINEAR has numbers for: a line `feature`, number, name for each feature, and `label`, number, name
/// for each class, with tabs between them. None where the model has numbers itself.
pub fn names(model: &Model) -> Option<String> {
    let mut lines = String::new();
    let classes = model.header.objective.targets.names();
    if !has_numbers(classes) {
        let line = |(i, name): (usize, &String)| format!("label\t{}\t{name}\n", i + 1);
        lines.extend(classes.iter().enumerate().map(line));
    }
    if let Features::Named(names) = &model.features {
        let line = |(i, name): (usize, &String)| format!("feature\t{}\t{name}\n", i + 1);
        lines.extend(names.iter().enumerate().map(line));
    }
    (!lines.is_empty()).then_some(lines)
}

/// Whether all labels are numbers that LIBLINEAR can have.
fn has_numbers(names: &[String]) -> bool {
    names.iter().all(|name| name.parse::<i32>().is_ok())
}

/// LIBLINEAR lists the weights of every feature up to the last.
pub fn write(model: &Model, out: &mut impl Write) -> Result<(), ExportError> {
    let header = &model.header;
    let (is_l1, is_l2) = match header.objective.penalty {
        AnyPenalty::L1(_) => (true, false),
        AnyPenalty::L2(_) => (false, true),
        _ => (false, false),
    };
    let numbers = match &model.features {
        Features::Numbered(numbers) if numbers.first() == Some(&0) => {
            return unknown("LIBLINEAR counts features from 1, and this model has a feature 0");
        }
        Features::Numbered(numbers) => Cow::Borrowed(numbers),
        // By their place in the table of names.
        Features::Named(names) => Cow::Owned((1..=names.len() as u64).collect()),
    };
    check_plain(model, "LIBLINEAR")?;
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
    let mut labels: Vec<String> = match has_numbers(names) {
        true => names.to_vec(),
        false => (1..=names.len()).map(|number| number.to_string()).collect(),
    };
    if let Targets::Binary { .. } = &header.objective.targets {
        // The first label is the one with positive scores.
        labels.reverse();
    }
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
