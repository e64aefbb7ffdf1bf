//! The dual variable of every row, resident or not: in memory, or on disk where memory is short (SBM, section 5.2).
//!
//! Rows of a block lie side by side, so a block costs one read and, after its step, one write; rows from the cache are
//! written in runs of neighbours. Where most dual variables of a row are 0, just the others are kept.
pub(crate) mod checkpoint;
pub(crate) mod checkpoints;
pub(crate) mod sparse_rows;
mod stored;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use crate::budget::Budget;
use crate::engine::TrainError;
use crate::engine::duals::checkpoint::Checkpoint;
use crate::engine::duals::sparse_rows::SparseRows;
use crate::store::StoreError;

/// Dual variables that are moved at a time where all of them are read or written.
const CHUNK: usize = 8 << 10;

/// Dual variables by position in the store.
#[derive(Debug)]
pub enum Duals {
    /// All of them.
    Memory(Vec<f64>),
    /// In a file without a name, which begins as zeros.
    Disk {
        /// The file.
        file: File,
        /// How many there are.
        rows: u64,
    },
    /// Those of rows with many of them, most of which are 0.
    Sparse {
        /// The rows.
        rows: Box<SparseRows>,
        /// How many there are, zeros included.
        count: u64,
        /// Dual variables a row.
        width: usize,
    },
}

/// Where dual variables come from when a run does not begin with zeros.
#[derive(Debug)]
pub enum Start {
    /// By position in the store; rows beyond them start at 0.
    Values(Vec<f64>),
    /// Those of another model, each times a factor.
    Duals(Duals, f64),
    /// Those of an earlier run, each times a factor; rows that came later start at 0.
    Earlier(Box<Checkpoint>, f64),
    /// Those that a run of this process has left, each times a factor, with what else it knew.
    Left(Arc<Left>, f64),
}

/// What a run leaves for the next one on the same rows.
#[derive(Debug)]
pub struct Left {
    /// w by column, the constant feature last.
    pub weights: Vec<f64>,
    /// β.
    pub duals: Duals,
    /// Σ βx by column, the constant feature last: known, so that no scan is needed to sum it.
    pub sums: Vec<f64>,
}

impl Start {
    /// Whether nothing is known: there was no room to keep it.
    pub fn is_empty(&self) -> bool {
        matches!(self, Start::Duals(duals, _) if duals.rows() == 0)
    }

    /// The same, times a factor.
    pub fn times(self, factor: f64) -> Start {
        match self {
            Start::Values(mut values) => {
                values.iter_mut().for_each(|value| *value *= factor);
                Start::Values(values)
            }
            Start::Duals(duals, before) => Start::Duals(duals, before * factor),
            Start::Earlier(checkpoint, before) => Start::Earlier(checkpoint, before * factor),
            Start::Left(left, before) => Start::Left(left, before * factor),
        }
    }
}

impl Duals {
    /// Zeros in memory.
    pub fn in_memory(rows: u64) -> Self {
        Duals::Memory(vec![0.0; rows as usize])
    }

    /// Zeros in a file that is gone when the process ends, however it ends.
    pub fn on_disk(rows: u64, folder: &Path) -> Result<Self, StoreError> {
        let fail = StoreError::io(folder, "create a temporary file for dual variables there");
        let file =
            tempfile::tempfile_in(folder).and_then(|file| file.set_len(rows * 8).map(|()| file)).map_err(fail)?;
        Ok(Duals::Disk { file, rows })
    }

    /// Zeros of so many rows with `width` of them each, most of which will stay 0: in memory, or in files there.
    pub fn sparse(rows: u64, width: usize, folder: Option<&Path>, budget: &Budget) -> Result<Self, TrainError> {
        let count = rows * width as u64;
        let rows = match folder {
            None => SparseRows::in_memory(rows, budget),
            Some(folder) => SparseRows::on_disk(rows, folder)?,
        };
        Ok(Duals::Sparse { rows: Box::new(rows), count, width })
    }

    /// How many there are.
    pub fn rows(&self) -> u64 {
        match self {
            Duals::Memory(values) => values.len() as u64,
            Duals::Disk { rows, .. } => *rows,
            Duals::Sparse { count, .. } => *count,
        }
    }

