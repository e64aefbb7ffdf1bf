//! How rows lie in memory: the only code that touches index and value arrays.
//!
//! A [`Block`] is an arena of rows with one [`Layout`]: decoding appends to it, [`Block::retain`] compacts it in place
//! (SBM, section 5.1), and [`Block::row`] lends a row. Everything else in the library sees rows only. The arrays may
//! also be those of another program ([`Block::over`]), which stay where they are until the block is changed.
mod by_column;
mod cells;
mod change;
mod extra_targets;
mod layout;
mod multi_output;
mod precision;
mod row;
mod scaled;
mod shared;
mod transpose;

use std::borrow::Cow;

use crate::prefetch::prefetch;
pub(crate) use by_column::Filling;
pub use cells::Cells;
pub(crate) use cells::Columns;
use extra_targets::ExtraTargets;
pub use layout::{Layout, ROW_BYTES, ValueKind};
pub use precision::Precision;
use row::Kind;
pub use row::Row;
pub use shared::{SharedColumns, SharedError, SharedRows, SharedValues};

/// Values of all rows, one after the other.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    Ones,
    PerRow(Vec<f64>),
    F32(Cells<f32>),
    F64(Cells<f64>),
}

/// What is known of a row besides its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowInfo {
    /// The target: a class code or a number; the first one where there are several ([`Block::further`]).
    pub label: f64,
    /// The sample weight, 1 if none was given.
    pub weight: f64,
    /// The group (`qid`) that the row belongs to, 0 if none was given.
    pub group: u64,
    /// The row's place in the input, counted from 0.
    pub id: u64,
}

/// Rows in memory.
///
/// The block codec (`store::format`) fills the arrays directly and checks the same invariants as [`Block::push`]: every
/// index is below `columns`, and the arrays agree in length.
#[derive(Clone, Debug)]
pub struct Block {
    layout: Layout,
    pub(crate) columns: usize,
    /// `ends[i]` is one past the last value of row i.
    pub(crate) ends: Vec<usize>,
    pub(crate) indices: Columns,
    pub(crate) values: Values,
    pub(crate) labels: Vec<f64>,
    pub(crate) further: ExtraTargets,
    pub(crate) weights: Vec<f64>,
    /// Empty where rows of another program have none.
    pub(crate) groups: Vec<u64>,
    /// Empty where rows of another program are just counted.
    pub(crate) ids: Vec<u64>,
}

impl Block {
    /// An empty block for rows whose indices are below `columns`.
    ///
    /// # Panics
    /// If a dense layout is asked for with values that are not floats.
    pub fn new(layout: Layout, columns: usize) -> Self {
        assert!(!layout.dense || layout.values >= ValueKind::F32, "dense rows hold floats");
        let values = match layout.values {
            ValueKind::Ones => Values::Ones,
            ValueKind::PerRow => Values::PerRow(Vec::new()),
            ValueKind::F32 => Values::F32(Cells::default()),
            ValueKind::F64 => Values::F64(Cells::default()),
        };
        Block {
            layout,
            columns,
            ends: Vec::new(),
            indices: Columns::default(),
            values,
            labels: Vec::new(),
            further: ExtraTargets::new(layout.further()),
            weights: Vec::new(),
            groups: Vec::new(),
            ids: Vec::new(),
        }
    }

    /// An empty block with room for `rows` rows and `values` values.
    pub fn with_capacity(layout: Layout, columns: usize, rows: usize, values: usize) -> Self {
        let mut block = Block::new(layout, columns);
        block.reserve(rows, values);
        block
    }

    /// Makes room for `rows` more rows with `values` more values, exactly: a budget has paid for them.
    pub fn reserve(&mut self, rows: usize, values: usize) {
        self.ends.reserve_exact(rows);
        self.labels.reserve_exact(rows);
        self.further.reserve(rows);
        self.weights.reserve_exact(rows);
        self.groups.reserve_exact(rows);
        self.ids.reserve_exact(rows);
        if !self.layout.dense {
            self.indices.own().reserve_exact(values);
        }
        match &mut self.values {
            Values::Ones => {}
            Values::PerRow(v) => v.reserve_exact(rows),
            Values::F32(v) => v.own().reserve_exact(values),
            Values::F64(v) => v.own().reserve_exact(values),
        }
    }

