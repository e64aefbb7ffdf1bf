//! Dual variables as a checkpoint stores them: all of them, or pairs of class and value where most are 0.
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};

/// Dual variables of a checkpoint, in order.
pub struct StoredDuals<'a> {
    input: BufReader<&'a File>,
    /// Dual variables a row.
    width: usize,
    /// Whether just those that are not 0 are stored.
    are_pairs: bool,
    /// Those of the last row that have not been asked for yet, the last one first.
    left: Vec<f64>,
}

impl<'a> StoredDuals<'a> {
    /// Those that begin at this byte of a file.
    pub fn new(file: &'a File, begin: u64, width: usize, are_pairs: bool) -> io::Result<Self> {
        let mut input = BufReader::new(file);
        input.seek(SeekFrom::Start(begin))?;
        Ok(StoredDuals { input, width, are_pairs, left: Vec::new() })
    }

    /// The next ones, as many as `out` has room for. The caller knows how many there are.
    pub fn next(&mut self, out: &mut [f64]) -> io::Result<()> {
        for number in out {
            if self.left.is_empty() && self.are_pairs {
                self.left.resize(self.width, 0.0);
                take_pairs(&mut self.input, &mut self.left)?;
                self.left.reverse();
            }
            *number = match self.left.pop() {
                Some(number) => number,
                None => f64::from_le_bytes(take(&mut self.input)?),
            };
        }
        Ok(())
    }

    /// Whether those of so many rows take just so many bytes, and neither they nor the `further` numbers behind them are any that no run writes.
    pub fn are_sound(mut self, rows: u64, bytes: u64, further: u64) -> io::Result<bool> {
        let stored = if self.are_pairs {
            if !self.skip_pairs(rows, bytes)? {
                return Ok(false);
            }
            0
        } else {
            match rows.checked_mul(self.width as u64) {
                Some(count) if Some(bytes) == count.checked_mul(8) => count,
                _ => return Ok(false),
            }
        };
        for _ in 0..stored + further {
            if !f64::from_le_bytes(take(&mut self.input)?).is_finite() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes over the pairs of so many rows, and says whether they are sound.
    fn skip_pairs(&mut self, rows: u64, bytes: u64) -> io::Result<bool> {
        let (mut row, mut taken) = (vec![0.0; self.width], 0);
        for _ in 0..rows {
            row.fill(0.0);
            match take_pairs(&mut self.input, &mut row) {
                Ok(of_row) => taken += of_row,
                Err(error) if [ErrorKind::InvalidData, ErrorKind::UnexpectedEof].contains(&error.kind()) => {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
            if taken > bytes {
                return Ok(false);
            }
        }
        Ok(taken == bytes)
    }
}

fn take<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Writes the numbers of a row that are not 0.
pub fn put_pairs(row: &[f64], put: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let pairs = (0u32..).zip(row).filter(|pair| *pair.1 != 0.0);
    put(&(pairs.clone().count() as u32).to_le_bytes())?;
    pairs.into_iter().try_for_each(|(class, value)| {
        put(&class.to_le_bytes())?;
        put(&value.to_le_bytes())
    })
}

/// Sets the numbers of a row, which are 0, and says how many bytes that took. Pairs that no run has written are an error.
fn take_pairs(input: &mut impl Read, row: &mut [f64]) -> io::Result<u64> {
    let count = u32::from_le_bytes(take(input)?);
    let mut least = 0;
    for _ in 0..count {
        let class = u32::from_le_bytes(take(input)?) as usize;
        let value = f64::from_le_bytes(take(input)?);
        match row.get_mut(class) {
            Some(number) if class >= least && value.is_finite() && value != 0.0 => *number = value,
            _ => return Err(ErrorKind::InvalidData.into()),
        }
        least = class + 1;
    }
    Ok(4 + 12 * u64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn bytes_of(rows: &[Vec<f64>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for row in rows {
            put_pairs(row, &mut |part: &[u8]| bytes.write_all(part)).unwrap();
        }
        bytes
    }

    fn open(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn pairs_are_read_as_they_were_written_however_many_are_asked_for() {
        let rows = vec![vec![0.0, 1.5, 0.0], vec![0.0; 3], vec![-1.0, 2.0, 3.0]];
        let file = open(&bytes_of(&rows));
        for step in 1..=9 {
            let mut stored = StoredDuals::new(&file, 0, 3, true).unwrap();
            let mut found = vec![f64::NAN; 9];
            found.chunks_mut(step).for_each(|part| stored.next(part).unwrap());
            assert_eq!(found, rows.concat());
        }
    }

    #[test]
    fn pairs_that_no_run_writes_are_refused() {
        let rows = vec![vec![0.0, 1.5, 2.5], vec![1.0, 0.0, 0.0]];
        let good = bytes_of(&rows);
        let sound = |bytes: &[u8], count: u64| {
            let stored = open(bytes);
            StoredDuals::new(&stored, 0, 3, true).unwrap().are_sound(count, bytes.len() as u64, 0).unwrap()
        };
        assert!(sound(&good, 2));
        assert!(!sound(&good, 1) && !sound(&good, 3), "another number of rows");
        assert!(!sound(&good[..good.len() - 1], 2));
        let changed = |at: usize, new: &[u8]| {
            let mut bytes = good.clone();
            bytes[at..at + new.len()].copy_from_slice(new);
            bytes
        };
        assert!(!sound(&changed(0, &u32::MAX.to_le_bytes()), 2), "a count beyond the classes");
        assert!(!sound(&changed(4, &3u32.to_le_bytes()), 2), "a class that is not there");
        assert!(!sound(&changed(16, &1u32.to_le_bytes()), 2), "a class twice");
        assert!(!sound(&changed(8, &f64::NAN.to_le_bytes()), 2));
        assert!(!sound(&changed(8, &0.0f64.to_le_bytes()), 2), "a zero");
    }
}
