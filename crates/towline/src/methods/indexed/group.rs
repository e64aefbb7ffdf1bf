//! All models of a run on one index: they take their turns, and share the sample that they begin with, pages, and scans
//! of all rows.
use std::sync::Arc;

use super::IndexedOptions;
use super::enough::{fixed_bytes, least_bytes};
use super::run::{Common, Run, Wants};
use super::solve::{BlockSolver, DualSweeps, NewtonSteps};
use crate::budget::Budget;
use crate::engine::{
    CheckpointFile, Cost, Limits, Observer, Pass, Status, Step, Task, TrainError, TrainOptions, Trained, WeightsNow,
    scan_once, unlearnt_by_scan,
};
use crate::index::PageCache;
use crate::loss::{AnyLoss, Loss};
use crate::machine;
use crate::methods::auto::{train as by_blocks, train_by_newton};
use crate::store::{BlockStore, DiskStore};
use crate::truncation::{ConvexTrainer, Sample, SeriesStart, SeriesState, train_from};

/// Newton steps on a block.
const MOST_NEWTON_STEPS: u32 = 30;
/// They go on to this part of the tolerance: w becomes the sum of the dual variables that its slopes make, and what is
/// left of the gradient grows with the curvature then.
const NEWTON_PART: f64 = 1e-6;
/// What runs hold besides their rows may take this part of the memory; more models wait until others are done.
const FIXED_PART: u64 = 4;
/// All runs that wait may keep this part of the memory for their rows; others go to disk until their turn.
const WAITING_PART: u64 = 8;

/// Minimises the objectives of all tasks over the same pages of the index.
///
/// # Panics
/// If [`super::can_train`] says no.
pub fn train(
    store: &Arc<DiskStore>,
    pages: &mut PageCache,
    (options, indexed): (&TrainOptions, &IndexedOptions),
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let limits = Limits::new(options);
    pages.begin_count();
    let columns = store.shape().columns as usize;
    let shown = if options.tasks.len() > 1 { columns + 1 } else { 0 };
    let _paid = budget.reserve_few("weights of all models", 8 * (shown * options.tasks.len()) as u64)?;
    let mut seen = Seen { observer, models: vec![vec![0.0; shown]; options.tasks.len()], costs: Vec::new(), which: 0 };
    let free_bytes = budget.free_bytes() + pages.held_bytes();
    let nodes = pages.forest().nodes().len() as u64;
    budget.check("training with an index", least_bytes(store, nodes, indexed, budget))?;
    let fixed = fixed_bytes(store, nodes, indexed);
    let most = (free_bytes / FIXED_PART / fixed.max(1)).max(1) as usize;
    let mut trained: Vec<Trained> = Vec::with_capacity(options.tasks.len());
    for tasks in options.tasks.chunk_by(|a, b| a.objective.loss == b.objective.loss).flat_map(|all| all.chunks(most)) {
        if let (Some(status), Some(last)) = (limits.look(), trained.last()) {
            let (left, any): (_, Arc<dyn BlockStore>) = (&options.tasks[trained.len()..], store.clone());
            pages.make_room(budget.data_bytes());
            let how = (status, last.solver, last.cost);
            trained.append(&mut unlearnt_by_scan(&any, left, how, limits.watch(), budget)?);
            break;
        }
        let together = tasks.len() as u64;
        let row_bytes = free_bytes.saturating_sub(together * fixed);
        let common = Common { store, limits: &limits, indexed, budget, free_bytes, row_bytes, together };
        let wave = Wave { common, tasks, first: trained.len() };
        trained.extend(match tasks[0].objective.loss {
            AnyLoss::SquaredHinge(loss) if indexed.primal => {
                let (tolerance, most) = (NEWTON_PART * options.tolerance, MOST_NEWTON_STEPS);
                wave.train(loss, || NewtonSteps { tolerance, most }, pages, &mut seen)?
            }
            AnyLoss::SquaredHinge(loss) => wave.train(loss, DualSweeps::default, pages, &mut seen)?,
            AnyLoss::Hinge(loss) => wave.train(loss, DualSweeps::default, pages, &mut seen)?,
            other => unreachable!("an index is of no use for the {} loss", other.name()),
        });
    }
    let mut files = options.tasks.iter().filter_map(|task| task.checkpoint.as_ref());
    files.try_for_each(CheckpointFile::commit)?;
    Ok(trained)
}

