//! Tables that are written: CSV, Parquet and Arrow, with columns of text and of numbers.
//!
//! Rows wait until there are enough of them for a batch. What Parquet and Arrow make of a batch goes to the output at once.
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, Float64Builder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use arrow::ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::budget::{Budget, BudgetError, Reservation};

/// Rows of a batch, and of a row group of Parquet.
const BATCH_ROWS: usize = 1 << 14;
/// What a cell of a batch takes at most, as a rule: its text and offset, once as it came and once as it is encoded.
const CELL_BYTES: u64 = 128;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFormat {
    /// A line of names, then a line per row, with quotes where needed.
    Csv,
    /// Parquet, compressed by Snappy.
    Parquet,
    /// An Arrow IPC file.
    Arrow,
}

impl TableFormat {
    /// The format that the name of a file asks for.
    pub fn of_name(name: &str) -> TableFormat {
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.to_ascii_lowercase().ends_with(ending));
        if ends(&[".parquet", ".pq"]) {
            TableFormat::Parquet
        } else if ends(&[".arrow", ".feather", ".ipc"]) {
            TableFormat::Arrow
        } else {
            TableFormat::Csv
        }
    }
}

/// The first line of a CSV file with these columns.
pub fn csv_head(columns: &[OutColumn]) -> String {
    let mut line = Vec::new();
    let names = columns.iter().map(|column| Cell::Text(column.name()));
    // Memory takes any bytes.
    let _ = write_line(&mut line, names);
    String::from_utf8_lossy(&line).into_owned()
}

fn write_line<'a>(out: &mut impl Write, cells: impl Iterator<Item = Cell<'a>>) -> io::Result<()> {
    for (i, cell) in cells.enumerate() {
        let comma = if i == 0 { "" } else { "," };
        match cell {
            Cell::Text(text) if text.contains([',', '"', '\n', '\r']) => {
                write!(out, "{comma}\"{}\"", text.replace('"', "\"\""))?;
            }
            Cell::Text(text) => write!(out, "{comma}{text}")?,
            Cell::Number(number) => write!(out, "{comma}{number}")?,
            Cell::Absent => write!(out, "{comma}")?,
        }
    }
    writeln!(out)
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutColumn {
    /// Of text, which may be absent.
    Text(String),
    /// Of numbers.
    Number(String),
}

impl OutColumn {
    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            OutColumn::Text(name) | OutColumn::Number(name) => name,
        }
    }
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Text.
    Text(&'a str),
    /// A number.
    Number(f64),
    /// Nothing.
    Absent,
}

enum Builder {
    Text(StringBuilder),
    Number(Float64Builder),
}

enum Encoder {
    Csv,
    Parquet(ArrowWriter<Pipe>),
    Arrow(FileWriter<Pipe>),
}

/// Writes a table row by row.
pub struct TableWriter<W: Write> {
    out: W,
    schema: Arc<Schema>,
    encoder: Encoder,
    /// What the encoder has made.
    pipe: Pipe,
    columns: Vec<Builder>,
    rows: usize,
    _paid: Reservation,
}

/// A table cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableOutError {
    /// The operating system said no.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
    /// The budget is too small.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The format has no place for it.
    #[error("cannot encode the table: {0}")]
    Encode(String),
}

impl From<ArrowError> for TableOutError {
    fn from(error: ArrowError) -> Self {
        TableOutError::Encode(error.to_string())
    }
}

impl From<parquet::errors::ParquetError> for TableOutError {
    fn from(error: parquet::errors::ParquetError) -> Self {
        TableOutError::Encode(error.to_string())
    }
}

impl<W: Write> TableWriter<W> {
    /// Begins a table.
    pub fn new(format: TableFormat, columns: &[OutColumn], out: W, budget: &Budget) -> Result<Self, TableOutError> {
        let bytes = if format == TableFormat::Csv { 0 } else { BATCH_ROWS as u64 * CELL_BYTES * columns.len() as u64 };
        let paid = budget.reserve("the table that is written", bytes)?;
        let field = |column: &OutColumn| match column {
            OutColumn::Text(name) => Field::new(name, DataType::Utf8, true),
            OutColumn::Number(name) => Field::new(name, DataType::Float64, true),
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let builder = |column: &OutColumn| match column {
            OutColumn::Text(_) => Builder::Text(StringBuilder::new()),
            OutColumn::Number(_) => Builder::Number(Float64Builder::new()),
        };
        let pipe = Pipe::default();
        let encoder = match format {
            TableFormat::Csv => Encoder::Csv,
            TableFormat::Parquet => {
                let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
                Encoder::Parquet(ArrowWriter::try_new(pipe.clone(), schema.clone(), Some(properties))?)
            }
            TableFormat::Arrow => Encoder::Arrow(FileWriter::try_new(pipe.clone(), &schema)?),
        };
        let head = csv_head(columns);
        let columns = columns.iter().map(builder).collect();
        let mut writer = TableWriter { out, schema, encoder, pipe, columns, rows: 0, _paid: paid };
        if format == TableFormat::Csv {
            writer.out.write_all(head.as_bytes())?;
        }
        Ok(writer)
    }

    /// Writes a row, with a cell for each column.
    pub fn row<'a>(&mut self, cells: impl Iterator<Item = Cell<'a>>) -> Result<(), TableOutError> {
        if let Encoder::Csv = self.encoder {
            return Ok(write_line(&mut self.out, cells)?);
        }
        for (builder, cell) in self.columns.iter_mut().zip(cells) {
            match (builder, cell) {
                (Builder::Text(builder), Cell::Text(text)) => builder.append_value(text),
                (Builder::Text(builder), Cell::Number(number)) => builder.append_value(number.to_string()),
                (Builder::Text(builder), Cell::Absent) => builder.append_null(),
                (Builder::Number(builder), Cell::Number(number)) => builder.append_value(number),
                (Builder::Number(builder), _) => builder.append_null(),
            }
        }
        self.rows += 1;
        if self.rows == BATCH_ROWS { self.flush() } else { Ok(()) }
    }

