//! What a stream has learnt becomes a model.
use super::learner::LearntWeights;
use super::{StreamOptions, StreamReport};
use crate::engine::{Cost, Status};
use crate::model::{Features, Header, Model, Reporting};
use crate::objective::{Objective, Targets};
use crate::schema::Schema;

/// What there is at the end, or when a model is to be saved.
pub struct Learnt {
    pub targets: Targets,
    /// The class, in order of appearance, that each output speaks for.
    pub outputs: Vec<usize>,
    pub weights: LearntWeights,
    pub features: Features,
    /// Whether features have names in the input.
    pub named: bool,
    /// What the columns of the tables are.
    pub schema: Option<Schema>,
}

/// The model, its classes in the order of their labels.
pub fn finish(options: &StreamOptions, report: StreamReport, learnt: Learnt) -> Model {
    let Learnt { targets, outputs, weights, features, named, schema } = learnt;
    let is_turned = options.loss.is_classification() && options.positive.is_none() && outputs == [0];
    let weight = |output: usize, column: usize| match weights.outputs() {
        // One score speaks for the second class that came.
        1 if is_turned => -weights.get(0, column),
        1 => weights.get(0, column),
        _ => weights.get(outputs[output], column),
    };
    let constant = weights.columns();
    let intercepts: Vec<f64> = (0..outputs.len()).map(|output| weight(output, constant) * options.bias).collect();
    let columns = features.len().min(constant);
    let (features, weights) = Model::collect(features, columns, intercepts.len(), weight);
    let header = Header {
        version: Header::version_for(schema.as_ref()),
        created_by: format!("towline {}", env!("CARGO_PKG_VERSION")),
        objective: Objective { bias: options.bias, ..Objective::new(options.loss, options.c, targets) },
        status: Status::Streamed,
        certificate: None,
        certificates: Vec::new(),
        cost: Cost { passes: 1, seconds: report.seconds, solve_seconds: report.solve_seconds, ..Cost::default() },
        baseline: options.rule,
        rows: report.rows,
        features: features.len() as u64,
        intercepts,
        fourier: None,
        unit_rows: false,
        named_features: named && options.hash_bits.is_none(),
        hash_bits: options.hash_bits,
        reporting: Reporting { positive_class: options.positive.is_some().then_some(1), calibration: None },
        schema,
        run: None,
    };
    Model { header, features, weights }
}
