//! libsvm / svmlight text: `label [qid:GROUP] index:value index:value … [# comment]`, one row a line; several targets
//! as `1.5,-2,0`.
//!
//! Indices are kept as they are written. Whether they count from 0 or from 1 matters to nobody but the reader of a
//! message, so `auto` simply reports which of the two was seen.
mod mistakes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use self::mistakes::{bad_label, bad_value, mention, not_finite, shown, too_large_sum};
use super::number;
use super::separators::Separators;
use super::text::{LineError, RecordParser, TextFormat};
use super::{InputError, RowBatch};
pub use crate::block::Precision;

/// What to do when a row names a feature twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Duplicates {
    /// Refuse the row.
    #[default]
    Error,
    /// Add the values.
    Sum,
    /// Keep the last value.
    Last,
}

/// Whether indices count from 0 or from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexBase {
    /// From 0 if an index 0 is seen, else from 1.
    #[default]
    Auto,
    /// Index 0 is allowed.
    Zero,
    /// Index 0 is an error.
    One,
}

/// Settings of the format.
#[derive(Clone, Copy, Debug, Default)]
pub struct LibsvmOptions {
    /// Whether indices count from 0 or from 1.
    pub index_base: IndexBase,
    /// What to do about repeated features.
    pub duplicates: Duplicates,
    /// How values are kept.
    pub precision: Precision,
    /// Leave `qid:` out instead of keeping it as the row's group.
    pub skip_groups: bool,
}

/// Some editors begin a file with this; it is invisible, and no part of the first label.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The format, shared by all files of a call.
pub struct Libsvm {
    parser: Arc<Parser>,
}

struct Parser {
    options: LibsvmOptions,
    saw_zero: AtomicBool,
    saw_group: AtomicBool,
    zeros_dropped: AtomicU64,
}

impl Libsvm {
    /// A reader with these settings.
    pub fn new(options: LibsvmOptions) -> Self {
        let (saw_zero, saw_group) = (AtomicBool::new(false), AtomicBool::new(false));
        Libsvm { parser: Arc::new(Parser { options, saw_zero, saw_group, zeros_dropped: AtomicU64::new(0) }) }
    }
}

impl TextFormat for Libsvm {
    fn head_bytes(&self, _seen: &[u8]) -> usize {
        BYTE_ORDER_MARK.len()
    }

    fn parser(&self, _file: &str, head: &[u8]) -> Result<(Arc<dyn RecordParser>, usize), InputError> {
        let mark = if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        Ok((self.parser.clone(), mark))
    }

    fn features_are_named(&self) -> bool {
        false
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.parser.options.index_base == IndexBase::Auto {
            let base = if self.parser.saw_zero.load(Ordering::Relaxed) { 0 } else { 1 };
            remarks.push(format!("feature indices count from {base}"));
        }
        if self.parser.saw_group.load(Ordering::Relaxed) {
            let word = if self.parser.options.skip_groups { "left out" } else { "kept as groups" };
            remarks.push(format!("qid: entries were {word}"));
        }
        let zeros = self.parser.zeros_dropped.load(Ordering::Relaxed);
        if zeros > 0 {
            remarks.push(format!("{zeros} explicit zeros were dropped"));
        }
        remarks
    }
}

impl RecordParser for Parser {
    fn rows_bytes(&self, text: &[u8]) -> u64 {
        let (values, rows) = most_values_and_rows(text);
        16 * values as u64 + 24 * rows as u64 + 8 * most_further(text) as u64
    }

    fn reserve(&self, text: &[u8], batch: &mut RowBatch) {
        let (values, rows) = most_values_and_rows(text);
        batch.keys.reserve_exact(values);
        batch.values.reserve_exact(values);
        batch.ends.reserve_exact(rows);
        batch.labels.reserve_exact(rows);
        batch.further.reserve_exact(most_further(text));
    }

    fn parse(&self, text: &[u8], batch: &mut RowBatch) -> Result<(), LineError> {
        let mut at = 0;
        let mut has_groups = false;
        let mut separators = Separators::new();
        while at < text.len() {
            at = self.line(text, at, &mut separators, batch, &mut has_groups)?;
        }
        Ok(())
    }
}

fn most_values_and_rows(text: &[u8]) -> (usize, usize) {
    (memchr::memchr_iter(b':', text).count(), memchr::memchr_iter(b'\n', text).count() + 1)
}

/// Targets behind the first that the rows can have: none, unless the first row has some.
fn most_further(text: &[u8]) -> usize {
    let mut row = text.trim_ascii_start();
    while row.first() == Some(&b'#') {
        row = memchr::memchr(b'\n', row).map_or(&[][..], |end| row[end..].trim_ascii_start());
    }
    let several = row.iter().take_while(|byte| !byte.is_ascii_whitespace()).any(|&byte| byte == b',');
    if several { memchr::memchr_iter(b',', text).count() } else { 0 }
}

