//! From tasks to models.
use std::sync::Arc;

use super::choose::{Candidate, reduced_shape};
use super::few_rows::Reduced;
use super::least_squares::{self, LeastSquares, Solved};
use super::moments::{Moments, Parts, one_scan_each};
use super::one_output::{Quadratic, Same, Smooth};
use super::piecewise::Turn;
use super::rows::{StoreRows, TaskRows};
use super::session::Session;
use super::sparse::Sparse;
use super::{few_rows, needs, piecewise, several_outputs, smooth};
use crate::budget::{Budget, Reservation};
use crate::loss::{Loss, PiecewiseLinear, PiecewiseVisitor, SmoothLoss, SmoothLossVisitor};
use crate::objective::Objective;
use crate::penalty::AnyPenalty;
use crate::store::{BlockStore, Shape};
use crate::trainer::{
    Certificate, Duals, Limits, Observer, Solver, Start, Status, Task, TrainError, TrainOptions, Trained, ZeroCosts,
    unlearnt_models,
};

/// The dual variables of a model that has been trained may take this part of what is free while others train.
const KEPT_PART: u64 = 4;

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

/// The same for points of a path, each of `models` models that start from those of the point before. Ends after a point
/// that was interrupted.
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
            match Reduced::new(all, &tasks[0].objective.loss, limits.watch()) {
                // The solvers will find out themselves.
                Err(TrainError::Stopped(_)) => None,
                reduced => Some((reduced?, paid)),
            }
        }
        _ => None,
    };
    // Where rows are fewer than features, matrices are of rows by rows.
    let size = if by_rows { reduced_shape(&shape) } else { shape };
    let _paid = budget.reserve("second-order solver", needs::bytes(&size, solver, &tasks[0].objective, in_memory))?;
    let width = tasks[0].objective.width() as u64;
    rows.scanning = rows.scanning.with_outputs(width);
    let weights = 8 * width * (shape.columns + 1) * (tasks.len() as u64 - 1);
    let _finished = budget.reserve("weights of models that are done", weights)?;
    // Of a path, the last point keeps its dual variables; those of one model are among what the solver needs.
    let is_path = models < tasks.len();
    let of_model = 8 * width * shape.rows;
    let last_bytes = if is_path { of_model * (models as u64 - 1) } else { 0 };
    let mut kept = budget.reserve("dual variables of models before", last_bytes)?;
    let mut all: Vec<Trained> = Vec::with_capacity(tasks.len());
    for (number, task) in tasks.iter().enumerate() {
        if let Some(before) = number.checked_sub(models).map(|before| &mut all[before]) {
            let is_wanted = before.status == Status::OutOfPasses;
            keep_if_wanted(before, is_wanted, of_model, &mut kept, budget);
        }
        let before = number.checked_sub(models).map(|before| &all[before]);
        let is_point = number > 0 && number % models == 0;
        if is_point && before.is_some_and(|trained| trained.status == Status::Interrupted) {
            break;
        }
        // Of many models those that nothing is known of are told together.
        if let (Some(status), Some(last), false) = (limits.look(), all.last(), is_path) {
            let cost = last.cost;
            let mut costs = ZeroCosts::of(&tasks[number..]);
            let added = rows.blocks(|block, first| {
                limits.watch().goes_on(false)?;
                costs.add(&tasks[number..], block, first);
                Ok(())
            });
            added?;
            costs.end();
            let objectives: Vec<f64> =
                (0..tasks.len() - number).map(|k| costs.objective(&tasks[number..], k)).collect();
            all.append(&mut unlearnt_models(&tasks[number..], &objectives, shape.columns, (status, solver, cost)));
            break;
        }
        let mut session = Session::new(task, solver, &rows, &limits, observer);
        let reduced = reduced.as_ref().map(|(rows, _)| rows);
        let start = before.map_or(&task.start_weights, |trained| &trained.weights);
        let is_near = before.is_some() || task.start.is_some() && !task.start_weights.is_empty();
        rows.scanning.go_on();
        if start.len() as u64 == width * (shape.columns + 1) {
            session.keep(start);
        }
        let found = if let Some(status) = limits.look() {
            Err(TrainError::Stopped(status))
        } else if width > 1 {
            several_outputs::train(&mut rows, task, (start, is_near), budget, &mut session)
        } else {
            let run = Run { rows: &mut rows, reduced, task, start, is_near, budget, session: &mut session };
            match task.objective.loss.visit_piecewise(run) {
                Ok(trained) => trained,
                Err(run) => task.objective.loss.visit_smooth(run).unwrap_or(Err(TrainError::NoWeight)),
            }
        };
        all.push(match found {
            Err(TrainError::Stopped(status)) => session.end_early(&mut TaskRows::new(&mut rows, task), status)?,
            found => found?,
        });
        if !is_path && tasks.len() > 1 {
            keep_if_wanted(&mut all[number], true, of_model, &mut kept, budget);
        }
    }
    Ok(all)
}

