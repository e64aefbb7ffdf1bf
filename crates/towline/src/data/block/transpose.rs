//! Rows by column: the same values, those of a column side by side.
//!
//! A sparse block is turned a range of columns at a time: values that go to millions of places each miss every cache,
//! and turning the kernel data took 6.7 s at once, 2.8 s by ranges, of which the system spends 1.3 s on clearing the
//! new pages.
//!
//! The result is a block again, whose rows are the columns, so that the kernels of [`Row`](super::Row) serve both. It
//! has no labels, weights, groups and ids.
use super::row::Column;
use super::{Block, Cells, Columns, Layout, ValueKind, Values};

/// Rows of a dense block that are turned at a time: a tile of them stays in the nearest cache.
const TILE: usize = 16;

/// Bytes of a range of columns: what stays near while it is filled. Pages count, too: each column of many values has
/// one of its own that is written to.
const NEAR_BYTES: usize = 1 << 20;
/// Values of a row in a range, on average and at least: going to every row for each range costs as much as a few of
/// them.
const OF_ROW: usize = 64;
/// How many rows ahead values are asked for.
const AHEAD: usize = 4;

impl Layout {
    /// How the same values lie by column. One value per row is a value of its own for each entry there.
    pub fn transposed(self) -> Layout {
        let values = if self.values == ValueKind::PerRow { ValueKind::F64 } else { self.values };
        Layout { values, ..self }
    }

    /// Bytes in memory of so many values by column.
    pub fn transposed_bytes(self, columns: u64, values: u64) -> u64 {
        self.transposed().value_bytes(values) + 8 * columns
    }
}

impl Block {
    /// The values by column.
    pub(crate) fn transposed(&self) -> Block {
        let value_bytes = self.layout().transposed().value_bytes(1) as usize;
        self.transposed_by((NEAR_BYTES / value_bytes).max(OF_ROW * self.rows()))
    }

    /// The same, `range` values at a time and a little more.
    fn transposed_by(&self, range: usize) -> Block {
        let layout = self.layout().transposed();
        let mut turned = Block::new(layout, self.rows());
        match &self.indices {
            _ if layout.dense => self.turn_dense(&mut turned),
            Columns::Narrow(columns) => self.turn_sparse(columns, &mut turned, range),
            Columns::Wide(columns) => self.turn_sparse(columns, &mut turned, range),
        }
        turned
    }

    fn turn_dense(&self, turned: &mut Block) {
        let (rows, columns) = (self.rows(), self.columns());
        turned.ends = (1..=columns).map(|j| j * rows).collect();
        match &mut turned.values {
            Values::F32(to) => self.turn_tiles(to.own(), |x| x as f32),
            Values::F64(to) => self.turn_tiles(to.own(), |x| x),
            Values::Ones | Values::PerRow(_) => unreachable!("dense rows hold floats"),
        }
    }

    fn turn_tiles<T: Copy + Default>(&self, to: &mut Vec<T>, narrow: impl Fn(f64) -> T) {
        let rows = self.rows();
        to.resize(rows * self.columns(), T::default());
        for first in (0..rows).step_by(TILE) {
            for i in first..rows.min(first + TILE) {
                self.row(i).for_each(|j, x| to[j as usize * rows + i] = narrow(x));
            }
        }
    }

    fn turn_sparse<C: Column>(&self, columns: &[C], turned: &mut Block, range: usize) {
        let mut ends = vec![0usize; self.columns()];
        columns[..self.values()].iter().for_each(|j| ends[j.place()] += 1);
        // Each end begins as the start of its column, and moves on with every value.
        let mut before = 0;
        for end in &mut ends {
            (*end, before) = (before, before + *end);
        }
        let ranges = self.ranges(columns, &ends, range);
        let mut indices = vec![0u32; self.values()];
        let mut place = |i: usize, j: usize| {
            let end = &mut ends[j];
            indices[*end] = i as u32;
            *end += 1;
            *end - 1
        };
        let all = self.values();
        match (&self.values, &mut turned.values) {
            (Values::Ones, Values::Ones) => self.for_each_by_range(columns, &ranges, |i, j, _| _ = place(i, j)),
            (Values::PerRow(from), Values::F64(to)) => {
                let to = zeros(to, all);
                self.for_each_by_range(columns, &ranges, |i, j, _| to[place(i, j)] = from[i]);
            }
            (Values::F32(from), Values::F32(to)) => {
                let to = zeros(to, all);
                self.for_each_by_range(columns, &ranges, |i, j, k| to[place(i, j)] = from[k]);
            }
            (Values::F64(from), Values::F64(to)) => {
                let to = zeros(to, all);
                self.for_each_by_range(columns, &ranges, |i, j, k| to[place(i, j)] = from[k]);
            }
            _ => unreachable!("a layout by column has the same values, or one of its own for each of a row"),
        }
        turned.ends = ends;
        turned.indices = Columns::Narrow(Cells::from(indices));
    }