#[inline(always)]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

#[inline(always)]
fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).copied().is_some_and(is_blank) {
        at += 1;
    }
    at
}

/// Whether a token may end at `at`.
#[inline(always)]
fn at_token_end(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|&b| is_blank(b) || b == b'\n' || b == b'#')
}

impl Parser {
    /// Parses the line that begins at `at`, and returns where the next one begins.
    #[inline(always)]
    fn line(
        &self,
        text: &[u8],
        at: usize,
        separators: &mut Separators,
        batch: &mut RowBatch,
        has_groups: &mut bool,
    ) -> Result<usize, LineError> {
        let mut at = skip_blanks(text, at);
        match text.get(at) {
            None => return Ok(at),
            Some(b'\n') => return Ok(at + 1),
            Some(b'#') => return Ok(memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n + 1)),
            Some(_) => {}
        }
        let label_at = at;
        let label = match number::float(text, at) {
            Some((value, end)) if at_token_end(text, end) && value.is_finite() && batch.further.is_empty() => {
                at = end;
                value
            }
            first => {
                let value;
                (value, at) = several_targets(text, at, first, batch)?;
                value
            }
        };
        let first = batch.keys.len();
        let mut group = None;
        loop {
            at = skip_blanks(text, at);
            at = separators.entries(text, at, &mut batch.keys, &mut batch.values);
            match text.get(at) {
                None => break,
                Some(b'\n') => {
                    at += 1;
                    break;
                }
                Some(b'#') => {
                    at = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n + 1);
                    break;
                }
                Some(&blank) if is_blank(blank) => continue,
                Some(_) => {}
            }
            match unusual_entry(text, at)? {
                Some((key, value, end)) => {
                    if !self.options.precision.round(value).is_finite() {
                        return Err(not_finite(text, at, value, self.options.precision));
                    }
                    batch.keys.push(key);
                    batch.values.push(value);
                    at = end;
                }
                None => (group, at) = read_group(text, at, group)?,
            }
        }
        self.check_row(text, label_at, first, batch)?;
        self.note_group(group, has_groups, batch);
        batch.end_row(label);
        Ok(at)
    }

    /// Rounds the values of the row that begins at `first`, and sees to indices out of order and to zeros.
    #[inline(always)]
    fn check_row(&self, text: &[u8], label_at: usize, first: usize, batch: &mut RowBatch) -> Result<(), LineError> {
        let (keys, values) = (&batch.keys[first..], &mut batch.values[first..]);
        if self.options.precision == Precision::F32 {
            values.iter_mut().for_each(|value| *value = self.options.precision.round(*value));
        }
        let mut has_zeros = values.iter().fold(false, |found, &value| found | (value == 0.0));
        let sorted = keys.windows(2).fold(true, |sorted, pair| sorted & (pair[0] < pair[1]));
        if keys.first() == Some(&0) || !sorted && keys.contains(&0) {
            self.check_zero_index(text, mention(text, label_at, 0, false))?;
        }
        if !sorted {
            self.sort_row(text, label_at, first, batch)?;
            has_zeros = true; // sums may have cancelled
        }
        if has_zeros {
            self.drop_zeros(first, batch);
        }
        Ok(())
    }

    #[cold]
    fn check_zero_index(&self, text: &[u8], token: usize) -> Result<(), LineError> {
        self.saw_zero.store(true, Ordering::Relaxed);
        if self.options.index_base == IndexBase::One {
            return Err(LineError {
                at: token,
                problem: format!("index 0 in '{}', but indices were said to count from 1", shown(text, token)),
                remedy: "drop `index_base(1)`, or correct the file".into(),
            });
        }
        Ok(())
    }

    /// Sorts the entries from `first` on by index and settles repeated ones.
    #[cold]
    fn sort_row(&self, text: &[u8], label_at: usize, first: usize, batch: &mut RowBatch) -> Result<(), LineError> {
        let mut entries: Vec<(u64, f64)> =
            batch.keys[first..].iter().copied().zip(batch.values[first..].iter().copied()).collect();
        // Stable, so that "last" is the last one written.
        entries.sort_by_key(|&(key, _)| key);
        batch.keys.truncate(first);
        batch.values.truncate(first);
        for (key, value) in entries {
            let repeated = batch.keys.len() > first && batch.keys.last() == Some(&key);
            match (repeated, self.options.duplicates) {
                (false, _) => {
                    batch.keys.push(key);
                    batch.values.push(value);
                }
                (true, Duplicates::Error) => {
                    return Err(LineError {
                        at: mention(text, label_at, key, true),
                        problem: format!("feature {key} appears twice in this row"),
                        remedy: "correct the file, or use `duplicates(sum)` or `duplicates(last)`".into(),
                    });
                }
                (true, Duplicates::Sum) => {
                    let Some(kept) = batch.values.last_mut() else { continue };
                    *kept = self.options.precision.round(*kept + value);
                    if !kept.is_finite() {
                        return Err(too_large_sum(text, label_at, key, self.options.precision));
                    }
                }
                (true, Duplicates::Last) => {
                    if let Some(kept) = batch.values.last_mut() {
                        *kept = value;
                    }
                }
            }
        }
        Ok(())
    }

    /// Leaves zeros out of the row that begins at `first`. They stay until then, since a zero is a mention too:
    /// `3:0 3:1` names feature 3 twice.
    #[cold]
    fn drop_zeros(&self, first: usize, batch: &mut RowBatch) {
        let mut kept = first;
        for k in first..batch.keys.len() {
            if batch.values[k] != 0.0 {
                batch.keys[kept] = batch.keys[k];
                batch.values[kept] = batch.values[k];
                kept += 1;
            }
        }
        self.zeros_dropped.fetch_add((batch.keys.len() - kept) as u64, Ordering::Relaxed);
        batch.keys.truncate(kept);
        batch.values.truncate(kept);
    }

    fn note_group(&self, group: Option<u64>, has_groups: &mut bool, batch: &mut RowBatch) {
        if group.is_some() {
            self.saw_group.store(true, Ordering::Relaxed);
        }
        if self.options.skip_groups || (group.is_none() && !*has_groups) {
            return;
        }
        if !*has_groups {
            *has_groups = true;
            batch.groups.resize(batch.rows(), 0);
        }
        batch.groups.push(group.unwrap_or(0));
    }
}

