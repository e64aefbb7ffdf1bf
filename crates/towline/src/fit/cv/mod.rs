//! Cross-validation: all folds and all values of C over shared blocks.
//!
//! Where everything is in memory, each C starts from the dual variables of the one before, and the folds share the
//! threads. Out of core the disk is the cost, so all models of all folds and values of C train on every block that is
//! read, as many as the budget has room for.
mod collect;
mod folds;
mod score;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

pub use collect::HeldOutScores;
pub use folds::{Folds, TrainingRows};

use crate::budget::{Budget, Reservation};
use crate::engine::{
    Certificate, CheckpointFile, Checkpoints, Cost, Observer, Plan, RowFilter, Solver, Start, Status, Task, TrainError,
    TrainOptions, Trained,
};
use crate::evaluate::{Judge, Metric};
use crate::methods::auto::{Choice, train_all};
use crate::objective::Objective;
use crate::second_order;
use crate::store::BlockStore;
use crate::store::StoreFingerprint;

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
    /// What an interrupted run has left of so many models, or a file for them.
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

/// Trains one model per objective and fold, and scores each by its fold. `how.tasks` is left aside, and its limit of time
/// is for all of it: what there was no time for has no score.
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

/// What models are trained for.
enum Purpose<'a> {
    /// The score of each fold; of two classes this one is reported.
    Score(Metric, usize),
    /// The scores of all rows.
    Collect(&'a mut HeldOutScores),
}

struct Validation<'a> {
    store: Arc<dyn BlockStore>,
    folds: Arc<Folds>,
    /// Models that may be continued, and the data that they belong to.
    unfinished: Option<(Arc<Checkpoints>, StoreFingerprint)>,
    purpose: Purpose<'a>,
    how: &'a TrainOptions,
    budget: &'a Budget,
    observer: &'a mut dyn Observer,
    /// What scores will take, kept free while models train.
    held: Reservation,
    begin: Instant,
    cost: Cost,
}

/// What a model starts from.
type Begin = (Start, Vec<f64>);

/// The models of one objective and one fold.
struct Cell {
    point: usize,
    fold: u32,
    tasks: Vec<Task>,
}

/// Sums over rows are told apart by at most so many folds, and the rows that a model has not seen are all others.
fn folds_fit(folds: &Folds) -> bool {
    folds.per_deal() <= 64 && folds.use_every_row()
}

impl<'a> Validation<'a> {
    fn new(
        store: Arc<dyn BlockStore>,
        folds: Arc<Folds>,
        purpose: Purpose<'a>,
        how: &'a TrainOptions,
        budget: &'a Budget,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, TrainError> {
        let held = budget.reserve("scores to rank", 0)?;
        let (unfinished, begin, cost) = (None, Instant::now(), Cost::default());
        Ok(Validation { store, folds, unfinished, purpose, how, budget, observer, held, begin, cost })
    }

    /// The squared loss: everything follows from sums over rows.
    fn score_sums(&mut self, objectives: &[Objective]) -> Result<Vec<Point>, TrainError> {
        let filter = |fold| -> Arc<dyn RowFilter> { Arc::new(TrainingRows { folds: self.folds.clone(), fold }) };
        let filters: Vec<Arc<dyn RowFilter>> = (0..self.folds.count()).map(filter).collect();
        let how = self.how;
        let mut found: Vec<Vec<second_order::FoldScore>> = objectives.iter().map(|_| Vec::new()).collect();
        for deal in filters.chunks(self.folds.per_deal() as usize) {
            let store = self.store.clone();
            let scores = second_order::cross_validate(store, objectives, deal, how, self.budget, &mut self.cost)?;
            found.iter_mut().zip(scores).for_each(|(all, more)| all.extend(more));
        }
        let point = |(objective, scores): (&Objective, Vec<second_order::FoldScore>)| {
            let gap = scores.iter().map(|score| score.gap).fold(0.0, f64::max);
            let status = if gap <= how.tolerance { Status::Converged } else { Status::OutOfPasses };
            Point::new(objective, scores.into_iter().map(|score| score.error).collect(), gap, status)
        };
        Ok(objectives.iter().zip(found).map(point).collect())
    }

