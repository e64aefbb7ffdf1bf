//! Dense vectors in a file without a name, which begin as zeros and are gone with the process.
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::store::StoreError;

/// Floats that are moved at a time, so that no second vector of bytes is in memory.
const CHUNK: usize = 8 << 10;

/// Vectors of one length on disk.
pub struct SharedVectors {
    file: File,
    folder: PathBuf,
    length: usize,
}

impl SharedVectors {
    /// This many vectors of zeros.
    pub fn new(folder: &Path, count: usize, length: usize) -> Result<Self, StoreError> {
        let bytes = count as u64 * length as u64 * 8;
        let file = tempfile::tempfile_in(folder).and_then(|file| file.set_len(bytes).map(|()| file));
        let file = file.map_err(StoreError::io(folder, "create a temporary file for the vectors of blocks there"))?;
        Ok(SharedVectors { file, folder: folder.to_path_buf(), length })
    }

    /// Reads a vector, and says how many bytes that were.
    pub fn read(&self, number: usize, into: &mut [f64]) -> Result<u64, StoreError> {
        let mut bytes = vec![0; 8 * CHUNK];
        let mut at = self.at(number);
        for chunk in into.chunks_mut(CHUNK) {
            let bytes = &mut bytes[..8 * chunk.len()];
            self.file.read_exact_at(bytes, at).map_err(StoreError::io(&self.folder, "read the vectors of a block"))?;
            chunk.iter_mut().zip(bytes.as_chunks::<8>().0).for_each(|(x, &bytes)| *x = f64::from_le_bytes(bytes));
            at += bytes.len() as u64;
        }
        Ok(8 * self.length as u64)
    }

    /// Writes a vector.
    pub fn write(&mut self, number: usize, from: &[f64]) -> Result<(), StoreError> {
        let mut at = self.at(number);
        for chunk in from.chunks(CHUNK) {
            let bytes: Vec<u8> = chunk.iter().flat_map(|x| x.to_le_bytes()).collect();
            self.file.write_all_at(&bytes, at).map_err(StoreError::io(&self.folder, "write the vectors of a block"))?;
            at += bytes.len() as u64;
        }
        Ok(())
    }

    fn at(&self, number: usize) -> u64 {
        number as u64 * self.length as u64 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let length = CHUNK + 3;
        let mut vectors = SharedVectors::new(folder.path(), 3, length).unwrap();
        let written: Vec<f64> = (0..length).map(|k| k as f64 * 0.5 - 7.0).collect();
        vectors.write(1, &written).unwrap();
        let mut found = vec![1.0; length];
        for number in [0, 2] {
            vectors.read(number, &mut found).unwrap();
            assert!(found.iter().all(|&x| x == 0.0));
        }
        assert_eq!(vectors.read(1, &mut found).unwrap(), 8 * length as u64);
        assert_eq!(found, written);
    }
}
