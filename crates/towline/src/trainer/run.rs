//! The loop itself.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::cache;
use super::certificate::{Certificate, Scan};
use super::plan::{Plan, READ_AHEAD};
use super::{Cost, Observer, Status, Step, TrainError, TrainOptions, Trained};
use crate::budget::Budget;
use crate::loss::{Loss, LossVisitor};
use crate::nearby::large_zeroed;
use crate::order::{Order, shuffle};
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
        let plan = Plan::new(&*self.store, self.budget)?;
        let _paid = plan.reserve(self.budget)?;
        let reader = ReadAhead::new(self.store.clone(), READ_AHEAD, self.budget)?;
        let shape = self.store.shape();
        let mut first_rows = Vec::with_capacity(self.store.blocks().len());
        let mut rows = 0;
        for block in self.store.blocks() {
            first_rows.push(rows);
            rows += u64::from(block.rows);
        }
        let set = WorkingSet::with_capacity(shape, plan.resident_rows as usize, plan.resident_values as usize);
        let order = self.options.order.make();
        let run = Run {
            loss,
            options: self.options,
            observer: self.observer,
            reader,
            first_rows,
            w: large_zeroed(shape.columns as usize + 1),
            v: large_zeroed(shape.columns as usize + 1),
            duals: start(&self.options.start, shape.rows as usize),
            cached: vec![0; (shape.rows as usize).div_ceil(64)],
            set,
            order,
            random: Xoshiro256PlusPlus::seed_from_u64(self.options.seed),
            begin: Instant::now(),
            cost: Cost::default(),
            dual_objective: 0.0,
            certificate: None,
            saved: Instant::now(),
            store: self.store,
            plan,
        };
        run.run()
    }
}

/// Dual variables to begin with.
fn start(given: &[f64], rows: usize) -> Vec<f64> {
    let mut duals = given[..given.len().min(rows)].to_vec();
    duals.resize(rows, 0.0);
    duals
}

/// At most this often the dual variables are saved while everything is in memory, where sweeps may take milliseconds.
const SAVE_SECONDS: f64 = 10.0;

struct Run<'a, L> {
    loss: L,
    store: Arc<dyn BlockStore>,
    options: &'a TrainOptions,
    observer: &'a mut dyn Observer,
    plan: Plan,
    reader: ReadAhead,
    /// Rows before each block.
    first_rows: Vec<u64>,
    /// Weights by column, the bias last.
    w: Vec<f64>,
    /// Σ βx, summed anew by a certificate.
    v: Vec<f64>,
    duals: Vec<f64>,
    /// One bit per row: whether it is in the working set already when its block comes.
    cached: Vec<u64>,
    set: WorkingSet,
    order: Box<dyn Order>,
    random: Xoshiro256PlusPlus,
    begin: Instant,
    cost: Cost,
    dual_objective: f64,
    certificate: Option<Certificate>,
    saved: Instant,
}

