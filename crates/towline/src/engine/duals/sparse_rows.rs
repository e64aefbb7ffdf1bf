//! Dual variables of rows that have many of them, most of which are 0: pairs of class and value, in memory or on disk.
//!
//! ```text
//! slot of a row     count u32 │ 5 x class u32 │ 5 x value f64                    64 bytes, one line of cache
//! of a larger row   count u32 │ room u32 │ .. │ place u64 │ ..                   its pairs are in a piece elsewhere
//! piece             room x (class u32, value f64), room = 8, 16, 32, ..; of a free one the place of the next free one u64
//! ```
//! At the optimum of Crammer & Singer's machine a row of 20 newsgroups has 3.5 pairs, of 57 sections of packages 3.1,
//! so most rows need no piece. Rows have slots of one size, so that those of a block are read and written at once, and
//! any one alone.
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::budget::{Budget, Reservation};
use crate::engine::TrainError;
use crate::store::StoreError;

/// Bytes of a slot.
pub const SLOT: usize = 64;
/// Pairs that fit into it.
pub const INLINE: usize = 5;
/// Where its values begin.
const VALUES: usize = 4 + 4 * INLINE;
/// Bytes of a pair in a piece.
const PAIR: usize = 12;
/// Pairs of the smallest piece.
const SMALLEST: usize = 8;
/// What pieces are paid for as.
const PURPOSE: &str = "dual variables of rows with many classes";
/// No piece is free.
const NONE: u64 = u64::MAX;

/// What pieces come to for each row, with room to spare: as much as its slot, and a twelfth of all its pairs, since the
/// first rows that are learnt have most classes. On 20 newsgroups it is 72 bytes at most, and 35 later; on 57 sections
/// of packages 37.
pub fn expected_bytes(width: u64) -> u64 {
    SLOT as u64 + width
}

/// Rows, each with as many numbers, most of which are 0.
#[derive(Debug)]
pub struct SparseRows {
    slots: Bytes,
    pieces: Bytes,
    /// Bytes of pieces that were ever given out.
    end: u64,
    /// The first free piece of each size.
    free: [u64; 32],
    /// Room for the pairs of one row.
    scratch: Vec<u8>,
}

#[derive(Debug)]
enum Bytes {
    Memory(Vec<u8>, Reservation),
    Disk(File),
}

impl SparseRows {
    /// Zeros in memory. The slots are paid for by the plan, pieces as they come.
    pub fn in_memory(rows: u64, budget: &Budget) -> Self {
        let bytes = |count: usize| Bytes::Memory(vec![0; count], budget.open(PURPOSE));
        SparseRows::over(bytes(rows as usize * SLOT), bytes(0))
    }

    /// Zeros in files that are gone when the process ends, however it ends.
    pub fn on_disk(rows: u64, folder: &Path) -> Result<Self, TrainError> {
        let file = |bytes: u64| {
            let fail = StoreError::io(folder, "create a temporary file for dual variables there");
            tempfile::tempfile_in(folder).and_then(|file| file.set_len(bytes).map(|()| file)).map_err(fail)
        };
        Ok(SparseRows::over(Bytes::Disk(file(rows * SLOT as u64)?), Bytes::Disk(file(0)?)))
    }

    fn over(slots: Bytes, pieces: Bytes) -> Self {
        SparseRows { slots, pieces, end: 0, free: [NONE; 32], scratch: Vec::new() }
    }

    /// Whether they are on disk.
    pub fn is_on_disk(&self) -> bool {
        matches!(self.slots, Bytes::Disk(_))
    }

    /// Replaces `out` by the numbers of rows from `first` on, `width` for each.
    pub fn read(&self, first: u64, width: usize, out: &mut [f64]) -> Result<(), TrainError> {
        out.fill(0.0);
        let rows = out.chunks_exact_mut(width);
        let mut copied = Vec::new();
        let slots = self.slots.part(first * SLOT as u64, rows.len() * SLOT, &mut copied)?;
        let mut pairs = Vec::new();
        for (out, slot) in rows.zip(slots.as_chunks::<SLOT>().0) {
            let count = u32_at(slot, 0) as usize;
            if count <= INLINE {
                (0..count).for_each(|k| out[u32_at(slot, 4 + 4 * k) as usize] = f64_at(slot, VALUES + 8 * k));
                continue;
            }
            let piece = self.pieces.part(u64_at(slot, VALUES), count * PAIR, &mut pairs)?;
            piece.as_chunks::<PAIR>().0.iter().for_each(|pair| out[u32_at(pair, 0) as usize] = f64_at(pair, 4));
        }
        Ok(())
    }

