//! From tasks to models.
use std::sync::Arc;

use super::choose::{Candidate, reduced_shape};
use super::least_squares::{self, LeastSquares, Solved};
use super::moments::{Moments, Parts, one_scan_each};
use super::near::Distances;
use super::newton::{Newton, Quadratic, Same};
use super::rows::{StoreRows, Subset, TaskRows};
use super::session::Session;
use super::{few_rows, interior_point, multipliers, piecewise, smooth};
use crate::block::Block;
use crate::budget::Budget;
use crate::loss::{Loss, PiecewiseLinear, PiecewiseVisitor, SmoothLoss, SmoothLossVisitor, Squared};
use crate::objective::Objective;
use crate::store::{BlockStore, Shape};
use crate::trainer::{Duals, Limits, Observer, Solver, Start, Status, Task, TrainError, TrainOptions, Trained};

/// Bytes of memory besides the rows, which are in memory or not.
pub fn bytes(shape: &Shape, solver: Solver, in_memory: bool) -> u64 {
    let size = shape.columns + 1;
    let of_rows = 8 * shape.rows + if in_memory { TaskRows::bytes(shape.rows) } else { 0 };
    let method = match solver {
        Solver::Gram => {
            let targets = u64::from(shape.layout.targets);
            return 2 * Moments::bytes(shape) + least_squares::bytes(shape.columns, targets);
        }
        Solver::Multipliers if in_memory => {
            let of_row = multipliers::row_bytes(2).max(interior_point::row_bytes(2));
            Newton::<Same<Squared>>::bytes(size, shape.rows) + shape.rows * (8 + of_row)
        }
        // Rows near a kink pay for themselves.
        Solver::Multipliers => Newton::<Same<Squared>>::bytes(size, 0) + 2 * Distances::bytes(size),
        _ => Newton::<Same<Squared>>::bytes(size, shape.rows),
    };
    method + of_rows
}

/// Trains all models by the solver of second order for their objective, on rows that are read once if they fit.
pub fn train_all(
    store: Arc<dyn BlockStore>,
    tasks: &[Task],
    chosen: &Candidate,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    train_path(store, tasks, chosen, (options, tasks.len()), budget, observer)
}

/// The same for points of a path, each of `models` models that start from those of the point before. Ends after a point that was interrupted.
pub fn train_path(
    store: Arc<dyn BlockStore>,
    tasks: &[Task],
    chosen: &Candidate,
    (options, models): (&TrainOptions, usize),
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let shape = store.shape();
    let limits = Limits::new(options);
    let mut rows = StoreRows::open(store, chosen.in_memory, limits.watch(), budget)?;
    if chosen.solver == Solver::Gram {
        let mut all = Vec::with_capacity(tasks.len());
        for some in one_scan_each(tasks) {
            all.append(&mut from_moments(&mut rows, some, &limits, budget, observer)?);
        }
        return Ok(all);
    }
    let &Candidate { solver, by_rows, in_memory, .. } = chosen;
    let reduced = match rows.memory() {
        Some(all) if by_rows => {
            let paid = budget.reserve("products of rows", few_rows::bytes(shape.rows))?;
            match few_rows::reduce(all, limits.watch()) {
                // The solvers will find out themselves.
                Err(TrainError::Stopped(_)) => None,
                reduced => Some((reduced?, paid)),
            }
        }
        _ => None,
    };
    // Where rows are fewer than features, matrices are of rows by rows.
    let size = if by_rows { reduced_shape(&shape) } else { shape };
    let _paid = budget.reserve("second-order solver", bytes(&size, solver, in_memory))?;
    let mut all: Vec<Trained> = Vec::with_capacity(tasks.len());
    for (number, task) in tasks.iter().enumerate() {
        let before = number.checked_sub(models).map(|before| &all[before]);
        let is_point = number > 0 && number % models == 0;
        if is_point && before.is_some_and(|trained| trained.status == Status::Interrupted) {
            break;
        }
        let mut session = Session::new(task, solver, &limits, observer);
        let reduced = reduced.as_ref().map(|(rows, _)| rows);
        let start = before.map_or(&task.start_weights, |trained| &trained.weights);
        let found = match limits.look() {
            Some(status) => Err(TrainError::Stopped(status)),
            None => {
                let run = Run { rows: &mut rows, reduced, task, start, budget, session: &mut session };
                match task.objective.loss.visit_piecewise(run) {
                    Ok(trained) => trained,
                    Err(run) => task.objective.loss.visit_smooth(run).unwrap_or(Err(TrainError::NoWeight)),
                }
            }
        };
        all.push(match found {
            Err(TrainError::Stopped(status)) => {
                if session.latest.is_none() && start.len() as u64 == shape.columns + 1 {
                    session.latest = Some(start.clone());
                }
                session.end_early(&mut TaskRows::new(&mut rows, task), status)?
            }
            found => found?,
        });
    }
    Ok(all)
}

