//! Rows that have been read and wait for their place in the store.
use std::path::{Path, PathBuf};

use super::spill::Spill;
use crate::block::{Block, Layout, RowInfo};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::store::StoreError;

/// Ids are below this, whatever the number of features turns out to be.
const ANY_COLUMN: usize = u32::MAX as usize + 1;
/// Memory for a row's reference while rows are sorted: place, slab, number.
const REFERENCE_BYTES: u64 = 16;

/// Where rows lie in the store.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// In the order of the input.
    Kept,
    /// In a random order from this seed.
    Shuffled(u64),
}

impl Place {
    /// Rows are sorted by this. For a fixed seed it is one-to-one, so there are no ties.
    fn of(self, id: u64) -> u64 {
        match self {
            Place::Kept => id,
            Place::Shuffled(seed) => mix(id ^ mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15))),
        }
    }
}

/// The finaliser of SplitMix64: one-to-one, and every bit of the result depends on every bit of the input.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Rows in memory and, when they do not fit, on disk.
pub struct WaitingRows {
    place: Place,
    layout: Layout,
    budget: Budget,
    folder: PathBuf,
    slabs: Vec<Block>,
    paid: Reservation,
    slab_bytes: u64,
    spill: Option<Spill>,
}

impl WaitingRows {
    /// No rows yet.
    pub fn new(place: Place, layout: Layout, folder: &Path, budget: &Budget) -> Result<Self, BudgetError> {
        let slab_bytes = (budget.limit_bytes() / 64).clamp(64 << 10, 8 << 20);
        let (budget, folder, paid) = (budget.clone(), folder.to_path_buf(), budget.reserve("rows read", 0)?);
        Ok(WaitingRows { place, layout, budget, folder, slabs: Vec::new(), paid, slab_bytes, spill: None })
    }

    /// Adds a row. `expected` estimates the bytes in memory of all rows that will come, these included.
    pub fn push(
        &mut self,
        info: RowInfo,
        ids: &[u64],
        values: &[f64],
        expected: impl Fn(u64) -> u64,
    ) -> Result<(), StoreError> {
        let needed = self.layout.resident_bytes(1, ids.len() as u64);
        let has_room = self.slabs.last().is_some_and(|slab| slab.resident_bytes() + needed <= self.slab_bytes);
        if !has_room {
            self.add_slab(needed, expected)?;
        }
        if let Some(slab) = self.slabs.last_mut() {
            slab.push(info, ids.iter().map(|&id| id as u32).zip(values.iter().copied()));
        }
        Ok(())
    }

    fn add_slab(&mut self, needed: u64, expected: impl Fn(u64) -> u64) -> Result<(), StoreError> {
        let bytes = self.slab_bytes.max(needed);
        // The other half is for the feature table, which grows too.
        let share = (self.budget.free_bytes() + self.paid.bytes()) / 2;
        let held = self.paid.bytes();
        if held + bytes > share || self.paid.resize(held + bytes).is_err() {
            self.make_room(expected(held))?;
            self.paid.resize(bytes)?;
        }
        let values = bytes / self.layout.value_bytes(1);
        self.slabs.push(Block::with_capacity(self.layout, ANY_COLUMN, 0, values as usize));
        Ok(())
    }

    /// Bytes of rows in memory.
    pub fn held_bytes(&self) -> u64 {
        self.paid.bytes()
    }

    /// Moves all rows in memory to disk. `expected` is the memory that all rows of the input would take.
    pub fn make_room(&mut self, expected: u64) -> Result<(), StoreError> {
        if self.slabs.is_empty() {
            return Ok(());
        }
        let layout = self.layout;
        let spill = match &mut self.spill {
            Some(spill) => spill,
            None => {
                // A bucket should fit into a third of what is free once reading has ended.
                let target = (self.budget.limit_bytes() / 4).max(1);
                let buckets = (expected / target + 1).clamp(2, 1024) as usize;
                let buckets = if matches!(self.place, Place::Kept) { 0 } else { buckets };
                self.spill.insert(Spill::new(&self.folder, buckets)?)
            }
        };
        match self.place {
            Place::Kept => {
                // Rows come in order, so each flush is a bucket behind the last.
                let bucket = spill.add_bucket();
                spill.write(&self.slabs, layout, |_| bucket)?;
            }
            Place::Shuffled(_) => {
                let (place, buckets) = (self.place, spill.len() as u128);
                spill.write(&self.slabs, layout, |id| ((u128::from(place.of(id)) * buckets) >> 64) as usize)?;
            }
        }
        self.slabs.clear();
        self.paid.resize(0)?;
        Ok(())
    }

