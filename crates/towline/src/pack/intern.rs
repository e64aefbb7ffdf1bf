//! Features get small numbers in the order in which they are first seen, and are counted.
//!
//! Counts order the columns, and for that a sample of the rows is enough: which of two rare features comes first does not matter, and every count
//! is a miss of the cache. Where features are scaled, the counts are exact.
//!
//! Feature numbers of text are looked up in pages, a table of 4 bytes per possible feature, as long as that is not much larger than a
//! hash table would be (hashed n-grams fill their space); otherwise, and for names, in a hash table of ids, which takes 6 to 12 bytes a
//! feature. Names are known by a 128-bit hash: the names themselves go to a file at once, so a column with millions of distinct texts
//! costs little more than one with as many numbers.
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::Path;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_128;

use crate::budget::{Budget, BudgetError, Reservation};
use crate::input::RowBatch;
use crate::nearby::{large_zeroed, prefetch};
use crate::store::StoreError;
use crate::store::features::{FeatureMap, FeatureName};

/// Slots of a page, 16 MiB: most of it can be backed by large pages of 2 MiB wherever it begins, and what is never touched costs nothing.
const PAGE: usize = 1 << 22;
/// How many values ahead memory is asked for: enough to cover a miss, few enough to stay in the first cache.
const LOOK_AHEAD: usize = 24;
/// What a slot holds before its feature is seen; else it holds the id plus one.
const UNSEEN: u32 = 0;
/// Feature numbers beyond this many pages are hashed: a table of all pages below them would be larger than what they hold.
const LARGEST_PAGE: u64 = 1 << 16;
/// Pages may take this much per feature: more than a hash table, but one access finds a feature instead of two or three.
const HASHED_BYTES: u64 = 48;

/// All features seen so far.
pub struct Features {
    lookup: Lookup,
    /// Feature number by id; empty for names.
    numbers: Vec<u64>,
    /// Where each name ends, by id; empty for numbers.
    name_ends: Vec<u64>,
    /// Hash of each name, by id; empty for numbers.
    name_hashes: Vec<u128>,
    names: Option<BufWriter<File>>,
    counts: Vec<u32>,
    /// Features of older generations, whose columns stay.
    old: usize,
    tables: Reservation,
    arrays: Reservation,
}

enum Lookup {
    Pages(Vec<Option<Vec<u32>>>),
    /// Ids, found by the feature number or the hash of the name.
    Hashed(HashTable<u32>),
}

fn too_many() -> BudgetError {
    BudgetError {
        purpose: "more than 2^32 - 1 distinct features",
        wanted_bytes: 0,
        free_bytes: 0,
        limit_bytes: 0,
        least_bytes: u64::MAX,
        program_bytes: 0,
    }
}

impl Features {
    /// No features yet. Names, if features have them, go to a nameless file in `folder`.
    pub fn new(named: bool, folder: &Path, budget: &Budget) -> Result<Self, StoreError> {
        let names = match named {
            true => Some(BufWriter::new(super::spill::nameless_file(folder)?)),
            false => None,
        };
        let lookup = if named { Lookup::Hashed(HashTable::new()) } else { Lookup::Pages(Vec::new()) };
        Ok(Features {
            lookup,
            numbers: Vec::new(),
            name_ends: Vec::new(),
            name_hashes: Vec::new(),
            names,
            counts: Vec::new(),
            old: 0,
            tables: budget.reserve("feature table", 0)?,
            arrays: budget.reserve("feature counts", 0)?,
        })
    }

    /// Takes over the features of an older generation.
    pub fn load(&mut self, map: &FeatureMap, budget: &Budget) -> Result<(), StoreError> {
        for column in 0..map.len() as u32 {
            match map.name(column) {
                FeatureName::Number(number) => _ = self.number(number, budget)?,
                FeatureName::Name(name) => _ = self.name(name.as_bytes())?,
            }
        }
        self.old = map.len();
        self.counts.fill(0);
        Ok(())
    }

    /// Replaces the keys of `batch` from `done` on by ids. Where the budget says no, `done` tells how far it came, and the
    /// same call goes on from there.
    pub fn resolve(&mut self, batch: &mut RowBatch, done: &mut usize, budget: &Budget) -> Result<(), StoreError> {
        if self.names.is_some() {
            let mut ids = Vec::with_capacity(batch.names.len());
            for k in 0..batch.names.len() {
                ids.push(self.name(batch.names.get(k))?);
            }
            for key in &mut batch.keys[*done..] {
                *key = u64::from(ids[*key as usize]);
            }
            *done = batch.keys.len();
            return Ok(());
        }
        Ok(self.resolve_numbers(&mut batch.keys, done, budget)?)
    }

