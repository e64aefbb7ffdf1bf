//! What the squared loss knows of the rows: XᵀX, Xᵀy and yᵀy, summed in one scan for all tasks.
//!
//! Tasks may leave rows out, each in its own way (the folds of a cross-validation). Rows that the same tasks keep are
//! summed together, so that the sums of any task, and of the rows that it has not seen, are sums of few matrices.
use std::sync::Arc;

use super::gram::Gram;
use super::rows::StoreRows;
use crate::budget::{Budget, Reservation};
use crate::engine::{RowFilter, Task, TrainError};
use crate::store::Shape;

/// Sums over rows, each multiplied by its weight.
pub struct Moments {
    /// Columns: features, the constant 1, targets.
    gram: Gram,
    /// What was subtracted from features before they were summed, so that large means do not drown what is around them.
    shift: Arc<Vec<f64>>,
    features: usize,
    /// How many rows there are.
    pub rows: u64,
}

/// Multiplications between two times that others are told of the scan: a few milliseconds.
const UNTOLD: f64 = 5e7;

/// Filters that are distinguished.
const MOST_FILTERS: usize = 64;

impl Moments {
    /// Bytes of memory.
    pub fn bytes(shape: &Shape) -> u64 {
        Gram::bytes(shape.columns + 1 + u64::from(shape.layout.targets))
    }

    fn new(shape: &Shape, shift: Arc<Vec<f64>>) -> Self {
        let features = shape.columns as usize;
        let targets = shape.layout.targets as usize;
        let len = shape.values as f64 / shape.rows.max(1) as f64;
        let gram = Gram::new(features + 1 + targets, len + 1.0 + targets as f64);
        Moments { gram, shift, features, rows: 0 }
    }

    fn add_all(&mut self, other: &Moments) {
        self.gram.lower_mut().iter_mut().zip(other.gram.lower()).for_each(|(sum, x)| *sum += x);
        self.rows += other.rows;
    }

    /// Features, without the constant.
    pub fn features(&self) -> usize {
        self.features
    }

    /// What features are less than those of rows.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    /// The sum of weights.
    pub fn weight(&self) -> f64 {
        self.gram.at(self.features, self.features)
    }

    /// Σ x_i x_j of shifted features; a feature beyond the last is the constant, and then targets follow.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.gram.at(i, j)
    }

    /// The same with both sides centred at their means.
    pub fn centred(&self, i: usize, j: usize) -> f64 {
        let one = self.features;
        match self.weight() > 0.0 {
            true => self.at(i, j) - self.at(i, one) * self.at(j, one) / self.weight(),
            false => 0.0,
        }
    }

    /// The same of features as rows have them.
    pub fn raw(&self, i: usize, j: usize) -> f64 {
        let one = self.features;
        let shift = |i: usize| self.shift.get(i).copied().unwrap_or(0.0);
        let (a, b) = (shift(i), shift(j));
        self.at(i, j) + a * self.at(j, one) + b * self.at(i, one) + a * b * self.weight()
    }
}

/// Tasks in groups that one scan can sum: each has few enough filters.
pub fn one_scan_each(tasks: &[Task]) -> impl Iterator<Item = &[Task]> {
    let has_many = tasks.iter().filter(|task| task.rows.is_some()).count() > MOST_FILTERS;
    tasks.chunks(if has_many { MOST_FILTERS } else { tasks.len().max(1) })
}

/// The sums of rows by which tasks keep them.
pub struct Parts {
    filters: Vec<Option<Arc<dyn RowFilter>>>,
    /// The filter of each task.
    of_task: Vec<usize>,
    /// By the set of filters that keep their rows.
    parts: Vec<(u64, Moments)>,
    _paid: Reservation,
}

