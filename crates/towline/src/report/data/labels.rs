//! What the labels of rows are like.
use std::collections::BTreeMap;

use serde::Serialize;

use crate::objective::Targets;
use crate::report::labelled::LabelledRows;

/// Distinct labels that are counted.
const MOST: usize = 10_000;
/// Classes that are listed.
const LISTED: usize = 24;

/// What the labels are like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Labels {
    /// Classes with their rows, the most frequent first.
    Classes {
        /// Those that are listed.
        counts: Vec<LabelCount>,
        /// How many there are.
        classes: u64,
        /// Rows of those that are not listed.
        others: u64,
    },
    /// Numbers.
    Numbers(Vec<TargetRange>),
}

/// A class and its rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelCount {
    /// What it is called.
    pub name: String,
    /// How many rows have it.
    pub rows: u64,
}

/// Where the numbers of a target lie.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetRange {
    /// What it is called; nothing if there is one.
    pub name: String,
    /// The least.
    pub least: f64,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub most: f64,
}

/// Labels as they come.
pub(super) struct LabelSums {
    counts: BTreeMap<u64, u64>,
    uncounted: u64,
    targets: Vec<TargetRange>,
    rows: u64,
    squares: f64,
}

impl LabelSums {
    pub fn new(targets: &Targets) -> Self {
        let names: Vec<String> = match targets {
            Targets::Several { names } => names.clone(),
            _ => vec![String::new()],
        };
        let range = |name| TargetRange { name, least: f64::INFINITY, mean: 0.0, most: f64::NEG_INFINITY };
        let targets = names.into_iter().map(range).collect();
        LabelSums { counts: BTreeMap::new(), uncounted: 0, targets, rows: 0, squares: 0.0 }
    }

    pub fn add(&mut self, label: f64, further: &[f64]) {
        self.rows += 1;
        self.squares += label * label;
        for (target, &number) in self.targets.iter_mut().zip(std::iter::once(&label).chain(further)) {
            (target.least, target.most) = (target.least.min(number), target.most.max(number));
            target.mean += number;
        }
        // -0 is 0.
        let bits = (label + 0.0).to_bits();
        let has_room = self.counts.len() < MOST;
        match self.counts.get_mut(&bits) {
            Some(count) => *count += 1,
            None if has_room => _ = self.counts.insert(bits, 1),
            None => self.uncounted += 1,
        }
    }

    /// Sum and sum of squares of the first target.
    pub fn first_sums(&self) -> (f64, f64) {
        (self.targets[0].mean, self.squares)
    }

    pub fn finish(&self, rows: &LabelledRows, targets: &Targets) -> Labels {
        if targets.are_numbers() {
            let n = self.rows.max(1) as f64;
            let mean = |target: &TargetRange| TargetRange { mean: target.mean / n, ..target.clone() };
            return Labels::Numbers(self.targets.iter().map(mean).collect());
        }
        // The names that the model has for them, where it knows them.
        let name = |label: f64| match rows.class_of(targets, label) {
            Some(class) if matches!(targets, Targets::Classes { .. } | Targets::Binary { .. }) => {
                targets.names()[class].clone()
            }
            _ => match rows.class_names().and_then(|names| names.get(label as usize)) {
                Some(name) => name.clone(),
                None => label.to_string(),
            },
        };
        let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
        for (&bits, &count) in &self.counts {
            *by_name.entry(name(f64::from_bits(bits))).or_default() += count;
        }
        let classes = by_name.len() as u64;
        let mut counts: Vec<LabelCount> = by_name.into_iter().map(|(name, rows)| LabelCount { name, rows }).collect();
        counts.sort_by_key(|count| std::cmp::Reverse(count.rows));
        let others = counts.iter().skip(LISTED).map(|count| count.rows).sum::<u64>() + self.uncounted;
        counts.truncate(LISTED);
        Labels::Classes { counts, classes, others }
    }
}
