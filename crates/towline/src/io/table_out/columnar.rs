//! Tables that are written a batch of columns at a time: Parquet and Arrow.
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::{Float64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
#[cfg(feature = "parquet")]
use parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};

use super::{BATCH_ROWS, Cell, OutColumn, TableFormat, TableOutError};

enum Builder {
    Text(StringBuilder),
    Number(Float64Builder),
}

enum Encoder {
    #[cfg(feature = "parquet")]
    Parquet(ArrowWriter<Pipe>),
    Arrow(FileWriter<Pipe>),
}

impl Encoder {
    fn new(format: TableFormat, schema: &Arc<Schema>, pipe: &Pipe) -> Result<Encoder, TableOutError> {
        match format {
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
                Ok(Encoder::Parquet(ArrowWriter::try_new(pipe.clone(), schema.clone(), Some(properties))?))
            }
            #[cfg(not(feature = "parquet"))]
            TableFormat::Parquet => {
                Err(TableOutError::Encode("this build writes no Parquet; name a .csv file".to_string()))
            }
            _ => Ok(Encoder::Arrow(FileWriter::try_new(pipe.clone(), schema)?)),
        }
    }
}

/// Rows that wait until there are enough of them for a batch.
pub struct Columnar {
    schema: Arc<Schema>,
    encoder: Encoder,
    /// What the encoder has made.
    pipe: Pipe,
    columns: Vec<Builder>,
    rows: usize,
}

impl From<ArrowError> for TableOutError {
    fn from(error: ArrowError) -> Self {
        TableOutError::Encode(error.to_string())
    }
}

#[cfg(feature = "parquet")]
impl From<parquet::errors::ParquetError> for TableOutError {
    fn from(error: parquet::errors::ParquetError) -> Self {
        TableOutError::Encode(error.to_string())
    }
}

impl Columnar {
    pub fn new(format: TableFormat, columns: &[OutColumn]) -> Result<Self, TableOutError> {
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
        let encoder = Encoder::new(format, &schema, &pipe)?;
        Ok(Columnar { schema, encoder, pipe, columns: columns.iter().map(builder).collect(), rows: 0 })
    }

    /// Takes a row; what the encoder has made by then goes to `out`.
    pub fn row<'a>(
        &mut self,
        cells: impl Iterator<Item = Cell<'a>>,
        out: &mut impl Write,
    ) -> Result<(), TableOutError> {
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
        if self.rows == BATCH_ROWS { self.flush(out) } else { Ok(()) }
    }

    /// Encodes the rows that wait.
    fn flush(&mut self, out: &mut impl Write) -> Result<(), TableOutError> {
        let finish = |builder: &mut Builder| -> ArrayRef {
            match builder {
                Builder::Text(builder) => Arc::new(builder.finish()),
                Builder::Number(builder) => Arc::new(builder.finish()),
            }
        };
        if self.rows > 0 {
            let batch = RecordBatch::try_new(self.schema.clone(), self.columns.iter_mut().map(finish).collect())?;
            match &mut self.encoder {
                #[cfg(feature = "parquet")]
                Encoder::Parquet(writer) => {
                    writer.write(&batch)?;
                    writer.flush()?;
                }
                Encoder::Arrow(writer) => writer.write(&batch)?,
            }
            self.rows = 0;
        }
        Ok(self.pipe.empty_into(out)?)
    }

    /// Ends the table.
    pub fn finish(mut self, out: &mut impl Write) -> Result<(), TableOutError> {
        self.flush(out)?;
        match &mut self.encoder {
            #[cfg(feature = "parquet")]
            Encoder::Parquet(writer) => drop(writer.finish()?),
            Encoder::Arrow(writer) => writer.finish()?,
        }
        Ok(self.pipe.empty_into(out)?)
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