    fn resolve_numbers(&mut self, keys: &mut [u64], done: &mut usize, budget: &Budget) -> Result<(), BudgetError> {
        while *done < keys.len() {
            // The table is much larger than the caches: asking for slots well ahead hides most of the misses.
            if let (Lookup::Pages(pages), Some(&coming)) = (&self.lookup, keys.get(*done + LOOK_AHEAD))
                && let Some(Some(page)) = pages.get((coming / PAGE as u64) as usize)
            {
                prefetch(page, coming as usize % PAGE);
            }
            keys[*done] = u64::from(self.number(keys[*done], budget)?);
            *done += 1;
        }
        Ok(())
    }

    /// Counts the ids of a batch whose first row has this number: in all rows, or in a sample that depends on nothing but their numbers.
    pub fn count(&mut self, batch: &RowBatch, first_row: u64, exactly: bool) {
        for i in 0..batch.rows() {
            if !exactly && !is_sampled(first_row + i as u64) {
                continue;
            }
            let ids = &batch.keys[batch.range(i)];
            for (k, &id) in ids.iter().enumerate() {
                if let Some(&coming) = ids.get(k + LOOK_AHEAD) {
                    prefetch(&self.counts, coming as usize);
                }
                self.counts[id as usize] = self.counts[id as usize].saturating_add(1);
            }
        }
    }

    /// Ids from `old` on, the most frequent ones first; among equals, as they were first seen.
    pub fn by_frequency(&self) -> Vec<u32> {
        // Nearly all counts are small: they are sorted by counting them. Those that are not share the first place until they are compared.
        const MANY: u32 = 1 << 12;
        let slot = |id: u32| (MANY - self.counts[id as usize].min(MANY)) as usize;
        let (first, end) = (self.old as u32, self.counts.len() as u32);
        let mut starts = vec![0u32; MANY as usize + 1];
        (first..end).for_each(|id| starts[slot(id)] += 1);
        let frequent = starts[0] as usize;
        let mut sum = 0;
        for start in &mut starts {
            (*start, sum) = (sum, sum + *start);
        }
        let mut order = vec![0; (end - first) as usize];
        for id in first..end {
            let place = &mut starts[slot(id)];
            order[*place as usize] = id;
            *place += 1;
        }
        order[..frequent].sort_unstable_by_key(|&id| (std::cmp::Reverse(self.counts[id as usize]), id));
        order
    }

    #[inline]
    fn number(&mut self, number: u64, budget: &Budget) -> Result<u32, BudgetError> {
        if let Lookup::Pages(pages) = &self.lookup {
            let (page, slot) = ((number / PAGE as u64) as usize, number as usize % PAGE);
            if let Some(Some(page)) = pages.get(page)
                && page[slot] != UNSEEN
            {
                return Ok(page[slot] - 1);
            }
        }
        self.new_number(number, budget)
    }

    fn new_number(&mut self, number: u64, budget: &Budget) -> Result<u32, BudgetError> {
        // Whatever the budget may refuse comes before the first change.
        self.grow_arrays()?;
        self.make_page(number / PAGE as u64, budget)?;
        if self.counts.len() >= u32::MAX as usize {
            return Err(too_many());
        }
        let next = self.counts.len() as u32;
        if let Lookup::Pages(pages) = &mut self.lookup {
            if let Some(Some(page)) = pages.get_mut((number / PAGE as u64) as usize) {
                page[number as usize % PAGE] = next + 1;
            }
        } else {
            let (id, new) = self.hashed(u128::from(number))?;
            if !new {
                return Ok(id);
            }
        }
        self.numbers.push(number);
        self.counts.push(0);
        Ok(next)
    }

    /// Makes sure that the page is there, or changes to hashing if pages cost too much.
    fn make_page(&mut self, page: u64, budget: &Budget) -> Result<(), BudgetError> {
        let Lookup::Pages(pages) = &mut self.lookup else { return Ok(()) };
        if pages.get(page as usize).is_some_and(Option::is_some) {
            return Ok(());
        }
        let used = pages.iter().flatten().count() as u64 + 1;
        let needed = used * PAGE as u64 * 4 + page.min(LARGEST_PAGE) * size_of::<Option<Vec<u32>>>() as u64;
        // Pages pay off if they fit easily or are about as small as a hash table.
        let worth = (HASHED_BYTES * self.numbers.len() as u64).max(budget.data_bytes() * 2 / 5);
        if page > LARGEST_PAGE || needed > worth || self.tables.grow_to(needed).is_err() {
            return self.change_to_hashing();
        }
        if page as usize >= pages.len() {
            pages.resize_with(page as usize + 1, || None);
        }
        pages[page as usize] = Some(large_zeroed(PAGE));
        Ok(())
    }