/// Another solver, or another C, may go on from the dual variables of a model that is done, if there is room for them
/// meanwhile.
fn keep_if_wanted(done: &mut Trained, is_wanted: bool, bytes: u64, kept: &mut Reservation, budget: &Budget) {
    let has_room = bytes <= budget.free_bytes() / KEPT_PART;
    if !(is_wanted && has_room && kept.resize(kept.bytes() + bytes).is_ok()) {
        done.keep_only_weights();
    }
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
    let mut session = Session::new(&tasks[0], Solver::Gram, rows, limits, &mut *observer);
    let on_the_way = || {
        session.iterated(0.0, None, f64::NAN);
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
    let certificate = Certificate { objective, dual_objective: 0.0, multiple: 1.0, support, radius: None };
    let session = Session::new(task, Solver::Gram, rows, limits, observer);
    session.finish_at(1, (nothing.clone(), nothing), certificate)
}

/// What λ|w| has of a penalty.
pub fn l1_part(penalty: &AnyPenalty) -> f64 {
    penalty.soft_threshold(1.0).map_or(0.0, |map| map.threshold)
}

/// What ½λw² has of it.
pub fn l2_part(penalty: &AnyPenalty) -> f64 {
    match penalty {
        AnyPenalty::L2(penalty) => penalty.lambda,
        AnyPenalty::ElasticNet(penalty) => penalty.parts().1.lambda,
        _ => 0.0,
    }
}

/// One model and what it is trained on.
pub(super) struct Run<'a, 's> {
    pub(super) rows: &'a mut StoreRows,
    /// Rows with the same products and fewer features, where there are fewer rows than features.
    pub(super) reduced: Option<&'a Reduced>,
    pub(super) task: &'a Task,
    pub(super) start: &'a [f64],
    /// Whether that is of a model like this one.
    pub(super) is_near: bool,
    pub(super) budget: &'a Budget,
    pub(super) session: &'a mut Session<'s>,
}

/// What all methods begin with.
pub(super) struct Begin {
    pub(super) w: Vec<f64>,
    pub(super) ridge: Vec<f64>,
    /// What |w| costs.
    pub(super) bounds: Vec<f64>,
    pub(super) shift: Vec<f64>,
    /// Values of a row, on average.
    pub(super) len: f64,
}

impl Begin {
    pub(super) fn of(task: &Task, start: &[f64], shape: &Shape) -> Begin {
        let size = shape.columns as usize + 1;
        let Objective { penalty, intercept, .. } = &task.objective;
        let (mut ridge, mut bounds) = (vec![l2_part(penalty); size], vec![l1_part(penalty); size]);
        if *intercept {
            (ridge[size - 1], bounds[size - 1]) = (0.0, 0.0);
        }
        let mut w = start.to_vec();
        w.resize(size, 0.0);
        let len = shape.values as f64 / shape.rows.max(1) as f64 + 1.0;
        Begin { w, ridge, bounds, shift: vec![0.0; size], len }
    }

    pub(super) fn part(&self, bias: f64) -> Quadratic<'_> {
        Quadratic { ridge: &self.ridge, shift: &self.shift, bias, constant: 0.0, proximal: None }
    }
}

