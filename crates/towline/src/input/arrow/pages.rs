//! Pages of Parquet files, paid for before they are unpacked.
//!
//! A page of a few bytes can stand for any number of values: a run of ones is two numbers. The reader of the parquet
//! crate unpacks and decodes what a
//! page says, so the header of every page is looked at first. A header is a struct in the compact protocol of Thrift:
//! ```text
//! 1 kind │ 2 unpacked bytes │ 3 packed bytes
//! 5, 7, 8 the header of this kind of page, whose field 1 is the number of values
//! ```
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::budget::{BudgetError, Reservation};

/// A header holds the least and the largest value of its page at most.
const LARGEST_HEADER_BYTES: u64 = 16 << 20;
/// Headers within headers are three deep.
const DEEPEST: u32 = 8;

/// What a header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Page {
    is_dictionary: bool,
    packed_bytes: u64,
    unpacked_bytes: u64,
    values: u64,
}

/// Numbers of the compact protocol.
struct Compact<R> {
    input: R,
    read: u64,
}

impl<R: Read> Compact<R> {
    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        self.read += 1;
        Ok(byte[0])
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(wrong())
    }

    /// A number that is never negative here.
    fn count(&mut self) -> io::Result<u64> {
        let zigzag = self.number()?;
        if zigzag & 1 == 1 { Err(wrong()) } else { Ok(zigzag >> 1) }
    }

    fn skip_bytes(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.input).take(bytes), &mut io::sink())?;
        self.read += skipped;
        if skipped == bytes { Ok(()) } else { Err(wrong()) }
    }

    /// The next field of a struct, number and type; none at its end.
    fn field(&mut self, last: &mut u64) -> io::Result<Option<(u64, u8)>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *last = if byte >> 4 == 0 { self.count()? } else { *last + u64::from(byte >> 4) };
        Ok(Some((*last, byte & 15)))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> io::Result<()> {
        match kind {
            1 | 2 => Ok(()),
            3 => self.skip_bytes(1),
            4..=6 => self.number().map(|_| ()),
            7 => self.skip_bytes(8),
            8 => {
                let bytes = self.number()?;
                self.skip_bytes(bytes)
            }
            12 if depth < DEEPEST => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            // Lists and maps are not in headers of pages.
            _ => Err(wrong()),
        }
    }

    /// Field 1 of a struct.
    fn first_count(&mut self) -> io::Result<u64> {
        let (mut last, mut found) = (0, 0);
        while let Some((number, kind)) = self.field(&mut last)? {
            if (number, kind) == (1, 5) {
                found = self.count()?;
            } else {
                self.skip(kind, 0)?;
            }
        }
        Ok(found)
    }
}

fn wrong() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Reads the header of a page, and says how long it is.
fn header(input: impl Read) -> io::Result<(u64, Page)> {
    let mut compact = Compact { input: input.take(LARGEST_HEADER_BYTES), read: 0 };
    let (mut page, mut last) = (Page::default(), 0);
    while let Some((number, kind)) = compact.field(&mut last)? {
        match (number, kind) {
            (2, 5) => page.unpacked_bytes = compact.count()?,
            (3, 5) => page.packed_bytes = compact.count()?,
            (5 | 8, 12) => page.values = compact.first_count()?,
            (7, 12) => (page.values, page.is_dictionary) = (compact.first_count()?, true),
            (_, kind) => compact.skip(kind, 0)?,
        }
    }
    Ok((compact.read, page))
}

/// A column of a row group while it is read.
#[derive(Debug)]
pub(super) struct PaidColumn {
    /// Where it lies in the file.
    pub place: Range<u64>,
    /// Whether a row can have any number of its values.
    pub is_list: bool,
    dictionary_bytes: u64,
    page_bytes: u64,
    last_items: u64,
    items: u64,
}

/// A value in a list, with the levels that say where the list begins, while the arrays grow.
const ITEM_BYTES: u64 = 32;

impl PaidColumn {
    pub fn new(place: Range<u64>, is_list: bool) -> PaidColumn {
        PaidColumn { place, is_list, dictionary_bytes: 0, page_bytes: 0, last_items: 0, items: 0 }
    }

