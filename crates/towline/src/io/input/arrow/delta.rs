//! Lengths of text in Parquet pages, added up before anything is made of them.
//!
//! DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY begin with lists of lengths in DELTA_BINARY_PACKED:
//! ```text
//! values in a block │ miniblocks in a block │ values │ first value        numbers of 7 bits a byte, the last one zigzag
//! then blocks:      least difference │ bits of each miniblock │ differences beyond the least, a miniblock after the other
//! ```
//! A list of any length may take a few bytes, and DELTA_BYTE_ARRAY says for each text how much of the one before it
//! begins with: a page of n bytes can
//! hold a text of n / 2 bytes as often as it likes.

/// Values in a block; 128 is what everybody writes.
const LARGEST_BLOCK: usize = 1 << 24;

/// What the text of a page takes in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    /// How many there are.
    pub values: u64,
    /// Bytes of all of them together, where they have to be put together.
    pub bytes: u64,
    /// Bytes of the longest of those.
    pub longest: u64,
}

/// How many texts a page claims to have, of either encoding.
pub(super) fn claimed_values(page: &[u8]) -> Option<u64> {
    Some(Deltas::new(page)?.left)
}

/// Goes over a page of DELTA_BYTE_ARRAY. Nothing, if its lengths contradict each other.
pub(super) fn shared_prefixes(page: &[u8]) -> Option<Text> {
    let mut prefixes = Deltas::new(page)?;
    let mut all = prefixes.clone();
    while all.left > 0 {
        all.next()?;
    }
    let rest = page.get(all.end()..)?;
    let mut suffixes = Deltas::new(rest)?;
    if prefixes.left != suffixes.left {
        return None;
    }
    let mut text = Text { values: prefixes.left, ..Text::default() };
    let (mut length, mut stored) = (0, 0);
    while prefixes.left > 0 {
        let prefix = u64::try_from(prefixes.next()?).ok()?;
        let suffix = u64::try_from(suffixes.next()?).ok()?;
        stored += suffix;
        if prefix > length || stored > rest.len() as u64 {
            return None;
        }
        length = prefix + suffix;
        text.bytes = text.bytes.saturating_add(length);
        text.longest = text.longest.max(length);
    }
    Some(text)
}

/// Numbers of 32 bits, one after the other.
#[derive(Clone)]
struct Deltas<'a> {
    bytes: &'a [u8],
    /// Where the next header of a block, or the miniblock at hand, begins.
    at: usize,
    miniblocks: usize,
    values_per_miniblock: usize,
    /// Values that are still to come.
    left: u64,
    first: Option<i32>,
    last: i32,
    least: i32,
    /// Where the bits of the miniblocks of this block are said, and which one is at hand.
    widths: usize,
    miniblock: usize,
    /// Values of it so far.
    taken: usize,
}

