//! Late passes need not read what stays 0: all rows with few features are gathered into memory, their problem is solved there, and a scan over everything says how good that is.
//!
//! This is the working set of features of celer (Massias et al. 2018), around the disk: two passes a round, one that gathers and one that certifies and counts. The problem of few
//! features is a problem like any other, so that the trainer itself solves it.
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Learner, Run};
use crate::block::Block;
use crate::budget::Budget;
use crate::columns;
use crate::residents::Residents;
use crate::store::{BlockId, BlockStore, MemoryStore, Shape};
use crate::trainer::few_features::{Choice, Counts, Gathering, Pulls, Room};
use crate::trainer::plan::Plan;
use crate::trainer::recipes::train_all;
use crate::trainer::{Centre, Solver, Task, TrainError, TrainOptions, Trained};

/// What a model holds of a row while few features are solved: its state and order, margins, slopes and curvatures, and its dual variable before, now and after.
const ROW_BYTES: u64 = 68 + columns::ROW_BYTES + 3 * 8;
/// What it holds of a feature: the vectors of the proximal point method and of descent by columns, and weights and sums before and after.
const FEATURE_BYTES: u64 = 8 * (4 + columns::VECTORS + 4);
/// The problem of few features is solved to this part of the gap that all have, and of the tolerance.
const PARTS: (f64, f64) = (0.01, 0.2);
/// A round pays if it leaves at most this part of the gap.
const PAYS: f64 = 0.5;
/// Steps by columns, at most: where those are not enough, more of them will not be.
const MOST_STEPS: u64 = 200;

/// When rounds are made: as long as they pay, and after those that do not, again after more and more scans.
#[derive(Default)]
pub struct Turns {
    /// What the scan before a round has counted.
    counts: Option<Counts>,
    /// The gap before the last round.
    gap: Option<f64>,
    failures: u32,
    /// Scans to let pass.
    skip: u32,
}

impl Turns {
    fn fail(&mut self) {
        self.failures += 1;
        self.skip = 1 << self.failures.min(10);
        self.gap = None;
    }

    /// A block of a scan has come.
    pub fn count(&mut self, block: &Block) {
        if let Some(counts) = &mut self.counts {
            counts.add(block);
        }
    }

    /// Whether the last round paid, judging by the gaps before and after.
    fn has_paid(&mut self, gap: f64) -> bool {
        let has_paid = self.gap.is_none_or(|before| gap <= PAYS * before);
        self.gap = Some(gap);
        if !has_paid {
            self.fail();
        }
        has_paid
    }
}

