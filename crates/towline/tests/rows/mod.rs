//! Rows whose labels are explained in part, for the tests of penalties. Every test file is a crate and uses a part of
//! this.
#![allow(dead_code)]
use crate::labelled::Random;
use std::sync::Arc;

use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::budget::Budget;
use towline::loss::AnyLoss;
use towline::objective::{Objective, Targets};
use towline::penalty::{AnyPenalty, GroupMap};
use towline::store::MemoryStore;
use towline::trainer::Plan;

pub const COLUMNS: usize = 24;
pub const ROWS: usize = 160;

pub type Rows = Vec<(RowInfo, Vec<(u32, f64)>)>;

/// Random sparse rows whose labels a few of the features explain in part, with an offset.
pub fn rows(classes: bool) -> Rows {
    let mut source = Random(987);
    let mut random = move || source.fraction();
    (0..ROWS as u64)
        .map(|id| {
            let mut row: Vec<(u32, f64)> = Vec::new();
            for column in 0..COLUMNS as u32 {
                if random() < 0.3 {
                    row.push((column, f64::from((random() * 2.0 - 1.0) as f32)));
                }
            }
            let explained: f64 = row.iter().filter(|(c, _)| *c < 6).map(|&(c, x)| x * (f64::from(c) - 1.5)).sum();
            let signal = explained + 0.4 + (random() - 0.5) * 2.0;
            let label = if classes { if signal > 0.0 { 1.0 } else { -1.0 } } else { signal };
            (RowInfo { label, weight: 0.5 + f64::from(id as u32 % 3), group: 0, id }, row)
        })
        .collect()
}

pub fn store(rows: &Rows, blocks: usize) -> Arc<MemoryStore> {
    let layout = Layout::new(false, ValueKind::F32);
    let make = |rows: &[(RowInfo, Vec<(u32, f64)>)]| {
        let mut block = Block::new(layout, COLUMNS);
        rows.iter().for_each(|(info, row)| block.push(*info, row.iter().copied()));
        block
    };
    Arc::new(MemoryStore::new(rows.chunks(rows.len().div_ceil(blocks)).map(make).collect()))
}

pub fn penalty(name: &str) -> AnyPenalty {
    let groups = GroupMap::new((0..=COLUMNS as u32).map(|column| column / 3).collect(), vec![1.3; 9]).unwrap();
    if name == "non-negative" {
        return AnyPenalty::from_name("elastic-net", 1.5, 0.6, None).unwrap().non_negative().unwrap();
    }
    AnyPenalty::from_name(name, 1.5, 0.6, Some(groups)).unwrap()
}

/// What is minimised, with weights of classes and a constant feature of 0.5, or an intercept.
pub fn objective(loss: AnyLoss, penalty: &str, intercept: bool) -> Objective {
    let names = ["-1".to_string(), "1".to_string()];
    let targets = match loss.is_classification() {
        true => Targets::Binary { positive: 1.0, names, weights: [1.0, 1.5] },
        false => Targets::Numbers,
    };
    let bias = if intercept { 1.0 } else { 0.5 };
    Objective { bias, penalty: self::penalty(penalty), intercept, ..Objective::new(loss, 1.0, targets) }
}

/// A budget under which everything fits, or about a third of it.
pub fn budget(store: &MemoryStore, objective: &Objective, all: bool) -> Budget {
    let plan = |budget: &Budget| Plan::for_models(store, objective, 1, budget).unwrap();
    let whole = plan(&Budget::unlimited());
    let fixed = whole.weight_bytes + whole.dual_bytes + whole.read_ahead_bytes;
    let part = if all { whole.resident_bytes } else { whole.resident_bytes * 2 / 5 };
    let budget = Budget::new((fixed + part).max(whole.least_bytes));
    assert_eq!(plan(&budget).in_memory, all);
    budget
}
