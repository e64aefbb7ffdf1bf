//! The hashing trick: features become columns without a table.
use xxhash_rust::xxh3::xxh3_64;

/// The column of a feature number.
pub fn hashed_number(number: u64, bits: u32) -> u64 {
    // Neighbouring numbers spread over all columns.
    xxh3_64(&number.to_le_bytes()) >> (64 - bits)
}

/// The column of a feature name.
pub fn hashed_name(name: &[u8], bits: u32) -> u64 {
    xxh3_64(name) >> (64 - bits)
}