    /// Keeps memory free for the scores of all rows by the models of so many objectives, where they are ranked.
    fn hold_scores(&mut self, objective: &Objective, count: usize) -> Result<(), TrainError> {
        let ranks = matches!(self.purpose, Purpose::Score(metric, _) if metric.needs_ranks());
        let rows = if ranks { self.store.shape().rows * self.folds.deals() } else { 0 };
        let bytes = rows * Judge::row_bytes(&objective.targets) * count as u64;
        Ok(self.held.resize(bytes)?)
    }

    /// The time that is left, if it is limited.
    fn time_left(&self) -> Option<Duration> {
        self.how.max_time.map(|limit| limit.saturating_sub(self.begin.elapsed()))
    }

    /// One C after the other, each from where the last one ended.
    fn along_c(&mut self, objectives: &[Objective]) -> Result<(Vec<Point>, usize), TrainError> {
        let mut order: Vec<usize> = (0..objectives.len()).collect();
        order.sort_by(|&a, &b| objectives[a].c.total_cmp(&objectives[b].c));
        let mut points: Vec<Option<Point>> = vec![None; objectives.len()];
        // Without room for the dual variables of two values of C every C begins anew.
        let models = objectives[0].split().len() as u64 * u64::from(self.folds.count());
        let numbers = self.store.shape().rows + self.store.shape().columns + 1;
        let bytes = 8 * models * objectives[0].width() as u64 * numbers;
        let paid = self.budget.reserve("dual variables and weights to start from", bytes).ok();
        let mut last: Option<(f64, Vec<Begin>)> = None;
        let mut together = 0;
        for at in order {
            let mut cells = self.cells(&objectives[at..=at]);
            if let Some((c, starts)) = last.take() {
                let tasks = cells.iter_mut().flat_map(|cell| &mut cell.tasks);
                let is_known =
                    |(task, (start, _)): &(&mut Task, (Start, Vec<f64>))| task.start.is_none() && !start.is_empty();
                for (task, (start, weights)) in tasks.zip(starts).filter(is_known) {
                    (task.start, task.start_weights) = (Some(start.times(objectives[at].c / c)), weights);
                }
            }
            let (scored, starts, size) = self.train(cells, &objectives[at..=at], paid.is_some())?;
            together = together.max(size);
            points[at] = scored.into_iter().next();
            last = Some((objectives[at].c, starts));
        }
        Ok((points.into_iter().flatten().collect(), together))
    }

    /// Every C at the same time.
    fn all_at_once(&mut self, objectives: &[Objective]) -> Result<(Vec<Point>, usize), TrainError> {
        let cells = self.cells(objectives);
        let (points, _, size) = self.train(cells, objectives, false)?;
        Ok((points, size))
    }

    /// The score of each cell, if scores are what is wanted.
    fn judge(&mut self, cells: &score::Cells) -> Result<Vec<f64>, TrainError> {
        let (store, budget, cost) = (&self.store, self.budget, &mut self.cost);
        match &mut self.purpose {
            Purpose::Score(metric, positive) => {
                let held = self.held.bytes();
                self.held.resize(0)?;
                let found = score::score(store, cells, (*metric, *positive), budget, cost)?;
                self.held.resize(held)?;
                Ok(found)
            }
            Purpose::Collect(scores) => {
                score::scan(store, cells, budget, cost, |_, row| {
                    scores.add(&row);
                    Ok(())
                })?;
                Ok(vec![f64::NAN; cells.places.len()])
            }
        }
    }

