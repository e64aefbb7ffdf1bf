//! A model as an ONNX graph, in double precision.
//!
//! Features with names come from one input per column, `[rows, 1]`: a column of numbers as doubles, truth values as 1
//! and 0, where NaN is an absent cell; a column of text as strings, where an absent cell has no letters and a level
//! that training has not seen counts 0, or as the rare ones. Feature numbers come from one matrix, `features`, whose
//! column j is feature number j; it may have more columns. Outputs are `label` for classes, `scores`, and
//! `probabilities` where the model has them; numbers are `prediction`.
use std::io::Write;

use super::columns;
use super::graph::{Graph, Type};
use super::protobuf::Message;
use super::{ExportError, check_plain, onnx_columns, unknown};
use crate::model::calibration::{Calibration, Curve};
use crate::model::chances::Chances;
use crate::model::{Features, Model};
use crate::objective::Multiclass;

/// Operators of ONNX 1.10, and of its traditional machine learning.
const OPERATORS: i64 = 15;
const LEARNING_OPERATORS: i64 = 2;
/// Numbers of a matrix at most: a message of Protocol Buffers holds 2 GiB.
pub(super) const MOST_NUMBERS: u64 = 1 << 27;

/// Writes the graph.
pub fn write(model: &Model, out: &mut impl Write) -> Result<(), ExportError> {
    check_plain(model, "ONNX")?;
    columns::check(model, "ONNX")?;
    let mut graph = Graph::default();
    let outputs = model.outputs() as i64;
    let mut terms = match columns::of(model) {
        Some(columns) => onnx_columns::scores(model, &columns, &mut graph)?,
        None => vec![of_numbers(model, &mut graph)?],
    };
    terms.push(graph.doubles("intercepts", &[outputs], &model.header.intercepts));
    let is_number = model.header.objective.targets.are_numbers();
    let scores = graph.node("Sum", &terms, if is_number { "prediction" } else { "scores" });
    graph.output(&scores, Type::Double, &[outputs]);
    if !is_number {
        classes(model, &scores, &mut graph);
        probabilities(model, &scores, &mut graph)?;
    }
    let opset = |domain: &str, version| Message::new().text(1, domain).integer(2, version);
    let file = Message::new()
        .integer(1, 8)
        .text(2, "towline")
        .text(3, env!("CARGO_PKG_VERSION"))
        .message(7, graph.finish("towline"))
        .message(8, opset("", OPERATORS))
        .message(8, opset("ai.onnx.ml", LEARNING_OPERATORS));
    out.write_all(&file.into_bytes())?;
    Ok(())
}

/// Scores of a matrix of numbered features, of which the columns that have weights are taken: how many there are behind
/// the last of them is not known.
fn of_numbers(model: &Model, graph: &mut Graph) -> Result<String, ExportError> {
    let Features::Numbered(numbers) = &model.features else { return unknown("the features have names") };
    let outputs = model.outputs();
    let last = numbers.last().copied().unwrap_or(0);
    if i64::try_from(last).is_err() || numbers.len().saturating_mul(outputs) as u64 > MOST_NUMBERS {
        return unknown(format!("a matrix of ONNX cannot hold {} features up to number {last}", numbers.len()));
    }
    let mut places: Vec<i64> = numbers.iter().map(|&number| number as i64).collect();
    let mut weights: Vec<f64> = (0..numbers.len()).flat_map(|i| model.weights_of(i)).copied().collect();
    if places.is_empty() {
        // A product of nothing is not defined everywhere.
        (places, weights) = (vec![0], vec![0.0; outputs]);
    }
    let input = graph.matrix("features", Type::Double);
    let count = places.len() as i64;
    let places = graph.integers("feature numbers", &places);
    let taken = graph.node_with("Gather", &[input, places], "features taken", |node| node.integer("axis", 1));
    let weights = graph.doubles("weights", &[count, outputs as i64], &weights);
    Ok(graph.node("MatMul", &[taken, weights], "of features"))
}

/// The label of each row.
fn classes(model: &Model, scores: &str, graph: &mut Graph) {
    let names = model.header.objective.targets.sides();
    let names = if model.outputs() == 1 { names.to_vec() } else { model.header.objective.targets.names().to_vec() };
    let place = if model.outputs() == 1 {
        let zero = graph.doubles("between", &[], &[0.0]);
        let above = graph.node("Greater", &[scores.to_string(), zero], "is second");
        let number = graph.node_with("Cast", &[above], "second", |node| node.integer("to", Type::Integer as i64));
        let flat = graph.flat();
        graph.node("Reshape", &[number, flat], "class")
    } else {
        graph.node_with("ArgMax", &[scores.to_string()], "class", |node| node.integer("axis", 1).integer("keepdims", 0))
    };
    let names = graph.texts("classes", &names);
    let label = graph.node("Gather", &[names, place], "label");
    graph.output(&label, Type::Text, &[]);
}

/// The probability of each class, where the model has them.
fn probabilities(model: &Model, scores: &str, graph: &mut Graph) -> Result<(), ExportError> {
    if Chances::of(&model.header).is_none() {
        return Ok(());
    }
    let outputs = model.outputs() as i64;
    let mut scores = scores.to_string();
    let calibration = model.header.reporting.calibration.as_ref();
    if let Some(calibration) = calibration {
        let (slopes, offsets) = sigmoids(calibration)?;
        let slopes = graph.doubles("slopes", &[outputs], &slopes);
        let offsets = graph.doubles("offsets", &[outputs], &offsets);
        let steep = graph.node("Mul", &[scores, slopes], "steep scores");
        scores = graph.node("Add", &[steep, offsets], "calibrated scores");
    }
    let is_softmax = model.header.objective.targets.multiclass() == Some(Multiclass::Softmax) && calibration.is_none();
    let found = if is_softmax {
        graph.node_with("Softmax", &[scores], "probabilities", |node| node.integer("axis", 1))
    } else {
        let chances = graph.node("Sigmoid", &[scores], "chances");
        if outputs == 1 {
            let one = graph.doubles("one", &[], &[1.0]);
            let first = graph.node("Sub", &[one, chances.clone()], "chances of the first");
            graph.node_with("Concat", &[first, chances], "probabilities", |node| node.integer("axis", 1))
        } else {
            let axis = graph.integers("columns", &[1]);
            let sums = graph.node("ReduceSum", &[chances.clone(), axis], "sums");
            graph.node("Div", &[chances, sums], "probabilities")
        }
    };
    graph.output(&found, Type::Double, &[outputs.max(2)]);
    Ok(())
}

fn sigmoids(calibration: &Calibration) -> Result<(Vec<f64>, Vec<f64>), ExportError> {
    let mut found = (Vec::new(), Vec::new());
    for curve in &calibration.curves {
        match curve {
            Curve::Sigmoid { slope, offset } => {
                found.0.push(*slope);
                found.1.push(*offset);
            }
            Curve::Knots { .. } => return unknown("ONNX has no operator for isotonic curves; calibrate with platt"),
        }
    }
    Ok(found)
}
