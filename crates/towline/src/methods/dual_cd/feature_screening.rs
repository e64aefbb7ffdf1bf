//! All rows with few of their features, which fit into memory where the rows themselves do not.
//!
//! Most weights are 0 at the optimum. A feature may leave 0 only where the losses pull at it as hard as the penalty
//! holds it, |v_j| ≥ λ. Those that are pulled at hardest are gathered by column in one pass over the blocks, as many as
//! there is room for; a scan before has counted how many values each feature has. WarmState a path they serve one point
//! after the other, as long as they hold all that may leave 0 next.
use std::sync::Arc;

use crate::block::{Block, Filling, Layout};
use crate::store::{MemoryStore, Shape};

/// Pulls of this part of what it takes to leave 0 are the least that count.
const LOWEST: f64 = 0.5;
/// Levels of pulls between that and its inverse, evenly spaced on a logarithmic scale; level 0 is below.
const LEVELS: f64 = 253.0;
/// The level of features that have to stay.
const HELD: u8 = 255;
/// Pulls from here on may reach 1 by the time the next problem is solved. The sequential strong rule (Tibshirani et al.
/// 2012) says 2 - λ_before / λ, which is this along a path of fifty points over three decades.
const MAY_LEAVE: f64 = 0.85;

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

    /// Their memory, as room for the numbers of features.
    pub fn into_numbers(self) -> Vec<u32> {
        self.0
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
            self.0[column] = self.0[column].max(level(pull));
        }
    }

    /// A feature must not be left out.
    pub fn hold(&mut self, column: usize) {
        self.0[column] = HELD;
    }

    /// Whether all features that may leave 0 are among these columns, which are in order.
    pub fn are_within(&self, columns: &[u32]) -> bool {
        let mut columns = columns.iter().copied().peekable();
        let least = level(MAY_LEAVE);
        self.0.iter().enumerate().filter(|&(_, &level)| level >= least).all(|(j, _)| {
            while columns.next_if(|&column| (column as usize) < j).is_some() {}
            columns.peek() == Some(&(j as u32))
        })
    }
}

/// The level of a pull of at least the lowest one.
fn level(pull: f64) -> u8 {
    1 + ((pull / LOWEST).ln() / (-2.0 * LOWEST.ln()) * LEVELS).min(LEVELS) as u8
}

/// What rows, values and features may take together, and what each of them takes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryShare {
    /// What there is.
    pub bytes: u64,
    /// For a row.
    pub of_row: u64,
    /// For a value.
    pub of_value: u64,
    /// For a feature.
    pub of_feature: u64,
}

impl MemoryShare {
    /// Bytes for each feature of a store: how many values it has, how hard it is pulled at, and its number while few
    /// are gathered.
    pub const COUNT_BYTES: u64 = 4;
    /// See [`COUNT_BYTES`](Self::COUNT_BYTES).
    pub const PULL_BYTES: u64 = 1;
    /// See [`COUNT_BYTES`](Self::COUNT_BYTES).
    pub const NUMBER_BYTES: u64 = 4;

    fn fits(&self, rows: u64, values: u64, features: u64) -> bool {
        rows * self.of_row + values * self.of_value + features * self.of_feature <= self.bytes
    }
}

/// Where the features that are gathered have to fit.
#[derive(Clone, Copy, Debug)]
pub struct MemoryShares {
    /// While their problem is solved, when there are no weights of all features.
    pub solving: MemoryShare,
    /// The same, and while everything is scanned, if they and the counts are to stay until then.
    pub staying: [MemoryShare; 2],
}

/// Rows on their way.
pub struct Gathering {
    /// The number of each column among those that are gathered, if it is.
    numbers: Vec<u32>,
    rows: Block,
    by_column: Filling,
}

/// A column that is left out.
const LEFT_OUT: u32 = u32::MAX;

/// The features that are gathered.
pub struct Choice {
    /// Their columns, in order.
    pub columns: Arc<[u32]>,
    /// Whether there is room for them and the counts while everything is scanned.
    pub may_stay: bool,
    /// How many values each of them has.
    lengths: Vec<u32>,
}

