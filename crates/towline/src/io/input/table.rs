//! Tables: what the columns of CSV, Parquet and Arrow inputs become.
//!
//! | column | what a row gets from its cell |
//! | --- | --- |
//! | a feature | what [`schema`](crate::schema) says of its kind |
//! | the label | its number, or its class where labels are text; several numbers where several columns are labels |
//! | the weight | a finite number, 0 or more |
//! | the group | its whole number; text is hashed by XXH3 (64 bits) |
//!
//! An absent cell is empty, null, or one of the tokens in [`TableOptions::missing`]. A zero gives the row no entry.
//! Lists are described in [`super::arrow`].
//!
//! The first file decides which column has which part and what it holds (`looks.rs`), unless a schema is known that has
//! decided it before; columns of further files are matched by name (`plan.rs`). The numbers and names themselves go into
//! a batch through `cells.rs`, whatever the format.
#[cfg(all(test, feature = "parquet"))]
mod agreement;
pub(crate) mod cells;
pub(crate) mod looks;
mod parts;
pub(crate) mod plan;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(all(test, feature = "parquet"))]
pub(crate) mod testing_arrow;
pub(crate) mod words;
mod written;

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::libsvm::Precision;
use super::{InputError, number};
use crate::schema::{Absent, Kind, Rules, Schema};

/// Settings of tables.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    /// The column of targets, or several with commas between them; if not given, the one named `label`, `target`, `y`
    /// or `class` in any case.
    pub label: Option<ColumnRef>,
    /// What to do about rows without a label.
    pub unlabelled: Unlabelled,
    /// The column of row weights.
    pub weight: Option<ColumnRef>,
    /// The column that says which rows belong together.
    pub group: Option<ColumnRef>,
    /// Columns to leave out.
    pub ignore: Vec<ColumnRef>,
    /// What columns are, whatever they look like: codes are categories even if they are numbers.
    pub kinds: Vec<(ColumnRef, Kind)>,
    /// Rules of columns; those of the column `*` are for all that they fit.
    pub rules: Vec<(ColumnRef, Rules)>,
    /// Pairs of columns whose features are multiplied.
    pub interactions: Vec<[ColumnRef; 2]>,
    /// How many n-grams of each column of text are features at most, where its own rule does not say.
    pub max_features: Option<u32>,
    /// What becomes of absent cells; by looking at the table if not given.
    pub absent: Option<Absent>,
    /// What is known of the table already, from a store or a model.
    pub known: Option<Known>,
    /// What to do about a file that lacks some of the columns that are known.
    pub columns: ColumnPolicy,
    /// What an absent cell looks like, besides an empty one. A token that is a number also stands for that number
    /// written otherwise: `-999` for `-999.0`, `nan` for the NaN of a Parquet file.
    pub missing: Vec<String>,
    /// Whether CSV files begin with the names of their columns; guessed from the contents if not given.
    pub header: Option<bool>,
    /// What separates the cells of CSV files; guessed from name and contents if not given.
    pub delimiter: Option<u8>,
    /// How values are kept.
    pub precision: Precision,
}

/// A schema that has been decided before.
#[derive(Clone, Debug)]
pub struct Known {
    /// The schema.
    pub schema: Arc<Schema>,
    /// What to do about a file that lacks some of its columns.
    pub columns: ColumnPolicy,
    /// Whether further columns become features, as where rows are added; they are left out otherwise.
    pub extend: bool,
}

/// What to do about a file that lacks columns of a known schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnPolicy {
    /// Refuse it.
    #[default]
    Strict,
    /// Take their cells to be absent, and say so.
    Note,
}

/// What to do about rows without a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unlabelled {
    /// Refuse them.
    #[default]
    Error,
    /// Leave them out.
    Skip,
    /// Take them, as for prediction: their label is NaN. There need not be a column of labels at all.
    Keep,
}

/// A column as a user names it: by its name, or by its number, counted from 1, where no column has that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef(String);

