//! How to train.
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::{Selection, Solver, Task, Variant};
use crate::objective::Objective;
use crate::order::OrderName;
use crate::stop::Stop;

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
    /// Parts of the rows in memory that dual coordinate descent visits at the same time, for one model of
    /// one output and ½‖w‖². One, unless a number is given.
    pub parts: Option<u32>,
    /// Seed of all random choices.
    pub seed: u64,
    /// When the proximal centre moves, with any other penalty than ½‖w‖².
    pub centre: Centre,
    /// In what the algorithm differs from ours.
    pub variant: Variant,
    /// Which solver runs.
    pub solver: Solver,
    /// Coordinate descent gives up when it is expected to take more sweeps than this from now on: another solver would
    /// not take as long.
    pub patience: Option<f64>,
    /// Whether all rows with few of their features may be solved in memory where the rows themselves do not fit, for
    /// penalties that make weights 0.
    pub working_set: bool,
    /// Threads, among which models, or parts of the rows of one model, are shared out. They change nothing but the
    /// time.
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
            parts: None,
            seed: 0,
            centre: Centre::default(),
            variant: Variant::OURS,
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
    /// After every sweep over the resident rows, until it stays where it is: then the problem (7) of those rows is
    /// solved, in which there is no proximal term. That is D-BCD, Algorithm 1, on blocks that are the same in all
    /// passes. Nothing makes it converge for penalties that are not strongly convex; it is here for comparison.
    UntilSolved,
}
