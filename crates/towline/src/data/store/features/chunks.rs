//! A feature map as it is written: columns in order, some thousand at a time, so that writing and reading take the
//! memory of a chunk.
//!
//! ```text
//! "TOWF" │ version u16 = 2 │ named u8 │ scaled u8 │ count u64 │ range u64 │ chunks of 16,384 columns, the last one smaller
//! chunk, numbered: packed steps, their low 32 bits; where the range is beyond 2^32, their high 32 bits packed as well
//! chunk, named:    packed lengths of the names, names
//! chunk, scaled:   behind it (shift f64, factor f64) for each column
//! ```
//! A feature number is the one of the column before it plus a step, modulo the range, which is beyond the largest
//! number. Features of rows in ascending order that are seen for the first time have columns in a row and small steps,
//! also from the end of a row to the beginning of the next: 13.7 million features of splice sites take 2.4 bytes each,
//! where a number of 64 bits takes 8.
use std::fs::File;
use std::os::unix::fs::FileExt;

use super::{MAGIC, Scaling};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::store::StoreError;
use crate::store::format::bytes::Bytes;
use crate::store::format::packed;
use crate::store::writer::CheckedFile;

pub const VERSION: u16 = 2;
/// Columns of a chunk.
pub const CHUNK: usize = 1 << 14;
/// Bytes before the first chunk.
pub const HEADER_BYTES: usize = 24;

/// Columns in a row, with their features.
#[derive(Debug, Default)]
pub struct Chunk {
    /// Feature numbers; none if features have names.
    pub numbers: Vec<u64>,
    /// Where each name ends in the text.
    pub ends: Vec<u64>,
    /// The names, one behind the other.
    pub text: String,
    /// How columns were scaled; none if they were not.
    pub scaling: Vec<Scaling>,
}

impl Chunk {
    /// Columns in it.
    pub fn len(&self) -> usize {
        self.numbers.len().max(self.ends.len())
    }

    pub fn clear(&mut self) {
        self.numbers.clear();
        self.ends.clear();
        self.text.clear();
        self.scaling.clear();
    }
}

/// Writes a feature map, column by column.
pub struct MapWriter {
    file: CheckedFile,
    named: bool,
    /// Largest number plus one; 0 for 2^64.
    range: u64,
    last: u64,
    steps: Vec<u64>,
    names: Vec<u8>,
    scaling: Vec<u8>,
    half: Vec<u32>,
    out: Vec<u8>,
}

/// What the features of a map are called.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// By numbers up to this one.
    Numbers { largest: u64 },
    /// By names.
    Names,
}

impl MapWriter {
    /// Begins a map of `count` columns.
    pub fn new(mut file: CheckedFile, kind: Kind, scaled: bool, count: u64) -> Result<Self, StoreError> {
        let (named, range) = match kind {
            Kind::Numbers { largest } => (false, largest.wrapping_add(1)),
            Kind::Names => (true, 0),
        };
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&[u8::from(named), u8::from(scaled)]);
        header.extend_from_slice(&count.to_le_bytes());
        header.extend_from_slice(&range.to_le_bytes());
        file.write(&header)?;
        let (steps, names, scaling, half, out) = Default::default();
        Ok(MapWriter { file, named, range, last: 0, steps, names, scaling, half, out })
    }

    /// What it takes besides the names of a chunk.
    pub const fn needed_bytes(scaled: bool) -> u64 {
        (CHUNK * (8 + 4 + 9 + if scaled { 16 } else { 0 })) as u64
    }

    /// The next column has this feature number.
    pub fn number(&mut self, number: u64, scaling: Option<Scaling>) -> Result<(), StoreError> {
        let step = number.wrapping_sub(self.last);
        // Modulo 2^64 it is right already.
        let step = if number < self.last { step.wrapping_add(self.range) } else { step };
        self.last = number;
        self.push(step, scaling)
    }

    /// The next column has this name.
    pub fn name(&mut self, name: &[u8], scaling: Option<Scaling>) -> Result<(), StoreError> {
        if u32::try_from(name.len()).is_err() {
            return Err(StoreError::io(self.file.path(), "write it")(std::io::Error::other(
                "a name of more than 4 GiB",
            )));
        }
        self.names.extend_from_slice(name);
        self.push(name.len() as u64, scaling)
    }

    fn push(&mut self, key: u64, scaling: Option<Scaling>) -> Result<(), StoreError> {
        self.steps.push(key);
        if let Some(Scaling { shift, factor }) = scaling {
            self.scaling.extend_from_slice(&shift.to_le_bytes());
            self.scaling.extend_from_slice(&factor.to_le_bytes());
        }
        if self.steps.len() == CHUNK { self.end_chunk() } else { Ok(()) }
    }

    fn end_chunk(&mut self) -> Result<(), StoreError> {
        self.out.clear();
        for shift in halves(self.named, self.range) {
            self.half.clear();
            self.half.extend(self.steps.iter().map(|&step| (step >> shift) as u32));
            packed::encode(&self.half, &mut self.out);
        }
        self.file.write(&self.out)?;
        self.file.write(&self.names)?;
        self.file.write(&self.scaling)?;
        self.steps.clear();
        self.names.clear();
        self.scaling.clear();
        Ok(())
    }

    /// The file, when all columns have come.
    pub fn finish(mut self) -> Result<CheckedFile, StoreError> {
        if !self.steps.is_empty() {
            self.end_chunk()?;
        }
        Ok(self.file)
    }
}

