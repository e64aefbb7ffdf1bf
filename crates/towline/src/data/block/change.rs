//! Adding and removing rows.
use super::{Block, Columns, RowInfo, Values};

impl Block {
    /// Appends a row.
    ///
    /// # Panics
    /// If an index is not below [`Block::columns`], or the entries do not fit the layout: these are the invariants that
    /// [`Row`](super::Row) relies on, or if [`add_further`](Self::add_further) has not been told all its targets. Data
    /// from outside is checked before it gets here.
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

    /// Appends a row whose columns and values come apart: copied as arrays, which is several times as fast as pair by
    /// pair.
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
            Values::F32(to) => to.own().extend(values.map(|value| value as f32)),
            Values::F64(to) => to.own().extend(values),
            _ => return self.push(info, columns.zip(values)),
        }
        if self.layout.dense {
            assert!(columns.eq(0..self.columns as u32), "a dense row holds every column in order");
            return self.push_info(info, start + self.columns);
        }
        let indices = self.indices.own();
        indices.extend(columns);
        let largest = indices[start..].iter().fold(0, |largest, &column| column.max(largest));
        assert!(indices.len() == start || (largest as usize) < self.columns, "column {largest} of {}", self.columns);
        let end = indices.len();
        self.push_info(info, end);
    }

    /// Takes out all values of columns that `keep` says no to.
    ///
    /// # Panics
    /// If the block is dense.
    pub fn retain_columns(&mut self, keep: impl Fn(u32) -> bool) {
        assert!(!self.layout.dense, "dense rows hold every column");
        let columns = self.indices.own();
        match &mut self.values {
            Values::F32(values) => retain_where(values.own(), |at| keep(columns[at])),
            Values::F64(values) => retain_where(values.own(), |at| keep(columns[at])),
            Values::Ones | Values::PerRow(_) => {}
        }
        let (mut start, mut kept) = (0, 0);
        for end in &mut self.ends {
            kept += columns[start..*end].iter().filter(|&&column| keep(column)).count();
            start = std::mem::replace(end, kept);
        }
        columns.retain(|&column| keep(column));
    }

    /// Replaces every column by what `columns` has at its place.
    ///
    /// # Panics
    /// If the block is dense, or a column is not in `columns`, or would be one that the block does not have.
    pub fn renumber(&mut self, columns: &[u32]) {
        assert!(!self.layout.dense, "columns of dense rows are in order");
        let count = self.columns;
        for column in self.indices.own() {
            *column = columns[*column as usize];
            assert!((*column as usize) < count, "column {column} of {count}");
        }
    }

    /// Replaces every value by what `each` makes of its column and it.
    ///
    /// # Panics
    /// If the layout has no values of their own for all entries of sparse rows.
    pub fn map_values(&mut self, each: impl Fn(u32, f64) -> f64) {
        let columns = self.indices.narrow();
        match &mut self.values {
            Values::F32(values) if !self.layout.dense => {
                let pairs = values.own().iter_mut().zip(columns.iter());
                pairs.for_each(|(value, &column)| *value = each(column, f64::from(*value)) as f32);
            }
            Values::F64(values) if !self.layout.dense => {
                let pairs = values.own().iter_mut().zip(columns.iter());
                pairs.for_each(|(value, &column)| *value = each(column, *value));
            }
            _ => panic!("values that rows or columns share cannot be changed alone"),
        }
    }

    /// Appends row `i` of `other`, which may have a smaller layout.
    pub fn push_from(&mut self, other: &Block, i: usize) {
        let range = other.start(i)..other.ends[i];
        self.add_further(other.further(i));
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
            self.further.copy(i, kept);
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
        self.further.truncate(rows);
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

    /// Writes down groups and ids of rows that had none, before rows move.
    pub(super) fn number_rows(&mut self) {
        let rows = self.rows();
        self.groups.resize(rows, 0);
        self.ids.extend(self.ids.len() as u64..rows as u64);
    }

    fn push_info(&mut self, info: RowInfo, end: usize) {
        self.number_rows();
        self.ends.push(end);
        self.labels.push(info.label);
        assert!(self.further.is_for(self.ends.len()), "a row has as many targets as the layout says");
        self.weights.push(info.weight);
        self.groups.push(info.group);
        self.ids.push(info.id);
    }
}

/// Keeps the values whose places `keep` says yes to.
fn retain_where<T>(values: &mut Vec<T>, keep: impl Fn(usize) -> bool) {
    let mut next = 0;
    values.retain(|_| {
        next += 1;
        keep(next - 1)
    });
}
