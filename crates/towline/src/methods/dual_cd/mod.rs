//! The only outer loop: gathers blocks, sweeps, keeps informative rows, certifies, stops.
//!
//! Selective block minimization (SBM, Algorithm 1): a step loads new blocks beside the cached rows, sweeps over both, writes
//! the dual variables back and chooses what to cache. Where everything fits into memory there is one step that never ends: the
//! same code, without the disk.
mod after;
mod balance;
mod cache;
mod certificate;
mod checkpoint;
mod checkpoints;
mod choose;
mod duals;
mod few_features;
mod joint;
mod joint_rows;
mod lean;
mod learner;
mod limits;
mod link;
mod own_loss;
mod path;
mod plan;
mod problem;
mod problem_rows;
mod progress;
mod proximal;
mod proximal_certificate;
mod recipes;
mod run;
mod schedule;
mod side_by_side;
mod single;
mod solver;
mod sparse_rows;
mod stored_duals;
mod support;
mod task;
mod unlearnt;
mod zero;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use crate::store::StoreFingerprint;
pub(crate) use after::After;
pub(crate) use balance::{Balance, weigh};
pub use cache::Selection;
pub(crate) use cache::choose;
pub use certificate::Certificate;
pub(crate) use checkpoint::MAGIC as DUALS_MAGIC;
pub use checkpoint::{Checkpoint, CheckpointError, CheckpointFile};
pub use checkpoints::Checkpoints;
pub use choose::Choice;
pub(crate) use duals::DualSums;
pub use duals::{Duals, Left, Start};
pub(crate) use joint::Joint;
pub(crate) use limits::{Limits, Pace, Watch};
pub(crate) use link::{Identity, Link};
pub use own_loss::{OwnLoss, train_own_loss};
pub use path::{Along, Chain, ToldOf, path};
pub use plan::Plan;
pub(crate) use plan::{Needs, READ_AHEAD};
pub(crate) use problem::{Certify, LookBack, OwnRows, Problem};
pub(crate) use problem_rows::{ProblemRows, renumber};
pub(crate) use proximal::Proximal;
pub(crate) use proximal_certificate::{ProximalScan, Scanned, balance};
pub use recipes::{train, train_all, train_by_newton};
pub(crate) use side_by_side::{Plain, SideBySide, add_row, insert_columns, margins_of};
pub(crate) use single::Single;
pub use solver::Solver;
pub(crate) use support::SupportCount;
pub use task::{RowFilter, Task};
pub use unlearnt::without_training;
pub(crate) use unlearnt::{ZeroCosts, by_scan as unlearnt_by_scan, models as unlearnt_models};
pub use zero::{AtZero, at_zero};

use crate::baselines::Baseline;
use crate::budget::BudgetError;
use crate::columns::ColumnsError;
use crate::objective::Objective;
use crate::order::OrderName;
use crate::second_order::SecondOrderError;
use crate::stop::Stop;
use crate::store::StoreError;

/// How to train.
#[derive(Debug)]
pub struct TrainOptions {
    /// The models that are trained together: every block that is read serves all of them.
    pub tasks: Vec<Task>,
    /// Stop at this relative duality gap.
    pub tolerance: f64,
    /// Stop after this many passes over the data.
    pub max_passes: u64,
    /// Stop after this time.
    pub max_time: Option<Duration>,
    /// The order of visits.
    pub order: OrderName,
    /// The part of the resident rows that is kept when new blocks come; 0 is plain block minimization.
    pub cache_share: f64,
    /// How they are chosen.
    pub selection: Selection,
    /// Sweeps per step; without a number they go on while they pay.
    pub rounds: Option<u32>,
    /// Seed of all random choices.
    pub seed: u64,
    /// When the proximal centre moves, with any other penalty than ½‖w‖².
    pub centre: Centre,
    /// Which solver runs.
    pub solver: Solver,
    /// Coordinate descent gives up when it is expected to take more sweeps than this from now on: another solver would not take as long.
    pub patience: Option<f64>,
    /// Whether all rows with few of their features may be solved in memory where the rows themselves do not fit, for penalties that make weights 0.
    pub working_set: bool,
    /// Threads, among which models are shared out. They change nothing but the time.
    pub threads: usize,
    /// Asks to stop, from outside.
    pub stop: Stop,
}

