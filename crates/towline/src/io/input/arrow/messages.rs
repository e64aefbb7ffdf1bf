//! The messages of Arrow IPC streams and files.
//!
//! ```text
//! stream:  message message … end      message:  0xFFFFFFFF  length  metadata (a flatbuffer)  body
//! file:    "ARROW1"  messages  footer (a flatbuffer)  length of the footer  "ARROW1"
//! ```
//! The footer holds the schema and says where the other messages are. A file cannot be read as a stream in general:
//! Polars, for one, begins it with a schema that is no message.
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use arrow_buffer::Buffer;
use arrow_ipc::{Block, convert, root_as_footer, root_as_message};
use arrow_schema::Schema;

use super::guard;
use super::spool::Counter;
use crate::budget::Reservation;
use crate::input::InputError;

pub(super) const FORMAT: &str = "Arrow IPC";
pub(super) const FILE_MAGIC: &[u8; 6] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Metadata describes columns, not rows: more than this is not believed.
const LARGEST_METADATA_BYTES: u64 = 256 << 20;

/// A message as it lies in the input.
pub(super) struct RawMessage {
    pub(super) metadata: Vec<u8>,
    pub(super) body: Buffer,
}

impl RawMessage {
    pub(super) fn bytes(&self) -> u64 {
        self.metadata.len() as u64 + self.body.len() as u64
    }
}

/// What is held of an input: one message, and all dictionaries.
pub(super) struct Payment {
    pub(super) file: String,
    pub(super) paid: Reservation,
    pub(super) dictionary_bytes: u64,
}

impl Payment {
    /// Pays for one message beside the dictionaries.
    pub(super) fn message(&mut self, bytes: u64) -> Result<(), InputError> {
        self.paid
            .resize(self.dictionary_bytes.saturating_add(bytes))
            .map_err(|source| InputError::Budget { file: self.file.clone(), source })
    }

    pub(super) fn damaged(&self, reason: &str) -> InputError {
        guard::damaged(&self.file, FORMAT, reason)
    }

    /// Reads exactly `bytes`.
    fn read(&self, reader: &mut dyn Read, bytes: u64) -> Result<Vec<u8>, InputError> {
        let mut buffer = Vec::new();
        // The budget may be unlimited, and the length in a damaged file is any number.
        if buffer.try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX)).is_err() {
            return Err(self.damaged("a message is longer than memory"));
        }
        match reader.take(bytes).read_to_end(&mut buffer) {
            Ok(n) if n as u64 == bytes => Ok(buffer),
            Ok(_) => Err(self.damaged("it ends within a message")),
            Err(source) => Err(InputError::Io { file: self.file.clone(), action: "read it", source }),
        }
    }
}

/// Where messages come from.
pub(super) enum Messages {
    Stream(Box<dyn Read + Send>),
    File { file: File, blocks: VecDeque<Block>, counter: Counter },
}