    /// How rows lie in memory.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Every index is below this.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// How many values there are.
    pub fn values(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Bytes that the rows take.
    pub fn resident_bytes(&self) -> u64 {
        self.layout.resident_bytes(self.rows() as u64, self.values() as u64)
    }

    /// Lends row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> Row<'_> {
        let range = self.start(i)..self.ends[i];
        let kind = match (&self.values, &self.indices) {
            (Values::F32(v), _) if self.layout.dense => Kind::DenseF32(&v[range]),
            (Values::F64(v), _) if self.layout.dense => Kind::DenseF64(&v[range]),
            (Values::F32(v), Columns::Narrow(columns)) => Kind::F32(&columns[range.clone()], &v[range]),
            (Values::F64(v), Columns::Narrow(columns)) => Kind::F64(&columns[range.clone()], &v[range]),
            (Values::Ones, Columns::Narrow(columns)) => Kind::Ones(&columns[range]),
            (Values::PerRow(v), Columns::Narrow(columns)) => Kind::Constant(&columns[range], v[i]),
            (Values::F32(v), Columns::Wide(columns)) => Kind::WideF32(&columns[range.clone()], &v[range]),
            (Values::F64(v), Columns::Wide(columns)) => Kind::WideF64(&columns[range.clone()], &v[range]),
            (_, Columns::Wide(_)) => unreachable!("rows of other programs have floats"),
        };
        Row::new(self.columns, kind)
    }

    /// Brings the beginning of row `i` closer to the processor; the rest of a long row follows by itself.
    #[inline]
    pub fn prefetch(&self, i: usize) {
        self.prefetch_entry(self.start(i));
        if let Values::PerRow(values) = &self.values {
            prefetch(values, i);
        }
    }

    /// Brings the entry with this number, counted over all rows, closer to the processor.
    #[inline]
    fn prefetch_entry(&self, k: usize) {
        match &self.indices {
            Columns::Narrow(columns) => prefetch(columns, k),
            Columns::Wide(columns) => prefetch(columns, k),
        }
        match &self.values {
            Values::Ones | Values::PerRow(_) => {}
            Values::F32(values) => prefetch(values, k),
            Values::F64(values) => prefetch(values, k),
        }
    }

    /// Label, weight, group and id of row `i`.
    pub fn info(&self, i: usize) -> RowInfo {
        let group = self.groups.get(i).copied().unwrap_or(0);
        let id = self.ids.get(i).copied().unwrap_or(i as u64);
        RowInfo { label: self.labels[i], weight: self.weights[i], group, id }
    }

    /// The targets of row `i` behind the first one, which is its label.
    pub fn further(&self, i: usize) -> &[f64] {
        self.further.of(i)
    }

    /// The further targets of the row that is pushed next, one less than the layout says.
    pub fn add_further(&mut self, targets: &[f64]) {
        self.further.push(targets);
    }

    /// Labels of all rows.
    pub fn labels(&self) -> &[f64] {
        &self.labels
    }

    /// Sample weights of all rows.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Groups of all rows; none for [`Block::over`].
    pub fn groups(&self) -> &[u64] {
        &self.groups
    }

    /// Ids of all rows; none for [`Block::over`], whose rows are counted.
    pub fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// How many values row `i` has.
    pub fn row_len(&self, i: usize) -> usize {
        self.ends[i] - self.start(i)
    }

    fn start(&self, i: usize) -> usize {
        if i == 0 { 0 } else { self.ends[i - 1] }
    }

    /// The block with a group and an id for each row.
    pub(crate) fn numbered(&self) -> Cow<'_, Block> {
        let mut block = Cow::Borrowed(self);
        if self.ids.len() < self.rows() {
            block.to_mut().number_rows();
        }
        block
    }
}

#[cfg(test)]
mod tests;