    /// Encodes the rows that wait.
    fn flush(&mut self) -> Result<(), TableOutError> {
        let finish = |builder: &mut Builder| -> ArrayRef {
            match builder {
                Builder::Text(builder) => Arc::new(builder.finish()),
                Builder::Number(builder) => Arc::new(builder.finish()),
            }
        };
        if self.rows > 0 {
            let batch = RecordBatch::try_new(self.schema.clone(), self.columns.iter_mut().map(finish).collect())?;
            match &mut self.encoder {
                Encoder::Csv => {}
                Encoder::Parquet(writer) => {
                    writer.write(&batch)?;
                    writer.flush()?;
                }
                Encoder::Arrow(writer) => writer.write(&batch)?,
            }
            self.rows = 0;
        }
        Ok(self.pipe.empty_into(&mut self.out)?)
    }

    /// Ends the table, and gives the output back.
    pub fn finish(mut self) -> Result<W, TableOutError> {
        self.flush()?;
        match &mut self.encoder {
            Encoder::Csv => {}
            Encoder::Parquet(writer) => drop(writer.finish()?),
            Encoder::Arrow(writer) => writer.finish()?,
        }
        self.pipe.empty_into(&mut self.out)?;
        Ok(self.out)
    }
}

/// Bytes on their way from an encoder to an output that may be bound to its thread.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Pipe {
    fn empty_into(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(&bytes)?;
        bytes.clear();
        Ok(())
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: TableFormat, rows: usize) -> Vec<u8> {
        let columns = [OutColumn::Text("id, \"x\"".into()), OutColumn::Number("score".into())];
        let mut writer = TableWriter::new(format, &columns, Vec::new(), &Budget::unlimited()).unwrap();
        for i in 0..rows {
            let id = format!("a,{i}");
            let cell = if i % 3 == 0 { Cell::Absent } else { Cell::Text(&id) };
            writer.row([cell, Cell::Number(i as f64 / 4.0)].into_iter()).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn csv_has_quotes_where_needed() {
        let text = String::from_utf8(written(TableFormat::Csv, 2)).unwrap();
        assert_eq!(text, "\"id, \"\"x\"\"\",score\n,0\n\"a,1\",0.25\n");
    }

    #[test]
    fn tables_are_read_again() {
        // More than one batch.
        let count = BATCH_ROWS + 7;
        for format in [TableFormat::Parquet, TableFormat::Arrow] {
            let bytes = written(format, count);
            let batches: Vec<RecordBatch> = match format {
                TableFormat::Parquet => {
                    let bytes = bytes::Bytes::from(bytes);
                    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
                    reader.build().unwrap().map(Result::unwrap).collect()
                }
                _ => {
                    let reader = arrow::ipc::reader::FileReader::try_new(io::Cursor::new(bytes), None).unwrap();
                    reader.map(Result::unwrap).collect()
                }
            };
            assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), count);
            let last = batches.last().unwrap();
            let scores = last.column(1).as_any().downcast_ref::<arrow::array::Float64Array>().unwrap();
            assert_eq!(scores.value(scores.len() - 1), (count - 1) as f64 / 4.0);
            let first = &batches[0];
            let ids = first.column(0).as_any().downcast_ref::<arrow::array::StringArray>().unwrap();
            assert!(arrow::array::Array::is_null(ids, 0) && ids.value(1) == "a,1");
        }
    }

    #[test]
    fn names_of_files_say_the_format() {
        let names = ["x.parquet", "X.PQ", "a.arrow", "b.feather", "c.csv", "d"].map(TableFormat::of_name);
        use TableFormat::*;
        assert_eq!(names, [Parquet, Parquet, Arrow, Arrow, Csv, Csv]);
    }
}
