//! Which rows are held out together.
//!
//! The fold of a row follows from a hash of its number, or of its group, and a seed: it is the same in every run, for
//! any order of the rows in the store, and costs no memory. To stratify, each class has its own limits between folds,
//! so that every fold has its share of every class. Folds in the order of rows are tested by what comes after the rows
//! that were trained on. Folds that a program has made say of each row what it is for.
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::block::{Block, RowInfo};
use crate::budget::Budget;
use crate::engine::RowFilter;
use crate::store::{BlockId, BlockStore, ReadBuffers, StoreError};

/// How rows are dealt out to folds, once or more often.
#[derive(Clone, Debug)]
pub struct Folds {
    count: u32,
    deals: Vec<Deal>,
}

/// How rows are dealt out once.
#[derive(Clone, Debug)]
enum Deal {
    /// At random.
    Shuffled {
        seed: u64,
        by_group: bool,
        /// For each label the limits between folds, ascending; without it they are even.
        strata: Vec<(f64, Vec<u64>)>,
    },
    /// By their place in the input: the last rows are `count` parts of this size, each tested after all that come
    /// before it were trained on.
    Ordered { rows: u64, part: u64 },
    /// As somebody else has dealt them out.
    Given { splits: Vec<Split>, uses_every_row: bool },
}

/// The rows of one fold, by their place in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    rows: u64,
    train: Vec<u64>,
    test: Vec<u64>,
}

impl Split {
    /// Trained on and tested by the rows with these numbers, out of this many.
    /// None if a number is not below that.
    pub fn new(rows: u64, train: &[u64], test: &[u64]) -> Option<Split> {
        let bits = |numbers: &[u64]| {
            let mut bits = vec![0u64; rows.div_ceil(64) as usize];
            for &row in numbers {
                *bits.get_mut((row / 64) as usize).filter(|_| row < rows)? |= 1 << (row % 64);
            }
            Some(bits)
        };
        Some(Split { rows, train: bits(train)?, test: bits(test)? })
    }

    /// Whether every row is either trained on or tested.
    fn uses_every_row(&self) -> bool {
        let mut pairs = self.train.iter().zip(&self.test);
        let ones = |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        pairs.all(|(train, test)| train & test == 0) && ones(&self.train) + ones(&self.test) == self.rows
    }
}

/// Whether a row is among those with a bit.
fn has(bits: &[u64], row: u64) -> bool {
    bits.get((row / 64) as usize).is_some_and(|word| word >> (row % 64) & 1 == 1)
}

impl Folds {
    /// `count` folds; with `by_group`, rows of a group are in the same one.
    pub fn new(count: u32, seed: u64, by_group: bool) -> Self {
        Folds { count, deals: vec![Deal::Shuffled { seed, by_group, strata: Vec::new() }] }
    }

    /// Fold k trains on the first rows of the input and is tested by those that come next. All parts that are tested
    /// have the same size, and what is left over is trained on first.
    pub fn ordered(count: u32, rows: u64) -> Self {
        Folds { count, deals: vec![Deal::Ordered { rows, part: rows / (u64::from(count) + 1) }] }
    }

    /// The same, with limits that give every fold its share of the rows of every label; one scan of the store.
    pub fn stratified(count: u32, seed: u64, store: &dyn BlockStore, budget: &Budget) -> Result<Self, StoreError> {
        let shape = store.shape();
        let _paid = budget.reserve("strata", shape.rows * 32 + store.one_block_bytes())?;
        let mut hashes: Vec<(f64, u64)> = Vec::with_capacity(shape.rows as usize);
        let mut block = Block::new(shape.layout, shape.columns as usize);
        let mut buffers = ReadBuffers::default();
        for number in 0..store.blocks().len() as u32 {
            block.clear();
            store.read(BlockId(number), &mut buffers, &mut block)?;
            hashes.extend((0..block.rows()).map(|i| block.info(i)).map(|info| (info.label, hash(info.id, seed))));
        }
        hashes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let strata = hashes.chunk_by(|a, b| a.0 == b.0).map(|rows| {
            let limit = |fold: u64| rows[(rows.len() as u64 * fold / u64::from(count)) as usize].1;
            (rows[0].0, (1..u64::from(count)).map(limit).collect())
        });
        Ok(Folds { count, deals: vec![Deal::Shuffled { seed, by_group: false, strata: strata.collect() }] })
    }

    /// A fold for each split.
    pub fn given(splits: Vec<Split>) -> Self {
        let uses_every_row = splits.iter().all(Split::uses_every_row);
        Folds { count: splits.len() as u32, deals: vec![Deal::Given { splits, uses_every_row }] }
    }

    /// These and others after them, dealt out anew into as many folds.
    pub fn and(mut self, again: Folds) -> Folds {
        self.deals.extend(again.deals);
        self
    }

    /// How many there are, of all deals together.
    pub fn count(&self) -> u32 {
        self.count * self.deals.len() as u32
    }

    /// How often rows are dealt out.
    pub fn deals(&self) -> u64 {
        self.deals.len() as u64
    }

    /// How many there are of each deal.
    pub fn per_deal(&self) -> u32 {
        self.count
    }

    /// Whether every row is either trained on or tested.
    pub fn use_every_row(&self) -> bool {
        self.deals.iter().all(|deal| match deal {
            Deal::Shuffled { .. } => true,
            Deal::Ordered { .. } => false,
            Deal::Given { uses_every_row, .. } => *uses_every_row,
        })
    }

