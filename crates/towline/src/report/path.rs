//! Models along a series of penalties.
use std::collections::HashMap;

use serde::Serialize;

use super::weights::largest;
use crate::budget::Budget;
use crate::engine::RunRecord;
use crate::evaluate::{Metric, Quality};
use crate::fit::{FitError, PathRun};
use crate::model::Model;

/// Features whose weights are drawn.
const DRAWN: usize = 20;

/// What came of a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathReport {
    /// Whether it goes along values of C, and not of λ.
    pub along_c: bool,
    /// Its points, in the order in which they were trained.
    pub points: Vec<PathPointReport>,
    /// What scores are called, where there are test rows.
    pub metric: Option<String>,
    /// Whether scores are shares of rows.
    pub is_share: bool,
    /// The best point, by its score.
    pub best: Option<usize>,
    /// Features with the largest weights anywhere on the path, with a weight for each point; of several outputs, the
    /// norm.
    pub coefficients: Vec<(String, Vec<f64>)>,
    /// How the run went, all points one after the other.
    pub run: RunRecord,
}

/// A point of a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathPointReport {
    /// λ, or C.
    pub at: f64,
    /// Features with a weight.
    pub nonzero: u64,
    /// F.
    pub objective: Option<f64>,
    /// The relative gap.
    pub gap: Option<f64>,
    /// Seconds of its training.
    pub seconds: f64,
    /// How good it is on test rows.
    pub score: Option<f64>,
}

impl PathReport {
    /// Reads the models of a path, one after the other, twice: for the features with the largest weights, and for their
    /// weights.
    pub fn gather(
        found: &PathRun,
        qualities: &[Quality],
        run: RunRecord,
        budget: &Budget,
    ) -> Result<PathReport, FitError> {
        let wanted = &found.objectives;
        let along_c = wanted.len() > 1 && wanted[0].c != wanted[1].c;
        let metric = found.points.first().map(|point| Metric::default_for(&point.header.objective.targets));
        let metric = metric.filter(|_| !qualities.is_empty());
        let score = |number: usize| qualities.get(number).zip(metric).and_then(|(quality, metric)| quality.get(metric));
        let point = |(number, point): (usize, &crate::fit::PathPoint)| {
            let objective = &point.header.objective;
            PathPointReport {
                at: if along_c { objective.c } else { objective.penalty.lambda() },
                nonzero: point.features,
                objective: point.header.certificate.map(|certificate| certificate.objective),
                gap: point.header.certificate.map(|certificate| certificate.relative_gap()),
                seconds: point.header.cost.seconds,
                score: score(number),
            }
        };
        let points: Vec<PathPointReport> = found.points.iter().enumerate().map(point).collect();
        let sign = if metric.is_some_and(Metric::smaller_is_better) { -1.0 } else { 1.0 };
        let scored = (0..points.len()).filter_map(|i| Some((i, sign * points[i].score?)));
        // Of equally good ones, the first: the stronger penalty.
        let best = scored.reduce(|best, one| if one.1 > best.1 { one } else { best }).map(|(i, _)| i);
        Ok(PathReport {
            along_c,
            points,
            is_share: metric.is_some_and(Metric::is_share_of_rows),
            metric: metric.map(Metric::title),
            best,
            coefficients: coefficients(found, budget)?,
            run,
        })
    }
}

/// The weight of a feature, or the norm of several.
fn size(model: &Model, i: usize) -> f64 {
    match model.weights_of(i) {
        [weight] => *weight,
        weights => weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt(),
    }
}

fn coefficients(found: &PathRun, budget: &Budget) -> Result<Vec<(String, Vec<f64>)>, FitError> {
    let mut most: HashMap<String, f64> = HashMap::new();
    for point in &found.points {
        let (model, _paid) = Model::load_within(&point.file, budget)?;
        for i in largest(model.features.len(), DRAWN, |i| size(&model, i).abs()) {
            let known = most.entry(model.features.name(i)).or_default();
            *known = known.max(size(&model, i).abs());
        }
    }
    let mut names: Vec<(String, f64)> = most.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    names.truncate(DRAWN);
    let mut all: Vec<(String, Vec<f64>)> = names.into_iter().map(|(name, _)| (name, Vec::new())).collect();
    for point in &found.points {
        let (model, _paid) = Model::load_within(&point.file, budget)?;
        let mut here: HashMap<&str, f64> = all.iter().map(|(name, _)| (name.as_str(), 0.0)).collect();
        for i in 0..model.features.len() {
            if let Some(weight) = here.get_mut(model.features.name(i).as_str()) {
                *weight = size(&model, i);
            }
        }
        let weights: Vec<f64> = all.iter().map(|(name, _)| here[name.as_str()]).collect();
        all.iter_mut().zip(weights).for_each(|((_, weights), weight)| weights.push(weight));
    }
    Ok(all)
}
