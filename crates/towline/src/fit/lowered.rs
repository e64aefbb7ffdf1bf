//! A ceiling that is lowered: losses that are cut off low have many local minima, and the one near the convex model of
//! some rows may be a bad one. So a series begins higher, and goes on from there.
use super::error::FitError;
use crate::budget::{Budget, Reservation};
use crate::engine::{After, Cost, Observer, Start, Task, TrainOptions, Trained};
use crate::objective::Objective;

/// The first, higher ceiling need not be solved better than this: it only tells who is an outlier.
const FIRST_TOLERANCE: f64 = 1e-2;

/// Trains with losses cut off at 1 + `first` before they are cut off as low as `options` says; at once, where that is
/// not lower, or where a model starts from somewhere else.
pub fn train_lowered(
    first: Option<f64>,
    options: TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
    mut train: impl FnMut(TrainOptions, &mut dyn Observer) -> Result<Vec<Trained>, FitError>,
) -> Result<Vec<Trained>, FitError> {
    let is_lower = |task: &Task| task.start.is_none() && task.objective.truncate < first;
    if first.is_none() || !options.tasks.iter().all(is_lower) {
        return train(options, observer);
    }
    let higher = |task: &Task| Task {
        rows: task.rows.clone(),
        ..Task::new(Objective { truncate: first, ..task.objective.clone() })
    };
    let tasks = options.tasks.iter().map(higher).collect();
    let tolerance = options.tolerance.max(FIRST_TOLERANCE);
    let found = train(TrainOptions { tolerance, ..options.with_tasks(tasks) }, observer)?;
    let before = Cost::of_all(found.iter().map(|trained| trained.cost));
    if found.iter().any(|trained| trained.status.is_stop()) {
        // There is no time for the rest: it says how good these weights are.
        observer.note("there was no time to lower the ceiling; the objective is that of the lower one");
    }
    let mut paid = Vec::new();
    let mut options = options;
    for (task, mut trained) in options.tasks.iter_mut().zip(found) {
        let (start, reserved) = kept(&mut trained, task, budget)?;
        paid.push(reserved);
        (task.start, task.start_weights) = (Some(start), trained.weights);
    }
    options.max_time =
        options.max_time.map(|limit| limit.saturating_sub(std::time::Duration::from_secs_f64(before.seconds)));
    let mut after = After { before, observer };
    let mut all = train(options, &mut after)?;
    all.iter_mut().for_each(|trained| trained.cost = trained.cost.after(&before));
    Ok(all)
}

/// Dual variables to go on from: paid for, or on disk.
fn kept(trained: &mut Trained, task: &Task, budget: &Budget) -> Result<(Start, Option<Reservation>), FitError> {
    let (rows, is_on_disk) = (trained.duals.rows(), trained.duals.is_on_disk());
    let start = trained.take_duals();
    if is_on_disk {
        return Ok((start, None));
    }
    if let Ok(paid) = budget.reserve("dual variables to start from", 8 * rows) {
        return Ok((start, Some(paid)));
    }
    let mut duals = task.no_duals(rows, true, budget)?;
    duals.begin_with(&start)?;
    Ok((Start::Duals(duals, 1.0), None))
}
