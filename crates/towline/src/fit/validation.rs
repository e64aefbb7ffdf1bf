//! k-fold cross-validation: which C, and which loss, by rows that the models have not seen.
use std::path::PathBuf;
use std::sync::Arc;

use super::Fit;
use super::data::Data;
use super::error::{FitError, refuse};
use super::settings::Setting;
use super::unfinished;
use crate::budget::Budget;
use crate::cv::{self, Comparison, Folds, Split, Validated};
use crate::engine::{Observer, TrainError, TrainOptions};
use crate::evaluate::Metric;
use crate::model::chances::Chances;
use crate::objective::Objective;

/// A comparison of fits by rows that are held out; made by [`Fit::cross_validate`].
///
/// ```
/// use towline::{Fit, Rows};
///
/// let values: Vec<f32> = (0..200u32).map(|k| (k * 7919 % 31) as f32 / 31.0).collect();
/// let labels: Vec<f64> = values.chunks(2).map(|row| if row[0] > row[1] { 1.0 } else { -1.0 }).collect();
/// let rows = Rows::dense(values, 2, &labels)?;
/// let found = Fit::logistic().cross_validate().cs([0.01, 1.0, 100.0]).folds(4).run(&rows)?;
/// assert_eq!(found.points.len(), 3);
/// assert!(found.points[found.best].mean > 0.8);
/// # Ok::<(), towline::FitError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CrossValidation {
    fits: Vec<Fit>,
    cs: Vec<f64>,
    folds: u32,
    stratify: bool,
    split_groups: bool,
    repeats: u32,
    ordered: bool,
    splits: Vec<Split>,
    metric: Option<Metric>,
    folder: Option<PathBuf>,
}

impl Fit {
    /// Compares this fit with others by rows that are held out, for C = 0.01, 0.1, 1, 10, 100 in five folds.
    pub fn cross_validate(self) -> CrossValidation {
        CrossValidation {
            fits: vec![self],
            cs: vec![0.01, 0.1, 1.0, 10.0, 100.0],
            folds: 5,
            stratify: false,
            split_groups: false,
            repeats: 1,
            ordered: false,
            splits: Vec::new(),
            metric: None,
            folder: None,
        }
    }
}

impl CrossValidation {
    /// Another fit, such as one with another loss. How models are trained follows the first one.
    pub fn and(mut self, fit: Fit) -> CrossValidation {
        self.fits.push(fit);
        self
    }

    /// The values of C.
    pub fn cs(mut self, cs: impl Into<Vec<f64>>) -> CrossValidation {
        self.cs = cs.into();
        self
    }

    /// Parts that the rows are divided into; each is held out once.
    pub fn folds(mut self, folds: u32) -> CrossValidation {
        self.folds = folds;
        self
    }

    /// Gives every fold the same share of every class.
    pub fn stratify(mut self, stratify: bool) -> CrossValidation {
        self.stratify = stratify;
        self
    }

    /// Lets rows of one group go to different folds.
    pub fn split_groups(mut self, split: bool) -> CrossValidation {
        self.split_groups = split;
        self
    }

    /// Divides the rows into folds this many times, each time anew.
    pub fn repeats(mut self, repeats: u32) -> CrossValidation {
        self.repeats = repeats.max(1);
        self
    }

    /// Folds in the order of the input: each is tested by the rows that come after those that it was trained on.
    pub fn ordered(mut self, ordered: bool) -> CrossValidation {
        self.ordered = ordered;
        self
    }

    /// Folds as the program has made them, by the numbers of rows in the input.
    pub fn splits(mut self, splits: Vec<Split>) -> CrossValidation {
        self.splits = splits;
        self
    }

    /// What models are compared by: accuracy, or the root of the mean squared error, unless something else is asked
    /// for.
    pub fn metric(mut self, metric: Metric) -> CrossValidation {
        self.metric = Some(metric);
        self
    }

    /// A folder for unfinished models of a store: the same call goes on from there after an interruption. It is gone in
    /// the end.
    pub fn checkpoint(mut self, folder: impl Into<PathBuf>) -> CrossValidation {
        self.folder = Some(folder.into());
        self
    }

    /// What is minimised: every fit with every C.
    pub fn objectives(&self, data: &Data, budget: &Budget) -> Result<Vec<Objective>, FitError> {
        let mut objectives = Vec::new();
        for fit in &self.fits {
            fit.check()?;
            if fit.is_set(Setting::Truncate) || fit.method.own_loss().is_some() || fit.method.baseline().is_some() {
                return refuse(
                    "only convex problems are compared, by exact methods; leave `truncate` and `method` out",
                );
            }
            if fit.is_set(Setting::Calibrate) {
                return refuse("models of folds are compared as they are; train the best one with `calibrate`");
            }
            let fit = fit.clone().with_joint_classes(data)?;
            for &c in &self.cs {
                objectives.push(fit.goal.objective(c, true, data, budget)?);
            }
        }
        if objectives.is_empty() {
            return refuse("there is nothing to compare; name a value of `c`");
        }
        let regression = |objective: &Objective| !objective.loss.is_classification();
        if objectives.iter().any(regression) && !objectives.iter().all(regression) {
            return refuse(
                "losses for classification and for regression have no score in common; name losses of one kind",
            );
        }
        if let Some(metric) = self.metric {
            let check = |objective: &Objective| metric.check(&objective.targets, Chances::of_loss(objective).is_some());
            objectives.iter().try_for_each(check).or_else(|error| refuse(error.to_string()))?;
        }
        Ok(objectives)
    }