    /// Hands out all rows in the order of the store, as many at a time as fit into memory: blocks of rows, and the order in
    /// which to take rows from them as (block, row).
    pub fn drain<E: From<StoreError>>(
        mut self,
        mut each: impl FnMut(&[Block], &[(u32, u32)]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.spill.is_none() {
            let rows: u64 = self.slabs.iter().map(|slab| slab.rows() as u64).sum();
            let _references = self.budget.reserve("row order", rows * REFERENCE_BYTES).map_err(StoreError::from)?;
            return each(&self.slabs, &self.order(&self.slabs));
        }
        self.make_room(0)?;
        let Some(spill) = self.spill.take() else { return Ok(()) };
        for bucket in 0..spill.len() {
            self.drain_bucket(&spill, bucket, spill.len() as u128, &mut each)?;
        }
        Ok(())
    }

    /// `parts` is how many buckets of this size all places would make, which tells a place's position within its bucket.
    fn drain_bucket<E: From<StoreError>>(
        &self,
        spill: &Spill,
        bucket: usize,
        parts: u128,
        each: &mut impl FnMut(&[Block], &[(u32, u32)]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (rows, values) = (spill.bucket(bucket).rows, spill.bucket(bucket).values);
        let bytes = self.layout.resident_bytes(rows, values) + rows * REFERENCE_BYTES;
        let paid = self.budget.reserve("rows of a bucket", bytes);
        let _paid = match (paid, self.place) {
            (Ok(paid), _) => paid,
            // Halving ends when a bucket is a single row; then the budget really is too small.
            (Err(_), Place::Shuffled(_)) if rows > 1 => return self.split_bucket(spill, bucket, parts, each),
            (Err(error), _) => return Err(StoreError::from(error).into()),
        };
        let mut slabs = Vec::new();
        spill.read(bucket, self.layout, ANY_COLUMN, |block| {
            slabs.push(block);
            Ok(())
        })?;
        each(&slabs, &self.order(&slabs))
    }

    fn split_bucket<E: From<StoreError>>(
        &self,
        spill: &Spill,
        bucket: usize,
        parts: u128,
        each: &mut impl FnMut(&[Block], &[(u32, u32)]) -> Result<(), E>,
    ) -> Result<(), E> {
        const PIECES: u128 = 8;
        let mut smaller = Spill::new(&self.folder, PIECES as usize)?;
        let place = self.place;
        // The place as a fraction of its bucket: what the multiplication by `parts` leaves below 2^64.
        let piece_of = |id: u64| {
            let within = (u128::from(place.of(id)) * parts) & u128::from(u64::MAX);
            ((within * PIECES) >> 64) as usize
        };
        spill.read(bucket, self.layout, ANY_COLUMN, |block| smaller.write(&[block], self.layout, piece_of))?;
        for piece in 0..smaller.len() {
            self.drain_bucket(&smaller, piece, parts * PIECES, each)?;
        }
        Ok(())
    }

    fn order(&self, slabs: &[Block]) -> Vec<(u32, u32)> {
        let mut references: Vec<(u64, u32, u32)> = Vec::with_capacity(slabs.iter().map(Block::rows).sum());
        for (s, slab) in slabs.iter().enumerate() {
            references.extend(slab.ids().iter().enumerate().map(|(i, &id)| (self.place.of(id), s as u32, i as u32)));
        }
        references.sort_unstable();
        references.into_iter().map(|(_, s, i)| (s, i)).collect()
    }
}
