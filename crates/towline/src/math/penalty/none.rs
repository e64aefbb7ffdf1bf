//! No penalty at all: what is minimised is the loss.
use serde::{Deserialize, Serialize};

use super::{ElasticTerms, Listed, NonNegative, Penalty, Structure, largest, sq_norm};

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

    fn unpaid(&self, v: &[f64]) -> Option<f64> {
        Some(sq_norm(v).sqrt())
    }
}

impl Listed for NoPenalty {
    fn lambda(&self) -> f64 {
        0.0
    }

    fn with_lambda(&self, _lambda: f64) -> Self {
        NoPenalty
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Coordinates(ElasticTerms { l1: 0.0, l2: 0.0, non_negative: false })
    }

    fn least_lambda(&self, _v: &[f64]) -> Option<f64> {
        None
    }

    fn non_negative(&self) -> Option<NonNegative> {
        Some(NonNegative { lambda: 0.0, l1_ratio: 1.0 })
    }

    fn describe(&self, _name: &str) -> String {
        "no penalty".to_string()
    }
}
