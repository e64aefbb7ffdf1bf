//! What a Zstandard frame keeps in memory while it is unpacked: its window, as large as the frame says (RFC 8878,
//! 3.1.1.1).
use std::io;

use crate::budget::{Budget, BudgetError, Reservation};

/// The longest header of a frame.
pub const HEADER_BYTES: usize = 18;
/// The window that frames after the first one may have where there is room: what the `zstd` tool makes at any level
/// without `--long`.
const USUAL_BYTES: u64 = 8 << 20;
/// What the decoder has besides its window: a block on its way in, one on its way out, and its tables.
const DECODER_BYTES: u64 = 640 << 10;
/// The largest window that frames after the first one may have, as for the `zstd` tool.
const LATER_LOG: u32 = 27;
/// The least window that a decoder can be limited to, and the largest that there is on 64-bit machines.
const LEAST_LOG: u32 = 10;
const LARGEST_LOG: u32 = 31;

/// The window of an input.
pub struct Window {
    /// For the decoder.
    pub largest_log: u32,
    pub paid: Reservation,
}

impl Window {
    /// Pays for the window of the frame that begins with `head`, or for a larger one that later frames may have: the
    /// usual one if that is at most a quarter of what is free, and up to a 16th of it.
    pub fn of(head: &[u8], budget: &Budget) -> Result<Window, BudgetError> {
        let (largest_log, bytes) = Window::choose(head, budget.free_bytes());
        Ok(Window { largest_log, paid: budget.reserve("the window of Zstandard data", bytes)? })
    }

    /// What [`Window::of`] takes where so much is free.
    pub fn needed_bytes(head: &[u8], free: u64) -> u64 {
        Window::choose(head, free).1
    }

    /// The largest window, and what the decoder takes with it.
    fn choose(head: &[u8], free: u64) -> (u32, u64) {
        let own = window_bytes(head).unwrap_or(0);
        let later = (free / 16).max(USUAL_BYTES.min(free / 4)).clamp(1, 1 << LATER_LOG).ilog2();
        let largest_log = own.max(1 << LEAST_LOG).next_power_of_two().ilog2().min(LARGEST_LOG).max(later);
        // The window of a frame may be less than the next power of two, and so may be what is paid for.
        let window = if largest_log == later { 1 << later } else { own };
        (largest_log, window + DECODER_BYTES)
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
        let refused = Window::of(&long, &Budget::new(64 << 20)).err().unwrap();
        assert_eq!(refused.wanted_bytes, (1 << 31) + DECODER_BYTES);
        let budget = Budget::new(4 << 30);
        let window = Window::of(&long, &budget).unwrap();
        assert_eq!((window.largest_log, budget.free_bytes()), (31, (2 << 30) - DECODER_BYTES));
        // What later frames may have is paid for as well.
        for (limit, log) in [(4 << 20, 20), (64 << 20, 23), (4 << 30, 27)] {
            let budget = Budget::new(limit);
            let window = Window::of(&packed(10, b"1 1:1\n"), &budget).unwrap();
            assert_eq!((window.largest_log, window.paid.bytes()), (log, (1 << log) + DECODER_BYTES));
        }
    }
}
