//! Models along a series of penalties, from one under which all weights are 0 down, or along values of C.
//!
//! Each fit starts from the one before. A folder holds a model per point and the dual variables of the newest point,
//! from which the same call goes on after an interruption. Where each class has a model of its own, all of them are in
//! one file.
mod points;
mod walk;

pub use walk::PathPoint;

use std::path::Path;

use super::Fit;
use super::data::Data;
use super::error::{FitError, refuse};
use super::fitted::Fitted;
use super::settings::Setting;
use crate::budget::Budget;
use crate::engine::{Observer, PathState, Trained, WarmState};
use crate::methods::auto;
use crate::objective::Objective;
use points::{Grid, Points};
use walk::Walk;

/// A path of fits; made by [`Fit::path`].
///
/// ```
/// use towline::{Fit, Regularizer, Rows};
///
/// let values: Vec<f64> = (0..60).map(|k| f64::from(k * k % 17) - 8.0).collect();
/// let labels: Vec<f64> = values.chunks(3).map(|row| row[0] - 0.5 * row[2]).collect();
/// let rows = Rows::dense(values, 3, &labels)?;
/// let models = Fit::squared().penalty(Regularizer::L1).path().points(5).run(&rows)?;
/// assert_eq!(models.len(), 5);
/// // All weights are 0 at the first point, and fewer and fewer later on.
/// assert_eq!((models[0].features.len(), models[4].features.len() >= 2), (0, true));
/// # Ok::<(), towline::FitError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PathFit {
    fit: Fit,
    grid: Grid,
}

/// What came of a path that was written to a folder.
#[derive(Clone, Debug)]
pub struct PathRun {
    /// The points in their order, those of an earlier run included.
    pub points: Vec<PathPoint>,
    /// What is minimised at each point, those that are not trained yet included.
    pub objectives: Vec<Objective>,
    /// Points that an earlier run had trained.
    pub resumed: usize,
    /// Whether points were trained together, so that what was read for one was read for others, too.
    pub together: bool,
    /// Bytes read from the store by this run.
    pub bytes_read: u64,
}

impl Fit {
    /// The same along 50 values of λ, from the least under which all weights are 0 to a thousandth of it.
    pub fn path(self) -> PathFit {
        PathFit { fit: self, grid: Grid::default() }
    }
}

impl PathFit {
    /// How many points there are, evenly spaced on a logarithmic scale.
    pub fn points(mut self, points: u32) -> PathFit {
        let ratio = self.grid.ratio();
        self.grid = Grid::Down { ratio, points };
        self
    }

    /// The last λ as a part of the first.
    pub fn lambda_ratio(mut self, ratio: f64) -> PathFit {
        let points = self.grid.points();
        self.grid = Grid::Down { ratio, points };
        self
    }

    /// The values of λ themselves, in the order in which they are trained.
    pub fn lambdas(mut self, lambdas: impl Into<Vec<f64>>) -> PathFit {
        self.grid = Grid::Lambdas(lambdas.into());
        self
    }

    /// A path along values of C, in the order in which they are trained; from the least on, weights are smallest at
    /// first.
    pub fn cs(mut self, cs: impl Into<Vec<f64>>) -> PathFit {
        self.grid = Grid::Cs(cs.into());
        self
    }

    /// Refuses settings that a path would have to ignore.
    pub fn check(&self) -> Result<(), FitError> {
        let fit = &self.fit;
        fit.check()?;
        if fit.goal.penalty.lambda.is_some() && !matches!(self.grid, Grid::Cs(_)) {
            return refuse("`lambda` is what changes along a path; use `lambdas`, or `lambda_ratio` and `points`");
        }
        if fit.is_set(Setting::WarmStart) {
            return refuse(
                "a path starts by itself, and goes on from an earlier run of its own; leave `warm_start` out",
            );
        }
        if fit.is_set(Setting::Calibrate) {
            return refuse("the models of a path are not calibrated; train the one that you choose with `calibrate`");
        }
        if fit.is_set(Setting::Truncate) {
            return refuse(
                "a truncated loss is no convex problem, along which a path could start; leave `truncate` out",
            );
        }
        if let Some(name) = fit.first_set(&[Setting::InitRows, Setting::QueryRows]) {
            return refuse(format!("`{name}` is for truncated losses; leave it out"));
        }
        if fit.method.baseline().is_some() || fit.method.own_loss().is_some() {
            return refuse("a path needs a method with dual variables; leave `method` out");
        }
        Ok(())
    }

