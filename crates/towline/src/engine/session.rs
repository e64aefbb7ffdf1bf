//! What a run is besides its mathematics: when it has to end, what it has cost, who watches it, what comes of it.
//! Streams keep clocks of their own, since reading and learning go on side by side there.
use std::time::{Duration, Instant};

use crate::engine::{
    Certificate, Cost, Duals, Limits, Observer, Status, Step, Task, TrainError, Trained, Watch, WeightsNow,
};

/// Time between two saves of a state that takes long to write and little to find again.
const BETWEEN_SAVES: Duration = Duration::from_secs(10);

/// A run while it goes on.
pub struct Session<'a> {
    watch: Watch,
    max_passes: u64,
    observer: &'a mut dyn Observer,
    /// What it has cost so far, but for the seconds in all.
    pub cost: Cost,
}

/// What is known of the weights when an observer is told of a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// D, where a method has one.
    pub dual_objective: Option<f64>,
    /// F of the weights that the run would end with now.
    pub objective: Option<f64>,
    /// About how large the relative gap is.
    pub gap_estimate: Option<f64>,
    /// The largest violation of the optimality conditions that the last sweep has met, where the run ends by it.
    pub violation: Option<f64>,
    /// The newest certificate.
    pub certificate: Option<Certificate>,
}

impl Standing {
    /// What a certificate says.
    pub fn by(certificate: Certificate) -> Standing {
        let (dual_objective, objective) = (Some(certificate.dual_objective), Some(certificate.objective));
        Standing { dual_objective, objective, certificate: Some(certificate), ..Standing::default() }
    }

    /// Tells an observer of a step after which models stand like this.
    pub fn tell(self, observer: &mut dyn Observer, cost: Cost, models: &[&[f64]]) {
        let Standing { dual_objective, objective, gap_estimate, violation, certificate } = self;
        let step = Step { cost, dual_objective, objective, gap_estimate, violation, certificate };
        observer.step(&step, &WeightsNow { models });
    }

    /// The same from a method without dual variables.
    pub fn by_bound(certificate: Certificate) -> Standing {
        Standing { dual_objective: None, ..Standing::by(certificate) }
    }
}

impl<'a> Session<'a> {
    /// The clock of `watch` goes on.
    pub fn new(watch: Watch, max_passes: u64, observer: &'a mut dyn Observer) -> Self {
        Session { watch, max_passes, observer, cost: Cost::default() }
    }

    /// The same for limits.
    pub fn within(limits: &Limits, observer: &'a mut dyn Observer) -> Self {
        Session::new(limits.watch().clone(), limits.options().max_passes, observer)
    }

    /// Time and requests.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Whether the last pass has been made, as a reason to stop.
    pub fn out_of_passes(&self) -> Option<Status> {
        (self.cost.passes >= self.max_passes).then_some(Status::OutOfPasses)
    }

    /// What it has cost so far.
    pub fn cost(&self) -> Cost {
        Cost { seconds: self.watch.seconds(), ..self.cost }
    }

    /// Tells the observer of a step.
    pub fn tell(&mut self, known: Standing, models: &[&[f64]]) {
        let cost = self.cost();
        self.tell_at(cost, known, models);
    }

    /// The same where models have costs of their own besides.
    pub fn tell_at(&mut self, cost: Cost, known: Standing, models: &[&[f64]]) {
        known.tell(self.observer, cost, models);
    }

    /// What has come of the run, by a method without dual variables; [`Trained`] has what can be added.
    pub fn end(&self, weights: Vec<f64>, status: Status, certificate: Certificate) -> Trained {
        Trained::new(weights, status, certificate, self.cost())
    }
}

/// Where the state of a model is kept while it trains.
pub struct Saving<'a> {
    task: &'a Task,
    last: Instant,
}

impl<'a> Saving<'a> {
    /// Nothing is kept before it is due for the first time.
    pub fn of(task: &'a Task) -> Self {
        Saving { task, last: Instant::now() }
    }

    /// Whether there is a file, and enough time has passed for a state that is saved between two steps.
    pub fn is_due(&self) -> bool {
        self.task.checkpoint.is_some() && self.last.elapsed() >= BETWEEN_SAVES
    }

    /// Saves dual variables, and the weights that they do not determine.
    pub fn save(&mut self, cost: Cost, duals: &Duals, weights: &[f64]) -> Result<(), TrainError> {
        // First, so that a disk that is full is tried again after a while, not at every step.
        self.last = Instant::now();
        let Some(file) = &self.task.checkpoint else { return Ok(()) };
        Ok(file.save(&self.task.objective, cost, duals, weights)?)
    }

    /// Makes what was saved last what another run goes on from.
    pub fn commit(&self) -> Result<(), TrainError> {
        Ok(self.task.checkpoint.as_ref().map_or(Ok(()), |file| file.commit())?)
    }
}
