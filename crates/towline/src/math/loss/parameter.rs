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
    /// A method of second order was asked to train a loss with kinks.
    #[error("the {name} loss has kinks, so it has no second derivative; use squared-{name}, or a dual method")]
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

pub(super) fn deserialize_epsilon<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked_epsilon(f64::deserialize(from)?).map_err(D::Error::custom)
}

pub(super) fn deserialize_delta<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked_delta(f64::deserialize(from)?).map_err(D::Error::custom)
}