impl<L: Loss> Run<'_, L> {
    fn run(mut self) -> Result<Trained, TrainError> {
        let status = if self.plan.in_memory { self.run_in_memory()? } else { self.run_out_of_core()? };
        self.cost.seconds = self.begin.elapsed().as_secs_f64();
        let certificate = match self.certificate {
            Some(certificate) => certificate,
            None => return Err(TrainError::NoWeight),
        };
        self.w.iter_mut().for_each(|w| *w *= certificate.multiple);
        Ok(Trained { weights: self.w, duals: self.duals, status, certificate, cost: self.cost })
    }

    /// Everything is resident: read once, then sweep and certify.
    fn run_in_memory(&mut self) -> Result<Status, TrainError> {
        let all: Vec<BlockId> = (0..self.store.blocks().len() as u32).map(BlockId).collect();
        self.load(&all)?;
        self.cost.passes = 1;
        if self.set.rows() == 0 {
            return Err(TrainError::NoWeight);
        }
        if !self.options.start.is_empty() {
            // The first scan sums up w; only the second one tells how good it is.
            self.certify_resident();
            if self.certify_resident() <= self.options.tolerance {
                return Ok(Status::Converged);
            }
        }
        let mut schedule = CertificateSchedule::default();
        let status = loop {
            let sweep = self.sweep();
            if let Some(status) = self.reason_to_stop(self.cost.sweeps) {
                self.certify_resident();
                break status;
            }
            if sweep.violation == 0.0 || schedule.is_due(self.cost.sweeps) {
                let gap = self.certify_resident();
                if gap <= self.options.tolerance {
                    break Status::Converged;
                }
                schedule.note(self.cost.sweeps, gap, self.options.tolerance);
            }
            if self.saved.elapsed().as_secs_f64() > SAVE_SECONDS {
                self.write_back();
                self.save()?;
            }
            self.observe();
        };
        self.write_back();
        self.save()?;
        self.observe();
        Ok(status)
    }

    fn run_out_of_core(&mut self) -> Result<Status, TrainError> {
        let blocks = self.store.blocks().len() as u32;
        let mut schedule = CertificateSchedule::default();
        let mut trained_passes = 0;
        if !self.options.start.is_empty() {
            // Sums up w. How good it is shows after the first pass: another scan would cost as much as that.
            self.certify_all()?;
        }
        loop {
            let mut order: Vec<BlockId> = (0..blocks).map(BlockId).collect();
            shuffle(&mut order, &mut self.random);
            let steps = self.steps(&order);
            // The reader runs ahead over the whole pass, across steps.
            order.iter().for_each(|&id| self.reader.request(id));
            for step in steps {
                self.take_rows(step.len())?;
                for _ in 0..self.options.rounds {
                    self.sweep();
                }
                self.write_back();
                self.keep_informative();
                self.observe();
                if self.options.stop.load(Ordering::Relaxed) {
                    // The rest of the pass is read by the certificate below, which takes everything that was asked for.
                    self.reader.forget()?;
                    break;
                }
            }
            if self.cost.visits == 0 {
                return Err(TrainError::NoWeight);
            }
            trained_passes += 1;
            self.cost.passes += 1;
            self.save()?;
            let stop = self.reason_to_stop(trained_passes);
            if stop.is_some() || schedule.is_due(trained_passes) {
                let gap = self.certify_all()?;
                self.observe();
                if gap <= self.options.tolerance {
                    return Ok(Status::Converged);
                }
                schedule.note(trained_passes, gap, self.options.tolerance);
                if let Some(status) = stop {
                    return Ok(status);
                }
            }
        }
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
        let free = 1.0 - self.options.cache_share;
        let (rows, values) =
            ((self.plan.resident_rows as f64 * free) as u64, (self.plan.resident_values as f64 * free) as u64);
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
            for i in 0..block.rows() {
                let position = first + i as u64;
                if !self.is_cached(position) {
                    self.set.push(
                        self.loss,
                        &block,
                        i,
                        position,
                        self.duals[position as usize],
                        &self.options.objective,
                    );
                }
            }
        }
        self.order.resize(self.set.rows());
        Ok(())
    }

    fn is_cached(&self, position: u64) -> bool {
        self.cached[position as usize / 64] >> (position % 64) & 1 == 1
    }

    fn sweep(&mut self) -> Sweep {
        let begin = Instant::now();
        self.order.begin_sweep(self.set.rows(), &mut self.random);
        let bias = self.options.objective.bias;
        let sweep = solver::sweep(self.loss, bias, &mut self.set, &mut self.w, &mut *self.order);
        self.cost.solve_seconds += begin.elapsed().as_secs_f64();
        self.cost.sweeps += 1;
        self.cost.visits += sweep.visits;
        self.dual_objective += sweep.gain;
        sweep
    }

    fn write_back(&mut self) {
        for (state, &position) in self.set.states.iter().zip(&self.set.positions) {
            self.duals[position as usize] = state.beta;
        }
    }

    /// Keeps the rows that are worth it and forgets the others.
    fn keep_informative(&mut self) {
        let share = self.options.cache_share;
        let (rows, values) = (self.plan.resident_rows as f64 * share, self.plan.resident_values as f64 * share);
        let bias = self.options.objective.bias;
        let room = (rows as u64, values as u64);
        let keep = cache::choose(self.options.selection, self.loss, bias, &self.set, &self.w, room, &mut self.random);
        for (&position, &kept) in self.set.positions.iter().zip(&keep) {
            let (word, bit) = (position as usize / 64, 1u64 << (position % 64));
            self.cached[word] = if kept { self.cached[word] | bit } else { self.cached[word] & !bit };
        }
        self.set.retain(|i| keep[i]);
        self.order.retain(&mut |i| keep[i]);
    }

    fn certify_resident(&mut self) -> f64 {
        let begin = Instant::now();
        let mut scan = Scan::new(&self.w, &mut self.v, self.options.objective.bias);
        for (i, state) in self.set.states.iter().enumerate() {
            scan.add(self.loss, self.set.block.row(i), state);
        }
        let certificate = scan.finish();
        self.certified(certificate, begin)
    }

    /// One pass over all blocks at a fixed w.
    fn certify_all(&mut self) -> Result<f64, TrainError> {
        let begin = Instant::now();
        let objective = &self.options.objective;
        let mut scan = Scan::new(&self.w, &mut self.v, objective.bias);
        (0..self.store.blocks().len() as u32).for_each(|id| self.reader.request(BlockId(id)));
        while let Some(block) = self.reader.take()? {
            let id = block.id().0 as usize;
            self.cost.bytes_read += self.store.blocks()[id].stored_bytes;
            for i in 0..block.rows() {
                let (y, c) = objective.row(&block.info(i));
                if c > 0.0 {
                    // A start from another objective may lie outside the bounds of this one.
                    let (low, high) = self.loss.dual_bounds(y, c);
                    let dual = &mut self.duals[self.first_rows[id] as usize + i];
                    *dual = dual.clamp(low, high);
                    let beta = *dual;
                    scan.add(self.loss, block.row(i), &RowState { y, c, sq_norm: 0.0, beta });
                }
            }
        }
        let certificate = scan.finish();
        self.cost.passes += 1;
        Ok(self.certified(certificate, begin))
    }

    fn certified(&mut self, certificate: Certificate, begin: Instant) -> f64 {
        // What was summed anew replaces what was updated step by step.
        std::mem::swap(&mut self.w, &mut self.v);
        self.dual_objective = certificate.dual_objective;
        self.certificate = Some(certificate);
        self.order.note_gap(certificate.relative_gap());
        self.cost.certify_seconds += begin.elapsed().as_secs_f64();
        certificate.relative_gap()
    }

    fn save(&mut self) -> Result<(), TrainError> {
        if let Some(file) = &self.options.checkpoint {
            file.save(&self.options.objective, self.cost, &self.duals)?;
        }
        self.saved = Instant::now();
        Ok(())
    }

    fn observe(&mut self) {
        self.cost.seconds = self.begin.elapsed().as_secs_f64();
        let step = Step { cost: self.cost, dual_objective: self.dual_objective, certificate: self.certificate };
        self.observer.step(&step, &self.w);
    }
}

/// When the next certificate is due: about when the gap is expected to reach the tolerance, judging by its fall so far.
#[derive(Default)]
struct CertificateSchedule {
    last: Option<(u64, f64)>,
    due: u64,
}

impl CertificateSchedule {
    fn is_due(&self, round: u64) -> bool {
        round >= self.due.max(3)
    }

    fn note(&mut self, round: u64, gap: f64, tolerance: f64) {
        let rounds = match self.last {
            Some((last_round, last_gap)) if gap < last_gap => {
                let rate = (last_gap / gap).ln() / (round - last_round).max(1) as f64;
                (gap / tolerance).ln() / rate * 0.8
            }
            _ => 0.0,
        };
        self.last = Some((round, gap));
        // Between a fourth and a half of what was done so far: predictions may be wrong, and a certificate costs as much as a sweep.
        self.due = round + (rounds as u64).clamp(1 + round / 4, 1 + round / 2);
    }
}
