//! Several models at a time over rows in memory, each on a thread of its own.
//!
//! What a model computes does not depend on the others, nor on how many threads there are.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crossbeam_channel::{Sender, unbounded};

use super::rows::StoreRows;
use crate::engine::{Observer, Step, TrainError, WeightsNow};

/// What a model tells the observer of the run.
enum Told {
    Step(Box<Step>, Vec<f64>),
    Note(String),
}

struct Forward(Sender<Told>);

impl Observer for Forward {
    fn step(&mut self, step: &Step, weights: &WeightsNow) {
        let weights = weights.models.first().copied().unwrap_or_default();
        // Where nobody listens any more, the run has ended.
        let _ = self.0.send(Told::Step(Box::new(*step), weights.to_vec()));
    }

    fn note(&mut self, text: &str) {
        let _ = self.0.send(Told::Note(text.to_string()));
    }
}

/// Calls `work` for each of `count` models, with rows and an observer of its own, `threads` of them at a time. After an
/// error no more of them begin.
pub fn each_model<T: Send>(
    rows: &mut StoreRows,
    (count, threads): (usize, usize),
    observer: &mut dyn Observer,
    work: impl Fn(usize, &mut StoreRows, &mut dyn Observer) -> Result<T, TrainError> + Sync,
) -> Result<Vec<T>, TrainError> {
    let copies: Option<Vec<StoreRows>> = (0..threads.min(count)).map(|_| rows.share()).collect();
    let Some(copies) = copies.filter(|copies| copies.len() > 1) else {
        return (0..count).map(|number| work(number, rows, observer)).collect();
    };
    let next = AtomicUsize::new(0);
    let worker = |mut rows: StoreRows, mut observer: Forward| {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(done);
            }
            match work(number, &mut rows, &mut observer) {
                Ok(found) => done.push((number, found)),
                Err(error) => {
                    next.store(count, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let (teller, told) = unbounded();
    thread::scope(|scope| {
        let mut workers = Vec::with_capacity(copies.len());
        for rows in copies {
            let (worker, relay) = (&worker, Forward(teller.clone()));
            let spawned = thread::Builder::new().spawn_scoped(scope, move || worker(rows, relay));
            workers.push(spawned.map_err(|error| TrainError::Threads(error.to_string()))?);
        }
        drop(teller);
        for told in told {
            match told {
                Told::Step(step, weights) => observer.step(&step, &WeightsNow { models: &[&weights] }),
                Told::Note(text) => observer.note(&text),
            }
        }
        let mut all = Vec::with_capacity(count);
        for worker in workers {
            let ended = worker.join().map_err(|_| TrainError::Threads("a model's thread has ended".into()))?;
            all.append(&mut ended?);
        }
        all.sort_unstable_by_key(|(number, _)| *number);
        Ok(all.into_iter().map(|(_, found)| found).collect())
    })
}
