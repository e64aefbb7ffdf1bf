//! Text, read by one thread and parsed by several, in order.
//!
//! The reading thread fills a piece with whole records, hands it to whichever parser is free, and goes on. Pieces travel in
//! a fixed number of jobs that are paid for once and go round, so memory does not depend on the size of the file; only
//! a record longer than a piece makes its job grow, and it asks the budget first.
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::bytes::{self, Input, Opened, Stream};
use super::{InputError, Place, Progress, RowBatch, RowSource};
use crate::budget::{Budget, BudgetError, Reservation};

/// A format made of records in text.
pub trait TextFormat: Send + Sync {
    /// How much of the beginning of a file the parser wants to see, given what was `seen` so far: no more than that if it is
    /// enough. What it sees does not depend on the budget, so neither do the rows.
    fn head_bytes(&self, seen: &[u8]) -> usize {
        seen.len()
    }

    /// Makes the parser for a file from its beginning (whole lines, or all of it), and says how many bytes of it are a header.
    fn parser(&self, file: &str, head: &[u8]) -> Result<(Arc<dyn RecordParser>, usize), InputError>;

    /// Whether features have names.
    fn features_are_named(&self) -> bool;

    /// What the targets are called, where a row has several and they have names; known once a parser has been made.
    fn target_names(&self) -> Vec<String> {
        Vec::new()
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

    /// Bytes that the rows of `text` take in a batch; asked for a piece that holds one long record, before it is parsed.
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

/// A piece of text on its way from the reader to a parser and, as rows, to the consumer.
struct Job {
    number: u64,
    file: Arc<str>,
    first_line: u64,
    parser: Option<Arc<dyn RecordParser>>,
    text: Vec<u8>,
    batch: RowBatch,
    /// The usual size of a piece.
    piece_bytes: usize,
    paid: Reservation,
}

impl Job {
    /// Gives a long record back; a text of the usual size stays, to be filled again.
    fn release_text(&mut self) {
        if self.text.capacity() > self.piece_bytes {
            self.text = Vec::new();
        }
    }

    /// Makes the job ready for its next round; what a long record made it take is given back.
    fn recycle(&mut self) -> Result<(), BudgetError> {
        self.parser = None;
        self.batch.clear();
        let normal = self.piece_bytes as u64 * BYTES_PER_TEXT_BYTE;
        if self.batch.capacity_bytes() + self.text.capacity() as u64 > normal {
            self.batch = RowBatch::default();
        }
        self.paid.resize(normal)
    }

    /// The refusal of its first row, which has another number of targets than `further` and one.
    fn other_targets(&self, further: usize) -> InputError {
        let mut at = 0;
        for line in self.text.split(|&byte| byte == b'\n') {
            let row = line.trim_ascii();
            if !row.is_empty() && row[0] != b'#' {
                break;
            }
            at += line.len() + 1;
        }
        let error = LineError::targets(at, self.batch.further_count() + 1, further + 1);
        error.locate(&self.file, self.first_line, &self.text)
    }

    fn parse(mut self) -> Outcome {
        let Some(parser) = self.parser.clone() else { return Ok(self) };
        self.batch.clear();
        if self.text.len() > self.piece_bytes {
            parser.reserve(&self.text, &mut self.batch);
        }
        parser
            .parse(&self.text, &mut self.batch)
            .map_err(|error| error.locate(&self.file, self.first_line, &self.text))?;
        let held = self.text.capacity() as u64 + self.batch.capacity_bytes();
        let refused = |source| InputError::Budget { file: self.file.to_string(), source };
        self.paid.grow_to(held).map_err(refused)?;
        Ok(self)
    }
}

type Outcome = Result<Job, InputError>;

/// One byte of text becomes at most this many bytes of rows: the worst is a line of a label alone (two bytes: an end, a label, perhaps a
/// weight and a group), and the text itself is counted too.
const BYTES_PER_TEXT_BYTE: u64 = 18;

/// Sizes of the reading machinery.
#[derive(Clone, Copy, Debug)]
pub struct TextLimits {
    /// Threads that parse.
    pub threads: usize,
    /// Bytes of a piece.
    pub piece_bytes: usize,
}

impl TextLimits {
    /// Pieces of 256 KiB, which stay in the second cache with their rows; less where the budget is small: all pieces together take at most about a quarter of it.
    pub fn for_budget(budget: &Budget, threads: usize) -> Self {
        let threads = threads.max(1);
        // One more batch is in the hands of the consumer.
        let jobs = Self::jobs(threads) as u64 + 1;
        let piece = budget.limit_bytes() / (4 * jobs * BYTES_PER_TEXT_BYTE);
        TextLimits { threads, piece_bytes: piece.clamp(16 << 10, 256 << 10) as usize }
    }

    fn jobs(threads: usize) -> usize {
        2 * threads + 1
    }
}

/// The beginning of a file, read again after the parser has seen it; its memory goes back when it has been read.
struct Head {
    bytes: Vec<u8>,
    at: usize,
    paid: Reservation,
}

impl Read for Head {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = (&self.bytes[self.at..]).read(buffer)?;
        self.at += n;
        if n == 0 && !buffer.is_empty() {
            (self.bytes, self.at) = (Vec::new(), 0);
            // Shrinking is never refused.
            let _ = self.paid.resize(0);
        }
        Ok(n)
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

/// The reading thread.
struct Reader {
    format: Arc<dyn TextFormat>,
    free: Receiver<Job>,
    /// Jobs that were called back to make room for a long record.
    spare: Vec<Job>,
    /// How many jobs there are.
    jobs: usize,
    work: Sender<Job>,
    piece_bytes: usize,
    budget: Budget,
    progress: Progress,
    number: u64,
}

/// Why reading ended before the end of the input.
enum Stop {
    /// Nobody listens any more.
    Closed,
    Failed(InputError),
}

impl Reader {
    fn run(mut self, inputs: Vec<Stream>, done: &Sender<(u64, Outcome)>) {
        for input in inputs {
            match self.read_input(input) {
                Ok(()) => {}
                Err(Stop::Closed) => return,
                Err(Stop::Failed(error)) => {
                    // Comes out after everything that was read before it.
                    let _ = done.send((self.number, Err(error)));
                    return;
                }
            }
        }
    }

    fn read_input(&mut self, input: Stream) -> Result<(), Stop> {
        let name: Arc<str> = input.name().into();
        let mut opened = input.open(&self.progress).map_err(Stop::Failed)?;
        let mut head = self.read_head(&name, &mut opened)?;
        // A head that ends within a line is cut there, unless it is all there is.
        let whole = match memchr::memrchr(b'\n', &head.bytes) {
            Some(at) if !opened.ended => at + 1,
            _ => head.bytes.len(),
        };
        let (parser, header) = self.format.parser(&name, &head.bytes[..whole]).map_err(Stop::Failed)?;
        let mut line = 1 + memchr::memchr_iter(b'\n', &head.bytes[..header]).count() as u64;
        head.at = header;
        opened.reader = Box::new(head.chain(opened.reader));
        // What was read but belongs to the next piece.
        let mut rest: Vec<u8> = Vec::new();
        loop {
            let mut job = match self.spare.pop() {
                Some(job) => job,
                None => self.free.recv().map_err(|_| Stop::Closed)?,
            };
            job.text.clear();
            job.text.append(&mut rest);
            if rest.capacity() > self.piece_bytes {
                // What a long record made it take.
                rest = Vec::new();
            }
            job.file = name.clone();
            job.first_line = line;
            let (whole, at_end) = self.fill(&mut job, &mut opened, &*parser)?;
            rest.extend_from_slice(&job.text[whole..]);
            job.text.truncate(whole);
            if job.text.len() > self.piece_bytes {
                // Rows of a long record are paid for here, where it is known what else is on its way.
                let needed = job.text.capacity() as u64 + parser.rows_bytes(&job.text);
                if !self.pay(&mut job, needed)? {
                    return Err(self.too_long(&job, &mut opened, &*parser));
                }
            }
            line += memchr::memchr_iter(b'\n', &job.text).count() as u64;
            job.parser = Some(parser.clone());
            job.number = self.number;
            self.number += 1;
            self.work.send(job).map_err(|_| Stop::Closed)?;
            if at_end {
                return Ok(());
            }
        }
    }

    /// Reads as much of the beginning as the format wants to see, or all there is.
    fn read_head(&self, file: &str, opened: &mut Opened) -> Result<Head, Stop> {
        let refused = |source| Stop::Failed(InputError::Budget { file: file.to_string(), source });
        let paid = self.budget.reserve("text being parsed", 0).map_err(refused)?;
        let mut head = Head { bytes: Vec::new(), at: 0, paid };
        loop {
            let (from, wanted) = (head.bytes.len(), self.format.head_bytes(&head.bytes));
            if wanted <= from {
                return Ok(head);
            }
            head.paid.grow_to(wanted as u64).map_err(refused)?;
            head.bytes.reserve_exact(wanted - from);
            head.bytes.resize(wanted, 0);
            let got = opened
                .fill(&mut head.bytes[from..])
                .map_err(|source| Stop::Failed(opened.compression.read_error(file, source)))?;
            head.bytes.truncate(from + got);
            if head.bytes.len() < wanted {
                return Ok(head);
            }
        }
    }

    /// Reads until the piece holds at least one whole record, and says how many bytes are whole records and whether the input has ended.
    fn fill(&mut self, job: &mut Job, opened: &mut Opened, parser: &dyn RecordParser) -> Result<(usize, bool), Stop> {
        // What is there already may have no end of a record in it.
        let mut wanted = longer(job.text.len()).max(self.piece_bytes);
        loop {
            // A piece grows only for a record longer than it; its rows are paid for when it is parsed. What was read beyond the
            // record, at most half as much again, is copied to the next piece.
            let beyond = (wanted - self.piece_bytes) as u64;
            let needed = self.piece_bytes as u64 * BYTES_PER_TEXT_BYTE + beyond + beyond / 2;
            if !self.pay(job, needed)? {
                return Err(self.too_long(job, opened, parser));
            }
            let from = job.text.len();
            job.text.reserve_exact(wanted - from);
            job.text.resize(wanted, 0);
            let got = opened
                .fill(&mut job.text[from..])
                .map_err(|source| Stop::Failed(opened.compression.read_error(&job.file, source)))?;
            job.text.truncate(from + got);
            if opened.ended {
                return Ok((job.text.len(), true));
            }
            let whole = parser.whole_records(&job.text);
            if whole > 0 {
                return Ok((whole, false));
            }
            if job.text.len() == wanted {
                wanted = longer(wanted);
            }
        }
    }

    /// Makes `job` hold `needed` bytes. If there is no room, what was read before is waited for: then this job is the only one.
    fn pay(&mut self, job: &mut Job, needed: u64) -> Result<bool, Stop> {
        while job.paid.grow_to(needed).is_err() {
            if self.spare.len() + 1 == self.jobs {
                return Ok(false);
            }
            self.spare.push(self.free.recv().map_err(|_| Stop::Closed)?);
        }
        Ok(true)
    }

    /// The refusal of a record, with its true size: the rest of it is read, and forgotten, to know that.
    fn too_long(&self, job: &Job, opened: &mut Opened, parser: &dyn RecordParser) -> Stop {
        let (mut text_bytes, mut needed) = (job.text.len() as u64, parser.rows_bytes(&job.text));
        let mut more = vec![0; self.piece_bytes];
        while let Ok(got @ 1..) = bytes::read_fully(&mut opened.reader, &mut more) {
            let end = memchr::memchr(b'\n', &more[..got]);
            let part = &more[..end.unwrap_or(got)];
            text_bytes += part.len() as u64;
            needed += parser.rows_bytes(part);
            if end.is_some() {
                break;
            }
        }
        let wanted_bytes = text_bytes + text_bytes / 2 + needed;
        let free_bytes = self.budget.free_bytes() + job.paid.bytes();
        let limit_bytes = self.budget.limit_bytes();
        let least_bytes = limit_bytes - free_bytes + wanted_bytes;
        let source = BudgetError { purpose: "a long row", wanted_bytes, free_bytes, limit_bytes, least_bytes };
        Stop::Failed(InputError::Budget { file: job.file.to_string(), source })
    }
}

/// Half as long again, and longer even if that is nothing.
fn longer(bytes: usize) -> usize {
    bytes + bytes.div_ceil(2)
}

#[cfg(test)]
mod tests;
