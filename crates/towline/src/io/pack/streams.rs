//! Many streams of bytes in one file without a name: each is written at its end, and then read from its beginning.
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::spill::nameless_file;
use crate::budget::{Budget, BudgetError, Reservation};
use crate::store::StoreError;

/// Streams of bytes on disk.
pub struct Streams {
    path: PathBuf,
    file: File,
    end: u64,
    buffer_bytes: usize,
    streams: Vec<Stream>,
    paid: Reservation,
    /// Pays for the lists of pieces.
    lists: Reservation,
}

#[derive(Default)]
struct Stream {
    /// What has not been written yet.
    buffer: Vec<u8>,
    pieces: Vec<Piece>,
    bytes: u64,
}

#[derive(Clone, Copy)]
struct Piece {
    offset: u64,
    bytes: u64,
}

/// What is gathered before it is written: with some hundred streams a small part of the budget.
pub fn buffer_bytes(budget: &Budget) -> usize {
    (budget.data_bytes() / 2048).clamp(256, 64 << 10) as usize
}

impl Streams {
    /// What writing `count` streams takes.
    pub fn needed_bytes(count: usize, budget: &Budget) -> u64 {
        count as u64 * (buffer_bytes(budget) + size_of::<Stream>()) as u64
    }

    /// `count` empty streams, in a file in `folder`.
    pub fn new(folder: &Path, count: usize, budget: &Budget) -> Result<Self, StoreError> {
        let paid = budget.reserve("features on their way to disk", Self::needed_bytes(count, budget))?;
        Ok(Streams {
            path: folder.to_path_buf(),
            file: nameless_file(folder)?,
            end: 0,
            buffer_bytes: buffer_bytes(budget),
            streams: std::iter::repeat_with(Stream::default).take(count).collect(),
            paid,
            lists: budget.reserve("features on disk", 0)?,
        })
    }

    /// Appends `bytes` to stream `s`.
    pub fn append(&mut self, s: usize, bytes: &[u8]) -> Result<(), StoreError> {
        let room = self.buffer_bytes - self.streams[s].buffer.len();
        if bytes.len() <= room {
            let buffer = &mut self.streams[s].buffer;
            if buffer.capacity() == 0 {
                buffer.reserve_exact(self.buffer_bytes);
            }
            buffer.extend_from_slice(bytes);
            return Ok(());
        }
        let (now, later) = bytes.split_at(room);
        self.streams[s].buffer.extend_from_slice(now);
        self.flush(s)?;
        self.append(s, later)
    }

    fn flush(&mut self, s: usize) -> Result<(), StoreError> {
        let Stream { buffer, pieces, bytes } = &mut self.streams[s];
        if buffer.is_empty() {
            return Ok(());
        }
        self.file.write_all_at(buffer, self.end).map_err(StoreError::io(&self.path, "write temporary features"))?;
        let length = buffer.len() as u64;
        match pieces.last_mut() {
            Some(last) if last.offset + last.bytes == self.end => last.bytes += length,
            _ => {
                if pieces.len() == pieces.capacity() {
                    let more = (pieces.len() / 2).max(4);
                    self.lists.resize(self.lists.bytes() + (more * size_of::<Piece>()) as u64)?;
                    pieces.reserve_exact(more);
                }
                pieces.push(Piece { offset: self.end, bytes: length });
            }
        }
        *bytes += length;
        self.end += length;
        buffer.clear();
        Ok(())
    }

    /// Nothing more is written: what is gathered goes to disk, and its memory back.
    pub fn end_writing(&mut self) -> Result<(), StoreError> {
        for s in 0..self.streams.len() {
            self.flush(s)?;
            self.streams[s].buffer = Vec::new();
        }
        Ok(self.paid.resize((self.streams.len() * size_of::<Stream>()) as u64)?)
    }

    /// Bytes of stream `s` that have been written.
    pub fn bytes(&self, s: usize) -> u64 {
        self.streams[s].bytes
    }

