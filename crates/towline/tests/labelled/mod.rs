//! Random rows for tests of solvers, the same on every machine.
#![allow(dead_code)]
use std::sync::Arc;

use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::loss::AnyLoss;
use towline::objective::{Objective, Targets};
use towline::store::MemoryStore;

pub const COLUMNS: usize = 20;

pub type PlainRow = (RowInfo, Vec<(u32, f64)>);

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// From 0 to 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Sparse rows with labels -1 and +1 that a linear model explains, except for a part of them whose labels are turned
/// round.
pub fn rows(count: usize, flipped: f64, seed: u64) -> Vec<PlainRow> {
    let mut random = Random(seed);
    let row = |id: usize| {
        let mut row: Vec<(u32, f64)> = Vec::new();
        for column in 0..COLUMNS as u32 {
            if random.fraction() < 0.4 {
                row.push((column, f64::from((random.fraction() * 2.0 - 1.0) as f32)));
            }
        }
        let noise = random.fraction() - 0.5;
        let signal: f64 = row.iter().map(|&(c, v)| v * (f64::from(c % 5) - 2.0)).sum::<f64>() + noise;
        let label = if (signal > 0.0) == (random.fraction() < flipped) { -1.0 } else { 1.0 };
        (RowInfo { label, weight: 0.5 + f64::from(id as u32 % 3), group: 0, id: id as u64 }, row)
    };
    (0..count).map(row).collect()
}

pub fn memory_store(rows: &[PlainRow], blocks: usize) -> Arc<MemoryStore> {
    let layout = Layout::new(false, ValueKind::F32);
    let make = |rows: &[PlainRow]| {
        let mut block = Block::new(layout, COLUMNS);
        rows.iter().for_each(|(info, row)| block.push(*info, row.iter().copied()));
        block
    };
    Arc::new(MemoryStore::new(rows.chunks(rows.len().div_ceil(blocks)).map(make).collect()))
}

pub fn objective(loss: AnyLoss, c: f64, bias: f64, truncate: Option<f64>) -> Objective {
    let names = ["-1".to_string(), "1".to_string()];
    let targets = match loss.is_classification() {
        true => Targets::Binary { positive: 1.0, names, weights: [1.0, 1.5] },
        false => Targets::Numbers,
    };
    Objective { bias, truncate, ..Objective::new(loss, c, targets) }
}

pub fn loss(name: &str) -> AnyLoss {
    AnyLoss::named(name).unwrap()
}

/// The margin of a row.
pub fn margin(row: &PlainRow, w: &[f64], objective: &Objective) -> f64 {
    row.1.iter().map(|&(j, x)| w[j as usize] * x).sum::<f64>() + objective.bias * w[COLUMNS]
}

/// The rows as libsvm text, without their weights; every feature is in the first row, so that columns are known.
pub fn text(rows: &[PlainRow]) -> String {
    let line = |(info, row): &PlainRow| {
        let entries: String = row.iter().map(|(j, x)| format!(" {}:{x}", j + 1)).collect();
        format!("{}{entries}\n", info.label)
    };
    rows.iter().map(line).collect()
}
