//! CSV and its relatives: records of cells, with quotes where needed.
//!
//! Delimiter, header and what columns hold are taken from the first megabyte of each file (`sniff.rs`), whatever the
//! size of the pieces in which it is read, so that the memory budget never changes the features.
#[cfg(test)]
mod malformed;
mod parse;
mod sniff;
mod split;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::parse::CsvParser;
use self::split::{LARGEST_QUOTED_BYTES, QuoteError};
use super::InputError;
use super::table::TableOptions;
use super::table::plan::{self, Evidence, Plan, Tables};
use super::text::{LineError, RecordParser, TextFormat};
use crate::schema::Schema;

/// How much of a file is looked at before the first row is read.
const HEAD_BYTES: usize = 1 << 20;

/// The format, shared by all files of a call.
pub struct Csv {
    tables: Arc<Tables>,
}

impl Csv {
    /// A reader with these settings.
    pub fn new(options: TableOptions) -> Self {
        Csv { tables: Arc::new(Tables::new(options)) }
    }
}

impl TextFormat for Csv {
    fn head_bytes(&self, seen: &[u8]) -> usize {
        match seen.len() {
            few if few < HEAD_BYTES => HEAD_BYTES,
            // A very wide table: its header and a record are wanted at the least.
            many if memchr::memchr_iter(b'\n', seen).nth(1).is_none() => 2 * many,
            enough => enough,
        }
    }

    fn parser(&self, file: &str, head: &[u8]) -> Result<(Arc<dyn RecordParser>, usize), InputError> {
        self.tables.options.check(file)?;
        let sniffed = sniff::sniff(&self.tables, file, head)?;
        let plan = match sniffed.columns {
            // An empty file has no label, but no row that needs one either.
            none if none.is_empty() => Plan::default(),
            some => self.tables.plan(file, some, Evidence::Cells)?,
        };
        plan::check_clashes(file, &plan.columns)?;
        let parser = CsvParser::new(self.tables.clone(), plan, sniffed.delimiter, sniffed.header);
        Ok((Arc::new(parser), sniffed.header_bytes))
    }

    fn features_are_named(&self) -> bool {
        true
    }

    fn target_names(&self) -> Vec<String> {
        self.tables.target_names()
    }

    fn remarks(&self) -> Vec<String> {
        self.tables.remarks()
    }

    fn schema(&self) -> Option<Schema> {
        self.tables.schema()
    }
}

fn quote_error(error: QuoteError, delimiter: u8) -> LineError {
    let (at, problem, remedy) = match error {
        QuoteError::Unclosed(at) => (at, "the quote that opens here is never closed".to_string(), "close it"),
        QuoteError::TooLong(at) => (
            at,
            format!("the quote that opens here is not closed within {} MiB", LARGEST_QUOTED_BYTES >> 20),
            "close it, or shorten the cell",
        ),
        QuoteError::Trailing(at) => (
            at,
            format!("expected '{}' or the end of the record after a closing quote", delimiter.escape_ascii()),
            "write a quote within quotes twice",
        ),
    };
    LineError { at, problem, remedy: remedy.to_string() }
}