    /// Sets the numbers of one row.
    pub fn write(&mut self, row: u64, numbers: &[f64]) -> Result<(), TrainError> {
        let at = row * SLOT as u64;
        let mut slot = self.slots.slot(at)?;
        let before = (u32_at(&slot, 0) as usize > INLINE).then(|| (u64_at(&slot, VALUES), u32_at(&slot, 4) as usize));
        let count = numbers.iter().filter(|number| **number != 0.0).count();
        let pairs = (0u32..).zip(numbers).filter(|pair| *pair.1 != 0.0);
        if count <= INLINE {
            for (k, (class, value)) in pairs.enumerate() {
                slot[4 + 4 * k..][..4].copy_from_slice(&class.to_le_bytes());
                slot[VALUES + 8 * k..][..8].copy_from_slice(&value.to_le_bytes());
            }
        } else {
            let (place, room) = self.piece(count, before)?;
            self.scratch.clear();
            pairs.for_each(|(class, value)| {
                self.scratch.extend_from_slice(&class.to_le_bytes());
                self.scratch.extend_from_slice(&value.to_le_bytes());
            });
            self.pieces.put(place, &self.scratch)?;
            slot[4..8].copy_from_slice(&(room as u32).to_le_bytes());
            slot[VALUES..][..8].copy_from_slice(&place.to_le_bytes());
        }
        slot[..4].copy_from_slice(&(count as u32).to_le_bytes());
        self.slots.put(at, &slot)?;
        match before {
            Some((place, room)) if count <= INLINE || u64_at(&slot, VALUES) != place => self.give_back(place, room),
            _ => Ok(()),
        }
    }

    /// Appends a row; for rows in memory.
    pub fn push(&mut self, numbers: &[f64]) -> Result<(), TrainError> {
        let Bytes::Memory(slots, _) = &mut self.slots else { return Ok(()) };
        let row = slots.len() / SLOT;
        if slots.len() == slots.capacity() {
            slots.reserve_exact((row / 8 + 1) * SLOT);
        }
        slots.resize(slots.len() + SLOT, 0);
        self.write(row as u64, numbers)
    }

    /// Keeps the rows that are marked, moved together; for rows in memory.
    pub fn retain(&mut self, keep: &[bool]) -> Result<(), TrainError> {
        let mut kept = 0;
        for (row, &stays) in keep.iter().enumerate() {
            let slot = self.slots.slot((row * SLOT) as u64)?;
            if stays {
                self.slots.put((kept * SLOT) as u64, &slot)?;
                kept += 1;
            } else if u32_at(&slot, 0) as usize > INLINE {
                self.give_back(u64_at(&slot, VALUES), u32_at(&slot, 4) as usize)?;
            }
        }
        if let Bytes::Memory(slots, _) = &mut self.slots {
            slots.truncate(kept * SLOT);
        }
        Ok(())
    }

    /// A piece for so many pairs, and its room: the one that the row has, unless it is too small or far too large and
    /// there is another.
    fn piece(&mut self, count: usize, before: Option<(u64, usize)>) -> Result<(u64, usize), TrainError> {
        let room = count.next_power_of_two().max(SMALLEST);
        match before {
            Some((place, before)) if before / 4 < room && room <= before => Ok((place, before)),
            _ => match (self.take(room), before) {
                (Ok(place), _) => Ok((place, room)),
                (Err(_), Some((place, before))) if room <= before => Ok((place, before)),
                (Err(error), _) => Err(error),
            },
        }
    }

    /// A piece with room for so many pairs: a free one, a part of a larger free one, or a new one.
    fn take(&mut self, room: usize) -> Result<u64, TrainError> {
        let wanted = room.ilog2() as usize;
        let Some(size) = (wanted..self.free.len()).find(|&size| self.free[size] != NONE) else {
            let place = self.end;
            let end = place + (room * PAIR) as u64;
            self.pieces.grow_to(end)?;
            self.end = end;
            return Ok(place);
        };
        let place = self.free[size];
        let mut copied = Vec::new();
        self.free[size] = u64_at(self.pieces.part(place, 8, &mut copied)?, 0);
        // What is too much of it is a free piece of each size between.
        for smaller in wanted..size {
            self.give_back(place + (PAIR << smaller) as u64, 1 << smaller)?;
        }
        Ok(place)
    }

    fn give_back(&mut self, place: u64, room: usize) -> Result<(), TrainError> {
        let next = std::mem::replace(&mut self.free[room.ilog2() as usize], place);
        self.pieces.put(place, &next.to_le_bytes())
    }
}

impl Bytes {
    /// Bytes from `at` on; those of a file are copied.
    fn part<'a>(&'a self, at: u64, count: usize, copied: &'a mut Vec<u8>) -> Result<&'a [u8], TrainError> {
        match self {
            Bytes::Memory(bytes, _) => Ok(&bytes[at as usize..][..count]),
            Bytes::Disk(file) => {
                copied.resize(count, 0);
                file.read_exact_at(copied, at).map_err(failed)?;
                Ok(copied)
            }
        }
    }

