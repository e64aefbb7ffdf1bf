//! Arrow data written in every way that is read.
use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

/// A batch of named columns, all of which may hold nulls.
pub(crate) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    use arrow_schema::{Field, Schema};
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

/// The batch as a Parquet file with row groups of a few rows.
pub(crate) fn parquet(batch: &RecordBatch, group_rows: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let compression = parquet::basic::Compression::SNAPPY;
    let properties =
        WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn ipc_options(compression: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default().try_with_compression(compression).unwrap()
}

fn pieces(batch: &RecordBatch, rows: usize) -> impl Iterator<Item = RecordBatch> {
    let starts = (0..batch.num_rows()).step_by(rows.max(1));
    starts.map(move |start| batch.slice(start, rows.min(batch.num_rows() - start)))
}

/// The batch as an IPC file.
pub(crate) fn ipc_file(batch: &RecordBatch, rows: usize, compression: Option<CompressionType>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new_with_options(&mut bytes, &batch.schema(), ipc_options(compression)).unwrap();
    pieces(batch, rows).for_each(|piece| writer.write(&piece).unwrap());
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// The batch as an IPC stream.
pub(crate) fn ipc_stream(batch: &RecordBatch, rows: usize, compression: Option<CompressionType>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new_with_options(&mut bytes, &batch.schema(), ipc_options(compression)).unwrap();
    pieces(batch, rows).for_each(|piece| writer.write(&piece).unwrap());
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// Packed by gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
