//! The squared loss: models from normal equations, without the data.
use super::least_squares::{self, LeastSquares, Solved};
use super::moments::{Moments, Parts};
use super::rows::StoreRows;
use super::session::{Estimate, Session};
use crate::budget::Budget;
use crate::engine::{Certificate, Limits, Observer, Solver, Status, Task, TrainError, Trained};

/// One scan for all tasks.
pub fn train(
    rows: &mut StoreRows,
    tasks: &[Task],
    limits: &Limits,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let shape = rows.store().shape();
    let mut session = Session::new(&tasks[0], Solver::Gram, rows, limits, &mut *observer);
    let on_the_way = || {
        session.iterated(0.0, None, Estimate::NONE);
        match limits.look() {
            Some(Status::Interrupted) => Err(TrainError::Stopped(Status::Interrupted)),
            _ => Ok(()),
        }
    };
    let parts = match Parts::sum(rows, tasks, budget, on_the_way) {
        Err(TrainError::Stopped(_)) => {
            return tasks.iter().map(|task| unsolved(rows, task, limits, &mut *observer)).collect();
        }
        parts => parts?,
    };
    let equations = least_squares::bytes(shape.columns, &tasks[0].objective);
    let _paid = budget.reserve("normal equations", Moments::bytes(&shape) + equations)?;
    let mut trained: Vec<Trained> = Vec::with_capacity(tasks.len());
    let mut moments: Option<(usize, Moments)> = None;
    for (number, task) in tasks.iter().enumerate() {
        let filter = parts.filter_of(number);
        if moments.as_ref().is_none_or(|(known, _)| *known != filter) {
            moments = Some((filter, parts.of(number, true, &shape)));
        }
        let Some((_, sums)) = &moments else { return Err(TrainError::NoWeight) };
        if sums.weight() <= 0.0 {
            return Err(TrainError::NoWeight);
        }
        let start = trained.last().map_or(&task.start_weights, |before| &before.weights);
        let Solved { weights, sums, certificate, sweeps } =
            LeastSquares::new(sums, &task.objective).solve(Some(start), limits.watch());
        let session = Session::new(task, Solver::Gram, rows, limits, observer);
        trained.push(session.finish_at(sweeps, (weights, sums), certificate)?);
    }
    Ok(trained)
}

/// What a run that is interrupted before anything is known comes to: weights of 0, if there is time to look at the
/// targets.
fn unsolved(
    rows: &mut StoreRows,
    task: &Task,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    let (mut objective, mut support) = (0.0, 0);
    let scanning = rows.scanning.clone();
    let mut counted = scanning.rows();
    rows.blocks(|block, first| {
        for i in 0..block.rows() {
            counted.next()?;
            let info = block.info(i);
            if info.weight > 0.0 && task.keeps(&info, first + i as u64) {
                let squares = info.label * info.label + block.further(i).iter().map(|y| y * y).sum::<f64>();
                objective += 0.5 * task.objective.c * info.weight * squares;
                support += 1;
            }
        }
        Ok(())
    })?;
    let nothing = vec![0.0; task.objective.width() * (rows.store().shape().columns as usize + 1)];
    let certificate = Certificate { objective, dual_objective: 0.0, multiple: 1.0, support, ..Certificate::default() };
    let session = Session::new(task, Solver::Gram, rows, limits, observer);
    session.finish_at(1, (nothing.clone(), nothing), certificate)
}
