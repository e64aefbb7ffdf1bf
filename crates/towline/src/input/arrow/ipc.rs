//! Arrow IPC messages, one at a time.
//!
//! ```text
//! stream:  message message … end      message:  0xFFFFFFFF  length  metadata (a flatbuffer)  body
//! file:    "ARROW1" padding  stream  footer  "ARROW1"
//! ```
//! The sizes in a message are checked and taken from the budget before anything is allocated for it.
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::ipc::{self, Message, MessageHeader, convert, reader, root_as_message};

use super::{Batches, guard};
use crate::budget::{Budget, Reservation};
use crate::input::bytes::{Stream, read_fully};
use crate::input::{InputError, Progress};

const FORMAT: &str = "Arrow IPC";
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Metadata describes columns, not rows: more than this is not believed.
const LARGEST_METADATA_BYTES: usize = 256 << 20;

/// A stream of messages being read.
struct IpcBatches {
    name: String,
    input: Box<dyn Read + Send>,
    schema: SchemaRef,
    columns: Vec<usize>,
    dictionaries: HashMap<i64, ArrayRef>,
    dictionary_bytes: HashMap<i64, u64>,
    /// A file says where it ends; a stream may simply stop.
    must_end: bool,
    finished: bool,
    paid: Reservation,
}

/// Opens an IPC file or stream and reads its schema.
pub(super) fn open(stream: Stream, budget: &Budget, progress: &Progress) -> Result<Box<dyn Batches>, InputError> {
    let name = stream.name();
    let opened = stream.open(progress)?;
    let paid =
        budget.reserve("Arrow messages", 0).map_err(|source| InputError::Budget { file: name.clone(), source })?;
    let mut batches = IpcBatches {
        name,
        input: opened.reader,
        schema: Arc::new(arrow::datatypes::Schema::empty()),
        columns: Vec::new(),
        dictionaries: HashMap::new(),
        dictionary_bytes: HashMap::new(),
        must_end: false,
        finished: false,
        paid,
    };
    batches.read_schema()?;
    Ok(Box::new(batches))
}

impl IpcBatches {
    fn damaged(&self, reason: &str) -> InputError {
        guard::damaged(&self.name, FORMAT, reason)
    }

    /// Reads exactly `bytes`, or nothing if the input ends here and that is allowed.
    fn read(&mut self, bytes: usize, may_end: bool) -> Result<Option<Vec<u8>>, InputError> {
        let mut buffer = Vec::new();
        // The budget may be unlimited, and the length in a damaged file is any number.
        if buffer.try_reserve_exact(bytes).is_err() {
            return Err(self.damaged("a message is longer than memory"));
        }
        let read = (&mut self.input).take(bytes as u64).read_to_end(&mut buffer);
        match read.map_err(|source| InputError::Io { file: self.name.clone(), action: "read it", source })? {
            n if n == bytes => Ok(Some(buffer)),
            0 if may_end => Ok(None),
            _ => Err(self.damaged("it ends within a message")),
        }
    }

    fn read_schema(&mut self) -> Result<(), InputError> {
        let mut start = [0; 6];
        let seen = read_fully(&mut self.input, &mut start[..4]).map_err(|source| InputError::Io {
            file: self.name.clone(),
            action: "read it",
            source,
        })?;
        let metadata = match &start[..seen] {
            b"ARRO" => {
                self.must_end = true;
                self.skip_magic()?;
                self.metadata_after_continuation()?
            }
            mark if mark == CONTINUATION => self.metadata_after_continuation()?,
            _ => return Err(self.damaged("it does not begin like one")),
        };
        let Some(metadata) = metadata else { return Err(self.damaged("it has no schema")) };
        let message = self.message(&metadata)?;
        self.body(&message, 0)?;
        let name = &self.name;
        self.schema = guard::decode(name, FORMAT, || match message.header_as_schema() {
            Some(schema) => Ok(Arc::new(convert::fb_to_schema(schema))),
            None => Err("it does not begin with a schema"),
        })?;
        Ok(())
    }

    /// Skips the rest of the magic number and the zeros after it, up to and with the first continuation mark.
    fn skip_magic(&mut self) -> Result<(), InputError> {
        let rest = self.read(4, false)?.unwrap_or_default();
        if &rest[..2] != b"W1" {
            return Err(self.damaged("it does not begin like one"));
        }
        // Writers align the first message to 8 or 64 bytes.
        for _ in 0..16 {
            match self.read(4, false)?.unwrap_or_default()[..] {
                [0, 0, 0, 0] => {}
                [0xff, 0xff, 0xff, 0xff] => return Ok(()),
                _ => break,
            }
        }
        Err(self.damaged("its first message is missing"))
    }

    /// The metadata of the next message, if there is one.
    fn next_metadata(&mut self) -> Result<Option<Vec<u8>>, InputError> {
        match self.read(4, !self.must_end)? {
            None => Ok(None),
            Some(mark) if mark == CONTINUATION => self.metadata_after_continuation(),
            Some(_) => Err(self.damaged("a message does not begin like one")),
        }
    }

