//! When a run has to end, whatever it has reached.
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{Status, TrainOptions};

/// The limits of a run, and when it began.
pub struct Limits<'a> {
    options: &'a TrainOptions,
    begin: Instant,
}

impl<'a> Limits<'a> {
    /// The clock starts now.
    pub fn new(options: &'a TrainOptions) -> Self {
        Limits { options, begin: Instant::now() }
    }

    /// What the run was told.
    pub fn options(&self) -> &'a TrainOptions {
        self.options
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Somebody has asked to stop.
    pub fn is_interrupted(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    /// Why a model that has made so many passes goes no further.
    pub fn reason_to_stop(&self, passes: u64) -> Option<Status> {
        if self.is_interrupted() {
            Some(Status::Interrupted)
        } else if self.options.max_time.is_some_and(|limit| self.begin.elapsed() >= limit) {
            Some(Status::OutOfTime)
        } else if passes >= self.options.max_passes {
            Some(Status::OutOfPasses)
        } else {
            None
        }
    }
}
