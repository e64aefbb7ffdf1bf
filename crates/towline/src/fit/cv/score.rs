//! Scores of models by the rows that they have not seen: one scan for all of them.
use std::sync::Arc;

use super::Folds;
use crate::block::Row;
use crate::budget::Budget;
use crate::engine::{Cost, TrainError, Trained, scan_once};
use crate::evaluate::{Judge, Judged, Metric};
use crate::model::chances::Chances;
use crate::objective::{Objective, Targets};
use crate::store::BlockStore;

/// What is scored: cells, given as objective and fold, with the models of each.
pub struct Cells<'a> {
    pub objectives: &'a [Objective],
    pub folds: &'a Folds,
    pub places: &'a [(usize, u32)],
    pub models: &'a [&'a [Trained]],
}

/// The score of each cell by the rows of its fold; `positive` is the one of two classes that is reported.
pub fn score(
    store: &Arc<dyn BlockStore>,
    cells: &Cells,
    (metric, positive): (Metric, usize),
    budget: &Budget,
    cost: &mut Cost,
) -> Result<Vec<f64>, TrainError> {
    let judge = |&(point, _): &(usize, u32)| {
        let objective = &cells.objectives[point];
        let judge = Judge::new(&objective.targets, Chances::of_loss(objective), positive, false, budget)?;
        let judge = if metric.needs_ranks() { judge } else { judge.without_ranks() };
        // What is not for these targets was refused before anything was trained, and has no score.
        Ok((0.0, judge.for_metric(metric).ok()))
    };
    let mut judges = cells.places.iter().map(judge).collect::<Result<Vec<(f64, Option<Judge>)>, TrainError>>()?;
    scan(store, cells, budget, cost, |cell, row| {
        let (weight, judge) = &mut judges[cell];
        *weight += row.weight;
        Ok(judge.as_mut().map_or(Ok(()), |judge| judge.add(row))?)
    })?;
    // Without rows there is no score.
    let finish = |(weight, judge): (f64, Option<Judge>)| judge.filter(|_| weight > 0.0)?.finish().get(metric);
    Ok(judges.into_iter().map(|judged| finish(judged).unwrap_or(f64::NAN)).collect())
}

/// Calls `each` with every cell and every row that tests it, in the order of the store.
pub fn scan(
    store: &Arc<dyn BlockStore>,
    cells: &Cells,
    budget: &Budget,
    cost: &mut Cost,
    mut each: impl FnMut(usize, Judged) -> Result<(), TrainError>,
) -> Result<(), TrainError> {
    let weights = cells.models.iter().flat_map(|models| models.iter()).map(|model| model.weights.len() * 8);
    let _paid = budget.reserve("weights to score", weights.sum::<usize>() as u64)?;
    let mut scores = Vec::new();
    scan_once(store, budget, cost, |block, _| {
        for i in 0..block.rows() {
            let info = block.info(i);
            let tested = cells.places.iter().enumerate().filter(|(_, place)| cells.folds.tests_by(place.1, &info));
            for (cell, &(point, _)) in tested {
                let objective = &cells.objectives[point];
                outputs(objective, block.row(i), cells.models[cell], &mut scores);
                let class = match &objective.targets {
                    Targets::Classes { classes, .. } => classes.find(info.label),
                    targets => Some(usize::from(targets.row(info.label).0 > 0.0)),
                };
                let (label, further, weight) = (info.label, block.further(i), info.weight);
                each(cell, Judged { scores: &scores, class, label, further, weight })?;
            }
        }
        Ok(())
    })
}

/// The scores of a row.
fn outputs(objective: &Objective, row: Row, models: &[Trained], scores: &mut Vec<f64>) {
    let width = objective.width();
    scores.clear();
    for model in models {
        let begin = scores.len();
        scores.resize(begin + width, 0.0);
        row.dot_side_by_side(&model.weights, &mut scores[begin..]);
        let constant = &model.weights[model.weights.len() - width..];
        scores[begin..].iter_mut().zip(constant).for_each(|(score, w)| *score += objective.bias * w);
    }
}
