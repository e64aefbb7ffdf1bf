//! Rows that have been read and wait for their place in the store.
use std::path::{Path, PathBuf};

use super::eras::Numbering;
use super::select::DROPPED;
use super::spill::Spill;
use crate::block::{Block, Layout, RowInfo};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::store::StoreError;

/// Ids are below this, whatever the number of features turns out to be.
const ANY_COLUMN: usize = u32::MAX as usize + 1;
/// Memory for a row's references while rows are sorted and cut: place, slab and number, then slab and number once more,
/// and its length.
const REFERENCE_BYTES: u64 = 16 + 8 + 4;
/// This part of the memory for data is left to the blocks that rows are written to.
const BLOCKS_PART: u64 = 8;

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
    /// What stays paid for, so that the longest row that is expected has a slab.
    least_bytes: u64,
    segment_bytes: u64,
    spill: Option<Spill>,
    /// Buckets of the rows of an era, once some have gone to disk, and the first one of this era.
    buckets: usize,
    first_bucket: usize,
    /// The first bucket of each era that has ended; none for those before the first row on disk.
    ended: Vec<Option<usize>>,
    /// Rows leave when there is no room any more, so what that takes is set aside from the beginning.
    leaving: Reservation,
    /// Pays for the order of rows that stay in memory.
    order_paid: Reservation,
}

impl WaitingRows {
    /// No rows yet.
    pub fn new(
        place: Place,
        layout: Layout,
        folder: &Path,
        threads: usize,
        budget: &Budget,
    ) -> Result<Self, BudgetError> {
        let slab_bytes = (budget.data_bytes() / 64).clamp(64 << 10, 32 << 20);
        let segment_bytes = (slab_bytes / 4).clamp(64 << 10, 2 << 20);
        let leaving = budget
            .reserve("rows on their way to disk", threads as u64 * Spill::writing_bytes(segment_bytes, layout))?;
        Ok(WaitingRows {
            place,
            layout,
            budget: budget.clone(),
            folder: folder.to_path_buf(),
            slabs: Vec::new(),
            // One slab is set aside: a table of features that has taken all the rest must not end the reading.
            paid: budget.reserve("rows read", slab_bytes)?,
            slab_bytes,
            least_bytes: slab_bytes,
            segment_bytes,
            spill: None,
            buckets: 0,
            first_bucket: 0,
            ended: Vec::new(),
            leaving,
            order_paid: budget.reserve("row order", 0)?,
        })
    }

    /// No more rows come: if all of them are in memory, and their order fits beside them, none will have to leave.
    pub fn all_read(&mut self) -> Result<(), StoreError> {
        if self.spill.is_some() {
            return Ok(());
        }
        let order_bytes = REFERENCE_BYTES * self.slabs.iter().map(|slab| slab.rows() as u64).sum::<u64>();
        let blocks_bytes = self.budget.data_bytes() / BLOCKS_PART;
        if self.budget.free_bytes() + self.leaving.bytes() < order_bytes + blocks_bytes {
            return self.make_room(self.held_bytes());
        }
        self.leaving.resize(0)?;
        Ok(self.order_paid.grow_to(order_bytes)?)
    }

    /// No slab will be needed any more.
    fn end_reading(&mut self) -> Result<(), StoreError> {
        self.make_room(0)?;
        Ok(self.paid.resize(0)?)
    }

    /// Rows have so many targets: said before the first one comes.
    pub fn set_targets(&mut self, targets: u32) {
        self.layout.targets = targets;
    }

    /// Makes sure that rows of up to so many values can be added. Nothing is lost where the budget says no.
    pub fn expect(&mut self, values: u64) -> Result<(), StoreError> {
        let needed = self.layout.resident_bytes(1, values);
        self.leaving.grow_to(Spill::writing_bytes(needed, self.layout))?;
        self.paid.grow_to(needed)?;
        self.least_bytes = self.least_bytes.max(needed);
        Ok(())
    }

