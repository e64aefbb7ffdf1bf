//! What the fuzz targets share: how long they run, changes of bytes, small stores, and
//! blocks that lie under correct checksums.
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bolero::TypeGenerator;
use tempfile::TempDir;
use towline::store::DiskStore;
use towline::store::format::HEADER_BYTES;
use towline::store::manifest::Scale;

/// How long a target runs: five seconds, or as many as `FUZZ_SECONDS` says.
pub fn test_time() -> Duration {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
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

/// A change of some bytes.
#[derive(Clone, Debug, TypeGenerator)]
pub struct Edit(Change);

#[derive(Clone, Debug, TypeGenerator)]
enum Change {
    /// A byte becomes another one.
    Byte { at: u16, byte: u8 },
    /// A number of 4 or 8 bytes becomes one at the end of some range.
    Number { at: u16, is_long: bool, which: u8 },
    /// A byte is put in between.
    Insert { at: u16, byte: u8 },
    /// Some bytes are copied over others.
    Copy { from: u16, to: u16, length: u8 },
    /// All bytes from here on are lost.
    Cut { length: u16 },
}

/// Numbers that sums and products of sizes stumble over.
const NUMBERS: [u64; 10] =
    [0, 1, 2, 0x7f, 0xff, i32::MAX as u64, u32::MAX as u64, i64::MAX as u64, u64::MAX - 1, u64::MAX];

impl Edit {
    /// Makes the change.
    pub fn apply(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len().max(1);
        match self.0 {
            Change::Byte { at, byte } => {
                if let Some(place) = bytes.get_mut(at as usize % length) {
                    *place = byte;
                }
            }
            Change::Number { at, is_long, which } => {
                let number = NUMBERS[which as usize % NUMBERS.len()].to_le_bytes();
                let places = bytes.iter_mut().skip(at as usize % length);
                places.zip(&number[..if is_long { 8 } else { 4 }]).for_each(|(place, byte)| *place = *byte);
            }
            Change::Insert { at, byte } => bytes.insert(at as usize % (bytes.len() + 1), byte),
            Change::Copy { from, to, length: count } => {
                let (from, to) = (from as usize % length, to as usize % length);
                let count = (count as usize).min(bytes.len() - from.max(to).min(bytes.len()));
                bytes.copy_within(from..from + count, to);
            }
            Change::Cut { length } => bytes.truncate(length as usize % (bytes.len() + 1)),
        }
    }
}

/// A folder for files that are read over and over, in memory where there is such a place.
pub fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder for temporary files")
}

/// Packs text into a store of its own, and opens it.
pub fn store(folder: &Path, name: &str, text: &str, is_scaled: bool) -> Arc<DiskStore> {
    let (file, path) = (folder.join(name), folder.join(format!("{name}.tow")));
    std::fs::write(&file, text).expect("a file");
    let scale = if is_scaled { Scale::Standard } else { Scale::None };
    towline::pack(file).scale(scale).to(&path).expect("a store");
    Arc::new(DiskStore::open(&path).expect("the store"))
}

/// Rows of two classes with six values each.
pub fn libsvm(rows: u64) -> String {
    let row = |i: u64| {
        let values: String =
            (0..6).map(|k| format!(" {}:{}", 20 * k + (i * 7 + k * 3) % 19 + 1, (i + k) % 5 + 1)).collect();
        format!("{}{values}\n", i % 2)
    };
    (0..rows).map(row).collect()
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
