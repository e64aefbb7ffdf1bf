//! A part of the rows that stands for all of them, so that most iterations are cheap ones.
use super::rows::{Subset, TaskRows};
use crate::block::Block;
use crate::budget::{Budget, Reservation};
use crate::trainer::TrainError;

/// The least rows of a sample for each feature: with fewer, its solution says little about that of all rows.
const ROWS_PER_FEATURE: u64 = 20;
/// A sample is at most this part of all rows; where it would be more, all rows are taken at once.
const LEAST_PART: u64 = 4;
/// It is at least this part of them.
const MOST_PART: u64 = 32;
/// And it has at least so many rows.
const FEWEST: u64 = 1000;

/// Weights whose relative gap is below this are a better start than what a sample finds: its own error is about as
/// large.
pub const GOOD_START: f64 = 0.05;

/// Rows that were chosen, each with its target and a weight that makes up for those that were not.
struct Sample {
    /// By number in the block.
    rows: Vec<(u32, f64, f64)>,
    /// The rows themselves, where not all are in memory.
    own: Option<(Block, Reservation)>,
}

/// Calls `solve` with a sample of the rows and what it is to start from, and returns what that found; without a sample,
/// the start.
pub fn from_sample<T>(
    start: T,
    rows: &mut TaskRows,
    (features, beside): (u64, u64),
    budget: &Budget,
    solve: impl FnOnce(T, &mut Subset) -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    match Sample::of(rows, features, beside, budget)? {
        Some(sample) => {
            let scanning = rows.store_rows().scanning.clone();
            solve(start, &mut Subset::new(sample.block(rows), &sample.rows, scanning))
        }
        None => Ok(start),
    }
}

impl Sample {
    /// A sample, if there are enough rows for one: evenly spread where they are in memory, else whole blocks. Each row
    /// takes `beside` bytes more.
    fn of(rows: &mut TaskRows, features: u64, beside: u64, budget: &Budget) -> Result<Option<Sample>, TrainError> {
        let shape = rows.store_rows().store().shape();
        let count = rows.count().map_or(shape.rows, |count| count as u64);
        let wanted = (ROWS_PER_FEATURE * features).max(count / MOST_PART).max(FEWEST);
        if wanted > count / LEAST_PART {
            return Ok(None);
        }
        if rows.count().is_some() {
            return Ok(Some(Sample { rows: rows.every(count as usize, wanted as usize), own: None }));
        }
        let blocks = rows.store_rows().store().blocks();
        let step = (count / wanted).max(1);
        let chosen = blocks.iter().step_by(step as usize);
        let (most, values) = chosen.fold((0, 0), |(n, v), block| (n + u64::from(block.rows), v + block.values));
        let bytes = shape.layout.resident_bytes(most, values) + most * (24 + beside);
        let Ok(paid) = budget.reserve("a sample of the rows", bytes) else { return Ok(None) };
        let mut own = Block::with_capacity(shape.layout, shape.columns as usize, most as usize, values as usize);
        let (task, mut some) = (rows.task(), Vec::with_capacity(most as usize));
        rows.store_rows_mut().every_block(step as usize, |block, first| {
            for i in 0..block.rows() {
                let info = block.info(i);
                let (y, c) = task.objective.row(&info);
                if c > 0.0 && task.keeps(&info, first + i as u64) {
                    some.push((own.rows() as u32, y, c * (shape.rows as f64 / most as f64)));
                    own.push_from(block, i);
                }
            }
            Ok(())
        })?;
        Ok(Some(Sample { rows: some, own: Some((own, paid)) }))
    }

    /// Where its rows lie.
    fn block<'a>(&'a self, rows: &'a TaskRows) -> &'a Block {
        let own = self.own.as_ref().map(|(block, _)| block);
        own.or(rows.store_rows().memory()).expect("rows of a sample are in memory")
    }
}
