//! What the beginning of a CSV file tells about the rest: delimiter, header, and what the columns hold.
use super::split::{self, Cell, QuoteError};
use crate::input::table::looks::{Found, Looks, absent_in, is_usual_missing};
use crate::input::table::plan::Tables;
use crate::input::{InputError, detect, number};

/// Delimiters that are recognised, most usual first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];
/// Records that are looked at to find the delimiter.
const DELIMITER_RECORDS: usize = 50;
/// Records that are looked at to find out what columns hold.
const KIND_RECORDS: usize = 10_000;
/// Records that are looked at where a schema says what columns hold: enough to tell a header from data.
const HEADER_RECORDS: usize = 100;

/// What was found.
#[derive(Debug)]
pub(super) struct Sniffed {
    pub(super) delimiter: u8,
    /// Whether the first record names the columns.
    pub(super) header: bool,
    /// Bytes before the first record of data.
    pub(super) header_bytes: usize,
    /// Names and kinds; none if there is no record at all.
    pub(super) columns: Vec<Found>,
}

/// Looks at `head`, the beginning of `file`.
pub(super) fn sniff(tables: &Tables, file: &str, head: &[u8]) -> Result<Sniffed, InputError> {
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Err(InputError::file(
            file,
            "the text is UTF-16, not UTF-8",
            "convert it, for example with 'iconv -f utf-16 -t utf-8'",
        ));
    }
    let begin = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let delimiter = tables.options.delimiter.unwrap_or_else(|| find_delimiter(file, &head[begin..]));
    let first = split::skip_blank_lines(head, begin, delimiter);
    if first == head.len() {
        return Ok(Sniffed { delimiter, header: false, header_bytes: begin, columns: Vec::new() });
    }
    let mut names: Vec<Vec<u8>> = Vec::new();
    let mut buffer = Vec::new();
    let visit = |_: usize, cell: &Cell| names.push(cell.content(head, &mut buffer).to_vec());
    let (_, second) = split::record(head, first, delimiter, visit)
        .map_err(|error| super::quote_error(error, delimiter).locate(file, 1, head))?;
    let mut seen = see_records(tables, head, second, delimiter, names.len());
    let header = match tables.options.header {
        Some(header) => header,
        None => is_header(tables, &names, &seen),
    };
    if !header {
        names.iter().zip(&mut seen).for_each(|(cell, seen)| seen.add(&tables.missing, cell));
    }
    let header_bytes = if header { second } else { begin };
    let names = if header { utf8(file, names)? } else { vec![String::new(); names.len()] };
    let absent = absent_in(&seen);
    let name = |at: usize, name: String| if name.is_empty() { format!("c{}", at + 1) } else { name };
    let mut columns: Vec<Found> =
        names.into_iter().zip(&seen).enumerate().map(|(at, (given, seen))| seen.found(&name(at, given))).collect();
    columns.iter_mut().for_each(|found| found.column.absent = absent);
    Ok(Sniffed { delimiter, header, header_bytes, columns })
}

/// Goes through the records from `at` on. It stops at trouble, which is reported when the record is parsed; the last
/// record may also have been cut off within quotes.
fn see_records(tables: &Tables, head: &[u8], mut at: usize, delimiter: u8, columns: usize) -> Vec<Looks> {
    let mut seen = vec![Looks::default(); columns];
    let mut buffer = Vec::new();
    let records = if tables.is_closed() { HEADER_RECORDS } else { KIND_RECORDS };
    for _ in 0..records {
        at = split::skip_blank_lines(head, at, delimiter);
        let visit = |column: usize, cell: &Cell| {
            if let Some(seen) = seen.get_mut(column) {
                seen.add(&tables.missing, cell.content(head, &mut buffer));
            }
        };
        match split::record(head, at, delimiter, visit) {
            Ok((_, next)) if at < head.len() => at = next,
            _ => break,
        }
    }
    seen
}

/// A name above numbers gives a header away, and so does one that the options or an earlier file mention. Otherwise
/// names are not numbers, while data has some.
fn is_header(tables: &Tables, first: &[Vec<u8>], later: &[Looks]) -> bool {
    let is_number = |cell: &Vec<u8>| number::whole_float(cell.trim_ascii()).is_some_and(f64::is_finite);
    let is_name = |cell: &Vec<u8>| !is_number(cell) && !tables.missing.is_text(cell) && !is_usual_missing(cell);
    if first.iter().zip(later).any(|(cell, later)| is_name(cell) && later.are_numbers()) {
        return true;
    }
    let cells: Vec<String> = first.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
    let is_mentioned = |name: &str| cells.iter().zip(first).any(|(cell, bytes)| cell == name && !is_number(bytes));
    if tables.options.mentions().any(is_mentioned) || tables.are_known_names(&cells) {
        return true;
    }
    !first.iter().any(is_number) && later.iter().any(Looks::has_numbers)
}

fn utf8(file: &str, names: Vec<Vec<u8>>) -> Result<Vec<String>, InputError> {
    let convert = |(at, name): (usize, Vec<u8>)| {
        String::from_utf8(name).map_err(|_| {
            InputError::file(
                file,
                format!("the name of column {} is not UTF-8", at + 1),
                "convert the file, for example with 'iconv -f latin1 -t utf-8'",
            )
        })
    };
    names.into_iter().enumerate().map(convert).collect()
}

/// The delimiter that cuts the first records into the same number of cells, the most if there are several such.
fn find_delimiter(file: &str, head: &[u8]) -> u8 {
    if matches!(detect::plain_extension(file).as_deref(), Some("tsv" | "tab")) {
        return b'\t';
    }
    let mut best = (b',', 1, false);
    for delimiter in DELIMITERS {
        let (cells, steady) = count_cells(head, delimiter);
        // Steadiness goes before number: text in cells may hold many commas.
        if cells > 1 && (steady, cells) > (best.2, best.1) {
            best = (delimiter, cells, steady);
        }
    }
    best.0
}

/// How many cells the first record has with this delimiter, and whether those after it have as many.
fn count_cells(head: &[u8], delimiter: u8) -> (usize, bool) {
    let mut at = split::skip_blank_lines(head, 0, delimiter);
    let (mut first, mut steady) = (0, true);
    for _ in 0..DELIMITER_RECORDS {
        match split::record(head, at, delimiter, |_, _| {}) {
            Ok((cells, next)) => {
                steady &= first == 0 || first == cells;
                first = if first == 0 { cells } else { first };
                at = split::skip_blank_lines(head, next, delimiter);
            }
            // The head may end within quotes; anything else speaks against this delimiter.
            Err(error) => return (first, steady && matches!(error, QuoteError::Unclosed(_))),
        }
        if at >= head.len() {
            break;
        }
    }
    (first, steady)
}
