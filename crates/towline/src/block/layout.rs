//! What a block can hold, and what that takes in memory.
use serde::{Deserialize, Serialize};

/// How the values of a block lie in memory, from the smallest to the most general.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueKind {
    /// Every value is 1: 4 bytes a value, all of them for the column.
    Ones,
    /// One value per row, as in binary features scaled to unit length.
    PerRow,
    /// A 32-bit float per value.
    F32,
    /// A 64-bit float per value.
    F64,
}

/// What a block of rows looks like in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layout {
    /// Rows hold every column, so no indices are kept. Only with `F32` or `F64` values.
    pub dense: bool,
    /// How the values lie.
    pub values: ValueKind,
}

impl Layout {
    /// Sparse rows with 32-bit values: the general case.
    pub const SPARSE_F32: Layout = Layout { dense: false, values: ValueKind::F32 };

    /// The least layout that can hold the rows of both.
    pub fn join(self, other: Layout) -> Layout {
        Layout { dense: self.dense && other.dense, values: self.values.max(other.values) }
    }

    /// Bytes in memory of `values` values.
    pub fn value_bytes(self, values: u64) -> u64 {
        let index = if self.dense { 0 } else { 4 };
        let value = match self.values {
            ValueKind::Ones | ValueKind::PerRow => 0,
            ValueKind::F32 => 4,
            ValueKind::F64 => 8,
        };
        values * (index + value)
    }

    /// Bytes in memory of a block of `rows` rows with `values` values in all.
    pub fn resident_bytes(self, rows: u64, values: u64) -> u64 {
        self.value_bytes(values) + rows * ROW_BYTES
    }
}

/// Offset, label, weight, group, id and constant of a row.
pub const ROW_BYTES: u64 = 48;
