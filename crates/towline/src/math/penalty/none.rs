//! No penalty at all: what is minimised is the loss.
use serde::{Deserialize, Serialize};

use super::{Penalty, largest};

/// 0
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoPenalty;

impl Penalty for NoPenalty {
    fn along(&self, _w: &[f64]) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn prox(&self, _eta: f64, _u: &mut [f64]) {}

    fn conjugate(&self, v: &[f64], scale: f64) -> f64 {
        if scale * largest(v) == 0.0 { 0.0 } else { f64::INFINITY }
    }

    fn feasible_scale(&self, v: &[f64]) -> f64 {
        if largest(v) == 0.0 { 1.0 } else { 0.0 }
    }
}
