//! Tables that are written: CSV, Parquet and Arrow, with columns of text and of numbers.
//!
//! Rows wait until there are enough of them for a batch. What Parquet and Arrow make of a batch goes to the output at once.
#[cfg(feature = "arrow")]
mod columnar;

use std::io::{self, Write};

#[cfg(feature = "arrow")]
use columnar::Columnar;

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

/// What makes bytes of rows.
enum Encoder {
    Csv,
    #[cfg(feature = "arrow")]
    Columnar(Box<Columnar>),
}

impl Encoder {
    #[cfg_attr(not(feature = "arrow"), allow(unused_variables))]
    fn new(format: TableFormat, columns: &[OutColumn]) -> Result<Encoder, TableOutError> {
        match format {
            TableFormat::Csv => Ok(Encoder::Csv),
            #[cfg(feature = "arrow")]
            _ => Ok(Encoder::Columnar(Box::new(Columnar::new(format, columns)?))),
            #[cfg(not(feature = "arrow"))]
            _ => {
                Err(TableOutError::Encode("this build writes neither Parquet nor Arrow; name a .csv file".to_string()))
            }
        }
    }
}

/// Writes a table row by row.
pub struct TableWriter<W: Write> {
    out: W,
    encoder: Encoder,
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

impl<W: Write> TableWriter<W> {
    /// Begins a table.
    pub fn new(format: TableFormat, columns: &[OutColumn], mut out: W, budget: &Budget) -> Result<Self, TableOutError> {
        let bytes = if format == TableFormat::Csv { 0 } else { BATCH_ROWS as u64 * CELL_BYTES * columns.len() as u64 };
        let paid = budget.reserve("the table that is written", bytes)?;
        let encoder = Encoder::new(format, columns)?;
        if format == TableFormat::Csv {
            out.write_all(csv_head(columns).as_bytes())?;
        }
        Ok(TableWriter { out, encoder, _paid: paid })
    }

    /// Writes a row, with a cell for each column.
    pub fn row<'a>(&mut self, cells: impl Iterator<Item = Cell<'a>>) -> Result<(), TableOutError> {
        match &mut self.encoder {
            Encoder::Csv => Ok(write_line(&mut self.out, cells)?),
            #[cfg(feature = "arrow")]
            Encoder::Columnar(columnar) => columnar.row(cells, &mut self.out),
        }
    }

    /// Ends the table, and gives the output back.
    #[cfg_attr(not(feature = "arrow"), allow(unused_mut))]
    pub fn finish(mut self) -> Result<W, TableOutError> {
        match self.encoder {
            Encoder::Csv => {}
            #[cfg(feature = "arrow")]
            Encoder::Columnar(columnar) => columnar.finish(&mut self.out)?,
        }
        Ok(self.out)
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

    #[cfg(feature = "parquet")]
    #[test]
    fn tables_are_read_again() {
        use arrow_array::RecordBatch;
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
                    let reader = arrow_ipc::reader::FileReader::try_new(io::Cursor::new(bytes), None).unwrap();
                    reader.map(Result::unwrap).collect()
                }
            };
            assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), count);
            let last = batches.last().unwrap();
            let scores = last.column(1).as_any().downcast_ref::<arrow_array::Float64Array>().unwrap();
            assert_eq!(scores.value(scores.len() - 1), (count - 1) as f64 / 4.0);
            let first = &batches[0];
            let ids = first.column(0).as_any().downcast_ref::<arrow_array::StringArray>().unwrap();
            assert!(arrow_array::Array::is_null(ids, 0) && ids.value(1) == "a,1");
        }
    }

    #[test]
    fn names_of_files_say_the_format() {
        let names = ["x.parquet", "X.PQ", "a.arrow", "b.feather", "c.csv", "d"].map(TableFormat::of_name);
        use TableFormat::*;
        assert_eq!(names, [Parquet, Parquet, Arrow, Arrow, Csv, Csv]);
    }
}
