//! Features in the order of their numbers, however many they are: sorted runs on disk, which are merged.
//!
//! Features come once, in the order of columns. As many as memory holds are sorted and written as a run; then the least
//! of the first ones of all runs is the next, and each run needs a buffer only. In a run the numbers are what they are
//! above the one before, in groups of seven bits: disks are slower than that.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::store::StoreError;
use crate::write_back::WrittenBack;

/// A feature that has weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// Its number.
    pub number: u64,
    /// What its weights are multiplied by.
    pub factor: f64,
    /// Its column.
    pub column: u32,
}

/// A feature in a file: what its number is above the one before, its column, and the factor if it has one.
const MOST_RECORD_BYTES: usize = 10 + 4 + 8;
/// What a run takes in memory besides its buffer.
const RUN_BYTES: usize = size_of::<RunReader>() + size_of::<Range<u64>>() + size_of::<Reverse<(u64, usize)>>();

impl Kept {
    fn write(&self, before: u64, is_scaled: bool, out: &mut Vec<u8>) {
        let mut above = self.number.wrapping_sub(before);
        while above >= 0x80 {
            out.push(above as u8 | 0x80);
            above >>= 7;
        }
        out.push(above as u8);
        out.extend_from_slice(&self.column.to_le_bytes());
        if is_scaled {
            out.extend_from_slice(&self.factor.to_le_bytes());
        }
    }

    /// The next one, and how many bytes it has; none if they are not all there.
    fn read(before: u64, is_scaled: bool, bytes: &[u8]) -> Option<(Self, usize)> {
        let length = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
        let above = bytes[..length].iter().rev().fold(0u64, |above, byte| above << 7 | u64::from(byte & 0x7f));
        let (column, rest) = bytes[length..].split_first_chunk()?;
        let factor = if is_scaled { f64::from_le_bytes(*rest.first_chunk()?) } else { 1.0 };
        let kept = Kept { number: before.wrapping_add(above), factor, column: u32::from_le_bytes(*column) };
        Some((kept, length + 4 + if is_scaled { 8 } else { 0 }))
    }
}

/// What `features` features take at least; with less they are many runs, each of which has to have a buffer.
pub fn least_bytes(features: u64) -> u64 {
    const MOST_ANYWAY: u64 = 1 << 20;
    // A feature that waits, and as much again on its way to disk.
    features.saturating_mul(2 * size_of::<Kept>() as u64).min(MOST_ANYWAY + features / 64)
}

/// Features that are put in order.
pub struct SortedRuns {
    folder: PathBuf,
    /// What they may take in memory, which somebody pays for.
    memory_bytes: usize,
    /// What waits to be sorted.
    kept: Vec<Kept>,
    room: usize,
    /// Whether factors are other than 1.
    is_scaled: bool,
    /// Runs on disk, if not all features fit into memory.
    disk: Option<(WrittenBack, Vec<Range<u64>>)>,
}

impl SortedRuns {
    /// None of `features` yet; they may take `memory_bytes`, and go to a nameless file in `folder` if they need more.
    pub fn new(folder: &Path, (features, is_scaled): (u64, bool), memory_bytes: u64) -> Self {
        let memory_bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
        let most = (memory_bytes / size_of::<Kept>()).max(1);
        let room = usize::try_from(features).unwrap_or(usize::MAX).min(most);
        let (folder, kept) = (folder.to_path_buf(), Vec::with_capacity(room));
        SortedRuns { folder, memory_bytes, kept, room, is_scaled, disk: None }
    }

    /// Another one.
    pub fn add(&mut self, kept: Kept) -> Result<(), StoreError> {
        if self.kept.len() == self.room {
            self.end_run()?;
        }
        self.kept.push(kept);
        Ok(())
    }

    fn end_run(&mut self) -> Result<(), StoreError> {
        let failed = || StoreError::io(&self.folder, "write temporary features into it");
        self.kept.sort_unstable_by_key(|one| one.number);
        let (file, runs) = match &mut self.disk {
            Some(disk) => disk,
            None => {
                let file = tempfile::tempfile_in(&self.folder).map_err(failed())?;
                self.disk.insert((WrittenBack::new(file), Vec::new()))
            }
        };
        let (begin, mut bytes) = (file.bytes(), Vec::with_capacity(PIECE * MOST_RECORD_BYTES));
        let mut before = 0;
        for piece in self.kept.chunks(PIECE) {
            bytes.clear();
            for one in piece {
                one.write(before, self.is_scaled, &mut bytes);
                before = one.number;
            }
            file.append(&bytes).map_err(failed())?;
        }
        runs.push(begin..file.bytes());
        self.kept.clear();
        Ok(())
    }

