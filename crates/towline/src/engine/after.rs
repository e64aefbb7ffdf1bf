//! What an observer sees of a run that is not the first.
use crate::engine::{Cost, Observer, Step, WeightsNow};

/// Adds what was spent before to what an observer sees.
pub(crate) struct After<'a> {
    pub before: Cost,
    pub observer: &'a mut dyn Observer,
}

impl Observer for After<'_> {
    fn step(&mut self, step: &Step, weights: &WeightsNow) {
        self.observer.step(&Step { cost: self.before.with(&step.cost), ..*step }, weights);
    }

    fn note(&mut self, text: &str) {
        self.observer.note(text);
    }
}
