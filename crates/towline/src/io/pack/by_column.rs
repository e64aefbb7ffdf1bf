//! Keys of features in the order of their columns, however they come, in little memory: parted by range of columns on
//! disk, and each part put in order alone.
use std::path::Path;

use super::streams::Streams;
use crate::budget::{Budget, Reservation};
use crate::store::StoreError;

/// Parts at most: each has a buffer.
const MOST_PARTS: u64 = 256;

/// Keys that wait for their turn.
pub struct ByColumn {
    streams: Streams,
    columns: u64,
    columns_per_part: u64,
}

impl ByColumn {
    /// For `columns` columns whose keys take `key_bytes` in all.
    pub fn new(columns: u64, key_bytes: u64, folder: &Path, budget: &Budget) -> Result<Self, StoreError> {
        // A part in memory takes its keys and where each begins.
        let total_bytes = key_bytes + columns * START_BYTES;
        let parts = (total_bytes / (budget.data_bytes() / 16).max(1) + 1).min(MOST_PARTS);
        let columns_per_part = columns.div_ceil(parts).max(1);
        Ok(ByColumn { streams: Streams::new(folder, parts as usize, budget)?, columns, columns_per_part })
    }

    /// The key of a column.
    pub fn add(&mut self, column: u32, key: &[u8]) -> Result<(), StoreError> {
        let part = (u64::from(column) / self.columns_per_part) as usize;
        self.streams.append(part, &column.to_le_bytes())?;
        self.streams.append(part, &(key.len() as u32).to_le_bytes())?;
        self.streams.append(part, key)
    }

    /// No more keys come.
    pub fn end_writing(&mut self) -> Result<(), StoreError> {
        self.streams.end_writing()
    }

    /// Hands out the keys of all columns in order.
    pub fn drain(
        mut self,
        budget: &Budget,
        mut each: impl FnMut(u32, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.streams.end_writing()?;
        for first in (0..self.columns).step_by(self.columns_per_part as usize) {
            let count = (self.columns - first).min(self.columns_per_part);
            let part = (first / self.columns_per_part) as usize;
            let (starts, keys, _paid) = self.read_part(part, first as u32, count as usize, budget)?;
            for (column, &(start, length)) in (first as u32..).zip(&starts) {
                each(column, &keys[start as usize..start as usize + length as usize])?;
            }
        }
        Ok(())
    }

    /// The keys of a part.
    fn read_part(&self, part: usize, first: u32, count: usize, budget: &Budget) -> Result<PartKeys, StoreError> {
        let bytes = self.streams.bytes(part);
        let paid = budget.reserve("features in the order of columns", bytes + count as u64 * START_BYTES)?;
        let (mut starts, mut keys) = (vec![(0, 0); count], Vec::with_capacity(bytes as usize));
        let mut reader = self.streams.read(part, budget)?;
        for _ in 0..count {
            let (column, length) = (reader.u32()?, reader.u32()?);
            starts[(column - first) as usize] = (keys.len() as u64, length);
            let at = keys.len();
            keys.resize(at + length as usize, 0);
            reader.exact(&mut keys[at..])?;
        }
        Ok((starts, keys, paid))
    }
}

/// Begin and length of the key of each column in a part, and the keys.
type PartKeys = (Vec<(u64, u32)>, Vec<u8>, Reservation);

/// Where a key begins, and how long it is.
const START_BYTES: u64 = size_of::<(u64, u32)>() as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_the_order_of_columns() {
        let folder = tempfile::tempdir().unwrap();
        for (budget, columns) in [(1 << 20, 7919u32), (1 << 30, 7919), (1 << 20, 1), (1 << 20, 0)] {
            let budget = Budget::new(budget);
            let key = |column: u32| "x".repeat(column as usize % 30) + &column.to_string();
            let bytes = (0..columns).map(|column| key(column).len() as u64).sum();
            let mut keys = ByColumn::new(columns.into(), bytes, folder.path(), &budget).unwrap();
            for k in 0..columns {
                let column = (u64::from(k) * 6007 % u64::from(columns)) as u32;
                keys.add(column, key(column).as_bytes()).unwrap();
            }
            let mut seen = 0;
            keys.drain(&budget, |column, found| {
                assert_eq!((column, found), (seen, key(seen).as_bytes()));
                seen += 1;
                Ok(())
            })
            .unwrap();
            assert_eq!(seen, columns);
        }
    }
}
