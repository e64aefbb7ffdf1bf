//! The columns of a row group, with a look at every page before it is decoded.
use std::sync::Arc;

use bytes::Buf;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescPtr;

use super::delta;
use super::pages::PaidFile;

/// A row group whose pages are paid for.
pub(super) struct PaidGroup {
    pub file: PaidFile,
    pub metadata: Arc<ParquetMetaData>,
    /// Its number.
    pub group: usize,
}

impl RowGroups for PaidGroup {
    fn num_rows(&self) -> usize {
        self.metadata.row_group(self.group).num_rows().max(0) as usize
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let file = PaidFile { column, ..self.file.clone() };
        let chunk = self.metadata.row_group(self.group).column(column);
        let pages = SerializedPageReader::new(Arc::new(file.clone()), chunk, self.num_rows(), None)?;
        Ok(Box::new(OneChunk(Some(PaidPages { pages, file, column: chunk.column_descr_ptr() }))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata.row_group(self.group)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The pages of the only chunk that a column has in a row group.
struct OneChunk(Option<PaidPages>);

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for OneChunk {}

/// Pages that have been unpacked and are about to be decoded.
struct PaidPages {
    pages: SerializedPageReader<PaidFile>,
    file: PaidFile,
    column: ColumnDescPtr,
}

impl PaidPages {
    /// Pays for what the lengths of text in a page ask for.
    fn pay(&self, page: &Page) -> Result<()> {
        let encoding = page.encoding();
        if !page.is_data_page() || ![Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY].contains(&encoding)
        {
            return Ok(());
        }
        let wrong = || ParquetError::General("lengths of text contradict each other".into());
        let values = self.values(page).ok_or_else(wrong)?;
        let count = delta::claimed_values(values).ok_or_else(wrong)?;
        if count > u64::from(page.num_values()) {
            return Err(wrong());
        }
        self.file.pay_lengths(count)?;
        if encoding == Encoding::DELTA_BYTE_ARRAY {
            self.file.pay_text(delta::shared_prefixes(values).ok_or_else(wrong)?)?;
        }
        Ok(())
    }

    /// What lies behind the levels of a page.
    fn values<'a>(&self, page: &'a Page) -> Option<&'a [u8]> {
        match page {
            Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
                let mut rest = &buf[..];
                let levels = [
                    (self.column.max_rep_level(), rep_level_encoding),
                    (self.column.max_def_level(), def_level_encoding),
                ];
                for (most, encoding) in levels.into_iter().filter(|(most, _)| *most > 0) {
                    let bytes = level_bytes(rest, *encoding, most, *num_values)?;
                    rest = rest.get(bytes..)?;
                }
                Some(rest)
            }
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                buf.get(usize::try_from(u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len)).ok()?..)
            }
            Page::DictionaryPage { buf, .. } => Some(buf),
        }
    }
}

/// Bytes of the levels with which a page of the first version begins.
fn level_bytes(mut bytes: &[u8], encoding: Encoding, most: i16, values: u32) -> Option<usize> {
    match encoding {
        Encoding::RLE if bytes.len() >= 4 => usize::try_from(bytes.get_u32_le()).ok()?.checked_add(4),
        #[expect(deprecated)]
        Encoding::BIT_PACKED => {
            let width = u64::from(i16::BITS - most.leading_zeros());
            usize::try_from((u64::from(values) * width).div_ceil(8)).ok()
        }
        _ => None,
    }
}

impl Iterator for PaidPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for PaidPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.as_ref().map_or(Ok(()), |page| self.pay(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}
