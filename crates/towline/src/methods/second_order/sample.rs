//! A part of the rows that stands for all of them, so that most iterations are cheap ones.
use super::rows::{Subset, TaskRows};
use crate::block::Block;
use crate::budget::{Budget, Reservation};
use crate::engine::TrainError;

/// The least rows of a sample for each feature: with fewer, its solution says little about that of all rows.
const ROWS_PER_FEATURE: u64 = 20;
/// A sample is at most this part of all rows; where it would be more, all rows are taken at once.
const LEAST_PART: u64 = 4;
/// It is at least this part of them.
const MOST_PART: u64 = 32;
/// Where whole blocks are taken, there are at least this many of them.
const LEAST_BLOCKS: usize = 2;
/// And it has at least this many rows.
const FEWEST: u64 = 1000;

/// What is left of a sample's objective may be this part of its own error.
const OF_ERROR: f64 = 0.2;

/// The relative decrement, or gap, to which so many rows that stand for all others are worth solving, but no less than
/// `least`. With d weights for n rows the objective of all rows at the solution of the sample is above the optimum by
/// about d/(2n) of it.
pub fn worth(features: usize, rows: usize, least: f64) -> f64 {
    least.max(OF_ERROR * features as f64 / rows.max(1) as f64)
}

/// Weights whose relative gap is below this are a better start than what a sample finds: its own error is about as
/// large.
pub const GOOD_START: f64 = 0.05;

/// Rows that were chosen, each with its target and a weight that makes up for those that were not.
struct Sample {
    /// By number in the block.
    rows: Vec<(u32, f64, f64)>,
    /// The same of rows that are held out, where all are in memory.
    others: Option<Vec<(u32, f64, f64)>>,
    /// The rows themselves, where not all are in memory.
    own: Option<(Block, Reservation)>,
}

/// A sample, and as many other rows, which tell how well its weights do on rows that they have not seen. On disk, those
/// are the sample itself.
pub struct Samples<'a> {
    /// To be solved.
    pub some: Subset<'a>,
    /// Held out, where all rows are in memory.
    pub others: Option<Subset<'a>>,
}

/// The weights that do best on rows that are held out: where few rows have a column, a sample may give it a weight that
/// is a hundred times too large, and steps that make the sample's own objective better make that of all rows worse.
pub struct BestSeen {
    best: Option<(f64, Vec<f64>)>,
    /// Steps in a row that were worse.
    worse: u32,
}

impl BestSeen {
    /// Nothing has been seen.
    pub fn new() -> Self {
        BestSeen { best: None, worse: 0 }
    }

    /// A step has led to weights with this objective. True if this many of them have not been better than one before.
    pub fn note(&mut self, objective: f64, w: &[f64], patience: u32) -> bool {
        match &mut self.best {
            Some((best, _)) if objective.is_nan() || objective >= *best => self.worse += 1,
            best => {
                *best = Some((objective, w.to_vec()));
                self.worse = 0;
            }
        }
        self.worse >= patience
    }

    /// The best weights, or those of the last step where nothing has been seen.
    pub fn or(self, last: Vec<f64>) -> Vec<f64> {
        self.best.map_or(last, |(_, w)| w)
    }
}

/// Calls `solve` with a sample of the rows and what it is to start from, and returns what that found; without a sample,
/// the start. Sizes are those of w, bytes for each row besides it, and rows that the sample is to have if there is
/// room.
pub fn from_sample<T>(
    start: T,
    rows: &mut TaskRows,
    (features, beside, wish): (u64, u64, u64),
    budget: &Budget,
    solve: impl FnOnce(T, &mut Samples) -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    let mut sample = Sample::of(rows, (features, wish), beside, budget)?;
    if sample.is_none() && wish > 0 {
        sample = Sample::of(rows, (features, 0), beside, budget)?;
    }
    match sample {
        Some(sample) => {
            let scanning = &rows.store_rows().scanning;
            let of = |some| Subset::new(sample.block(rows), some, scanning.clone());
            let others = sample.others.as_deref().map(of);
            solve(start, &mut Samples { some: of(&sample.rows), others })
        }
        None => Ok(start),
    }
}

