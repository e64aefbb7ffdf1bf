//! Keys of features with ids from 0 on in the order in which they came, and counts: arrays by id, and a hash table that
//! finds an id.
use hashbrown::HashTable;

use crate::budget::{Budget, BudgetError, Reservation};

/// What a feature is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Its number.
    Number(u64),
    /// A hash of its name.
    Name(u128),
}

impl Key {
    fn wide(self) -> u128 {
        match self {
            Key::Number(number) => number.into(),
            Key::Name(hash) => hash,
        }
    }

    /// One of `parts` parts, a power of two: about as many keys in each.
    pub fn part(self, parts: usize) -> usize {
        // The table takes other bits, so that the keys of a part fill it evenly.
        (mix(self.wide()).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 40) as usize % parts
    }
}

/// Keys, counts and a hash table, all paid for.
pub struct Keys {
    named: bool,
    /// Feature number by id; empty for names.
    numbers: Vec<u64>,
    /// Hash of each name, by id; empty for numbers.
    hashes: Vec<u128>,
    counts: Vec<u32>,
    /// Ids, found by their keys; empty where they are found otherwise.
    table: HashTable<u32>,
    tables: Reservation,
    arrays: Reservation,
}

pub fn too_many() -> BudgetError {
    BudgetError {
        purpose: "more than 2^32 - 1 distinct features",
        wanted_bytes: 0,
        free_bytes: 0,
        limit_bytes: 0,
        least_bytes: u64::MAX,
        program_bytes: 0,
    }
}

