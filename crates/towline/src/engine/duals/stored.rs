//! Dual variables as a checkpoint stores them: all of them, or just those that are not 0, where most are.
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;

/// How they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// All of them.
    All,
    /// For each row, pairs of class and value.
    Pairs,
    /// The number of those that are not 0, and pairs of position and value.
    Few,
}

/// Dual variables of a checkpoint, in order.
pub struct StoredDuals<'a> {
    input: BufReader<At<'a>>,
    /// Dual variables a row.
    width: usize,
    stored: Stored,
    /// Of pairs of classes: those of the last row that have not been asked for yet, the last one first.
    left: Vec<f64>,
    /// Of pairs of positions: how many are to come, the next one, and where the caller is.
    few: (u64, Option<(u64, f64)>, u64),
}

/// A file from some place on. Others may read it at the same time.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<'a> StoredDuals<'a> {
    /// Those that begin at this byte of a file.
    pub fn new(file: &'a File, at: u64, width: usize, stored: Stored) -> io::Result<Self> {
        let mut input = BufReader::new(At { file, at });
        let few = match stored {
            Stored::Few => (u64::from_le_bytes(take(&mut input)?), None, 0),
            _ => (0, None, 0),
        };
        Ok(StoredDuals { input, width, stored, left: Vec::new(), few })
    }

    /// The next ones, as many as `out` has room for. The caller knows how many there are.
    pub fn next(&mut self, out: &mut [f64]) -> io::Result<()> {
        if self.stored == Stored::Few {
            return self.next_few(out);
        }
        for number in out {
            if self.left.is_empty() && self.stored == Stored::Pairs {
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

    fn next_few(&mut self, out: &mut [f64]) -> io::Result<()> {
        out.fill(0.0);
        let end = self.few.2 + out.len() as u64;
        while let Some((position, value)) = self.peek_few()?.filter(|(position, _)| *position < end) {
            let Some(place) = position.checked_sub(self.few.2) else { return Err(ErrorKind::InvalidData.into()) };
            out[place as usize] = value;
            self.few.1 = None;
        }
        self.few.2 = end;
        Ok(())
    }

    /// The next pair of position and value.
    fn peek_few(&mut self) -> io::Result<Option<(u64, f64)>> {
        if self.few.1.is_none() && self.few.0 > 0 {
            self.few.0 -= 1;
            let position = u64::from_le_bytes(take(&mut self.input)?);
            self.few.1 = Some((position, f64::from_le_bytes(take(&mut self.input)?)));
        }
        Ok(self.few.1)
    }

    /// Whether those of so many rows take just so many bytes, and neither they nor the `further` numbers behind them
    /// are any that no run writes.
    pub fn are_sound(mut self, rows: u64, bytes: u64, further: u64) -> io::Result<bool> {
        let is_sound = match self.stored {
            Stored::Pairs => self.skip_pairs(rows, bytes)?,
            Stored::Few => self.skip_few(rows, bytes)?,
            Stored::All => rows.checked_mul(8 * self.width as u64) == Some(bytes),
        };
        if !is_sound {
            return Ok(false);
        }
        let stored = if self.stored == Stored::All { bytes / 8 } else { 0 };
        for _ in 0..stored + further {
            if !f64::from_le_bytes(take(&mut self.input)?).is_finite() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes over pairs of position and value, and says whether they are sound.
    fn skip_few(&mut self, rows: u64, bytes: u64) -> io::Result<bool> {
        let Some(count) = rows.checked_mul(self.width as u64) else { return Ok(false) };
        if few_bytes(self.few.0) != bytes {
            return Ok(false);
        }
        let mut least = 0;
        while let Some((position, value)) = self.peek_few()? {
            self.few.1 = None;
            if position < least || position >= count || value == 0.0 || !value.is_finite() {
                return Ok(false);
            }
            least = position + 1;
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

/// What so many pairs of position and value take.
pub fn few_bytes(count: u64) -> u64 {
    count.saturating_mul(16).saturating_add(8)
}

/// Writes the numbers from this position on that are not 0.
pub fn put_few(first: u64, values: &[f64], put: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    (first..).zip(values).filter(|pair| *pair.1 != 0.0).try_for_each(|(position, value)| {
        put(&position.to_le_bytes())?;
        put(&value.to_le_bytes())
    })
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

/// Sets the numbers of a row, which are 0, and says how many bytes that took. Pairs that no run has written are an
/// error.
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
            let mut stored = StoredDuals::new(&file, 0, 3, Stored::Pairs).unwrap();
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
            StoredDuals::new(&stored, 0, 3, Stored::Pairs).unwrap().are_sound(count, bytes.len() as u64, 0).unwrap()
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

    #[test]
    fn a_few_are_read_as_they_were_written_however_many_are_asked_for() {
        let values = [0.0, 0.0, 1.5, 0.0, -2.0, 3.0, 0.0];
        let mut bytes = 3u64.to_le_bytes().to_vec();
        put_few(0, &values, &mut |part: &[u8]| bytes.write_all(part)).unwrap();
        assert_eq!(bytes.len() as u64, few_bytes(3));
        let file = open(&bytes);
        for step in 1..=7 {
            let mut stored = StoredDuals::new(&file, 0, 1, Stored::Few).unwrap();
            let mut found = [f64::NAN; 7];
            found.chunks_mut(step).for_each(|part| stored.next(part).unwrap());
            assert_eq!(found, values);
        }
        let sound = |bytes: &[u8], rows: u64| {
            let file = open(bytes);
            StoredDuals::new(&file, 0, 1, Stored::Few).unwrap().are_sound(rows, bytes.len() as u64, 0).unwrap()
        };
        assert!(sound(&bytes, 7) && sound(&bytes, 6));
        assert!(!sound(&bytes, 5), "a position beyond the rows");
        for (at, new) in [(24, 2u64.to_le_bytes()), (16, 0u64.to_le_bytes()), (16, f64::NAN.to_le_bytes())] {
            let mut other = bytes.clone();
            other[at..at + 8].copy_from_slice(&new);
            assert!(!sound(&other, 7), "{at}");
        }
    }
}