/// Which bits of steps or lengths are written.
fn halves(named: bool, range: u64) -> &'static [u32] {
    match named || (1..=1 << 32).contains(&range) {
        true => &[0],
        false => &[0, 32],
    }
}

/// Reads a feature map chunk by chunk.
pub struct ChunkReader<'a> {
    file: &'a File,
    at: u64,
    end: u64,
    named: bool,
    scaled: bool,
    range: u64,
    /// Columns still to come.
    left: u64,
    last: u64,
    bytes: Vec<u8>,
    half: Vec<u32>,
    paid: Reservation,
}

/// A map cannot be read on.
#[derive(Debug)]
pub enum Trouble {
    Io(std::io::Error),
    Budget(BudgetError),
    /// What is wrong with it.
    Damaged(String),
}

impl From<BudgetError> for Trouble {
    fn from(error: BudgetError) -> Self {
        Trouble::Budget(error)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Trouble::Io(error)
    }
}

fn damaged<T>(problem: &str) -> Result<T, Trouble> {
    Err(Trouble::Damaged(problem.into()))
}

impl<'a> ChunkReader<'a> {
    /// `header` are the first bytes of `file`, which has `bytes` of them.
    pub fn new(file: &'a File, bytes: u64, header: &[u8; HEADER_BYTES], budget: &Budget) -> Result<Self, Trouble> {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| header[at + k]));
        let (named, scaled) = match (header[6], header[7]) {
            (named @ 0..=1, scaled @ 0..=1) => (named == 1, scaled == 1),
            _ => return damaged("it has a mark that means nothing"),
        };
        Ok(ChunkReader {
            file,
            at: HEADER_BYTES as u64,
            end: bytes,
            named,
            scaled,
            range: number(16),
            left: number(8),
            last: 0,
            bytes: Vec::new(),
            half: Vec::new(),
            paid: budget.reserve_few("features of a store", CHUNK as u64 * (8 + 4 + 9))?,
        })
    }

    pub fn is_scaled(&self) -> bool {
        self.scaled
    }

    /// Appends the next chunk to `chunk`; false if there is none.
    pub fn next(&mut self, chunk: &mut Chunk) -> Result<bool, Trouble> {
        let count = self.left.min(CHUNK as u64) as usize;
        if count == 0 {
            return if self.at == self.end { Ok(false) } else { damaged("it has bytes left over") };
        }
        self.left -= count as u64;
        self.unpack(count)?;
        if self.named {
            self.names(chunk)?;
        } else {
            self.numbers(count, chunk)?;
        }
        if self.scaled {
            self.take(count as u64 * 16)?;
            for pair in self.bytes.as_chunks::<16>().0 {
                let pair = Scaling::from_bytes(pair);
                if !pair.shift.is_finite() || !pair.factor.is_finite() {
                    return damaged("a scale is not finite");
                }
                chunk.scaling.push(pair);
            }
        }
        Ok(true)
    }

    fn numbers(&mut self, count: usize, chunk: &mut Chunk) -> Result<(), Trouble> {
        let low = chunk.numbers.len();
        chunk.numbers.extend(self.half.iter().map(|&half| u64::from(half)));
        if halves(self.named, self.range).len() > 1 {
            self.unpack(count)?;
            let steps = chunk.numbers[low..].iter_mut().zip(&self.half);
            steps.for_each(|(step, &high)| *step |= u64::from(high) << 32);
        }
        for number in &mut chunk.numbers[low..] {
            let step = *number;
            if self.range > 0 && step >= self.range {
                return damaged("a feature number is beyond the largest one");
            }
            // What is left before the range begins again; for 2^64 the sum wraps around by itself.
            let rest = self.range.wrapping_sub(self.last);
            let again = self.range > 0 && step >= rest;
            self.last = if again { step - rest } else { self.last.wrapping_add(step) };
            *number = self.last;
        }
        Ok(())
    }

    fn names(&mut self, chunk: &mut Chunk) -> Result<(), Trouble> {
        let total: u64 = self.half.iter().map(|&length| u64::from(length)).sum();
        if total > self.end - self.at {
            return damaged("it ends too early");
        }
        // The names, and their copy in the chunk.
        self.paid.grow_to(CHUNK as u64 * (8 + 4 + 9) + 2 * total)?;
        self.take(total)?;
        let Ok(text) = std::str::from_utf8(&self.bytes) else { return damaged("a name is not UTF-8") };
        let (mut end, before) = (0, chunk.text.len() as u64);
        for &length in &self.half {
            end += length as usize;
            if !text.is_char_boundary(end) {
                return damaged("the names overlap");
            }
            chunk.ends.push(before + end as u64);
        }
        chunk.text.push_str(text);
        Ok(())
    }

    /// Takes packed numbers to `half`.
    fn unpack(&mut self, count: usize) -> Result<(), Trouble> {
        let groups = count.div_ceil(packed::GROUP) as u64;
        self.take(groups)?;
        let total: u64 = self.bytes.iter().map(|&width| u64::from(width) * (packed::GROUP / 8) as u64).sum();
        self.at -= groups;
        self.take(groups + total)?;
        self.half.clear();
        let mut bytes = Bytes::new("features", &self.bytes);
        packed::decode(&mut bytes, count, &mut self.half).map_err(|error| Trouble::Damaged(error.to_string()))
    }

    /// Reads the next `count` bytes.
    fn take(&mut self, count: u64) -> Result<(), Trouble> {
        if count > self.end - self.at {
            return damaged("it ends too early");
        }
        self.bytes.resize(count as usize, 0);
        self.file.read_exact_at(&mut self.bytes, self.at)?;
        self.at += count;
        Ok(())
    }
}