    fn cells(&self, objectives: &[Objective]) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (point, objective) in objectives.iter().enumerate() {
            for fold in 0..self.folds.count() {
                let rows: Arc<dyn RowFilter> = Arc::new(TrainingRows { folds: self.folds.clone(), fold });
                let tasks = objective.split().into_iter().enumerate().map(|(model, objective)| {
                    let (checkpoint, start) = self.checkpoint(&objective, fold, model);
                    Task { rows: Some(rows.clone()), checkpoint, start, ..Task::new(objective) }
                });
                cells.push(Cell { point, fold, tasks: tasks.collect() });
            }
        }
        cells
    }

    fn checkpoint(&self, objective: &Objective, fold: u32, model: usize) -> (Option<CheckpointFile>, Option<Start>) {
        let Some((all, store)) = &self.unfinished else { return (None, None) };
        let name = format!("{}-{}-{fold}-{model}", objective.loss.name(), objective.c);
        let found = all
            .get(&name)
            .filter(|found| found.header.store == *store && found.header.objective == *objective)
            // Other penalties would need their weights, too; those begin anew.
            .filter(|_| objective.is_plain_l2());
        let start = found.map(|found| Start::Earlier(Box::new(found), 1.0));
        (Some(CheckpointFile::among(all, name, store.clone())), start)
    }

    /// Trains in waves of whole cells, scores each wave by the rows that were held out, and lets go of it.
    fn train(
        &mut self,
        cells: Vec<Cell>,
        objectives: &[Objective],
        keep_duals: bool,
    ) -> Result<(Vec<Point>, Vec<Begin>, usize), TrainError> {
        let folds = self.folds.count() as usize;
        let mut scores = vec![vec![f64::NAN; folds]; objectives.len()];
        let mut ends: Vec<(f64, Vec<Status>)> = vec![(0.0, Vec::new()); objectives.len()];
        let mut starts = Vec::new();
        let models = cells.first().map_or(1, |cell| cell.tasks.len());
        let first = &cells[0].tasks[0].objective;
        let is_plain = first.is_plain_l2();
        // Weights stay until they are scored, beside those that a run needs.
        let (_, size) = Plan::for_wave(&*self.store, first, cells.len() * models, self.budget)?;
        let wave = (size / models).max(1);
        let mut cells = cells.into_iter().peekable();
        while cells.peek().is_some() {
            let (mut places, mut tasks) = (Vec::new(), Vec::new());
            for cell in cells.by_ref().take(wave) {
                places.push((cell.point, cell.fold));
                tasks.extend(cell.tasks);
            }
            let left = self.time_left();
            if left == Some(Duration::ZERO) && self.cost.passes > 0 {
                places.iter().for_each(|&(point, _)| ends[point].1.push(Status::OutOfTime));
                continue;
            }
            let options = TrainOptions { max_time: left, ..self.how.with_tasks(tasks) };
            let mut trained = train_all(self.store.clone(), &options, self.budget, self.observer)?;
            if trained.iter().any(|model| model.status == Status::Interrupted) {
                return Err(TrainError::Stopped(Status::Interrupted));
            }
            self.cost = self.cost.with(&Cost::of_all(trained.iter().map(|model| model.cost)));
            if keep_duals {
                // Where dual variables are not enough to know the weights.
                let weights = |model: &Trained| if is_plain { Vec::new() } else { model.weights.clone() };
                starts.extend(trained.iter_mut().map(|model| (model.take_duals(), weights(model))));
            }
            let models: Vec<&[Trained]> = trained.chunks(models).collect();
            let folds = self.folds.clone();
            let cells = score::Cells { objectives, folds: &folds, places: &places, models: &models };
            let found = self.judge(&cells)?;
            for ((&(point, fold), score), models) in places.iter().zip(found).zip(&models) {
                scores[point][fold as usize] = score;
                let certificates: Vec<Certificate> = models.iter().map(|model| model.certificate).collect();
                let gap = Certificate::total(&certificates).map_or(0.0, |total| total.relative_gap());
                ends[point].0 = ends[point].0.max(gap);
                ends[point].1.extend(models.iter().map(|model| model.status));
            }
        }
        let points = objectives.iter().zip(scores).zip(ends);
        let points = points.map(|((objective, scores), (gap, statuses))| {
            Point::new(objective, scores, gap, Status::of_all(statuses.into_iter()))
        });
        Ok((points.collect(), starts, wave * models))
    }
}

impl Point {
    fn new(objective: &Objective, scores: Vec<f64>, relative_gap: f64, status: Status) -> Point {
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
fn best(points: &[Point], smaller_is_better: bool) -> usize {
    let sign = if smaller_is_better { -1.0 } else { 1.0 };
    let better = |a: &Point, b: &Point| (sign * a.mean).total_cmp(&(sign * b.mean)).then(b.c.total_cmp(&a.c));
    let scored = (0..points.len()).filter(|&i| !points[i].mean.is_nan());
    scored.max_by(|&a, &b| better(&points[a], &points[b])).unwrap_or(0)
}

/// The least C within one standard error of the best.
fn simplest(points: &[Point], best: usize, smaller_is_better: bool) -> usize {
    let Some(top) = points.get(best) else { return best };
    let is_near = |point: &Point| match smaller_is_better {
        true => point.mean <= top.mean + top.standard_error,
        false => point.mean >= top.mean - top.standard_error,
    };
    let near = (0..points.len()).filter(|&i| points[i].loss == top.loss && is_near(&points[i]));
    near.min_by(|&a, &b| points[a].c.total_cmp(&points[b].c)).unwrap_or(best)
}
