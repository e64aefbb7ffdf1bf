//! What a text file will ask for, seen without parsing it: only where a budget is refused, so that the one that is named
//! will do.
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::input::Input;

/// At most this much of the inputs is looked at: some seconds.
const MOST_BYTES: u64 = 4 << 30;
const PIECE_BYTES: usize = 1 << 18;

/// What was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Values of the row with the most of them, at most.
    pub longest: u64,
    /// The largest feature number at the end of a row.
    pub largest: u64,
}

/// Looks at those inputs that are plain files.
pub fn look(inputs: &[Input]) -> Look {
    let mut left = MOST_BYTES;
    let mut found = Look::default();
    for input in inputs {
        let Input::File(path) = input else { continue };
        let Ok(seen) = look_at(path, &mut left) else { continue };
        found.longest = found.longest.max(seen.longest);
        found.largest = found.largest.max(seen.largest);
    }
    found
}

fn look_at(path: &Path, left: &mut u64) -> std::io::Result<Look> {
    let (mut found, mut row) = (Look::default(), Row::default());
    if !std::fs::metadata(path)?.is_file() {
        return Ok(found);
    }
    let mut file = File::open(path)?.take(*left);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = file.read(&mut piece)?;
        *left -= count as u64;
        // Text has no such byte, and packed data has many.
        if memchr::memchr(0, &piece[..count]).is_some() {
            return Ok(Look::default());
        }
        if count == 0 {
            row.end(&mut found);
            return Ok(found);
        }
        let mut begin = 0;
        for end in memchr::memchr_iter(b'\n', &piece[..count]) {
            row.add(&piece[begin..end]);
            row.end(&mut found);
            begin = end + 1;
        }
        row.add(&piece[begin..count]);
    }
}

/// A row that may begin in one piece and end in another.
#[derive(Default)]
struct Row {
    separators: u64,
    /// Its last bytes.
    tail: Vec<u8>,
}

/// Enough for a feature number and a value.
const TAIL_BYTES: usize = 64;

impl Row {
    fn add(&mut self, bytes: &[u8]) {
        self.separators += memchr::memchr3_iter(b' ', b'\t', b',', bytes).count() as u64;
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]);
        let spare = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..spare);
    }

    fn end(&mut self, found: &mut Look) {
        found.longest = found.longest.max(self.separators);
        found.largest = found.largest.max(last_number(&self.tail).unwrap_or(0));
        self.separators = 0;
        self.tail.clear();
    }
}

/// The number before the last colon.
fn last_number(tail: &[u8]) -> Option<u64> {
    let colon = memchr::memrchr(b':', tail)?;
    let begin = tail[..colon].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    std::str::from_utf8(&tail[begin..colon]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_row_and_the_largest_number_are_seen_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let long: String = (0..100_000).map(|k| format!(" {}:1", 7 + k)).collect();
        let text = format!("1 2:1\n-1{long}\n1 3:1 123456789:0.5\n1");
        std::fs::write(&path, &text).unwrap();
        let seen = look(&[Input::File(path.clone()), Input::Stdin]);
        assert_eq!(seen, Look { longest: 100_000, largest: 123_456_789 });
        std::fs::write(&path, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
        assert_eq!(look(&[Input::File(path)]), Look::default());
        assert_eq!(look(&[Input::File(folder.path().join("none"))]), Look::default());
    }
}