/// The squared loss: one scan for all tasks.
fn from_moments(
    rows: &mut StoreRows,
    tasks: &[Task],
    limits: &Limits,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let shape = rows.store().shape();
    let parts = Parts::sum(rows, tasks, budget)?;
    let width = tasks[0].objective.width() as u64;
    let _paid =
        budget.reserve("normal equations", Moments::bytes(&shape) + least_squares::bytes(shape.columns, width))?;
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
        let start = trained.last().map(|before| &before.weights[..]);
        let Solved { weights, sums, certificate } =
            LeastSquares::new(sums, &task.objective).solve(start, limits.watch());
        let session = Session::new(task, Solver::Gram, limits, observer);
        trained.push(session.finish_at(rows.cost, (weights, sums), certificate)?);
    }
    Ok(trained)
}

struct Run<'a, 's> {
    rows: &'a mut StoreRows,
    /// Rows with the same products and fewer features, where there are fewer rows than features.
    reduced: Option<&'a Block>,
    task: &'a Task,
    start: &'a [f64],
    budget: &'a Budget,
    session: &'a mut Session<'s>,
}

/// What all methods begin with.
struct Begin {
    w: Vec<f64>,
    ridge: Vec<f64>,
    shift: Vec<f64>,
    /// Values of a row, on average.
    len: f64,
}

impl Begin {
    fn of(task: &Task, start: &[f64], shape: &Shape) -> Begin {
        let size = shape.columns as usize + 1;
        let Objective { penalty, intercept, .. } = &task.objective;
        let mut ridge = vec![penalty.lambda(); size];
        if *intercept {
            ridge[size - 1] = 0.0;
        }
        let mut w = start.to_vec();
        w.resize(size, 0.0);
        Begin { w, ridge, shift: vec![0.0; size], len: shape.values as f64 / shape.rows.max(1) as f64 + 1.0 }
    }

    fn part(&self, bias: f64) -> Quadratic<'_> {
        Quadratic { ridge: &self.ridge, shift: &self.shift, bias }
    }
}

/// Certifies what the task begins with, if it begins with dual variables; `w` are the weights of them where it names no others. Returns how the run has
/// ended, if it has.
fn begin_with<L: Loss>(
    loss: L,
    rows: &mut TaskRows,
    w: &mut [f64],
    session: &mut Session,
) -> Result<Option<(Status, Vec<f64>)>, TrainError> {
    let task = rows.task();
    let Some(start) = &task.start else { return Ok(None) };
    let mut duals = Duals::in_memory(rows.store_rows().store().shape().rows);
    duals.begin_with(start)?;
    let Duals::Memory(mut duals) = duals else { return Ok(None) };
    match start {
        Start::Left(left, _) if left.weights.len() == w.len() => w.copy_from_slice(&left.weights),
        _ if task.start_weights.len() == w.len() => {}
        _ => {
            let (last, lambda, bias) = (w.len() - 1, task.objective.penalty.lambda(), task.objective.bias);
            w.fill(0.0);
            rows.scan_positions(|position, _, row, y, c| {
                let (low, high) = loss.dual_bounds(y, c);
                let beta = duals[position as usize].clamp(low, high);
                if beta != 0.0 && lambda > 0.0 {
                    row.add_to(w, beta / lambda);
                    w[last] += beta * bias / lambda;
                }
            })?;
        }
    }
    let ended = session.certify(loss, rows, w, &mut duals, |_, _, _| {})?;
    Ok(ended.map(|status| (status, duals)))
}

impl SmoothLossVisitor for Run<'_, '_> {
    type Out = Result<Trained, TrainError>;

