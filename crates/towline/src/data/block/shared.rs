//! Rows that lie in the memory of another program.
use super::{Block, Cells, Columns, ExtraTargets, Layout, ValueKind, Values};

/// Arrays of another program, as it has them.
pub struct SharedRows {
    /// Every column is below this.
    pub width: usize,
    /// One past the last value of each row.
    pub ends: Vec<usize>,
    /// The column of each value.
    pub columns: SharedColumns,
    /// The values.
    pub values: SharedValues,
    /// The target of each row.
    pub labels: Vec<f64>,
    /// The targets of each row behind the first, side by side; none where there is one.
    pub further: Vec<f64>,
    /// The weight of each row.
    pub weights: Vec<f64>,
}

/// Columns of another program.
pub enum SharedColumns {
    /// Every row has every column.
    All,
    /// 32-bit numbers.
    Narrow(Cells<u32>),
    /// 64-bit numbers.
    Wide(Cells<u64>),
}

/// Values of another program.
pub enum SharedValues {
    /// 32-bit floats.
    F32(Cells<f32>),
    /// 64-bit floats.
    F64(Cells<f64>),
}

/// The arrays of another program are no rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SharedError {
    /// Arrays do not fit together.
    #[error("{0}")]
    Shape(&'static str),
    /// A column is out of range.
    #[error("column {column} of {width}")]
    Column {
        /// The column.
        column: u64,
        /// Columns have to be below this.
        width: usize,
    },
    /// Columns of a row do not ascend.
    #[error("the columns of row {row} do not ascend, or one comes twice; sort them and add up what belongs together")]
    Order {
        /// The row, from 0 on.
        row: usize,
    },
}

impl Block {
    /// A block over arrays that stay where they are. Changing the block copies what it changes.
    pub fn over(rows: SharedRows) -> Result<Block, SharedError> {
        let SharedRows { width, ends, columns, values, labels, further, weights } = rows;
        let (kind, count, values) = match values {
            SharedValues::F32(values) => (ValueKind::F32, values.len(), Values::F32(values)),
            SharedValues::F64(values) => (ValueKind::F64, values.len(), Values::F64(values)),
        };
        if !ends.is_sorted() || ends.last().copied().unwrap_or(0) != count {
            return Err(SharedError::Shape("the ends of rows do not lead to the last value"));
        }
        if labels.len() != ends.len() || weights.len() != ends.len() {
            return Err(SharedError::Shape("there is not one label and one weight for each row"));
        }
        let per_row = further.len().checked_div(ends.len()).unwrap_or(0);
        if per_row * ends.len() != further.len() || per_row >= u32::MAX as usize {
            return Err(SharedError::Shape("rows do not have as many targets as each other"));
        }
        if width.max(ends.len()) > u32::MAX as usize {
            return Err(SharedError::Shape("there are more than 2^32 - 1 rows or columns"));
        }
        let dense = matches!(columns, SharedColumns::All);
        let indices = match columns {
            SharedColumns::All if ends.iter().enumerate().any(|(i, &end)| end != (i + 1) * width) => {
                return Err(SharedError::Shape("a dense row does not have every column"));
            }
            SharedColumns::All => Columns::default(),
            SharedColumns::Narrow(columns) => {
                check(&columns, count, width, &ends)?;
                Columns::Narrow(columns)
            }
            SharedColumns::Wide(columns) => {
                check(&columns, count, width, &ends)?;
                Columns::Wide(columns)
            }
        };
        let layout = Layout::new(dense, kind).with_targets(per_row as u32 + 1);
        let mut targets = ExtraTargets::new(per_row);
        targets.push(&further);
        Ok(Block {
            layout,
            columns: width,
            ends,
            indices,
            values,
            labels,
            further: targets,
            weights,
            groups: Vec::new(),
            ids: Vec::new(),
        })
    }
}

