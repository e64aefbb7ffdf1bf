//! The parameters of losses, checked once when a loss is built and again when one is read from a file.
use serde::{Deserialize, Deserializer, de::Error};

use super::any::known_names;

/// A loss that cannot be built, or not for the method that wants it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LossError {
    /// There is no loss of that name.
    #[error("no loss is called {name:?}; known losses: {}", known_names())]
    UnknownName {
        /// The name as given.
        name: String,
    },
    /// ε is the half width of a tube.
    #[error("epsilon must be zero or more and finite, not {epsilon}")]
    Epsilon {
        /// The value as given.
        epsilon: f64,
    },
    /// δ is where a parabola becomes a line.
    #[error("delta must be above zero and finite, not {delta}")]
    Delta {
        /// The value as given.
        delta: f64,
    },
    /// τ is a part of the targets.
    #[error("quantile must be between 0 and 1, without the two, not {quantile}")]
    Quantile {
        /// The value as given.
        quantile: f64,
    },
    /// A method of second order was asked to train a loss with kinks.
    #[error(
        "the {name} loss is non-smooth, it has no second derivative; use a smooth one such as huber or squared-hinge, \
         or a dual method"
    )]
    NotSmooth {
        /// The name of the loss.
        name: &'static str,
    },
}

pub(super) fn checked_epsilon(epsilon: f64) -> Result<f64, LossError> {
    if epsilon >= 0.0 && epsilon.is_finite() { Ok(epsilon) } else { Err(LossError::Epsilon { epsilon }) }
}

pub(super) fn checked_delta(delta: f64) -> Result<f64, LossError> {
    if delta > 0.0 && delta.is_finite() { Ok(delta) } else { Err(LossError::Delta { delta }) }
}

pub(super) fn checked_quantile(quantile: f64) -> Result<f64, LossError> {
    if quantile > 0.0 && quantile < 1.0 { Ok(quantile) } else { Err(LossError::Quantile { quantile }) }
}

/// The numbers that some losses have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossParameters {
    /// Half the width of the tube of the epsilon-insensitive losses.
    pub epsilon: f64,
    /// Where the huber loss becomes linear.
    pub delta: f64,
    /// The quantile of the loss of that name.
    pub quantile: f64,
}

impl Default for LossParameters {
    /// Those of [`ALL`](super::ALL).
    fn default() -> Self {
        LossParameters { epsilon: 0.1, delta: 1.0, quantile: 0.5 }
    }
}

pub(super) fn deserialize_epsilon<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked_epsilon(f64::deserialize(from)?).map_err(D::Error::custom)
}

pub(super) fn deserialize_delta<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked_delta(f64::deserialize(from)?).map_err(D::Error::custom)
}

pub(super) fn deserialize_quantile<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked_quantile(f64::deserialize(from)?).map_err(D::Error::custom)
}