    fn take(&mut self, page: Page) {
        let bytes = page.packed_bytes.saturating_add(page.unpacked_bytes);
        if page.is_dictionary {
            // Once more when it is decoded.
            self.dictionary_bytes = bytes.saturating_add(page.unpacked_bytes);
            return;
        }
        self.page_bytes = bytes;
        // Values of other columns are decoded as many at a time as there are rows in a batch.
        self.last_items = if self.is_list { page.values } else { 0 };
        self.items = self.items.saturating_add(self.last_items);
    }

    fn held_bytes(&self) -> u64 {
        self.dictionary_bytes.saturating_add(self.page_bytes).saturating_add(self.items.saturating_mul(ITEM_BYTES))
    }
}

/// What is held of a file.
#[derive(Debug)]
pub(super) struct Ledger {
    pub paid: Reservation,
    /// Besides pages.
    pub fixed_bytes: u64,
    pub columns: Vec<PaidColumn>,
    /// Headers that have been seen, by where their page begins.
    seen: HashMap<u64, Page>,
    /// Why reading was ended.
    pub refused: Option<BudgetError>,
}

impl Ledger {
    pub fn new(paid: Reservation) -> Ledger {
        Ledger { paid, fixed_bytes: 0, columns: Vec::new(), seen: HashMap::new(), refused: None }
    }

    pub fn pay(&mut self) -> std::result::Result<(), BudgetError> {
        let pages = self.columns.iter().fold(0, |sum: u64, column| sum.saturating_add(column.held_bytes()));
        self.paid.resize(self.fixed_bytes.saturating_add(pages))
    }

    /// A batch has been decoded: of each list, only what the last page still has is to come.
    pub fn end_batch(&mut self) {
        self.columns.iter_mut().for_each(|column| column.items = column.last_items);
    }

    fn take(&mut self, start: u64) -> Result<()> {
        let Some(page) = self.seen.remove(&start) else {
            return Err(ParquetError::General("a page without a header".into()));
        };
        if let Some(column) = self.columns.iter_mut().find(|column| column.place.contains(&start)) {
            column.take(page);
        }
        self.pay().map_err(|refused| {
            let error = ParquetError::General(refused.to_string());
            self.refused = Some(refused);
            error
        })
    }
}

/// A Parquet file whose pages are paid for as they are read.
#[derive(Clone)]
pub(super) struct PaidFile {
    pub file: Arc<File>,
    pub ledger: Arc<Mutex<Ledger>>,
}

impl PaidFile {
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Only ever changed by plain arithmetic.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Length for PaidFile {
    fn len(&self) -> u64 {
        Length::len(&*self.file)
    }
}

impl ChunkReader for PaidFile {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut ledger = self.ledger();
        // Where a page begins whose header is known, no header is read.
        if !ledger.seen.contains_key(&start)
            && let Ok((length, page)) = header(self.file.get_read(start)?)
        {
            ledger.seen.insert(start + length, page);
        }
        drop(ledger);
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes> {
        self.ledger().take(start)?;
        self.file.get_bytes(start, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_are_written() {
        // A data page of 200 million values in 6 bytes, with statistics, and a dictionary page.
        let values = [0x80, 0x88, 0xde, 0xbe, 0x01];
        let data = [&[0x15, 0x00, 0x15, 0x14, 0x15, 0x0c, 0x2c, 0x15], &values[..], &[0x15, 0x00, 0x3c, 0x18, 0x01]];
        let data = [&data.concat()[..], b"x", &[0x00, 0x00, 0x00]].concat();
        let page = Page { is_dictionary: false, packed_bytes: 6, unpacked_bytes: 10, values: 200_000_000 };
        assert_eq!(header(&data[..]).unwrap(), (data.len() as u64, page));
        let dictionary = [0x15, 0x04, 0x15, 0x10, 0x15, 0x10, 0x4c, 0x15, 0x02, 0x00, 0x00];
        let page = Page { is_dictionary: true, packed_bytes: 8, unpacked_bytes: 8, values: 1 };
        assert_eq!(header(&dictionary[..]).unwrap(), (11, page));
        for cut in 0..data.len() {
            assert!(header(&data[..cut]).is_err(), "{cut}");
        }
        assert!(header(&[0x1c; 64][..]).is_err(), "structs without end");
    }
}
