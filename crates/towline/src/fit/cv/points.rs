//! What came of an objective, and which is the best.
use serde::Serialize;

use crate::engine::Status;
use crate::objective::Objective;

/// What came of one objective.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The loss.
    pub loss: &'static str,
    /// The weight of the losses.
    pub c: f64,
    /// The score of each fold by the model that has not seen it; no number where there was no time for it, or where its
    /// rows say nothing.
    pub scores: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// The standard error of the mean.
    pub standard_error: f64,
    /// The widest relative gap of its models.
    pub relative_gap: f64,
    /// How training ended.
    pub status: Status,
}

impl Point {
    pub(super) fn new(objective: &Objective, scores: Vec<f64>, relative_gap: f64, status: Status) -> Point {
        // A fold that happens to have no rows has no score.
        let known: Vec<f64> = scores.iter().copied().filter(|score| !score.is_nan()).collect();
        let n = known.len() as f64;
        let mean = known.iter().sum::<f64>() / n;
        let variance = known.iter().map(|score| (score - mean) * (score - mean)).sum::<f64>() / (n - 1.0).max(1.0);
        let standard_error = (variance / n).sqrt();
        let relative_gap = if known.is_empty() { f64::NAN } else { relative_gap };
        Point { loss: objective.loss.name(), c: objective.c, scores, mean, standard_error, relative_gap, status }
    }
}

/// The best mean; of equal ones the least C.
pub(super) fn best(points: &[Point], smaller_is_better: bool) -> usize {
    let sign = if smaller_is_better { -1.0 } else { 1.0 };
    let better = |a: &Point, b: &Point| (sign * a.mean).total_cmp(&(sign * b.mean)).then(b.c.total_cmp(&a.c));
    let scored = (0..points.len()).filter(|&i| !points[i].mean.is_nan());
    scored.max_by(|&a, &b| better(&points[a], &points[b])).unwrap_or(0)
}

/// The least C within one standard error of the best.
pub(super) fn simplest(points: &[Point], best: usize, smaller_is_better: bool) -> usize {
    let Some(top) = points.get(best) else { return best };
    let is_near = |point: &Point| match smaller_is_better {
        true => point.mean <= top.mean + top.standard_error,
        false => point.mean >= top.mean - top.standard_error,
    };
    let near = (0..points.len()).filter(|&i| points[i].loss == top.loss && is_near(&points[i]));
    near.min_by(|&a, &b| points[a].c.total_cmp(&points[b].c)).unwrap_or(best)
}
