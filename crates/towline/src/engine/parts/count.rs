//! What parts take.
use super::EXCHANGE_VISITS;
use crate::order::Visit;

/// Bytes of so many parts: copies of the weights, the rows that are dealt out, and the dual variables of the
/// rows in memory before the interval.
pub fn bytes(parts: u64, columns: u64, rows: u64) -> u64 {
    let dealt = EXCHANGE_VISITS * (size_of::<Visit>() + size_of::<u32>());
    // Vectors that grow may be twice as large.
    parts * 8 * (columns + 1) + 2 * dealt as u64 + 8 * rows
}
