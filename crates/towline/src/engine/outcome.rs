//! What came of training, and what it cost.
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::engine::{Baseline, Certificate, Duals, Solver, Start};

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

    /// Whether the whole run had to stop, so that nothing comes after it.
    pub const fn is_stop(self) -> bool {
        matches!(self, Status::OutOfTime | Status::Interrupted)
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
    /// Σ βx by column, the constant feature last, where the weights are not just that; none from a method without dual
    /// variables.
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
    /// Weights without dual variables; what else there is can be added.
    pub(crate) fn new(weights: Vec<f64>, status: Status, certificate: Certificate, cost: Cost) -> Self {
        let (duals, sums) = (Duals::in_memory(0), Vec::new());
        Trained { weights, duals, sums, status, certificate, cost, solver: Solver::Dual, baseline: None }
    }

    /// The same with its dual variables.
    pub(crate) fn with_duals(self, duals: Duals) -> Self {
        Trained { duals, ..self }
    }

    /// The same with Σ βx.
    pub(crate) fn with_sums(self, sums: Vec<f64>) -> Self {
        Trained { sums, ..self }
    }

    /// The same as found by another solver than dual coordinate descent.
    pub(crate) fn by(self, solver: Solver) -> Self {
        Trained { solver, ..self }
    }

    /// The same by one of the methods that papers compare with.
    pub(crate) fn by_baseline(self, baseline: Baseline) -> Self {
        Trained { baseline: Some(baseline), ..self }
    }

    /// The same with another cost.
    pub(crate) fn at_cost(self, cost: Cost) -> Self {
        Trained { cost, ..self }
    }

    /// Forgets what only another run would need: among many models, that is much, and it has been saved where that was
    /// asked for.
    pub fn keep_only_weights(&mut self) {
        (self.duals, self.sums) = (Duals::in_memory(0), Vec::new());
    }

    /// Another run has gone on from here: the better weights count, and the larger bound. Bounds of both may certify
    /// what neither of them could alone.
    pub(crate) fn go_on_to(&mut self, mut found: Trained, tolerance: f64) {
        found.cost = found.cost.with(&self.cost);
        let bound = found.certificate.dual_objective.max(self.certificate.dual_objective);
        if self.certificate.objective < found.certificate.objective {
            (found.weights, found.certificate) = (std::mem::take(&mut self.weights), self.certificate);
            found.solver = self.solver;
        }
        found.certificate.dual_objective = bound;
        if found.certificate.relative_gap() <= tolerance {
            found.status = Status::Converged;
        }
        *self = found;
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
    /// Does work whose seconds are those of sweeping.
    pub(crate) fn solving<T>(&mut self, work: impl FnOnce(&mut Cost) -> T) -> T {
        let begin = Instant::now();
        let done = work(self);
        self.solve_seconds += begin.elapsed().as_secs_f64();
        done
    }

    /// Does work whose seconds are all those of reading.
    pub(crate) fn reading<T>(&mut self, work: impl FnOnce(&mut Cost) -> T) -> T {
        let (begin, read_seconds) = (Instant::now(), self.read_seconds);
        let done = work(self);
        self.read_seconds = read_seconds + begin.elapsed().as_secs_f64();
        done
    }

    /// Does work whose seconds are those of a certificate, waiting for blocks included.
    pub(crate) fn certifying<T>(&mut self, work: impl FnOnce(&mut Cost) -> T) -> T {
        let (begin, read_seconds) = (Instant::now(), self.read_seconds);
        let done = work(self);
        self.read_seconds = read_seconds;
        self.certify_seconds += begin.elapsed().as_secs_f64();
        done
    }

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
    pub(crate) fn without(self, before: &Cost) -> Cost {
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
