//! Crammer–Singer and softmax where rows are fewer than features: the same problem with as many features as rows.
//!
//! With the penalty ½λ‖W‖² the optimum is a sum of rows, `λW = Σ xβᵀ`, for any number of outputs, so that rows with the
//! same products will do (few_rows.rs). Matrices are of K n x K n instead of K d x K d.
use super::class_margins::ClassMargins;
use super::newton::Newton;
use super::rows::{Subset, TaskRows, row_work};
use super::scanning::{Rows, Scanning};
use super::session::{Estimate, Session};
use super::softmax::{SoftmaxSum, class_slopes};
use super::{choose::reduced_shape, smooth::MOST_TRIES};
use crate::block::{Block, Row};
use crate::engine::{Status, TrainError, Trained, add_row, margins_of};
use crate::loss::classes::{CrammerSinger, Softmax};
use crate::loss::joint::OfClass;
use crate::objective::{Multiclass, Objective};

/// Problems are solved this much further than the gap that is asked for, and again where that was not enough.
const FURTHER: (f64, f64) = (0.1, 0.01);
/// Gaps that are asked for, at least: rounding has the last word.
const LEAST_GAP: f64 = 1e-13;
/// Newton steps, at most.
const MOST_STEPS: u32 = 200;

/// Dual variables of rows by number, those of the classes side by side, and the weights of the constant feature.
struct Found {
    betas: Vec<f64>,
    constant: Vec<f64>,
}

/// Trains one model; `reduced` are rows with the same products.
pub fn train(rows: &mut TaskRows, reduced: &Block, session: &mut Session) -> Result<Trained, TrainError> {
    let objective = &rows.task().objective;
    let (classes, size) = (objective.width(), reduced.columns() + 1);
    let mut ridge = vec![objective.penalty.lambda(); classes * size];
    if objective.intercept {
        ridge[classes * (size - 1)..].fill(0.0);
    }
    let (count, shape) = (rows.count().unwrap_or(0), rows.store_rows().store().shape());
    let known = rows.every(count, count, 0.0);
    let scanning = Scanning::new(session.limits.watch(), row_work(&reduced_shape(&shape)));
    let mut some = Subset::new(reduced, &known, scanning.with_outputs(classes as u64));
    let is_margin_loss = objective.targets.multiclass() == Some(Multiclass::CrammerSinger);
    let mut duals = vec![0.0; shape.rows as usize * classes];
    let mut tolerance = FURTHER.0 * session.limits.options().tolerance;
    let mut w = vec![0.0; classes * size];
    loop {
        let found = match is_margin_loss {
            true => class_margins(objective, &ridge, &mut some, tolerance, session)?,
            false => softmax(objective, (&ridge, &mut w), &mut some, tolerance, session)?,
        };
        rows.let_end();
        let ended = certify(rows, &found, is_margin_loss, &mut duals, session)?;
        if let Some(status) = ended {
            return session.finish(rows, duals, status);
        }
        tolerance *= FURTHER.1;
        if tolerance < LEAST_GAP {
            return session.finish(rows, duals, Status::OutOfPasses);
        }
    }
}

/// By interior points.
fn class_margins(
    objective: &Objective,
    ridge: &[f64],
    some: &mut Subset,
    tolerance: f64,
    session: &mut Session,
) -> Result<Found, TrainError> {
    let (classes, len) = (objective.width(), (ridge.len() / objective.width()) as f64);
    let mut method = ClassMargins::begin(classes, ridge, (objective.bias, len), some)?;
    match method.run(some, tolerance, || session.reason_to_stop().is_some()) {
        Err(TrainError::Stopped(_)) => some.begin_end(),
        goes_on => _ = goes_on?,
    }
    session.scans += method.iterations;
    let mut betas = vec![0.0; classes * some.most()];
    some.scan(|i, _, y, c| method.duals(i, (y, c), &mut betas[i * classes..][..classes]))?;
    Ok(Found { betas, constant: method.w[ridge.len() - classes..].to_vec() })
}

/// By Newton's method from `w` on.
fn softmax(
    objective: &Objective,
    (ridge, w): (&[f64], &mut Vec<f64>),
    some: &mut Subset,
    tolerance: f64,
    session: &mut Session,
) -> Result<Found, TrainError> {
    let (classes, bias) = (objective.width(), objective.bias);
    let model = SoftmaxSum::new(classes, ridge, bias, (ridge.len() / classes) as f64);
    let mut newton = Newton::begin(model, std::mem::take(w), some)?;
    let mut stuck = 0;
    for _ in 0..MOST_STEPS {
        let enough = tolerance * newton.objective;
        let gap = newton.gap();
        if stuck >= MOST_TRIES || session.iterated(1.0, None, Estimate::of_gap(gap / newton.objective)) {
            break;
        }
        let step = match gap <= enough && newton.promised(some)? <= enough {
            true => break,
            false => newton.step(some),
        };
        match step {
            Err(TrainError::Stopped(_)) => break,
            went_on => stuck = if went_on? { 0 } else { stuck + 1 },
        }
    }
    session.count(newton.scans);
    some.let_end();
    *w = newton.w;
    let mut betas = vec![0.0; classes * some.most()];
    some.scan(|i, row, y, c| {
        let betas = &mut betas[i * classes..][..classes];
        margins_of(row, w, bias, betas);
        class_slopes((y, c), betas);
    })?;
    Ok(Found { betas, constant: w[ridge.len() - classes..].to_vec() })
}

/// Certifies the weights that are a sum of rows, with the dual variables that were found.
fn certify(
    rows: &mut TaskRows,
    found: &Found,
    is_margin_loss: bool,
    duals: &mut [f64],
    session: &mut Session,
) -> Result<Option<Status>, TrainError> {
    let Objective { penalty, bias, intercept, .. } = &rows.task().objective;
    let (lambda, bias, intercept, classes) = (penalty.lambda(), *bias, *intercept, found.constant.len());
    let columns = rows.store_rows().store().shape().columns as usize;
    let mut w = vec![0.0; classes * (columns + 1)];
    let mut steps = Vec::with_capacity(classes);
    let of_row = |number: usize| &found.betas[number * classes..][..classes];
    rows.scan_positions(|_, number, row, _, _| {
        steps.clear();
        steps.extend((0..).zip(of_row(number).iter().map(|beta| beta / lambda)));
        add_row(row, &mut w, classes, bias, &steps);
    })?;
    if intercept {
        w[classes * columns..].copy_from_slice(&found.constant);
    }
    let find = |number: usize, _: Row, _: (f64, f64), betas: &mut [f64]| betas.copy_from_slice(of_row(number));
    match is_margin_loss {
        true => session.certify_joint(OfClass(CrammerSinger), rows, &w, duals, find),
        false => session.certify_joint(OfClass(Softmax), rows, &w, duals, find),
    }
}
