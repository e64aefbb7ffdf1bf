//! What goes on from one point of a path to the next.
use std::sync::Arc;

use crate::engine::{Left, Start, Task, Trained};

/// What goes on from one point of a path to the next.
#[derive(Clone, Debug)]
pub struct WarmState {
    /// w, β and Σ βx.
    pub left: Arc<Left>,
    /// The C that they belong to: dual variables grow with it.
    pub c: f64,
}

impl WarmState {
    /// What `trained` leaves behind.
    fn after(trained: Trained, c: f64) -> WarmState {
        let Trained { weights, duals, sums, .. } = trained;
        WarmState { left: Arc::new(Left { weights, duals, sums }), c }
    }

    /// The same task, starting from here.
    fn start(&self, task: &Task) -> Task {
        Task {
            objective: task.objective.clone(),
            rows: task.rows.clone(),
            start: Some(Start::Left(self.left.clone(), task.objective.c / self.c)),
            start_weights: Vec::new(),
            checkpoint: task.checkpoint.clone(),
            own: task.own.clone(),
        }
    }
}

/// How the models of one point follow those of another.
#[derive(Clone, Debug)]
pub struct PathState {
    /// Models of a point: one, or one for each class.
    pub models: usize,
    /// What each of them starts from at the next point; nothing where it starts as its task says.
    pub along: Vec<WarmState>,
}

impl PathState {
    /// Points of so many models, the first of which start as their tasks say.
    pub fn of(models: usize) -> PathState {
        PathState { models, along: Vec::new() }
    }

    /// Points of one model, the first of which starts from `along`.
    pub fn from(along: Option<WarmState>) -> PathState {
        PathState { models: 1, along: along.into_iter().collect() }
    }

    /// How many of `size` models that fit at a time train together, and how many of them are told of at once: whole
    /// points.
    pub(crate) fn wave(&self, size: usize) -> usize {
        (size / self.models).max(1) * self.models
    }

    /// The tasks as they start, the first of which is the one with this number since a point has begun.
    pub(crate) fn start(&self, first: usize, tasks: &[Task]) -> Option<Vec<Task>> {
        let along = |i: usize| &self.along[(first + i) % self.models];
        let start = |(i, task): (usize, &Task)| along(i).start(task);
        (!self.along.is_empty()).then(|| tasks.iter().enumerate().map(start).collect())
    }

    /// The models of the last of these points are what the next ones start from.
    pub(crate) fn go_on_from(&mut self, mut trained: Vec<Trained>, tasks: &[Task]) {
        let last = trained.len().saturating_sub(self.models);
        let ended = trained.drain(last..).zip(&tasks[last..]);
        self.along = ended.map(|(trained, task)| WarmState::after(trained, task.objective.c)).collect();
    }
}