/// Models that train together.
struct Wave<'a> {
    common: Common<'a>,
    tasks: &'a [Task],
    /// The number of the first one among all models.
    first: usize,
}

/// How far a model is.
enum State<'a, L, S> {
    /// It goes on with the index.
    Indexed(Box<Run<'a, L, S>>),
    /// It goes on by blocks, from what is known or from the start of its task.
    Blocks(Option<SeriesState>),
    Done(Trained),
}

impl<'a> Wave<'a> {
    fn train<L: Loss, S: BlockSolver<L>>(
        &self,
        loss: L,
        solver: impl Fn() -> S,
        pages: &mut PageCache,
        seen: &mut Seen,
    ) -> Result<Vec<Trained>, TrainError> {
        seen.costs.resize(self.first + self.tasks.len(), Cost::default());
        let mut states = self.begin(loss, solver, pages)?;
        while states.iter().any(|state| matches!(state, State::Indexed(_))) {
            match self.round(&mut states, pages, seen) {
                Err(TrainError::Stopped(status)) => self.end_early(&mut states, status, pages)?,
                done => done?,
            }
        }
        let by_blocks = states.iter().any(|state| matches!(state, State::Blocks(_)));
        if by_blocks {
            pages.make_room(self.common.budget.data_bytes());
            machine::give_back_free_memory();
        }
        let finish = |(i, state)| match state {
            State::Done(trained) => Ok(trained),
            State::Blocks(known) => {
                seen.which = self.first + i;
                self.by_blocks(&self.tasks[i], known, pages, seen)
            }
            State::Indexed(_) => unreachable!("every run has ended"),
        };
        states.into_iter().enumerate().map(finish).collect()
    }

