//! The thread that reads: cuts text into pieces of whole records, and makes room for long ones.
use std::io::Read;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};

use super::job::{BYTES_PER_TEXT_BYTE, Job, Outcome};
use super::{RecordParser, TextFormat};
use crate::budget::{Budget, Reservation};
use crate::input::bytes::{self, Opened, Stream};
use crate::input::{InputError, LONG_ROW, Progress};

/// The reading thread.
pub(super) struct Reader {
    pub(super) format: Arc<dyn TextFormat>,
    pub(super) free: Receiver<Job>,
    /// Jobs that were called back to make room for a long record.
    pub(super) spare: Vec<Job>,
    /// How many jobs there are.
    pub(super) jobs: usize,
    pub(super) work: Sender<Job>,
    pub(super) piece_bytes: usize,
    pub(super) budget: Budget,
    pub(super) progress: Progress,
    pub(super) number: u64,
}

/// Why reading ended before the end of the input.
enum Stop {
    /// Nobody listens any more.
    Closed,
    Failed(InputError),
}

impl Reader {
    pub(super) fn run(mut self, inputs: Vec<Stream>, done: &Sender<(u64, Outcome)>) {
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
        let mut opened = input.open(&self.budget, &self.progress).map_err(Stop::Failed)?;
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

    /// Reads until the piece holds at least one whole record, and says how many bytes are whole records and whether the
    /// input has ended.
    fn fill(&mut self, job: &mut Job, opened: &mut Opened, parser: &dyn RecordParser) -> Result<(usize, bool), Stop> {
        // What is there already may have no end of a record in it.
        let mut wanted = longer(job.text.len()).max(self.piece_bytes);
        loop {
            // A piece grows only for a record longer than it; its rows are paid for when it is parsed. What was read
            // beyond the record, at most half as much again, is copied to the next piece.
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

    /// Makes `job` hold `needed` bytes. If there is no room, what was read before is waited for: then this job is the
    /// only one.
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
        let source = self.budget.refusal(LONG_ROW, wanted_bytes, self.budget.held_bytes() - job.paid.bytes());
        Stop::Failed(InputError::Budget { file: job.file.to_string(), source })
    }
}

/// Half as long again, and longer even if that is nothing.
fn longer(bytes: usize) -> usize {
    bytes + bytes.div_ceil(2)
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