impl ColumnRef {
    /// The column of this name, or with this number.
    pub fn new(name: impl Into<String>) -> Self {
        ColumnRef(name.into())
    }

    /// The position in `names`, if there is such a column.
    pub fn find(&self, names: &[String]) -> Option<usize> {
        names.iter().position(|name| *name == self.0).or_else(|| {
            let number: usize = self.0.parse().ok()?;
            number.checked_sub(1).filter(|&at| at < names.len())
        })
    }

    /// The columns of a list with commas between them, unless the whole of it is the name of one.
    pub fn split(&self, names: &[String]) -> Vec<ColumnRef> {
        match self.find(names) {
            Some(_) => vec![self.clone()],
            None => self.0.split(',').map(|part| part.trim().into()).collect(),
        }
    }

    /// As the user wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ColumnRef {
    fn from(text: &str) -> Self {
        ColumnRef(text.to_string())
    }
}

impl FromStr for ColumnRef {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0)
    }
}

impl TableOptions {
    /// What is wrong with the options themselves, said of the first input.
    pub(crate) fn check(&self, file: &str) -> Result<(), InputError> {
        match self.delimiter {
            Some(byte) if byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"\"\r\n+-.".contains(&byte) => {
                Err(InputError::file(
                    file,
                    format!("'{}' cannot separate cells", byte.escape_ascii()),
                    "use `delimiter` with a comma, tab, semicolon or another character that is in no number",
                ))
            }
            _ => Ok(()),
        }
    }

    /// The names of columns in the options, by which a header can be told from data.
    pub(crate) fn mentions(&self) -> impl Iterator<Item = &str> {
        let labels = self.label.iter().flat_map(|label| label.as_str().split(',').chain([label.as_str()]));
        let kinds = self.kinds.iter().map(|(column, _)| column);
        let rules = self.rules.iter().map(|(column, _)| column).chain(self.interactions.iter().flatten());
        let others = [&self.weight, &self.group].into_iter().flatten().chain(&self.ignore).chain(kinds).chain(rules);
        labels.chain(others.map(ColumnRef::as_str))
    }
}

/// What absent cells look like, prepared for looking it up in every cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing {
    tokens: Vec<Vec<u8>>,
    numbers: Vec<f64>,
    has_nan: bool,
}

impl Missing {
    pub(crate) fn new(tokens: &[String]) -> Self {
        let numbers: Vec<f64> = tokens.iter().filter_map(|token| number::whole_float(token.as_bytes())).collect();
        let has_nan = numbers.iter().any(|number| number.is_nan());
        Missing { tokens: tokens.iter().map(|token| token.clone().into_bytes()).collect(), numbers, has_nan }
    }

    /// Whether the text of a cell means that there is none.
    #[inline]
    pub(crate) fn is_text(&self, cell: &[u8]) -> bool {
        cell.is_empty() || (!self.tokens.is_empty() && self.tokens.iter().any(|token| token == cell))
    }

    /// Whether a number means that there is none.
    #[inline]
    pub(crate) fn is_number(&self, value: f64) -> bool {
        !self.numbers.is_empty() && (self.numbers.contains(&value) || (self.has_nan && value.is_nan()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_before_a_number() {
        let names: Vec<String> = ["b", "1", "a"].map(String::from).to_vec();
        let find = |text: &str| ColumnRef::from(text).find(&names);
        assert_eq!((find("a"), find("1"), find("3"), find("2")), (Some(2), Some(1), Some(2), Some(1)));
        assert_eq!((find("0"), find("4"), find("A"), find("-1")), (None, None, None, None));
    }

    #[test]
    fn missing_numbers_are_recognised_however_they_are_written() {
        let missing = Missing::new(&["NA".into(), "-999".into(), "nan".into()]);
        assert!(missing.is_text(b"") && missing.is_text(b"NA") && !missing.is_text(b"na"));
        assert!(missing.is_number(-999.0) && missing.is_number(f64::NAN) && !missing.is_number(999.0));
        assert!(!Missing::new(&["NA".into()]).is_number(f64::NAN));
    }
}