    /// Whether they are on disk, where neighbours are best written together.
    pub fn is_on_disk(&self) -> bool {
        match self {
            Duals::Memory(_) => false,
            Duals::Disk { .. } => true,
            Duals::Sparse { rows, .. } => rows.is_on_disk(),
        }
    }

    /// How many are moved at a time where all of them are: whole rows.
    fn chunk(&self) -> usize {
        match self {
            Duals::Sparse { width, .. } => rows_at_once(*width) * width,
            _ => CHUNK,
        }
    }

    /// Replaces `out` by `count` dual variables from `first` on; of whole rows, where they are sparse.
    pub fn read(&self, first: u64, count: usize, out: &mut Vec<f64>) -> Result<(), TrainError> {
        out.clear();
        match self {
            Duals::Memory(values) => out.extend_from_slice(&values[first as usize..first as usize + count]),
            Duals::Disk { file, .. } => read_at(file, first * 8, count, out).map_err(failed)?,
            Duals::Sparse { rows, width, .. } => {
                out.resize(count, 0.0);
                rows.read(first / *width as u64, *width, out)?;
            }
        }
        Ok(())
    }

    /// Sets the dual variables from `first` on; of whole rows, where they are sparse.
    pub fn write(&mut self, first: u64, values: &[f64]) -> Result<(), TrainError> {
        match self {
            Duals::Memory(all) => all[first as usize..][..values.len()].copy_from_slice(values),
            Duals::Disk { file, .. } => {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                file.write_all_at(&bytes, first * 8).map_err(failed)?;
            }
            Duals::Sparse { rows, width, .. } => {
                let first = first / *width as u64;
                (first..).zip(values.chunks_exact(*width)).try_for_each(|(row, values)| rows.write(row, values))?;
            }
        }
        Ok(())
    }

    /// Sets the dual variables of the rows at these positions, all of which have as many.
    pub fn set<'a>(&mut self, items: impl Iterator<Item = (u64, &'a [f64])>) -> Result<(), TrainError> {
        if let Duals::Memory(all) = self {
            for (position, values) in items {
                all[position as usize * values.len()..][..values.len()].copy_from_slice(values);
            }
            return Ok(());
        }
        let mut items: Vec<(u64, &[f64])> = items.collect();
        items.sort_unstable_by_key(|item| item.0);
        for run in items.chunk_by(|a, b| a.0 + 1 == b.0) {
            let values: Vec<f64> = run.iter().flat_map(|item| item.1).copied().collect();
            self.write(run[0].0 * run[0].1.len() as u64, &values)?;
        }
        Ok(())
    }

    /// Takes over what a run starts from.
    pub fn begin_with(&mut self, start: &Start) -> Result<(), TrainError> {
        match start {
            Start::Values(values) => {
                let count = values.len().min(self.rows() as usize);
                self.write(0, &values[..count])
            }
            Start::Duals(duals, factor) => {
                self.copy(duals.rows(), *factor, |first, count, out| duals.read(first, count, out))
            }
            Start::Left(left, factor) => {
                self.copy(left.duals.rows(), *factor, |first, count, out| left.duals.read(first, count, out))
            }
            Start::Earlier(checkpoint, factor) => {
                let mut numbers = checkpoint.duals().map_err(failed)?;
                let read = |_, count: usize, out: &mut Vec<f64>| {
                    out.resize(count, 0.0);
                    Ok(numbers.next(out).map_err(failed)?)
                };
                self.copy(checkpoint.count(), *factor, read)
            }
        }
    }

    /// Takes over as many of `count` dual variables as there is room for, some at a time.
    fn copy(
        &mut self,
        count: u64,
        factor: f64,
        mut read: impl FnMut(u64, usize, &mut Vec<f64>) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let count = count.min(self.rows());
        let (chunk, mut values) = (self.chunk(), Vec::new());
        for first in (0..count).step_by(chunk) {
            read(first, chunk.min((count - first) as usize), &mut values)?;
            values.iter_mut().for_each(|value| *value *= factor);
            self.write(first, &values)?;
        }
        Ok(())
    }

    /// Calls `each` with all dual variables in order, some at a time.
    pub fn for_each_chunk(&self, mut each: impl FnMut(&[f64]) -> io::Result<()>) -> io::Result<()> {
        if let Duals::Memory(values) = self {
            return each(values);
        }
        let (chunk, count, mut values) = (self.chunk(), self.rows(), Vec::new());
        for first in (0..count).step_by(chunk) {
            self.read(first, chunk.min((count - first) as usize), &mut values).map_err(io::Error::other)?;
            each(&values)?;
        }
        Ok(())
    }

    /// How many are not 0.
    pub fn support(&self) -> Result<u64, StoreError> {
        let mut support = 0;
        let count = |values: &[f64]| {
            support += values.iter().filter(|value| **value != 0.0).count() as u64;
            Ok(())
        };
        self.for_each_chunk(count).map_err(failed)?;
        Ok(support)
    }

    /// What the negative and the positive ones add up to.
    pub(crate) fn sums(&self) -> Result<DualSums, StoreError> {
        let mut sums = DualSums::default();
        let add = |values: &[f64]| {
            values.iter().for_each(|&value| sums.add(value));
            Ok(())
        };
        self.for_each_chunk(add).map_err(failed)?;
        Ok(sums)
    }

    /// Multiplies the negative and the positive ones.
    pub(crate) fn multiply(&mut self, by: [f64; 2]) -> Result<(), TrainError> {
        let mut values = Vec::new();
        for first in (0..self.rows()).step_by(self.chunk()) {
            self.read(first, self.chunk().min((self.rows() - first) as usize), &mut values)?;
            values.iter_mut().for_each(|value| *value *= by[usize::from(*value > 0.0)]);
            self.write(first, &values)?;
        }
        Ok(())
    }

    /// All of them, in memory.
    pub fn values(&self) -> io::Result<Vec<f64>> {
        let mut all = Vec::with_capacity(self.rows() as usize);
        self.for_each_chunk(|values| {
            all.extend_from_slice(values);
            Ok(())
        })?;
        Ok(all)
    }
}