    /// The ends of ranges of columns that are filled one after the other; all at once if the columns of a row are not
    /// in order.
    fn ranges<C: Column>(&self, columns: &[C], starts: &[usize], range: usize) -> Vec<usize> {
        let in_order = |i: usize| columns[self.start(i)..self.ends[i]].is_sorted_by_key(|j| j.place());
        let mut ranges = Vec::new();
        if self.values() > range && (0..self.rows()).all(in_order) {
            let mut filled = 0;
            while filled + range < self.values() {
                let end = starts.partition_point(|&start| start < filled + range);
                ranges.push(end);
                filled = starts.get(end).copied().unwrap_or(self.values());
            }
        }
        ranges.push(self.columns());
        ranges
    }

    /// Calls `f` with row, column and number of each entry, going over the rows once for each range of columns that
    /// ends before one of `ends`.
    fn for_each_by_range<C: Column>(&self, columns: &[C], ends: &[usize], mut f: impl FnMut(usize, usize, usize)) {
        let mut next: Vec<usize> = (0..self.rows()).map(|i| self.start(i)).collect();
        for &range in ends {
            for i in 0..self.rows() {
                if let Some(&soon) = next.get(i + AHEAD) {
                    self.prefetch_entry(soon);
                }
                let (mut k, end) = (next[i], self.ends[i]);
                while k < end && columns[k].place() < range {
                    f(i, columns[k].place(), k);
                    k += 1;
                }
                next[i] = k;
            }
        }
    }
}

fn zeros<T: Copy + Default>(cells: &mut Cells<T>, count: usize) -> &mut [T] {
    *cells = vec![T::default(); count].into();
    cells.own()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::block::{Block, Layout, RowInfo, ValueKind};

    proptest! {
        #[test]
        fn columns_have_the_values_of_the_rows(
            rows in proptest::collection::vec(proptest::collection::btree_map(0u32..7, -4i8..4, 0..7), 0..40),
            kind in 0usize..6,
            range in 1usize..40,
            in_order: bool,
        ) {
            let dense = kind >= 4;
            let values = [ValueKind::Ones, ValueKind::PerRow, ValueKind::F32, ValueKind::F64, ValueKind::F32, ValueKind::F64][kind];
            let mut block = Block::new(Layout::new(dense, values), 7);
            let mut wanted = vec![Vec::new(); 7];
            for (i, row) in rows.iter().enumerate() {
                let value = |j: u32| match values {
                    ValueKind::Ones => 1.0,
                    ValueKind::PerRow => 0.1 * i as f64,
                    _ => f64::from(row.get(&j).copied().unwrap_or(0)) * 0.25,
                };
                let mut columns: Vec<u32> = if dense { (0..7).collect() } else { row.keys().copied().collect() };
                if !dense && !in_order {
                    columns.reverse();
                }
                let info = RowInfo { label: 1.0, weight: 1.0, group: 0, id: i as u64 };
                block.push(info, columns.iter().map(|&j| (j, value(j))));
                columns.iter().for_each(|&j| wanted[j as usize].push((i as u32, value(j))));
            }
            let turned = block.transposed_by(range);
            prop_assert_eq!(turned.layout(), block.layout().transposed());
            prop_assert_eq!((turned.rows(), turned.columns(), turned.values()), (7, block.rows(), block.values()));
            for (j, wanted) in wanted.iter().enumerate() {
                prop_assert_eq!(&turned.row(j).iter().collect::<Vec<_>>(), wanted);
            }
        }
    }
}
