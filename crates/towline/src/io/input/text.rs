//! Text, read by one thread and parsed by several, in order.
//!
//! The reading thread fills a piece with whole records, hands it to whichever parser is free, and goes on. Pieces
//! travel in a fixed number of jobs that are paid for once and go round, so memory does not depend on the size of the
//! file; only a record longer than a piece makes its job grow, and it asks the budget first.
mod job;
mod reader;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use self::job::{BYTES_PER_TEXT_BYTE, Job, Outcome};
use self::reader::Reader;
use super::bytes::{Input, Stream};
use super::{InputError, Place, Progress, RowBatch, RowSource};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::schema::Schema;

/// A format made of records in text.
pub trait TextFormat: Send + Sync {
    /// How much of the beginning of a file the parser wants to see, given what was `seen` so far: no more than that if
    /// it is enough. What it sees does not depend on the budget, so neither do the rows.
    fn head_bytes(&self, seen: &[u8]) -> usize {
        seen.len()
    }

    /// Makes the parser for a file from its beginning (whole lines, or all of it), and says how many bytes of it are a
    /// header.
    fn parser(&self, file: &str, head: &[u8]) -> Result<(Arc<dyn RecordParser>, usize), InputError>;

    /// Whether features have names.
    fn features_are_named(&self) -> bool;

    /// What the targets are called, where a row has several and they have names; known once a parser has been made.
    fn target_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the columns of a table are taken for; known once a parser has been made.
    fn schema(&self) -> Option<Schema> {
        None
    }

    /// What can only be said once everything has been parsed.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Parses pieces of one file.
pub trait RecordParser: Send + Sync {
    /// How many bytes of `text` are whole records; 0 if not even one has ended. `text` begins at a record.
    fn whole_records(&self, text: &[u8]) -> usize {
        memchr::memrchr(b'\n', text).map_or(0, |at| at + 1)
    }

    /// Bytes that the rows of `text` take in a batch; asked for a piece that holds one long record, before it is
    /// parsed.
    fn rows_bytes(&self, text: &[u8]) -> u64 {
        text.len() as u64 * (BYTES_PER_TEXT_BYTE - 1)
    }

    /// Makes room in `batch` for the rows of a piece that holds one long record, exactly: so much has been paid for.
    fn reserve(&self, _text: &[u8], _batch: &mut RowBatch) {}

    /// Appends the records of `text` to `batch`.
    fn parse(&self, text: &[u8], batch: &mut RowBatch) -> Result<(), LineError>;
}

/// What is wrong with a line of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// Byte in the piece at which the trouble begins.
    pub at: usize,
    /// What was found and what was expected.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl LineError {
    /// A row with another number of targets than those before it.
    pub(super) fn targets(at: usize, found: usize, expected: usize) -> LineError {
        let count = |n: usize| if n == 1 { "1 target".to_string() } else { format!("{n} targets") };
        let problem = format!("this row has {}, and the rows before it have {expected}", count(found));
        LineError { at, problem, remedy: "give every row the same number of targets, with commas between them".into() }
    }

    pub(super) fn locate(self, file: &str, first_line: u64, text: &[u8]) -> InputError {
        let before = &text[..self.at.min(text.len())];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let line = first_line + memchr::memchr_iter(b'\n', before).count() as u64;
        let place = Place::Line(line, Some((before.len() - line_start) as u64 + 1));
        InputError::Bad { file: file.to_string(), place, problem: self.problem, remedy: self.remedy }
    }
}

/// A piece of text is not smaller than this.
const LEAST_PIECE_BYTES: u64 = 16 << 10;

/// Sizes of the reading machinery.
#[derive(Clone, Copy, Debug)]
pub struct TextLimits {
    /// Threads that parse.
    pub threads: usize,
    /// Bytes of a piece.
    pub piece_bytes: usize,
}

impl TextLimits {
    /// Pieces of 512 KiB, so that few records are longer and little of one is copied to the next; less where the budget
    /// is small: all pieces together take at most about a quarter of it.
    pub fn for_budget(budget: &Budget, threads: usize) -> Self {
        let threads = threads.max(1);
        // One more batch is in the hands of the consumer.
        let jobs = Self::jobs(threads) as u64 + 1;
        // Where others hold most of it already, half of what is left.
        let all = (budget.data_bytes() / 4).min(budget.free_bytes() / 2);
        let piece = all / (jobs * BYTES_PER_TEXT_BYTE);
        TextLimits { threads, piece_bytes: piece.clamp(LEAST_PIECE_BYTES, 512 << 10) as usize }
    }

    /// What all pieces take at least.
    pub fn least_bytes(threads: usize) -> u64 {
        (Self::jobs(threads.max(1)) as u64 + 1) * LEAST_PIECE_BYTES * BYTES_PER_TEXT_BYTE
    }

    /// Text that may have been read before its rows come out.
    pub fn ahead_bytes(&self) -> u64 {
        Self::jobs(self.threads) as u64 * self.piece_bytes as u64
    }