    /// Reads stream `s` from its beginning.
    pub fn read(&self, s: usize, budget: &Budget) -> Result<StreamReader<'_>, BudgetError> {
        let paid = budget.reserve("features from disk", self.buffer_bytes as u64)?;
        Ok(StreamReader { streams: self, s, piece: 0, within: 0, buffer: Vec::new(), at: 0, _paid: paid })
    }
}

/// A stream that is read.
pub struct StreamReader<'a> {
    streams: &'a Streams,
    s: usize,
    /// The piece that is read next, and from where.
    piece: usize,
    within: u64,
    buffer: Vec<u8>,
    at: usize,
    _paid: Reservation,
}

impl StreamReader<'_> {
    /// Fills `out`.
    pub fn exact(&mut self, out: &mut [u8]) -> Result<(), StoreError> {
        let mut filled = 0;
        while filled < out.len() {
            if self.at == self.buffer.len() {
                self.fill()?;
            }
            let count = (self.buffer.len() - self.at).min(out.len() - filled);
            out[filled..filled + count].copy_from_slice(&self.buffer[self.at..self.at + count]);
            (filled, self.at) = (filled + count, self.at + count);
        }
        Ok(())
    }

    fn fill(&mut self) -> Result<(), StoreError> {
        let Streams { path, file, buffer_bytes, streams, .. } = self.streams;
        let failed = StoreError::io(path, "read temporary features");
        let Some(&Piece { offset, bytes }) = streams[self.s].pieces.get(self.piece) else {
            return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
        };
        let count = (bytes - self.within).min(*buffer_bytes as u64);
        self.buffer.resize(count as usize, 0);
        file.read_exact_at(&mut self.buffer, offset + self.within).map_err(failed)?;
        self.at = 0;
        self.within += count;
        if self.within == bytes {
            (self.piece, self.within) = (self.piece + 1, 0);
        }
        Ok(())
    }

    /// The next byte.
    pub fn u8(&mut self) -> Result<u8, StoreError> {
        self.array().map(|[byte]| byte)
    }

    /// The next number of 32 bits.
    pub fn u32(&mut self) -> Result<u32, StoreError> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next number of 64 bits.
    pub fn u64(&mut self) -> Result<u64, StoreError> {
        self.array().map(u64::from_le_bytes)
    }

    /// The next double.
    pub fn f64(&mut self) -> Result<f64, StoreError> {
        self.array().map(f64::from_le_bytes)
    }

    /// The next number of 128 bits.
    pub fn u128(&mut self) -> Result<u128, StoreError> {
        self.array().map(u128::from_le_bytes)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let mut bytes = [0; N];
        match self.buffer.get(self.at..self.at + N) {
            Some(there) => {
                bytes.copy_from_slice(there);
                self.at += N;
            }
            None => self.exact(&mut bytes)?,
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_come_back_whatever_the_size_of_their_pieces() {
        let folder = tempfile::tempdir().unwrap();
        for budget in [Budget::new(1 << 20), Budget::new(64 << 20)] {
            let mut streams = Streams::new(folder.path(), 3, &budget).unwrap();
            for k in 0..5000u32 {
                streams.append((k % 3) as usize, &k.to_le_bytes()).unwrap();
                if k % 100 == 0 {
                    streams.append(1, &[7; 1000]).unwrap();
                }
            }
            streams.end_writing().unwrap();
            for s in 0..3u32 {
                let mut reader = streams.read(s as usize, &budget).unwrap();
                for k in 0..5000 {
                    if k % 3 == s {
                        assert_eq!(reader.u32().unwrap(), k);
                    }
                    if k % 100 == 0 && s == 1 {
                        let mut sevens = [0; 1000];
                        reader.exact(&mut sevens).unwrap();
                        assert_eq!(sevens, [7; 1000]);
                    }
                }
                assert!(reader.u8().is_err());
            }
            assert!(budget.held_bytes() < 1 << 18);
        }
    }
}
