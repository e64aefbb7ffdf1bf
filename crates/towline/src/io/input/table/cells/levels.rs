//! Levels that were met lately in a column: most cells are one of a few, and finding their feature by the whole of its
//! name costs more than all else that is done to a cell.
use super::RowWriter;
use super::mistakes::CellError;
use crate::input::batch;
use crate::input::table::plan::Column;

/// Levels of a column that are remembered, a power of two.
const REMEMBERED: usize = 256;

/// The features of some levels, each at the place that its hash says.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentLevels {
    /// Hash and feature; empty until the column has a level.
    found: Vec<Option<(u64, u32)>>,
}

impl RowWriter<'_> {
    /// The feature of a level, as [`RowWriter::level`] finds it.
    #[inline]
    pub(super) fn recent_level(&mut self, column: &Column, cell: &[u8]) -> Result<u32, CellError> {
        // What rare levels and hashes become is not told by the cell.
        if column.levels.is_some() || column.hash_bits.is_some() {
            return self.level(column, cell);
        }
        if self.recent.len() <= column.place {
            self.recent.resize(column.place + 1, RecentLevels::default());
        }
        let hash = batch::hash(cell);
        let at = (hash >> 32) as usize % REMEMBERED;
        let begin = column.name.len() + 1;
        if let Some(&Some((known, key))) = self.recent[column.place].found.get(at)
            && known == hash
            && self.batch.names.get(key as usize).get(begin..) == Some(cell)
        {
            return Ok(key);
        }
        let key = self.level(column, cell)?;
        let found = &mut self.recent[column.place].found;
        if found.is_empty() {
            found.resize(REMEMBERED, None);
        }
        found[at] = Some((hash, key));
        Ok(key)
    }
}