    fn jobs(threads: usize) -> usize {
        2 * threads + 1
    }
}

/// Reads text inputs, one after the other.
pub struct TextSource {
    format: Arc<dyn TextFormat>,
    done: Option<Receiver<(u64, Outcome)>>,
    free: Option<Sender<Job>>,
    waiting: BTreeMap<u64, Outcome>,
    next: u64,
    /// Targets behind the first in the rows so far.
    further: Option<usize>,
    threads: Vec<JoinHandle<()>>,
    /// Pays for the batch that the consumer holds.
    lent: Reservation,
}

impl TextSource {
    /// Starts reading `inputs` ahead.
    pub fn new(
        format: Arc<dyn TextFormat>,
        inputs: Vec<Input>,
        limits: TextLimits,
        budget: &Budget,
        progress: &Progress,
    ) -> Result<Self, BudgetError> {
        let streams = inputs.into_iter().map(Stream::from).collect();
        TextSource::from_streams(format, streams, limits, budget, progress)
    }

    /// Starts reading `inputs` ahead, of which some may be open already.
    pub fn from_streams(
        format: Arc<dyn TextFormat>,
        inputs: Vec<Stream>,
        limits: TextLimits,
        budget: &Budget,
        progress: &Progress,
    ) -> Result<Self, BudgetError> {
        let jobs = TextLimits::jobs(limits.threads);
        let (free_tx, free_rx) = bounded::<Job>(jobs);
        let (work_tx, work_rx) = bounded::<Job>(jobs);
        let (done_tx, done_rx) = unbounded::<(u64, Outcome)>();
        let pay = || budget.reserve("text being parsed", limits.piece_bytes as u64 * BYTES_PER_TEXT_BYTE);
        let lent = pay()?;
        for _ in 0..jobs {
            let paid = pay()?;
            let (text, batch) = (Vec::new(), RowBatch::default());
            let piece_bytes = limits.piece_bytes;
            let job = Job { number: 0, file: "".into(), first_line: 0, parser: None, text, batch, piece_bytes, paid };
            // The channel has room for every job, and both ends are held here.
            let _ = free_tx.send(job);
        }
        let mut threads = Vec::new();
        for _ in 0..limits.threads {
            let (work, done) = (work_rx.clone(), done_tx.clone());
            threads.push(std::thread::spawn(move || parse_jobs(&work, &done)));
        }
        let reader = Reader {
            format: format.clone(),
            free: free_rx,
            spare: Vec::new(),
            jobs,
            work: work_tx,
            piece_bytes: limits.piece_bytes,
            budget: budget.clone(),
            progress: progress.clone(),
            number: 0,
        };
        threads.push(std::thread::spawn(move || reader.run(inputs, &done_tx)));
        Ok(TextSource {
            format,
            done: Some(done_rx),
            free: Some(free_tx),
            waiting: BTreeMap::new(),
            next: 0,
            further: None,
            threads,
            lent,
        })
    }
}

impl RowSource for TextSource {
    fn next_batch(&mut self, batch: &mut RowBatch) -> Result<bool, InputError> {
        let Some(done) = &self.done else { return Ok(false) };
        let outcome = loop {
            if let Some(outcome) = self.waiting.remove(&self.next) {
                break outcome;
            }
            match done.recv() {
                Ok((number, outcome)) => {
                    self.waiting.insert(number, outcome);
                }
                Err(_) => return Ok(false),
            }
        };
        self.next += 1;
        let mut job = outcome?;
        let found = job.batch.further_count();
        if job.batch.rows() > 0 && *self.further.get_or_insert(found) != found {
            return Err(job.other_targets(self.further.unwrap_or(0)));
        }
        std::mem::swap(batch, &mut job.batch);
        // The job goes on with the batch that comes back, and with what paid for that one.
        job.release_text();
        std::mem::swap(&mut self.lent, &mut job.paid);
        if let Err(source) = job.recycle() {
            return Err(InputError::Budget { file: job.file.to_string(), source });
        }
        if let Some(free) = &self.free {
            // When reading has ended nobody takes jobs back any more.
            let _ = free.send(job);
        }
        Ok(true)
    }

    fn features_are_named(&self) -> bool {
        self.format.features_are_named()
    }

    fn target_names(&self) -> Vec<String> {
        self.format.target_names()
    }

    fn remarks(&self) -> Vec<String> {
        self.format.remarks()
    }

    fn schema(&self) -> Option<Schema> {
        self.format.schema()
    }
}

impl Drop for TextSource {
    fn drop(&mut self) {
        // Closing the channels ends the threads, wherever they wait.
        self.free = None;
        self.done = None;
        self.waiting.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn parse_jobs(work: &Receiver<Job>, done: &Sender<(u64, Outcome)>) {
    for job in work {
        if done.send((job.number, job.parse())).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
