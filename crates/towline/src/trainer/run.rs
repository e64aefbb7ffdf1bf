//! The loop itself.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::cache;
use super::certificate::{Certificate, Losses};
use super::duals::{DualSums, Duals};
use super::link::{Identity, Link, RowScan};
use super::plan::{Plan, READ_AHEAD};
use super::proximal::Proximal;
use super::schedule::{GainSchedule, ProximalSchedule};
use super::{Centre, Cost, Observer, Status, Step, TrainError, TrainOptions, Trained};
use crate::budget::Budget;
use crate::loss::{Loss, LossVisitor};
use crate::order::{Order, shuffle};
use crate::penalty::{AnyPenalty, GroupShrinkage, SoftThreshold};
use crate::solver::{self, Sweep};
use crate::store::{BlockId, BlockStore, ReadAhead};
use crate::working_set::{RowState, WorkingSet};

/// Trains on `store` within `budget`.
pub fn train(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    options.objective.loss.visit(WithLoss { store, options, budget, observer })
}

/// The names of a loss become types here, once a run.
struct WithLoss<'a> {
    store: Arc<dyn BlockStore>,
    options: &'a TrainOptions,
    budget: &'a Budget,
    observer: &'a mut dyn Observer,
}

impl LossVisitor for WithLoss<'_> {
    type Out = Result<Trained, TrainError>;

    fn visit<L: Loss>(self, loss: L) -> Self::Out {
        let objective = &self.options.objective;
        let columns = self.store.shape().columns as usize;
        if objective.is_plain_l2() {
            return self.with_link(loss, || Identity::new(columns, objective.bias));
        }
        let (start, summed) = (&self.options.start_weights, self.options.start.is_none());
        match &objective.penalty {
            AnyPenalty::Group(group) => self.with_link(loss, || {
                Proximal::new(columns, objective, GroupShrinkage::new(group.clone(), 1.0), start, summed)
            }),
            _ => {
                let lazy = SoftThreshold { threshold: 0.0, factor: 1.0 };
                self.with_link(loss, || Proximal::new(columns, objective, lazy, start, summed))
            }
        }
    }
}

impl WithLoss<'_> {
    fn with_link<L: Loss, K: Link>(self, loss: L, link: impl FnOnce() -> K) -> Result<Trained, TrainError> {
        let objective = &self.options.objective;
        let plan = Plan::for_penalty(&*self.store, &objective.penalty, objective.intercept, self.budget)?;
        let _paid = plan.reserve(self.budget)?;
        let reader = ReadAhead::new(self.store.clone(), READ_AHEAD, self.budget)?;
        let shape = self.store.shape();
        let mut first_rows = Vec::with_capacity(self.store.blocks().len());
        let mut rows = 0;
        for block in self.store.blocks() {
            first_rows.push(rows);
            rows += u64::from(block.rows);
        }
        // Rows of another program need no arena.
        let (rows, values) = match self.store.resident() {
            Some(_) => (0, 0),
            None => (plan.resident_rows as usize, plan.resident_values as usize),
        };
        let set = WorkingSet::with_capacity(shape, rows, values);
        let order = self.options.order.make();
        let run = Run {
            loss,
            options: self.options,
            observer: self.observer,
            reader,
            first_rows,
            link: link(),
            duals: duals(self.options, &plan, shape.rows)?,
            block_duals: Vec::new(),
            cached: vec![0; (shape.rows as usize).div_ceil(64)],
            set,
            order,
            random: Xoshiro256PlusPlus::seed_from_u64(self.options.seed),
            begin: Instant::now(),
            cost: Cost::default(),
            dual_objective: 0.0,
            look_back: None,
            gap_estimate: None,
            certificate: None,
            saved: Instant::now(),
            store: self.store,
            plan,
        };
        run.run()
    }
}

