//! Records of CSV become rows.
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::quote_error;
use super::split::{self, Cell};
use crate::input::table::cells::{self, CellError, RowWriter};
use crate::input::table::plan::{Column, Plan, Role, Tables};
use crate::input::text::{LineError, RecordParser};
use crate::input::{RowBatch, number};
use crate::schema::Kind;

/// Parses the records of one file.
pub(super) struct CsvParser {
    tables: Arc<Tables>,
    plan: Plan,
    delimiter: u8,
    header: bool,
    /// For columns that were empty in the head: whether numbers and whether text came later.
    later: Vec<AtomicU8>,
}

const SAW_NUMBER: u8 = 1;
const SAW_TEXT: u8 = 2;

impl CsvParser {
    pub(super) fn new(tables: Arc<Tables>, plan: Plan, delimiter: u8, header: bool) -> Self {
        let later = plan.columns.iter().map(|_| AtomicU8::new(0)).collect();
        CsvParser { tables, plan, delimiter, header, later }
    }
}

impl RecordParser for CsvParser {
    fn whole_records(&self, text: &[u8]) -> usize {
        split::whole_records(text, self.delimiter)
    }

    fn rows_bytes(&self, text: &[u8]) -> u64 {
        let lines = memchr::memchr_iter(b'\n', text).count() as u64 + 1;
        let cells = memchr::memchr_iter(self.delimiter, text).count() as u64 + lines;
        let names: u64 = self.plan.columns.iter().map(|column| column.name.len() as u64 + 1).sum();
        // Key, value, and for text the place and the hash of its name; growing by doubling may leave as much room
        // again.
        let grams: u64 = self.plan.columns.iter().map(Column::gram_bytes).sum();
        2 * (cells * (16 + 13) + lines * 32 + names * lines + (1 + grams) * text.len() as u64)
    }

    fn parse(&self, text: &[u8], batch: &mut RowBatch) -> Result<(), LineError> {
        let mut writer = RowWriter::new(&self.tables, &self.plan, batch);
        let mut buffer = Vec::new();
        let mut at = split::skip_blank_lines(text, 0, self.delimiter);
        while at < text.len() {
            at = self.record(text, at, &mut writer, &mut buffer)?;
            at = split::skip_blank_lines(text, at, self.delimiter);
        }
        Ok(())
    }
}

impl CsvParser {
    /// Parses the record at `start`, and returns where it ends.
    #[inline(always)]
    fn record(
        &self,
        text: &[u8],
        start: usize,
        writer: &mut RowWriter<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<usize, LineError> {
        let mut at = start;
        let mut ended = false;
        for (position, column) in self.plan.columns.iter().enumerate() {
            if ended {
                return Err(self.ragged(text, start));
            }
            if column.role == Role::Feature {
                if text.get(at) == Some(&self.delimiter) {
                    if let Err(error) = writer.absent(column) {
                        return Err(self.bad_cell(error, text, start, at));
                    }
                    at += 1;
                    continue;
                }
                if column.kind == Kind::Number
                    && let Some((value, end)) = quick_number(text, at, self.delimiter)
                {
                    if let Err(error) = writer.number(column, value) {
                        return Err(self.bad_cell(error, text, start, at));
                    }
                    at = end;
                    continue;
                }
            }
            let cell = match split::cell(text, at, self.delimiter) {
                Ok(cell) => cell,
                Err(error) => return Err(quote_error(error, self.delimiter)),
            };
            if let Err(error) = self.cell(text, &cell, position, writer, buffer) {
                return Err(self.bad_cell(error, text, start, cell.start));
            }
            at = cell.next;
            ended = cell.last;
        }
        if !ended {
            return Err(self.ragged(text, start));
        }
        match writer.end_row() {
            Ok(()) => Ok(at),
            Err(error) => Err(self.bad_cell(error, text, start, start)),
        }
    }

    #[inline(always)]
    fn cell(
        &self,
        text: &[u8],
        cell: &Cell,
        position: usize,
        writer: &mut RowWriter<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), CellError> {
        let column = &self.plan.columns[position];
        if column.role == Role::Ignored {
            return Ok(());
        }
        let content = cell.content(text, buffer);
        if self.tables.missing.is_text(content) {
            return if column.role == Role::Feature { writer.absent(column) } else { Ok(()) };
        }
        match (column.role, column.kind) {
            (Role::Feature, Kind::Empty) => self.loose_cell(column, position, content, writer),
            _ => writer.cell(column, content),
        }
    }

    /// A cell of a column that was empty in the head.
    fn loose_cell(
        &self,
        column: &Column,
        position: usize,
        content: &[u8],
        writer: &mut RowWriter<'_>,
    ) -> Result<(), CellError> {
        let value = number::whole_float(content.trim_ascii()).filter(|value| value.is_finite());
        let saw = if value.is_some() { SAW_NUMBER } else { SAW_TEXT };
        let before = self.later[position].load(Ordering::Relaxed);
        if before & saw == 0 {
            self.later[position].fetch_or(saw, Ordering::Relaxed);
            if before != 0 {
                self.tables.remark(format!(
                    "column '{}' is empty at first and holds both numbers and text later; use `category({})` to take all \
                     of it as text",
                    column.name,
                    cells::word(&column.name)
                ));
            }
        }
        match value {
            Some(value) => writer.loose_number(&column.name, value),
            None => {
                let key = writer.text_feature(&column.name, content)?;
                writer.one(key);
                Ok(())
            }
        }
    }

    /// A wrong number of cells also puts text where numbers should be, and is then the better explanation.
    #[cold]
    fn bad_cell(&self, error: CellError, text: &[u8], start: usize, at: usize) -> LineError {
        match split::record(text, start, self.delimiter, |_, _| {}) {
            Ok((cells, _)) if cells != self.plan.columns.len() => self.ragged(text, start),
            _ => LineError { at, problem: error.problem, remedy: error.remedy },
        }
    }

    #[cold]
    fn ragged(&self, text: &[u8], start: usize) -> LineError {
        let count = |n: usize| if n == 1 { "1 cell".to_string() } else { format!("{n} cells") };
        match split::record(text, start, self.delimiter, |_, _| {}) {
            Ok((cells, _)) => LineError {
                at: start,
                problem: format!(
                    "this record has {}, but the {} has {}",
                    count(cells),
                    if self.header { "header" } else { "first record" },
                    self.plan.columns.len()
                ),
                remedy: format!(
                    "put quotes around cells that hold '{}', or say what separates cells with `delimiter`",
                    self.delimiter.escape_ascii()
                ),
            },
            Err(error) => quote_error(error, self.delimiter),
        }
    }
}

/// A plain number that is followed by a delimiter, also within quotes: its value and where the next cell begins. A
/// single digit, as in columns of flags, is worth a shortcut.
#[inline(always)]
fn quick_number(text: &[u8], at: usize, delimiter: u8) -> Option<(f64, usize)> {
    if let Some(&[first, second]) = text.get(at..at + 2)
        && second == delimiter
        && first.is_ascii_digit()
    {
        return Some((f64::from(first - b'0'), at + 2));
    }
    let quotes = usize::from(text.get(at) == Some(&b'"'));
    let (value, end) = number::float(text, at + quotes)?;
    if quotes == 1 && text.get(end) != Some(&b'"') {
        return None;
    }
    let end = end + quotes;
    (text.get(end) == Some(&delimiter)).then_some((value, end + 1))
}
