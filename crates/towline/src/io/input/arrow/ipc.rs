//! Arrow IPC files and streams, a message at a time.
//!
//! The sizes in a message are checked and taken from the budget before anything is allocated for it.
use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::{self as ipc, Message, MessageHeader, convert, reader, root_as_message};
use arrow_schema::SchemaRef;

use super::messages::{FILE_MAGIC, FORMAT, Messages, Payment, RawMessage};
use super::spool::{self, Counter};
use super::{Batches, guard};
use crate::budget::Budget;
use crate::input::bytes::Stream;
use crate::input::{InputError, Progress};

/// A file or stream being read.
struct IpcBatches {
    messages: Messages,
    schema: SchemaRef,
    columns: Vec<usize>,
    dictionaries: HashMap<i64, ArrayRef>,
    dictionary_bytes: HashMap<i64, u64>,
    payment: Payment,
}

/// Opens an IPC file or stream and reads its schema. A file that is not plain is copied to a temporary one first.
pub(super) fn open(stream: Stream, budget: &Budget, progress: &Progress) -> Result<Box<dyn Batches>, InputError> {
    let file = stream.name();
    let io = |source| InputError::Io { file: stream.name(), action: "read it", source };
    let paid =
        budget.reserve("Arrow messages", 0).map_err(|source| InputError::Budget { file: file.clone(), source })?;
    let mut payment = Payment { file, paid, dictionary_bytes: 0 };
    let magic_bytes = FILE_MAGIC.len() as u64;
    if let Some(mut file) = spool::plain_file(&stream)?
        && spool::first_bytes(&mut file, magic_bytes).map_err(io)? == FILE_MAGIC
    {
        let counter = Counter::new(progress, file.metadata().map_err(io)?.len());
        let (messages, schema) = Messages::of_file(file, counter, &mut payment)?;
        return Ok(IpcBatches::boxed(messages, Arc::new(schema), payment));
    }
    let mut opened = stream.open(budget, progress)?;
    let mut head = Vec::new();
    let read = (&mut opened.reader).take(magic_bytes).read_to_end(&mut head);
    read.map_err(|source| InputError::Io { file: payment.file.clone(), action: "read it", source })?;
    let is_file = head == FILE_MAGIC;
    let begins_well = is_file || head.starts_with(&[0xff; 4]);
    let whole = Cursor::new(head).chain(opened.reader);
    if is_file {
        let copy = spool::copy(&payment.file, whole)?;
        let (messages, schema) = Messages::of_file(copy, Counter::new(progress, 0), &mut payment)?;
        return Ok(IpcBatches::boxed(messages, Arc::new(schema), payment));
    }
    if !begins_well {
        return Err(payment.damaged("it does not begin like it"));
    }
    let mut messages = Messages::Stream(Box::new(whole));
    let Some(first) = messages.next(&mut payment)? else { return Err(payment.damaged("it has no schema")) };
    let schema = guard::decode(&payment.file, FORMAT, || {
        let message = root_as_message(&first.metadata).map_err(|error| error.to_string())?;
        message.header_as_schema().map(convert::fb_to_schema).ok_or("it has no schema".to_string())
    })?;
    Ok(IpcBatches::boxed(messages, Arc::new(schema), payment))
}

impl IpcBatches {
    fn boxed(messages: Messages, schema: SchemaRef, payment: Payment) -> Box<dyn Batches> {
        Box::new(IpcBatches {
            messages,
            schema,
            columns: Vec::new(),
            dictionaries: HashMap::new(),
            dictionary_bytes: HashMap::new(),
            payment,
        })
    }

    /// Checks that all buffers of a batch lie within its body, and pays for what they unpack to. Returns what is held.
    fn check_buffers(&mut self, batch: ipc::RecordBatch<'_>, raw: &RawMessage) -> Result<u64, InputError> {
        let damaged = |reason| Err(self.payment.damaged(reason));
        let mut unpacked = 0u64;
        for buffer in batch.buffers().into_iter().flatten() {
            let (offset, length) = (usize::try_from(buffer.offset()), usize::try_from(buffer.length()));
            let bytes = match (offset, length) {
                (Ok(offset), Ok(length)) => offset.checked_add(length).and_then(|end| raw.body.get(offset..end)),
                _ => None,
            };
            let Some(bytes) = bytes else { return damaged("a buffer lies outside its message") };
            if batch.compression().is_none() || bytes.is_empty() {
                continue;
            }
            let Some(size) = bytes.first_chunk::<8>() else { return damaged("a packed buffer is too short") };
            match i64::from_le_bytes(*size) {
                // not packed after all
                -1 => {}
                size if size < 0 => return damaged("a packed buffer has a negative length"),
                size => unpacked = unpacked.saturating_add(size as u64),
            }
        }
        // Unpacking allocates what the file says, and ends the program if that fails.
        if Vec::<u8>::new().try_reserve_exact(usize::try_from(unpacked).unwrap_or(usize::MAX)).is_err() {
            return damaged("a message is longer than memory");
        }
        let held = raw.bytes().saturating_add(unpacked);
        self.payment.message(held)?;
        Ok(held)
    }

    fn read_dictionary(&mut self, message: &Message<'_>, raw: &RawMessage) -> Result<(), InputError> {
        let parts = message.header_as_dictionary_batch().and_then(|batch| Some((batch, batch.data()?)));
        let Some((batch, data)) = parts else { return Err(self.payment.damaged("a dictionary has no contents")) };
        let held = self.check_buffers(data, raw)?;
        let IpcBatches { payment, schema, dictionaries, .. } = self;
        guard::decode(&payment.file, FORMAT, || {
            reader::read_dictionary(&raw.body, batch, schema, dictionaries, &message.version())
        })?;
        let bytes = self.dictionary_bytes.entry(batch.id()).or_default();
        // A delta is joined with what there was; anything else takes its place.
        *bytes = if batch.isDelta() { bytes.saturating_add(held) } else { held };
        self.payment.dictionary_bytes = self.dictionary_bytes.values().sum();
        self.payment.message(0)
    }

    fn read_batch(&mut self, message: &Message<'_>, raw: &RawMessage) -> Result<RecordBatch, InputError> {
        let Some(batch) = message.header_as_record_batch() else {
            return Err(self.payment.damaged("a batch has no contents"));
        };
        self.check_buffers(batch, raw)?;
        let (schema, columns) = (self.schema.clone(), Some(&self.columns[..]));
        guard::decode(&self.payment.file, FORMAT, || {
            reader::read_record_batch(&raw.body, batch, schema, &self.dictionaries, columns, &message.version())
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
        while let Some(raw) = self.messages.next(&mut self.payment)? {
            let message = guard::decode(&self.payment.file, FORMAT, || root_as_message(&raw.metadata))?;
            match message.header_type() {
                MessageHeader::DictionaryBatch => self.read_dictionary(&message, &raw)?,
                MessageHeader::RecordBatch => return self.read_batch(&message, &raw).map(Some),
                _ => return Err(self.payment.damaged("it holds messages other than batches and dictionaries")),
            }
        }
        Ok(None)
    }
}
