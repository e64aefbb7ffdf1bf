//! From a task with one weight per feature and class to a model.
use super::class_margins::ClassMargins;
use super::few_rows_joint;
use super::rows::{StoreRows, TaskRows};
use super::scanning::Rows;
use super::session::Session;
use super::smooth;
use super::softmax::{self, SoftmaxSum};
use super::train::l2_part;
use crate::block::{Block, Row};
use crate::budget::Budget;
use crate::engine::{Duals, Start, Status, Task, TrainError, Trained, add_row, margins_of};
use crate::loss::classes::{CrammerSinger, Softmax};
use crate::loss::joint::{JointLoss, OfClass};
use crate::objective::Multiclass;
use crate::penalty::AnyPenalty;

/// Interior points go this much further than the gap that is asked for, and again where that was not enough.
const FURTHER: f64 = 0.1;

/// Trains one model from `start` on, which is near the optimum or not.
///
/// `reduced` are rows with the same products, where they are fewer than features.
pub fn train(
    rows: &mut StoreRows,
    reduced: Option<&Block>,
    task: &Task,
    (start, is_near): (&[f64], bool),
    budget: &Budget,
    session: &mut Session,
) -> Result<Trained, TrainError> {
    let (shape, objective) = (rows.store().shape(), &task.objective);
    let (classes, size) = (objective.width(), shape.columns as usize + 1);
    let mut ridge = vec![l2_part(&objective.penalty); classes * size];
    if objective.intercept {
        ridge[classes * (size - 1)..].fill(0.0);
    }
    let mut w = start.to_vec();
    w.resize(classes * size, 0.0);
    let mut rows = TaskRows::new(rows, task);
    let len = shape.values as f64 / shape.rows.max(1) as f64 + 1.0;
    let ended = match is_margin_loss(task) {
        true => begin_with(OfClass(CrammerSinger), &mut rows, &mut w, session)?,
        false => begin_with(OfClass(Softmax), &mut rows, &mut w, session)?,
    };
    if let Some((status, duals)) = ended {
        return session.finish(&rows, duals, status);
    }
    if let Some(reduced) = reduced {
        return few_rows_joint::train(&mut rows, reduced, session);
    }
    if is_margin_loss(task) {
        return class_margins(&mut rows, &ridge, len, session);
    }
    let model = SoftmaxSum::new(classes, &ridge, objective.bias, len);
    smooth::train(model, &mut rows, (w, is_near), budget, session)
}

fn is_margin_loss(task: &Task) -> bool {
    task.objective.targets.multiclass() == Some(Multiclass::CrammerSinger)
}

/// Certifies weights of which nothing else is known, with slopes as dual variables. Returns how the run ended, if it
/// did.
pub fn certify(
    rows: &mut TaskRows,
    w: &[f64],
    duals: &mut [f64],
    session: &mut Session,
) -> Result<Option<Status>, TrainError> {
    let task = rows.task();
    if !is_margin_loss(task) {
        return softmax::certify(rows, w, duals, session);
    }
    let (bias, mut margins) = (task.objective.bias, vec![0.0; task.objective.width()]);
    let find = |_: usize, row: Row, (y, c): (f64, f64), betas: &mut [f64]| {
        margins_of(row, w, bias, &mut margins);
        // The class itself needs no lead over itself.
        margins[y as usize] -= 1.0;
        let largest = (0..margins.len()).fold(y as usize, |best, m| if margins[m] > margins[best] { m } else { best });
        betas.fill(0.0);
        betas[y as usize] += c;
        betas[largest] -= c;
    };
    session.certify_joint(OfClass(CrammerSinger), rows, w, duals, find)
}

/// Certifies what the task begins with, if it begins with dual variables; `w` are the weights of them where it names no
/// others. Returns how the run has ended, if it has.
fn begin_with<M: JointLoss>(
    loss: M,
    rows: &mut TaskRows,
    w: &mut [f64],
    session: &mut Session,
) -> Result<Option<(Status, Vec<f64>)>, TrainError> {
    let task = rows.task();
    let Some(start) = &task.start else { return Ok(None) };
    let (width, bias) = (task.objective.width(), task.objective.bias);
    let mut duals = Duals::in_memory(rows.store_rows().store().shape().rows * width as u64);
    duals.begin_with(start)?;
    let Duals::Memory(mut duals) = duals else { return Ok(None) };
    match (start, &task.objective.penalty) {
        (Start::Left(left, _), _) if left.weights.len() == w.len() => w.copy_from_slice(&left.weights),
        (_, AnyPenalty::L2(l2)) if task.start_weights.len() != w.len() => {
            w.fill(0.0);
            let mut steps = Vec::with_capacity(width);
            rows.scan_positions(|position, _, row, y, c| {
                let betas = &mut duals[position as usize * width..][..width];
                loss.bring_in(&[y], betas, c);
                steps.clear();
                steps.extend((0..).zip(betas.iter().map(|beta| beta / l2.lambda)));
                add_row(row, w, width, bias, &steps);
            })?;
        }
        _ => {}
    }
    let ended = session.certify_joint(loss, rows, w, &mut duals, |_, _, _, _| {})?;
    Ok(ended.map(|status| (status, duals)))
}

/// Interior points, as far as the certificate asks for them.
fn class_margins(rows: &mut TaskRows, ridge: &[f64], len: f64, session: &mut Session) -> Result<Trained, TrainError> {
    let objective = &rows.task().objective;
    let (classes, bias) = (objective.width(), objective.bias);
    let mut duals = vec![0.0; rows.store_rows().store().shape().rows as usize * classes];
    let mut method = ClassMargins::begin(classes, ridge, (bias, len), rows)?;
    let mut tolerance = FURTHER * session.limits.options().tolerance;
    loop {
        let before = method.iterations;
        let goes_on = match method.run(rows, tolerance, || session.reason_to_stop().is_some()) {
            Err(TrainError::Stopped(_)) => true,
            goes_on => goes_on?,
        };
        rows.let_end();
        session.scans += method.iterations - before;
        let find = |number: usize, _: Row, target, betas: &mut [f64]| method.duals(number, target, betas);
        if let Some(status) = session.certify_joint(OfClass(CrammerSinger), rows, &method.w, &mut duals, find)? {
            return session.finish(rows, duals, status);
        }
        if !goes_on {
            // Rounding has the last word.
            return session.finish(rows, duals, Status::OutOfPasses);
        }
        tolerance *= FURTHER;
    }
}
