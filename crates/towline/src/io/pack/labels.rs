//! What the labels and rows of a store look like, gathered while they pass.
use std::collections::BTreeMap;

use crate::input::{NameList, RowBatch};
use crate::store::manifest::{LabelSummary, RowSummary};

/// Beyond this many distinct labels they are taken for a number to predict, and no histogram is kept.
pub const LARGEST_HISTOGRAM: usize = 10_000;

/// Labels seen so far.
pub struct Labels {
    text: Option<bool>,
    names: NameList,
    histogram: Option<BTreeMap<OrderedLabel, u64>>,
    min: f64,
    max: f64,
    sum: f64,
    rows: u64,
}

/// Labels are finite, so their total order is the usual one.
#[derive(Clone, Copy, PartialEq)]
struct OrderedLabel(f64);

impl Eq for OrderedLabel {}

impl PartialOrd for OrderedLabel {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedLabel {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Default for Labels {
    fn default() -> Self {
        let (min, max) = (f64::INFINITY, f64::NEG_INFINITY);
        Labels { text: None, names: NameList::default(), histogram: Some(BTreeMap::new()), min, max, sum: 0.0, rows: 0 }
    }
}

impl Labels {
    /// Goes on from what an older generation had.
    pub fn resume(old: &LabelSummary, rows: u64) -> Self {
        let mut names = NameList::default();
        old.names.iter().flatten().for_each(|name| _ = names.intern(name.as_bytes()));
        let histogram = old.histogram.as_ref().map(|h| h.iter().map(|&(label, n)| (OrderedLabel(label), n)).collect());
        let text = Some(old.names.is_some());
        Labels { text, names, histogram, min: old.min, max: old.max, sum: old.mean * rows as f64, rows }
    }

    /// Turns text labels of `batch` into class codes and counts all labels. `false` if some inputs have text labels and
    /// others numbers.
    pub fn resolve(&mut self, batch: &mut RowBatch) -> bool {
        let is_text = !batch.classes.is_empty();
        if batch.rows() > 0 && *self.text.get_or_insert(is_text) != is_text {
            return false;
        }
        if is_text {
            let codes: Vec<f64> = batch.classes.iter().map(|name| f64::from(self.names.intern(name))).collect();
            batch.labels.iter_mut().for_each(|label| *label = codes[*label as usize]);
        }
        let mut run: Option<(f64, u64)> = None;
        for &label in &batch.labels {
            self.min = self.min.min(label);
            self.max = self.max.max(label);
            self.sum += label;
            match &mut run {
                Some((last, n)) if *last == label => *n += 1,
                _ => {
                    if let Some((last, n)) = run {
                        self.count(last, n);
                    }
                    run = Some((label, 1));
                }
            }
        }
        if let Some((last, n)) = run {
            self.count(last, n);
        }
        self.rows += batch.rows() as u64;
        true
    }

    fn count(&mut self, label: f64, rows: u64) {
        // -0 and 0 are one label
        let label = if label == 0.0 { 0.0 } else { label };
        if let Some(histogram) = &mut self.histogram {
            *histogram.entry(OrderedLabel(label)).or_default() += rows;
            if histogram.len() > LARGEST_HISTOGRAM {
                self.histogram = None;
            }
        }
    }

    /// What the manifest says about them.
    pub fn summary(&self) -> LabelSummary {
        let names = self
            .text
            .unwrap_or(false)
            .then(|| self.names.iter().map(|n| String::from_utf8_lossy(n).into_owned()).collect());
        let histogram = self.histogram.as_ref().map(|h| h.iter().map(|(label, &rows)| (label.0, rows)).collect());
        let (min, max) = if self.rows == 0 { (0.0, 0.0) } else { (self.min, self.max) };
        LabelSummary { names, histogram, min, max, mean: finite(self.sum / self.rows.max(1) as f64) }
    }
}

/// The manifest is JSON, which knows no infinity; squares and sums of the largest doubles overflow.
fn finite(x: f64) -> f64 {
    x.clamp(f64::MIN, f64::MAX)
}

/// Lengths of the rows seen so far.
pub struct RowStatistics {
    summary: RowSummary,
    sq_norms: f64,
    rows: u64,
}

impl Default for RowStatistics {
    fn default() -> Self {
        let (inf, zero) = (f64::INFINITY, 0.0);
        let summary =
            RowSummary { min_values: u64::MAX, max_values: 0, min_sq_norm: inf, max_sq_norm: zero, mean_sq_norm: zero };
        RowStatistics { summary, sq_norms: 0.0, rows: 0 }
    }
}

impl RowStatistics {
    /// Goes on from what an older generation had.
    pub fn resume(summary: RowSummary, rows: u64) -> Self {
        RowStatistics { summary, sq_norms: summary.mean_sq_norm * rows as f64, rows }
    }

    /// Notes a row as it is stored.
    pub fn add(&mut self, values: u64, sq_norm: f64) {
        let s = &mut self.summary;
        (s.min_values, s.max_values) = (s.min_values.min(values), s.max_values.max(values));
        (s.min_sq_norm, s.max_sq_norm) = (s.min_sq_norm.min(sq_norm), s.max_sq_norm.max(sq_norm));
        self.sq_norms += sq_norm;
        self.rows += 1;
    }

    /// Joins what another thread has seen.
    pub fn join(&mut self, other: &RowStatistics) {
        let (s, o) = (&mut self.summary, &other.summary);
        (s.min_values, s.max_values) = (s.min_values.min(o.min_values), s.max_values.max(o.max_values));
        (s.min_sq_norm, s.max_sq_norm) = (s.min_sq_norm.min(o.min_sq_norm), s.max_sq_norm.max(o.max_sq_norm));
        self.sq_norms += other.sq_norms;
        self.rows += other.rows;
    }

    /// What the manifest says about them.
    pub fn summary(&self) -> RowSummary {
        RowSummary {
            min_sq_norm: finite(self.summary.min_sq_norm),
            max_sq_norm: finite(self.summary.max_sq_norm),
            mean_sq_norm: finite(self.sq_norms / self.rows.max(1) as f64),
            ..self.summary
        }
    }
}
