//! The rows on which a model is most wrong, and the features that pull them there.
//!
//! What a feature j adds to the wrong side of row x is `d_j (x_j - mean_j)`, where d is the weights of what was predicted
//! less those of the truth: the part that the feature has in the difference from an average row (the Shapley value of a
//! linear model of independent features; Štrumbelj and Kononenko 2014, section 2). A feature that is absent pulls as well,
//! where others have it.
use std::collections::HashMap;

use serde::Serialize;

use crate::budget::Budget;
use crate::fit::FitError;
use crate::model::Model;
use crate::objective::Targets;
use crate::predict;
use crate::report::labelled::{ColumnWeights, LabelledRows};
use crate::store::features::Scaling;

/// Rows that are shown.
const MOST: usize = 20;
/// Features that are shown of each.
const PULLS: usize = 6;

/// A row on which the model is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WrongRow {
    /// Its number in the input, from 1 on.
    pub row: u64,
    /// What it is.
    pub truth: String,
    /// What it was taken for.
    pub predicted: String,
    /// How wrong: what the score of the prediction is above that of the truth, or the distance of a number.
    pub by: f64,
    /// The features that pull it there, the strongest first.
    pub pulls: Vec<Pull>,
}

/// A feature that pulls a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pull {
    /// The feature.
    pub feature: String,
    /// Its value in the row, as it came.
    pub value: f64,
    /// What it adds to the wrong side.
    pub pull: f64,
}

/// A row while others may still be worse.
#[derive(Clone, Debug)]
struct Found {
    by: f64,
    id: u64,
    truth: String,
    predicted: String,
    /// Outputs whose weights pull, and the sign.
    direction: Vec<(usize, f64)>,
}

/// The worst rows so far.
pub(super) struct Wrong<'a> {
    targets: &'a Targets,
    /// The worst first; of equally wrong ones, the first of the input.
    found: Vec<Found>,
}

impl<'a> Wrong<'a> {
    pub fn new(targets: &'a Targets) -> Wrong<'a> {
        Wrong { targets, found: Vec::with_capacity(MOST + 1) }
    }

    /// Looks at a row; `numbers` are its targets.
    pub fn add(&mut self, id: u64, class: Option<usize>, (label, further): (f64, &[f64]), scores: &[f64]) {
        let (by, direction) = match (self.targets, class) {
            (Targets::Numbers | Targets::Several { .. }, _) => {
                let truths = std::iter::once(&label).chain(further);
                let errors = scores.iter().zip(truths).map(|(score, truth)| score - truth).enumerate();
                let worst = errors.reduce(|a, b| if b.1.abs() > a.1.abs() { b } else { a });
                let Some((output, error)) = worst else { return };
                (error.abs(), vec![(output, error.signum())])
            }
            (_, None) => return,
            (_, Some(class)) if scores.len() == 1 => {
                let side = if class == 1 { 1.0 } else { -1.0 };
                (-side * scores[0], vec![(0, -side)])
            }
            (_, Some(class)) => {
                let predicted = predict::class(scores);
                (scores[predicted] - scores[class], vec![(predicted, 1.0), (class, -1.0)])
            }
        };
        // A row that is right is not among the wrong ones, however few there are.
        let is_wrong = by > 0.0 || (self.targets.are_numbers() && by != 0.0);
        let place = self.found.partition_point(|other| (other.by, u64::MAX - other.id) >= (by, u64::MAX - id));
        if !is_wrong || !by.is_finite() || place >= MOST {
            return;
        }
        let (truth, predicted) = self.words(class, (label, further), scores, &direction);
        self.found.insert(place, Found { by, id, truth, predicted, direction });
        self.found.truncate(MOST);
    }

    fn words(
        &self,
        class: Option<usize>,
        (label, further): (f64, &[f64]),
        scores: &[f64],
        direction: &[(usize, f64)],
    ) -> (String, String) {
        let output = direction[0].0;
        match self.targets {
            Targets::Numbers => (short(label), short(scores[0])),
            Targets::Several { names } => {
                let truth = if output == 0 { label } else { further[output - 1] };
                let named = |number: f64| format!("{} {}", names[output], short(number));
                (named(truth), named(scores[output]))
            }
            targets => {
                let sides = targets.sides();
                let names: &[String] = if scores.len() == 1 { &sides } else { targets.names() };
                let name = |class: usize| names.get(class).cloned().unwrap_or_default();
                (class.map(name).unwrap_or_default(), name(predict::class(scores)))
            }
        }
    }

    /// Reads the rows again for their features.
    pub fn explain(
        self,
        model: &Model,
        rows: &LabelledRows,
        weights: &ColumnWeights,
        means: &[f64],
        budget: &Budget,
    ) -> Result<Vec<WrongRow>, FitError> {
        // Random Fourier features say nothing to anybody.
        let can_explain = model.header.fourier.is_none() && !self.found.is_empty();
        let mut pulls: HashMap<u64, Vec<(usize, f64, f64)>> = HashMap::new();
        if can_explain {
            let wanted: HashMap<u64, &Found> = self.found.iter().map(|found| (found.id, found)).collect();
            let mut values = vec![0.0; means.len()];
            let _paid = budget.reserve("features of a row", 8 * means.len() as u64)?;
            rows.scan(|info, row, _| {
                let Some(found) = wanted.get(&info.id) else { return };
                row.add_to(&mut values, 1.0);
                pulls.insert(info.id, strongest(&found.direction, weights, &values, means));
                row.for_each(|column, _| values[column as usize] = 0.0);
            })?;
        }
        let mut names: HashMap<usize, (String, Scaling)> =
            pulls.values().flatten().map(|&(column, ..)| (column, (String::new(), Scaling::NONE))).collect();
        if !names.is_empty() {
            rows.for_each_name(budget, |column, name, scaling| {
                if let Some(known) = names.get_mut(&column) {
                    *known = (name.to_string(), scaling);
                }
            })?;
        }
        let explained = self.found.into_iter().map(|found| {
            let pulls = pulls.remove(&found.id).unwrap_or_default().into_iter().map(|(column, value, pull)| {
                let (feature, scaling) = &names[&column];
                let value = if scaling.factor != 0.0 { value / scaling.factor + scaling.shift } else { value };
                Pull { feature: feature.clone(), value, pull }
            });
            let Found { by, id, truth, predicted, .. } = found;
            WrongRow { row: id + 1, truth, predicted, by, pulls: pulls.collect() }
        });
        Ok(explained.collect())
    }
}

/// Columns with their values and pulls, the strongest first.
fn strongest(
    direction: &[(usize, f64)],
    weights: &ColumnWeights,
    values: &[f64],
    means: &[f64],
) -> Vec<(usize, f64, f64)> {
    let mut found: Vec<(usize, f64, f64)> = Vec::with_capacity(PULLS + 1);
    for (column, (&value, &mean)) in values.iter().zip(means).enumerate() {
        let of = weights.of(column);
        let d: f64 = direction.iter().map(|&(output, sign)| sign * of[output]).sum();
        let pull = d * (value - mean);
        let place = found.partition_point(|other| other.2 >= pull);
        if pull > 0.0 && place < PULLS {
            found.insert(place, (column, value, pull));
            found.truncate(PULLS);
        }
    }
    found
}

/// A number with as many digits as are read.
fn short(number: f64) -> String {
    match number.abs() {
        size if size != 0.0 && !(1e-3..1e9).contains(&size) => format!("{number:.4e}"),
        _ => {
            let text = format!("{number:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
    }
}
