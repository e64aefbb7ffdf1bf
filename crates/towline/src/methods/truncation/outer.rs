//! The series of convex problems.
use std::sync::Arc;
use std::time::Duration;

use super::Beginning;
use super::start::{Sample, first_model, weights_of};
use super::survey::{Survey, survey};
use crate::bits::RowBits;
use crate::block::RowInfo;
use crate::budget::Budget;
use crate::engine::{
    Certificate, Cost, Duals, Limits, Observer, Plan, RowFilter, Standing, Start, Status, Step, Task, TrainError,
    TrainOptions, Trained, Watch, WeightsNow,
};
use crate::objective::Objective;
use crate::store::BlockStore;

/// What solves a convex problem: [`crate::methods::auto::train`] or one like it.
pub type ConvexTrainer =
    fn(Arc<dyn BlockStore>, &TrainOptions, &Budget, &mut dyn Observer) -> Result<Trained, TrainError>;

/// Minimises the objective of the only task, which is truncated and has the penalty ½‖w‖², within `budget`.
pub fn train(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    (beginning, convex): (Beginning, ConvexTrainer),
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    let run = (&Limits::new(options), &options.tasks[0]);
    train_from(SeriesStart::Task(beginning), store, run, convex, budget, observer)
}

/// The same for one task of a run that may have begun otherwise: its limits go on.
pub(crate) fn train_from(
    origin: SeriesStart,
    store: Arc<dyn BlockStore>,
    (limits, task): (&Limits, &Task),
    convex: ConvexTrainer,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    let options = limits.options();
    budget.check("a truncated loss", least_bytes(&*store, budget))?;
    let _paid = budget.reserve("weights and outliers", own_bytes(&*store))?;
    let _duals_paid = budget.reserve("dual variables to start from", series_dual_bytes(&*store, budget)?)?;
    let reached = origin.reached();
    let mut series = Series::begin(&store, (limits, task), origin, budget)?;
    if series.survey.objective < reached {
        observer.problem_solved(series.survey.objective, &series.weights);
    }
    loop {
        let outliers = Arc::new(series.outliers.clone());
        let kept = series.duals.take();
        let convex_options = TrainOptions {
            tolerance: options.tolerance,
            max_passes: options.max_passes.saturating_sub(series.cost.passes).max(1),
            // The rows are looked at once more at the end.
            max_time: limits.rest().map(|rest| rest - series.look_time.min(rest / 2)),
            order: options.order,
            cache_share: options.cache_share,
            selection: options.selection,
            rounds: options.rounds,
            variant: options.variant,
            seed: options.seed,
            threads: options.threads,
            stop: options.stop.clone(),
            ..TrainOptions::of(Task {
                rows: Some(Arc::new(Without(outliers.clone()))),
                start: kept.map(|duals| Start::Duals(duals, 1.0)),
                start_weights: series.weights.clone(),
                checkpoint: task.checkpoint.clone(),
                ..Task::new(series.objective.clone())
            })
        };
        let constant = series.survey.constant;
        let mut summed = Summed { observer, before: series.cost, constant };
        let trained = convex(store.clone(), &convex_options, budget, &mut summed)?;
        series.cost = series.cost.with(&trained.cost);
        let was_solved = trained.status == Status::Converged;
        let mut certificate = shifted(trained.certificate, constant);
        let mut duals = trained.duals;
        // wᵗ itself may be good enough: its objective in this problem is F_s, and the bound of the problem is within
        // the tolerance.
        let known = Certificate { objective: series.survey.objective, ..certificate };
        let mut status = trained.status;
        if known.relative_gap() <= options.tolerance {
            return Ok(series.end(Status::Converged, known, duals, limits));
        }
        let found = match series.look(&store, &trained.weights, &mut duals, budget, (limits.watch(), true)) {
            // The model is wᵗ still.
            Err(TrainError::Stopped(status)) => return Ok(series.end(status, known, duals, limits)),
            found => found?,
        };
        if found.objective < series.survey.objective {
            (series.weights, series.survey) = (trained.weights, found);
            Standing::by(certificate).tell(observer, series.cost, &[&series.weights]);
            observer.problem_solved(found.objective, &series.weights);
            if was_solved && found.crossed == 0 {
                let objective = found.objective;
                return Ok(series.end(Status::Converged, Certificate { objective, ..certificate }, duals, limits));
            }
        } else if was_solved {
            // Only rounding can bring it here: a problem that is solved has weights that are better, or wᵗ was good
            // enough.
            return Ok(series.end(Status::Converged, known, duals, limits));
        } else {
            // The model is wᵗ still.
            certificate = known;
        }
        if was_solved {
            status = match limits.reason_to_stop(series.cost.passes) {
                Some(status) => status,
                None => {
                    series.duals = Some(duals);
                    continue;
                }
            };
        }
        return Ok(series.end(status, certificate, duals, limits));
    }
}

/// All rows but the outliers.
#[derive(Debug)]
struct Without(Arc<RowBits>);

impl RowFilter for Without {
    fn keeps(&self, _info: &RowInfo, position: u64) -> bool {
        !self.0.get(position)
    }
}

/// Whether a series could be trained by blocks with so much memory.
pub(crate) fn fits(store: &dyn BlockStore, bytes: u64) -> bool {
    let budget = Budget::new(bytes);
    let Ok(_paid) = budget.reserve("weights and outliers", own_bytes(store)) else { return false };
    let duals = series_dual_bytes(store, &budget).and_then(|bytes| Ok(budget.reserve("dual variables", bytes)?));
    duals.is_ok_and(|_paid| Plan::new(store, &budget).is_ok())
}