impl Messages {
    /// The messages of a file, and its schema.
    pub(super) fn of_file(
        mut file: File,
        counter: Counter,
        payment: &mut Payment,
    ) -> Result<(Self, Schema), InputError> {
        let io = |source| InputError::Io { file: payment.file.clone(), action: "read it", source };
        let file_bytes = file.metadata().map_err(io)?.len();
        let trailer = (FILE_MAGIC.len() + 4) as u64;
        let Some(trailer_at) = file_bytes.checked_sub(trailer) else { return Err(payment.damaged("it is too short")) };
        file.seek(SeekFrom::Start(trailer_at)).map_err(io)?;
        let trailer = payment.read(&mut file, trailer)?;
        let footer_bytes = trailer.first_chunk().map(|length| u64::from(u32::from_le_bytes(*length)));
        let footer_at = footer_bytes.and_then(|bytes| trailer_at.checked_sub(bytes));
        let (Some(footer_bytes), Some(footer_at), true) = (footer_bytes, footer_at, trailer.ends_with(FILE_MAGIC))
        else {
            return Err(payment.damaged("its end is missing"));
        };
        payment.message(footer_bytes)?;
        file.seek(SeekFrom::Start(footer_at)).map_err(|source| InputError::Io {
            file: payment.file.clone(),
            action: "read it",
            source,
        })?;
        let bytes = payment.read(&mut file, footer_bytes)?;
        let footer = guard::decode(&payment.file, FORMAT, || root_as_footer(&bytes))?;
        let schema = guard::decode(&payment.file, FORMAT, || {
            footer.schema().map(convert::fb_to_schema).ok_or("it has no schema")
        })?;
        let dictionaries = footer.dictionaries().into_iter().flatten();
        let blocks: VecDeque<Block> =
            dictionaries.chain(footer.recordBatches().into_iter().flatten()).copied().collect();
        if !blocks.iter().all(|block| is_within(block, footer_at)) {
            return Err(payment.damaged("its footer points to places outside it"));
        }
        Ok((Messages::File { file, blocks, counter }, schema))
    }

    /// The next message, if there is one.
    pub(super) fn next(&mut self, payment: &mut Payment) -> Result<Option<RawMessage>, InputError> {
        match self {
            Messages::Stream(reader) => next_of_stream(reader, payment),
            Messages::File { file, blocks, counter } => {
                let Some(block) = blocks.pop_front() else {
                    counter.add(u64::MAX);
                    return Ok(None);
                };
                let (metadata, body) = (block.metaDataLength() as u64, block.bodyLength() as u64);
                payment.message(metadata.saturating_add(body))?;
                file.seek(SeekFrom::Start(block.offset() as u64)).map_err(|source| InputError::Io {
                    file: payment.file.clone(),
                    action: "read it",
                    source,
                })?;
                let mut bytes = payment.read(file, metadata)?;
                // Before version 0.15 there was only the length before the metadata.
                let prefix = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
                bytes.drain(..prefix.min(bytes.len()));
                let body = Buffer::from_vec(payment.read(file, body)?);
                let message = RawMessage { metadata: bytes, body };
                counter.add(message.bytes());
                Ok(Some(message))
            }
        }
    }
}

/// Whether all numbers of a block are sound: a file must hold what its footer promises.
fn is_within(block: &Block, footer_at: u64) -> bool {
    let parts = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()];
    let parts = parts.map(|part| u64::try_from(part).ok());
    let end = parts.into_iter().try_fold(0u64, |sum, part| sum.checked_add(part?));
    end.is_some_and(|end| end <= footer_at)
}

fn next_of_stream(reader: &mut dyn Read, payment: &mut Payment) -> Result<Option<RawMessage>, InputError> {
    let mut mark = Vec::new();
    let io = |source| InputError::Io { file: payment.file.clone(), action: "read it", source };
    reader.take(4).read_to_end(&mut mark).map_err(io)?;
    match &mark[..] {
        // A stream may simply stop.
        [] => return Ok(None),
        mark if *mark == CONTINUATION => {}
        _ => return Err(payment.damaged("a message does not begin like one")),
    }
    let length = payment.read(reader, 4)?;
    let length = length.iter().rev().fold(0, |length, &byte| (length << 8) | u64::from(byte));
    if length > LARGEST_METADATA_BYTES {
        return Err(payment.damaged("the description of a message is too long"));
    }
    if length == 0 {
        return Ok(None);
    }
    payment.message(length)?;
    let metadata = payment.read(reader, length)?;
    let body = guard::decode(&payment.file, FORMAT, || root_as_message(&metadata).map(|message| message.bodyLength()))?;
    let Ok(body) = u64::try_from(body) else { return Err(payment.damaged("a message has a negative length")) };
    payment.message(length.saturating_add(body))?;
    let body = Buffer::from_vec(payment.read(reader, body)?);
    Ok(Some(RawMessage { metadata, body }))
}
