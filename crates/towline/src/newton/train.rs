//! Training by Newton steps to a relative gap.
use std::sync::Arc;
use std::time::Instant;

use super::rows::{Rows, StoreRows};
use super::trust_region::Minimiser;
use crate::budget::Budget;
use crate::loss::{LossError, SmoothLoss, SmoothLossVisitor};
use crate::objective::Objective;
use crate::store::{BlockStore, ReadAhead};
use crate::trainer::{
    Certificate, Cost, Duals, Limits, Observer, READ_AHEAD, Solver, Status, Step, Task, TrainError, TrainOptions,
    Trained, WeightsNow,
};
use crate::truncation::weights_of;

/// Newton steps cannot minimise this.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NewtonError {
    /// The slope has jumps.
    #[error("--solver newton needs a loss with a continuous slope ({0}); use squared-hinge, or --solver dual")]
    Loss(LossError),
    /// The penalty is not ½‖w‖².
    #[error("--solver newton knows the penalty l2 with --lambda 1 and no intercept only; use --bias, or --solver dual")]
    Penalty,
    /// Several outputs in one objective.
    #[error("--solver newton is for one output; leave it out for softmax, crammer-singer and several targets")]
    Outputs,
}

/// Whether [`train`] can minimise this.
pub fn can_train(objective: &Objective) -> Result<(), NewtonError> {
    struct IsSmooth;
    impl SmoothLossVisitor for IsSmooth {
        type Out = ();
        fn visit<L: SmoothLoss>(self, _loss: L) {}
    }
    objective.loss.visit_smooth(IsSmooth).map_err(NewtonError::Loss)?;
    if objective.width() > 1 {
        return Err(NewtonError::Outputs);
    }
    if objective.is_plain_l2() { Ok(()) } else { Err(NewtonError::Penalty) }
}

/// Trains on `store` within `budget`, from the task's `start_weights` if there are any, else from the weights that its dual variables make. What the options say of orders and caches has no
/// meaning here. A checkpoint after each step keeps the weights; those of the dual variables are written at the end, since they take a scan.
///
/// # Panics
/// If [`can_train`] says no.
pub fn train(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    train_task(store, &options.tasks[0], options, budget, observer)
}

/// The same for a task that is not one of the options.
pub(crate) fn train_task(
    store: Arc<dyn BlockStore>,
    task: &Task,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    let run = WithLoss { store, task, options, budget, observer };
    task.objective.loss.visit_smooth(run).expect("a loss with a continuous slope")
}

struct WithLoss<'a> {
    store: Arc<dyn BlockStore>,
    task: &'a Task,
    options: &'a TrainOptions,
    budget: &'a Budget,
    observer: &'a mut dyn Observer,
}

impl SmoothLossVisitor for WithLoss<'_> {
    type Out = Result<Trained, TrainError>;

    fn visit<L: SmoothLoss>(self, loss: L) -> Self::Out {
        let WithLoss { store, task, options, budget, observer } = self;
        let (begin, limits) = (Instant::now(), Limits::new(options));
        let shape = store.shape();
        let bytes = Minimiser::<L>::bytes(shape.columns, shape.rows);
        budget.check("Newton steps", bytes + ReadAhead::needed_bytes(&*store, READ_AHEAD))?;
        let _paid = budget.reserve("Newton steps", bytes)?;
        let mut w = match &task.start {
            Some(start) if task.start_weights.is_empty() => {
                let mut duals = Duals::in_memory(shape.rows);
                duals.begin_with(start)?;
                weights_of(&*store, &duals, &task.objective, (limits.watch(), budget))?
            }
            _ => task.start_weights.clone(),
        };
        w.resize(shape.columns as usize + 1, 0.0);
        let mut rows = StoreRows::open(store, task, limits.watch(), budget)?;
        let read_seconds = begin.elapsed().as_secs_f64();
        rows.begin_end();
        let mut minimiser = Minimiser::begin(loss, w, task.objective.bias, None, &mut rows)?;
        rows.go_on();
        if minimiser.objective == 0.0 && minimiser.support == 0 && minimiser.w.iter().all(|w| *w == 0.0) {
            return Err(TrainError::NoWeight);
        }
        let mut iterations = 0;
        let (status, certificate) = loop {
            let certificate = Certificate {
                objective: minimiser.objective,
                dual_objective: minimiser.objective - minimiser.gap(),
                multiple: 1.0,
                support: minimiser.support,
                radius: None,
            };
            let cost = cost(rows.cost, iterations, minimiser.products, shape.rows, (begin, read_seconds));
            let step = Step {
                cost,
                dual_objective: Some(certificate.dual_objective),
                gap_estimate: None,
                certificate: Some(certificate),
            };
            observer.step(&step, &WeightsNow { models: &[&minimiser.w] });
            if certificate.relative_gap() <= options.tolerance {
                break (Status::Converged, certificate);
            }
            if let Some(status) = limits.reason_to_stop(iterations + minimiser.products) {
                break (status, certificate);
            }
            match minimiser.step(&mut rows) {
                Ok(true) => {}
                Ok(false) => break (Status::OutOfPasses, certificate),
                // The weights are those from which the step began.
                Err(TrainError::Stopped(status)) => break (status, certificate),
                Err(error) => return Err(error),
            }
            iterations += 1;
            save(task, cost, &Duals::in_memory(shape.rows), &minimiser.w)?;
        };
        rows.begin_end();
        let duals = match duals(loss, &mut rows, &minimiser.w, task.objective.bias, shape.rows) {
            Err(TrainError::Stopped(_)) => Duals::in_memory(shape.rows),
            found => found?,
        };
        let cost = cost(rows.cost, iterations, minimiser.products, shape.rows, (begin, read_seconds));
        save(task, cost, &duals, &minimiser.w)?;
        Ok(Trained {
            weights: minimiser.w,
            duals,
            status,
            certificate,
            cost,
            solver: Solver::Newton,
            baseline: None,
            sums: Vec::new(),
        })
    }
}

fn save(task: &Task, cost: Cost, duals: &Duals, weights: &[f64]) -> Result<(), TrainError> {
    match &task.checkpoint {
        Some(file) => Ok(file.save(&task.objective, cost, duals, weights)?),
        None => Ok(()),
    }
}

fn cost(read: Cost, iterations: u64, products: u64, rows: u64, (begin, read_seconds): (Instant, f64)) -> Cost {
    let seconds = begin.elapsed().as_secs_f64();
    // An iteration looks at every row once, and so does a product.
    let sweeps = iterations + products;
    Cost { sweeps, visits: sweeps * rows, seconds, read_seconds, solve_seconds: seconds - read_seconds, ..read }
}

/// `β = -c L'` at the final weights.
fn duals<L: SmoothLoss>(loss: L, rows: &mut StoreRows, w: &[f64], bias: f64, count: u64) -> Result<Duals, TrainError> {
    let last = w.len() - 1;
    let mut values = vec![0.0; count as usize];
    rows.scan_positions(|position, row, y, c| {
        let (low, high) = loss.dual_bounds(y, c);
        let z = row.dot(w) + bias * w[last];
        values[position as usize] = (-c * loss.slope(y, z)).clamp(low, high);
    })?;
    Ok(Duals::Memory(values))
}
