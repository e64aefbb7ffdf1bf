//! How a run is asked to end before it is done.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A request to stop, shared by whoever makes it and the run that looks for it.
///
/// Runs look every some million values, and in between two blocks: whoever asks is answered within a fraction of a
/// second.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<State>);

#[derive(Debug, Default)]
struct State {
    requested: AtomicBool,
    looks: AtomicU64,
    /// The look at which the request is made by itself.
    at_look: Option<u64>,
}

impl Stop {
    /// Makes the request itself when it is looked at for the `look`-th time: a limit that does not depend on a clock.
    pub fn at_look(look: u64) -> Stop {
        Stop(Arc::new(State { at_look: Some(look), ..State::default() }))
    }

    /// Asks the run to stop. True if somebody had asked before.
    pub fn request(&self) -> bool {
        self.0.requested.swap(true, Ordering::Relaxed)
    }

    /// Whether somebody has asked.
    pub fn is_requested(&self) -> bool {
        let looks = self.0.looks.fetch_add(1, Ordering::Relaxed) + 1;
        if self.0.at_look.is_some_and(|last| looks >= last) {
            self.request();
        }
        self.0.requested.load(Ordering::Relaxed)
    }

    /// How often a run has looked so far.
    pub fn looks(&self) -> u64 {
        self.0.looks.load(Ordering::Relaxed)
    }
}
