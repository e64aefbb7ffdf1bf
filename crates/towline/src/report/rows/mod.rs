//! How good a model is on labelled rows, and where it errs.
mod binary;
mod classes;
mod numbers;
#[cfg(test)]
mod tests;
mod wrong;

pub use binary::{BinaryRows, CalibrationBin, LiftRow, ThresholdRow};
pub use classes::{ClassRows, ClassSummary, Confused};
pub use numbers::{NumberRows, PredictionBin};
pub use wrong::{Pull, WrongRow};

use serde::Serialize;

use super::labelled::LabelledRows;
use crate::budget::Budget;
use crate::evaluate::{Judge, Judged, Metric, Quality};
use crate::fit::FitError;
use crate::model::Model;
use crate::model::chances::Chances;
use crate::objective::Targets;
use binary::Ranks;
use numbers::Pairs;
use wrong::Wrong;

/// What is asked about the rows.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The class that precision, recall and such are about, by its place among two; as the model says if it is none.
    pub positive: Option<usize>,
    /// What a negative row costs that is called positive, and a positive one that is called negative.
    pub costs: [f64; 2],
}

impl Default for Question {
    fn default() -> Self {
        Question { positive: None, costs: [1.0, 1.0] }
    }
}

/// A measure and its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// Its name, as people call it.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Whether it is a share of rows.
    pub is_share: bool,
}

/// How a model does on labelled rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowsReport {
    /// What the rows are called.
    pub name: String,
    /// How many there are.
    pub rows: u64,
    /// Rows of labels that the model does not know.
    pub unknown: u64,
    /// All measures.
    pub measures: Vec<Measure>,
    /// Curves and tables.
    pub detail: Detail,
    /// The rows on which it is most wrong, the worst first.
    pub wrong: Vec<WrongRow>,
}

/// What there is to see depends on what is predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Detail {
    /// Two classes.
    Binary(Box<BinaryRows>),
    /// Many classes.
    Classes(Box<ClassRows>),
    /// A number, or several.
    Numbers(Vec<NumberRows>),
}

/// Keeps what curves are made of.
enum Kept {
    Ranks(Ranks),
    Pairs(Vec<Pairs>),
    Nothing,
}

impl RowsReport {
    /// Scans the rows twice: once for all scores, once for the features of those that are most wrong.
    pub fn gather(
        model: &Model,
        rows: &LabelledRows,
        question: Question,
        budget: &Budget,
    ) -> Result<RowsReport, FitError> {
        let header = &model.header;
        let (targets, chances) = (&header.objective.targets, Chances::of(header));
        let positive = question.positive.unwrap_or(header.reporting.positive());
        let columns = rows.columns();
        // Weights, and the sums of columns that features of wrong rows are held against.
        let bytes = rows.weight_bytes(model) + 8 * columns + rows.scan_bytes();
        let _paid = budget.reserve("weights by column", bytes)?;
        let weights = rows.weights(model, budget)?;
        let mut judge = Judge::new(targets, chances, positive, true, budget)?.without_ranks();
        let mut kept = match targets {
            Targets::Binary { .. } | Targets::OneOf { .. } => Kept::Ranks(Ranks::new(positive, rows.rows(), budget)?),
            Targets::Classes { .. } => Kept::Nothing,
            Targets::Numbers => Kept::Pairs(vec![Pairs::new("", rows.rows(), budget)?]),
            Targets::Several { names } => {
                let pairs = names.iter().take(numbers::MOST_TARGETS);
                Kept::Pairs(pairs.map(|name| Pairs::new(name, rows.rows(), budget)).collect::<Result<_, _>>()?)
            }
        };
        let mut wrong = Wrong::new(targets);
        let mut sums = vec![0.0; columns as usize];
        let mut scores = vec![0.0; weights.intercepts.len()];
        let mut refused = None;
        rows.scan(|info, row, further| {
            weights.score(row, &mut scores);
            row.add_to(&mut sums, 1.0);
            let class = if targets.are_numbers() { None } else { rows.class_of(targets, info.label) };
            let (label, weight) = (info.label, 1.0);
            if let Err(error) = judge.add(Judged { scores: &scores, class, label, further, weight }) {
                refused.get_or_insert(error);
            }
            match (&mut kept, class) {
                (Kept::Ranks(ranks), Some(class)) => ranks.add(scores[0], class),
                (Kept::Pairs(pairs), _) => {
                    let truths = std::iter::once(&label).chain(further);
                    pairs
                        .iter_mut()
                        .zip(&scores)
                        .zip(truths)
                        .for_each(|((pairs, &score), &truth)| pairs.add(score, truth));
                }
                _ => {}
            }
            wrong.add(info.id, class, (label, further), &scores);
        })?;
        if let Some(error) = refused {
            return Err(error.into());
        }
        let quality = judge.finish();
        let mut measures = measures(&quality, targets, chances.is_some());
        let mut unknown = 0;
        let detail = match (kept, &quality) {
            (Kept::Ranks(ranks), Quality::Binary(found)) => {
                unknown = found.unknown;
                let chance = chances.as_ref().map(|chances| move |score: f64| chances.of_second(score));
                let chance = chance.as_ref().map(|chance| chance as &dyn Fn(f64) -> f64);
                let binary = ranks.finish(found, question.costs, chance);
                let first = measures.len().min(1);
                measures.splice(first..first, binary.areas());
                Detail::Binary(Box::new(binary))
            }
            (Kept::Pairs(pairs), _) => Detail::Numbers(pairs.into_iter().map(Pairs::finish).collect()),
            (_, Quality::Classes(found)) => {
                unknown = found.unknown;
                Detail::Classes(Box::new(ClassRows::of(found)))
            }
            _ => Detail::Numbers(Vec::new()),
        };
        let means = {
            sums.iter_mut().for_each(|sum| *sum /= rows.rows().max(1) as f64);
            sums
        };
        let wrong = wrong.explain(model, rows, &weights, &means, budget)?;
        Ok(RowsReport { name: rows.name.clone(), rows: rows.rows(), unknown, measures, detail, wrong })
    }
}

/// All measures of such targets that the rows give, but for the areas, which are those of the curves.
fn measures(quality: &Quality, targets: &Targets, has_chances: bool) -> Vec<Measure> {
    let fits = |metric: &Metric| metric.check(targets, has_chances).is_ok();
    let known = Metric::ALL.into_iter().filter(fits).filter_map(|metric| {
        let value = quality.get(metric).filter(|value| value.is_finite())?;
        Some(Measure { name: metric.title(), value, is_share: metric.is_share_of_rows() })
    });
    known.collect()
}
