//! Columns that are filled while rows come by, where it is known how many values each of them has: rows by column
//! without the rows.
use super::{Block, Layout, Values};

/// Columns on their way.
pub(crate) struct Filling {
    /// Laid out as by [`Block::transposed`], with room for all values.
    block: Block,
    /// Where the next value of each column goes; at the end, where it ends.
    next: Vec<usize>,
}

impl Filling {
    /// For `rows` rows of this layout, and columns with so many values each.
    pub fn new(layout: Layout, rows: usize, counts: impl Iterator<Item = usize>) -> Self {
        let mut block = Block::new(Layout { dense: false, ..layout.transposed() }, rows);
        let mut values = 0;
        let next = counts.map(|count| {
            values += count;
            values - count
        });
        let next = next.collect();
        block.indices.own().resize(values, 0);
        match &mut block.values {
            Values::Ones | Values::PerRow(_) => {}
            Values::F32(to) => to.own().resize(values, 0.0),
            Values::F64(to) => to.own().resize(values, 0.0),
        }
        Filling { block, next }
    }

    /// Row `row` has this value in a column. Rows come in their order.
    ///
    /// # Panics
    /// If there are more values than were counted in all.
    #[inline]
    pub fn add(&mut self, row: u32, column: usize, value: f64) {
        let at = self.next[column];
        self.next[column] += 1;
        self.block.indices.own()[at] = row;
        match &mut self.block.values {
            Values::Ones | Values::PerRow(_) => {}
            Values::F32(to) => to.own()[at] = value as f32,
            Values::F64(to) => to.own()[at] = value,
        }
    }

    /// The columns, as rows of a block.
    pub fn finish(mut self) -> Block {
        self.block.ends = self.next;
        self.block
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::block::{RowInfo, ValueKind};

    proptest! {
        #[test]
        fn filling_is_turning(
            rows in proptest::collection::vec(proptest::collection::btree_map(0u32..7, 1i8..4, 0..7), 0..30),
            kind in 0usize..4,
        ) {
            let layout = Layout::new(false, [ValueKind::Ones, ValueKind::PerRow, ValueKind::F32, ValueKind::F64][kind]);
            let mut block = Block::new(layout, 7);
            for (i, row) in rows.iter().enumerate() {
                let value = |x: i8| match layout.values {
                    ValueKind::Ones => 1.0,
                    ValueKind::PerRow => 0.3 * i as f64,
                    _ => 0.25 * f64::from(x),
                };
                let info = RowInfo { label: 1.0, weight: 1.0, group: 0, id: i as u64 };
                block.push(info, row.iter().map(|(&j, &x)| (j, value(x))));
            }
            let mut counts = [0; 7];
            (0..block.rows()).for_each(|i| block.row(i).for_each(|j, _| counts[j as usize] += 1));
            let mut filling = Filling::new(layout, block.rows(), counts.into_iter());
            for i in 0..block.rows() {
                block.row(i).for_each(|j, x| filling.add(i as u32, j as usize, x));
            }
            let (filled, turned) = (filling.finish(), block.transposed());
            prop_assert_eq!((filled.layout(), &filled.ends, filled.columns()), (turned.layout(), &turned.ends, turned.columns()));
            for j in 0..7 {
                prop_assert_eq!(filled.row(j).iter().collect::<Vec<_>>(), turned.row(j).iter().collect::<Vec<_>>());
            }
        }
    }
}
