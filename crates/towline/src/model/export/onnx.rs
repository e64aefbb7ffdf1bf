//! A model as an ONNX graph, in double precision.
//!
//! Features with names come from one input per column, `[rows, 1]`: a column of numbers as doubles, truth values as 1
//! and 0, where NaN is an absent cell; a column of text as strings, where an absent cell has no letters and a level
//! that training has not seen counts 0. Feature numbers come from one matrix, `features`, whose column j is feature
//! number j; it may have more columns. Outputs are `label` for classes, `scores`, and `probabilities` where the model
//! has them; numbers are `prediction`.
use std::io::Write;

use super::columns::{self, Column};
use super::graph::{Graph, Type};
use super::protobuf::Message;
use super::{ExportError, check_plain, unknown};
use crate::model::calibration::{Calibration, Curve};
use crate::model::chances::Chances;
use crate::model::{Features, Model};
use crate::objective::Multiclass;

/// Operators of ONNX 1.10, and of its traditional machine learning.
const OPERATORS: i64 = 15;
const LEARNING_OPERATORS: i64 = 2;
/// Numbers of a matrix at most: a message of Protocol Buffers holds 2 GiB.
const MOST_NUMBERS: u64 = 1 << 27;

/// Writes the graph.
pub fn write(model: &Model, out: &mut impl Write) -> Result<(), ExportError> {
    check_plain(model, "ONNX")?;
    columns::check(model, "ONNX")?;
    let mut graph = Graph::default();
    let outputs = model.outputs() as i64;
    let mut terms = match columns::of(model) {
        Some(columns) => of_columns(model, &columns, &mut graph)?,
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

/// Scores of the columns of a table, to be added up.
fn of_columns(model: &Model, columns: &[Column], graph: &mut Graph) -> Result<Vec<String>, ExportError> {
    let outputs = model.outputs();
    let (mut terms, mut inputs, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let (mut imputed, mut marks) = (Vec::new(), Vec::new());
    let none = vec![0.0; outputs];
    columns.iter().for_each(|column| graph.keep(column.name));
    for column in columns {
        match (column.number.or(column.mark), column.levels.is_empty()) {
            (Some(_), false) => {
                return unknown(format!(
                    "the column '{}' has numbers and text, and an ONNX input one of them",
                    column.name
                ));
            }
            (Some(_), true) => {
                let of = |feature: Option<usize>| feature.map_or(&none[..], |i| model.weights_of(i));
                inputs.push(graph.input(column.name, Type::Double, 1));
                weights.extend_from_slice(of(column.number));
                marks.extend_from_slice(of(column.mark));
                imputed.push(column.impute);
            }
            (None, _) => terms.push(of_text(model, column, graph)),
        }
    }
    if inputs.is_empty() && terms.is_empty() {
        return unknown("a model without weights has no inputs");
    }
    if !inputs.is_empty() {
        let count = inputs.len() as i64;
        let raw = graph.node_with("Concat", &inputs, "numbers", |node| node.integer("axis", 1));
        let missing = graph.node("IsNaN", std::slice::from_ref(&raw), "numbers missing");
        let imputed = graph.doubles("imputed", &[count], &imputed);
        let known = graph.node("Where", &[missing.clone(), imputed, raw], "numbers known");
        let weights = graph.doubles("weights", &[count, outputs as i64], &weights);
        terms.push(graph.node("MatMul", &[known, weights], "of numbers"));
        if marks.iter().any(|&weight| weight != 0.0) {
            let missing = graph.node_with("Cast", &[missing], "marks", |node| node.integer("to", Type::Double as i64));
            let marks = graph.doubles("weights of marks", &[count, outputs as i64], &marks);
            terms.push(graph.node("MatMul", &[missing, marks], "of marks"));
        }
    }
    Ok(terms)
}

/// Scores of a column of text: the place of its level, then the weights there; the last ones are those of no level.
fn of_text(model: &Model, column: &Column, graph: &mut Graph) -> String {
    let (name, outputs) = (column.name, model.outputs());
    let count = column.levels.len() as i64;
    let mut weights: Vec<f64> = column.levels.iter().flat_map(|level| model.weights_of(level.1)).copied().collect();
    weights.extend(std::iter::repeat_n(0.0, outputs));
    let input = graph.input(name, Type::Text, 1);
    let levels: Vec<&str> = column.levels.iter().map(|level| level.0).collect();
    let place = graph.learning_node("LabelEncoder", &[input], &format!("{name} level"), |node| {
        node.texts("keys_strings", &levels).integers("values_int64s", 0..count).integer("default_int64", count)
    });
    let flat = graph.flat();
    let place = graph.node("Reshape", &[place, flat], &format!("{name} place"));
    let weights = graph.doubles(&format!("{name} weights"), &[count + 1, outputs as i64], &weights);
    graph.node("Gather", &[weights, place], &format!("{name} score"))
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
