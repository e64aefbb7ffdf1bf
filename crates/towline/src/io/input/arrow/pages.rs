//! Pages of Parquet files, paid for before they are unpacked.
//!
//! A page of a few bytes can stand for any number of values: a run of ones is two numbers. The reader of the parquet
//! crate unpacks and decodes what a
//! page says, so the header of every page is looked at first. A header is a struct in the compact protocol of Thrift:
//! ```text
//! 1 kind │ 2 unpacked bytes │ 3 packed bytes
//! 5, 7, 8 the header of this kind of page, whose field 1 is the number of values
//! 8       its fields 5 and 6 are the bytes of levels, which are not packed
//! ```
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::compact::{Compact, I32, STRUCT};
use super::delta::Text;
use super::unpacked;
use crate::budget::{BudgetError, Reservation};

/// A header holds the least and the largest value of its page at most.
const LARGEST_HEADER_BYTES: u64 = 16 << 20;

/// What a header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Page {
    is_dictionary: bool,
    header_bytes: u64,
    packed_bytes: u64,
    unpacked_bytes: u64,
    /// At the beginning of both forms.
    level_bytes: u64,
    values: u64,
}

/// Reads the header of a page, and says how long it is.
fn header(input: impl Read) -> io::Result<Page> {
    let mut compact = Compact::new(input.take(LARGEST_HEADER_BYTES));
    let (mut page, mut last) = (Page::default(), 0);
    while let Some((number, kind)) = compact.field(&mut last)? {
        match (number, kind) {
            (2, I32) => page.unpacked_bytes = compact.count()?,
            (3, I32) => page.packed_bytes = compact.count()?,
            (5, STRUCT) => page.values = counts(&mut compact)?.0,
            (7, STRUCT) => (page.values, page.is_dictionary) = (counts(&mut compact)?.0, true),
            (8, STRUCT) => (page.values, page.level_bytes) = counts(&mut compact)?,
            (_, kind) => compact.skip(kind)?,
        }
    }
    page.header_bytes = compact.read;
    Ok(page)
}

/// Field 1 of a struct, and fields 5 and 6 together.
fn counts<R: Read>(compact: &mut Compact<R>) -> io::Result<(u64, u64)> {
    let (mut last, mut values, mut levels) = (0, 0, [0; 2]);
    while let Some((number, kind)) = compact.field(&mut last)? {
        match (number, kind) {
            (1, I32) => values = compact.count()?,
            (5 | 6, I32) => levels[number as usize - 5] = compact.count()?,
            (_, kind) => compact.skip(kind)?,
        }
    }
    Ok((values, levels[0].saturating_add(levels[1])))
}

/// A column of a row group while it is read.
#[derive(Debug)]
pub(super) struct PaidColumn {
    /// Whether a row can have any number of its values.
    pub is_list: bool,
    /// How its pages are packed.
    pub packing: Compression,
    /// Rows that are decoded at a time.
    pub batch_rows: u64,
    dictionary_bytes: u64,
    page_bytes: u64,
    last_items: u64,
    items: u64,
    last_text: u64,
    text: u64,
    /// Headers that have been seen, by where their page begins.
    seen: HashMap<u64, Page>,
}

/// A value in a list, with the levels that say where the list begins, while the arrays grow.
const ITEM_BYTES: u64 = 32;
/// A value of a dictionary, besides its text.
const ENTRY_BYTES: u64 = 16;
/// Two lengths of a text.
const LENGTHS_BYTES: u64 = 8;

impl PaidColumn {
    pub fn new(is_list: bool, packing: Compression, batch_rows: u64) -> PaidColumn {
        PaidColumn {
            is_list,
            packing,
            batch_rows,
            dictionary_bytes: 0,
            page_bytes: 0,
            last_items: 0,
            items: 0,
            last_text: 0,
            text: 0,
            seen: HashMap::new(),
        }
    }

    fn take(&mut self, page: Page) {
        let bytes = page.packed_bytes.saturating_add(page.unpacked_bytes).saturating_add(page.header_bytes);
        let bytes = bytes.saturating_add(unpacked::buffer_bytes(self.packing));
        if page.is_dictionary {
            // Once more when it is decoded.
            let entries = page.values.saturating_mul(ENTRY_BYTES);
            self.dictionary_bytes = bytes.saturating_add(page.unpacked_bytes).saturating_add(entries);
            return;
        }
        self.page_bytes = bytes;
        // Values of other columns are decoded as many at a time as there are rows in a batch.
        self.last_items = if self.is_list { page.values } else { 0 };
        self.items = self.items.saturating_add(self.last_items);
        self.last_text = 0;
    }

    /// The page at hand has a list of so many lengths.
    fn take_lengths(&mut self, values: u64) {
        self.page_bytes = self.page_bytes.saturating_add(values.saturating_mul(LENGTHS_BYTES));
    }

