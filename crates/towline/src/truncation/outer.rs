//! The series of convex problems.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Beginning;
use super::start::{first_model, weights_of};
use super::survey::{Survey, survey};
use crate::bits::RowBits;
use crate::budget::Budget;
use crate::objective::Objective;
use crate::store::BlockStore;
use crate::trainer::{
    Certificate, Cost, Duals, Observer, Plan, Start, Status, Step, TrainError, TrainOptions, Trained,
};

/// What solves a convex problem: [`crate::trainer::train`] or one like it.
pub type ConvexTrainer =
    fn(Arc<dyn BlockStore>, &TrainOptions, &Budget, &mut dyn Observer) -> Result<Trained, TrainError>;

/// Where F_s does not fall, the convex problem is solved to a tenth of the tolerance, at most so many times: an objective that is nearly as good may hide a fall.
const TIGHTENINGS: u32 = 3;

/// Minimises `options.objective`, which is truncated and has the penalty ½‖w‖², within `budget`.
pub fn train(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    (beginning, convex): (Beginning, ConvexTrainer),
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    let begin = Instant::now();
    let (rows, columns) = (store.shape().rows, store.shape().columns);
    // The weights of the last two problems, and who is an outlier under each.
    let _paid = budget.reserve("weights and outliers", 2 * (8 * (columns + 1) + RowBits::bytes(rows)))?;
    let _duals_paid = budget.reserve("dual variables to start from", series_dual_bytes(&*store, budget)?)?;
    let mut series = Series::begin(&store, options, beginning, budget)?;
    let (mut tolerance, mut tightened) = (options.tolerance, 0);
    loop {
        let before = series.outliers.clone();
        let kept = series.duals.take();
        let convex_options = TrainOptions {
            tolerance,
            max_passes: options.max_passes.saturating_sub(series.cost.passes).max(1),
            max_time: options.max_time.map(|limit| limit.saturating_sub(begin.elapsed()).max(Duration::from_millis(1))),
            order: options.order,
            cache_share: options.cache_share,
            selection: options.selection,
            rounds: options.rounds,
            seed: options.seed,
            start: kept.map(|duals| Start::Duals(duals, 1.0)),
            start_weights: series.weights.clone(),
            left_out: Some(Arc::new(before)),
            checkpoint: options.checkpoint.clone(),
            stop: options.stop.clone(),
            ..TrainOptions::new(options.objective.clone())
        };
        let constant = series.survey.constant;
        let mut summed = Summed { observer, before: series.cost, constant };
        let trained = convex(store.clone(), &convex_options, budget, &mut summed)?;
        series.cost = series.cost + trained.cost;
        let was_solved = trained.status == Status::Converged;
        let certificate = shifted(trained.certificate, constant);
        let mut duals = trained.duals;
        let found = series.look(&store, &trained.weights, &mut duals, budget)?;
        let falls = found.objective < series.survey.objective;
        // At the same sets, weights that are worse are worse only within the tolerance.
        let ends = was_solved && found.crossed == 0;
        let over = reason_to_stop(options, begin, &series.cost);
        if !falls && !ends && was_solved && tightened < TIGHTENINGS && over.is_none() {
            (tolerance, tightened) = (0.1 * tolerance, tightened + 1);
            series.duals = Some(duals);
            if let Some(before) = convex_options.left_out {
                series.outliers = Arc::unwrap_or_clone(before);
            }
            continue;
        }
        (tolerance, tightened) = (options.tolerance, 0);
        let mut certificate = certificate;
        if falls {
            (series.weights, series.survey) = (trained.weights, found);
        }
        if ends || !falls {
            // The sets of the problem are those of these weights, where its objective is F_s.
            certificate.objective = series.survey.objective;
        }
        observer.step(&step(series.cost, certificate), &series.weights);
        observer.problem_solved(series.survey.objective, &series.weights);
        let status = match trained.status {
            Status::Converged if ends || !falls => Status::Converged,
            Status::Converged => match over {
                Some(status) => status,
                None => {
                    series.duals = Some(duals);
                    continue;
                }
            },
            early => early,
        };
        series.cost.seconds = begin.elapsed().as_secs_f64();
        let (weights, cost) = (series.weights, series.cost);
        return Ok(Trained { weights, duals, status, certificate, cost, baseline: None });
    }
}

fn reason_to_stop(options: &TrainOptions, begin: Instant, cost: &Cost) -> Option<Status> {
    if options.stop.load(Ordering::Relaxed) {
        Some(Status::Interrupted)
    } else if options.max_time.is_some_and(|limit| begin.elapsed() >= limit) {
        Some(Status::OutOfTime)
    } else if cost.passes >= options.max_passes {
        Some(Status::OutOfPasses)
    } else {
        None
    }
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

fn step(cost: Cost, certificate: Certificate) -> Step {
    Step { cost, dual_objective: Some(certificate.dual_objective), gap_estimate: None, certificate: Some(certificate) }
}

/// wᵗ, and what is known of it.
struct Series {
    weights: Vec<f64>,
    outliers: RowBits,
    survey: Survey,
    duals: Option<Duals>,
    cost: Cost,
    objective: Objective,
}

impl Series {
    fn begin(
        store: &Arc<dyn BlockStore>,
        options: &TrainOptions,
        beginning: Beginning,
        budget: &Budget,
    ) -> Result<Series, TrainError> {
        let rows = store.shape().rows;
        let plan = Plan::new(&**store, budget)?;
        let folder = options.checkpoint.as_ref().and_then(|file| file.path.parent()).filter(|folder| folder.is_dir());
        let mut duals = match plan.duals_on_disk {
            true => Duals::on_disk(rows, folder.unwrap_or(&std::env::temp_dir()))?,
            false => Duals::in_memory(rows),
        };
        let mut cost = Cost::default();
        let weights = match &options.start {
            Some(start) => {
                duals.begin_with(start)?;
                cost.passes += 1;
                weights_of(&**store, &duals, &options.objective, budget)?
            }
            None => {
                let first = first_model(&**store, options, beginning, budget)?;
                duals.set(first.duals.iter().copied())?;
                cost = first.cost;
                first.weights
            }
        };
        let mut series = Series {
            weights: Vec::new(),
            outliers: RowBits::new(rows),
            survey: Survey::default(),
            duals: None,
            cost,
            objective: options.objective.clone(),
        };
        series.survey = series.look(store, &weights, &mut duals, budget)?;
        series.weights = weights;
        series.duals = Some(duals);
        Ok(series)
    }

    fn look(
        &mut self,
        store: &Arc<dyn BlockStore>,
        weights: &[f64],
        duals: &mut Duals,
        budget: &Budget,
    ) -> Result<Survey, TrainError> {
        let begin = Instant::now();
        let found = survey(store, weights, &self.objective, (&mut self.outliers, duals), (budget, &mut self.cost));
        let seconds = begin.elapsed().as_secs_f64();
        self.cost.certify_seconds += seconds;
        self.cost.seconds += seconds;
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
    fn step(&mut self, step: &Step, weights: &[f64]) {
        let certificate = step.certificate.map(|certificate| shifted(certificate, self.constant));
        let dual_objective = step.dual_objective.map(|value| value + self.constant);
        let step = Step { cost: self.before + step.cost, dual_objective, certificate, ..*step };
        self.observer.step(&step, weights);
    }
}