impl TrainOptions {
    /// What `towline train` does when it is told nothing else.
    pub fn new(objective: Objective) -> Self {
        TrainOptions::of(Task::new(objective))
    }

    /// The same for a task.
    pub fn of(task: Task) -> Self {
        TrainOptions {
            tasks: vec![task],
            tolerance: 1e-3,
            max_passes: 1000,
            max_time: None,
            order: OrderName::Auto,
            cache_share: 0.5,
            selection: Selection::Gradient,
            rounds: None,
            seed: 0,
            centre: Centre::default(),
            solver: Solver::default(),
            patience: None,
            working_set: true,
            threads: crate::machine::threads(),
            stop: Stop::default(),
        }
    }
}

impl TrainOptions {
    /// The same way for other models.
    pub fn with_tasks(&self, tasks: Vec<Task>) -> TrainOptions {
        TrainOptions { tasks, stop: self.stop.clone(), ..*self }
    }
}

/// When the centre of the proximal term moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Centre {
    /// When every row has had its turn (DA-BCD, Algorithm 2, with one pass per proximal step).
    #[default]
    AfterPass,
    /// After every sweep over the resident rows, until it stays where it is: then the problem (7) of those rows is solved, in which there is no
    /// proximal term. That is D-BCD, Algorithm 1, on blocks that are the same in all passes. Nothing makes it converge for penalties that are
    /// not strongly convex; it is here for comparison.
    UntilSolved,
}

/// How training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// The tolerance was reached.
    Converged,
    /// The last pass was made.
    OutOfPasses,
    /// Time was up.
    OutOfTime,
    /// Somebody asked to stop.
    Interrupted,
    /// All rows of a stream were learnt, each once.
    Streamed,
    /// Another solver was expected to be faster: only inside a run.
    #[serde(skip)]
    OutOfPatience,
}

impl Status {
    /// The name in files and for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::OutOfPasses => "out-of-passes",
            Status::OutOfTime | Status::OutOfPatience => "out-of-time",
            Status::Interrupted => "interrupted",
            Status::Streamed => "streamed",
        }
    }

    /// How a run of several models ended: as the first one that did not converge.
    pub fn of_all(all: impl IntoIterator<Item = Status>) -> Status {
        all.into_iter().find(|&status| status != Status::Converged).unwrap_or(Status::Converged)
    }
}

/// What came of training.
#[derive(Debug)]
pub struct Trained {
    /// Weights by column, and the weight of the bias last.
    pub weights: Vec<f64>,
    /// The dual variable of each row, by its position in the store; none from a method without them.
    pub duals: Duals,
    /// Σ βx by column, the constant feature last, where the weights are not just that; none from a method without dual variables.
    pub sums: Vec<f64>,
    /// How it ended.
    pub status: Status,
    /// How good it is.
    pub certificate: Certificate,
    /// What it cost.
    pub cost: Cost,
    /// What found it; never `Auto`.
    pub solver: Solver,
    /// The method, if it is one without dual variables.
    pub baseline: Option<Baseline>,
}

impl Trained {
    /// Forgets what only another run would need: among many models, that is much, and it has been saved where that was asked for.
    pub fn keep_only_weights(&mut self) {
        (self.duals, self.sums) = (Duals::in_memory(0), Vec::new());
    }

    /// Its dual variables, for another run to start from.
    pub fn take_duals(&mut self) -> Start {
        Start::Duals(std::mem::replace(&mut self.duals, Duals::in_memory(0)), 1.0)
    }
}

/// What training cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Passes over the data, those for certificates included where they read it.
    pub passes: u64,
    /// Sweeps over resident rows.
    pub sweeps: u64,
    /// Visits of rows.
    pub visits: u64,
    /// Bytes read from the store.
    pub bytes_read: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Seconds spent waiting for blocks.
    pub read_seconds: f64,
    /// Seconds spent sweeping.
    pub solve_seconds: f64,
    /// Seconds spent on certificates, reading included.
    pub certify_seconds: f64,
}