impl Choice {
    /// Chooses as many as fit. None if there is no room for those that have to stay, or for all rows of this shape.
    ///
    /// Where it is known well how hard features are pulled at, fewer are chosen, so that they may stay, if none is left
    /// out that may leave 0.
    pub fn new(shape: Shape, pulls: &Pulls, counts: &Counts, rooms: MemoryShares, known_well: bool) -> Option<Self> {
        let least_to_solve = least_level(shape.rows, pulls, counts, &[rooms.solving])?;
        let least_to_stay = least_level(shape.rows, pulls, counts, &rooms.staying);
        let most_to_stay = if known_well { level(MAY_LEAVE) } else { least_to_solve };
        let staying = least_to_stay.filter(|&least| least <= most_to_stay);
        let (least, may_stay) = staying.map_or((least_to_solve, false), |least| (least, true));
        let (mut columns, mut lengths) = (Vec::new(), Vec::new());
        for (j, (&count, _)) in counts.0.iter().zip(&pulls.0).enumerate().filter(|&(_, (_, &level))| level >= least) {
            lengths.push(count);
            columns.push(j as u32);
        }
        Some(Choice { columns: columns.into(), may_stay, lengths })
    }
}

impl Gathering {
    /// No rows yet. `numbers` is room for one number per feature of the store.
    pub fn new(shape: Shape, choice: &Choice, mut numbers: Vec<u32>) -> Self {
        numbers.fill(LEFT_OUT);
        choice.columns.iter().zip(0..).for_each(|(&column, number)| numbers[column as usize] = number);
        let layout = Layout { dense: false, ..shape.layout };
        let rows = Block::with_capacity(layout, choice.columns.len(), shape.rows as usize, 0);
        let lengths = choice.lengths.iter().map(|&length| length as usize);
        let by_column = Filling::new(layout, shape.rows as usize, lengths);
        Gathering { numbers, rows, by_column }
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
fn least_level(rows: u64, pulls: &Pulls, counts: &Counts, rooms: &[MemoryShare]) -> Option<u8> {
    let (mut values, mut features) = ([0u64; 256], [0u64; 256]);
    for (&level, &count) in pulls.0.iter().zip(&counts.0) {
        values[usize::from(level)] += u64::from(count);
        features[usize::from(level)] += 1;
    }
    let from = |numbers: &[u64; 256], level: u8| numbers[usize::from(level)..].iter().sum::<u64>();
    let fits = |&level: &u8| rooms.iter().all(|room| room.fits(rows, from(&values, level), from(&features, level)));
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
        let room = MemoryShare { bytes: 10 * ROWS as u64 + 8 * values, of_row: 10, of_value: 8, of_feature: 0 };
        let choice = Choice::new(shape, &pulls, &counts, MemoryShares { solving: room, staying: [room; 2] }, true)?;
        let mut gathering = Gathering::new(shape, &choice, counts.into_numbers());
        parts.for_each(|part| gathering.take(&part));
        let store = gathering.finish();
        Some((choice.columns.to_vec(), store))
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
        let room = MemoryShare { bytes: 10, of_row: 10, of_value: 8, of_feature: 0 };
        let (pulls, counts) = (Pulls::none(u64::from(COLUMNS)), Counts::none(u64::from(COLUMNS)));
        assert!(
            Choice::new(shape, &pulls, &counts, MemoryShares { solving: room, staying: [room; 2] }, true).is_none()
        );
    }

    #[test]
    fn they_stay_only_with_all_that_may_leave_0() {
        let shape = MemoryStore::new(vec![block()]).shape();
        let mut counts = Counts::none(u64::from(COLUMNS));
        counts.add(&block());
        let mut pulls = Pulls::none(u64::from(COLUMNS));
        (0..COLUMNS as usize).for_each(|j| pulls.raise(j, if j % 2 == 0 { 0.9 } else { 0.6 }));
        let even = (0..COLUMNS as usize).step_by(2).map(|j| u64::from(counts.0[j])).sum::<u64>();
        let room = |values: u64| MemoryShare { bytes: values, of_row: 0, of_value: 1, of_feature: 0 };
        let choose_if = |known_well: bool, staying: u64| {
            let rooms = MemoryShares { solving: room(1 << 20), staying: [room(1 << 20), room(staying)] };
            let choice = Choice::new(shape, &pulls, &counts, rooms, known_well).unwrap();
            (choice.columns.len(), choice.may_stay, pulls.are_within(&choice.columns))
        };
        let choose = |staying: u64| choose_if(true, staying);
        assert_eq!(choose(1 << 20), (200, true, true));
        assert_eq!(choose(even), (100, true, true));
        assert_eq!(choose_if(false, even), (200, false, true));
        // Too little room to stay: as many as can be solved.
        assert_eq!(choose(even - 1), (200, false, true));
        let odd: Vec<u32> = (1..COLUMNS).step_by(2).collect();
        assert!(!pulls.are_within(&odd) && !pulls.are_within(&[]));
        assert!(Pulls::none(9).are_within(&[]));
    }
}