    /// Adds a row, with its targets behind the first. `expected` estimates the bytes in memory of all rows that will
    /// come, these included.
    pub fn push(
        &mut self,
        info: RowInfo,
        further: &[f64],
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
            slab.add_further(further);
            slab.push_arrays(info, ids.iter().map(|&id| id as u32), values.iter().copied());
        }
        Ok(())
    }

    fn add_slab(&mut self, needed: u64, expected: impl Fn(u64) -> u64) -> Result<(), StoreError> {
        let bytes = self.slab_bytes.max(needed);
        // The other half is for the feature table, which grows too.
        let share = (self.budget.free_bytes() + self.paid.bytes()) / 2;
        let held = self.held_bytes();
        if held + bytes > share || self.paid.resize((held + bytes).max(self.least_bytes)).is_err() {
            self.make_room(expected(held))?;
            self.paid.resize(bytes.max(self.least_bytes))?;
        }
        let values = bytes / self.layout.value_bytes(1);
        self.slabs.push(Block::with_capacity(self.layout, ANY_COLUMN, 0, values as usize));
        Ok(())
    }

    /// Bytes of rows in memory.
    pub fn held_bytes(&self) -> u64 {
        if self.slabs.is_empty() { 0 } else { self.paid.bytes() }
    }

    /// Moves all rows in memory to disk. `expected` is the memory that all rows of the input would take.
    pub fn make_room(&mut self, expected: u64) -> Result<(), StoreError> {
        if self.slabs.is_empty() {
            return Ok(());
        }
        let spill = match &mut self.spill {
            Some(spill) => spill,
            None => {
                self.buckets = match self.place {
                    // Rows come in order, and go in order.
                    Place::Kept => 1,
                    // A bucket should fit into a third of what is free once reading has ended.
                    Place::Shuffled(_) => {
                        (expected / (self.budget.data_bytes() / 4).max(1) + 1).clamp(2, 1024) as usize
                    }
                };
                self.spill.insert(Spill::new(&self.folder, self.buckets)?)
            }
        };
        let (place, first, buckets) = (self.place, self.first_bucket, self.buckets as u128);
        let bucket_of = |id: u64| match place {
            Place::Kept => first,
            Place::Shuffled(_) => first + ((u128::from(place.of(id)) * buckets) >> 64) as usize,
        };
        spill.write(&self.slabs, self.layout, (self.segment_bytes, self.leaving.bytes()), bucket_of)?;
        self.slabs.clear();
        self.paid.resize(self.least_bytes.min(self.paid.bytes()))?;
        Ok(())
    }

    /// Ids begin anew: all rows go to disk, those of each era for themselves.
    pub fn end_era(&mut self, expected: u64) -> Result<(), StoreError> {
        self.make_room(expected)?;
        self.ended.push(self.spill.as_ref().map(|_| self.first_bucket));
        if let Some(spill) = &mut self.spill {
            self.first_bucket = spill.len();
            spill.add_buckets(self.buckets);
        }
        Ok(())
    }

    /// Puts columns in the place of ids that `numbering` has of eras, the last of which has ended, and scales values.
    pub fn renumber(&mut self, numbering: &Numbering) -> Result<(), StoreError> {
        let Some(spill) = self.spill.take() else { return Ok(()) };
        let mut renumbered = Spill::new(&self.folder, self.buckets)?;
        let sizes = (self.segment_bytes, self.leaving.bytes());
        numbering.each_era(&self.budget, |era, columns, scaling| {
            let Some(first) = self.ended[era] else { return Ok(()) };
            for bucket in 0..self.buckets {
                spill.read(first + bucket, self.layout, ANY_COLUMN, |mut block| {
                    if numbering.drops() {
                        block.retain_columns(|id| columns[id as usize] != DROPPED);
                    }
                    if numbering.is_scaled() {
                        block.map_values(|id, value| scaling[id as usize].apply(value));
                    }
                    block.renumber(columns);
                    renumbered.write(&[block], self.layout, sizes, |_| bucket)
                })?;
            }
            Ok(())
        })?;
        self.spill = Some(renumbered);
        (self.first_bucket, self.ended) = (0, Vec::new());
        Ok(())
    }

    /// Hands out all rows in the order of the store, as many at a time as fit into memory: blocks of rows, and the
    /// order in which to take rows from them as (block, row).
    pub fn drain<E: From<StoreError>>(
        mut self,
        mut each: impl FnMut(&[Block], &[(u32, u32)]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.spill.is_none() {
            return each(&self.slabs, &self.order(&self.slabs));
        }
        self.end_reading()?;
        let Some(spill) = self.spill.take() else { return Ok(()) };
        if matches!(self.place, Place::Kept) {
            return self.drain_in_order(&spill, &mut each);
        }
        for bucket in 0..spill.len() {
            self.drain_bucket(&spill, bucket, spill.len() as u128, &mut each)?;
        }
        Ok(())
    }

    /// Rows that lie on disk in the order of the store need no sorting: as many segments at a time as half of the free
    /// memory holds.
    fn drain_in_order<E: From<StoreError>>(
        &self,
        spill: &Spill,
        each: &mut impl FnMut(&[Block], &[(u32, u32)]) -> Result<(), E>,
    ) -> Result<(), E> {
        let target = self.budget.free_bytes() / 2;
        let mut paid = self.budget.reserve("rows of a bucket", 0).map_err(StoreError::from)?;
        let (mut slabs, mut held): (Vec<Block>, u64) = (Vec::new(), 0);
        spill.read(0, self.layout, ANY_COLUMN, |block| {
            let bytes = block.resident_bytes() + block.rows() as u64 * REFERENCE_BYTES;
            if !slabs.is_empty() && held + bytes > target {
                each(&slabs, &self.order(&slabs))?;
                slabs.clear();
                held = 0;
            }
            held += bytes;
            paid.resize(held).map_err(StoreError::from)?;
            slabs.push(block);
            Ok::<_, E>(())
        })?;
        each(&slabs, &self.order(&slabs))
    }

    /// `parts` is how many buckets of this size all places would make, which tells a place's position within its
    /// bucket.
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
        let _paid = match paid {
            Ok(paid) => paid,
            // Parting ends when a bucket is a single row; then the budget really is too small.
            Err(_) if rows > 1 => return self.split_bucket(spill, bucket, parts, each),
            Err(error) => return Err(StoreError::from(error).into()),
        };
        let mut slabs = Vec::new();
        spill.read(bucket, self.layout, ANY_COLUMN, |block| {
            slabs.push(block);
            Ok::<_, StoreError>(())
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
        spill.read(bucket, self.layout, ANY_COLUMN, |block| {
            smaller.write(&[block], self.layout, (self.segment_bytes, self.leaving.bytes()), piece_of)
        })?;
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