    fn slot(&self, at: u64) -> Result<[u8; SLOT], TrainError> {
        let mut copied = Vec::new();
        let slot = self.part(at, SLOT, &mut copied)?;
        Ok(slot.as_chunks().0[0])
    }

    fn put(&mut self, at: u64, new: &[u8]) -> Result<(), TrainError> {
        match self {
            Bytes::Memory(bytes, _) => bytes[at as usize..][..new.len()].copy_from_slice(new),
            Bytes::Disk(file) => file.write_all_at(new, at).map_err(failed)?,
        }
        Ok(())
    }

    /// Makes room up to `end`. Memory grows by an eighth, and is paid for before.
    fn grow_to(&mut self, end: u64) -> Result<(), TrainError> {
        match self {
            Bytes::Memory(bytes, paid) => {
                if end > bytes.capacity() as u64 {
                    let mut most = end + end / 8;
                    if paid.grow_to(most).is_err() {
                        most = end;
                        paid.grow_to(most)?;
                    }
                    bytes.reserve_exact(most as usize - bytes.len());
                }
                bytes.resize(end as usize, 0);
            }
            Bytes::Disk(file) => file.set_len(end).map_err(failed)?,
        }
        Ok(())
    }
}

fn failed(source: io::Error) -> StoreError {
    StoreError::io(Path::new("dual variables"), "move them between memory and disk")(source)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn f64_at(bytes: &[u8], at: usize) -> f64 {
    f64::from_bits(u64_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WIDTH: usize = 40;
    const ROWS: u64 = 6;

    /// Rows with few numbers and with many.
    fn writes() -> impl Strategy<Value = Vec<(u64, Vec<f64>)>> {
        let numbers = prop_oneof![Just(2usize), Just(9), Just(20), Just(WIDTH)].prop_flat_map(|most| {
            proptest::collection::vec((0..WIDTH, -1.0f64..1.0), 0..=most).prop_map(|pairs| {
                let mut numbers = vec![0.0; WIDTH];
                pairs.into_iter().for_each(|(class, value)| numbers[class] = value);
                numbers
            })
        });
        proptest::collection::vec((0..ROWS, numbers), 0..60)
    }

    proptest! {
        /// Whatever is written, it is what dense rows would hold, in memory and on disk; pieces that were given back
        /// are used again.
        #[test]
        fn sparse_rows_are_dense_ones(writes in writes(), marks in any::<u8>()) {
            let folder = tempfile::tempdir().unwrap();
            let budget = Budget::unlimited();
            let mut dense = vec![0.0; ROWS as usize * WIDTH];
            let (mut memory, mut disk) =
                (SparseRows::in_memory(ROWS, &budget), SparseRows::on_disk(ROWS, folder.path()).unwrap());
            for (row, numbers) in &writes {
                dense[*row as usize * WIDTH..][..WIDTH].copy_from_slice(numbers);
                memory.write(*row, numbers).unwrap();
                disk.write(*row, numbers).unwrap();
            }
            let mut found = vec![f64::NAN; dense.len()];
            for rows in [&memory, &disk] {
                rows.read(0, WIDTH, &mut found).unwrap();
                prop_assert_eq!(&found, &dense);
                rows.read(2, WIDTH, &mut found[..WIDTH]).unwrap();
                prop_assert_eq!(&found[..WIDTH], &dense[2 * WIDTH..3 * WIDTH]);
            }
            // A row holds a piece of each size at most, and as many are free.
            let of_a_row: usize = [8, 16, 32, 64].iter().map(|room| room * PAIR).sum();
            prop_assert!(memory.end <= (ROWS as usize + 1) as u64 * of_a_row as u64);

            let keep: Vec<bool> = (0..ROWS).map(|row| marks >> row & 1 == 1).collect();
            memory.retain(&keep).unwrap();
            memory.push(&dense[..WIDTH]).unwrap();
            let kept = (0..ROWS as usize).filter(|&row| keep[row]).chain([0]);
            let wanted: Vec<f64> = kept.flat_map(|row| dense[row * WIDTH..][..WIDTH].to_vec()).collect();
            let mut found = vec![f64::NAN; wanted.len()];
            memory.read(0, WIDTH, &mut found).unwrap();
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn memory_is_paid_for_and_refused() {
        let budget = Budget::new(1000);
        let mut rows = SparseRows::in_memory(4, &budget);
        rows.write(0, &[1.0; 8]).unwrap();
        assert!(budget.peak_bytes() >= 8 * PAIR as u64);
        let refused = rows.write(1, &[1.0; 100]).unwrap_err();
        assert!(matches!(refused, TrainError::Budget(_)), "{refused}");
        let mut found = [0.0; 200];
        rows.read(0, 100, &mut found).unwrap();
        assert_eq!((found[7], found[8], found[100]), (1.0, 0.0, 0.0), "what was there before stays");
    }
}
