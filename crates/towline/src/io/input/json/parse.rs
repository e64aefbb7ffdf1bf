//! Lines of JSON become rows.
use std::collections::HashMap;
use std::sync::Arc;

use super::LateKeys;
use super::flatten::{self, Cell, Trouble};
use crate::input::table::cells::{CellError, RowWriter, shown};
use crate::input::table::plan::{Column, Plan, Role, Tables};
use crate::input::text::{LineError, RecordParser};
use crate::input::{RowBatch, number};
use crate::schema::Kind;

/// Parses the lines of one file.
pub(super) struct JsonParser {
    tables: Arc<Tables>,
    plan: Plan,
    places: HashMap<String, usize>,
    /// Columns whose absence is a feature.
    marked: Vec<usize>,
    late: Arc<LateKeys>,
}

/// Marks of absent cells that a piece may have beyond one for each of its bytes: rows that lack nearly everything would
/// take far more memory than their text.
const SPARE_MARKS: usize = 1 << 16;

impl JsonParser {
    pub(super) fn new(tables: Arc<Tables>, plan: Plan, late: Arc<LateKeys>) -> Self {
        let places = plan.columns.iter().enumerate().map(|(at, column)| (column.name.clone(), at)).collect();
        let marked = (0..plan.columns.len()).filter(|&at| plan.columns[at].is_marked).collect();
        JsonParser { tables, plan, places, marked, late }
    }
}

impl RecordParser for JsonParser {
    fn rows_bytes(&self, text: &[u8]) -> u64 {
        let lines = memchr::memchr_iter(b'\n', text).count() as u64 + 1;
        let cells = memchr::memchr2_iter(b',', b':', text).count() as u64 + lines + self.marked.len() as u64 * lines;
        let columns = &self.plan.columns;
        let names: u64 = columns.iter().map(|column| column.name.len() as u64 + 1).sum();
        let grams: u64 = columns.iter().map(Column::gram_bytes).sum();
        // As for CSV, and a cell on its way: its place and where its text is.
        2 * (cells * (16 + 13 + 48) + lines * 32 + names * lines + (2 + grams) * text.len() as u64)
    }

    fn parse(&self, text: &[u8], batch: &mut RowBatch) -> Result<(), LineError> {
        let mut writer = RowWriter::new(&self.tables, &self.plan, batch);
        let mut given = Given { cells: Vec::new(), has: vec![false; self.plan.columns.len()], marks: 0 };
        let mut at = 0;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let row = line.trim_ascii_end();
            if !row.trim_ascii_start().is_empty() {
                let read = self.row(row, &mut given, &mut writer);
                read.map_err(|Trouble { at: within, error }| LineError {
                    at: at + within,
                    problem: error.problem,
                    remedy: error.remedy,
                })?;
            }
            at += line.len();
            if given.marks > at + SPARE_MARKS {
                let problem = "the lines up to here lack most of the columns that the first ones have".to_string();
                return Err(LineError { at: at - 1, problem, remedy: "use `absent(zero)`".into() });
            }
        }
        Ok(())
    }
}

/// The cells of a line with their columns; which columns it has; and marks of absent cells so far.
struct Given<'a> {
    cells: Vec<(usize, Cell<'a>)>,
    has: Vec<bool>,
    marks: usize,
}

impl JsonParser {
    fn row<'a>(&self, line: &'a [u8], given: &mut Given<'a>, writer: &mut RowWriter<'_>) -> Result<(), Trouble> {
        let Given { cells, has, marks } = given;
        cells.clear();
        has.fill(false);
        flatten::each_cell(line, &mut |name, cell| {
            let Some(&place) = self.places.get(name) else {
                self.late.add(name);
                return Ok(());
            };
            if std::mem::replace(&mut has[place], true) {
                return Err(CellError::new(format!("'{}' is there twice", shown(name.as_bytes())), "leave one out"));
            }
            cells.push((place, cell));
            Ok(())
        })?;
        // The order of keys must not matter to sums.
        cells.sort_unstable_by_key(|&(place, _)| place);
        let wrong = |error| Trouble { at: 0, error };
        for (place, cell) in cells.iter() {
            if matches!(cell, Cell::Null) {
                has[*place] = false;
            }
            self.cell(&self.plan.columns[*place], cell, writer).map_err(wrong)?;
        }
        for &place in &self.marked {
            if !has[place] {
                *marks += 1;
                writer.absent(&self.plan.columns[place]).map_err(wrong)?;
            }
        }
        writer.end_row().map_err(wrong)
    }

    fn cell(&self, column: &Column, cell: &Cell<'_>, writer: &mut RowWriter<'_>) -> Result<(), CellError> {
        let content = match (cell, column.role) {
            (Cell::Null, _) | (_, Role::Ignored) => return Ok(()),
            (Cell::List(list), Role::Feature) if matches!(column.kind, Kind::List | Kind::Empty) => {
                return writer.bag(column, flatten::items(list)?.iter().map(content));
            }
            (Cell::List(_), _) => {
                let problem = format!("a list in column '{}', which holds {}", column.name, column.kind.noun());
                return Err(CellError::new(problem, "write one value, or leave the column out with `ignore`"));
            }
            (one, Role::Feature) if column.kind == Kind::List => {
                return writer.bag(column, std::iter::once(content(one)));
            }
            (Cell::Text(text), _) => text.as_bytes(),
            (Cell::Plain(text), _) => text.as_bytes(),
        };
        if self.tables.missing.is_text(content) {
            return if column.role == Role::Feature { writer.absent(column) } else { Ok(()) };
        }
        if column.role != Role::Feature || column.kind != Kind::Empty {
            return writer.cell(column, content);
        }
        match (cell, number::whole_float(content)) {
            (Cell::Plain(_), Some(value)) => writer.loose_number(&column.name, value),
            _ => {
                let key = writer.text_feature(&column.name, content)?;
                writer.one(key);
                Ok(())
            }
        }
    }
}

/// An item of a list: text, or a number; truth values are text.
fn content<'a>(cell: &'a Cell<'_>) -> Option<Result<f64, &'a [u8]>> {
    match cell {
        Cell::Text(text) => Some(Err(text.as_bytes())),
        Cell::Plain(text) => Some(number::whole_float(text.as_bytes()).ok_or(text.as_bytes())),
        Cell::Null | Cell::List(_) => None,
    }
}