    fn name(&mut self, name: &[u8]) -> Result<u32, StoreError> {
        self.grow_arrays()?;
        let hash = xxh3_128(name);
        let (id, new) = self.hashed(hash)?;
        if new {
            let end = self.name_ends.last().copied().unwrap_or(0) + name.len() as u64;
            self.name_ends.push(end);
            self.name_hashes.push(hash);
            self.counts.push(0);
            if let Some(names) = &mut self.names {
                names.write_all(name).map_err(StoreError::io(Path::new("feature names"), "write them"))?;
            }
        }
        Ok(id)
    }

    /// The id of `key` in the hash table, which is the next one if the key is new; the caller then adds the key to its array.
    fn hashed(&mut self, key: u128) -> Result<(u32, bool), BudgetError> {
        let Lookup::Hashed(table) = &mut self.lookup else { return Ok((0, false)) };
        let (numbers, name_hashes) = (&self.numbers, &self.name_hashes);
        let key_of = |id: u32| match name_hashes.get(id as usize) {
            Some(&hash) => hash,
            None => u128::from(numbers[id as usize]),
        };
        let hash = mix(key);
        if let Some(&id) = table.find(hash, |&id| key_of(id) == key) {
            return Ok((id, false));
        }
        let next = self.counts.len();
        if next >= u32::MAX as usize {
            return Err(too_many());
        }
        if table.len() == table.capacity() {
            let room = (table.len() * 2).max(1024);
            // Old and new table are both there while entries move.
            self.tables.resize(table.allocation_size() as u64 + hash_table_bytes(room))?;
            table.reserve(room - table.len(), |&id| mix(key_of(id)));
            self.tables.resize(table.allocation_size() as u64)?;
        }
        table.insert_unique(hash, next as u32, |&id| mix(key_of(id)));
        Ok((next as u32, true))
    }

    fn change_to_hashing(&mut self) -> Result<(), BudgetError> {
        let room = self.numbers.len() * 2;
        self.tables.resize(self.tables.bytes() + hash_table_bytes(room))?;
        let numbers = &self.numbers;
        let hash_of = |id: u32| mix(u128::from(numbers[id as usize]));
        let mut table = HashTable::with_capacity(room);
        for id in 0..numbers.len() as u32 {
            table.insert_unique(hash_of(id), id, |&id| hash_of(id));
        }
        let bytes = table.allocation_size() as u64;
        self.lookup = Lookup::Hashed(table);
        self.tables.resize(bytes)
    }

    /// Pays for one more entry in each array; they grow by halves, exactly.
    fn grow_arrays(&mut self) -> Result<(), BudgetError> {
        if self.counts.len() < self.counts.capacity() {
            return Ok(());
        }
        let room = (self.counts.len() + self.counts.len() / 2).max(1024);
        // A count, and a number or the end and the hash of a name.
        let bytes: u64 = if self.names.is_some() { 4 + 8 + 16 } else { 4 + 8 };
        // Large arrays are moved by the system, not copied.
        self.arrays.resize(room as u64 * bytes)?;
        reserve_to(&mut self.counts, room);
        if self.names.is_some() {
            reserve_to(&mut self.name_ends, room);
            reserve_to(&mut self.name_hashes, room);
        } else {
            reserve_to(&mut self.numbers, room);
        }
        Ok(())
    }

    /// How many features there will be when the part `read` of the input has brought those that are known: others come in proportion, but
    /// numbers hardly go beyond the largest one seen.
    pub fn expected(&self, read: f64) -> u64 {
        let in_proportion = self.len() as f64 / read.clamp(1e-6, 1.0);
        let largest = self.numbers.iter().max().map_or(f64::INFINITY, |&number| number as f64 + 1.0);
        in_proportion.min(largest).max(self.len() as f64) as u64
    }

    /// How many features there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Features of older generations; their ids are their columns.
    pub fn old(&self) -> usize {
        self.old
    }

    /// How often each feature was seen, by id.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// Feature numbers by id.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Ends of the names by id, and the file that holds them, rewound.
    pub fn names(&mut self) -> Result<Option<(&[u64], &mut File)>, StoreError> {
        let Some(names) = &mut self.names else { return Ok(None) };
        let fail = || StoreError::io(Path::new("feature names"), "write them");
        names.flush().map_err(fail())?;
        let file = names.get_mut();
        file.rewind().map_err(fail())?;
        Ok(Some((&self.name_ends, file)))
    }

    /// Gives back what only looking up needed.
    pub fn drop_lookup(&mut self) -> Result<(), BudgetError> {
        self.lookup = Lookup::Pages(Vec::new());
        self.arrays.resize(self.arrays.bytes() - self.name_hashes.capacity() as u64 * 16)?;
        self.name_hashes = Vec::new();
        self.tables.resize(0)
    }
}

