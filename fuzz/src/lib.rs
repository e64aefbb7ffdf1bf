//! What the fuzz targets share: how long they run, and blocks that lie under correct checksums.
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use towline::store::format::HEADER_BYTES;

/// How long a target runs: ten seconds, or as many as `FUZZ_SECONDS` says.
pub fn test_time() -> Duration {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(10))
}

/// Counts executions, and tells how many there were for `benchmarks/faults.py` to add up.
#[derive(Default)]
pub struct Executions(AtomicU64);

impl Executions {
    /// Another one.
    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Executions {
    fn drop(&mut self) {
        println!("EXECUTIONS {}", self.0.load(Ordering::Relaxed));
    }
}

/// Sections of a block.
pub const SECTIONS: usize = 7;
/// Where the sizes and checksums of the sections begin.
const SECTION_TABLE: usize = 40;

/// A header and these sections behind it, with all sizes and checksums right.
pub fn signed_block(fields: &[u8; SECTION_TABLE], sections: &[Vec<u8>; SECTIONS]) -> Vec<u8> {
    let mut bytes = fields.to_vec();
    for section in sections {
        bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(section).to_le_bytes());
    }
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    sections.iter().for_each(|section| bytes.extend_from_slice(section));
    bytes
}

/// Takes a block apart: the fields of its header, and its sections.
pub fn parts(block: &[u8]) -> ([u8; SECTION_TABLE], [Vec<u8>; SECTIONS]) {
    let fields = std::array::from_fn(|k| block[k]);
    let mut rest = &block[HEADER_BYTES..];
    let sections = std::array::from_fn(|k| {
        let at = SECTION_TABLE + 12 * k;
        let size = u64::from_le_bytes(std::array::from_fn(|byte| block[at + byte])) as usize;
        let (section, after) = rest.split_at(size);
        rest = after;
        section.to_vec()
    });
    (fields, sections)
}