    /// Trains a model for each fold, fit and C, all over shared blocks, and scores it by the rows of the fold.
    pub fn run(&self, data: impl Into<Data>) -> Result<Validated, FitError> {
        self.run_with(data, &mut ())
    }

    /// The same with an observer.
    pub fn run_with(&self, data: impl Into<Data>, observer: &mut dyn Observer) -> Result<Validated, FitError> {
        let data = data.into();
        let first = &self.fits[0];
        let budget = first.budget.clone().unwrap_or_else(|| data.default_budget());
        let objectives = self.objectives(&data, &budget)?;
        self.run_on(&objectives, &data, &budget, observer)
    }

    /// The same for objectives that are known.
    pub fn run_on(
        &self,
        objectives: &[Objective],
        data: &Data,
        budget: &Budget,
        observer: &mut dyn Observer,
    ) -> Result<Validated, FitError> {
        let folds = self.make_folds(data, budget)?;
        let how = self.options(objectives)?;
        let store = data.store();
        let folds = Arc::new(folds);
        let positive = self.fits[0].goal.reporting(&objectives[0].targets, data).positive_class;
        let comparison = Comparison { metric: self.metric, positive, unfinished: None };
        let Some(folder) = &self.folder else {
            return Ok(cv::cross_validate(store, objectives, folds, comparison, &how, budget, observer)?);
        };
        let Some(disk) = data.disk() else {
            return refuse("`checkpoint` is for a store; pack the rows first");
        };
        let words = format!(
            "{} folds, {} times, seed {}, ordered {}, stratify {}, split groups {}",
            self.folds, self.repeats, how.seed, self.ordered, self.stratify, self.split_groups
        );
        let restart = self.fits[0].is_set(Setting::Restart);
        let (unfinished, _claim) = unfinished::open(folder, &words, disk, restart)?;
        let comparison = Comparison { unfinished: Some(&unfinished), ..comparison };
        let found = cv::cross_validate(store, objectives, folds, comparison, &how, budget, observer);
        match found {
            // The same call goes on from there.
            Ok(_) if how.stop.is_requested() => Err(TrainError::Stopped(crate::engine::Status::Interrupted).into()),
            Ok(found) => {
                unfinished::remove(&unfinished.folder)?;
                Ok(found)
            }
            Err(error) => {
                if unfinished::is_empty(&unfinished.folder) {
                    unfinished::remove(&unfinished.folder)?;
                }
                Err(error.into())
            }
        }
    }

    fn options(&self, objectives: &[Objective]) -> Result<TrainOptions, FitError> {
        self.fits[0].options(vec![crate::engine::Task::new(objectives[0].clone())])
    }

    fn make_folds(&self, data: &Data, budget: &Budget) -> Result<Folds, FitError> {
        if !self.splits.is_empty() {
            return Ok(Folds::given(self.splits.clone()));
        }
        let by_group = data.is_grouped() && !self.split_groups;
        if self.stratify && by_group {
            return refuse(
                "rows of a group stay together, so folds cannot have the same share of every class; leave `stratify` \
                 out, or add \
                 `split_groups`",
            );
        }
        let rows = data.store().shape().rows;
        if self.folds < 2 || rows < u64::from(self.folds) {
            return refuse(format!("{rows} rows cannot be divided into {} folds; use fewer `folds`", self.folds));
        }
        if self.ordered {
            return self.ordered_folds(by_group, rows);
        }
        let deal = |repeat: u32| {
            let seed = self.fits[0].seed.wrapping_add(repeat.into());
            Ok::<_, FitError>(match self.stratify {
                true => Folds::stratified(self.folds, seed, &*data.store(), budget)?,
                false => Folds::new(self.folds, seed, by_group),
            })
        };
        (1..self.repeats).try_fold(deal(0)?, |folds, repeat| Ok(folds.and(deal(repeat)?)))
    }

    fn ordered_folds(&self, by_group: bool, rows: u64) -> Result<Folds, FitError> {
        if self.stratify || self.repeats > 1 {
            return refuse(
                "`ordered` folds follow the input, and are the same every time; leave `stratify` and `repeats` out",
            );
        }
        if by_group {
            return refuse(
                "rows of a group stay together, which `ordered` folds cannot promise; leave `ordered` out, or add \
                 `split_groups`",
            );
        }
        if rows <= u64::from(self.folds) {
            return refuse(format!(
                "{rows} rows cannot be divided into {} ordered folds; use fewer `folds`",
                self.folds
            ));
        }
        Ok(Folds::ordered(self.folds, rows))
    }
}
