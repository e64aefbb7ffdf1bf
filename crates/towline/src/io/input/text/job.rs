//! What goes round between the reader, the parsers and the consumer.
use std::sync::Arc;

use super::{LineError, RecordParser};
use crate::budget::{BudgetError, Reservation};
use crate::input::{InputError, RowBatch};

/// A piece of text on its way from the reader to a parser and, as rows, to the consumer.
pub(super) struct Job {
    pub(super) number: u64,
    pub(super) file: Arc<str>,
    pub(super) first_line: u64,
    pub(super) parser: Option<Arc<dyn RecordParser>>,
    pub(super) text: Vec<u8>,
    pub(super) batch: RowBatch,
    /// The usual size of a piece.
    pub(super) piece_bytes: usize,
    pub(super) paid: Reservation,
}

impl Job {
    /// Gives a long record back; a text of the usual size stays, to be filled again.
    pub(super) fn release_text(&mut self) {
        if self.text.capacity() > self.piece_bytes {
            self.text = Vec::new();
        }
    }

    /// Makes the job ready for its next round; what a long record made it take is given back.
    pub(super) fn recycle(&mut self) -> Result<(), BudgetError> {
        self.parser = None;
        self.batch.clear();
        let normal = self.piece_bytes as u64 * BYTES_PER_TEXT_BYTE;
        if self.batch.capacity_bytes() + self.text.capacity() as u64 > normal {
            self.batch = RowBatch::default();
        }
        self.paid.resize(normal)
    }

    /// The refusal of its first row, which has another number of targets than `further` and one.
    pub(super) fn other_targets(&self, further: usize) -> InputError {
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

    pub(super) fn parse(mut self) -> Outcome {
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

pub(super) type Outcome = Result<Job, InputError>;

/// One byte of text becomes at most this many bytes of rows: the worst is a line of a label alone (two bytes: an end, a
/// label, perhaps a weight and a group), and the text itself is counted too.
pub(super) const BYTES_PER_TEXT_BYTE: u64 = 18;
