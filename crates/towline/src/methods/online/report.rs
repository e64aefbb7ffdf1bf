//! What a stream says of itself, and how it can fail.
use serde::Serialize;

use super::Outgrown;
use crate::budget::BudgetError;
use crate::input::InputError;
use crate::model::{Model, ModelError};
use crate::store::StoreError;

/// How well rows were predicted before they were learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Progressive {
    /// Rows that were scored.
    pub rows: u64,
    /// Those whose class was predicted.
    pub right: u64,
    /// The sum of squared errors of predicted numbers.
    pub squared: f64,
}

/// How far a stream is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StreamReport {
    /// Rows that were learnt.
    pub rows: u64,
    /// Steps.
    pub steps: u64,
    /// Columns by now.
    pub features: u64,
    /// Classes by now.
    pub classes: u64,
    /// Scores of the last block, before it was learnt.
    pub last: Progressive,
    /// Scores of all blocks.
    pub all: Progressive,
    /// Seconds so far.
    pub seconds: f64,
    /// Seconds that the learner worked.
    pub solve_seconds: f64,
    /// Whether rows came sorted by class, or nearly so; known in the end.
    pub sorted_by_class: bool,
}

/// Sees what happens.
pub trait Watch {
    /// A block was learnt.
    fn step(&mut self, report: &StreamReport);

    /// A model that was asked for.
    fn save(&mut self, model: &Model) -> Result<(), ModelError>;
}

/// A stream cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The input cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Names of features cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The budget is too small.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The budget was enough in the beginning.
    #[error(transparent)]
    Outgrown(Box<Outgrown>),
    /// A model cannot be written.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The rows do not make a model.
    #[error("{problem}; {remedy}")]
    Rows {
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: String,
    },
}