impl Sample {
    /// A sample, if there are enough rows for one: evenly spread where they are in memory, else whole blocks. Each row
    /// takes `beside` bytes more.
    fn of(
        rows: &mut TaskRows,
        (features, wish): (u64, u64),
        beside: u64,
        budget: &Budget,
    ) -> Result<Option<Sample>, TrainError> {
        let shape = rows.store_rows().store().shape();
        let count = rows.count().map_or(shape.rows, |count| count as u64);
        let wanted = (ROWS_PER_FEATURE * features).max(count / MOST_PART).max(FEWEST).max(wish.min(count / LEAST_PART));
        if wanted > count / LEAST_PART {
            return Ok(None);
        }
        if rows.count().is_some() {
            let every = |part| rows.every(count as usize, wanted as usize, part);
            return Ok(Some(Sample { rows: every(0.0), others: Some(every(0.5)), own: None }));
        }
        let blocks = rows.store_rows().store().blocks();
        // No more than there is room for, where this many were asked for.
        let step = if wish > 0 { count.div_ceil(wanted) } else { count / wanted }.max(1) as usize;
        // Of few blocks, rows are taken here and there, which reads all of them.
        let by_rows = wish > 0 && blocks.len() < LEAST_BLOCKS * step;
        let (block_step, row_step) = if by_rows { (1, step) } else { (step, 1) };
        let (mut most, mut values) = (0, 0);
        for block in blocks.iter().step_by(block_step) {
            most += u64::from(block.rows).div_ceil(row_step as u64);
            values += block.values;
        }
        // Rows here and there may be longer than others.
        let values = if by_rows { (values * 2).div_ceil(row_step as u64).min(values) } else { values };
        let bytes = shape.layout.resident_bytes(most, values) + most * (24 + beside);
        let Ok(paid) = budget.reserve("a sample of the rows", bytes) else { return Ok(None) };
        let mut own = Block::with_capacity(shape.layout, shape.columns as usize, most as usize, values as usize);
        let (task, mut some) = (rows.task(), Vec::with_capacity(most as usize));
        rows.store_rows_mut().every_block(block_step, |block, first| {
            for i in (0..block.rows()).step_by(row_step) {
                let info = block.info(i);
                let (y, c) = task.objective.row(&info);
                let has_room = own.values() + block.row_len(i) <= values as usize;
                if c > 0.0 && has_room && task.keeps(&info, first + i as u64) {
                    some.push((own.rows() as u32, y, c * (shape.rows as f64 / most as f64)));
                    own.push_from(block, i);
                }
            }
            Ok(())
        })?;
        Ok(Some(Sample { rows: some, others: None, own: Some((own, paid)) }))
    }

    /// Where its rows lie.
    fn block<'a>(&'a self, rows: &'a TaskRows) -> &'a Block {
        let own = self.own.as_ref().map(|(block, _)| block);
        own.or(rows.store_rows().memory()).expect("rows of a sample are in memory")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_weights_on_held_out_rows_are_kept() {
        let mut seen = BestSeen::new();
        for (k, objective) in [5.0, 3.0, 4.0, 2.0, 2.5].into_iter().enumerate() {
            assert!(!seen.note(objective, &[k as f64], 2));
        }
        assert!(seen.note(f64::NAN, &[5.0], 2));
        assert_eq!(seen.or(vec![9.0]), [3.0]);
        assert_eq!(BestSeen::new().or(vec![9.0]), [9.0]);
    }

    #[test]
    fn small_samples_are_not_worth_many_digits() {
        assert_eq!(worth(10, 1_000_000, 1e-4), 1e-4);
        assert!((worth(100, 1000, 1e-4) - 0.02).abs() < 1e-12);
    }
}
