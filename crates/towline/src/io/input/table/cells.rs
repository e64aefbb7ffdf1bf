//! Cells on their way into a batch: the same rules for every format of tables.
use std::sync::atomic::{AtomicU64, Ordering};

use super::plan::{Column, Kind, Role, Tables};
use super::{Missing, Unlabelled};
use crate::input::RowBatch;
use crate::input::libsvm::Precision;

/// What is wrong with a cell; the format adds where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellError {
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

impl CellError {
    pub(crate) fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        CellError { problem: problem.into(), remedy: remedy.into() }
    }
}

/// Fills a batch with the rows of a table.
pub(crate) struct RowWriter<'a> {
    batch: &'a mut RowBatch,
    missing: &'a Missing,
    precision: Precision,
    unlabelled: Unlabelled,
    skipped_rows: &'a AtomicU64,
    /// Feature of each column of numbers in this batch.
    keys: Vec<u32>,
    /// A feature's name while it is put together.
    name: Vec<u8>,
    /// Of each column of targets.
    labels: Vec<Option<f64>>,
    has_weight: bool,
    has_group: bool,
}

impl<'a> RowWriter<'a> {
    /// Begins a batch. Columns of numbers are entered as features at once, in the order of the table, so that later a
    /// number costs no search.
    pub(crate) fn new(tables: &'a Tables, columns: &[Column], batch: &'a mut RowBatch) -> Self {
        let number = |column: &Column| column.role == Role::Feature && column.kind == Kind::Number;
        let keys = columns
            .iter()
            .map(|column| if number(column) { batch.names.intern(column.name.as_bytes()) } else { u32::MAX })
            .collect();
        RowWriter {
            batch,
            missing: &tables.missing,
            precision: tables.options.precision,
            unlabelled: tables.options.unlabelled,
            skipped_rows: &tables.skipped_rows,
            keys,
            name: Vec::new(),
            labels: vec![None; columns.iter().filter(|column| matches!(column.role, Role::Label(_))).count().max(1)],
            has_weight: columns.iter().any(|column| column.role == Role::Weight),
            has_group: columns.iter().any(|column| column.role == Role::Group),
        }
    }

    /// A number of the column at position `at`, which must be a feature of numbers.
    #[inline(always)]
    pub(crate) fn number(&mut self, at: usize, column: &Column, value: f64) -> Result<(), CellError> {
        let key = self.keys[at];
        self.value(key, &column.name, value)
    }

    /// A value of the feature `key`, which belongs to column `column`.
    #[inline(always)]
    pub(crate) fn value(&mut self, key: u32, column: &str, value: f64) -> Result<(), CellError> {
        if self.missing.is_number(value) {
            return Ok(());
        }
        let kept = self.precision.round(value);
        if !kept.is_finite() {
            return Err(not_finite(column, value));
        }
        if kept != 0.0 {
            self.batch.keys.push(u64::from(key));
            self.batch.values.push(kept);
        }
        Ok(())
    }

    /// The feature named by `column` and what `write` appends to it.
    pub(crate) fn feature(&mut self, column: &str, write: impl FnOnce(&mut Vec<u8>)) -> Result<u32, CellError> {
        self.name.clear();
        self.name.extend_from_slice(column.as_bytes());
        write(&mut self.name);
        let known = self.batch.names.len();
        let key = self.batch.names.intern(&self.name);
        if self.batch.names.len() > known && std::str::from_utf8(&self.name).is_err() {
            return Err(not_utf8(column));
        }
        Ok(key)
    }

    /// A number in a column of which nothing is known.
    pub(crate) fn loose_number(&mut self, column: &str, value: f64) -> Result<(), CellError> {
        let key = self.feature(column, |_| {})?;
        self.value(key, column, value)
    }

    /// The feature of a cell of text.
    #[inline]
    pub(crate) fn text_feature(&mut self, column: &str, cell: &[u8]) -> Result<u32, CellError> {
        self.feature(column, |name| {
            name.push(b'=');
            name.extend_from_slice(cell);
        })
    }

    /// Adds a feature of text.
    #[inline]
    pub(crate) fn one(&mut self, key: u32) {
        self.batch.keys.push(u64::from(key));
        self.batch.values.push(1.0);
    }

    pub(crate) fn label_number(&mut self, place: usize, column: &str, value: f64) -> Result<(), CellError> {
        if self.missing.is_number(value) {
            return Ok(());
        }
        if !value.is_finite() {
            return Err(CellError::new(
                format!("the label in column '{column}' is {value}, not a finite number"),
                "use `missing(nan)` or `missing(inf)`, and `unlabelled(skip)` to leave such rows out",
            ));
        }
        if let Some(label) = self.labels.get_mut(place) {
            *label = Some(value);
        }
        Ok(())
    }

    pub(crate) fn label_text(&mut self, column: &str, cell: &[u8]) -> Result<(), CellError> {
        let known = self.batch.classes.len();
        let class = self.batch.classes.intern(cell);
        if self.batch.classes.len() > known && std::str::from_utf8(cell).is_err() {
            return Err(not_utf8(column));
        }
        self.labels[0] = Some(f64::from(class));
        Ok(())
    }

