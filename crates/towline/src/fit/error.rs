//! What a fit can fail with.
use crate::baselines::BaselineError;
use crate::block::SharedError;
use crate::budget::BudgetError;
use crate::columns::ColumnsError;
use crate::engine::{CheckpointError, TrainError};
use crate::fourier::FourierError;
use crate::indexed::IndexedError;
use crate::input::InputError;
use crate::loss::LossError;
use crate::model::ModelError;
use crate::objective::TargetError;
use crate::output::OutputError;
use crate::pack::PackError;
use crate::penalty::PenaltyError;
use crate::second_order::{NewtonError, SecondOrderError};
use crate::store::StoreError;
use crate::stream::StreamError;

/// A fit cannot be made. Messages name settings in backticks, see [`crate::wording`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// Settings that do not go together, or have no value that is possible.
    #[error("{0}")]
    Settings(String),
    /// A parameter of the loss.
    #[error(transparent)]
    Loss(#[from] LossError),
    /// A parameter of the penalty.
    #[error(transparent)]
    Penalty(#[from] PenaltyError),
    /// Labels do not fit to the loss.
    #[error(transparent)]
    Targets(#[from] TargetError),
    /// Arrays are no rows.
    #[error(transparent)]
    Rows(#[from] SharedError),
    /// A parameter of random Fourier features.
    #[error(transparent)]
    Fourier(#[from] FourierError),
    /// The file of groups.
    #[error("{0}")]
    Groups(String),
    /// An index is of no use.
    #[error(transparent)]
    Indexed(#[from] IndexedError),
    /// Newton steps cannot minimise it.
    #[error(transparent)]
    Newton(#[from] NewtonError),
    /// The method cannot do it.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// Dual variables that were put on disk while training cannot be read again.
    #[error("cannot read dual variables: {0}")]
    State(String),
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A model cannot be read or written.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// An input cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Packing failed.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// A stream cannot be learnt from.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl From<BudgetError> for FitError {
    fn from(error: BudgetError) -> Self {
        FitError::Store(error.into())
    }
}

impl From<CheckpointError> for FitError {
    fn from(error: CheckpointError) -> Self {
        FitError::Train(error.into())
    }
}

impl From<ColumnsError> for FitError {
    fn from(error: ColumnsError) -> Self {
        FitError::Train(error.into())
    }
}

impl From<SecondOrderError> for FitError {
    fn from(error: SecondOrderError) -> Self {
        FitError::Train(error.into())
    }
}

/// Settings that cannot be.
pub(super) fn refuse<T>(message: impl Into<String>) -> Result<T, FitError> {
    Err(FitError::Settings(message.into()))
}

/// A number above 0.
pub(super) fn positive(name: &str, value: f64) -> Result<f64, FitError> {
    match value.is_finite() && value > 0.0 {
        true => Ok(value),
        false => refuse(format!("`{name}` must be a number above 0, not {value}")),
    }
}

/// A number that is 0 or more.
pub(super) fn not_negative(name: &str, value: f64) -> Result<f64, FitError> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => refuse(format!("`{name}` must be a number that is 0 or more, not {value}")),
    }
}
