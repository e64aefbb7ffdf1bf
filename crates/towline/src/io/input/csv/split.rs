//! Where cells and records end.
//!
//! A cell that begins with a quote, after blanks if there are any, ends at the next quote that is not doubled;
//! delimiters and line ends within it are text. A quote elsewhere is an ordinary character. Blanks around a cell do not
//! belong to it, blanks within quotes do.

/// A quoted cell longer than this is taken for one whose closing quote is missing, so that a stray quote does not make
/// a record of the rest of the file.
pub(super) const LARGEST_QUOTED_BYTES: usize = 4 << 20;

/// A cell within a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// The contents, without quotes.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether quotes are doubled within it.
    pub(super) escaped: bool,
    /// Where the next cell begins, or the next record.
    pub(super) next: usize,
    /// Whether the record ends with it.
    pub(super) last: bool,
}

/// What is wrong with the quotes of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuoteError {
    /// The quote at this place is not closed before the end of the text.
    Unclosed(usize),
    /// The cell that begins at this place is longer than a quoted cell may be.
    TooLong(usize),
    /// This follows the closing quote, but is neither a delimiter nor the end of the record.
    Trailing(usize),
}

impl Cell {
    /// What is in the cell; `buffer` is used if quotes have to be halved.
    #[inline(always)]
    pub(super) fn content<'a>(&self, text: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        let raw = &text[self.start..self.end];
        if !self.escaped {
            return raw;
        }
        buffer.clear();
        let mut from = 0;
        while let Some(quote) = memchr::memchr(b'"', &raw[from..]) {
            buffer.extend_from_slice(&raw[from..=from + quote]);
            from += quote + 2;
        }
        buffer.extend_from_slice(raw.get(from..).unwrap_or_default());
        buffer
    }
}

#[inline(always)]
fn is_blank(byte: u8, delimiter: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r') && byte != delimiter
}

#[inline(always)]
fn skip_blanks(text: &[u8], mut at: usize, delimiter: u8) -> usize {
    while text.get(at).is_some_and(|&byte| is_blank(byte, delimiter)) {
        at += 1;
    }
    at
}

/// Where the next record begins at or after `at`, which is between records.
pub(super) fn skip_blank_lines(text: &[u8], mut at: usize, delimiter: u8) -> usize {
    loop {
        let line_end = skip_blanks(text, at, delimiter);
        match text.get(line_end) {
            Some(b'\n') => at = line_end + 1,
            Some(_) => return at,
            None => return text.len(),
        }
    }
}

/// The cell that begins at `at`.
#[inline(always)]
pub(super) fn cell(text: &[u8], at: usize, delimiter: u8) -> Result<Cell, QuoteError> {
    let start = skip_blanks(text, at, delimiter);
    if text.get(start) == Some(&b'"') {
        return quoted_cell(text, start, delimiter);
    }
    let stop = cell_end(text, start, delimiter);
    let mut end = stop;
    while end > start && is_blank(text[end - 1], delimiter) {
        end -= 1;
    }
    let last = text.get(stop) != Some(&delimiter);
    Ok(Cell { start, end, escaped: false, next: (stop + 1).min(text.len()), last })
}

/// The first delimiter or line end from `at` on.
#[inline(always)]
fn cell_end(text: &[u8], at: usize, delimiter: u8) -> usize {
    let far = |rest: &[u8]| memchr::memchr2(delimiter, b'\n', rest);
    find_near(&text[at..], |byte| byte == delimiter || byte == b'\n', far).map_or(text.len(), |n| at + n)
}

/// The first byte that is wanted. Most cells are short, so that calling `memchr` costs more than looking at a few
/// bytes.
#[inline(always)]
fn find_near(text: &[u8], wanted: impl Fn(u8) -> bool, far: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    const NEAR: usize = 16;
    match text.iter().take(NEAR).position(|&byte| wanted(byte)) {
        Some(at) => Some(at),
        None => far(text.get(NEAR..)?).map(|at| NEAR + at),
    }
}

fn quoted_cell(text: &[u8], open: usize, delimiter: u8) -> Result<Cell, QuoteError> {
    let Some((close, escaped)) = closing_quote(text, open) else {
        let too_long = text.len() - open > LARGEST_QUOTED_BYTES;
        return Err(if too_long { QuoteError::TooLong(open) } else { QuoteError::Unclosed(open) });
    };
    if close - open > LARGEST_QUOTED_BYTES {
        return Err(QuoteError::TooLong(open));
    }
    let after = skip_blanks(text, close + 1, delimiter);
    let (next, last) = match text.get(after) {
        None => (text.len(), true),
        Some(&byte) if byte == delimiter => (after + 1, false),
        Some(b'\n') => (after + 1, true),
        Some(_) => return Err(QuoteError::Trailing(after)),
    };
    Ok(Cell { start: open + 1, end: close, escaped, next, last })
}