/// What a hash table for `entries` ids takes: a power of two of slots, at most 7/8 of them in use, with a byte of control each.
fn hash_table_bytes(entries: usize) -> u64 {
    let slots = (entries * 8).div_ceil(7).next_power_of_two().max(16) as u64;
    slots * (size_of::<u32>() as u64 + 1) + 16
}

fn reserve_to<T>(array: &mut Vec<T>, room: usize) {
    array.reserve_exact(room - array.len());
}

/// All of the first rows are counted, so that few rows are counted exactly, and then one in eight.
fn is_sampled(row: u64) -> bool {
    row < 4096 || mix(u128::from(row)) >> 61 == 0
}

fn mix(key: u128) -> u64 {
    let folded = (key as u64) ^ (key >> 64) as u64;
    // Feature numbers are often small and in sequence; the multiplication spreads them over the high bits, which count.
    (folded ^ (folded >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the budget says is what the allocator gives.
    #[test]
    fn a_hash_table_takes_what_was_paid_for() {
        for entries in [0usize, 1, 7, 14, 15, 28, 29, 1000, 1024, 7 << 14, 7 << 17, 1_000_000] {
            let table: HashTable<u32> = HashTable::with_capacity(entries);
            let (paid, taken) = (hash_table_bytes(entries), table.allocation_size() as u64);
            assert!(taken <= paid && (paid <= taken + 64 || entries < 8), "{entries}: {taken} of {paid}");
        }
    }

    fn numbers(keys: &[u64]) -> RowBatch {
        RowBatch { keys: keys.to_vec(), values: vec![1.0; keys.len()], ends: vec![keys.len()], ..RowBatch::default() }
    }

    /// Small numbers lie in pages; one far away changes everything to hashing, and no id changes with it.
    #[test]
    fn ids_stay_when_pages_become_a_hash_table() {
        let folder = tempfile::tempdir().unwrap();
        for budget in [Budget::unlimited(), Budget::new(64 << 20)] {
            let mut features = Features::new(false, folder.path(), &budget).unwrap();
            let keys: Vec<u64> = (0..5000).map(|k| k * k % 7919).chain([u64::MAX, 1 << 40, 5, u64::MAX]).collect();
            let mut expected: Vec<u64> = Vec::new();
            let ids: Vec<u64> = keys
                .iter()
                .map(|key| match expected.iter().position(|seen| seen == key) {
                    Some(id) => id as u64,
                    None => {
                        expected.push(*key);
                        expected.len() as u64 - 1
                    }
                })
                .collect();
            for (keys, ids) in keys.chunks(700).zip(ids.chunks(700)) {
                let mut batch = numbers(keys);
                features.resolve(&mut batch, &mut 0, &budget).unwrap();
                assert_eq!(batch.keys, ids);
                features.count(&batch, u64::MAX / 2, true);
            }
            assert_eq!(features.numbers(), expected);
            let count = |id: usize| ids.iter().filter(|&&other| other == id as u64).count() as u32;
            assert!(features.counts().iter().enumerate().all(|(id, &n)| n == count(id)));
            assert!(budget.peak_bytes() < 40 << 20, "a far number must not make a table up to it");
        }
    }

    #[test]
    fn the_most_frequent_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut features = Features::new(false, folder.path(), &Budget::unlimited()).unwrap();
        let counts = [3u32, 1, 5000, 0, 4096, 4095, 1, 0, 7000, 5000, 3];
        features.counts = counts.to_vec();
        assert_eq!(features.by_frequency(), [8, 2, 9, 4, 5, 0, 10, 1, 6, 3, 7]);
        features.old = 3;
        assert_eq!(features.by_frequency(), [8, 9, 4, 5, 10, 6, 3, 7]);
    }

    #[test]
    fn the_sample_is_about_an_eighth() {
        let sampled = (4096..84096).filter(|&row| is_sampled(row)).count();
        assert!((9000..11000).contains(&sampled), "{sampled}");
    }

    #[test]
    fn names_keep_their_ids_while_the_table_grows() {
        let folder = tempfile::tempdir().unwrap();
        let budget = Budget::new(1 << 20);
        let mut features = Features::new(true, folder.path(), &budget).unwrap();
        for round in 0..2 {
            for k in 0..3000u32 {
                assert_eq!(features.name(format!("name {k}").as_bytes()).unwrap(), k, "round {round}");
            }
        }
        features.drop_lookup().unwrap();
        let (ends, _) = features.names().unwrap().unwrap();
        assert_eq!((ends.len(), ends[0], ends[2999]), (3000, 6, 10 * 6 + 90 * 7 + 900 * 8 + 2000 * 9));
    }
}