    pub(crate) fn weight(&mut self, column: &str, value: f64) -> Result<(), CellError> {
        if self.missing.is_number(value) {
            return Ok(());
        }
        if !(value.is_finite() && value >= 0.0) {
            return Err(CellError::new(
                format!("the weight in column '{column}' is {value}, but it must be finite and not negative"),
                "correct it, or give the row weight 0",
            ));
        }
        self.batch.weights.push(value);
        Ok(())
    }

    pub(crate) fn group_number(&mut self, column: &str, value: Option<u64>) -> Result<(), CellError> {
        let Some(group) = value else {
            return Err(CellError::new(
                format!("the group in column '{column}' is not a whole number from 0 on"),
                format!("use `text({})` to take groups as text", word(column)),
            ));
        };
        self.batch.groups.push(group);
        Ok(())
    }

    pub(crate) fn group_text(&mut self, cell: &[u8]) {
        self.batch.groups.push(xxhash_rust::xxh3::xxh3_64(cell));
    }

    /// Closes the row. Label, weight and group must have been given by now where the table has them.
    pub(crate) fn end_row(&mut self, columns: &[Column]) -> Result<(), CellError> {
        let rows = self.batch.rows() + 1;
        let absent = |role: Role, what: &str, remedy: &str| {
            let name = columns.iter().find(|column| column.role == role).map(|column| column.name.as_str());
            name.map(|name| CellError::new(format!("this row has no {what} in column '{name}'"), remedy))
        };
        // A row without one of its targets has none.
        match (self.labels.iter().position(Option::is_none), self.unlabelled) {
            (None, _) => {}
            (Some(_), Unlabelled::Keep) => self.labels.fill(Some(f64::NAN)),
            (Some(_), Unlabelled::Skip) => {
                self.labels.fill(None);
                self.skip_row();
                return Ok(());
            }
            (Some(place), Unlabelled::Error) => {
                let error = absent(Role::Label(place), "label", "use `unlabelled(skip)` to leave such rows out");
                return error.map_or(Ok(()), Err);
            }
        }
        if self.has_weight
            && self.batch.weights.len() < rows
            && let Some(error) = absent(Role::Weight, "weight", "give every row a weight")
        {
            return Err(error);
        }
        if self.has_group
            && self.batch.groups.len() < rows
            && let Some(error) = absent(Role::Group, "group", "give every row a group")
        {
            return Err(error);
        }
        let mut labels = self.labels.iter_mut().filter_map(Option::take);
        let first = labels.next().unwrap_or(f64::NAN);
        self.batch.further.extend(labels);
        self.batch.end_row(first);
        Ok(())
    }

    /// Takes back what was written of a row.
    fn skip_row(&mut self) {
        let (rows, values) = (self.batch.rows(), self.batch.ends.last().copied().unwrap_or(0));
        self.batch.keys.truncate(values);
        self.batch.values.truncate(values);
        self.batch.weights.truncate(rows);
        self.batch.groups.truncate(rows);
        self.skipped_rows.fetch_add(1, Ordering::Relaxed);
    }
}

/// `value` as a whole number, if it is one.
pub(crate) fn whole(value: f64) -> Option<u64> {
    // Above this, neighbouring whole numbers are the same f64, and so would be their groups.
    const LARGEST: f64 = (1u64 << 53) as f64;
    ((0.0..=LARGEST).contains(&value) && value.fract() == 0.0).then_some(value as u64)
}

/// The beginning of a cell, for a message.
pub(crate) fn shown(cell: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(&cell[..cell.len().min(4 * SHOWN)]);
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < cell.len() && text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cold]
fn not_finite(column: &str, value: f64) -> CellError {
    if value.is_finite() {
        return CellError::new(
            format!("the value {value:e} in column '{column}' is too large for a 32-bit float"),
            "use `precision(f64)`, or scale the data",
        );
    }
    CellError::new(
        format!("the value in column '{column}' is {value}, not a finite number"),
        if value.is_nan() {
            "leave absent cells empty, or use `missing(nan)`".to_string()
        } else {
            format!("correct it, or use `missing({value})`")
        },
    )
}

#[cold]
fn not_utf8(column: &str) -> CellError {
    CellError::new(
        format!("the text in column '{column}' is not UTF-8"),
        "convert the file, for example with 'iconv -f latin1 -t utf-8'",
    )
}

/// A name as it has to be written on a command line.
pub(crate) fn word(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.,:=/+".contains(&byte);
    if name.bytes().all(plain) { name.to_string() } else { format!("'{name}'") }
}

/// A cell of text in a column of numbers.
#[cold]
pub(crate) fn not_a_number(column: &str, cell: &[u8]) -> CellError {
    let cell = shown(cell);
    CellError::new(
        format!("expected a number in column '{column}', found '{cell}'"),
        format!(
            "use `text({})` to take the column as text, or `missing('{cell}')` if that means an absent cell",
            word(column)
        ),
    )
}
