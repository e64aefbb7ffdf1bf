//! When a run has to end, whatever it has reached, and how often it looks whether that is so.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::engine::{Status, TrainError, TrainOptions};
use crate::stop::Stop;

/// Values of rows, or multiplications, between two looks: a few milliseconds.
const WORK: u64 = 1 << 21;
/// A run that has to end may take this long to find out how good its weights are. Then what is known has to do.
const GRACE: Duration = Duration::from_millis(600);

/// The limits of a run, and when it began. Clones are of the same run.
#[derive(Clone)]
pub struct Limits<'a> {
    options: &'a TrainOptions,
    watch: Watch,
}

/// The part of the limits that is about time and requests.
#[derive(Clone)]
pub struct Watch {
    stop: Stop,
    begin: Instant,
    max_time: Option<Duration>,
    /// Since when the run has had to end.
    over: Arc<OnceLock<Instant>>,
    /// Milliseconds of the time that the end is expected to take.
    reserved: Arc<AtomicU64>,
}

impl Watch {
    /// The clock starts now.
    pub fn new(stop: &Stop, max_time: Option<Duration>) -> Self {
        Watch { stop: stop.clone(), begin: Instant::now(), max_time, over: Arc::default(), reserved: Arc::default() }
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Why nothing goes any further.
    pub fn look(&self) -> Option<Status> {
        let status = if self.stop.is_requested() {
            Status::Interrupted
        } else if self.max_time.is_some_and(|limit| self.begin.elapsed() + self.reserved(limit) >= limit) {
            Status::OutOfTime
        } else {
            return None;
        };
        self.over.get_or_init(Instant::now);
        Some(status)
    }

    /// The same as an error.
    pub fn check(&self) -> Result<(), TrainError> {
        self.look().map_or(Ok(()), |status| Err(TrainError::Stopped(status)))
    }

    /// Whether work without which there is no model at all goes on, now that the run has to end. Whoever interrupts a
    /// run waits for its end; a limit that was too small for the data still has a model in the end.
    pub fn lets_end(&self, status: Status) -> bool {
        status != Status::Interrupted || !self.is_grace_over()
    }

    /// The same as an error. What is spare ends with the time that the end has, also if it was the time that was
    /// limited.
    pub fn goes_on(&self, is_spare: bool) -> Result<(), TrainError> {
        match self.look() {
            Some(status) if !self.lets_end(status) || is_spare && self.is_grace_over() => {
                Err(TrainError::Stopped(status))
            }
            _ => Ok(()),
        }
    }

    /// The last scan over all rows is expected to take so long, which is a part of the time.
    pub fn reserve(&self, seconds: f64) {
        self.reserved.store((1000.0 * seconds) as u64, Ordering::Relaxed);
    }

    /// What may be had without going over the limit is not reserved, and no more than half of the time is.
    fn reserved(&self, limit: Duration) -> Duration {
        let wanted = Duration::from_millis(self.reserved.load(Ordering::Relaxed));
        wanted.saturating_sub(GRACE / 2).min(limit / 2)
    }

    /// Whether even the end has to end.
    pub fn is_grace_over(&self) -> bool {
        !self.has_time_for(0.0)
    }

    /// Whether something that takes so many seconds may still be done.
    pub fn has_time_for(&self, seconds: f64) -> bool {
        let end = GRACE + self.set_aside();
        self.over.get().is_none_or(|since| since.elapsed().as_secs_f64() + seconds < end.as_secs_f64())
    }

    /// What was reserved for the end and is left of the time that was limited. Whoever interrupts a run does not wait
    /// for it.
    fn set_aside(&self) -> Duration {
        let limit = self.max_time.filter(|_| !self.stop.is_requested());
        limit.map_or(Duration::ZERO, |limit| self.reserved(limit))
    }

    /// The same clock, which ends after so much more time if it does not end before.
    pub fn within(&self, share: Duration) -> Watch {
        let end = self.begin.elapsed() + share;
        let max_time = Some(self.max_time.map_or(end, |limit| limit.min(end)));
        Watch { stop: self.stop.clone(), begin: self.begin, max_time, over: Arc::default(), reserved: Arc::default() }
    }

    /// Looks now and then, while work of about `unit` values a time is done.
    pub fn pace(&self, unit: u64) -> Pace<'_> {
        Pace { watch: self, every: (WORK / unit.max(1)).max(1), left: 1, stopped: None }
    }
}

