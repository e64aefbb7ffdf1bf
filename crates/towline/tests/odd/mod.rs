//! Tables as people have them, and what a model costs on them.
#![allow(dead_code)]
use std::sync::Arc;

use proptest::prelude::*;
use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::loss::Loss;
use towline::objective::Objective;
use towline::penalty::Penalty;
use towline::store::MemoryStore;

use crate::labelled::PlainRow;

/// A table as people have them, with all that can be odd about it; columns are scaled by up to `power` digits.
pub fn odd_table(power: i32) -> impl Strategy<Value = (Vec<Vec<f64>>, Vec<f64>, Vec<f64>)> {
    (2usize..40, 1usize..25).prop_flat_map(move |(rows, columns)| {
        let scale = prop_oneof![Just(0.0), (-power..power + 1).prop_map(|power| 10f64.powi(power))];
        let column = (scale, 0u32..4, proptest::collection::vec(-1.0..1.0f64, rows));
        let columns = proptest::collection::vec(column, columns).prop_map(move |columns| {
            let mut table: Vec<Vec<f64>> = vec![Vec::new(); rows];
            let mut last = vec![0.0; rows];
            for (scale, kind, values) in columns {
                for (i, line) in table.iter_mut().enumerate() {
                    let x = match kind {
                        // A constant column, the same column again, and two others.
                        0 => scale,
                        1 => last[i],
                        _ => scale * values[i],
                    };
                    last[i] = f64::from(x as f32);
                    line.push(last[i]);
                }
            }
            table
        });
        let labels = proptest::collection::vec(prop_oneof![Just(-1.0), Just(1.0)], rows);
        let weights = proptest::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.1..3.0f64], rows);
        (columns, labels, weights)
    })
}

/// The table as a store and as plain rows.
pub fn store_of(table: &[Vec<f64>], labels: &[f64], weights: &[f64]) -> (Arc<MemoryStore>, Vec<PlainRow>) {
    let mut block = Block::new(Layout::new(true, ValueKind::F32), table[0].len());
    let mut plain = Vec::new();
    for (i, row) in table.iter().enumerate() {
        let info = RowInfo { label: labels[i], weight: weights[i], group: 0, id: i as u64 };
        let row: Vec<(u32, f64)> = (0..).zip(row.iter().copied()).collect();
        block.push(info, row.iter().copied());
        plain.push((info, row));
    }
    (Arc::new(MemoryStore::new(vec![block])), plain)
}

/// F at w, from its definition.
pub fn value(rows: &[PlainRow], objective: &Objective, w: &[f64]) -> f64 {
    let last = w.len() - 1;
    let losses = rows.iter().map(|(info, row)| {
        let (y, c) = objective.row(info);
        let z = row.iter().map(|&(j, x)| w[j as usize] * x).sum::<f64>() + objective.bias * w[last];
        if c > 0.0 { c * objective.loss.value(y, z) } else { 0.0 }
    });
    let penalised = w.len() - usize::from(objective.intercept);
    objective.penalty.value(&w[..penalised]) + losses.sum::<f64>()
}