/// What a series by blocks takes at least.
pub(crate) fn least_bytes(store: &dyn BlockStore, budget: &Budget) -> u64 {
    let least = Plan::new(store, budget).map_or_else(|refused| refused.least_bytes, |plan| plan.least_bytes);
    own_bytes(store) + least.saturating_sub(budget.held_bytes())
}

/// The weights of the last two problems, and who is an outlier under each.
fn own_bytes(store: &dyn BlockStore) -> u64 {
    let shape = store.shape();
    2 * (8 * (shape.columns + 1) + RowBits::bytes(shape.rows))
}

/// Dual variables wait in memory between two problems, unless a trainer would put them on disk as well.
fn series_dual_bytes(store: &dyn BlockStore, budget: &Budget) -> Result<u64, TrainError> {
    let on_disk = Plan::new(store, budget)?.duals_on_disk;
    Ok(if on_disk { 0 } else { 8 * store.shape().rows })
}

/// The certificate of the convex problem with what outliers cost.
fn shifted(certificate: Certificate, constant: f64) -> Certificate {
    let (objective, dual_objective) = (certificate.objective + constant, certificate.dual_objective + constant);
    Certificate { objective, dual_objective, ..certificate }
}

/// Where a series begins.
pub(crate) enum SeriesStart {
    /// With what the task starts from, or else with a model of some rows.
    Task(Beginning),
    /// Where another trainer has come to.
    State(SeriesState),
}

/// What another trainer knows of a series.
pub(crate) struct SeriesState {
    /// wᵗ.
    pub weights: Vec<f64>,
    /// F_s at wᵗ, or infinity if nobody knows: the series reports no more than that.
    pub reached: f64,
    /// Dual variables, on disk: others may have their turn before the series goes on.
    pub duals: Duals,
    /// What it has cost so far.
    pub cost: Cost,
}

impl SeriesStart {
    fn reached(&self) -> f64 {
        match self {
            SeriesStart::Task(_) => f64::INFINITY,
            SeriesStart::State(known) => known.reached,
        }
    }
}

/// wᵗ, and what is known of it.
struct Series {
    weights: Vec<f64>,
    outliers: RowBits,
    survey: Survey,
    duals: Option<Duals>,
    cost: Cost,
    objective: Objective,
    /// How long it took to look at all rows.
    look_time: Duration,
}

impl Series {
    fn begin(
        store: &Arc<dyn BlockStore>,
        (limits, task): (&Limits, &Task),
        origin: SeriesStart,
        budget: &Budget,
    ) -> Result<Series, TrainError> {
        let rows = store.shape().rows;
        let mut duals = task.no_duals(rows, Plan::new(&**store, budget)?.duals_on_disk, budget)?;
        let mut cost = Cost::default();
        let weights = match (origin, &task.start) {
            (SeriesStart::State(known), _) => {
                duals.begin_with(&Start::Duals(known.duals, 1.0))?;
                cost = known.cost;
                known.weights
            }
            (SeriesStart::Task(_), Some(start)) => {
                duals.begin_with(start)?;
                cost.passes += 1;
                match &task.start_weights[..] {
                    [] => weights_of(&**store, &duals, &task.objective, (limits.watch(), budget))?,
                    kept => kept.to_vec(),
                }
            }
            (SeriesStart::Task(beginning), None) => {
                let sample = Sample::draw(&**store, beginning, limits, budget)?;
                let first = first_model(&sample, (limits, &task.objective), budget)?;
                duals.set(first.duals.iter().map(|(position, value)| (*position, std::slice::from_ref(value))))?;
                cost = Cost { bytes_read: sample.bytes_read, ..first.cost };
                first.weights
            }
        };
        let mut series = Series {
            weights: Vec::new(),
            outliers: RowBits::new(rows),
            survey: Survey::default(),
            duals: None,
            cost,
            objective: task.objective.clone(),
            look_time: Duration::ZERO,
        };
        series.survey = series.look(store, &weights, &mut duals, budget, (limits.watch(), false))?;
        series.weights = weights;
        series.duals = Some(duals);
        Ok(series)
    }

    fn end(self, status: Status, certificate: Certificate, duals: Duals, limits: &Limits) -> Trained {
        let cost = Cost { seconds: limits.seconds(), ..self.cost };
        Trained::new(self.weights, status, certificate, cost).with_duals(duals)
    }

    fn look(
        &mut self,
        store: &Arc<dyn BlockStore>,
        weights: &[f64],
        duals: &mut Duals,
        budget: &Budget,
        watched: (&Watch, bool),
    ) -> Result<Survey, TrainError> {
        let Series { outliers, objective, cost, .. } = self;
        let before = cost.certify_seconds;
        let find = |cost: &mut Cost| survey(store, weights, objective, (outliers, duals), (budget, cost), watched);
        let found = cost.certifying(find);
        let seconds = self.cost.certify_seconds - before;
        self.cost.seconds += seconds;
        self.look_time = Duration::from_secs_f64(seconds);
        found
    }
}

/// Adds what earlier problems have cost to what an observer sees of this one.
pub struct Summed<'a> {
    pub observer: &'a mut dyn Observer,
    pub before: Cost,
    pub constant: f64,
}

impl Observer for Summed<'_> {
    fn step(&mut self, step: &Step, weights: &WeightsNow) {
        let certificate = step.certificate.map(|certificate| shifted(certificate, self.constant));
        let with_outliers = |value: Option<f64>| value.map(|value| value + self.constant);
        let (dual_objective, objective) = (with_outliers(step.dual_objective), with_outliers(step.objective));
        let step = Step { cost: self.before.with(&step.cost), dual_objective, objective, certificate, ..*step };
        self.observer.step(&step, weights);
    }
}
