//! What a Zstandard frame keeps in memory while it is unpacked: its window, as large as the frame says (RFC 8878,
//! 3.1.1.1).
use std::io;

use crate::budget::{Budget, BudgetError, Reservation};

/// The longest header of a frame.
pub const HEADER_BYTES: usize = 18;
/// Windows up to this size are part of what reading takes anyway.
const SMALL_BYTES: u64 = 8 << 20;
/// The largest window that frames after the first one may have, as for the `zstd` tool.
const LATER_LOG: u32 = 27;
/// The largest window that there is on 64-bit machines.
const LARGEST_LOG: u32 = 31;

/// The window of an input.
pub struct Window {
    /// For the decoder.
    pub largest_log: u32,
    pub paid: Option<Reservation>,
}

impl Window {
    /// Pays for the window of the frame that begins with `head`. Later frames may have one that fits into a quarter
    /// of what is left.
    pub fn of(head: &[u8], budget: &Budget) -> Result<Window, BudgetError> {
        let bytes = window_bytes(head).unwrap_or(0);
        let paid = match bytes > SMALL_BYTES {
            true => Some(budget.reserve("the window of Zstandard data", bytes)?),
            false => None,
        };
        let free = (budget.free_bytes() / 4).max(SMALL_BYTES).ilog2().min(LATER_LOG);
        let own = bytes.max(1).next_power_of_two().ilog2().min(LARGEST_LOG);
        Ok(Window { largest_log: own.max(free), paid })
    }
}

/// The window that a frame needs; none if it is no frame of data.
fn window_bytes(head: &[u8]) -> Option<u64> {
    let rest = head.strip_prefix(&[0x28, 0xb5, 0x2f, 0xfd])?;
    let (&descriptor, rest) = rest.split_first()?;
    let is_single = descriptor & 0x20 != 0;
    if !is_single {
        let &window = rest.first()?;
        let base = 1u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // A frame in one piece has its contents as its window.
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(rest.get(dictionary..dictionary + size)?);
    Some(u64::from_le_bytes(bytes) + if size == 2 { 256 } else { 0 })
}

/// Whether the decoder has refused a window.
pub fn is_too_large(error: &io::Error) -> bool {
    // The code of the error does not come through; its words are those of `ZSTD_getErrorName`.
    error.to_string().contains("too much memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn packed(log: u32, text: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(log).unwrap();
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn windows_are_read_and_paid_for() {
        for log in [10, 20, 27, 31] {
            assert_eq!(window_bytes(&packed(log, b"1 1:1\n")), Some(1 << log));
        }
        let whole = zstd::bulk::compress(&[7; 300], 1).unwrap();
        assert_eq!(window_bytes(&whole), Some(300));
        assert_eq!(window_bytes(b"\x50\x2a\x4d\x18"), None);
        let long = packed(31, b"1 1:1\n");
        assert_eq!(Window::of(&long, &Budget::new(64 << 20)).err().unwrap().wanted_bytes, 1 << 31);
        let budget = Budget::new(4 << 30);
        let window = Window::of(&long, &budget).unwrap();
        assert_eq!((window.largest_log, budget.free_bytes()), (31, 2 << 30));
    }
}