impl Parts {
    /// Sums for all tasks: one scan. `on_the_way` is called now and then; its error is the end. A limit of time is
    /// exceeded by what is left of the scan.
    pub fn sum(
        rows: &mut StoreRows,
        tasks: &[Task],
        budget: &Budget,
        mut on_the_way: impl FnMut() -> Result<(), TrainError>,
    ) -> Result<Parts, TrainError> {
        let mut filters: Vec<Option<Arc<dyn RowFilter>>> = Vec::new();
        let mut of_task = Vec::with_capacity(tasks.len());
        for task in tasks {
            let same = |known: &Option<Arc<dyn RowFilter>>| match (known, &task.rows) {
                (None, None) => true,
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                _ => false,
            };
            of_task.push(filters.iter().position(same).unwrap_or(filters.len()));
            if of_task.last() == Some(&filters.len()) {
                filters.push(task.rows.clone());
            }
        }
        assert!(filters.len() <= MOST_FILTERS, "tasks of at most {MOST_FILTERS} filters are summed together");
        let shape = rows.store().shape();
        let mut parts = Parts { filters, of_task, parts: Vec::new(), _paid: budget.open("sums of products") };
        let mut shift = None;
        let of_row = Gram::row_cost(shape.columns as f64 + 2.0, shape.values as f64 / shape.rows.max(1) as f64 + 2.0);
        let mut untold = 0.0;
        // Without all of them there is nothing.
        rows.scanning.begin_end();
        let scanning = rows.scanning.clone();
        let mut counted = scanning.rows();
        rows.blocks(|block, first| {
            let shift = shift.get_or_insert_with(|| Arc::new(means(block, &shape)));
            for i in 0..block.rows() {
                counted.next()?;
                untold += of_row;
                if untold >= UNTOLD {
                    untold = 0.0;
                    on_the_way()?;
                }
                let info = block.info(i);
                if info.weight <= 0.0 {
                    continue;
                }
                let keeps = |filter: &Option<Arc<dyn RowFilter>>| {
                    filter.as_ref().is_none_or(|filter| filter.keeps(&info, first + i as u64))
                };
                let set = parts.filters.iter().enumerate().filter(|(_, filter)| keeps(filter)).map(|(k, _)| 1 << k);
                let set = set.sum();
                parts.part(set, &shape, shift)?.add(block, i, info.weight);
            }
            Ok(())
        })?;
        parts.parts.iter_mut().for_each(|(_, part)| part.gram.flush());
        Ok(parts)
    }

    fn part(&mut self, set: u64, shape: &Shape, shift: &Arc<Vec<f64>>) -> Result<&mut Moments, TrainError> {
        let known = self.parts.iter().position(|(known, _)| *known == set);
        let at = known.unwrap_or(self.parts.len());
        if known.is_none() {
            self._paid.resize((at as u64 + 1) * Moments::bytes(shape))?;
            self.parts.push((set, Moments::new(shape, shift.clone())));
        }
        Ok(&mut self.parts[at].1)
    }

    /// The sums of the rows that a task keeps, or of those that it does not.
    pub fn of(&self, task: usize, kept: bool, shape: &Shape) -> Moments {
        let bit = 1u64 << self.of_task[task];
        let mut chosen = self.parts.iter().filter(|(set, _)| (set & bit != 0) == kept).map(|(_, part)| part);
        let shift = self.parts.first().map_or_else(Arc::default, |(_, part)| part.shift.clone());
        let mut sum = Moments::new(shape, shift);
        chosen.by_ref().for_each(|part| sum.add_all(part));
        sum
    }

    /// The filter of a task: tasks of the same have the same sums.
    pub fn filter_of(&self, task: usize) -> usize {
        self.of_task[task]
    }
}

impl Moments {
    fn add(&mut self, block: &crate::block::Block, i: usize, weight: f64) {
        let mut more = [0.0; 8];
        let further = block.further(i);
        self.rows += 1;
        if further.len() + 2 <= more.len() {
            (more[0], more[1]) = (1.0, block.info(i).label);
            more[2..2 + further.len()].copy_from_slice(further);
            return self.gram.add_shifted(block.row(i), &self.shift, &more[..2 + further.len()], weight);
        }
        let more: Vec<f64> = [1.0, block.info(i).label].into_iter().chain(further.iter().copied()).collect();
        self.gram.add_shifted(block.row(i), &self.shift, &more, weight);
    }
}

/// About where the values of each feature are: the means of a block, where rows are dense enough for that not to cost
/// anything.
fn means(block: &crate::block::Block, shape: &Shape) -> Vec<f64> {
    let (columns, rows) = (shape.columns as usize, block.rows().max(1) as f64);
    let mut sums = vec![0.0; columns];
    let len = shape.values as f64 / shape.rows.max(1) as f64;
    if Gram::is_dense(columns + 2, len + 2.0) {
        (0..block.rows()).for_each(|i| block.row(i).add_to(&mut sums, 1.0 / rows));
    }
    sums
}