    /// Whether a row is trained on in a fold.
    pub fn trains_on(&self, fold: u32, info: &RowInfo) -> bool {
        match &self.deals[(fold / self.count) as usize] {
            shuffled @ Deal::Shuffled { .. } => shuffled.fold_of(info, self.count) != fold % self.count,
            Deal::Ordered { rows, part } => info.id < self.test_begin(fold, *rows, *part),
            Deal::Given { splits, .. } => has(&splits[(fold % self.count) as usize].train, info.id),
        }
    }

    /// Whether a row tests the model of a fold.
    pub fn tests_by(&self, fold: u32, info: &RowInfo) -> bool {
        match &self.deals[(fold / self.count) as usize] {
            shuffled @ Deal::Shuffled { .. } => shuffled.fold_of(info, self.count) == fold % self.count,
            Deal::Ordered { rows, part } => {
                let begin = self.test_begin(fold, *rows, *part);
                let is_last = fold % self.count + 1 == self.count;
                info.id >= begin && (is_last || info.id < begin + part)
            }
            Deal::Given { splits, .. } => has(&splits[(fold % self.count) as usize].test, info.id),
        }
    }

    /// Where the rows begin that an ordered fold is tested by.
    fn test_begin(&self, fold: u32, rows: u64, part: u64) -> u64 {
        rows - u64::from(self.count - fold % self.count) * part
    }
}

impl Deal {
    /// The fold of a row that is dealt out at random.
    fn fold_of(&self, info: &RowInfo, count: u32) -> u32 {
        let Deal::Shuffled { seed, by_group, strata } = self else { return 0 };
        let hash = hash(if *by_group { info.group } else { info.id }, *seed);
        match strata.binary_search_by(|stratum| stratum.0.total_cmp(&info.label)) {
            Ok(at) => strata[at].1.partition_point(|&limit| limit <= hash) as u32,
            // The high half of the product is even over the folds.
            Err(_) => ((u128::from(hash) * u128::from(count)) >> 64) as u32,
        }
    }
}

fn hash(key: u64, seed: u64) -> u64 {
    xxh3_64_with_seed(&key.to_le_bytes(), seed)
}

/// The rows that the model of a fold is trained on.
#[derive(Debug)]
pub struct TrainingRows {
    /// The folds.
    pub folds: Arc<Folds>,
    /// The one whose rows are held out.
    pub fold: u32,
}

impl RowFilter for TrainingRows {
    fn keeps(&self, info: &RowInfo, _position: u64) -> bool {
        self.folds.trains_on(self.fold, info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u64) -> RowInfo {
        RowInfo { label: 0.0, weight: 1.0, group: 0, id }
    }

    #[test]
    fn ordered_folds_are_tested_by_what_comes_next() {
        // As sklearn.model_selection.TimeSeriesSplit(3) divides 14 rows.
        let folds = Folds::ordered(3, 14);
        let chosen = |keep: &dyn Fn(&RowInfo) -> bool| (0..14).filter(|&id| keep(&row(id))).collect::<Vec<u64>>();
        for (fold, begin) in [(0, 5), (1, 8), (2, 11)] {
            assert_eq!(chosen(&|info| folds.trains_on(fold, info)), (0..begin).collect::<Vec<_>>());
            assert_eq!(chosen(&|info| folds.tests_by(fold, info)), (begin..begin + 3).collect::<Vec<_>>());
        }
        assert!(!folds.use_every_row());
    }

    #[test]
    fn given_folds_are_what_was_given() {
        let split = |train: &[u64], test: &[u64]| Split::new(70, train, test).unwrap();
        let (low, high): (Vec<u64>, Vec<u64>) = (0..70).partition(|id| id % 3 == 0);
        let folds = Folds::given(vec![split(&low, &high), split(&high, &low)]);
        let chosen = |keep: &dyn Fn(&RowInfo) -> bool| (0..70).filter(|&id| keep(&row(id))).collect::<Vec<u64>>();
        assert_eq!(chosen(&|info| folds.trains_on(0, info)), low);
        assert_eq!(chosen(&|info| folds.tests_by(0, info)), high);
        assert_eq!(chosen(&|info| folds.trains_on(1, info)), high);
        assert!(folds.use_every_row() && folds.count() == 2);
        // A row that is left out, a row that is in both, and one that is not there.
        assert!(!Folds::given(vec![split(&low[1..], &high)]).use_every_row());
        assert!(!Folds::given(vec![split(&[0, 1], &(1..70).collect::<Vec<_>>())]).use_every_row());
        assert_eq!(Split::new(70, &[70], &[]), None);
    }

    #[test]
    fn every_deal_holds_every_row_out_once_and_deals_differ() {
        let folds = Folds::new(4, 1, false).and(Folds::new(4, 2, false));
        assert_eq!((folds.count(), folds.per_deal()), (8, 4));
        let of = |deal: u32, id: u64| -> Vec<u32> {
            (4 * deal..4 * deal + 4).filter(|&fold| folds.tests_by(fold, &row(id))).collect()
        };
        for id in 0..200 {
            let tested = [of(0, id), of(1, id)];
            assert!(tested.iter().all(|found| found.len() == 1));
            assert!((0..8).all(|fold| folds.trains_on(fold, &row(id)) != folds.tests_by(fold, &row(id))));
        }
        assert!((0..200).any(|id| of(0, id)[0] != of(1, id)[0] - 4));
    }
}