impl Keys {
    /// None yet.
    pub fn new(named: bool, budget: &Budget) -> Result<Self, BudgetError> {
        Ok(Keys {
            named,
            numbers: Vec::new(),
            hashes: Vec::new(),
            counts: Vec::new(),
            table: HashTable::new(),
            tables: budget.reserve("feature table", 0)?,
            arrays: budget.reserve("feature counts", 0)?,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// How often each was seen, by id.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    pub fn counts_mut(&mut self) -> &mut [u32] {
        &mut self.counts
    }

    /// Feature numbers by id.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// The key with this id.
    pub fn key(&self, id: usize) -> Key {
        if self.named { Key::Name(self.hashes[id]) } else { Key::Number(self.numbers[id]) }
    }

    /// Keys and counts by id.
    pub fn iter(&self) -> impl Iterator<Item = (Key, u32)> + '_ {
        self.counts.iter().enumerate().map(|(id, &count)| (self.key(id), count))
    }

    /// The id of `key`, whose count rises.
    pub fn add(&mut self, key: Key, count: u32) -> Result<u32, BudgetError> {
        let (id, _) = self.find_or_add(key)?;
        let total = &mut self.counts[id as usize];
        *total = total.saturating_add(count);
        Ok(id)
    }

    /// The id of `key`, if it is known.
    pub fn find(&self, key: Key) -> Option<u32> {
        let key_of = |id: u32| if self.named { self.hashes[id as usize] } else { self.numbers[id as usize].into() };
        self.table.find(mix(key.wide()), |&id| key_of(id) == key.wide()).copied()
    }

    /// The id of `key`, and whether it is new. Nothing changes where the budget says no.
    pub fn find_or_add(&mut self, key: Key) -> Result<(u32, bool), BudgetError> {
        let hash = mix(key.wide());
        let (numbers, hashes, named) = (&self.numbers, &self.hashes, self.named);
        let key_of = |id: u32| if named { hashes[id as usize] } else { numbers[id as usize].into() };
        if let Some(&id) = self.table.find(hash, |&id| key_of(id) == key.wide()) {
            return Ok((id, false));
        }
        if self.table.len() == self.table.capacity() {
            let room = (self.table.len() * 2).max(1024);
            // Old and new table are both there while entries move.
            self.tables.resize(self.table.allocation_size() as u64 + hash_table_bytes(room))?;
            self.table.reserve(room - self.table.len(), |&id| mix(key_of(id)));
            self.tables.resize(self.table.allocation_size() as u64)?;
        }
        let id = self.push(key)?;
        let (numbers, hashes, named) = (&self.numbers, &self.hashes, self.named);
        let key_of = |id: u32| if named { hashes[id as usize] } else { numbers[id as usize].into() };
        self.table.insert_unique(hash, id, |&id| mix(key_of(id)));
        Ok((id, true))
    }

    /// Adds a key that is new, and that something else will find.
    pub fn push(&mut self, key: Key) -> Result<u32, BudgetError> {
        self.grow_arrays()?;
        if self.counts.len() >= u32::MAX as usize {
            return Err(too_many());
        }
        match key {
            Key::Number(number) => self.numbers.push(number),
            Key::Name(hash) => self.hashes.push(hash),
        }
        self.counts.push(0);
        Ok(self.counts.len() as u32 - 1)
    }

    /// Puts all keys into the hash table.
    pub fn find_all(&mut self) -> Result<(), BudgetError> {
        let room = self.len() * 2;
        self.tables.resize(hash_table_bytes(room))?;
        self.table = HashTable::with_capacity(room);
        for id in 0..self.len() as u32 {
            let hash_of = |id: u32| mix(self.key(id as usize).wide());
            let hash = hash_of(id);
            // There is room for all of them: nothing is hashed anew.
            let numbers = &self.numbers;
            self.table.insert_unique(hash, id, |&id| mix(numbers[id as usize].into()));
        }
        self.tables.resize(self.table.allocation_size() as u64)
    }

    /// What they take.
    pub fn held_bytes(&self) -> u64 {
        self.tables.bytes() + self.arrays.bytes()
    }

    /// What only finding takes.
    pub fn table_bytes(&self) -> u64 {
        self.tables.bytes() + self.hashes.capacity() as u64 * 16
    }

    /// Gives back what only finding needed.
    pub fn drop_table(&mut self) -> Result<(), BudgetError> {
        self.table = HashTable::new();
        self.arrays.resize(self.arrays.bytes() - self.hashes.capacity() as u64 * 16)?;
        self.hashes = Vec::new();
        self.tables.resize(0)
    }

    /// Forgets everything.
    pub fn clear(&mut self) -> Result<(), BudgetError> {
        (self.numbers, self.hashes, self.counts) = Default::default();
        self.table = HashTable::new();
        self.tables.resize(0)?;
        self.arrays.resize(0)
    }

    /// Pays for one more entry in each array; they grow by halves, exactly.
    fn grow_arrays(&mut self) -> Result<(), BudgetError> {
        if self.counts.len() < self.counts.capacity() {
            return Ok(());
        }
        let room = (self.counts.len() + self.counts.len() / 2).max(1024);
        // A count, and a number or a hash.
        let bytes: u64 = 4 + if self.named { 16 } else { 8 };
        // Large arrays are moved by the system, not copied.
        self.arrays.resize(room as u64 * bytes)?;
        reserve_to(&mut self.counts, room);
        match self.named {
            true => reserve_to(&mut self.hashes, room),
            false => reserve_to(&mut self.numbers, room),
        }
        Ok(())
    }

    #[cfg(test)]
    pub fn set_counts(&mut self, counts: &[u32]) {
        self.counts = counts.to_vec();
    }
}

/// What a hash table for `entries` ids takes: a power of two of slots, at most 7/8 of them in use, with a byte of
/// control each.
fn hash_table_bytes(entries: usize) -> u64 {
    let slots = (entries * 8).div_ceil(7).next_power_of_two().max(16) as u64;
    slots * (size_of::<u32>() as u64 + 1) + 16
}

pub fn reserve_to<T>(array: &mut Vec<T>, room: usize) {
    array.reserve_exact(room - array.len());
}

pub fn mix(key: u128) -> u64 {
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

    #[test]
    fn parts_are_of_one_size_and_fill_a_table_evenly() {
        for step in [1u64, 64, 1 << 20, 0x9e37_79b9_7f4a_7c15] {
            let mut counts = [0; 64];
            (0..64_000u64).for_each(|k| counts[Key::Number(k.wrapping_mul(step)).part(64)] += 1);
            assert!(counts.iter().all(|&count| (700..1300).contains(&count)), "{step}: {counts:?}");
        }
    }
}
