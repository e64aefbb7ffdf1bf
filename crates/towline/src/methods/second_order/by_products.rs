//! Training where rows are fewer than features: from their products (few_rows.rs) to dual variables, weights and a
//! certificate.
use super::choose::reduced_shape;
use super::equations::Way;
use super::few_rows;
use super::gram::Gram;
use super::one_output::Quadratic;
use super::rows::{Subset, TaskRows, row_work};
use super::scanning::{Rows, Scanning};
use super::session::Session;
use super::train::{Begin, Run, begin_with};
use crate::block::Block;
use crate::engine::{Status, TrainError, Trained};
use crate::loss::Loss;
use crate::objective::Objective;
use crate::store::Shape;

/// Weights, dual variables of rows, and iterations.
pub type Found = (Vec<f64>, Vec<f64>, u64);

/// Rows by number, with target and weight.
type Known = Vec<(u32, f64, f64)>;

impl Run<'_, '_> {
    /// Certifies what the task begins with, and lists its rows by number, unless that will do.
    fn begin_few_rows<L: Loss>(
        loss: L,
        rows: &mut TaskRows,
        start: &[f64],
        session: &mut Session,
    ) -> Result<Result<Known, Trained>, TrainError> {
        let shape = rows.store_rows().store().shape();
        let mut first = Begin::of(rows.task(), start, &shape).w;
        let (duals, ended) = begin_with(loss, rows, &mut first, session)?;
        if let Some(status) = ended {
            return session.finish(rows, duals, status).map(Err);
        }
        let count = rows.count().unwrap_or(0);
        Ok(Ok(rows.every(count, count, 0.0)))
    }

    /// The squared loss: equations of rows by rows.
    pub(super) fn with_products<L: Loss>(self, loss: L, products: &Gram) -> Result<Trained, TrainError> {
        let Run { rows, task, start, session, .. } = self;
        let mut rows = TaskRows::new(rows, task);
        let known = match Self::begin_few_rows(loss, &mut rows, start, session)? {
            Ok(known) => known,
            Err(trained) => return Ok(trained),
        };
        let Objective { penalty, bias, intercept, .. } = &task.objective;
        let how = (penalty.lambda(), *bias, *intercept);
        let (betas, added) = few_rows::ridge(products, &known, how, session.limits.watch())?;
        session.scans += 1;
        let mut duals = vec![0.0; rows.store_rows().store().shape().rows as usize];
        let intercept = intercept.then(|| added / bias);
        let ended = certify_sums(loss, &mut rows, (&known, &betas), (&mut duals, intercept), session)?;
        // Rounding has the last word.
        session.finish(&rows, duals, ended.unwrap_or(Status::OutOfPasses))
    }

    /// Solves the problem of as many features as rows; its dual variables are those of the rows as they are.
    pub(super) fn with_few_rows<L: Loss>(
        self,
        loss: L,
        reduced: &Block,
        solve: impl Fn(Quadratic, (Vec<f64>, Way), &mut Subset, (f64, u32), &mut Session) -> Result<Found, TrainError>,
    ) -> Result<Trained, TrainError> {
        let Run { rows, task, start, session, .. } = self;
        let shape = rows.store().shape();
        let mut rows = TaskRows::new(rows, task);
        let known = match Self::begin_few_rows(loss, &mut rows, start, session)? {
            Ok(known) => known,
            Err(trained) => return Ok(trained),
        };
        let count = reduced.columns();
        let begin =
            Begin { w: vec![0.0; count + 1], ..Begin::of(task, &[], &Shape { columns: count as u64, ..shape }) };
        let part = begin.part(task.objective.bias);
        let mut duals = vec![0.0; shape.rows as usize];
        let tolerance = session.limits.options().tolerance;
        let mut w = begin.w.clone();
        let way = Way::Exact { len: count as f64 };
        for turn in 0.. {
            let tolerance = 0.1 * tolerance * 0.01f64.powi(turn as i32 / 2);
            let scanning = Scanning::new(session.limits.watch(), row_work(&reduced_shape(&shape)));
            let mut some = Subset::new(reduced, &known, scanning);
            let (found, betas, iterations) = solve(part, (w, way), &mut some, (tolerance, turn), session)?;
            session.scans += iterations;
            let intercept = task.objective.intercept.then_some(found[count]);
            w = found;
            let ended = certify_sums(loss, &mut rows, (&known, &betas), (&mut duals, intercept), session)?;
            if let Some(status) = ended {
                return session.finish(&rows, duals, status);
            }
            if tolerance < 1e-13 {
                break;
            }
        }
        // Rounding has the last word.
        session.finish(&rows, duals, Status::OutOfPasses)
    }
}

/// Certifies the weights that are a sum of rows, `λw = Σ βx`, with `betas` of `known` rows; the intercept is given if
/// it is free. `duals` are by position.
fn certify_sums<L: Loss>(
    loss: L,
    rows: &mut TaskRows,
    (known, betas): (&[(u32, f64, f64)], &[f64]),
    (duals, intercept): (&mut [f64], Option<f64>),
    session: &mut Session,
) -> Result<Option<Status>, TrainError> {
    let Objective { penalty, bias, .. } = &rows.task().objective;
    let (lambda, bias) = (penalty.lambda(), *bias);
    rows.let_end();
    known.iter().zip(betas).for_each(|(row, &beta)| duals[row.0 as usize] = beta);
    let mut weights = vec![0.0; rows.store_rows().store().shape().columns as usize + 1];
    let last = weights.len() - 1;
    rows.scan_positions(|position, _, row, _, _| {
        let beta = duals[position as usize] / lambda;
        row.add_to(&mut weights, beta);
        weights[last] += beta * bias;
    })?;
    if let Some(intercept) = intercept {
        weights[last] = intercept;
    }
    session.certify(loss, rows, &weights, duals, |_, _| {})
}