    fn visit<L: SmoothLoss>(self, loss: L) -> Self::Out {
        if let Some(reduced) = self.reduced {
            return self.with_few_rows(loss, reduced, |part, begin, rows, (tolerance, _), session| {
                smooth::solve(loss, part, begin, rows, tolerance, session)
            });
        }
        let Run { rows, task, start, budget, session, .. } = self;
        let mut begin = Begin::of(task, start, &rows.store().shape());
        let mut rows = TaskRows::new(rows, task);
        if let Some((status, duals)) = begin_with(loss, &mut rows, &mut begin.w, session)? {
            return session.finish(&rows, duals, status);
        }
        let part = begin.part(task.objective.bias);
        smooth::train(loss, &mut rows, part, (begin.w.clone(), begin.len), budget, session)
    }
}

impl PiecewiseVisitor for Run<'_, '_> {
    type Out = Result<Trained, TrainError>;

    fn visit<L: PiecewiseLinear>(self, loss: L) -> Self::Out {
        if let Some(reduced) = self.reduced {
            let count = reduced.rows();
            return self.with_few_rows(loss, reduced, |part, begin, rows, (tolerance, turn), session| {
                piecewise::solve(loss, part, begin, rows, tolerance, (turn, count, session))
            });
        }
        let Run { rows, task, start, budget, session, .. } = self;
        let mut begin = Begin::of(task, start, &rows.store().shape());
        let mut rows = TaskRows::new(rows, task);
        if let Some((status, duals)) = begin_with(loss, &mut rows, &mut begin.w, session)? {
            return session.finish(&rows, duals, status);
        }
        let part = begin.part(task.objective.bias);
        piecewise::train(loss, &mut rows, part, (begin.w.clone(), begin.len), budget, session)
    }
}

/// Weights, dual variables of rows, and iterations.
type Found = (Vec<f64>, Vec<f64>, u64);

impl Run<'_, '_> {
    /// Solves the problem of as many features as rows; its dual variables are those of the rows as they are.
    fn with_few_rows<L: Loss>(
        self,
        loss: L,
        reduced: &Block,
        solve: impl Fn(Quadratic, (Vec<f64>, f64), &mut Subset, (f64, u32), &Session) -> Result<Found, TrainError>,
    ) -> Result<Trained, TrainError> {
        let Run { rows, task, start, session, .. } = self;
        let shape = rows.store().shape();
        let mut rows = TaskRows::new(rows, task);
        let mut first = Begin::of(task, start, &shape).w;
        if let Some((status, duals)) = begin_with(loss, &mut rows, &mut first, session)? {
            return session.finish(&rows, duals, status);
        }
        drop(first);
        let count = reduced.columns();
        let begin =
            Begin { w: vec![0.0; count + 1], ..Begin::of(task, &[], &Shape { columns: count as u64, ..shape }) };
        let part = begin.part(task.objective.bias);
        let known = rows.every(rows.count().unwrap_or(0), rows.count().unwrap_or(0));
        let mut duals = vec![0.0; shape.rows as usize];
        let (lambda, intercept) = (task.objective.penalty.lambda(), task.objective.intercept);
        let tolerance = session.limits.options().tolerance;
        let mut w = begin.w.clone();
        for turn in 0.. {
            let tolerance = 0.1 * tolerance * 0.01f64.powi(turn as i32 / 2);
            let mut some = Subset::new(reduced, &known, session.limits.watch());
            let (found, betas, iterations) = solve(part, (w, count as f64), &mut some, (tolerance, turn), session)?;
            session.scans += iterations;
            session.let_end(&mut rows);
            known.iter().zip(&betas).for_each(|(row, &beta)| duals[row.0 as usize] = beta);
            let mut weights = vec![0.0; shape.columns as usize + 1];
            let last = weights.len() - 1;
            rows.scan_positions(|position, _, row, _, _| {
                let beta = duals[position as usize] / lambda;
                row.add_to(&mut weights, beta);
                weights[last] += beta * part.bias;
            })?;
            if intercept {
                weights[last] = found[count];
            }
            w = found;
            if let Some(status) = session.certify(loss, &mut rows, &weights, &mut duals, |_, _, _| {})? {
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
