//! Cells on their way into a batch: the same rules for every format of tables.
mod derived;
mod interactions;
mod levels;
mod mistakes;

use std::sync::atomic::{AtomicU64, Ordering};

use derived::{DateKeys, push_hashed};
pub(crate) use mistakes::{CellError, shown, word};
use mistakes::{not_finite, not_utf8, unlike_its_column};

use self::interactions::Products;
use self::levels::RecentLevels;
use super::plan::{Column, Plan, Role, Tables};
use super::words::Buffers;
use super::{Missing, Unlabelled, written};
use crate::input::libsvm::Precision;
use crate::input::{RowBatch, number};
use crate::schema::{Kind, RARE_LEVEL};

/// Fills a batch with the rows of a table.
pub(crate) struct RowWriter<'a> {
    batch: &'a mut RowBatch,
    missing: &'a Missing,
    precision: Precision,
    unlabelled: Unlabelled,
    skipped_rows: &'a AtomicU64,
    plan: &'a Plan,
    /// Features that are numbers, by their place among them.
    keys: Vec<u32>,
    /// Numbers that were absent in this row, by their place, and in the batch.
    absent: Vec<u32>,
    /// A feature's name while it is put together.
    name: Vec<u8>,
    /// N-grams of a text with their places, and each once with its first place and how often it is there.
    grams: Vec<(u32, u32)>,
    /// Keys of a list with their places.
    order: Vec<(u64, u32)>,
    counted: Vec<(u32, u32, usize)>,
    buffers: Buffers,
    products: Products,
    /// Of each column of text, by its place in the plan.
    recent: Vec<RecentLevels>,
    /// Of each column of dates, by its place among the numbers.
    dates: Vec<DateKeys>,
    /// Of each column of targets.
    labels: Vec<Option<f64>>,
    has_weight: bool,
    has_group: bool,
}

impl<'a> RowWriter<'a> {
    /// Begins a batch. Features that are numbers are entered at once, in the order of the table, so that later a number
    /// costs no search.
    pub(crate) fn new(tables: &'a Tables, plan: &'a Plan, batch: &'a mut RowBatch) -> Self {
        let keys: Vec<u32> = plan.numbers.iter().map(|name| batch.names.intern(name.as_bytes())).collect();
        batch.numbers = keys.len();
        batch.absent.resize(keys.len(), 0);
        let columns = &plan.columns;
        batch.needs_counts = columns.iter().any(|column| column.is_counted);
        RowWriter {
            batch,
            missing: &tables.missing,
            precision: tables.options.precision,
            unlabelled: tables.options.unlabelled,
            skipped_rows: &tables.skipped_rows,
            plan,
            keys,
            absent: Vec::new(),
            name: Vec::new(),
            grams: Vec::new(),
            order: Vec::new(),
            counted: Vec::new(),
            buffers: Buffers::default(),
            products: Products::default(),
            recent: Vec::new(),
            dates: Vec::new(),
            labels: vec![None; columns.iter().filter(|column| matches!(column.role, Role::Label(_))).count().max(1)],
            has_weight: columns.iter().any(|column| column.role == Role::Weight),
            has_group: columns.iter().any(|column| column.role == Role::Group),
        }
    }

    /// A number of a column whose cells are numbers.
    #[inline(always)]
    pub(crate) fn number(&mut self, column: &Column, value: f64) -> Result<(), CellError> {
        if self.missing.is_number(value) {
            return self.absent(column);
        }
        let Some(slot) = column.slot else { return self.bin(column, value) };
        self.value(self.keys[slot], &column.name, value)?;
        if column.powers.is_empty() { Ok(()) } else { self.powers(column, value) }
    }

