//! Late passes need not read what stays 0: all rows with few features are gathered into memory, their problem is solved
//! there, and a scan over everything says how good that is.
//!
//! This is the working set of features of celer (Massias et al. 2018), around the disk: two passes a round, one that
//! gathers and one that certifies; and just the second where what the round before has gathered will do, as it does for
//! several points of a path. The problem of few features is a problem like any other, so that the trainer itself solves
//! it.
use std::sync::Arc;

use super::{Learner, Run};
use crate::block::Block;
use crate::budget::Budget;
use crate::columns;
use crate::engine::{Centre, Plan, Solver, Task, TrainError, TrainOptions, Trained};
use crate::methods::dual_cd::by_coordinates;
use crate::methods::dual_cd::feature_screening::{Choice, Counts, Gathering, MemoryShare, MemoryShares, Pulls};
use crate::residents::Residents;
use crate::store::{BlockStore, MemoryStore, Shape};

/// What a model holds of a row while few features are solved: its state and order, margins, slopes and curvatures, and
/// its dual variable before, now and after.
const ROW_BYTES: u64 = 68 + columns::ROW_BYTES + 3 * 8;
/// What it holds of a feature: the vectors of the proximal point method and of descent by columns, and weights and sums
/// before and after.
const FEATURE_BYTES: u64 = 8 * (4 + columns::VECTORS + 4);
/// What a column of the gathered rows takes besides its values: its end, its number and its length.
const COLUMN_BYTES: u64 = 24;
/// Bytes for each feature of the store while few are chosen.
const CHOICE_BYTES: u64 = MemoryShare::COUNT_BYTES + MemoryShare::PULL_BYTES;
/// The problem of few features is solved to this part of the gap that all have, and of the tolerance.
const PARTS: (f64, f64) = (0.01, 0.2);
/// With such a gap, or where a model begins at the end of another one, the pulls at features will not change much.
const NEAR: f64 = 0.05;
/// A round pays if it leaves at most this part of the gap.
const PAYS: f64 = 0.5;
/// Steps by columns, at most: where those are not enough, more of them will not be.
const MOST_STEPS: u64 = 200;

/// When rounds are made: as long as they pay, and after those that do not, again after more and more scans.
#[derive(Default)]
pub struct Turns {
    /// What a scan has counted.
    counts: Option<Counts>,
    /// Whether the scan at hand counts.
    is_counting: bool,
    /// What the last round has gathered, if it has stayed.
    gathered: Option<Gathered>,
    /// The gap before the last round.
    gap: Option<f64>,
    failures: u32,
    /// Scans to let pass.
    skip: u32,
}

/// All rows with few of their features.
struct Gathered {
    columns: Arc<[u32]>,
    rows: Arc<MemoryStore>,
    may_stay: bool,
}

impl Turns {
    /// Other models come. What was counted and gathered serves them, too, and what did not pay for those before will
    /// hardly do so now.
    fn begin_wave(&mut self) {
        self.is_counting = false;
        self.gap = None;
    }

    fn fail(&mut self) {
        self.failures += 1;
        self.skip = 1 << self.failures.min(10);
        self.gap = None;
    }

    /// A block of a scan has come.
    pub fn count(&mut self, block: &Block) {
        if let (true, Some(counts)) = (self.is_counting, &mut self.counts) {
            counts.add(block);
        }
    }

    /// Whether the last round paid, judging by the gaps before and after.
    fn has_paid(&mut self, gap: f64) -> bool {
        let has_paid = self.gap.is_none_or(|before| gap <= PAYS * before);
        self.gap = Some(gap);
        has_paid
    }
}