impl Cost {
    /// What models that were trained together cost: their work adds up, what was read served all of them.
    pub fn of_all(all: impl IntoIterator<Item = Cost>) -> Cost {
        let merge = |a: Cost, b: Cost| Cost {
            sweeps: a.sweeps + b.sweeps,
            visits: a.visits + b.visits,
            solve_seconds: a.solve_seconds + b.solve_seconds,
            certify_seconds: a.certify_seconds + b.certify_seconds,
            passes: a.passes.max(b.passes),
            bytes_read: a.bytes_read.max(b.bytes_read),
            seconds: a.seconds.max(b.seconds),
            read_seconds: a.read_seconds.max(b.read_seconds),
        };
        all.into_iter().reduce(merge).unwrap_or_default()
    }

    /// What a model cost that was trained after others: its own work, and all that was read until its end.
    pub fn after(self, before: &Cost) -> Cost {
        Cost {
            passes: self.passes + before.passes,
            bytes_read: self.bytes_read + before.bytes_read,
            seconds: self.seconds + before.seconds,
            read_seconds: self.read_seconds + before.read_seconds,
            ..self
        }
    }

    /// What came on top of an earlier count of passes, bytes, and seconds in all.
    fn without(self, before: &Cost) -> Cost {
        Cost {
            passes: self.passes - before.passes,
            bytes_read: self.bytes_read - before.bytes_read,
            seconds: self.seconds - before.seconds,
            read_seconds: self.read_seconds - before.read_seconds,
            ..self
        }
    }

    /// Both together.
    pub fn with(self, other: &Cost) -> Cost {
        Cost {
            passes: self.passes + other.passes,
            sweeps: self.sweeps + other.sweeps,
            visits: self.visits + other.visits,
            bytes_read: self.bytes_read + other.bytes_read,
            seconds: self.seconds + other.seconds,
            read_seconds: self.read_seconds + other.read_seconds,
            solve_seconds: self.solve_seconds + other.solve_seconds,
            certify_seconds: self.certify_seconds + other.certify_seconds,
        }
    }
}

/// The weights of all models while they train, each by column with the constant feature last.
#[derive(Clone, Copy, Debug)]
pub struct WeightsNow<'a> {
    /// One slice per model; a model with several outputs has them side by side for each column.
    pub models: &'a [&'a [f64]],
}

/// A look at a run while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// What it cost so far.
    pub cost: Cost,
    /// D as the sum of gains, without a scan; none from a method without dual variables.
    pub dual_objective: Option<f64>,
    /// The relative gap between the weights with which the last pass began and this dual objective, where it was computed.
    pub gap_estimate: Option<f64>,
    /// The newest certificate.
    pub certificate: Option<Certificate>,
}

/// Sees what happens.
pub trait Observer {
    /// Called after every step, with the weights as they are.
    fn step(&mut self, step: &Step, weights: &WeightsNow);

    /// Called where a series of convex problems is solved, after each of them, with the objective that the series minimises.
    fn problem_solved(&mut self, objective: f64, weights: &[f64]) {
        let _ = (objective, weights);
    }

    /// Called with a sentence that a user should read.
    fn note(&mut self, text: &str) {
        let _ = text;
    }
}

impl Observer for () {
    fn step(&mut self, _step: &Step, _weights: &WeightsNow) {}
}

/// Training cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A block cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The budget is too small.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The state of the run cannot be kept.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The solver that was asked for cannot do it.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
    /// The same for solvers of second order.
    #[error(transparent)]
    SecondOrder(#[from] SecondOrderError),
    /// Every row has weight 0.
    #[error("no row has a weight above 0; check `class_weight` and the sample weights")]
    NoWeight,
    /// The system has no threads left.
    #[error("cannot start threads: {0}")]
    Threads(String),
    /// It had to end before anything was known of a model.
    #[error("{} before it was known how good the weights are: no model was written", why(.0))]
    Stopped(Status),
    /// Steps were too long for these rows.
    #[error(
        "{method} has diverged: its weights are no numbers any more; scale the rows while packing with `scale(rows)`, or leave `method` out"
    )]
    Diverged {
        /// The method.
        method: &'static str,
    },
}

fn why(status: &Status) -> &'static str {
    match status {
        Status::OutOfTime => "`max_time` was over",
        _ => "the run was interrupted",
    }
}
