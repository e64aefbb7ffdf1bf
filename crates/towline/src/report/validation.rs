//! Values of C by rows that were held out.
use serde::Serialize;

use crate::cv::{Point, Validated};
use crate::evaluate::Metric;

/// What came of a cross-validation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValidationReport {
    /// A point for each loss and C.
    pub points: Vec<Point>,
    /// The best one.
    pub best: usize,
    /// The one with the least C within one standard error of the best.
    pub one_standard_error: usize,
    /// What scores are called.
    pub metric: String,
    /// Whether they are shares of rows.
    pub is_share: bool,
    /// Whether a smaller score is better.
    pub smaller_is_better: bool,
    /// The models that were trained.
    pub models: usize,
    /// The rows that they were trained on.
    pub data: String,
    /// The command, if there was one.
    pub command: Option<String>,
}

impl ValidationReport {
    /// From what a cross-validation has found.
    pub fn new(found: &Validated, data: &str, command: Option<String>) -> ValidationReport {
        let metric = match (found.metric, &found.positive) {
            (Metric::Rmse, _) => "root mean square error".to_string(),
            (metric, Some(positive)) => format!("{} of {positive}", metric.title()),
            (metric, None) => metric.title(),
        };
        ValidationReport {
            points: found.points.clone(),
            best: found.best,
            one_standard_error: found.one_standard_error,
            metric,
            is_share: found.metric.is_share_of_rows(),
            smaller_is_better: found.smaller_is_better,
            models: found.models[0],
            data: data.to_string(),
            command,
        }
    }
}