    /// Each model has its turn, and then a scan serves all of them.
    fn round<L: Loss, S: BlockSolver<L>>(
        &self,
        states: &mut [State<'a, L, S>],
        pages: &mut PageCache,
        seen: &mut Seen,
    ) -> Result<(), TrainError> {
        for (i, state) in states.iter_mut().enumerate() {
            seen.which = self.first + i;
            self.advance(state, pages, seen)?;
        }
        self.scan(states, pages, seen)
    }

    /// There is no time for another scan.
    fn end_early<L: Loss, S: BlockSolver<L>>(
        &self,
        states: &mut [State<'a, L, S>],
        status: Status,
        pages: &mut PageCache,
    ) -> Result<(), TrainError> {
        for state in states {
            if let State::Indexed(run) = state {
                *state = State::Done(run.end_early(status, pages)?);
            }
        }
        Ok(())
    }

    /// All models begin with the same rows, which are read once.
    fn begin<L: Loss, S: BlockSolver<L>>(
        &self,
        loss: L,
        solver: impl Fn() -> S,
        pages: &mut PageCache,
    ) -> Result<Vec<State<'a, L, S>>, TrainError> {
        let Common { store, limits, indexed, budget, .. } = self.common;
        pages.make_room(budget.data_bytes() / 2);
        let sample = match self.tasks.iter().any(|task| task.start.is_none()) {
            true => Some(Sample::draw(&**store, indexed.beginning, limits, budget)?),
            false => None,
        };
        pages.count_read(sample.as_ref().map_or(0, |sample| sample.bytes_read));
        let mut states = Vec::with_capacity(self.tasks.len());
        for task in self.tasks {
            states.push(match Run::begin(self.common, task, (loss, solver()), sample.as_ref(), pages)? {
                Some(mut run) => {
                    self.step_back(&mut run, pages)?;
                    State::Indexed(Box::new(run))
                }
                None => State::Blocks(None),
            });
        }
        drop(sample);
        machine::give_back_free_memory();
        Ok(states)
    }

    /// Lets go of memory for the next run.
    fn step_back<L: Loss, S: BlockSolver<L>>(
        &self,
        run: &mut Run<'a, L, S>,
        pages: &PageCache,
    ) -> Result<(), TrainError> {
        let bytes = self.common.row_bytes;
        if self.tasks.len() > 1 { run.step_back(bytes - bytes / WAITING_PART, pages) } else { Ok(()) }
    }

    /// A model has its turn, until it wants a scan or leaves the index.
    fn advance<L: Loss, S: BlockSolver<L>>(
        &self,
        state: &mut State<'a, L, S>,
        pages: &mut PageCache,
        seen: &mut Seen,
    ) -> Result<(), TrainError> {
        let State::Indexed(run) = state else { return Ok(()) };
        let wants = run.advance(pages, seen)?;
        seen.costs[seen.which] = run.cost();
        if wants == Wants::Scan {
            return self.step_back(run, pages);
        }
        if let State::Indexed(run) = std::mem::replace(state, State::Blocks(None)) {
            *state = State::Blocks(Some(run.into_known(pages)?));
        }
        Ok(())
    }

    /// One pass over all rows for all models that wait for it.
    ///
    /// The blocks of the store are read, not the pages of the index: they are fewer, larger and smaller on disk.
    fn scan<L: Loss, S: BlockSolver<L>>(
        &self,
        states: &mut [State<'a, L, S>],
        pages: &mut PageCache,
        seen: &mut Seen,
    ) -> Result<(), TrainError> {
        let Common { store, budget, limits, .. } = self.common;
        let begin = limits.seconds();
        let needed = Pass::bytes(&**store);
        let mut waiting = Vec::new();
        for (i, state) in states.iter_mut().enumerate() {
            let State::Indexed(run) = state else { continue };
            run.make_room(needed, pages)?;
            waiting.push(i);
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let (any, mut read): (Arc<dyn BlockStore>, _) = (store.clone(), Cost::default());
        let scanned = scan_once(&any, budget, &mut read, |block, first| {
            for &i in &waiting {
                let State::Indexed(run) = &mut states[i] else { continue };
                run.scan((block, first), pages)?;
            }
            Ok(())
        });
        pages.count_read(read.bytes_read);
        scanned?;
        machine::give_back_free_memory();
        let seconds = (limits.seconds() - begin) / waiting.len() as f64;
        for i in waiting {
            let State::Indexed(run) = &mut states[i] else { continue };
            seen.which = self.first + i;
            let done = run.end_scan((seconds, pages), seen)?;
            seen.costs[seen.which] = run.cost();
            self.step_back(run, pages)?;
            if let Some(trained) = done {
                states[i] = State::Done(trained);
            }
        }
        Ok(())
    }

    /// Goes on with the blocks of the store.
    fn by_blocks(
        &self,
        task: &Task,
        known: Option<SeriesState>,
        pages: &mut PageCache,
        seen: &mut Seen,
    ) -> Result<Trained, TrainError> {
        let Common { store, limits, indexed, budget, .. } = self.common;
        let convex: ConvexTrainer = if indexed.primal { train_by_newton } else { by_blocks };
        seen.note("too many rows matter for the index; going on block by block");
        let before = pages.bytes_read();
        let origin = match known {
            // What others have read meanwhile served all.
            Some(known) => SeriesStart::State(SeriesState { cost: Cost { bytes_read: before, ..known.cost }, ..known }),
            None => SeriesStart::Task(indexed.beginning),
        };
        let from = matches!(origin, SeriesStart::State(_));
        let trained = train_from(origin, store.clone(), (limits, task), convex, budget, seen)?;
        pages.count_read(trained.cost.bytes_read - if from { before } else { 0 });
        let cost = Cost { bytes_read: pages.bytes_read(), ..trained.cost };
        Ok(trained.at_cost(cost))
    }
}

/// Shows an observer all models, of which one moves.
struct Seen<'a> {
    observer: &'a mut dyn Observer,
    /// The newest weights of each model, if there are several.
    models: Vec<Vec<f64>>,
    /// What each one cost.
    costs: Vec<Cost>,
    which: usize,
}

impl Observer for Seen<'_> {
    fn step(&mut self, step: &Step, weights: &WeightsNow) {
        if self.models.len() == 1 {
            return self.observer.step(step, weights);
        }
        self.models[self.which].copy_from_slice(weights.models[0]);
        self.costs[self.which] = step.cost;
        let cost = Cost::of_all(self.costs.iter().copied());
        let models: Vec<&[f64]> = self.models.iter().map(Vec::as_slice).collect();
        self.observer.step(&Step { cost, ..*step }, &WeightsNow { models: &models });
    }

    fn problem_solved(&mut self, objective: f64, weights: &[f64]) {
        self.observer.problem_solved(objective, weights);
    }

    fn note(&mut self, text: &str) {
        self.observer.note(text);
    }
}
