//! Parquet files, a row group after the other and a few rows at a time.
use std::fs::File;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::spool::{self, Counter};
use super::{Batches, guard};
use crate::budget::{Budget, Reservation};
use crate::input::bytes::Stream;
use crate::input::{InputError, Progress};

const FORMAT: &str = "Parquet";

/// What a column of a row group holds in memory while it is read, at the most: a page as it lies on disk, the same page
/// unpacked, the dictionary, and the dictionary decoded. Writers keep each of them to a megabyte unless they are told
/// otherwise.
const PAGES_BYTES: u64 = 4 << 20;

/// A Parquet file being read.
struct ParquetBatches {
    name: String,
    file: File,
    metadata: ArrowReaderMetadata,
    target_bytes: u64,
    columns: Vec<usize>,
    reader: Option<ParquetRecordBatchReader>,
    next_group: usize,
    paid: Reservation,
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
        None => (spool::copy(&name, stream.open(progress)?.reader)?, 0),
    };
    let metadata = guard::decode(&name, FORMAT, || ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()))?;
    let paid = budget
        .reserve("Parquet pages", metadata.metadata().memory_size() as u64)
        .map_err(|source| InputError::Budget { file: name.clone(), source })?;
    Ok(Box::new(ParquetBatches {
        name,
        file,
        metadata,
        target_bytes,
        columns: Vec::new(),
        reader: None,
        next_group: 0,
        paid,
        counter: Counter::new(progress, counted_bytes),
    }))
}

impl ParquetBatches {
    /// Prepares the next row group; `false` if there is none.
    fn next_group(&mut self) -> Result<bool, InputError> {
        let metadata = self.metadata.clone();
        let Some(group) = metadata.metadata().row_groups().get(self.next_group) else { return Ok(false) };
        let mask = ProjectionMask::roots(metadata.parquet_schema(), self.columns.iter().copied());
        let chunks = || group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        let pages: u64 = chunks().map(|(_, chunk)| chunk_bytes(chunk).min(PAGES_BYTES)).sum();
        let rows_bytes = 2 * self.target_bytes;
        let held = metadata.metadata().memory_size() as u64 + pages + rows_bytes;
        self.paid.resize(held).map_err(|source| InputError::Budget { file: self.name.clone(), source })?;
        let rows = (self.target_bytes / bytes_per_row(group, chunks().map(|(_, chunk)| chunk))).clamp(1, 1 << 16);
        let file = self.file.try_clone().map_err(|source| InputError::Io {
            file: self.name.clone(),
            action: "read it",
            source,
        })?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
            .with_row_groups(vec![self.next_group])
            .with_projection(mask.clone())
            .with_batch_size(rows as usize);
        self.reader = Some(guard::decode(&self.name, FORMAT, || builder.build())?);
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
                match guard::decode(&self.name, FORMAT, || reader.next().transpose())? {
                    Some(batch) => return Ok(Some(batch)),
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

/// The most that a column of a row group can hold, as a small one does: all of it on disk, unpacked and decoded. A damaged
/// file may say anything.
fn chunk_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let size = |bytes: i64| bytes.max(0) as u64;
    size(chunk.compressed_size()).saturating_add(size(chunk.uncompressed_size()).saturating_mul(2))
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
