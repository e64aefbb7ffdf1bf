//! The settings of a fit that say how: method, limits, memory, and where it starts.
use std::path::PathBuf;
use std::time::Duration;

use super::Fit;
use super::begin::{Begin, State};
use super::method::Method;
use crate::budget::Budget;
use crate::engine::{Selection, Solver};
use crate::order::OrderName;
use crate::stop::Stop;

impl Fit {
    /// How to train.
    pub fn method(mut self, method: Method) -> Fit {
        self.method = method;
        self
    }

    /// The solver.
    pub fn solver(mut self, solver: Solver) -> Fit {
        self.solver = Some(solver);
        self
    }

    /// Whether late passes out of core leave features out whose weights stay 0, for l1 and the elastic net.
    pub fn working_set(mut self, screens: bool) -> Fit {
        self.working_set = Some(screens);
        self
    }

    /// Which row is visited next, in dual coordinate descent.
    pub fn order(mut self, order: OrderName) -> Fit {
        self.order = Some(order);
        self
    }

    /// The part of the rows in memory that stays when new blocks come: from 0 to 0.9.
    pub fn cache_share(mut self, share: f64) -> Fit {
        self.cache_share = Some(share);
        self
    }

    /// How the rows that stay are chosen.
    pub fn selection(mut self, selection: Selection) -> Fit {
        self.selection = Some(selection);
        self
    }

    /// Inner epochs per block; `None` goes on while they pay.
    pub fn rounds(mut self, rounds: Option<u32>) -> Fit {
        self.rounds = Some(rounds);
        self
    }

    /// Parts of the rows in memory that dual coordinate descent visits at the same time: from 1 to 64. Each has a copy
    /// of the weights. One, unless a number is given; threads change nothing but the time.
    pub fn parts(mut self, parts: u32) -> Fit {
        self.parts = Some(parts);
        self
    }

    /// Rows of the convex model that a truncated loss begins with.
    pub fn init_rows(mut self, rows: u64) -> Fit {
        self.init_rows = Some(rows);
        self
    }

    /// Rows that a query of the index is to find.
    pub fn query_rows(mut self, rows: u64) -> Fit {
        self.query_rows = Some(rows);
        self
    }

    /// Stops at this relative duality gap.
    pub fn tolerance(mut self, gap: f64) -> Fit {
        self.tolerance = Some(gap);
        self
    }

    /// Makes all passes, whatever the gap: rounding may show one of 0 before the weights have their last digits.
    pub fn all_passes(mut self) -> Fit {
        self.all_passes = true;
        self
    }

    /// Stops after this many passes over the data.
    pub fn max_passes(mut self, passes: u64) -> Fit {
        self.max_passes = Some(passes);
        self
    }

    /// Stops after this time.
    pub fn max_time(mut self, time: Duration) -> Fit {
        self.max_time = Some(time);
        self
    }

    /// Seed of all random choices.
    pub fn seed(mut self, seed: u64) -> Fit {
        self.seed = seed;
        self
    }

    /// The command that was typed, which the model remembers.
    pub fn command(mut self, command: impl Into<String>) -> Fit {
        self.command = Some(command.into());
        self
    }

    /// Threads, among which models are shared out. They change nothing but the time.
    pub fn threads(mut self, threads: usize) -> Fit {
        self.threads = Some(threads.max(1));
        self
    }

    /// Bytes that the fit may hold at any time.
    pub fn memory(self, bytes: u64) -> Fit {
        self.budget(Budget::new(bytes))
    }

    /// A budget that other parts of the program share.
    pub fn budget(mut self, budget: Budget) -> Fit {
        self.budget = Some(budget);
        self
    }

    /// Ends the fit early when somebody asks for it; the model of then is the result.
    pub fn stop(mut self, stop: Stop) -> Fit {
        self.stop = stop;
        self
    }

    /// Keeps the state of the run beside this model file, `MODEL.duals`, at least once a pass. A later fit with the
    /// same objective on the same store goes on from there.
    pub fn checkpoint(mut self, model: impl Into<PathBuf>) -> Fit {
        self.checkpoint = Some(model.into());
        self
    }

    /// Begins anew, whatever the checkpoint has.
    pub fn restart(mut self) -> Fit {
        self.begin = Some(Begin::Nothing);
        self
    }

    /// Starts from the dual variables beside another model of this store, of another C or of fewer rows.
    pub fn warm_start(mut self, model: impl Into<PathBuf>) -> Fit {
        self.begin = Some(Begin::Model(model.into()));
        self
    }

    /// Starts from what another fit of the same classes on the same rows has left, see [`keep_state`](Fit::keep_state).
    pub fn start_from(mut self, state: Vec<State>) -> Fit {
        self.begin = Some(Begin::State(state));
        self
    }

    /// Keeps dual variables and weights in the result, for another fit to start from.
    pub fn keep_state(mut self, keep: bool) -> Fit {
        self.keep_state = keep;
        self
    }
}
