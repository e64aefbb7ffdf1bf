//! Vowpal Wabbit's text: `label [importance] ['tag] |namespace[:weight] feature[:value] … |namespace …`, one row a line.
//!
//! A feature is called `namespace^feature`, or `feature` where the namespace has no name, and its value is multiplied by
//! the weight of the namespace. A feature that a row names twice has the sum of both values, as there. The importance is the
//! row's weight; tags are left out. Rows without a label are refused, skipped or kept as those of tables are.
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::libsvm::Precision;
use super::table::{Unlabelled, cells::shown};
use super::text::{LineError, RecordParser, TextFormat};
use super::{InputError, RowBatch, number};

/// The name of a namespace is repeated before each of its features, so it must not be long.
const LONGEST_NAMESPACE: usize = 256;

/// The format, shared by all files of a call.
pub struct Vw {
    parser: Arc<Parser>,
}

struct Parser {
    precision: Precision,
    unlabelled: Unlabelled,
    skipped_rows: AtomicU64,
}

impl Vw {
    /// A reader of values that are kept in this precision.
    pub fn new(precision: Precision, unlabelled: Unlabelled) -> Self {
        Vw { parser: Arc::new(Parser { precision, unlabelled, skipped_rows: AtomicU64::new(0) }) }
    }
}

impl TextFormat for Vw {
    fn parser(&self, _file: &str, _head: &[u8]) -> Result<(Arc<dyn RecordParser>, usize), InputError> {
        Ok((self.parser.clone(), 0))
    }

    fn features_are_named(&self) -> bool {
        true
    }

    fn remarks(&self) -> Vec<String> {
        match self.parser.skipped_rows.load(Ordering::Relaxed) {
            0 => Vec::new(),
            skipped => vec![format!("{skipped} rows without a label were left out")],
        }
    }
}

/// What is put together for a row, kept between rows.
#[derive(Default)]
struct Buffers {
    name: Vec<u8>,
    order: Vec<(u64, u32)>,
}

impl RecordParser for Parser {
    fn rows_bytes(&self, text: &[u8]) -> u64 {
        let features = text.iter().filter(|byte| byte.is_ascii_whitespace()).count() as u64 + 1;
        let namespace = text.split(|&byte| byte == b'|').skip(1).map(|part| token(part).len()).max().unwrap_or(0);
        // Key, value, a place to sort it, and its name; growing by doubling may leave as much room again.
        2 * (features * (16 + 16 + 13 + 1 + namespace.min(LONGEST_NAMESPACE) as u64) + text.len() as u64)
    }

    fn parse(&self, text: &[u8], batch: &mut RowBatch) -> Result<(), LineError> {
        let (mut at, mut buffers) = (0, Buffers::default());
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let row = line.trim_ascii_end();
            if !row.trim_ascii_start().is_empty() {
                self.row(row, batch, &mut buffers).map_err(|error| LineError { at: at + error.at, ..error })?;
            }
            at += line.len();
        }
        Ok(())
    }
}

/// What stands before the first bar.
#[derive(Default)]
struct Head {
    label: Option<f64>,
    importance: Option<f64>,
}

