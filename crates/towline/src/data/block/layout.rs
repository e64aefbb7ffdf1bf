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
    /// Targets of each row: 1, or more where there are several numbers to predict.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub targets: u32,
}

fn one() -> u32 {
    1
}

fn is_one(targets: &u32) -> bool {
    *targets == 1
}

impl Layout {
    /// Sparse rows with 32-bit values: the general case.
    pub const SPARSE_F32: Layout = Layout::new(false, ValueKind::F32);

    /// Rows with one target each.
    pub const fn new(dense: bool, values: ValueKind) -> Layout {
        Layout { dense, values, targets: 1 }
    }

    /// The same with so many targets a row.
    pub const fn with_targets(self, targets: u32) -> Layout {
        Layout { targets, ..self }
    }

    /// The least layout that can hold the rows of both, which have as many targets as each other.
    pub fn join(self, other: Layout) -> Layout {
        let targets = self.targets.max(other.targets);
        Layout { dense: self.dense && other.dense, values: self.values.max(other.values), targets }
    }

    /// Targets of a row behind the first.
    pub(super) fn further(self) -> usize {
        self.targets.saturating_sub(1) as usize
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
        self.value_bytes(values) + rows * (ROW_BYTES + 8 * self.further() as u64)
    }
}

/// Offset, label, weight, group, id and constant of a row with one target.
pub const ROW_BYTES: u64 = 48;