/// Dual variables to begin with, where the plan wants them.
fn duals(options: &TrainOptions, plan: &Plan, rows: u64) -> Result<Duals, TrainError> {
    let mut duals = if plan.duals_on_disk {
        let beside = options.checkpoint.as_ref().and_then(|file| file.path.parent()).filter(|folder| folder.is_dir());
        Duals::on_disk(rows, beside.unwrap_or(&std::env::temp_dir()))?
    } else {
        Duals::in_memory(rows)
    };
    if let Some(start) = &options.start {
        duals.begin_with(start)?;
    }
    Ok(duals)
}

/// At most this often the dual variables are saved while everything is in memory, where sweeps may take milliseconds.
const SAVE_SECONDS: f64 = 10.0;

/// Sweeps per step, at most, where no number was given: more than three hardly save passes.
const MOST_ROUNDS: u32 = 4;
/// Another sweep pays if this one gained more than this part of the first one of the step.
const ROUND_PAYS: f64 = 0.1;
/// A pass that raised the dual objective by less than this many tolerances may be one of the last.
const NEAR: f64 = 10.0;

fn is_marked(bits: &[u64], position: u64) -> bool {
    bits[position as usize / 64] >> (position % 64) & 1 == 1
}

struct Run<'a, L, K> {
    loss: L,
    /// The weights, and how they follow the dual variables.
    link: K,
    store: Arc<dyn BlockStore>,
    options: &'a TrainOptions,
    observer: &'a mut dyn Observer,
    plan: Plan,
    reader: ReadAhead,
    /// Rows before each block.
    first_rows: Vec<u64>,
    duals: Duals,
    /// Those of the block at hand.
    block_duals: Vec<f64>,
    /// One bit per row: whether it is in the working set already when its block comes.
    cached: Vec<u64>,
    set: WorkingSet,
    order: Box<dyn Order>,
    random: Xoshiro256PlusPlus,
    begin: Instant,
    cost: Cost,
    dual_objective: f64,
    /// Losses at the weights with which the pass began; the link remembers these meanwhile.
    look_back: Option<Losses>,
    gap_estimate: Option<f64>,
    certificate: Option<Certificate>,
    saved: Instant,
}

