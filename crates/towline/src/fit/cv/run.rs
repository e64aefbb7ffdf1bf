//! Models of folds in training: in waves of whole cells, each scored by the rows that were held out.
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::points::Point;
use super::{Folds, HeldOutScores, TrainingRows, score};
use crate::budget::{Budget, Reservation};
use crate::engine::{
    Certificate, CheckpointFile, Checkpoints, Cost, Observer, Plan, RowFilter, Start, Status, Task, TrainError,
    TrainOptions, Trained,
};
use crate::evaluate::{Judge, Metric};
use crate::methods::auto::train_all;
use crate::objective::Objective;
use crate::second_order;
use crate::store::{BlockStore, StoreFingerprint};

/// What models are trained for.
pub(super) enum Purpose<'a> {
    /// The score of each fold; of two classes this one is reported.
    Score(Metric, usize),
    /// The scores of all rows.
    Collect(&'a mut HeldOutScores),
}

/// Models of folds in training.
pub(super) struct Validation<'a> {
    pub store: Arc<dyn BlockStore>,
    pub folds: Arc<Folds>,
    /// Models that may be continued, and the data that they belong to.
    pub unfinished: Option<(Arc<Checkpoints>, StoreFingerprint)>,
    purpose: Purpose<'a>,
    how: &'a TrainOptions,
    budget: &'a Budget,
    observer: &'a mut dyn Observer,
    /// What scores will take, kept free while models train.
    held: Reservation,
    begin: Instant,
    pub cost: Cost,
}

/// What a model starts from.
type Begin = (Start, Vec<f64>);

/// The models of one objective and one fold.
struct Cell {
    point: usize,
    fold: u32,
    tasks: Vec<Task>,
}

/// Sums over rows are distinguished by at most this many folds, and the rows that a model has not seen are all others.
pub(super) fn folds_fit(folds: &Folds) -> bool {
    folds.per_deal() <= 64 && folds.use_every_row()
}

impl<'a> Validation<'a> {
    pub fn new(
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
    pub fn score_sums(&mut self, objectives: &[Objective]) -> Result<Vec<Point>, TrainError> {
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

    /// Keeps memory free for the scores of all rows by the models of this many objectives, where they are ranked.
    pub fn hold_scores(&mut self, objective: &Objective, count: usize) -> Result<(), TrainError> {
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
    pub fn along_c(&mut self, objectives: &[Objective]) -> Result<(Vec<Point>, usize), TrainError> {
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
    pub fn all_at_once(&mut self, objectives: &[Objective]) -> Result<(Vec<Point>, usize), TrainError> {
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
        let points = points
            .map(|((objective, scores), (gap, statuses))| Point::new(objective, scores, gap, Status::of_all(statuses)));
        Ok((points.collect(), starts, wave * models))
    }
}