/// The quote that closes the one at `open`, and whether there are doubled ones between them.
#[inline(always)]
fn closing_quote(text: &[u8], open: usize) -> Option<(usize, bool)> {
    let mut escaped = false;
    let mut at = open + 1;
    loop {
        at += find_near(text.get(at..)?, |byte| byte == b'"', |rest| memchr::memchr(b'"', rest))?;
        if text.get(at + 1) != Some(&b'"') {
            return Some((at, escaped));
        }
        escaped = true;
        at += 2;
    }
}

/// Goes through the cells of the record at `at`, and says how many there are and where the next record begins.
pub(super) fn record(
    text: &[u8],
    mut at: usize,
    delimiter: u8,
    mut visit: impl FnMut(usize, &Cell),
) -> Result<(usize, usize), QuoteError> {
    let mut cells = 0;
    loop {
        let cell = cell(text, at, delimiter)?;
        visit(cells, &cell);
        cells += 1;
        at = cell.next;
        if cell.last {
            return Ok((cells, at));
        }
    }
}

/// How many bytes of `text`, which begins at a record, are whole records.
pub(super) fn whole_records(text: &[u8], delimiter: u8) -> usize {
    let mut whole = 0;
    // Always outside quotes here.
    let mut at = 0;
    loop {
        let quote = memchr::memchr(b'"', &text[at..]).map(|n| at + n);
        let outside = &text[at..quote.unwrap_or(text.len())];
        if let Some(line_end) = memchr::memrchr(b'\n', outside) {
            whole = at + line_end + 1;
        }
        let Some(quote) = quote else { return whole };
        if !opens_cell(text, quote, delimiter) {
            at = quote + 1;
            continue;
        }
        match closing_quote(text, quote) {
            Some((close, _)) => at = close + 1,
            // Nothing that could still come would help; parsing it gives the error.
            None if text.len() - quote > LARGEST_QUOTED_BYTES => return text.len(),
            None => return whole,
        }
    }
}

fn opens_cell(text: &[u8], quote: usize, delimiter: u8) -> bool {
    let before = text[..quote].iter().rev().find(|&&byte| !is_blank(byte, delimiter));
    before.is_none_or(|&byte| byte == delimiter || byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let visit = |_: usize, cell: &Cell| {
            let mut buffer = Vec::new();
            found.push(String::from_utf8(cell.content(text.as_bytes(), &mut buffer).to_vec()).unwrap());
        };
        record(text.as_bytes(), 0, b',', visit).unwrap();
        found
    }

    #[test]
    fn cells_of_a_record() {
        assert_eq!(cells("a,b\nc"), ["a", "b"]);
        assert_eq!(cells("a,\r\n"), ["a", ""]);
        assert_eq!(cells(" a b , \"c, \"\"d\"\"\n\" ,5\" disk"), ["a b", "c, \"d\"\n", "5\" disk"]);
        assert_eq!(cells("\"\"\"\",\"\""), ["\"", ""]);
        assert_eq!(cells("a much longer cell than most,b"), ["a much longer cell than most", "b"]);
    }

    #[test]
    fn quotes_that_do_not_fit() {
        assert_eq!(cell(b" \"a", 0, b','), Err(QuoteError::Unclosed(1)));
        assert_eq!(cell(b"\"a\"b", 0, b','), Err(QuoteError::Trailing(3)));
        let long = [b"\"".as_slice(), &vec![b'a'; LARGEST_QUOTED_BYTES + 1]].concat();
        assert_eq!(cell(&long, 0, b','), Err(QuoteError::TooLong(0)));
        assert_eq!(whole_records(&long, b','), long.len());
    }

    #[test]
    fn records_end_outside_quotes() {
        for (text, whole) in [
            ("a,b\nc,d", 4),
            ("\"a\nb\",c\n\"d\ne", 8),
            ("5\" disk\n6", 8),
            (" \"a\nb\"\nc", 7),
            ("\"a\"\"\n\"\nc", 7),
            ("\"a\nb", 0),
            ("a", 0),
        ] {
            assert_eq!(whole_records(text.as_bytes(), b','), whole, "{text:?}");
        }
    }
}
