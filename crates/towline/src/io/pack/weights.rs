//! A file with one sample weight per line.
use std::io::{BufRead, BufReader, Read};

use crate::budget::Budget;
use crate::input::unchanged::Unchanged;
use crate::input::{Compression, Input, InputError, Place, Progress, RowBatch, bytes, number};

/// Weights for the rows of all inputs, in order.
pub struct WeightFile {
    name: String,
    lines: BufReader<Box<dyn Read + Send>>,
    compression: Compression,
    line: u64,
    text: Vec<u8>,
    unchanged: Option<Unchanged>,
}

impl WeightFile {
    /// Opens the file.
    pub fn open(input: &Input, budget: &Budget) -> Result<Self, InputError> {
        let unchanged = Unchanged::new(input);
        let opened = bytes::open(input, budget, &Progress::default())?;
        let (lines, compression) = (BufReader::new(opened.reader), opened.compression);
        Ok(WeightFile { name: input.name(), lines, compression, line: 0, text: Vec::new(), unchanged })
    }

    /// Gives every row of `batch` its weight.
    pub fn fill(&mut self, batch: &mut RowBatch) -> Result<(), InputError> {
        batch.weights.clear();
        for _ in 0..batch.rows() {
            let Some(weight) = self.next()? else {
                let problem = format!("only {} weights, but there are more rows", self.line);
                return Err(InputError::file(
                    &self.name,
                    problem,
                    "write one weight per row, in the order of the rows",
                ));
            };
            batch.weights.push(weight);
        }
        Ok(())
    }

    /// All weights must have been used.
    pub fn finish(mut self, rows: u64) -> Result<(), InputError> {
        match self.next()? {
            None => self.unchanged.as_ref().map_or(Ok(()), Unchanged::check),
            Some(_) => {
                let problem = format!("more weights than rows ({rows})");
                Err(InputError::file(&self.name, problem, "write one weight per row, in the order of the rows"))
            }
        }
    }

    /// Bytes that a line may have; a number needs far fewer.
    const LONGEST_LINE: u64 = 4096;

    fn next(&mut self) -> Result<Option<f64>, InputError> {
        self.text.clear();
        let read = (&mut self.lines).take(Self::LONGEST_LINE).read_until(b'\n', &mut self.text);
        if read.map_err(|source| self.compression.read_error(&self.name, source))? == 0 {
            return Ok(None);
        }
        self.line += 1;
        let token = self.text.trim_ascii();
        match number::whole_float(token) {
            Some(weight) if weight.is_finite() && weight >= 0.0 => Ok(Some(weight)),
            _ => Err(InputError::Bad {
                file: self.name.clone(),
                place: Place::Line(self.line, None),
                problem: format!(
                    "expected a weight, found '{}'",
                    String::from_utf8_lossy(&token[..token.len().min(40)])
                ),
                remedy: "a weight is a number that is 0 or more".into(),
            }),
        }
    }
}
