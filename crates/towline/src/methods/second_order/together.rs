//! Several models, one scan.
//!
//! Each model runs on a thread of its own and asks for scans as if it were alone. A scan begins when all models wait
//! for one, and each block that is read is handed to all of them. So models that are alike, of classes, folds or values
//! of C, cost the disk as much as the one that needs most scans. What a model computes does not depend on the others,
//! nor on how many threads may work at a time.
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::rows::StoreRows;
use super::scanning::Scanning;
use crate::block::Block;
use crate::engine::{Certificate, Cost, Observer, Step, TrainError, WeightsNow};
use crate::store::{Lent, StoreError};

/// What a model tells.
enum Message {
    /// It waits for a scan of every so manyth block.
    Scan(usize),
    /// It is done with a block.
    Done,
    /// It needs no more blocks of this scan.
    Leave,
    /// It needs no more scans.
    End,
}

/// What a model is given.
enum Handed {
    /// A block, and the position of its first row.
    Block(Arc<Lent>, u64),
    /// The scan has ended; what reading has cost so far.
    End(Cost),
}

/// Through which a model gets blocks.
pub struct Port {
    number: usize,
    messages: Sender<(usize, Message)>,
    blocks: Receiver<Handed>,
    turns: Turns,
}

/// As many models work at a time as there are threads.
#[derive(Clone)]
struct Turns {
    give: Sender<()>,
    take: Receiver<()>,
}

impl Turns {
    fn of(threads: usize) -> Self {
        let (give, take) = bounded(threads);
        // The channel has room for all of them.
        (0..threads).for_each(|_| _ = give.send(()));
        Turns { give, take }
    }

    fn begin(&self) {
        // Both ends are here.
        let _ = self.take.recv();
    }

    fn end(&self) {
        let _ = self.give.try_send(());
    }
}

impl Port {
    fn tell(&self, message: Message) {
        // Where nobody listens any more, no block comes either.
        let _ = self.messages.send((self.number, message));
    }

    /// Calls `visit` with every `step`-th block and the position of its first row.
    pub fn scan(
        &self,
        step: usize,
        (scanning, cost): (&Scanning, &mut Cost),
        mut visit: impl FnMut(&Block, u64) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        self.tell(Message::Scan(step));
        self.turns.end();
        let ended = loop {
            let Ok(handed) = self.blocks.recv() else { break Err(StoreError::ReaderGone.into()) };
            match handed {
                Handed::Block(block, first) => {
                    self.turns.begin();
                    let visited = scanning.rows().next().and_then(|()| visit(&block, first));
                    drop(block);
                    self.turns.end();
                    self.tell(if visited.is_ok() { Message::Done } else { Message::Leave });
                    if visited.is_err() {
                        break visited;
                    }
                }
                Handed::End(now) => {
                    *cost = now;
                    break Ok(());
                }
            }
        };
        self.turns.begin();
        ended
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.turns.end();
        self.tell(Message::End);
    }
}

/// What a model has told its observer since anybody looked.
#[derive(Default)]
struct Told {
    step: Option<Step>,
    weights: Vec<f64>,
    notes: Vec<String>,
}

struct Relay<'a>(&'a Mutex<Told>);

impl Observer for Relay<'_> {
    fn step(&mut self, step: &Step, weights: &WeightsNow) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.step = Some(*step);
        told.weights.clear();
        told.weights.extend_from_slice(weights.models.first().copied().unwrap_or_default());
    }

    fn note(&mut self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).notes.push(text.to_string());
    }
}

/// Calls `work` for each of `count` models with rows and an observer of its own, this many at a time as there are
/// `threads`. The rows must not be in memory.
pub fn scan_together<T: Send>(
    rows: &mut StoreRows,
    (count, threads): (usize, usize),
    observer: &mut dyn Observer,
    work: impl Fn(usize, &mut StoreRows, &mut dyn Observer) -> T + Sync,
) -> Result<Vec<T>, TrainError> {
    let told: Vec<Mutex<Told>> = (0..count).map(|_| Mutex::default()).collect();
    let (messages, inbox) = unbounded();
    let turns = Turns::of(threads.max(1));
    thread::scope(|scope| {
        let mut models = Vec::with_capacity(count);
        let mut hands = Vec::with_capacity(count);
        for (number, told) in told.iter().enumerate() {
            let (hand, blocks) = bounded(1);
            let port = Port { number, messages: messages.clone(), blocks, turns: turns.clone() };
            let mut own = rows.through(port);
            let (work, turns) = (&work, turns.clone());
            let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                turns.begin();
                work(number, &mut own, &mut Relay(told))
            });
            models.push(spawned.map_err(|error| TrainError::Threads(error.to_string()))?);
            hands.push(Some(hand));
        }
        let mut served = Service { rows, hands, inbox, asked: vec![None; count] };
        served.run(&told, observer)?;
        drop(served);
        let ended = models.into_iter().map(|model| model.join());
        ended.map(|ended| ended.map_err(|_| TrainError::Threads("a model's thread has ended".into()))).collect()
    })
}