impl Run<'_> {
    /// A pass begins in which all models scan: if a round may follow it counts values, in the room of the rows that were kept.
    pub fn prepare_to_leave_features_out(&mut self, learners: &mut [Learner]) {
        let is_asked = self.options.working_set && self.options.centre == Centre::AfterPass;
        let Shape { rows, columns, .. } = self.store.shape();
        let (room, there_is) = (self.room(learners.len() as u64), self.plan.resident_bytes + self.plan.column_bytes);
        let can = |learner: &Learner| learner.is_done() || learner.may_leave_features_out();
        let is_roomy = there_is >= Room::CHOICE_BYTES[0] * columns && room.bytes > rows * room.of_row;
        if !is_asked || !is_roomy || !learners.iter().all(can) {
            return;
        }
        if self.turns.skip > 0 {
            self.turns.skip -= 1;
            return;
        }
        self.keep(&vec![false; self.residents.rows()], learners);
        self.residents = Residents::with_capacity(self.store.shape(), 0, 0);
        self.turns.counts = Some(Counts::none(columns));
    }

    /// Makes a round if values have been counted and models go on: they stand before a scan then.
    pub fn leave_features_out(&mut self, learners: &mut [Learner]) -> Result<(), TrainError> {
        let Some(counts) = self.turns.counts.take() else { return Ok(()) };
        let mut active: Vec<&mut Learner> = learners.iter_mut().filter(|learner| !learner.is_done()).collect();
        let gap = gaps(&active).fold(0.0, f64::max);
        if gap > 0.0 && !self.limits.is_interrupted() && self.turns.has_paid(gap) {
            match self.choose(counts, &active) {
                Some(choice) => self.solve_few(&choice, &mut active)?,
                None => self.turns.fail(),
            }
        }
        let Plan { resident_rows, resident_values, .. } = self.plan;
        self.residents = Residents::with_capacity(self.store.shape(), resident_rows as usize, resident_values as usize);
        Ok(())
    }

    /// What there is room for in place of resident rows and of the weights of all features: each row and feature with what models hold of it, and each value by column.
    fn room(&self, models: u64) -> Room {
        let Shape { columns, layout, .. } = self.store.shape();
        let Plan { resident_bytes, column_bytes, weight_bytes, models: all, .. } = self.plan;
        let there_is = resident_bytes + column_bytes + weight_bytes / all * models;
        Room {
            bytes: there_is.saturating_sub(Room::CHOICE_BYTES[1] * columns),
            of_row: 2 * layout.resident_bytes(1, 0) + Residents::ROW_BYTES + models * ROW_BYTES,
            of_value: layout.transposed_bytes(0, 1).max(4),
            of_feature: 24 + models * FEATURE_BYTES,
        }
    }

    /// None if there is no room.
    fn choose(&self, counts: Counts, active: &[&mut Learner]) -> Option<Choice> {
        let shape = self.store.shape();
        let mut pulls = Pulls::none(shape.columns);
        active.iter().for_each(|learner| learner.pull(&mut pulls, shape.columns as usize));
        Choice::new(shape, &pulls, counts, self.room(active.len() as u64))
    }

    /// One pass over all blocks. None if somebody has asked to stop.
    fn gather(&mut self, choice: &Choice) -> Result<Option<MemoryStore>, TrainError> {
        let mut gathering = Gathering::new(self.store.shape(), choice);
        (0..self.store.blocks().len() as u32).for_each(|id| self.reader.request(BlockId(id)));
        loop {
            let waiting = Instant::now();
            let Some(block) = self.reader.take()? else { break };
            self.cost.read_seconds += waiting.elapsed().as_secs_f64();
            self.cost.bytes_read += self.store.blocks()[block.id().0 as usize].stored_bytes;
            if self.limits.is_interrupted() {
                drop(block);
                self.reader.forget()?;
                return Ok(None);
            }
            gathering.take(&block);
        }
        self.cost.passes += 1;
        Ok(Some(gathering.finish()))
    }

    /// Trains all models on few features, which take the place of their own weights meanwhile.
    fn solve_few(&mut self, choice: &Choice, active: &mut [&mut Learner]) -> Result<(), TrainError> {
        let columns = &choice.columns;
        let tasks = active.iter().map(|learner| learner.with_columns(columns)).collect::<Result<Vec<Task>, _>>()?;
        let (of_gap, of_tolerance) = PARTS;
        let tolerance = (of_gap * gaps(active).fold(1.0, f64::min)).max(of_tolerance * self.options.tolerance);
        active.iter_mut().for_each(|learner| learner.rest());
        let gathered = self.gather(choice)?;
        let seconds = Duration::from_secs_f64(self.limits.seconds());
        let options = TrainOptions {
            tolerance,
            max_passes: MOST_STEPS,
            max_time: self.options.max_time.map(|limit| limit.saturating_sub(seconds)),
            solver: Solver::Columns,
            ..self.options.with_tasks(tasks)
        };
        let mut found = match gathered {
            Some(store) => self.train_few(store, &options)?.into_iter().map(Some).collect(),
            None => Vec::new(),
        };
        found.resize_with(active.len(), || None);
        let cost = self.shared_cost();
        for ((learner, task), found) in active.iter_mut().zip(&options.tasks).zip(found) {
            learner.take_columns(columns, task, found)?;
            learner.save(cost)?;
        }
        Ok(())
    }

    /// The models of few features; none if they do not fit after all.
    fn train_few(&mut self, store: MemoryStore, options: &TrainOptions) -> Result<Vec<Trained>, TrainError> {
        let models = options.tasks.len();
        let Room { bytes, of_value, .. } = self.room(models as u64);
        let Shape { rows, columns, layout, .. } = store.shape();
        let values = store.resident_columns().map_or(0, |columns| columns.values() as u64);
        // The rows, their columns with their ends, their numbers and lengths; what models began with is freed last.
        let before = models as u64 * (16 * columns + 8 * rows);
        let taken = values * of_value + 16 * columns + layout.resident_bytes(rows, 0) + before;
        let budget = Budget::new(bytes.saturating_sub(taken));
        let plan = Plan::for_solver(&store, &options.tasks[0].objective, Solver::Columns, models, &budget);
        if !plan.is_ok_and(|(plan, _)| plan.in_memory) {
            self.turns.fail();
            return Ok(Vec::new());
        }
        train_all(Arc::new(store), options, &budget, &mut ())
    }
}

fn gaps(learners: &[&mut Learner]) -> impl Iterator<Item = f64> {
    learners.iter().filter_map(|learner| learner.certificate).map(|found| found.relative_gap())
}