/// Counts work between looks at a watch.
pub struct Pace<'a> {
    watch: &'a Watch,
    every: u64,
    left: u64,
    stopped: Option<Status>,
}

impl Pace<'_> {
    /// A unit of work of the end is about to be done: an error if there is no time for it.
    #[inline(always)]
    pub fn end_step(&mut self, is_spare: bool) -> Result<(), TrainError> {
        self.left -= 1;
        if self.left > 0 {
            return Ok(());
        }
        self.left = self.every;
        self.watch.goes_on(is_spare)
    }

    /// A unit of work is about to be done: why not, if so.
    #[inline(always)]
    pub fn step(&mut self) -> Option<Status> {
        self.left -= 1;
        if self.left == 0 { self.look() } else { None }
    }

    #[cold]
    fn look(&mut self) -> Option<Status> {
        self.left = self.every;
        self.stopped = self.stopped.or_else(|| self.watch.look());
        if self.stopped.is_some() {
            // Every step from now on says so.
            self.left = 1;
        }
        self.stopped
    }
}

impl<'a> Limits<'a> {
    /// The clock starts now.
    pub fn new(options: &'a TrainOptions) -> Self {
        Limits { options, watch: Watch::new(&options.stop, options.max_time) }
    }

    /// What the run was told.
    pub fn options(&self) -> &'a TrainOptions {
        self.options
    }

    /// Time and requests.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.watch.seconds()
    }

    /// What is left of the time, if that is limited, for a part of the run.
    pub fn rest(&self) -> Option<Duration> {
        self.options.max_time.map(|limit| limit.saturating_sub(self.watch.begin.elapsed()))
    }

    /// Those of one of `models` models that are still to come, `together` of them at a time: each has the same part of
    /// the time that is left.
    pub fn share(&self, models: usize, together: usize) -> Limits<'a> {
        let part = |rest: Duration| rest.mul_f64(together.clamp(1, models.max(1)) as f64 / models.max(1) as f64);
        let watch = self.rest().map_or_else(|| self.watch.clone(), |rest| self.watch.within(part(rest)));
        Limits { options: self.options, watch }
    }

    /// Why nothing goes any further: somebody has asked to stop, or time is up.
    pub fn look(&self) -> Option<Status> {
        self.watch.look()
    }

    /// Why a model that has made so many passes goes no further.
    pub fn reason_to_stop(&self, passes: u64) -> Option<Status> {
        let of_passes = || (passes >= self.options.max_passes).then_some(Status::OutOfPasses);
        self.look().or_else(of_passes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{AnyLoss, Squared};
    use crate::objective::{Objective, Targets};

    #[test]
    fn the_end_has_the_time_that_was_reserved_for_it() {
        let (stop, limit) = (Stop::default(), Duration::from_secs(1000));
        let mut watch = Watch::new(&stop, Some(limit));
        let Some(past) = Instant::now().checked_sub(Duration::from_secs(2)) else { return };
        watch.over = Arc::new(OnceLock::from(past));
        assert!(watch.is_grace_over());
        watch.reserve(100.0);
        assert!(watch.has_time_for(50.0) && !watch.has_time_for(120.0));
        // More than half of the time is never reserved.
        watch.reserve(1e6);
        assert!(watch.has_time_for(400.0) && !watch.has_time_for(600.0));
        stop.request();
        assert!(watch.is_grace_over(), "whoever interrupts a run does not wait for it");
    }

    #[test]
    fn models_have_shares_of_the_time_that_is_left() {
        let limit = Duration::from_secs(1000);
        let options = TrainOptions {
            max_time: Some(limit),
            ..TrainOptions::new(Objective::new(AnyLoss::Squared(Squared), 1.0, Targets::Numbers))
        };
        let limits = Limits::new(&options);
        let time = |models, together| limits.share(models, together).watch.max_time.unwrap().as_secs_f64();
        assert!((time(10, 1) - 100.0).abs() < 1.0 && (time(10, 4) - 400.0).abs() < 1.0);
        // The last ones may take all that is left, and never more.
        assert!(time(1, 4) <= 1000.0 && time(1, 1) > 990.0 && time(0, 1) > 990.0);
        let over = limits.watch.within(Duration::ZERO);
        assert_eq!((over.look(), limits.look()), (Some(Status::OutOfTime), None), "a share ends alone");
        let endless = TrainOptions { max_time: None, ..options.with_tasks(Vec::new()) };
        assert_eq!(Limits::new(&endless).share(10, 1).look(), None);
    }
}
