//! Kernels agree with plain loops, in every layout.
use super::*;
use proptest::prelude::*;

const LAYOUTS: [Layout; 6] = [
    Layout::new(false, ValueKind::Ones),
    Layout::new(false, ValueKind::PerRow),
    Layout::new(false, ValueKind::F32),
    Layout::new(false, ValueKind::F64),
    Layout::new(true, ValueKind::F32),
    Layout::new(true, ValueKind::F64),
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

    /// To the bit, for every number of vectors that registers are shared out for, with and without weights behind those
    /// of the last column.
    #[test]
    fn vectors_side_by_side_are_as_many_plain_loops(width in 1usize..70, more in 0usize..5, (which, rows) in (0..LAYOUTS.len()).prop_flat_map(|w| rows(LAYOUTS[w], 13).prop_map(move |r| (w, r)))) {
        let block = block(LAYOUTS[which], 13, &rows);
        let w: Vec<f64> = (0..13 * width + more).map(|at| f64::from((at * 31 % 97) as u32) / 7.0 - 6.0).collect();
        let steps: Vec<(u32, f64)> = (0..width as u32).step_by(3).map(|m| (m, 0.3 * f64::from(m) - 1.0)).collect();
        for (i, entries) in rows.iter().enumerate() {
            let row = block.row(i);
            let sum = |m: usize| entries.iter().fold(0.0, |sum, &(column, x)| sum + w[column as usize * width + m] * x);
            let plain: Vec<f64> = (0..width).map(sum).collect();
            let (mut any, mut narrow) = (vec![f64::NAN; width], vec![f64::NAN; width]);
            row.dot_side_by_side(&w, &mut any);
            row.dot_narrow(&w, &mut narrow);
            prop_assert_eq!(&any, &plain);
            prop_assert_eq!(&narrow, &plain);
            let (mut ours, mut added) = (w.clone(), w.clone());
            row.add_side_by_side(&mut ours, width, &steps);
            entries.iter().for_each(|&(column, x)| steps.iter().for_each(|&(m, step)| added[column as usize * width + m as usize] += step * x));
            prop_assert_eq!(ours, added);
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
    fn columns_are_taken_out_of_sparse_rows((which, rows) in (0..4usize).prop_flat_map(|w| rows(LAYOUTS[w], 9).prop_map(move |r| (w, r))), mask in any::<u16>()) {
        let keep = |column: u32| mask >> column & 1 == 1;
        let mut block = block(LAYOUTS[which], 9, &rows);
        block.retain_columns(keep);
        for (i, row) in rows.iter().enumerate() {
            let kept: Vec<(u32, f64)> = row.iter().copied().filter(|&(column, _)| keep(column)).collect();
            prop_assert_eq!(block.row(i).iter().collect::<Vec<_>>(), kept);
            prop_assert_eq!(block.info(i), info(i));
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
