//! What a model has learnt: its largest weights, by name.
use serde::Serialize;

use crate::model::Model;

/// Features that are listed and searched; a page stays small.
const LISTED: usize = 600;
/// Features and classes of the table of both.
const TABLE_FEATURES: usize = 30;
const TABLE_CLASSES: usize = 16;

/// The weights of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Weights {
    /// Features that were seen in training.
    pub features: u64,
    /// Those with a weight other than 0 for some output.
    pub nonzero: u64,
    /// Weights other than 0, of all outputs.
    pub nonzero_weights: u64,
    /// One per output.
    pub intercepts: Vec<f64>,
    /// What outputs are called; one has no name.
    pub outputs: Vec<String>,
    /// The features with the largest weights; with the largest effects, where the spread of values is known.
    pub largest: Vec<Weight>,
    /// Whether they are ordered by their effects.
    pub by_effect: bool,
    /// For several outputs: the features of the table, with a weight for each of the first outputs.
    pub table: Vec<(String, Vec<f64>)>,
    /// Outputs of the table, by their places.
    pub table_outputs: Vec<usize>,
}

/// A feature and its weight for the output that it has most to do with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Weight {
    /// What it is called.
    pub feature: String,
    /// The output.
    pub output: usize,
    /// Its weight there.
    pub weight: f64,
    /// The weight times the standard deviation of the feature's values, where that is known.
    pub effect: Option<f64>,
}

impl Weights {
    /// Looks at all weights once; `name` is what a feature of the model is called.
    pub fn of(model: &Model, name: impl Fn(usize) -> String) -> Weights {
        let outputs = model.outputs();
        let strongest = |weights: &[f64]| {
            (0..outputs).fold(0, |best, m| if weights[m].abs() > weights[best].abs() { m } else { best })
        };
        let size = |i: usize| model.weights_of(i).iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        let order = largest(model.features.len(), LISTED, size);
        let weight = |&i: &usize| {
            let weights = model.weights_of(i);
            let output = strongest(weights);
            Weight { feature: name(i), output, weight: weights[output], effect: None }
        };
        let targets = &model.header.objective.targets;
        let names = if outputs > 1 { targets.names().to_vec() } else { Vec::new() };
        let (table, table_outputs) = if outputs > 1 { table(model, &order, &name) } else { Default::default() };
        Weights {
            features: model.header.features.max(model.features.len() as u64),
            nonzero: model.features.len() as u64,
            nonzero_weights: model.weights.iter().filter(|weight| **weight != 0.0).count() as u64,
            intercepts: model.header.intercepts.clone(),
            outputs: names,
            largest: order.iter().map(weight).collect(),
            by_effect: false,
            table,
            table_outputs,
        }
    }
}

/// The places of the `count` largest of `all`, the largest first, of equal ones the first.
pub(super) fn largest(all: usize, count: usize, size: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut heap = std::collections::BinaryHeap::new();
    for i in 0..all {
        let key = std::cmp::Reverse((size(i).to_bits(), std::cmp::Reverse(i)));
        if heap.len() < count {
            heap.push(key);
        } else if heap.peek().is_some_and(|least| key < *least) {
            heap.pop();
            heap.push(key);
        }
    }
    let mut found: Vec<_> = heap.into_iter().map(|key| key.0).collect();
    // Numbers from 0 on are in the order of their bits.
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, std::cmp::Reverse(i))| i).collect()
}

/// The largest features by the outputs whose weights are largest.
fn table(model: &Model, order: &[usize], name: impl Fn(usize) -> String) -> (Vec<(String, Vec<f64>)>, Vec<usize>) {
    let outputs = model.outputs();
    let rows = &order[..order.len().min(TABLE_FEATURES)];
    let most = |output: usize| rows.iter().fold(0.0, |most: f64, &i| most.max(model.weights_of(i)[output].abs()));
    let mut shown = largest(outputs, TABLE_CLASSES, most);
    shown.sort_unstable();
    let row = |&i: &usize| (name(i), shown.iter().map(|&output| model.weights_of(i)[output]).collect());
    (rows.iter().map(row).collect(), shown)
}
