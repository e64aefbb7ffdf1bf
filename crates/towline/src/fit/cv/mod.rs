//! Cross-validation: all folds and all values of C over shared blocks.
//!
//! Where everything is in memory, each C starts from the dual variables of the one before, and the folds share the
//! threads. Out of core the disk is the cost, so all models of all folds and values of C train on every block that is
//! read, as many as the budget has room for.
mod collect;
mod folds;
mod points;
mod run;
mod score;

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

pub use collect::HeldOutScores;
pub use folds::{Folds, Split, TrainingRows};
pub use points::Point;

use points::{best, simplest};
use run::{Purpose, Validation, folds_fit};

use crate::budget::Budget;
use crate::engine::{Checkpoints, Cost, Observer, Plan, Solver, TrainError, TrainOptions};
use crate::evaluate::Metric;
use crate::methods::auto::Choice;
use crate::objective::Objective;
use crate::store::{BlockStore, StoreFingerprint};

/// What came of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Validated {
    /// In the order of the objectives.
    pub points: Vec<Point>,
    /// The best one.
    pub best: usize,
    /// Of the same loss, the one with the least C within one standard error of the best.
    pub one_standard_error: usize,
    /// What scores are.
    pub metric: Metric,
    /// The positive class, where the score depends on which of two it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// Whether a smaller score is better.
    pub smaller_is_better: bool,
    /// What it cost.
    pub cost: Cost,
    /// Models in all, and how many of them trained together.
    pub models: [usize; 2],
}

/// Where unfinished models are kept, so that a run can go on.
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// A folder.
    pub folder: PathBuf,
    /// The data.
    pub store: StoreFingerprint,
}

impl Unfinished {
    /// What an interrupted run has left of this many models, or a file for them.
    fn open(
        &self,
        store: &dyn BlockStore,
        objectives: &[Objective],
        models: usize,
    ) -> Result<(Arc<Checkpoints>, StoreFingerprint), TrainError> {
        let shape = store.shape();
        let width = objectives.iter().map(Objective::width).max().unwrap_or(1) as u64;
        let numbers = (shape.rows + shape.columns + 1) * width;
        let names = |objective: &Objective| objective.targets.names().iter().map(String::len).sum::<usize>();
        let names: usize = objectives.iter().map(names).sum();
        let path = self.folder.join("models.duals");
        let found = Checkpoints::open(&path, (models + names) as u64, numbers)?;
        Ok((found.unwrap_or_else(|| Checkpoints::new(&path)), self.store.clone()))
    }
}

/// How objectives are compared, besides how they are trained.
#[derive(Clone, Copy, Debug, Default)]
pub struct Comparison<'a> {
    /// What scores are: accuracy, or the root of the mean squared error, unless something else is asked for.
    pub metric: Option<Metric>,
    /// The place of the one of two classes that is reported; the second if it is not known.
    pub positive: Option<usize>,
    /// Where unfinished models are kept.
    pub unfinished: Option<&'a Unfinished>,
}

/// Trains one model per objective and fold, and scores each by its fold. `how.tasks` is left aside, and its limit of
/// time is for all of it: what there was no time for has no score.
pub fn cross_validate(
    store: Arc<dyn BlockStore>,
    objectives: &[Objective],
    folds: Arc<Folds>,
    comparison: Comparison,
    how: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Validated, TrainError> {
    let models = objectives.iter().map(|objective| objective.split().len()).sum::<usize>() * folds.count() as usize;
    let kept = comparison.unfinished.map(|unfinished| unfinished.open(&*store, objectives, models)).transpose()?;
    let metric = comparison.metric.unwrap_or_else(|| Metric::default_for(&objectives[0].targets));
    let positive = comparison.positive.unwrap_or(1);
    let mut run = Validation::new(store, folds, Purpose::Score(metric, positive), how, budget, observer)?;
    run.unfinished = kept;
    let mut together = 0;
    let mut points = Vec::with_capacity(objectives.len());
    for group in objectives.chunk_by(|a, b| a.loss == b.loss) {
        let per_fold = group[0].split();
        let choice = Choice::new(&*run.store, &per_fold[0], how.solver, budget)?;
        if choice.solver == Solver::Gram && metric == Metric::Rmse && folds_fit(&run.folds) {
            points.extend(run.score_sums(group)?);
            together = together.max(group.len() * run.folds.count() as usize);
            continue;
        }
        run.hold_scores(&group[0], 1)?;
        let (whole, _) = Plan::for_solver(&*run.store, &per_fold[0], Solver::Dual, per_fold.len(), budget)?;
        let found = match whole.in_memory {
            true => run.along_c(group)?,
            false => {
                run.hold_scores(&group[0], group.len())?;
                run.all_at_once(group)?
            }
        };
        together = together.max(found.1);
        points.extend(found.0);
    }
    let smaller_is_better = metric.smaller_is_better();
    let best = best(&points, smaller_is_better);
    let one_standard_error = simplest(&points, best, smaller_is_better);
    let positive = metric.has_positive_class().then(|| objectives[0].targets.sides()[positive].clone());
    let (cost, models) = (run.cost, [models, together]);
    Ok(Validated { points, best, one_standard_error, metric, positive, smaller_is_better, cost, models })
}

/// Adds the scores of all rows to `scores`, each by the model of an objective that has not seen it.
pub fn held_out_scores(
    store: Arc<dyn BlockStore>,
    objective: &Objective,
    folds: Arc<Folds>,
    how: &TrainOptions,
    scores: &mut HeldOutScores,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<(), TrainError> {
    let mut run = Validation::new(store, folds, Purpose::Collect(scores), how, budget, observer)?;
    run.all_at_once(std::slice::from_ref(objective)).map(drop)
}