/// Rows with so many dual variables each that are moved at a time.
pub fn rows_at_once(width: usize) -> usize {
    (CHUNK / width).max(1)
}

/// Sums of the negative and of the positive dual variables, without their signs.
#[derive(Default)]
pub struct DualSums(pub [f64; 2]);

impl DualSums {
    /// Adds one.
    pub fn add(&mut self, dual: f64) {
        self.0[usize::from(dual > 0.0)] += dual.abs();
    }
}

fn failed(source: io::Error) -> StoreError {
    StoreError::io(Path::new("dual variables"), "move them between memory and disk")(source)
}

/// Appends `count` floats of a file from byte `at` on.
pub fn read_at(file: &File, at: u64, count: usize, out: &mut Vec<f64>) -> io::Result<()> {
    let mut bytes = vec![0; count * 8];
    file.read_exact_at(&mut bytes, at)?;
    out.extend(bytes.as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is written, both kinds read the same.
        #[test]
        fn memory_and_disk_agree(writes in proptest::collection::vec((0u64..100, -1.0f64..1.0), 0..60), first in 0u64..100) {
            let folder = tempfile::tempdir().unwrap();
            let (mut memory, mut disk) = (Duals::in_memory(100), Duals::on_disk(100, folder.path()).unwrap());
            // A position is set once in a call.
            let mut writes = writes;
            writes.sort_by_key(|item| item.0);
            writes.dedup_by_key(|item| item.0);
            for duals in [&mut memory, &mut disk] {
                duals.begin_with(&Start::Values(vec![0.5; 150])).unwrap();
                duals.set(writes.iter().rev().map(|(position, value)| (*position, std::slice::from_ref(value)))).unwrap();
            }
            let (mut a, mut b) = (Vec::new(), Vec::new());
            memory.read(first, 100 - first as usize, &mut a).unwrap();
            disk.read(first, 100 - first as usize, &mut b).unwrap();
            prop_assert_eq!(&a, &b);
            for &(position, value) in &writes {
                prop_assert!(position < first || a[(position - first) as usize] == value);
            }
            prop_assert_eq!(disk.values().unwrap(), memory.values().unwrap());
        }
    }
}