    /// Fits a model for each point.
    pub fn run(&self, data: impl Into<Data>) -> Result<Vec<Fitted>, FitError> {
        self.run_with(data, &mut ())
    }

    /// The same with an observer.
    pub fn run_with(&self, data: impl Into<Data>, observer: &mut dyn Observer) -> Result<Vec<Fitted>, FitError> {
        let data = data.into();
        let budget = self.budget(&data);
        let points = self.lay_out(&data, &budget)?;
        let models = points.objectives[0].split().len();
        // All of them are there in the end.
        data.check_model(models * points.objectives.len(), &points.objectives[0], &budget)?;
        let options = self.fit.options(points.tasks())?;
        let mut found: Vec<Fitted> = Vec::with_capacity(points.objectives.len());
        let mut each = |_: usize, together: &[Trained]| {
            for trained in together.chunks(models) {
                let (model, width) = data.model(trained, &points.objectives[found.len()], &budget)?;
                found.push(Fitted { model, width, solver: Some(trained[0].solver), state: Vec::new() });
            }
            Ok(())
        };
        let chain = chain(points.along.clone(), models);
        auto::path::<FitError>(data.store(), &options, chain, &budget, observer, &mut each)?;
        Ok(found)
    }

    /// Fits a model for each point and writes it into `folder`: `01.towm`, `02.towm` and so on. Goes on from what an
    /// interrupted run of the same path has left there. Somebody else must not write into the folder at the same time
    /// ([`crate::output::Claim`]).
    pub fn run_to(
        &self,
        data: impl Into<Data>,
        folder: impl AsRef<Path>,
        observer: &mut dyn Observer,
    ) -> Result<PathRun, FitError> {
        let data = data.into();
        let Some(store) = data.disk() else {
            return refuse("a path into a folder is for a store; pack the rows first, or keep the models in memory");
        };
        let budget = self.budget(&data);
        let points = self.lay_out(&data, &budget)?;
        let mut options = self.fit.options(points.tasks())?;
        let Points { objectives, along, bytes_read } = points;
        let reporting = self.fit.goal.reporting(&objectives[0].targets, &data);
        let (store, folder) = (store.clone(), folder.as_ref());
        let mut walk = Walk { store, budget, folder, objectives, reporting, done: Vec::new() };
        let goes_on = !self.fit.is_set(Setting::Restart) && walk.go_on(&mut options)?;
        if goes_on {
            observer.note(&format!(
                "going on after point {} of {} (`restart` begins anew)",
                walk.done.len(),
                walk.objectives.len()
            ));
        }
        let resumed = walk.done.len();
        let (together, read) = walk.walk(&options, along.filter(|_| !goes_on), observer)?;
        Ok(PathRun { points: walk.done, objectives: walk.objectives, resumed, together, bytes_read: bytes_read + read })
    }

    fn budget(&self, data: &Data) -> Budget {
        self.fit.budget.clone().unwrap_or_else(|| data.default_budget())
    }

    fn lay_out(&self, data: &Data, budget: &Budget) -> Result<Points, FitError> {
        self.check()?;
        let c = match &self.grid {
            Grid::Cs(cs) => cs.first().copied(),
            _ => self.fit.c,
        };
        let objective = self.fit.goal.objective(c.unwrap_or(1.0), true, data, budget)?;
        let points = points::lay_out(&self.grid, objective, data, budget)?;
        self.fit.choose(&points.objectives[0], data, &mut Vec::new())?;
        Ok(points)
    }
}

/// How the models of a point follow those of another.
fn chain(along: Option<WarmState>, models: usize) -> PathState {
    match along {
        Some(along) => PathState::from(Some(along)),
        None => PathState::of(models),
    }
}
