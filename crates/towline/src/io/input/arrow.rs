//! Parquet files and Arrow IPC files and streams.
//!
//! | Arrow type | what a row gets |
//! | --- | --- |
//! | integers, floats, decimals, booleans | the number; booleans are 0 and 1 |
//! | dates, timestamps | what a [date](crate::schema) becomes; as a label, days or seconds since 1970-01-01 (UTC) |
//! | times of day, durations | seconds |
//! | strings | what their first rows look like (`looking.rs`): `column=text` with value 1, dates, amounts, texts to read |
//! | dictionaries of strings | `column=text` with value 1 |
//! | lists of numbers | `column[0]`, `column[1]`, … |
//! | lists of `{index, value}`, also `{indices, values}` or `{key, value}`; maps | `column[index]` |
//! | two columns of lists, `X_indices` and `X_values` | `X[index]` |
//! | two columns of lists, `indices` and `values` | `features[index]` |
//!
//! Nulls are absent cells. An ignored column may have any type; with [`TableOptions::kinds`] dates and numbers become
//! categories as Arrow writes them.
//!
//! Files are decoded a few rows at a time (`parquet.rs`), streams a message at a time (`ipc.rs`); what is held is taken
//! from the budget. Formats with a footer that come through a pipe or compressed are copied to a temporary file first.
mod columns;
#[cfg(feature = "parquet")]
mod compact;
#[cfg(feature = "parquet")]
mod delta;
#[cfg(feature = "parquet")]
mod footer;
mod guard;
mod ipc;
mod lists;
mod looking;
#[cfg(all(test, feature = "parquet"))]
mod malformed;
mod messages;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod row_group;
mod rows;
mod spool;
#[cfg(all(test, feature = "parquet"))]
mod tests;
#[cfg(feature = "parquet")]
mod unpacked;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::RecordBatchReader;
use arrow_schema::SchemaRef;

use self::columns::Layout;
pub use self::guard::is_decoding;
use super::bytes::Stream;
use super::table::TableOptions;
use super::table::plan::Tables;
use super::{Format, InputError, Progress, RowBatch, RowSource};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::schema::Schema;

/// Decoded rows in the order of an input.
trait Batches: Send {
    fn schema(&self) -> SchemaRef;

    /// Says which columns are wanted, in rising order; all batches then hold these alone.
    fn select(&mut self, columns: &[usize]);

    /// The next rows. The batch before it must have been dropped: only one is paid for.
    fn next(&mut self) -> Result<Option<RecordBatch>, InputError>;
}

/// Reads Parquet and Arrow inputs, one after the other.
pub struct ArrowSource {
    tables: Arc<Tables>,
    waiting: VecDeque<Waiting>,
    current: Option<Current>,
    budget: Budget,
    progress: Progress,
    /// Bytes that the rows of a batch should take.
    target_bytes: u64,
    /// For the rows that are made of a batch.
    paid: Reservation,
}

enum Waiting {
    Stream(Stream, Format),
    Open(String, Box<dyn Batches>),
}

/// The input that is being read.
struct Current {
    name: String,
    batches: Box<dyn Batches>,
    layout: Layout,
    batch: Option<RecordBatch>,
    /// How many rows of the batch become one batch of rows.
    step: usize,
    /// Rows of the batch that have been given out.
    given: usize,
    /// Rows before the batch.
    before: u64,
}

impl ArrowSource {
    /// Reads `inputs`, which are Parquet files if `format` says so, and Arrow IPC files or streams otherwise.
    pub fn new(
        format: Format,
        inputs: Vec<Stream>,
        options: &TableOptions,
        budget: &Budget,
        progress: &Progress,
    ) -> Result<Self, BudgetError> {
        let waiting = inputs.into_iter().map(|stream| Waiting::Stream(stream, format)).collect();
        Self::with(waiting, options, budget, progress)
    }

    /// Reads batches that another program hands over, and calls them `name` in messages.
    pub fn from_reader(
        name: &str,
        reader: Box<dyn RecordBatchReader + Send>,
        options: &TableOptions,
        budget: &Budget,
    ) -> Result<Self, BudgetError> {
        let paid = budget.reserve("Arrow data", 0)?;
        let batches = Given { name: name.to_string(), reader, columns: Vec::new(), paid };
        let waiting = VecDeque::from([Waiting::Open(name.to_string(), Box::new(batches) as Box<dyn Batches>)]);
        Self::with(waiting, options, budget, &Progress::default())
    }

    fn with(
        waiting: VecDeque<Waiting>,
        options: &TableOptions,
        budget: &Budget,
        progress: &Progress,
    ) -> Result<Self, BudgetError> {
        let target_bytes = (budget.data_bytes() / 32).clamp(64 << 10, 1 << 20);
        Ok(ArrowSource {
            tables: Arc::new(Tables::new(options.clone())),
            waiting,
            current: None,
            budget: budget.clone(),
            progress: progress.clone(),
            target_bytes,
            paid: budget.reserve("rows of a table", target_bytes * ROOM)?,
        })
    }

    fn open(&self, stream: Stream, format: Format, progress: &Progress) -> Result<Box<dyn Batches>, InputError> {
        match format {
            #[cfg(feature = "parquet")]
            Format::Parquet => parquet::open(stream, self.target_bytes, &self.budget, progress),
            _ => ipc::open(stream, &self.budget, progress),
        }
    }

