//! Scores of models by the rows that they have not seen: one scan for all of them.
use std::sync::Arc;

use super::Folds;
use crate::block::Row;
use crate::budget::Budget;
use crate::engine::{Cost, READ_AHEAD, TrainError, Trained};
use crate::objective::{Objective, Targets};
use crate::predict;
use crate::store::{BlockId, BlockStore, ReadAhead};

/// What has been found of one cell.
#[derive(Clone, Copy, Default)]
struct Tally {
    rows: f64,
    right: f64,
    squared: f64,
}

/// The score of each cell, given as objective and fold, by the rows of its fold.
pub fn score(
    store: &Arc<dyn BlockStore>,
    objectives: &[Objective],
    folds: &Folds,
    places: &[(usize, u32)],
    models: &[&[Trained]],
    budget: &Budget,
    cost: &mut Cost,
) -> Result<Vec<f64>, TrainError> {
    let bytes: usize = models.iter().flat_map(|models| models.iter()).map(|model| model.weights.len() * 8).sum();
    let _paid = budget.reserve("weights to score", bytes as u64)?;
    let mut reader = ReadAhead::new(store.clone(), READ_AHEAD, budget)?;
    (0..store.blocks().len() as u32).for_each(|id| reader.request(BlockId(id)));
    let mut tallies = vec![Tally::default(); places.len()];
    let mut scores = Vec::new();
    while let Some(block) = reader.take()? {
        cost.bytes_read += store.blocks()[block.id().0 as usize].stored_bytes;
        for i in 0..block.rows() {
            let info = block.info(i);
            let fold = folds.of(&info);
            for (cell, &(point, _)) in places.iter().enumerate().filter(|(_, place)| place.1 == fold) {
                let objective = &objectives[point];
                outputs(objective, block.row(i), models[cell], &mut scores);
                let tally = &mut tallies[cell];
                tally.rows += info.weight;
                let truths = std::iter::once(&info.label).chain(block.further(i));
                let squares = scores.iter().zip(truths).map(|(score, truth)| (score - truth) * (score - truth));
                tally.squared += info.weight * squares.sum::<f64>();
                let class = match &objective.targets {
                    Targets::Classes { classes, .. } => classes.find(info.label),
                    targets => Some(usize::from(targets.row(info.label).0 > 0.0)),
                };
                if class == Some(predict::class(&scores)) {
                    tally.right += info.weight;
                }
            }
        }
    }
    cost.passes += 1;
    let finish = |(&(point, _), tally): (&(usize, u32), &Tally)| match objectives[point].targets {
        // Without rows there is no score.
        Targets::Numbers => (tally.squared / tally.rows).sqrt(),
        // Over all rows and targets.
        Targets::Several { ref names } => (tally.squared / (tally.rows * names.len() as f64)).sqrt(),
        _ => tally.right / tally.rows,
    };
    Ok(places.iter().zip(&tallies).map(finish).collect())
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
