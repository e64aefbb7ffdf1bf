//! All rows with few of their features, which fit into memory where the rows themselves do not.
//!
//! Most weights are 0 at the optimum. A feature may leave 0 only where the losses pull at it as hard as the penalty holds it, |v_j| ≥ λ. Those that are pulled at hardest are gathered by
//! column in one pass over the blocks, as many as there is room for; a scan before has counted how many values each feature has.
use std::sync::Arc;

use crate::block::{Block, Filling, Layout};
use crate::store::{MemoryStore, Shape};

/// Pulls of this part of what it takes to leave 0 are the least that count.
const LOWEST: f64 = 0.5;
/// Levels of pulls between that and its inverse, evenly spaced on a logarithmic scale; level 0 is below.
const LEVELS: f64 = 253.0;
/// The level of features that have to stay.
const HELD: u8 = 255;

/// How many values each feature has.
pub struct Counts(Vec<u32>);

impl Counts {
    /// Nothing has been counted.
    pub fn none(columns: u64) -> Self {
        Counts(vec![0; columns as usize])
    }

    /// Counts the values of a block.
    pub fn add(&mut self, block: &Block) {
        for i in 0..block.rows() {
            block.row(i).for_each(|column, _| self.0[column as usize] += 1);
        }
    }
}

/// How hard each feature is pulled at, by the model that pulls hardest.
pub struct Pulls(Vec<u8>);

impl Pulls {
    /// Nobody pulls at any of so many features.
    pub fn none(columns: u64) -> Self {
        Pulls(vec![0; columns as usize])
    }

    /// Somebody pulls at a feature; from 1 on it leaves 0.
    pub fn raise(&mut self, column: usize, pull: f64) {
        if pull >= LOWEST {
            let level = 1 + ((pull / LOWEST).ln() / (-2.0 * LOWEST.ln()) * LEVELS).min(LEVELS) as u8;
            self.0[column] = self.0[column].max(level);
        }
    }

    /// A feature must not be left out.
    pub fn hold(&mut self, column: usize) {
        self.0[column] = HELD;
    }
}

/// What rows, values and features take in all, by the time their problem is solved.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// What there is.
    pub bytes: u64,
    /// For a row.
    pub of_row: u64,
    /// For a value.
    pub of_value: u64,
    /// For a feature.
    pub of_feature: u64,
}

impl Room {
    /// Bytes for each feature of a store while few are chosen, and while they are gathered.
    pub const CHOICE_BYTES: [u64; 2] = [4 + 1, 4];

    fn fits(&self, rows: u64, values: u64, features: u64) -> bool {
        rows * self.of_row + values * self.of_value + features * self.of_feature <= self.bytes
    }
}

/// Rows on their way.
pub struct Gathering<'a> {
    numbers: &'a [u32],
    rows: Block,
    by_column: Filling,
}

/// A column that is left out.
const LEFT_OUT: u32 = u32::MAX;

/// The features that are gathered.
pub struct Choice {
    /// Their columns, in order.
    pub columns: Vec<u32>,
    /// How many values each of them has.
    lengths: Vec<u32>,
    /// The number of each column among those that are gathered, if it is.
    numbers: Vec<u32>,
}

impl Choice {
    /// Chooses as many as fit. None if there is no room for those that have to stay, or for all rows of this shape.
    pub fn new(shape: Shape, pulls: &Pulls, counts: Counts, room: Room) -> Option<Self> {
        let least = least_level(shape.rows, pulls, &counts, room)?;
        let Counts(mut numbers) = counts;
        let mut columns = Vec::new();
        let mut lengths = Vec::new();
        for (j, (number, &level)) in numbers.iter_mut().zip(&pulls.0).enumerate() {
            if level < least {
                *number = LEFT_OUT;
                continue;
            }
            lengths.push(*number);
            *number = columns.len() as u32;
            columns.push(j as u32);
        }
        Some(Choice { columns, lengths, numbers })
    }
}

impl<'a> Gathering<'a> {
    /// No rows yet.
    pub fn new(shape: Shape, choice: &'a Choice) -> Self {
        let layout = Layout { dense: false, ..shape.layout };
        let rows = Block::with_capacity(layout, choice.columns.len(), shape.rows as usize, 0);
        let lengths = choice.lengths.iter().map(|&length| length as usize);
        let by_column = Filling::new(layout, shape.rows as usize, lengths);
        Gathering { numbers: &choice.numbers, rows, by_column }
    }