impl Parser {
    fn row(&self, row: &[u8], batch: &mut RowBatch, buffers: &mut Buffers) -> Result<(), LineError> {
        let Some(bar) = memchr::memchr(b'|', row) else {
            return Err(bad(0, "this line has no '|'", "put '|' before the features, as in '1 |words good film'"));
        };
        let head = read_head(&row[..bar])?;
        let label = match (head.label, self.unlabelled) {
            (Some(label), _) => label,
            (None, Unlabelled::Keep) => f64::NAN,
            (None, Unlabelled::Skip) => {
                self.skipped_rows.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            (None, Unlabelled::Error) => {
                return Err(bad(0, "this row has no label", "use `unlabelled(skip)` to leave such rows out"));
            }
        };
        let first = batch.values.len();
        let mut at = bar + 1;
        for part in row[bar + 1..].split(|&byte| byte == b'|') {
            self.namespace(part, at, batch, buffers)?;
            at += part.len() + 1;
        }
        batch.add_up(first, &mut buffers.order);
        self.round(first, batch)?;
        // Rows before the first one with an importance have none of their own.
        if head.importance.is_some() || !batch.weights.is_empty() {
            batch.weights.resize(batch.rows(), 1.0);
            batch.weights.push(head.importance.unwrap_or(1.0));
        }
        batch.end_row(label);
        Ok(())
    }

    /// The features of a namespace, whose text begins at `at` of the line.
    fn namespace(&self, part: &[u8], at: usize, batch: &mut RowBatch, buffers: &mut Buffers) -> Result<(), LineError> {
        let named = token(part);
        let (space, weight) = match memchr::memchr(b':', named) {
            Some(colon) => (&named[..colon], value(named, colon + 1, at)?),
            None => (named, 1.0),
        };
        if space.len() > LONGEST_NAMESPACE {
            let problem = format!("the name of this namespace has {} bytes", space.len());
            return Err(bad(at, problem, format!("use a name of at most {LONGEST_NAMESPACE}")));
        }
        let name = &mut buffers.name;
        name.clear();
        name.extend_from_slice(space);
        if !space.is_empty() {
            name.push(b'^');
        }
        let prefix = name.len();
        let mut from = named.len();
        for word in part[named.len()..].split_inclusive(|&byte| is_blank(byte)) {
            let begin = from;
            from += word.len();
            let word = word.trim_ascii_end();
            if word.is_empty() {
                continue;
            }
            let colon = memchr::memchr(b':', word).unwrap_or(word.len());
            if colon == 0 {
                let problem = format!("'{}' has no name before its value", shown(word));
                return Err(bad(at + begin, problem, "give every feature a name"));
            }
            let number = if colon < word.len() { value(word, colon + 1, at + begin)? } else { 1.0 };
            name.truncate(prefix);
            name.extend_from_slice(&word[..colon]);
            let known = batch.names.len();
            let key = batch.names.intern(name);
            if batch.names.len() > known && std::str::from_utf8(name).is_err() {
                return Err(bad(at + begin, "this name is not UTF-8", "convert the file, for example with 'iconv'"));
            }
            batch.keys.push(u64::from(key));
            batch.values.push(number * weight);
        }
        Ok(())
    }

    /// Rounds the values of the row that begins at `first`, and leaves zeros out.
    fn round(&self, first: usize, batch: &mut RowBatch) -> Result<(), LineError> {
        let mut kept = first;
        for at in first..batch.values.len() {
            let value = self.precision.round(batch.values[at]);
            if !value.is_finite() {
                let name = shown(batch.names.get(batch.keys[at] as usize));
                return Err(bad(0, format!("the value of '{name}' is too large"), "use `precision(f64)`, or scale it"));
            }
            if value != 0.0 {
                (batch.keys[kept], batch.values[kept]) = (batch.keys[at], value);
                kept += 1;
            }
        }
        batch.keys.truncate(kept);
        batch.values.truncate(kept);
        Ok(())
    }
}

/// Reads label, importance and tag.
fn read_head(text: &[u8]) -> Result<Head, LineError> {
    let mut words: Vec<&[u8]> = text.split(|&byte| is_blank(byte)).filter(|word| !word.is_empty()).take(6).collect();
    // What touches the bar, or begins with a quote, is a tag.
    let touches = text.last().is_some_and(|&byte| !is_blank(byte));
    if words.last().is_some_and(|word| touches || word.first() == Some(&b'\'')) {
        words.pop();
    }
    if words.len() > 3 {
        let problem = format!("{} words before the first '|'", words.len());
        return Err(bad(0, problem, "write a label, an importance and a tag at most"));
    }
    let number = |word: &[u8]| match number::whole_float(word) {
        Some(value) if value.is_finite() => Ok(value),
        _ => {
            let problem = format!("expected a number before the first '|', found '{}'", shown(word));
            Err(bad(0, problem, "labels are numbers; costs and actions of several classes cannot be read"))
        }
    };
    let numbers = words.iter().map(|word| number(word)).collect::<Result<Vec<f64>, _>>()?;
    if numbers.get(2).is_some_and(|&base| base != 0.0) {
        let problem = "this row begins from a prediction of its own, the third number";
        return Err(bad(0, problem, "leave it out: all rows begin from 0"));
    }
    if numbers.get(1).is_some_and(|&importance| importance < 0.0) {
        return Err(bad(0, "the importance is negative", "give rows an importance of 0 or more"));
    }
    Ok(Head { label: numbers.first().copied(), importance: numbers.get(1).copied() })
}

/// The number behind a colon in `word`, which begins at `at` of the line.
fn value(word: &[u8], from: usize, at: usize) -> Result<f64, LineError> {
    match number::whole_float(&word[from..]) {
        Some(value) if value.is_finite() => Ok(value),
        _ => {
            let problem = format!("expected a number behind the colon of '{}'", shown(word));
            Err(bad(at + from, problem, "write name:value, with a name that has no colon"))
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// The word that `text` begins with; nothing if that is a blank.
fn token(text: &[u8]) -> &[u8] {
    &text[..text.iter().position(|&byte| is_blank(byte) || byte == b'\n').unwrap_or(text.len())]
}

#[cold]
fn bad(at: usize, problem: impl Into<String>, remedy: impl Into<String>) -> LineError {
    LineError { at, problem: problem.into(), remedy: remedy.into() }
}
