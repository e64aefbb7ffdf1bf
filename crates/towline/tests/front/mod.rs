//! Data for tests of the front door.
#![allow(dead_code)]
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use towline::Rows;

use crate::labelled::Random;

pub const COLUMNS: usize = 6;

/// Dense rows of 32-bit numbers with labels -1 and +1 (a twentieth of them wrong), or with numbers.
pub fn dense(count: usize, classes: bool) -> Rows {
    let mut random = Random(7);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let row: Vec<f64> = (0..COLUMNS).map(|_| f64::from((2.0 * random.fraction() - 1.0) as f32)).collect();
        let signal: f64 = row.iter().enumerate().map(|(j, x)| x * (j as f64 - 2.0)).sum();
        let turned = if random.fraction() < 0.05 { -1.0 } else { 1.0 };
        labels.push(if classes { turned * signal.signum() } else { signal + random.fraction() });
        values.extend(row);
    }
    Rows::dense(values, COLUMNS, &labels).unwrap()
}

/// Rows with labels that do not repeat.
pub fn numbers(count: usize) -> Rows {
    dense(count, false)
}

pub fn three_classes(count: usize) -> Rows {
    let mut random = Random(11);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let row: Vec<f32> = (0..4).map(|_| (2.0 * random.fraction() - 1.0) as f32).collect();
        let class = if row[0] + row[1] > 0.3 { 2 } else { u8::from(row[2] > 0.2) };
        labels.push(f64::from(class));
        values.extend(row);
    }
    Rows::dense(values, 4, &labels).unwrap()
}

/// Sparse rows of two classes as text.
pub fn libsvm(path: &Path, count: usize) {
    let mut random = Random(3);
    let mut text = String::new();
    for _ in 0..count {
        let mut row: Vec<(usize, f64)> = Vec::new();
        for j in 1..=30 {
            if random.fraction() < 0.3 {
                row.push((j, random.fraction() - 0.5));
            }
        }
        let signal: f64 = row.iter().map(|(j, x)| x * (*j as f64 % 5.0 - 2.0)).sum();
        let turned = if random.fraction() < 0.05 { -1.0 } else { 1.0 };
        text += if turned * signal > 0.0 { "+1" } else { "-1" };
        row.iter().for_each(|(j, x)| text += &format!(" {j}:{x:.4}"));
        text.push('\n');
    }
    std::fs::write(path, text).unwrap();
}

/// A folder of its own, empty.
pub fn scratch(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("towline-{name}-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
