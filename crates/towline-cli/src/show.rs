//! Numbers and small tables as people read them.
use std::io::{self, Write};

use anyhow::Context;

use crate::flags;

/// What every failure to print says, whoever prints.
pub const STDOUT: &str = "cannot write to standard output";

/// Prints on standard output. Unlike `println!` it does not panic when nobody reads, or a disk is full.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context(STDOUT)
}

/// Says something on standard error. Nobody may be there to read it, and that never ends a run.
pub fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Says what is worth knowing, with the names of options.
pub fn notes(remarks: &[String]) {
    remarks.iter().for_each(|remark| say(&format!("note: {}\n", flags::typed(remark))));
}

/// `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Lines of `name  value`, aligned.
pub fn table(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in rows {
        text.push_str(&format!("{name:<width$}  {value}\n"));
    }
    text
}

/// An objective or an error, with digits that tell something where it is small.
pub fn measure(x: f64) -> String {
    if x != 0.0 && x.abs() < 1e-3 { format!("{x:.6e}") } else { format!("{x:.6}") }
}

/// A number without more digits than it needs.
pub fn number(x: f64) -> String {
    if x == x.trunc() && x.abs() < 1e15 {
        format!("{x}")
    } else {
        format!("{x:.6}").trim_end_matches('0').trim_end_matches('.').to_string()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn small_measures_keep_their_digits() {
        let shown = [0.0, 12.5, 0.001, 2.761e-9].map(super::measure);
        assert_eq!(shown, ["0.000000", "12.500000", "0.001000", "2.761000e-9"]);
    }

    #[test]
    fn counts_have_separators() {
        assert_eq!([0, 999, 1000, 1_234_567].map(super::count), ["0", "999", "1,000", "1,234,567"]);
    }
}