impl<'a> Deltas<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let mut at = 0;
        let block = usize::try_from(number(bytes, &mut at)?).ok()?;
        let miniblocks = usize::try_from(number(bytes, &mut at)?).ok()?;
        let left = number(bytes, &mut at)?;
        let first = i32::try_from(zigzag(number(bytes, &mut at)?)).ok()?;
        let values_per_miniblock = block.checked_div(miniblocks)?;
        let is_whole = block % miniblocks == 0 && values_per_miniblock % 32 == 0;
        if !is_whole || values_per_miniblock == 0 || block > LARGEST_BLOCK {
            return None;
        }
        let (last, least, first) = (0, 0, Some(first));
        let (taken, miniblock) = (values_per_miniblock, miniblocks - 1);
        Some(Deltas {
            bytes,
            at,
            miniblocks,
            values_per_miniblock,
            left,
            first,
            last,
            least,
            widths: 0,
            miniblock,
            taken,
        })
    }

    /// The next one. Nothing, if it is not there.
    fn next(&mut self) -> Option<i32> {
        self.left = self.left.checked_sub(1)?;
        if let Some(first) = self.first.take() {
            self.last = first;
            return Some(first);
        }
        if self.taken == self.values_per_miniblock {
            self.next_miniblock()?;
        }
        let width = usize::from(self.bytes[self.widths + self.miniblock]);
        let more = bits(self.bytes, self.at * 8 + self.taken * width, width)?;
        self.taken += 1;
        self.last = self.last.wrapping_add(self.least).wrapping_add(more as i32);
        Some(self.last)
    }

    fn next_miniblock(&mut self) -> Option<()> {
        if self.widths > 0 {
            self.at = self.end_of(self.miniblock);
        }
        self.miniblock += 1;
        if self.miniblock == self.miniblocks {
            self.least = i32::try_from(zigzag(number(self.bytes, &mut self.at)?)).ok()?;
            (self.widths, self.miniblock) = (self.at, 0);
            self.at = self.at.checked_add(self.miniblocks).filter(|&at| at <= self.bytes.len())?;
        }
        self.taken = 0;
        Some(())
    }

    /// Where a miniblock ends, of which this one begins at `at`.
    fn end_of(&self, miniblock: usize) -> usize {
        self.at + usize::from(self.bytes[self.widths + miniblock]) * self.values_per_miniblock / 8
    }

    /// Where they end, once the last one has been taken. Miniblocks without a value take no room, whatever their bits
    /// are.
    fn end(&self) -> usize {
        if self.widths > 0 { self.end_of(self.miniblock) } else { self.at }
    }
}

fn number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// So many bits, at most 32, from bit `at` on.
fn bits(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    if width == 0 {
        return Some(0);
    }
    if width > 32 {
        return None;
    }
    let (first, last) = (at / 8, (at + width - 1) / 8);
    let whole = bytes.get(first..=last)?.iter().rev().fold(0u64, |whole, &byte| whole << 8 | u64::from(byte));
    Some(whole >> (at % 8) & ((1 << width) - 1))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ::parquet::basic::Encoding;
    use ::parquet::column::page::Page;
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use arrow_array::RecordBatch;
    use arrow_array::{ArrayRef, StringArray};
    use parquet::arrow::ArrowWriter;
    use proptest::prelude::*;

    use super::*;

    /// The first page of these texts as the parquet crate writes it.
    fn page(texts: &[String], encoding: Encoding) -> Vec<u8> {
        let column: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        let batch = RecordBatch::try_from_iter_with_nullable([("a", column, false)]).unwrap();
        let properties = WriterProperties::builder().set_dictionary_enabled(false).set_encoding(encoding).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        let file = bytes::Bytes::from(writer.into_inner().unwrap());
        let reader = SerializedFileReader::new(file).unwrap();
        let group = reader.get_row_group(0).unwrap();
        let page = group.get_column_page_reader(0).unwrap().next().unwrap().unwrap();
        let Page::DataPage { buf, encoding: written, .. } = page else { panic!("{page:?}") };
        assert_eq!(written, encoding);
        buf.to_vec()
    }

    proptest! {
        #[test]
        fn text_is_counted_as_it_was_written(texts in proptest::collection::vec("[ab]{0,9}", 1..400), long in 0usize..3) {
            let texts: Vec<String> = texts.into_iter().map(|text| text + &"x".repeat(1000 * long)).collect();
            let bytes = texts.iter().map(|text| text.len() as u64).sum();
            let longest = texts.iter().map(|text| text.len() as u64).max().unwrap();
            let written = page(&texts, Encoding::DELTA_BYTE_ARRAY);
            let values = texts.len() as u64;
            prop_assert_eq!(shared_prefixes(&written), Some(Text { values, bytes, longest }));
            prop_assert_eq!(claimed_values(&page(&texts, Encoding::DELTA_LENGTH_BYTE_ARRAY)), Some(values));
        }

        /// Whatever it is, it ends.
        #[test]
        fn any_bytes_are_looked_at(head in proptest::collection::vec(0u8..5, 0..4), bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let page = [&[0x80, 0x01, 0x04, 0x20][..], &head, &bytes].concat();
            let _ = (shared_prefixes(&page), claimed_values(&page));
        }
    }
}