    /// A cell that is not there.
    #[inline]
    pub(crate) fn absent(&mut self, column: &Column) -> Result<(), CellError> {
        if !column.is_marked {
            return Ok(());
        }
        let key = self.feature(&column.name, |name| name.push(b'='))?;
        self.one(key);
        match (column.slot, column.impute) {
            (Some(slot), Some(value)) => {
                self.value(self.keys[slot], &column.name, value)?;
                self.powers(column, value)
            }
            (Some(slot), None) => {
                self.absent.extend(column.powers.iter().chain([&slot]).map(|&slot| slot as u32));
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    /// A cell of text, whatever its column is.
    #[inline(always)]
    pub(crate) fn cell(&mut self, column: &Column, content: &[u8]) -> Result<(), CellError> {
        let name = column.name.as_str();
        match (column.role, column.kind) {
            (Role::Feature, Kind::Category) => {
                let key = self.recent_level(column, content)?;
                self.one(key);
                Ok(())
            }
            (Role::Feature, Kind::Text(rule)) => self.text_cell(column, content, rule),
            (Role::Feature, Kind::Date(form)) => self.date_cell(column, content, form),
            (Role::Feature, kind) => match number_of(kind, content) {
                Some(value) if value.is_finite() || column.missing.is_empty() => self.number(column, value),
                _ => self.spoiler(column, content),
            },
            (Role::Label(_), Kind::Category) => self.label_text(name, content),
            (Role::Label(place), kind) => match number_of(kind, content) {
                Some(value) => self.label_number(place, name, value),
                None => self.spoiler(column, content),
            },
            (Role::Weight, kind) => match number_of(kind, content) {
                Some(value) => self.weight(name, value),
                None => self.spoiler(column, content),
            },
            (Role::Group, Kind::Category) => {
                self.group_text(content);
                Ok(())
            }
            (Role::Group, _) => match number::whole_float(content.trim_ascii()) {
                Some(_) => self.group_number(name, as_group(content)),
                None => self.spoiler(column, content),
            },
            (Role::Ignored, _) => Ok(()),
        }
    }

    /// Text where a number or a date should be.
    #[cold]
    fn spoiler(&mut self, column: &Column, content: &[u8]) -> Result<(), CellError> {
        let is_missing = column.missing.iter().any(|token| token.as_bytes() == content.trim_ascii());
        match (is_missing, column.role) {
            (true, Role::Feature) => self.absent(column),
            (true, _) => Ok(()),
            (false, _) => Err(unlike_its_column(column, content)),
        }
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

    /// The feature of a cell of a category: that of its level, or of all that are rare.
    #[inline]
    pub(crate) fn level(&mut self, column: &Column, cell: &[u8]) -> Result<u32, CellError> {
        if let Some(bits) = column.hash_bits {
            return self.feature(&column.name, |name| {
                name.push(b'=');
                push_hashed(name, cell, bits);
            });
        }
        match &column.levels {
            Some(levels) if !levels.contains(cell) => self.text_feature(&column.name, RARE_LEVEL.as_bytes()),
            _ => self.text_feature(&column.name, cell),
        }
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
                format!("use `category({})` to take groups as text", word(column)),
            ));
        };
        self.batch.groups.push(group);
        Ok(())
    }

    pub(crate) fn group_text(&mut self, cell: &[u8]) {
        self.batch.groups.push(xxhash_rust::xxh3::xxh3_64(cell));
    }

    /// Closes the row. Label, weight and group must have been given by now where the table has them.
    pub(crate) fn end_row(&mut self) -> Result<(), CellError> {
        let plan = self.plan;
        let columns = &plan.columns;
        for column in &plan.lacking {
            self.absent(column)?;
        }
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
        self.multiply()?;
        let mut labels = self.labels.iter_mut().filter_map(Option::take);
        let first = labels.next().unwrap_or(f64::NAN);
        self.batch.further.extend(labels);
        self.batch.end_row(first);
        self.absent.drain(..).for_each(|slot| self.batch.absent[slot as usize] += 1);
        Ok(())
    }

    /// Takes back what was written of a row.
    fn skip_row(&mut self) {
        let (rows, values) = (self.batch.rows(), self.batch.ends.last().copied().unwrap_or(0));
        self.batch.keys.truncate(values);
        self.batch.values.truncate(values);
        self.batch.weights.truncate(rows);
        self.batch.groups.truncate(rows);
        self.absent.clear();
        self.skipped_rows.fetch_add(1, Ordering::Relaxed);
    }
}

/// `value` as a whole number, if it is one.
pub(crate) fn whole(value: f64) -> Option<u64> {
    // Above this, neighbouring whole numbers are the same f64, and so would be their groups.
    const LARGEST: f64 = (1u64 << 53) as f64;
    ((0.0..=LARGEST).contains(&value) && value.fract() == 0.0).then_some(value as u64)
}

/// The number that a cell of this kind means.
#[inline(always)]
fn number_of(kind: Kind, content: &[u8]) -> Option<f64> {
    match kind {
        Kind::Amount(decimal) => written::amount(content, decimal),
        Kind::Boolean => written::boolean(content).map(f64::from).or_else(|| number::whole_float(content.trim_ascii())),
        _ => number::whole_float(content.trim_ascii()),
    }
}

/// Whole numbers of up to 64 bits, which a float would round.
fn as_group(content: &[u8]) -> Option<u64> {
    let content = content.trim_ascii();
    match number::unsigned(content, 0) {
        Some((group, end)) if end == content.len() => Some(group),
        _ => number::whole_float(content).and_then(whole),
    }
}
