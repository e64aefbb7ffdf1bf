//! Tables of many classes.
use serde::Serialize;

use crate::evaluate::ClassQuality;
use crate::evaluate::confusion::ratio;

/// Classes whose confusion is drawn as a table; of more, the pairs that are mistaken most.
const TABLE_CLASSES: usize = 24;
/// Classes that are listed, and pairs that are mistaken.
const LISTED: usize = 40;
const PAIRS: usize = 20;

/// What there is to see of many classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassRows {
    /// How many classes there are.
    pub count: usize,
    /// The classes that are listed, those with most rows first.
    pub classes: Vec<ClassSummary>,
    /// Rows by true class and predicted class, in the order of `names`; empty where there are too many.
    pub confusion: Vec<Vec<u64>>,
    /// All classes of the table.
    pub names: Vec<String>,
    /// The pairs that are mistaken most.
    pub confused: Vec<Confused>,
}

/// How well a class is told from the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassSummary {
    /// Its name.
    pub name: String,
    /// Rows that it has.
    pub rows: u64,
    /// The share of rows called so that are.
    pub precision: f64,
    /// The share of its rows that are called so.
    pub recall: f64,
    /// The harmonic mean of both.
    pub f1: f64,
}

/// Rows of one class that were taken for another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confused {
    /// What they are.
    pub truth: String,
    /// What they were taken for.
    pub predicted: String,
    /// How many.
    pub rows: u64,
    /// The share of the rows of that class.
    pub share: f64,
}

impl ClassRows {
    /// From the table of all pairs.
    pub fn of(quality: &ClassQuality) -> ClassRows {
        let (names, table) = (&quality.classes, &quality.confusion);
        let rows: Vec<u64> = table.iter().map(|row| row.iter().sum()).collect();
        let summary = |class: usize| {
            let right = table[class][class] as f64;
            let called: u64 = table.iter().map(|row| row[class]).sum();
            let (precision, recall) = (ratio(right, called as f64), ratio(right, rows[class] as f64));
            let f1 = ratio(2.0 * right, (called + rows[class]) as f64);
            ClassSummary { name: names[class].clone(), rows: rows[class], precision, recall, f1 }
        };
        let mut order: Vec<usize> = (0..table.len()).collect();
        order.sort_by_key(|&class| std::cmp::Reverse(rows[class]));
        let mut pairs: Vec<(u64, usize, usize)> = Vec::new();
        for (truth, row) in table.iter().enumerate() {
            pairs.extend(row.iter().enumerate().filter(|&(p, &n)| p != truth && n > 0).map(|(p, &n)| (n, truth, p)));
            // The table may have millions of pairs.
            if pairs.len() > 64 * PAIRS {
                keep_largest(&mut pairs);
            }
        }
        keep_largest(&mut pairs);
        let confused = pairs.iter().map(|&(count, truth, predicted)| Confused {
            truth: names[truth].clone(),
            predicted: names[predicted].clone(),
            rows: count,
            share: ratio(count as f64, rows[truth] as f64),
        });
        let fits = names.len() <= TABLE_CLASSES && table.len() == names.len();
        ClassRows {
            count: names.len(),
            classes: order.iter().take(LISTED).map(|&class| summary(class)).collect(),
            confusion: if fits { table.clone() } else { Vec::new() },
            names: if fits { names.clone() } else { Vec::new() },
            confused: confused.collect(),
        }
    }
}

fn keep_largest(pairs: &mut Vec<(u64, usize, usize)>) {
    pairs.sort_unstable_by_key(|&(count, truth, predicted)| (std::cmp::Reverse(count), truth, predicted));
    pairs.truncate(PAIRS);
}
