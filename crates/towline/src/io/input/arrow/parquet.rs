//! Parquet files, a row group after the other and a few rows at a time.
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::pages::{Ledger, PaidColumn, PaidFile};
use super::row_group::PaidGroup;
use super::spool::{self, Counter};
use super::{Batches, footer, guard};
use crate::budget::Budget;
use crate::input::bytes::Stream;
use crate::input::{InputError, Progress};

const FORMAT: &str = "Parquet";

/// A Parquet file being read.
struct ParquetBatches {
    name: String,
    file: PaidFile,
    metadata: ArrowReaderMetadata,
    /// Whether text is taken as views, so that the same text is held once however often it occurs.
    has_views: bool,
    target_bytes: u64,
    columns: Vec<usize>,
    reader: Option<ParquetRecordBatchReader>,
    next_group: usize,
    counter: Counter,
}

/// Opens a Parquet file. What is not a plain file is copied to a temporary one first: the format is read from its end.
pub(super) fn open(
    stream: Stream,
    target_bytes: u64,
    budget: &Budget,
    progress: &Progress,
) -> Result<Box<dyn Batches>, InputError> {
    let name = stream.name();
    let (file, counted_bytes) = match spool::plain_file(&stream)? {
        Some(file) => {
            let bytes =
                file.metadata().map_err(|source| InputError::Io { file: name.clone(), action: "read it", source })?;
            (file, bytes.len())
        }
        None => (spool::copy(&name, stream.open(budget, progress)?.reader)?, 0),
    };
    let refuse = |source| InputError::Budget { file: name.clone(), source };
    let footer_bytes = guard::decode(&name, FORMAT, || footer::bytes_to_build(&file).map_err(|_| "damaged footer"))?;
    let mut paid = budget.reserve("Parquet pages", footer_bytes).map_err(refuse)?;
    let plain = guard::decode(&name, FORMAT, || ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()))?;
    let viewed = guard::decode(&name, FORMAT, || with_views(&plain));
    let (metadata, has_views) = viewed.map_or((plain, false), |viewed| (viewed, true));
    paid.resize(metadata.metadata().memory_size() as u64).map_err(refuse)?;
    Ok(Box::new(ParquetBatches {
        name,
        file: PaidFile { file: Arc::new(file), ledger: Arc::new(Mutex::new(Ledger::new(paid))), column: 0 },
        metadata,
        has_views,
        target_bytes,
        columns: Vec::new(),
        reader: None,
        next_group: 0,
        counter: Counter::new(progress, counted_bytes),
    }))
}

impl ParquetBatches {
    /// That the budget was too small, if that is what ended the reader.
    fn refusal(&self) -> Option<InputError> {
        let source = self.file.ledger().refused.take()?;
        Some(InputError::Budget { file: self.name.clone(), source })
    }

    /// Prepares the next row group; `false` if there is none.
    fn next_group(&mut self) -> Result<bool, InputError> {
        let metadata = self.metadata.clone();
        let Some(group) = metadata.metadata().row_groups().get(self.next_group) else { return Ok(false) };
        let mask = ProjectionMask::roots(metadata.parquet_schema(), self.columns.iter().copied());
        let chunks = || group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        let rows = (self.target_bytes / bytes_per_row(group, chunks().map(|(_, chunk)| chunk))).clamp(1, 1 << 16);
        let rows = if self.has_views { rows } else { 1 };
        let mut ledger = self.file.ledger();
        ledger.fixed_bytes = metadata.metadata().memory_size() as u64 + 2 * self.target_bytes;
        ledger.columns = chunks().map(|(leaf, chunk)| (leaf, paid_column(chunk, rows))).collect();
        ledger.pay().map_err(|source| InputError::Budget { file: self.name.clone(), source })?;
        drop(ledger);
        let file = self.file.clone();
        let paid = PaidGroup { file, metadata: metadata.metadata().clone(), group: self.next_group };
        let reader = guard::decode(&self.name, FORMAT, || {
            let fields = Some(metadata.schema().fields());
            let levels = parquet_to_arrow_field_levels(metadata.parquet_schema(), mask.clone(), fields)?;
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, &paid, rows as usize, None)
        });
        self.reader = Some(reader.map_err(|error| self.refusal().unwrap_or(error))?);
        self.next_group += 1;
        Ok(true)
    }
}

impl Batches for ParquetBatches {
    fn schema(&self) -> SchemaRef {
        self.metadata.schema().clone()
    }

    fn select(&mut self, columns: &[usize]) {
        self.columns = columns.to_vec();
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, InputError> {
        loop {
            if let Some(reader) = &mut self.reader {
                let batch = guard::decode(&self.name, FORMAT, || reader.next().transpose());
                match batch.map_err(|error| self.refusal().unwrap_or(error))? {
                    Some(batch) => {
                        self.file.ledger().end_batch();
                        return Ok(Some(batch));
                    }
                    None => {
                        self.reader = None;
                        let group = self.metadata.metadata().row_group(self.next_group - 1);
                        self.counter.add(group.compressed_size().max(0) as u64);
                    }
                }
            }
            if !self.next_group()? {
                self.counter.add(u64::MAX);
                return Ok(None);
            }
        }
    }
}

fn paid_column(chunk: &ColumnChunkMetaData, rows: u64) -> PaidColumn {
    PaidColumn::new(chunk.column_descr().max_rep_level() > 0, chunk.compression(), rows)
}

/// The same file with views in place of text: an entry of a dictionary is not copied for every row that has it.
fn with_views(metadata: &ArrowReaderMetadata) -> parquet::errors::Result<ArrowReaderMetadata> {
    let fields: Fields = metadata.schema().fields().iter().map(|field| viewed(field)).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata.schema().metadata().clone()));
    ArrowReaderMetadata::try_new(metadata.metadata().clone(), ArrowReaderOptions::new().with_schema(schema))
}

fn viewed(field: &Field) -> Arc<Field> {
    use DataType::*;
    let kind = match field.data_type() {
        Utf8 | LargeUtf8 => Utf8View,
        List(item) => List(viewed(item)),
        LargeList(item) => LargeList(viewed(item)),
        FixedSizeList(item, size) => FixedSizeList(viewed(item), *size),
        Map(entries, sorted) => Map(viewed(entries), *sorted),
        Struct(fields) => Struct(fields.iter().map(|field| viewed(field)).collect()),
        other => other.clone(),
    };
    Arc::new(field.clone().with_data_type(kind))
}

/// About how many bytes a row takes when it is decoded: sixteen for each value, and what text there is.
fn bytes_per_row<'a>(group: &RowGroupMetaData, chunks: impl Iterator<Item = &'a ColumnChunkMetaData>) -> u64 {
    let rows = group.num_rows().max(1) as u64;
    let bytes = |chunk: &ColumnChunkMetaData| {
        let values = (chunk.num_values().max(0) as u64).saturating_mul(16);
        values.saturating_add(chunk.uncompressed_size().max(0) as u64)
    };
    chunks.map(bytes).fold(0, u64::saturating_add) / rows + 1
}