/// Targets with commas between them: the first, and where they end.
#[cold]
fn several_targets(
    text: &[u8],
    label_at: usize,
    first: Option<(f64, usize)>,
    batch: &mut RowBatch,
) -> Result<(f64, usize), LineError> {
    let Some((value, mut at)) = first.filter(|first| first.0.is_finite()) else {
        return Err(bad_label(text, label_at));
    };
    let (rows, before) = (batch.rows(), batch.further.len());
    while text.get(at) == Some(&b',') {
        match number::float(text, at + 1).filter(|next| next.0.is_finite()) {
            Some((target, end)) => {
                batch.further.push(target);
                at = end;
            }
            None => return Err(bad_label(text, label_at)),
        }
    }
    if !at_token_end(text, at) {
        return Err(bad_label(text, label_at));
    }
    let (found, expected) = (1 + batch.further.len() - before, 1 + before / rows.max(1));
    if rows > 0 && found != expected {
        return Err(LineError::targets(label_at, found, expected));
    }
    Ok((value, at))
}

/// Reads `index:value` in any form; `None` if this is no index, so perhaps a group.
#[inline(never)]
fn unusual_entry(text: &[u8], at: usize) -> Result<Option<(u64, f64, usize)>, LineError> {
    let Some((key, end)) = number::unsigned(text, at).filter(|&(_, end)| text.get(end) == Some(&b':')) else {
        return Ok(None);
    };
    match number::float(text, end + 1).filter(|&(_, end)| at_token_end(text, end)) {
        Some((value, end)) => Ok(Some((key, value, end))),
        None => Err(bad_value(text, at, end + 1)),
    }
}

#[cold]
fn read_group(text: &[u8], at: usize, seen: Option<u64>) -> Result<(Option<u64>, usize), LineError> {
    let remedy = "write entries as index:value with a whole number before the colon".to_string();
    let fail = |problem: String, remedy: String| Err(LineError { at, problem, remedy });
    let token = shown(text, at);
    if text[at..].starts_with(b"qid:") {
        return match number::unsigned(text, at + 4).filter(|&(_, end)| at_token_end(text, end)) {
            Some(_) if seen.is_some() => fail("a second qid: in this row".into(), "keep one qid: per row".into()),
            Some((group, end)) => Ok((Some(group), end)),
            None => fail(
                format!("expected a whole number after qid:, found '{token}'"),
                "number the groups from 1 on".into(),
            ),
        };
    }
    if token.starts_with('-') && token.contains(':') {
        return fail(format!("negative index in '{token}'"), "feature indices are 0 or more".into());
    }
    if token.bytes().take_while(u8::is_ascii_digit).count() > 19 {
        return fail(
            format!("the index in '{token}' does not fit into 64 bits"),
            "use smaller feature numbers, or hash them".into(),
        );
    }
    if number::unsigned(text, at).is_some_and(|(_, end)| at_token_end(text, end)) {
        return fail(format!("'{token}' has no ':value'"), remedy);
    }
    fail(format!("expected index:value, found '{token}'"), remedy)
}

#[cfg(test)]
mod tests;