    /// The page at hand has text that is put together while it is decoded.
    fn take_text(&mut self, text: Text) {
        let at_once = if self.is_list { text.values } else { self.batch_rows };
        // Once more while the array grows.
        self.last_text = text.bytes.min(text.longest.saturating_mul(at_once)).saturating_mul(2);
        self.text = self.text.saturating_add(self.last_text);
    }

    /// A batch has been decoded: only what the last page still has is to come.
    fn end_batch(&mut self) {
        (self.items, self.text) = (self.last_items, self.last_text);
    }

    fn held_bytes(&self) -> u64 {
        let items = self.items.saturating_mul(ITEM_BYTES);
        [self.page_bytes, items, self.text].into_iter().fold(self.dictionary_bytes, u64::saturating_add)
    }
}

/// What is held of a file.
#[derive(Debug)]
pub(super) struct Ledger {
    pub paid: Reservation,
    /// Besides pages.
    pub fixed_bytes: u64,
    /// Those that are read, by their number in the file.
    pub columns: HashMap<usize, PaidColumn>,
    /// Why reading was ended.
    pub refused: Option<BudgetError>,
}

impl Ledger {
    pub fn new(paid: Reservation) -> Ledger {
        Ledger { paid, fixed_bytes: 0, columns: HashMap::new(), refused: None }
    }

    pub fn pay(&mut self) -> std::result::Result<(), BudgetError> {
        let pages = self.columns.values().fold(0, |sum: u64, column| sum.saturating_add(column.held_bytes()));
        self.paid.resize(self.fixed_bytes.saturating_add(pages))
    }

    /// A batch has been decoded.
    pub fn end_batch(&mut self) {
        self.columns.values_mut().for_each(PaidColumn::end_batch);
    }

    /// Changes what is known of a column, and pays for it.
    fn change(&mut self, column: usize, change: impl FnOnce(&mut PaidColumn) -> Result<()>) -> Result<()> {
        let column = self.columns.get_mut(&column);
        change(column.ok_or_else(|| ParquetError::General("a column that is not read".into()))?)?;
        self.pay().map_err(|refused| {
            let error = ParquetError::General(refused.to_string());
            self.refused = Some(refused);
            error
        })
    }
}

/// A column of a Parquet file whose pages are paid for as they are read.
#[derive(Clone)]
pub(super) struct PaidFile {
    pub file: Arc<File>,
    pub ledger: Arc<Mutex<Ledger>>,
    pub column: usize,
}

impl PaidFile {
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Only ever changed by plain arithmetic.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page at hand has a list of so many lengths.
    pub fn pay_lengths(&self, values: u64) -> Result<()> {
        self.ledger().change(self.column, |column| {
            column.take_lengths(values);
            Ok(())
        })
    }

    /// The page at hand has text that is put together while it is decoded.
    pub fn pay_text(&self, text: Text) -> Result<()> {
        self.ledger().change(self.column, |column| {
            column.take_text(text);
            Ok(())
        })
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
        self.ledger().change(self.column, |column| {
            // Where a page begins whose header is known, no header is read.
            if !column.seen.contains_key(&start) {
                let page =
                    header(self.file.get_read(start)?).map_err(|_| damaged("the header of a page is damaged"))?;
                column.seen.insert(start.saturating_add(page.header_bytes), page);
            }
            Ok(())
        })?;
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes> {
        let (mut page, mut packing) = (Page::default(), Compression::UNCOMPRESSED);
        self.ledger().change(self.column, |column| {
            page = column.seen.remove(&start).ok_or_else(|| damaged("a page has no header"))?;
            packing = column.packing;
            column.take(page);
            Ok(())
        })?;
        let packed = self.file.get_bytes(start, length)?;
        let room = page.unpacked_bytes.saturating_sub(page.level_bytes);
        let values = packed.get(page.level_bytes as usize..).unwrap_or_default();
        match unpacked::fits(values, packing, room) {
            true => Ok(packed),
            false => Err(damaged("a page unpacks to more than its header says")),
        }
    }
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.into())
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
        let header_bytes = data.len() as u64;
        let page = Page { header_bytes, packed_bytes: 6, unpacked_bytes: 10, values: 200_000_000, ..Page::default() };
        assert_eq!(header(&data[..]).unwrap(), page);
        let dictionary = [0x15, 0x04, 0x15, 0x10, 0x15, 0x10, 0x4c, 0x15, 0x02, 0x00, 0x00];
        let page = Page { header_bytes: 11, packed_bytes: 8, unpacked_bytes: 8, values: 1, ..Page::default() };
        let page = Page { is_dictionary: true, ..page };
        assert_eq!(header(&dictionary[..]).unwrap(), page);
        for cut in 0..data.len() {
            assert!(header(&data[..cut]).is_err(), "{cut}");
        }
        assert!(header(&[0x1c; 64][..]).is_err(), "structs without end");
    }
}
