//! How rows lie in memory: the only code that touches index and value arrays.
//!
//! A [`Block`] is an arena of rows with one [`Layout`]: decoding appends to it, [`Block::retain`] compacts it in place (SBM,
//! section 5.1), and [`Block::row`] lends a row. Everything else in the library sees rows only. The arrays may also be those of another
//! program ([`Block::over`]), which stay where they are until the block is changed.
mod cells;
mod row;
mod shared;
mod transpose;

use std::borrow::Cow;

use crate::nearby::prefetch;
pub use cells::Cells;
pub(crate) use cells::Columns;
use row::Kind;
pub use row::Row;
pub use shared::{SharedColumns, SharedError, SharedRows, SharedValues};

use serde::{Deserialize, Serialize};

/// How the values of a block lie in memory, from the smallest to the most general.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueKind {
    /// Every value is 1: 4 bytes a value, all of them for the column.
    Ones,
    /// One value per row, as in binary features scaled to unit length.
    PerRow,
    /// A 32-bit float per value.
    F32,
    /// A 64-bit float per value.
    F64,
}

/// What a block of rows looks like in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layout {
    /// Rows hold every column, so no indices are kept. Only with `F32` or `F64` values.
    pub dense: bool,
    /// How the values lie.
    pub values: ValueKind,
}

impl Layout {
    /// Sparse rows with 32-bit values: the general case.
    pub const SPARSE_F32: Layout = Layout { dense: false, values: ValueKind::F32 };

    /// The least layout that can hold the rows of both.
    pub fn join(self, other: Layout) -> Layout {
        Layout { dense: self.dense && other.dense, values: self.values.max(other.values) }
    }

    /// Bytes in memory of `values` values.
    pub fn value_bytes(self, values: u64) -> u64 {
        let index = if self.dense { 0 } else { 4 };
        let value = match self.values {
            ValueKind::Ones | ValueKind::PerRow => 0,
            ValueKind::F32 => 4,
            ValueKind::F64 => 8,
        };
        values * (index + value)
    }

    /// Bytes in memory of a block of `rows` rows with `values` values in all.
    pub fn resident_bytes(self, rows: u64, values: u64) -> u64 {
        self.value_bytes(values) + rows * ROW_BYTES
    }
}