    fn metadata_after_continuation(&mut self) -> Result<Option<Vec<u8>>, InputError> {
        let length = self.read(4, false)?.unwrap_or_default();
        let length = length.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
        if length > LARGEST_METADATA_BYTES {
            return Err(self.damaged("the description of a message is too long"));
        }
        if length == 0 {
            return Ok(None);
        }
        self.pay(length as u64)?;
        self.read(length, false)
    }

    fn message<'a>(&self, metadata: &'a [u8]) -> Result<Message<'a>, InputError> {
        guard::decode(&self.name, FORMAT, || root_as_message(metadata))
    }

    /// Pays for one message beside the dictionaries.
    fn pay(&mut self, bytes: u64) -> Result<(), InputError> {
        let dictionaries: u64 = self.dictionary_bytes.values().sum();
        self.paid
            .resize(dictionaries.saturating_add(bytes))
            .map_err(|source| InputError::Budget { file: self.name.clone(), source })
    }

    /// The body of a message; `more_bytes` are paid for beside it.
    fn body(&mut self, message: &Message<'_>, more_bytes: u64) -> Result<Buffer, InputError> {
        let Ok(length) = usize::try_from(message.bodyLength()) else {
            return Err(self.damaged("a message has a negative length"));
        };
        self.pay((length as u64).saturating_add(more_bytes))?;
        Ok(Buffer::from_vec(self.read(length, false)?.unwrap_or_default()))
    }

    /// Checks that all buffers of a batch lie within its body, and pays for what they unpack to. Returns what is held.
    fn check_buffers(&mut self, batch: ipc::RecordBatch<'_>, body: &Buffer) -> Result<u64, InputError> {
        let mut unpacked = 0u64;
        for buffer in batch.buffers().iter().flatten() {
            let (offset, length) = (usize::try_from(buffer.offset()), usize::try_from(buffer.length()));
            let bytes = match (offset, length) {
                (Ok(offset), Ok(length)) => offset.checked_add(length).and_then(|end| body.get(offset..end)),
                _ => None,
            };
            let Some(bytes) = bytes else { return Err(self.damaged("a buffer lies outside its message")) };
            if batch.compression().is_none() || bytes.is_empty() {
                continue;
            }
            let Some(size) = bytes.first_chunk::<8>() else { return Err(self.damaged("a packed buffer is too short")) };
            match i64::from_le_bytes(*size) {
                // not packed after all
                -1 => {}
                size if size < 0 => return Err(self.damaged("a packed buffer has a negative length")),
                size => unpacked = unpacked.saturating_add(size as u64),
            }
        }
        // Unpacking allocates what the file says, and ends the program if that fails.
        if Vec::<u8>::new().try_reserve_exact(usize::try_from(unpacked).unwrap_or(usize::MAX)).is_err() {
            return Err(self.damaged("a message is longer than memory"));
        }
        let held = (body.len() as u64).saturating_add(unpacked);
        self.pay(held)?;
        Ok(held)
    }

    fn read_dictionary(&mut self, message: &Message<'_>, body: &Buffer) -> Result<(), InputError> {
        let parts = message.header_as_dictionary_batch().and_then(|batch| Some((batch, batch.data()?)));
        let Some((batch, data)) = parts else { return Err(self.damaged("a dictionary has no contents")) };
        let held = self.check_buffers(data, body)?;
        let IpcBatches { name, schema, dictionaries, .. } = self;
        guard::decode(name, FORMAT, || reader::read_dictionary(body, batch, schema, dictionaries, &message.version()))?;
        let bytes = self.dictionary_bytes.entry(batch.id()).or_default();
        // A delta is joined with what there was; anything else takes its place.
        *bytes = if batch.isDelta() { bytes.saturating_add(held) } else { held };
        self.pay(0)
    }

    fn read_batch(&mut self, message: &Message<'_>, body: &Buffer) -> Result<RecordBatch, InputError> {
        let Some(batch) = message.header_as_record_batch() else {
            return Err(self.damaged("a batch has no contents"));
        };
        self.check_buffers(batch, body)?;
        let (schema, columns) = (self.schema.clone(), Some(&self.columns[..]));
        guard::decode(&self.name, FORMAT, || {
            reader::read_record_batch(body, batch, schema, &self.dictionaries, columns, &message.version())
        })
    }
}

impl Batches for IpcBatches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn select(&mut self, columns: &[usize]) {
        self.columns = columns.to_vec();
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, InputError> {
        while !self.finished {
            let Some(metadata) = self.next_metadata()? else {
                self.finished = true;
                break;
            };
            let message = self.message(&metadata)?;
            let body = self.body(&message, metadata.len() as u64)?;
            match message.header_type() {
                MessageHeader::DictionaryBatch => self.read_dictionary(&message, &body)?,
                MessageHeader::RecordBatch => return self.read_batch(&message, &body).map(Some),
                _ => return Err(self.damaged("it holds messages other than batches and dictionaries")),
            }
        }
        Ok(None)
    }
}