/// Certifies what the task begins with, if it begins with dual variables; `w` are the weights of them where it names no
/// others. Returns how the run has ended, if it has.
pub(super) fn begin_with<L: Loss>(
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
        _ if task.start_weights.len() == w.len() || !matches!(task.objective.penalty, AnyPenalty::L2(_)) => {}
        _ => {
            let (last, lambda, bias) = (w.len() - 1, task.objective.penalty.lambda(), task.objective.bias);
            w.fill(0.0);
            rows.scan_positions(|position, _, row, y, c| {
                let (low, high) = loss.dual_bounds(y, c);
                let beta = duals[position as usize].clamp(low, high);
                if beta != 0.0 {
                    row.add_to(w, beta / lambda);
                    w[last] += beta * bias / lambda;
                }
            })?;
        }
    }
    let ended = session.certify(loss, rows, w, &mut duals, |_, _| {})?;
    Ok(ended.map(|status| (status, duals)))
}

impl SmoothLossVisitor for Run<'_, '_> {
    type Out = Result<Trained, TrainError>;

    fn visit<L: SmoothLoss>(self, loss: L) -> Self::Out {
        match self.reduced {
            Some(Reduced::Products(products)) => return self.with_products(loss, products),
            Some(Reduced::Rows(reduced)) => {
                return self.with_few_rows(loss, reduced, |part, (w, len), rows, (tolerance, _), session| {
                    smooth::solve(Smooth::new(Same(loss), part, len), w, rows, tolerance, session)
                });
            }
            None => {}
        }
        let start = |begin: &Begin, is_near| (begin.w.clone(), is_near);
        self.with_all_rows(loss, |begin, part, rows, is_near, budget, session| {
            if begin.bounds.iter().all(|bound| *bound == 0.0) {
                let model = Smooth::new(Same(loss), part, begin.len);
                return smooth::train(model, rows, start(begin, is_near), budget, session);
            }
            let model = Sparse::new(Same(loss), part, &begin.bounds, (begin.len, loss.curvature()));
            smooth::train(model, rows, start(begin, is_near), budget, session)
        })
    }
}

impl PiecewiseVisitor for Run<'_, '_> {
    type Out = Result<Trained, TrainError>;

    fn visit<L: PiecewiseLinear>(self, loss: L) -> Self::Out {
        if let Some(Reduced::Rows(reduced)) = self.reduced {
            let count = Some(reduced.rows());
            return self.with_few_rows(loss, reduced, |part, begin, rows, (tolerance, turn), session| {
                let turn = Turn { number: turn, count, tolerance, band: None, is_near: false };
                piecewise::solve(loss, part, begin, rows, turn, |_, gap| session.iterated(1.0, None, gap))
            });
        }
        self.with_all_rows(loss, |begin, part, rows, _, budget, session| {
            piecewise::train(loss, rows, part, (begin.w.clone(), begin.len), budget, session)
        })
    }
}

impl Run<'_, '_> {
    /// Trains on rows as they are, unless what the task begins with will do.
    fn with_all_rows<L: Loss>(
        self,
        loss: L,
        train: impl FnOnce(&Begin, Quadratic, &mut TaskRows, bool, &Budget, &mut Session) -> Result<Trained, TrainError>,
    ) -> Result<Trained, TrainError> {
        let Run { rows, task, start, is_near, budget, session, .. } = self;
        let mut begin = Begin::of(task, start, &rows.store().shape());
        let mut rows = TaskRows::new(rows, task);
        if let Some((status, duals)) = begin_with(loss, &mut rows, &mut begin.w, session)? {
            return session.finish(&rows, duals, status);
        }
        train(&begin, begin.part(task.objective.bias), &mut rows, is_near, budget, session)
    }
}