/// What [`Row`](super::Row) relies on: a column for every value, in range; and, for norms, each at most once in a row.
fn check<C: Copy + Into<u64>>(columns: &[C], count: usize, width: usize, ends: &[usize]) -> Result<(), SharedError> {
    if columns.len() != count {
        return Err(SharedError::Shape("there is not one column for each value"));
    }
    let mut start = 0;
    for (row, &end) in ends.iter().enumerate() {
        let mut next = 0u64;
        for &column in &columns[start..end] {
            let column = column.into();
            if column >= width as u64 {
                return Err(SharedError::Column { column, width });
            }
            if column < next {
                return Err(SharedError::Order { row });
            }
            next = column + 1;
        }
        start = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::RowInfo;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Two rows: (1, 0, 2) and (0, 3, 4).
    fn rows(columns: SharedColumns) -> SharedRows {
        let values = match columns {
            SharedColumns::All => vec![1.0, 0.0, 2.0, 0.0, 3.0, 4.0],
            _ => vec![1.0, 2.0, 3.0, 4.0],
        };
        let ends = vec![values.len() / 2, values.len()];
        let values = SharedValues::F32(Cells::shared(Arc::new(values)));
        SharedRows {
            width: 3,
            ends,
            columns,
            values,
            labels: vec![5.0, 6.0],
            further: Vec::new(),
            weights: vec![1.0, 2.0],
        }
    }

    fn narrow(columns: &[u32]) -> SharedColumns {
        SharedColumns::Narrow(Cells::shared(Arc::new(columns.to_vec())))
    }

    fn wide(columns: &[u64]) -> SharedColumns {
        SharedColumns::Wide(Cells::shared(Arc::new(columns.to_vec())))
    }

    #[test]
    fn shared_rows_are_rows_like_others() {
        for columns in [SharedColumns::All, narrow(&[0, 2, 1, 2]), wide(&[0, 2, 1, 2])] {
            let block = Block::over(rows(columns)).unwrap();
            let w = [1.0, 10.0, 100.0];
            assert_eq!([block.row(0).dot(&w), block.row(1).dot(&w)], [201.0, 430.0]);
            assert_eq!([block.row(0).sq_norm(), block.row(1).sq_norm()], [5.0, 25.0]);
            assert_eq!(block.row(1).dot_mapped(&w, |j, w| w + j as f64), 3.0 * 11.0 + 4.0 * 102.0);
            let mut sum = [0.0; 3];
            block.row(1).add_to(&mut sum, 2.0);
            assert_eq!(sum, [0.0, 6.0, 8.0]);
            let mut entries = Vec::new();
            block.row(1).for_each(|column, value| entries.push((column, value)));
            assert_eq!(entries, block.row(1).iter().collect::<Vec<_>>());
            assert_eq!(block.info(1), RowInfo { label: 6.0, weight: 2.0, group: 0, id: 1 });
            let mut kept = block.clone();
            kept.retain(|i| i == 1);
            assert_eq!((kept.rows(), kept.info(0), kept.row(0).dot(&w)), (1, block.info(1), 430.0));
            let mut copy = Block::new(block.layout(), 3);
            copy.push_from(&block, 1);
            assert_eq!((copy.info(0), copy.row(0).dot(&w)), (block.info(1), 430.0));
        }
    }

    #[test]
    fn arrays_that_are_no_rows_are_refused() {
        let error = |rows| Block::over(rows).unwrap_err();
        assert_eq!(error(rows(narrow(&[0, 3, 1, 2]))), SharedError::Column { column: 3, width: 3 });
        assert_eq!(error(rows(wide(&[0, 2, 1, 1 << 40]))), SharedError::Column { column: 1 << 40, width: 3 });
        assert_eq!(error(rows(narrow(&[0, 2, 2, 1]))), SharedError::Order { row: 1 });
        assert_eq!(error(rows(wide(&[1, 1, 0, 1]))), SharedError::Order { row: 0 });
        assert!(matches!(error(rows(narrow(&[0, 2, 1]))), SharedError::Shape(_)));
        for ends in [vec![2, 3], vec![5, 4], vec![2, 2, 4]] {
            assert!(matches!(error(SharedRows { ends, ..rows(narrow(&[0, 2, 1, 2])) }), SharedError::Shape(_)));
        }
        assert!(matches!(error(SharedRows { ends: vec![2, 6], ..rows(SharedColumns::All) }), SharedError::Shape(_)));
    }

    proptest! {
        /// 64-bit columns give the same bits as 32-bit ones.
        #[test]
        fn both_widths_agree(columns in proptest::collection::btree_set(0u32..50, 0..40), seed in 0u32..100) {
            let columns: Vec<u32> = columns.into_iter().collect();
            let values: Vec<f64> = columns.iter().map(|&column| f64::from((column * 31 + seed) % 17) - 8.0).collect();
            let make = |columns| {
                let ends = vec![values.len()];
                let values = SharedValues::F64(Cells::shared(Arc::new(values.clone())));
                Block::over(SharedRows { width: 50, ends, columns, values, labels: vec![0.0], further: Vec::new(), weights: vec![1.0] }).unwrap()
            };
            let (a, b) = (make(narrow(&columns)), make(wide(&columns.iter().map(|&c| u64::from(c)).collect::<Vec<_>>())));
            let w: Vec<f64> = (0..50).map(|j| f64::from(j).sin()).collect();
            prop_assert_eq!(a.row(0).dot(&w), b.row(0).dot(&w));
            let (mut x, mut y) = (w.clone(), w);
            a.row(0).add_to(&mut x, 0.3);
            b.row(0).add_to(&mut y, 0.3);
            prop_assert_eq!(x, y);
        }
    }
}