impl<L: Loss, K: Link> Run<'_, L, K> {
    fn run(mut self) -> Result<Trained, TrainError> {
        let status = if self.plan.in_memory { self.run_in_memory()? } else { self.run_out_of_core()? };
        self.cost.seconds = self.begin.elapsed().as_secs_f64();
        let certificate = match self.certificate {
            Some(certificate) => certificate,
            None => return Err(TrainError::NoWeight),
        };
        let mut weights = self.link.into_weights();
        weights.iter_mut().for_each(|w| *w *= certificate.multiple);
        Ok(Trained { weights, duals: self.duals, status, certificate, cost: self.cost, baseline: None })
    }

    /// Everything is resident: read once, then sweep and certify.
    fn run_in_memory(&mut self) -> Result<Status, TrainError> {
        let all: Vec<BlockId> = (0..self.store.blocks().len() as u32).map(BlockId).collect();
        self.load(&all)?;
        self.cost.passes = 1;
        if self.set.rows() == 0 {
            return Err(TrainError::NoWeight);
        }
        if self.options.start.is_some() {
            // The first scan sums up w; only the second one tells how good it is.
            self.certify_resident();
            if self.certify_resident() <= self.options.tolerance {
                return Ok(Status::Converged);
            }
        }
        let mut schedule = GainSchedule::new(self.options.tolerance);
        let mut proximal_schedule = ProximalSchedule::new(self.options.tolerance);
        let status = loop {
            let mut sweep = self.sweep();
            for _ in 1..self.link.sweeps() {
                sweep = self.sweep();
            }
            self.advance();
            // Short sweeps over few rows are parts of a pass.
            if let Some(status) = self.reason_to_stop(self.cost.visits / self.set.rows() as u64) {
                self.certify_resident();
                break status;
            }
            let is_due = match K::IS_PROXIMAL {
                true => proximal_schedule.is_due(),
                false => schedule.is_due(&sweep, self.dual_objective),
            };
            if is_due {
                let gap = self.certify_resident();
                if gap <= self.options.tolerance {
                    break Status::Converged;
                }
                schedule.note(gap);
                proximal_schedule.note(gap);
            }
            if self.saved.elapsed().as_secs_f64() > SAVE_SECONDS {
                self.write_back()?;
                self.save()?;
            }
            self.observe();
        };
        self.write_back()?;
        self.save()?;
        self.observe();
        Ok(status)
    }

    fn run_out_of_core(&mut self) -> Result<Status, TrainError> {
        let blocks = self.store.blocks().len() as u32;
        let mut trained_passes = 0;
        let mut schedule = ProximalSchedule::new(self.options.tolerance);
        if self.options.start.is_some() {
            // Sums up w. How good it is shows after the first pass: another scan would cost as much as that.
            self.certify_all()?;
        }
        loop {
            let before = self.dual_objective;
            let mut order: Vec<BlockId> = (0..blocks).map(BlockId).collect();
            shuffle(&mut order, &mut self.random);
            let steps = self.steps(&order);
            // The reader runs ahead over the whole pass, across steps.
            order.iter().for_each(|&id| self.reader.request(id));
            for step in steps {
                self.take_rows(step.len())?;
                self.solve_step();
                self.write_back()?;
                self.keep_informative();
                self.observe();
                if self.options.stop.load(Ordering::Relaxed) {
                    // The rest of the pass is read by the certificate below, which takes everything that was asked for.
                    self.reader.forget()?;
                    self.look_back = None;
                    break;
                }
            }
            if self.cost.visits == 0 {
                return Err(TrainError::NoWeight);
            }
            if self.options.centre == Centre::AfterPass {
                self.advance();
            }
            trained_passes += 1;
            self.cost.passes += 1;
            self.save()?;
            self.end_look_back();
            let stop = self.reason_to_stop(trained_passes);
            // The estimate is the gap of weights that are a pass old: those of now are hardly worse.
            let is_near = self.gap_estimate.is_some_and(|gap| gap <= self.options.tolerance);
            if stop.is_some() || is_near || (K::IS_PROXIMAL && schedule.is_due()) {
                let gap = self.certify_all()?;
                schedule.note(gap);
                self.observe();
                if gap <= self.options.tolerance {
                    return Ok(Status::Converged);
                }
                if let Some(status) = stop {
                    return Ok(status);
                }
            }
            self.begin_look_back(trained_passes, self.dual_objective - before);
        }
    }

    /// Sweeps over the resident rows, as often as asked for or as long as it pays: rows that come later may undo what is done too well now.
    fn solve_step(&mut self) {
        let most = self.options.rounds.unwrap_or(MOST_ROUNDS);
        let mut first_gain: Option<f64> = None;
        for _ in 0..most {
            let gain = self.sweep().gain;
            if self.options.centre == Centre::AfterSweep {
                self.advance();
            }
            let pays = gain > ROUND_PAYS * *first_gain.get_or_insert(gain);
            if self.options.rounds.is_none() && !pays {
                break;
            }
        }
    }

    /// The rows of a pass have to be read anyway: with one more dot product each they also tell the objective at the weights of now, and so, at
    /// the end of the pass, whether a certificate is worth its own scan. Early passes are far from that.
    fn begin_look_back(&mut self, passes: u64, gain: f64) {
        let is_near = passes >= 2 || gain < NEAR * self.options.tolerance * self.dual_objective.abs();
        if is_near && self.link.remember() {
            self.look_back = Some(Losses::default());
        }
    }

    fn end_look_back(&mut self) {
        let Some(losses) = self.look_back.take() else { return };
        let (objective, _) = losses.best(self.link.remembered());
        let gap = (objective - self.dual_objective).max(0.0) / objective.abs().max(f64::MIN_POSITIVE);
        self.gap_estimate = Some(gap);
    }

    fn reason_to_stop(&self, passes: u64) -> Option<Status> {
        if self.options.stop.load(Ordering::Relaxed) {
            Some(Status::Interrupted)
        } else if self.options.max_time.is_some_and(|limit| self.begin.elapsed() >= limit) {
            Some(Status::OutOfTime)
        } else if passes >= self.options.max_passes {
            Some(Status::OutOfPasses)
        } else {
            None
        }
    }

    /// Groups blocks into steps: as many as fit beside the cache.
    fn steps(&self, order: &[BlockId]) -> Vec<Vec<BlockId>> {
        let (cached_rows, cached_values) = self.plan.cache_room(self.options.cache_share);
        let (rows, values) = (self.plan.resident_rows - cached_rows, self.plan.resident_values - cached_values);
        let mut steps: Vec<Vec<BlockId>> = Vec::new();
        let (mut step_rows, mut step_values) = (u64::MAX, u64::MAX);
        for &id in order {
            let info = self.store.blocks()[id.0 as usize];
            let fits = step_rows.saturating_add(u64::from(info.rows)) <= rows
                && step_values.saturating_add(info.values) <= values;
            if !fits {
                steps.push(Vec::new());
                (step_rows, step_values) = (0, 0);
            }
            step_rows += u64::from(info.rows);
            step_values += info.values;
            if let Some(step) = steps.last_mut() {
                step.push(id);
            }
        }
        steps
    }

    fn load(&mut self, ids: &[BlockId]) -> Result<(), TrainError> {
        if let Some(block) = self.store.resident() {
            self.duals.read(0, block.rows(), &mut self.block_duals)?;
            self.set = WorkingSet::over(self.loss, block, &self.block_duals, &self.options.objective);
            self.begin_step();
            return Ok(());
        }
        ids.iter().for_each(|&id| self.reader.request(id));
        self.take_rows(ids.len())
    }

    /// Adds the rows of the next `blocks` blocks that the reader delivers, except those that are cached.
    fn take_rows(&mut self, blocks: usize) -> Result<(), TrainError> {
        for _ in 0..blocks {
            let waiting = Instant::now();
            let Some(block) = self.reader.take()? else { break };
            self.cost.read_seconds += waiting.elapsed().as_secs_f64();
            let info = self.store.blocks()[block.id().0 as usize];
            self.cost.bytes_read += info.stored_bytes;
            let first = self.first_rows[block.id().0 as usize];
            self.duals.read(first, block.rows(), &mut self.block_duals)?;
            let objective = &self.options.objective;
            for (i, &beta) in self.block_duals.iter().enumerate() {
                let position = first + i as u64;
                if !is_marked(&self.cached, position) {
                    self.set.push(self.loss, &block, i, position, beta, objective);
                }
            }
            if let Some(losses) = &mut self.look_back {
                let w = self.link.remembered();
                let bias = objective.bias * w[w.len() - 1];
                for i in 0..block.rows() {
                    let (y, c) = objective.row(&block.info(i));
                    if c > 0.0 {
                        losses.add(self.loss, y, c, block.row(i).dot(w) + bias);
                    }
                }
            }
        }
        self.begin_step();
        Ok(())
    }

    /// Rows have come.
    fn begin_step(&mut self) {
        self.order.resize(self.set.rows());
        self.order.begin_step();
        self.link.see(&self.set);
    }

    fn sweep(&mut self) -> Sweep {
        let begin = Instant::now();
        self.order.begin_sweep(self.set.rows(), &mut self.random);
        let sweep = solver::sweep(self.loss, &mut self.set, &mut self.link, &mut *self.order);
        self.cost.solve_seconds += begin.elapsed().as_secs_f64();
        self.cost.sweeps += 1;
        self.cost.visits += sweep.visits;
        if !K::IS_PROXIMAL {
            self.dual_objective += sweep.gain;
        }
        sweep
    }

    /// A proximal step has been made: the next one is another problem, in which rows that were left out may matter again.
    fn advance(&mut self) {
        if K::IS_PROXIMAL {
            self.link.advance();
            self.order.begin_step();
        }
    }

    fn write_back(&mut self) -> Result<(), TrainError> {
        let items = self.set.positions.iter().zip(&self.set.states).map(|(&position, state)| (position, state.beta));
        Ok(self.duals.set(items)?)
    }

    /// Keeps the rows that are worth it and forgets the others.
    fn keep_informative(&mut self) {
        let room = self.plan.cache_room(self.options.cache_share);
        let keep = cache::choose(self.options.selection, self.loss, &self.set, &self.link, room, &mut self.random);
        for (&position, &kept) in self.set.positions.iter().zip(&keep) {
            let (word, bit) = (position as usize / 64, 1u64 << (position % 64));
            self.cached[word] = if kept { self.cached[word] | bit } else { self.cached[word] & !bit };
        }
        self.set.retain(|i| keep[i]);
        self.order.retain(&mut |i| keep[i]);
    }

    fn certify_resident(&mut self) -> f64 {
        let begin = Instant::now();
        let mut sums = DualSums::default();
        self.set.states.iter().for_each(|state| sums.add(state.beta));
        let mut scan = self.link.scan(sums.0);
        for (i, state) in self.set.states.iter().enumerate() {
            let z = scan.add(self.loss, self.set.block.row(i), state);
            self.order.revise(i, self.loss.slack(state.y, z, state.beta, state.c));
        }
        let certificate = scan.finish();
        self.certified(certificate, begin)
    }

    /// One pass over all blocks at a fixed w.
    fn certify_all(&mut self) -> Result<f64, TrainError> {
        let begin = Instant::now();
        let objective = &self.options.objective;
        // Only an intercept asks for them.
        let sums = if objective.intercept { self.duals.sums()? } else { DualSums::default() };
        let mut scan = self.link.scan(sums.0);
        (0..self.store.blocks().len() as u32).for_each(|id| self.reader.request(BlockId(id)));
        while let Some(block) = self.reader.take()? {
            let id = block.id().0 as usize;
            self.cost.bytes_read += self.store.blocks()[id].stored_bytes;
            self.duals.read(self.first_rows[id], block.rows(), &mut self.block_duals)?;
            let mut moved = false;
            for (i, dual) in self.block_duals.iter_mut().enumerate() {
                let (y, c) = objective.row(&block.info(i));
                if c <= 0.0 {
                    moved |= *dual != 0.0;
                    *dual = 0.0;
                } else {
                    // A start from another objective may lie outside the bounds of this one.
                    let (low, high) = self.loss.dual_bounds(y, c);
                    let beta = dual.clamp(low, high);
                    moved |= beta != *dual;
                    *dual = beta;
                    scan.add(self.loss, block.row(i), &RowState { y, c, sq_norm: 0.0, beta });
                }
            }
            if moved {
                self.duals.write(self.first_rows[id], &self.block_duals)?;
            }
        }
        let certificate = scan.finish();
        self.cost.passes += 1;
        Ok(self.certified(certificate, begin))
    }

    fn certified(&mut self, certificate: Certificate, begin: Instant) -> f64 {
        let certificate = self.link.certified(certificate);
        self.dual_objective = certificate.dual_objective;
        self.certificate = Some(certificate);
        self.cost.certify_seconds += begin.elapsed().as_secs_f64();
        certificate.relative_gap()
    }

    fn save(&mut self) -> Result<(), TrainError> {
        if let Some(file) = &self.options.checkpoint {
            file.save(&self.options.objective, self.cost, &self.duals, self.link.to_save())?;
        }
        self.saved = Instant::now();
        Ok(())
    }

    fn observe(&mut self) {
        self.cost.seconds = self.begin.elapsed().as_secs_f64();
        let (dual_objective, gap_estimate, certificate) =
            (Some(self.dual_objective), self.gap_estimate, self.certificate);
        let step = Step { cost: self.cost, dual_objective, gap_estimate, certificate };
        self.observer.step(&step, self.link.weights());
    }
}
