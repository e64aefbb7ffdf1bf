//! What can be wrong with a cell.
use crate::input::table::plan::Column;
use crate::schema::Kind;

/// What is wrong with a cell; the format adds where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellError {
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

impl CellError {
    pub(crate) fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        CellError { problem: problem.into(), remedy: remedy.into() }
    }
}

/// The beginning of a cell, for a message.
pub(crate) fn shown(cell: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(&cell[..cell.len().min(4 * SHOWN)]);
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < cell.len() && text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cold]
pub(super) fn not_finite(column: &str, value: f64) -> CellError {
    if value.is_finite() {
        return CellError::new(
            format!("the value {value:e} in column '{column}' is too large for a 32-bit float"),
            "use `precision(f64)`, or scale the data",
        );
    }
    CellError::new(
        format!("the value in column '{column}' is {value}, not a finite number"),
        if value.is_nan() {
            "leave absent cells empty, or use `missing(nan)`".to_string()
        } else {
            format!("correct it, or use `missing({value})`")
        },
    )
}

#[cold]
pub(super) fn not_utf8(column: &str) -> CellError {
    CellError::new(
        format!("the text in column '{column}' is not UTF-8"),
        "convert the file, for example with 'iconv -f latin1 -t utf-8'",
    )
}

/// A name as it has to be written on a command line.
pub(crate) fn word(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.,:=/+".contains(&byte);
    if name.bytes().all(plain) { name.to_string() } else { format!("'{name}'") }
}

/// A cell that is not what its column holds.
#[cold]
pub(super) fn unlike_its_column(column: &Column, cell: &[u8]) -> CellError {
    let (cell, name) = (shown(cell), &column.name);
    let expected = match column.kind {
        Kind::Amount(_) => "an amount",
        Kind::Boolean => "yes or no",
        Kind::Date(_) => "a date",
        _ => "a number",
    };
    CellError::new(
        format!("expected {expected} in column '{name}', found '{cell}'"),
        format!(
            "use `category({})` to take the column as text, or `missing('{cell}')` if that means an absent cell",
            word(name)
        ),
    )
}
