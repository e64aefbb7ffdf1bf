//! What a stream asks of its models, and which models there are.
use super::models::Models;
use super::row_by_row::TopOne;
use super::stochastic::Stochastic;
use super::{StreamClasses, StreamOptions};
use crate::baselines::Baseline;
use crate::block::{Block, Row};
use crate::budget::{Budget, BudgetError};
use crate::loss::{AnyLoss, Loss, LossVisitor};
use crate::predict;

/// What a stream asks of its models.
pub trait StreamLearner: Send {
    /// Weights for this many columns.
    fn grow(&mut self, columns: usize) -> Result<(), BudgetError>;

    /// The classes that are known by now.
    fn know(&mut self, classes: &StreamClasses) -> Result<(), BudgetError>;

    /// The class that each row would be given, or its score where numbers are predicted.
    fn predict(&self, rows: &Block, out: &mut Vec<f64>);

    /// Takes new rows, and leaves a block without rows in their place.
    fn take(&mut self, rows: &mut Block);

    /// Learns from the new rows and those that stayed; then chooses which stay now.
    fn learn(&mut self);

    /// No more rows will come: those that are here make room. The weights are asked for once more.
    fn end(&mut self);

    /// What was learnt so far.
    fn weights(&mut self) -> LearntWeights;

    /// Takes over weights, one vector per output, the constant feature last.
    fn begin_with(&mut self, weights: Vec<Vec<f64>>);
}

/// Weights by column, the constant feature last. Of two classes the second has the only output.
pub struct LearntWeights {
    /// Those of one output after the other, or of as many as `width` says side by side.
    pub vectors: Vec<Vec<f64>>,
    /// Outputs in a vector.
    pub width: usize,
}

impl LearntWeights {
    /// One vector for each output.
    pub fn each(vectors: Vec<Vec<f64>>) -> Self {
        LearntWeights { vectors, width: 1 }
    }

    /// How many outputs have weights.
    pub fn outputs(&self) -> usize {
        self.vectors.len() * self.width
    }

    /// How many columns there are before the constant feature.
    pub fn columns(&self) -> usize {
        self.vectors[0].len() / self.width - 1
    }

    /// The weight of a column; 0 for one that has come since.
    pub fn get(&self, output: usize, column: usize) -> f64 {
        let (vector, place) = (output / self.width, output % self.width);
        self.vectors[vector].get(column * self.width + place).copied().unwrap_or(0.0)
    }
}

/// Room for rows: those that stay, and all.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Rows and values that may stay.
    pub cache: (u64, u64),
    /// Rows and values of a block of new ones.
    pub new: (u64, u64),
    /// All that fit.
    pub all: (u64, u64),
}

/// A learner for the rule or the loss that the options name; `rows` is an empty block with room for all.
pub fn make(
    options: &StreamOptions,
    room: Room,
    rows: Block,
    budget: &Budget,
) -> Result<Box<dyn StreamLearner>, BudgetError> {
    struct Make<'a>(&'a StreamOptions, Room, Block, &'a Budget);
    impl LossVisitor for Make<'_> {
        type Out = Result<Box<dyn StreamLearner>, BudgetError>;

        fn visit<L: Loss>(self, loss: L) -> Self::Out {
            let Make(options, room, rows, budget) = self;
            Ok(Box::new(Models::new(loss, options, room, rows, budget)?))
        }
    }
    match options.rule {
        Some(rule @ (Baseline::Pegasos | Baseline::Sgd)) => Ok(Box::new(Stochastic::new(rule, options, rows, budget)?)),
        Some(rule) => Ok(Box::new(TopOne::new(rule, options, rows, budget)?)),
        None => options.loss.visit(Make(options, room, rows, budget)),
    }
}

/// The class of each row by the scores of all models, or the score itself where numbers are predicted.
pub fn predict_each(rows: &Block, models: usize, loss: AnyLoss, margins: impl Fn(Row, &mut [f64]), out: &mut Vec<f64>) {
    out.clear();
    let mut scores = vec![0.0; models];
    for i in 0..rows.rows() {
        margins(rows.row(i), &mut scores);
        out.push(match loss.is_classification() {
            true if scores.is_empty() => 0.0,
            true => predict::class(&scores) as f64,
            false => scores.first().copied().unwrap_or(0.0),
        });
    }
}
