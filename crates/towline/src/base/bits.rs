//! A bit per row of a store.

/// A set of rows, by their positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowBits {
    words: Vec<u64>,
}

impl RowBits {
    /// Bytes for this many rows.
    pub fn bytes(rows: u64) -> u64 {
        rows.div_ceil(64) * 8
    }

    /// No row of `rows`.
    pub fn new(rows: u64) -> Self {
        RowBits { words: vec![0; rows.div_ceil(64) as usize] }
    }

    /// Whether the row is in the set.
    #[inline]
    pub fn get(&self, position: u64) -> bool {
        self.words[position as usize / 64] >> (position % 64) & 1 == 1
    }

    /// Puts the row into the set or takes it out.
    #[inline]
    pub fn set(&mut self, position: u64, is_in: bool) {
        let (word, bit) = (&mut self.words[position as usize / 64], 1u64 << (position % 64));
        *word = if is_in { *word | bit } else { *word & !bit };
    }

    /// Takes all rows out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Becomes the same set as another one of the same store.
    pub fn copy_from(&mut self, other: &RowBits) {
        self.words.copy_from_slice(&other.words);
    }
}