impl Run<'_> {
    /// Models of a wave begin. Those that start from what others have left know how hard they pull at features, and
    /// need no pass to find out which matter.
    pub fn begin_with_few_features(&mut self, learners: &mut [Learner]) -> Result<(), TrainError> {
        self.turns.begin_wave();
        let know = learners.iter().all(Learner::knows_sums);
        let is_due = self.turns.skip == 0 && self.turns.counts.is_none();
        if know && is_due && self.may_leave_features_out(learners) {
            learners.iter_mut().try_for_each(Learner::begin_scan)?;
        }
        Ok(())
    }

    /// Whether rounds are possible at all.
    fn may_leave_features_out(&self, learners: &[Learner]) -> bool {
        let is_asked = self.options.working_set && self.options.centre == Centre::AfterPass;
        let Shape { rows, columns, .. } = self.store.shape();
        let room = self.rooms(learners.len() as u64).solving;
        let is_roomy = self.rows_bytes() >= CHOICE_BYTES * columns && room.bytes > rows * room.of_row;
        let can = |learner: &Learner| learner.is_done() || learner.may_leave_features_out();
        is_asked && is_roomy && learners.iter().all(can)
    }

    /// A pass begins in which all models scan: if a round may follow it counts values, in the room of the rows that
    /// were kept.
    pub fn prepare_to_leave_features_out(&mut self, learners: &mut [Learner]) {
        if self.turns.counts.is_some() || !self.may_leave_features_out(learners) {
            return;
        }
        if self.turns.skip > 0 {
            self.turns.skip -= 1;
            return;
        }
        self.keep(&vec![false; self.residents.rows()], learners);
        self.residents = Residents::with_capacity(self.store.shape(), 0, 0);
        self.turns.counts = Some(Counts::none(self.store.shape().columns));
        self.turns.is_counting = true;
    }

    /// Makes a round if values have been counted and models go on: they stand before a scan then.
    pub fn leave_features_out(&mut self, learners: &mut [Learner]) -> Result<(), TrainError> {
        self.turns.is_counting = false;
        if self.turns.counts.is_none() {
            return Ok(());
        }
        let mut active: Vec<&mut Learner> = learners.iter_mut().filter(|learner| !learner.is_done()).collect();
        let can = |learner: &&mut Learner| learner.knows_sums() && learner.may_leave_features_out();
        if active.iter().all(can) && self.limits.look().is_none() {
            let gap = gaps(&active).reduce(f64::max);
            if gap.is_none_or(|gap| self.turns.has_paid(gap)) && self.round(&mut active)? {
                return Ok(());
            }
            self.turns.fail();
        }
        self.make_room_for_rows();
        Ok(())
    }

    /// Rows of blocks come into memory again.
    fn make_room_for_rows(&mut self) {
        (self.turns.counts, self.turns.gathered) = (None, None);
        let Plan { resident_rows, resident_values, .. } = self.plan;
        self.residents = Residents::with_capacity(self.store.shape(), resident_rows as usize, resident_values as usize);
    }

    /// Solves the problem of few features: those of the round before if no others may leave 0, else those that are
    /// gathered now. False if there is no room.
    fn round(&mut self, active: &mut [&mut Learner]) -> Result<bool, TrainError> {
        let shape = self.store.shape();
        let mut pulls = Pulls::none(shape.columns);
        active.iter().for_each(|learner| learner.pull(&mut pulls, shape.columns as usize));
        self.turns.gathered.take_if(|gathered| !pulls.are_within(&gathered.columns));
        let choice = match (&self.turns.gathered, &self.turns.counts) {
            (None, Some(counts)) => {
                let known_well = gaps(active).all(|gap| gap <= NEAR);
                Choice::new(shape, &pulls, counts, self.rooms(active.len() as u64), known_well)
            }
            _ => None,
        };
        drop(pulls);
        let of_choice = choice.as_ref().map(|choice| choice.columns.clone());
        let of_gathered = self.turns.gathered.as_ref().map(|gathered| gathered.columns.clone());
        let Some(columns) = of_choice.or(of_gathered) else { return Ok(false) };
        let tasks = active.iter().map(|learner| learner.with_columns(&columns)).collect::<Result<Vec<Task>, _>>()?;
        active.iter_mut().for_each(|learner| learner.release());
        if let Some(choice) = choice {
            self.turns.gathered = self.gather(&choice)?;
        }
        if !self.solve_few(&columns, tasks, active)? {
            self.turns.fail();
            self.make_room_for_rows();
        }
        Ok(true)
    }

    /// Bytes for rows of blocks, which there are none of while features are left out.
    fn rows_bytes(&self) -> u64 {
        self.plan.resident_bytes + self.plan.column_bytes
    }

    /// What there is room for in place of resident rows: each row and feature with what models hold of it, and each
    /// value by column. The weights of all features make room as well while the problem of few is solved.
    fn rooms(&self, models: u64) -> MemoryShares {
        let Shape { columns, layout, .. } = self.store.shape();
        let Plan { weight_bytes, models: all, .. } = self.plan;
        let of_value = layout.transposed_bytes(0, 1).max(4);
        let there_is = self.rows_bytes() + weight_bytes / all * models;
        let solving = MemoryShare {
            bytes: there_is.saturating_sub(MemoryShare::NUMBER_BYTES * columns),
            of_row: 2 * layout.resident_bytes(1, 0) + Residents::ROW_BYTES + models * ROW_BYTES,
            of_value,
            of_feature: COLUMN_BYTES + models * FEATURE_BYTES,
        };
        let beside_counts =
            MemoryShare { bytes: solving.bytes.saturating_sub(MemoryShare::COUNT_BYTES * columns), ..solving };
        let beside_weights = MemoryShare {
            bytes: self.rows_bytes().saturating_sub(CHOICE_BYTES * columns),
            of_row: layout.resident_bytes(1, 0),
            of_value,
            of_feature: COLUMN_BYTES,
        };
        MemoryShares { solving, staying: [beside_counts, beside_weights] }
    }

    /// One pass over all blocks. None if somebody has asked to stop.
    fn gather(&mut self, choice: &Choice) -> Result<Option<Gathered>, TrainError> {
        let shape = self.store.shape();
        let counts = self.turns.counts.take_if(|_| !choice.may_stay);
        let numbers = counts.map_or_else(|| vec![0; shape.columns as usize], Counts::into_numbers);
        let mut gathering = Gathering::new(shape, choice, numbers);
        self.pass.ask_for(self.pass.blocks());
        while let Some((block, _)) = self.pass.next(&mut self.session.cost)? {
            if self.limits.look().is_some() {
                drop(block);
                self.pass.break_off()?;
                return Ok(None);
            }
            gathering.take(&block);
        }
        self.session.cost.passes += 1;
        let rows = Arc::new(gathering.finish());
        Ok(Some(Gathered { columns: choice.columns.clone(), rows, may_stay: choice.may_stay }))
    }

    /// Trains all models on few features, which take the place of their own weights meanwhile. False if that was not
    /// possible, and they stand where they stood.
    fn solve_few(
        &mut self,
        columns: &[u32],
        tasks: Vec<Task>,
        active: &mut [&mut Learner],
    ) -> Result<bool, TrainError> {
        let (of_gap, of_tolerance) = PARTS;
        let gap = gaps(active).reduce(f64::min);
        let tolerance = (of_gap * gap.unwrap_or(0.0)).max(of_tolerance * self.options.tolerance);
        let options = TrainOptions {
            tolerance,
            max_passes: MOST_STEPS,
            max_time: self.limits.rest(),
            solver: Solver::Columns,
            ..self.options.with_tasks(tasks)
        };
        let mut found = match &self.turns.gathered {
            Some(gathered) => self.train_few(gathered.rows.clone(), &options)?.into_iter().map(Some).collect(),
            None => Vec::new(),
        };
        // Weights of all features come back now.
        self.turns.gathered.take_if(|gathered| !gathered.may_stay);
        let are_found = !found.is_empty();
        found.resize_with(active.len(), || None);
        let cost = self.shared_cost();
        for ((learner, task), found) in active.iter_mut().zip(&options.tasks).zip(found) {
            learner.take_columns(columns, task, found)?;
            learner.save(cost)?;
        }
        Ok(are_found)
    }

    /// The models of few features; none if they do not fit after all.
    fn train_few(&self, rows: Arc<MemoryStore>, options: &TrainOptions) -> Result<Vec<Trained>, TrainError> {
        let models = options.tasks.len();
        let MemoryShare { bytes, of_value, .. } = self.rooms(models as u64).solving;
        let shape = rows.shape();
        let values = rows.resident_columns().map_or(0, |columns| columns.values() as u64);
        // The rows, their columns with their ends, their numbers and lengths; what models began with is freed last.
        let before = models as u64 * (16 * shape.columns + 8 * shape.rows);
        let taken = values * of_value + 16 * shape.columns + shape.layout.resident_bytes(shape.rows, 0) + before;
        let budget = Budget::new(bytes.saturating_sub(taken));
        let plan = Plan::for_solver(&*rows, &options.tasks[0].objective, Solver::Columns, models, &budget);
        match plan {
            Ok((plan, _)) if plan.in_memory => {
                let rows: Arc<dyn BlockStore> = rows;
                by_coordinates(&rows, &options.tasks, options, &budget, &mut ())
            }
            _ => Ok(Vec::new()),
        }
    }
}

fn gaps(learners: &[&mut Learner]) -> impl Iterator<Item = f64> {
    learners.iter().filter_map(|learner| learner.certificate).map(|found| found.relative_gap())
}