/// The reader's side.
struct Service<'a> {
    rows: &'a mut StoreRows,
    /// To each model that has not ended.
    hands: Vec<Option<Sender<Handed>>>,
    inbox: Receiver<(usize, Message)>,
    /// The scan that each model waits for.
    asked: Vec<Option<usize>>,
}

impl Service<'_> {
    fn run(&mut self, told: &[Mutex<Told>], observer: &mut dyn Observer) -> Result<(), TrainError> {
        loop {
            self.wait_until_all_ask();
            show(told, observer);
            let Some(step) = self.asked.iter().flatten().copied().min() else { return Ok(()) };
            let mut listeners: Vec<usize> = (0..self.asked.len()).filter(|&i| self.asked[i] == Some(step)).collect();
            listeners.iter().for_each(|&i| self.asked[i] = None);
            let Service { rows, hands, inbox, asked } = self;
            rows.lend(step, |block, first| {
                let block = Arc::new(block);
                for &i in &listeners {
                    hand(&hands[i], Handed::Block(block.clone(), first));
                }
                drop(block);
                // The reader fills it again when all are done.
                let mut at_work = listeners.len();
                while at_work > 0 {
                    let Ok((i, message)) = inbox.recv() else { return false };
                    let is_listener = listeners.contains(&i);
                    at_work -= usize::from(is_listener);
                    if !matches!(message, Message::Done) {
                        listeners.retain(|&listener| listener != i);
                    }
                    note(i, &message, hands, asked);
                }
                !listeners.is_empty()
            })?;
            listeners.iter().for_each(|&i| hand(&hands[i], Handed::End(rows.cost)));
        }
    }

    fn wait_until_all_ask(&mut self) {
        while (0..self.hands.len()).any(|i| self.hands[i].is_some() && self.asked[i].is_none()) {
            match self.inbox.recv() {
                Ok((i, message)) => note(i, &message, &mut self.hands, &mut self.asked),
                Err(_) => self.hands.iter_mut().for_each(|hand| *hand = None),
            }
        }
    }
}

/// Takes a message that waits for no answer now.
fn note(i: usize, message: &Message, hands: &mut [Option<Sender<Handed>>], asked: &mut [Option<usize>]) {
    match message {
        Message::Scan(step) => asked[i] = Some(*step),
        Message::End => hands[i] = None,
        Message::Done | Message::Leave => {}
    }
}

fn hand(to: &Option<Sender<Handed>>, what: Handed) {
    if let Some(to) = to {
        // A model that has ended says so itself.
        let _ = to.send(what);
    }
}

/// Shows an observer the newest step of all models as one.
fn show(told: &[Mutex<Told>], observer: &mut dyn Observer) {
    let mut told: Vec<_> = told.iter().map(|told| told.lock().unwrap_or_else(PoisonError::into_inner)).collect();
    told.iter_mut().flat_map(|told| std::mem::take(&mut told.notes)).for_each(|note| observer.note(&note));
    let steps: Option<Vec<Step>> = told.iter().map(|told| told.step).collect();
    let Some(steps) = steps else { return };
    let certificates: Option<Vec<Certificate>> = steps.iter().map(|step| step.certificate).collect();
    let step = Step {
        cost: Cost::of_all(steps.iter().map(|step| step.cost)),
        dual_objective: steps.iter().map(|step| step.dual_objective).sum(),
        objective: steps.iter().map(|step| step.objective).sum(),
        violation: None,
        gap_estimate: steps.iter().filter_map(|step| step.gap_estimate).reduce(f64::max),
        certificate: certificates.and_then(|all| Certificate::total(&all)),
    };
    let models: Vec<&[f64]> = told.iter().map(|told| told.weights.as_slice()).collect();
    observer.step(&step, &WeightsNow { models: &models });
}
