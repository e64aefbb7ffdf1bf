//! Models when classes come late.
use super::*;
use crate::block::RowInfo;
use crate::input::RowBatch;
use crate::loss::{AnyLoss, Hinge};
use crate::objective::Multiclass;

const COLUMNS: usize = 7;

fn some_rows(classes: u64, count: u64) -> Block {
    let mut rows = Block::new(Layout::SPARSE_F32, COLUMNS);
    for id in 0..count {
        let label = (id % classes) as f64;
        let columns = [id % classes, 3 + id * 5 % 3, 6];
        let values = [1.0, 0.5, (id % 4) as f64];
        let info = RowInfo { label, weight: 1.0, group: 0, id };
        rows.push_arrays(info, columns.into_iter().map(|column| column as u32), values.into_iter());
    }
    rows
}

fn classes(count: usize) -> StreamClasses {
    let mut batch = RowBatch::default();
    (0..count).for_each(|class| batch.end_row(class as f64));
    let mut classes = StreamClasses::default();
    classes.resolve(&batch, &mut Vec::new());
    classes
}

/// W is the sum of all rows times their dual variables while none has been dropped, also when two classes become three,
/// and three four.
#[test]
fn weights_stay_the_sum_of_rows_when_classes_come() {
    for multiclass in Multiclass::ALL {
        let loss = AnyLoss::Hinge(Hinge);
        let options = StreamOptions { multiclass: Some(multiclass), bias: 1.0, ..StreamOptions::new(loss, 0.5) };
        let room = Room { cache: (100, 1000), new: (100, 1000), all: (200, 2000) };
        let empty = Block::new(Layout::SPARSE_F32, 0);
        let mut models = Models::new(Hinge, &options, room, empty, &Budget::unlimited()).unwrap();
        models.grow(COLUMNS).unwrap();
        for count in 2..5 {
            models.know(&classes(count)).unwrap();
            models.take(&mut some_rows(count as u64, 12));
            models.learn();
        }
        assert_eq!(models.residents.rows(), 36);
        for model in &models.models {
            let width = model.width();
            let mut sums = vec![0.0; (COLUMNS + 1) * width];
            for (i, &number) in model.rows.numbers.iter().enumerate() {
                let row = models.residents.block.row(number as usize);
                let mut duals = Vec::new();
                model.rows.problem.duals(i, &mut duals).unwrap();
                for (m, &dual) in duals.iter().enumerate() {
                    let mut times = vec![0.0; COLUMNS];
                    row.add_to(&mut times, dual);
                    times.push(dual * options.bias);
                    times.iter().enumerate().for_each(|(column, value)| sums[column * width + m] += value);
                }
            }
            let weights = model.rows.problem.weights();
            let distance = sums.iter().zip(weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(distance < 1e-12, "{multiclass:?}: {distance}");
            assert!(weights.iter().any(|w| w.abs() > 0.1));
        }
    }
}
