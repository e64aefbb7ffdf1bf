//! Rows by column: the same values, those of a column side by side.
//!
//! The result is a block again, whose rows are the columns, so that the kernels of [`Row`](super::Row) serve both. It has no labels, weights, groups and ids.
use super::{Block, Cells, Columns, Layout, ValueKind, Values};

/// Rows of a dense block that are turned at a time: a tile of them stays in the nearest cache.
const TILE: usize = 16;

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
        let layout = self.layout().transposed();
        let mut turned = Block::new(layout, self.rows());
        if layout.dense {
            self.turn_dense(&mut turned);
        } else {
            self.turn_sparse(&mut turned);
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

    fn turn_sparse(&self, turned: &mut Block) {
        // Each end begins as the start of its column, and moves on with every value.
        let mut ends = vec![0usize; self.columns()];
        (0..self.rows()).for_each(|i| self.row(i).for_each(|j, _| ends[j as usize] += 1));
        let mut before = 0;
        for end in &mut ends {
            (*end, before) = (before, before + *end);
        }
        let mut indices = vec![0u32; self.values()];
        let mut place = |i: usize, j: u32| {
            let end = &mut ends[j as usize];
            indices[*end] = i as u32;
            *end += 1;
            *end - 1
        };
        let rows = 0..self.rows();
        match &mut turned.values {
            Values::Ones => rows.for_each(|i| self.row(i).for_each(|j, _| _ = place(i, j))),
            Values::F32(to) => {
                let to = to.own();
                to.resize(self.values(), 0.0);
                rows.for_each(|i| self.row(i).for_each(|j, x| to[place(i, j)] = x as f32));
            }
            Values::F64(to) => {
                let to = to.own();
                to.resize(self.values(), 0.0);
                rows.for_each(|i| self.row(i).for_each(|j, x| to[place(i, j)] = x));
            }
            Values::PerRow(_) => unreachable!("no layout by column has a value per column"),
        }
        turned.ends = ends;
        turned.indices = Columns::Narrow(Cells::from(indices));
    }
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
                let columns: Vec<u32> = if dense { (0..7).collect() } else { row.keys().copied().collect() };
                let info = RowInfo { label: 1.0, weight: 1.0, group: 0, id: i as u64 };
                block.push(info, columns.iter().map(|&j| (j, value(j))));
                columns.iter().for_each(|&j| wanted[j as usize].push((i as u32, value(j))));
            }
            let turned = block.transposed();
            prop_assert_eq!(turned.layout(), block.layout().transposed());
            prop_assert_eq!((turned.rows(), turned.columns(), turned.values()), (7, block.rows(), block.values()));
            for (j, wanted) in wanted.iter().enumerate() {
                prop_assert_eq!(&turned.row(j).iter().collect::<Vec<_>>(), wanted);
            }
        }
    }
}