    /// Takes all rows of a block.
    pub fn take(&mut self, block: &Block) {
        for i in 0..block.rows() {
            let row = self.rows.rows() as u32;
            block.row(i).for_each(|column, value| {
                let number = self.numbers[column as usize];
                if number != LEFT_OUT {
                    self.by_column.add(row, number as usize, value);
                }
            });
            self.rows.add_further(block.further(i));
            self.rows.push(block.info(i), []);
        }
    }

    /// All rows have come, in their order.
    pub fn finish(self) -> MemoryStore {
        MemoryStore::by_column(self.rows, Arc::new(self.by_column.finish()))
    }
}

/// The least level from which on all features fit; the held ones must.
fn least_level(rows: u64, pulls: &Pulls, counts: &Counts, room: Room) -> Option<u8> {
    let (mut values, mut features) = ([0u64; 256], [0u64; 256]);
    for (&level, &count) in pulls.0.iter().zip(&counts.0) {
        values[usize::from(level)] += u64::from(count);
        features[usize::from(level)] += 1;
    }
    let from = |numbers: &[u64; 256], level: u8| numbers[usize::from(level)..].iter().sum::<u64>();
    let fits = |&level: &u8| room.fits(rows, from(&values, level), from(&features, level));
    let least = (1..=HELD).find(fits)?;
    (from(&features, least) > 0).then_some(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{RowInfo, ValueKind};
    use crate::store::BlockStore;

    const ROWS: usize = 60;
    const COLUMNS: u32 = 200;

    /// Row i has every column with a rest below 2 when divided by i + 1, so that frequent and rare columns mix.
    fn block() -> Block {
        let mut block = Block::new(Layout::new(false, ValueKind::F32), COLUMNS as usize);
        for i in 0..ROWS {
            let info = RowInfo { label: i as f64, weight: 1.0, group: 0, id: i as u64 };
            block.push(info, (0..COLUMNS).filter(|j| *j as usize % (i + 1) < 2).map(|j| (j, f64::from(j) + 0.5)));
        }
        block
    }

    fn gather(values: u64, blocks: usize) -> Option<(Vec<u32>, MemoryStore)> {
        let whole = block();
        let shape = MemoryStore::new(vec![whole.clone()]).shape();
        let (mut pulls, mut counts) = (Pulls::none(u64::from(COLUMNS)), Counts::none(u64::from(COLUMNS)));
        (0..COLUMNS as usize).for_each(|j| pulls.raise(j, 0.3 * 1.01f64.powi(j as i32)));
        pulls.hold(3);
        let parts = (0..blocks).map(|part| {
            let mut rows = whole.clone();
            rows.retain(|i| i * blocks / ROWS == part);
            rows
        });
        parts.clone().for_each(|part| counts.add(&part));
        let room = Room { bytes: 10 * ROWS as u64 + 8 * values, of_row: 10, of_value: 8, of_feature: 0 };
        let choice = Choice::new(shape, &pulls, counts, room)?;
        let mut gathering = Gathering::new(shape, &choice);
        parts.for_each(|part| gathering.take(&part));
        let store = gathering.finish();
        Some((choice.columns, store))
    }

    #[test]
    fn the_hardest_pulled_stay_with_just_their_values() {
        let turned = block().transposed();
        for (values, blocks) in [(1000, 1), (200, 7), (100, 60), (5000, 3)] {
            let (columns, store) = gather(values, blocks).unwrap();
            let found = store.resident_columns().unwrap();
            assert!(found.values() as u64 <= values, "{} of {values}", found.values());
            assert!(columns.contains(&3) && columns.contains(&199) && columns.is_sorted(), "{columns:?}");
            // But for the one that is held, those are in that pull hardest, all of them.
            let others = columns.iter().filter(|&&j| j != 3);
            assert!(others.clone().all(|&j| j as usize + others.clone().count() >= COLUMNS as usize), "{columns:?}");
            for (number, &j) in columns.iter().enumerate() {
                let wanted = turned.row(j as usize).iter().collect::<Vec<_>>();
                assert_eq!(found.row(number).iter().collect::<Vec<_>>(), wanted, "column {j}");
            }
            assert_eq!(store.resident().unwrap().labels(), block().labels());
            assert!(values < 5000 || columns.len() > 140, "{} features", columns.len());
        }
    }

    #[test]
    fn without_room_for_rows_or_for_what_is_held_nothing_is_gathered() {
        assert!(gather(0, 1).is_none());
        let shape = MemoryStore::new(vec![block()]).shape();
        let room = Room { bytes: 10, of_row: 10, of_value: 8, of_feature: 0 };
        let (pulls, counts) = (Pulls::none(u64::from(COLUMNS)), Counts::none(u64::from(COLUMNS)));
        assert!(Choice::new(shape, &pulls, counts, room).is_none());
    }
}
