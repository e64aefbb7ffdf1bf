//! The block table: where each block lies and how large it is, 40 bytes a block.
use std::path::Path;

use super::manifest::Manifest;
use super::{BlockInfo, StoreError, format};

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 40;

/// Where a block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub file: u32,
    pub offset: u64,
    pub info: BlockInfo,
}

impl Entry {
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.info.stored_bytes.to_le_bytes());
        out.extend_from_slice(&self.info.values.to_le_bytes());
        out.extend_from_slice(&self.info.rows.to_le_bytes());
        out.extend_from_slice(&self.file.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
    }

    fn parse(bytes: &[u8; ENTRY_BYTES]) -> Entry {
        let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        let info = BlockInfo { rows: u32_at(24), values: u64_at(16), stored_bytes: u64_at(8) };
        Entry { file: u32_at(28), offset: u64_at(0), info }
    }
}

/// Parses the table and holds it against the manifest, whose sizes the caller has held against the files.
pub fn parse(path: &Path, bytes: &[u8], manifest: &Manifest) -> Result<Vec<Entry>, StoreError> {
    let damaged = |problem: String| StoreError::damaged(path, problem);
    let (items, rest) = bytes.as_chunks::<ENTRY_BYTES>();
    if !rest.is_empty() || items.len() > u32::MAX as usize {
        return Err(damaged("the block table has an impossible size".into()));
    }
    let entries: Vec<Entry> = items.iter().map(Entry::parse).collect();
    let (mut rows, mut values) = (0u64, 0u64);
    let mut ends = vec![0u64; manifest.block_files.len()];
    for (number, entry) in entries.iter().enumerate() {
        let end = ends
            .get_mut(entry.file as usize)
            .ok_or_else(|| damaged(format!("block {number} lies in a file that the manifest does not list")))?;
        // Blocks follow each other in their file: anything else is an overlap or a hole.
        if entry.offset != *end {
            return Err(damaged(format!("block {number} does not begin where the one before it ends")));
        }
        *end = end
            .checked_add(entry.info.stored_bytes)
            .ok_or_else(|| damaged(format!("block {number} has an impossible size")))?;
        let most = format::most_values(entry.info.stored_bytes);
        if entry.info.values > most || u64::from(entry.info.rows) > most {
            return Err(damaged(format!("block {number} has too few bytes for what it is said to hold")));
        }
        rows += u64::from(entry.info.rows);
        values = values.saturating_add(entry.info.values);
    }
    for (file, &end) in manifest.block_files.iter().zip(&ends) {
        if file.bytes != end {
            return Err(damaged(format!("the blocks in {} do not add up to its size", file.name)));
        }
    }
    if (rows, values) != (manifest.rows, manifest.stored().values) {
        return Err(damaged("the blocks do not add up to the rows and values of the manifest".into()));
    }
    Ok(entries)
}