    /// No more come.
    pub fn end(&mut self) -> Result<(), StoreError> {
        if self.disk.is_some() {
            self.end_run()?;
            self.kept = Vec::new();
        }
        self.kept.sort_unstable_by_key(|one| one.number);
        Ok(())
    }

    /// Hands out all of them in order, as often as one likes.
    pub fn each<E: From<StoreError>>(&self, mut each: impl FnMut(&Kept) -> Result<(), E>) -> Result<(), E> {
        let Some((file, runs)) = &self.disk else { return self.kept.iter().try_for_each(each) };
        let share = self.memory_bytes / runs.len();
        let buffer = share.saturating_sub(RUN_BYTES).clamp(MOST_RECORD_BYTES, MOST_BUFFER_BYTES);
        let file = file.file();
        // Runs are read in turns: what the system reads ahead of one is gone before it is asked for.
        let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Random);
        let mut readers: Vec<RunReader> = Vec::with_capacity(runs.len());
        let mut least = BinaryHeap::with_capacity(runs.len());
        for (run, range) in runs.iter().enumerate() {
            let bytes = Vec::with_capacity(buffer);
            let mut reader = RunReader { left: range.clone(), bytes, at: 0, before: 0, next: None };
            self.advance(&mut reader, file)?;
            least.extend(reader.next.iter().map(|next| Reverse((next.number, run))));
            readers.push(reader);
        }
        while let Some(Reverse((_, run))) = least.pop() {
            let reader = &mut readers[run];
            reader.next.iter().try_for_each(&mut each)?;
            self.advance(reader, file)?;
            least.extend(reader.next.iter().map(|next| Reverse((next.number, run))));
        }
        Ok(())
    }

    /// Takes the next feature of a run.
    fn advance(&self, run: &mut RunReader, file: &File) -> Result<(), StoreError> {
        if run.bytes.len() - run.at < MOST_RECORD_BYTES && run.left.start < run.left.end {
            run.fill(file).map_err(StoreError::io(&self.folder, "read temporary features in it"))?;
        }
        let found = Kept::read(run.before, self.is_scaled, &run.bytes[run.at..]);
        run.next = found.map(|(one, length)| {
            (run.at, run.before) = (run.at + length, one.number);
            one
        });
        Ok(())
    }
}

/// Features that are written at a time, and bytes that are read at a time at most.
const PIECE: usize = 1 << 12;
const MOST_BUFFER_BYTES: usize = 1 << 20;

/// A run that is read.
struct RunReader {
    left: Range<u64>,
    bytes: Vec<u8>,
    at: usize,
    /// The number of the last feature that was read.
    before: u64,
    /// That feature.
    next: Option<Kept>,
}

impl RunReader {
    /// Keeps what has not been taken, and reads as much as there is room for.
    fn fill(&mut self, file: &File) -> std::io::Result<()> {
        self.bytes.drain(..self.at);
        self.at = 0;
        let (kept, room) = (self.bytes.len(), self.bytes.capacity() - self.bytes.len());
        let count = (self.left.end - self.left.start).min(room as u64);
        self.bytes.resize(kept + count as usize, 0);
        file.read_exact_at(&mut self.bytes[kept..], self.left.start)?;
        self.left.start += count;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_come_in_the_order_of_their_numbers_whatever_memory_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let features: Vec<Kept> = (0..50_000u32)
            .map(|column| Kept { number: u64::from(column) * 48_271 % 2_147_483_647, factor: 0.5, column })
            .collect();
        let mut expected = features.clone();
        expected.sort_unstable_by_key(|one| one.number);
        for (bytes, is_scaled) in [(16 << 20, true), (300_000, true), (30_000, true), (300_000, false)] {
            let mut runs = SortedRuns::new(folder.path(), (features.len() as u64, is_scaled), bytes);
            features.iter().for_each(|&one| runs.add(one).unwrap());
            runs.end().unwrap();
            assert_eq!(runs.disk.is_some(), bytes < 1 << 20);
            for _ in 0..2 {
                let mut seen = Vec::new();
                let each = |one: &Kept| {
                    seen.push(*one);
                    Ok::<_, StoreError>(())
                };
                runs.each(each).unwrap();
                let factor = if is_scaled { 0.5 } else { 1.0 };
                assert!(seen.iter().zip(&expected).all(|(a, b)| *a == Kept { factor, ..*b }));
                assert_eq!(seen.len(), expected.len());
            }
        }
    }
}