    /// Opens the next input and decides what its columns become.
    fn open_next(&mut self) -> Result<bool, InputError> {
        let (name, mut batches, again) = match self.waiting.pop_front() {
            None => return Ok(false),
            Some(Waiting::Open(name, batches)) => (name, batches, None),
            Some(Waiting::Stream(stream, format)) => {
                let (name, again) = (stream.name(), stream.again());
                let progress = if again.is_some() { &Progress::default() } else { &self.progress };
                (name, self.open(stream, format, progress)?, again.map(|stream| (stream, format)))
            }
        };
        let schema = batches.schema();
        let undecided = looking::undecided(&self.tables, &schema);
        let looked = match again.filter(|_| !undecided.is_empty()) {
            Some((stream, format)) => {
                let first = std::mem::replace(&mut batches, self.open(stream, format, &self.progress)?);
                looking::look(&self.tables, &name, first, &undecided)?
            }
            None => HashMap::new(),
        };
        let layout = Layout::new(&self.tables, &name, &schema, looked)?;
        batches.select(&layout.wanted);
        self.current = Some(Current { name, batches, layout, batch: None, step: 1, given: 0, before: 0 });
        Ok(true)
    }
}

/// The rows of a batch, the columns they are made of converted to `f64`, and room left by growth, in units of the
/// target.
const ROOM: u64 = 4;

impl RowSource for ArrowSource {
    fn next_batch(&mut self, batch: &mut RowBatch) -> Result<bool, InputError> {
        batch.clear();
        loop {
            if self.current.is_none() && !self.open_next()? {
                return Ok(false);
            }
            let Some(current) = &mut self.current else { return Ok(false) };
            if !current.has_rows(self.target_bytes)? {
                self.current = None;
                continue;
            }
            let name = current.name.clone();
            let refused = |source| InputError::Budget { file: name.clone(), source };
            let least = self.target_bytes * ROOM;
            // One row may have more values than all others.
            self.paid.grow_to(current.next_bytes().max(least)).map_err(refused)?;
            current.convert(&self.tables, batch)?;
            self.paid.resize(batch.capacity_bytes().max(least)).map_err(refused)?;
            return Ok(true);
        }
    }

    fn features_are_named(&self) -> bool {
        true
    }

    fn target_names(&self) -> Vec<String> {
        self.tables.target_names()
    }

    fn remarks(&self) -> Vec<String> {
        self.tables.remarks()
    }

    fn schema(&self) -> Option<Schema> {
        self.tables.schema()
    }
}

impl Current {
    /// Makes sure that there are rows to convert, unless the input is at its end.
    fn has_rows(&mut self, target_bytes: u64) -> Result<bool, InputError> {
        while self.batch.as_ref().is_none_or(|batch| self.given >= batch.num_rows()) {
            self.before += self.given as u64;
            self.given = 0;
            self.batch = None;
            let Some(batch) = self.batches.next()? else { return Ok(false) };
            self.check_rows(&batch)?;
            self.step = (target_bytes / rows::bytes_per_row(&batch)).clamp(1, 1 << 16) as usize;
            self.batch = Some(batch);
        }
        Ok(true)
    }

    /// Refuses a batch that has more rows than bits: without columns a few bytes may say that there are any number.
    fn check_rows(&self, batch: &RecordBatch) -> Result<(), InputError> {
        let most = (batch.get_array_memory_size() as u64 + 1).saturating_mul(8);
        if batch.num_rows() as u64 <= most {
            return Ok(());
        }
        let problem = format!("a batch has {} rows and no columns that hold so many", batch.num_rows());
        Err(InputError::file(&self.name, problem, "make the file again"))
    }

    /// The next rows to convert.
    fn next_rows(&self) -> Option<RecordBatch> {
        let batch = self.batch.as_ref()?;
        Some(batch.slice(self.given, self.step.min(batch.num_rows() - self.given)))
    }

    /// What they take at most while they are converted: names and numbers, and the tables that find them.
    fn next_bytes(&self) -> u64 {
        let Some(rows) = self.next_rows() else { return 0 };
        rows::bytes_per_row(&rows).saturating_mul(rows.num_rows() as u64).saturating_mul(ROOM)
    }

    /// Converts the next rows.
    fn convert(&mut self, tables: &Tables, into: &mut RowBatch) -> Result<(), InputError> {
        let Some(rows) = self.next_rows() else { return Ok(()) };
        rows::write(tables, &self.name, &self.layout, &rows, self.before + self.given as u64, into)?;
        self.given += rows.num_rows();
        Ok(())
    }
}

/// Batches of another program.
struct Given {
    name: String,
    reader: Box<dyn RecordBatchReader + Send>,
    columns: Vec<usize>,
    paid: Reservation,
}

impl Batches for Given {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }

    fn select(&mut self, columns: &[usize]) {
        self.columns = columns.to_vec();
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, InputError> {
        let Some(batch) = self.reader.next() else { return Ok(None) };
        let batch = batch
            .and_then(|batch| batch.project(&self.columns))
            .map_err(|error| InputError::file(&self.name, error.to_string(), "check where the batches come from"))?;
        self.paid
            .resize(batch.get_array_memory_size() as u64)
            .map_err(|source| InputError::Budget { file: self.name.clone(), source })?;
        Ok(Some(batch))
    }
}
