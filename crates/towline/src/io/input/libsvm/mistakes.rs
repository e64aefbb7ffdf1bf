//! What is wrong with a line of libsvm text, and what to do about it.
use super::{Precision, at_token_end, is_blank, skip_blanks};
use crate::input::number;
use crate::input::text::LineError;

/// The token at `at`, short enough for a message.
pub(super) fn shown(text: &[u8], at: usize) -> String {
    let rest = &text[at..];
    let end = rest.iter().position(|&b| is_blank(b) || b == b'\n').unwrap_or(rest.len());
    let mut shown = String::new();
    for character in String::from_utf8_lossy(&rest[..end.min(40)]).chars() {
        // What a terminal would not show, or obey, is spelled out.
        if character.is_control() { shown.extend(character.escape_default()) } else { shown.push(character) }
    }
    if end > 40 {
        shown.push('…');
    }
    shown
}

#[cold]
pub(super) fn bad_label(text: &[u8], at: usize) -> LineError {
    let token = shown(text, at);
    let problem = if token.contains(':') {
        format!("a row must begin with a label, but this one begins with '{token}'")
    } else if matches!(number::whole_float(token.as_bytes()), Some(v) if !v.is_finite()) {
        format!("the label '{token}' is not a finite number")
    } else {
        format!("expected a number as label, found '{token}'")
    };
    LineError {
        at,
        problem,
        remedy: "a libsvm line is 'label index:value index:value …'; for tables use `format(csv)`".into(),
    }
}

#[cold]
pub(super) fn bad_value(text: &[u8], token: usize, value_at: usize) -> LineError {
    let problem = match text.get(value_at) {
        _ if at_token_end(text, value_at) => format!("no value after the colon in '{}'", shown(text, token)),
        _ => format!("expected a number after the colon in '{}'", shown(text, token)),
    };
    LineError { at: value_at, problem, remedy: "write values as 1, -0.5 or 2.5e-3".into() }
}

#[cold]
pub(super) fn not_finite(text: &[u8], token: usize, value: f64, precision: Precision) -> LineError {
    let shown = shown(text, token);
    if value.is_finite() && precision == Precision::F32 {
        return LineError {
            at: token,
            problem: format!("the value in '{shown}' is too large for a 32-bit float"),
            remedy: "use `precision(f64)`, or scale the data".into(),
        };
    }
    LineError {
        at: token,
        problem: format!("the value in '{shown}' is not a finite number"),
        remedy: "leave missing values out of the row".into(),
    }
}

#[cold]
pub(super) fn too_large_sum(text: &[u8], label_at: usize, key: u64, precision: Precision) -> LineError {
    let (bits, remedy) = match precision {
        Precision::F32 => (32, "use `precision(f64)`, or correct the file"),
        Precision::F64 => (64, "correct the file"),
    };
    LineError {
        at: mention(text, label_at, key, true),
        problem: format!("the values of feature {key} add up to more than a {bits}-bit float can hold"),
        remedy: remedy.into(),
    }
}

/// Where feature `key` is named for the first time or, if `again`, for the second time in the line whose label is at
/// `at`.
pub(super) fn mention(text: &[u8], at: usize, key: u64, again: bool) -> usize {
    let line_end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n);
    let mut seen = !again;
    let mut token = at;
    while token < line_end {
        if matches!(number::unsigned(text, token), Some((k, end)) if k == key && text.get(end) == Some(&b':')) {
            if seen {
                return token;
            }
            seen = true;
        }
        token += text[token..line_end].iter().position(|&b| is_blank(b)).unwrap_or(line_end - token);
        token = skip_blanks(text, token);
    }
    at
}