/// Offset, label, weight, group, id and constant of a row.
pub const ROW_BYTES: u64 = 48;

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
    /// The target: a class code or a number.
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
        let start = self.start(i);
        match &self.indices {
            Columns::Narrow(columns) => prefetch(columns, start),
            Columns::Wide(columns) => prefetch(columns, start),
        }
        match &self.values {
            Values::Ones => {}
            Values::PerRow(values) => prefetch(values, i),
            Values::F32(values) => prefetch(values, start),
            Values::F64(values) => prefetch(values, start),
        }
    }

    /// Label, weight, group and id of row `i`.
    pub fn info(&self, i: usize) -> RowInfo {
        let group = self.groups.get(i).copied().unwrap_or(0);
        let id = self.ids.get(i).copied().unwrap_or(i as u64);
        RowInfo { label: self.labels[i], weight: self.weights[i], group, id }
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

    /// Appends a row.
    ///
    /// # Panics
    /// If an index is not below [`Block::columns`], or the entries do not fit the layout: these are the invariants that
    /// [`Row`] relies on. Data from outside is checked before it gets here.
    pub fn push(&mut self, info: RowInfo, entries: impl IntoIterator<Item = (u32, f64)>) {
        let (start, columns, dense) = (self.values(), self.columns, self.layout.dense);
        let indices = self.indices.own();
        let mut length = 0;
        let mut add = |column: u32| {
            assert!((column as usize) < columns, "column {column} of {columns}");
            if dense {
                assert_eq!(column as usize, length, "a dense row holds every column in order");
            } else {
                indices.push(column);
            }
            length += 1;
        };
        match &mut self.values {
            Values::Ones => entries.into_iter().for_each(|(column, value)| {
                assert_eq!(value, 1.0, "an all-ones block");
                add(column);
            }),
            Values::PerRow(constants) => {
                let mut constant: Option<f64> = None;
                entries.into_iter().for_each(|(column, value)| {
                    assert_eq!(*constant.get_or_insert(value), value, "one value per row");
                    add(column);
                });
                constants.push(constant.unwrap_or(1.0));
            }
            Values::F32(values) => {
                let values = values.own();
                entries.into_iter().for_each(|(column, value)| {
                    add(column);
                    values.push(value as f32);
                });
            }
            Values::F64(values) => {
                let values = values.own();
                entries.into_iter().for_each(|(column, value)| {
                    add(column);
                    values.push(value);
                });
            }
        }
        if dense {
            assert_eq!(length, columns, "a dense row holds every column");
        }
        let end = start + length;
        self.push_info(info, end);
    }

    /// Appends a row whose columns and values come apart: copied as arrays, which is several times as fast as pair by pair.
    ///
    /// # Panics
    /// As [`Block::push`], and if there are not as many values as columns.
    pub fn push_arrays(
        &mut self,
        info: RowInfo,
        columns: impl ExactSizeIterator<Item = u32>,
        values: impl ExactSizeIterator<Item = f64>,
    ) {
        assert_eq!(columns.len(), values.len(), "a value for every column");
        let start = self.values();
        match &mut self.values {
            Values::F32(to) if !self.layout.dense => to.own().extend(values.map(|value| value as f32)),
            Values::F64(to) if !self.layout.dense => to.own().extend(values),
            _ => return self.push(info, columns.zip(values)),
        }
        let indices = self.indices.own();
        indices.extend(columns);
        let largest = indices[start..].iter().fold(0, |largest, &column| column.max(largest));
        assert!(indices.len() == start || (largest as usize) < self.columns, "column {largest} of {}", self.columns);
        let end = indices.len();
        self.push_info(info, end);
    }

    /// Appends row `i` of `other`, which may have a smaller layout.
    pub fn push_from(&mut self, other: &Block, i: usize) {
        let range = other.start(i)..other.ends[i];
        let is_same = self.layout == other.layout && self.columns >= other.columns && !self.layout.dense;
        if let (true, Columns::Narrow(indices)) = (is_same, &other.indices) {
            self.indices.own().extend_from_slice(&indices[range.clone()]);
            match (&mut self.values, &other.values) {
                (Values::Ones, Values::Ones) => {}
                (Values::PerRow(to), Values::PerRow(from)) => to.push(from[i]),
                (Values::F32(to), Values::F32(from)) => to.own().extend_from_slice(&from[range.clone()]),
                (Values::F64(to), Values::F64(from)) => to.own().extend_from_slice(&from[range.clone()]),
                _ => unreachable!("the layouts are equal"),
            }
            let end = self.values() + range.len();
            self.push_info(other.info(i), end);
        } else {
            self.push(other.info(i), other.row(i).iter());
        }
    }

    /// Keeps the rows for which `keep(i)` holds, in their order, moving them together in place.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        self.number_rows();
        let (mut kept, mut at, mut start) = (0, 0, 0);
        for i in 0..self.rows() {
            let range = start..self.ends[i];
            start = range.end;
            if !keep(i) {
                continue;
            }
            let len = range.len();
            if !self.layout.dense {
                self.indices.own().copy_within(range.clone(), at);
            }
            match &mut self.values {
                Values::Ones => {}
                Values::PerRow(v) => v[kept] = v[i],
                Values::F32(v) => v.own().copy_within(range, at),
                Values::F64(v) => v.own().copy_within(range, at),
            }
            self.labels[kept] = self.labels[i];
            self.weights[kept] = self.weights[i];
            self.groups[kept] = self.groups[i];
            self.ids[kept] = self.ids[i];
            at += len;
            self.ends[kept] = at;
            kept += 1;
        }
        self.truncate(kept);
    }

    /// Drops all rows from `rows` on; the memory stays.
    pub fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        let values = self.values();
        self.indices.own().truncate(values);
        match &mut self.values {
            Values::Ones => {}
            Values::PerRow(v) => v.truncate(rows),
            Values::F32(v) => v.own().truncate(values),
            Values::F64(v) => v.own().truncate(values),
        }
        self.labels.truncate(rows);
        self.weights.truncate(rows);
        self.groups.truncate(rows);
        self.ids.truncate(rows);
    }

    /// Drops all rows; the memory stays.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Empties the block for rows of another dimension; the memory stays.
    pub fn reset(&mut self, columns: usize) {
        self.clear();
        self.columns = columns;
    }

    /// Makes room for columns that came later.
    pub fn widen(&mut self, columns: usize) {
        assert!(!self.layout.dense, "dense rows have all their columns");
        self.columns = self.columns.max(columns);
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

    /// Writes down groups and ids of rows that had none, before rows move.
    fn number_rows(&mut self) {
        let rows = self.rows();
        self.groups.resize(rows, 0);
        self.ids.extend(self.ids.len() as u64..rows as u64);
    }

    fn push_info(&mut self, info: RowInfo, end: usize) {
        self.number_rows();
        self.ends.push(end);
        self.labels.push(info.label);
        self.weights.push(info.weight);
        self.groups.push(info.group);
        self.ids.push(info.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LAYOUTS: [Layout; 6] = [
        Layout { dense: false, values: ValueKind::Ones },
        Layout { dense: false, values: ValueKind::PerRow },
        Layout { dense: false, values: ValueKind::F32 },
        Layout { dense: false, values: ValueKind::F64 },
        Layout { dense: true, values: ValueKind::F32 },
        Layout { dense: true, values: ValueKind::F64 },
    ];

    /// Rows that fit `layout`, as plain pairs.
    fn rows(layout: Layout, columns: usize) -> impl Strategy<Value = Vec<Vec<(u32, f64)>>> {
        let column = proptest::collection::btree_set(0..columns as u32, 0..columns);
        let value = (-100i32..100).prop_map(|v| f64::from(v) / 8.0);
        proptest::collection::vec((column, proptest::collection::vec(value, columns)), 0..8).prop_map(move |rows| {
            rows.into_iter()
                .map(|(set, values)| {
                    let present: Vec<u32> =
                        if layout.dense { (0..columns as u32).collect() } else { set.into_iter().collect() };
                    let value = |c: u32| match layout.values {
                        ValueKind::Ones => 1.0,
                        ValueKind::PerRow => values[0],
                        _ => values[c as usize],
                    };
                    present.into_iter().map(|c| (c, value(c))).collect()
                })
                .collect()
        })
    }

    fn info(i: usize) -> RowInfo {
        RowInfo { label: i as f64, weight: 1.0 + i as f64, group: i as u64 / 2, id: i as u64 }
    }

    fn block(layout: Layout, columns: usize, rows: &[Vec<(u32, f64)>]) -> Block {
        let mut block = Block::new(layout, columns);
        rows.iter().enumerate().for_each(|(i, row)| block.push(info(i), row.iter().copied()));
        block
    }

    proptest! {
        #[test]
        fn kernels_agree_with_plain_loops(seed in 0u32..1000, rows in (0..LAYOUTS.len()).prop_flat_map(|w| rows(LAYOUTS[w], 13).prop_map(move |r| (w, r)))) {
            let (layout, rows) = (LAYOUTS[rows.0], rows.1);
            let block = block(layout, 13, &rows);
            let w: Vec<f64> = (0..13).map(|j| f64::from((seed * 7 + j * 13) % 31) - 15.0).collect();
            for (i, expected) in rows.iter().enumerate() {
                let row = block.row(i);
                prop_assert_eq!(row.iter().collect::<Vec<_>>(), expected.clone());
                let dot: f64 = expected.iter().map(|&(c, v)| w[c as usize] * v).sum();
                prop_assert!((row.dot(&w) - dot).abs() < 1e-9);
                let sq_norm: f64 = expected.iter().map(|&(_, v)| v * v).sum();
                prop_assert!((row.sq_norm() - sq_norm).abs() < 1e-9);
                let (mut ours, mut plain) = (w.clone(), w.clone());
                row.add_to(&mut ours, 0.5);
                expected.iter().for_each(|&(c, v)| plain[c as usize] += 0.5 * v);
                prop_assert_eq!(ours, plain);
                prop_assert_eq!(block.info(i), info(i));
            }
        }

        #[test]
        fn retain_keeps_just_the_chosen_rows((which, rows) in (0..LAYOUTS.len()).prop_flat_map(|w| rows(LAYOUTS[w], 9).prop_map(move |r| (w, r))), mask in any::<u8>()) {
            let chosen = |i: usize| mask >> (i % 8) & 1 == 1;
            let mut block = block(LAYOUTS[which], 9, &rows);
            block.retain(chosen);
            let kept: Vec<usize> = (0..rows.len()).filter(|&i| chosen(i)).collect();
            prop_assert_eq!(block.rows(), kept.len());
            for (k, &i) in kept.iter().enumerate() {
                prop_assert_eq!(block.row(k).iter().collect::<Vec<_>>(), rows[i].clone());
                prop_assert_eq!(block.info(k), info(i));
            }
        }

        #[test]
        fn rows_move_into_any_wider_layout((which, rows) in (0..LAYOUTS.len()).prop_flat_map(|w| rows(LAYOUTS[w], 9).prop_map(move |r| (w, r))), other in 0..LAYOUTS.len()) {
            let from = block(LAYOUTS[which], 9, &rows);
            let mut to = Block::new(LAYOUTS[which].join(LAYOUTS[other]), 9);
            (0..rows.len()).for_each(|i| to.push_from(&from, i));
            for (i, row) in rows.iter().enumerate() {
                prop_assert_eq!(to.row(i).iter().collect::<Vec<_>>(), row.clone());
            }
        }
    }

    #[test]
    #[should_panic(expected = "column 9 of 9")]
    fn an_index_beyond_the_columns_is_refused() {
        block(Layout::SPARSE_F32, 9, &[vec![(9, 1.0)]]);
    }
}
