//! The columns of ids, era by era.
use super::super::by_column::ByColumn;
use super::super::streams::Streams;
use super::join::Joined;
use super::{Eras, PART_OF, PARTS, append_pair, read_all, read_pair};
use crate::budget::Budget;
use crate::store::StoreError;
use crate::store::features::Scaling;

/// The columns of features that do not fit into memory.
pub struct Numbering {
    pub(super) eras: Eras,
    /// By part the columns of all ids, and how they are scaled.
    pub(super) told: Streams,
    /// Features that have columns, those of older generations included.
    pub features: u64,
    /// Whether others have none.
    pub(super) drops: bool,
    /// The largest number of a new feature.
    pub largest: u64,
    /// New features by column, counted from the first new one; with how they are scaled behind the key, if they are.
    pub keys: ByColumn,
}

/// Finds the column of each id. `columns` has those of the features of each part.
pub fn tell(eras: &Eras, joined: &Joined, columns: &Streams, budget: &Budget) -> Result<Streams, StoreError> {
    let is_scaled = eras.rule.is_some();
    let pair_bytes = if is_scaled { 16 } else { 0 };
    let mut told = Streams::new(&eras.folder, PARTS, budget)?;
    for part in 0..PARTS {
        let count = columns.bytes(part) / (8 + pair_bytes);
        let _paid = budget.reserve("columns of features", count * (4 + pair_bytes))?;
        let mut known = vec![0; count as usize];
        let mut scaling = vec![(0.0, 0.0); if is_scaled { count as usize } else { 0 }];
        let mut reader = columns.read(part, budget)?;
        for _ in 0..count {
            let id = reader.u32()? as usize;
            known[id] = reader.u32()?;
            if is_scaled {
                scaling[id] = read_pair(&mut reader)?;
            }
        }
        let mut ids = joined.streams.read(part, budget)?;
        for _ in 0..eras.records[part] {
            let id = ids.u32()? as usize;
            told.append(part, &known[id].to_le_bytes())?;
            if is_scaled {
                append_pair(&mut told, part, scaling[id])?;
            }
        }
    }
    told.end_writing()?;
    Ok(told)
}

impl Numbering {
    /// Whether some features have no column.
    pub fn drops(&self) -> bool {
        self.drops
    }

    /// Whether features are scaled.
    pub fn is_scaled(&self) -> bool {
        self.eras.rule.is_some()
    }

    /// Calls `each` with the columns of the ids of one era after the other, and how they are scaled, if they are.
    pub fn each_era(
        &self,
        budget: &Budget,
        mut each: impl FnMut(usize, &[u32], &[Scaling]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut part_of = self.eras.streams.read(PART_OF, budget)?;
        let mut told = read_all(&self.told, 0..PARTS, budget)?;
        let id_bytes = if self.is_scaled() { 4 + 16 } else { 4 };
        for (era, &size) in self.eras.sizes.iter().enumerate() {
            let _paid = budget.reserve("columns of features", id_bytes * u64::from(size))?;
            let mut columns = Vec::with_capacity(size as usize);
            let mut scaling = Vec::with_capacity(if self.is_scaled() { size as usize } else { 0 });
            for _ in 0..size {
                let told = &mut told[part_of.u8()? as usize];
                columns.push(told.u32()?);
                if self.is_scaled() {
                    let (shift, factor) = read_pair(told)?;
                    scaling.push(Scaling { shift, factor });
                }
            }
            each(era, &columns, &scaling)?;
        }
        Ok(())
    }
}
