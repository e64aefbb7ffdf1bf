//! A line of JSON becomes cells: keys of nested objects have dots between them.
use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::input::table::cells::CellError;

/// What stands under a key.
pub(super) enum Cell<'a> {
    Null,
    Text(Cow<'a, str>),
    /// A number or a truth value, as it is written.
    Plain(&'a str),
    /// A list, as it is written.
    List(&'a str),
}

/// What is wrong with a line, and where if that is known.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) at: usize,
    pub(super) error: CellError,
}

/// Objects within objects; each level is read once more.
const DEEPEST: usize = 32;

/// Text that needs no copy unless something in it is escaped.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Calls `see` with each cell of the object in `line`.
pub(super) fn each_cell<'a>(
    line: &'a [u8],
    see: &mut dyn FnMut(&str, Cell<'a>) -> Result<(), CellError>,
) -> Result<(), Trouble> {
    let Ok(text) = std::str::from_utf8(line) else {
        let error = CellError::new("this line is not UTF-8", "convert the file, for example with 'iconv'");
        return Err(Trouble { at: 0, error });
    };
    let (mut path, mut trouble) = (String::new(), None);
    let mut reader = serde_json::Deserializer::from_str(text);
    let walk = Walk { path: &mut path, depth: 0, see, trouble: &mut trouble };
    let read = walk.deserialize(&mut reader).and_then(|()| reader.end());
    match (read, trouble) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(error)) => Err(Trouble { at: 0, error }),
        (Err(error), None) => {
            let at = error.column().saturating_sub(1);
            Err(Trouble { at, error: CellError::new(plain(&error), "write one object a line, such as {\"y\": 1}") })
        }
    }
}

/// The items of a list.
pub(super) fn items(list: &str) -> Result<Vec<Cell<'_>>, CellError> {
    let wrong = |_| CellError::new("this list cannot be read", "correct it");
    let raw: Vec<&RawValue> = serde_json::from_str(list).map_err(wrong)?;
    raw.into_iter()
        .map(|item| match cell(item) {
            Ok(Some(cell @ (Cell::Null | Cell::Text(_) | Cell::Plain(_)))) => Ok(cell),
            Ok(_) => Err(CellError::new(
                "a list of lists or of objects",
                "lists hold numbers or text; leave the column out with `ignore`",
            )),
            Err(error) => Err(error),
        })
        .collect()
}

/// A value; none if it is an object.
fn cell(raw: &RawValue) -> Result<Option<Cell<'_>>, CellError> {
    let text = raw.get();
    Ok(match text.as_bytes().first() {
        Some(b'{') => None,
        Some(b'[') => Some(Cell::List(text)),
        Some(b'n') => Some(Cell::Null),
        Some(b'"') => match serde_json::from_str::<Text<'_>>(text) {
            Ok(Text(text)) => Some(Cell::Text(text)),
            // A lone half of a surrogate pair, for example.
            Err(error) => return Err(CellError::new(plain(&error), "correct the text")),
        },
        _ => Some(Cell::Plain(text)),
    })
}

/// What serde_json says, without the place, which is that of a part of the line.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_string()
}

struct Walk<'w, 'a> {
    path: &'w mut String,
    depth: usize,
    see: &'w mut dyn FnMut(&str, Cell<'a>) -> Result<(), CellError>,
    /// What is wrong with a cell, which the reader of JSON cannot say.
    trouble: &'w mut Option<CellError>,
}

impl<'a> DeserializeSeed<'a> for Walk<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Walk<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(mut self, mut map: M) -> Result<(), M::Error> {
        let outer = self.path.len();
        while let Some(Text(key)) = map.next_key::<Text<'a>>()? {
            let raw: &'a RawValue = map.next_value()?;
            self.path.truncate(outer);
            if outer > 0 {
                self.path.push('.');
            }
            self.path.push_str(&key);
            if let Err(error) = self.value(raw) {
                *self.trouble = Some(error);
                return Err(M::Error::custom("a cell"));
            }
        }
        self.path.truncate(outer);
        Ok(())
    }
}

impl<'a> Walk<'_, 'a> {
    fn value(&mut self, raw: &'a RawValue) -> Result<(), CellError> {
        if let Some(cell) = cell(raw)? {
            return (self.see)(self.path, cell);
        }
        if self.depth + 1 == DEEPEST {
            let problem = format!("objects within objects, more than {DEEPEST} deep");
            return Err(CellError::new(problem, "flatten them"));
        }
        let mut trouble = None;
        let inner = Walk { path: self.path, depth: self.depth + 1, see: self.see, trouble: &mut trouble };
        let read = inner.deserialize(&mut serde_json::Deserializer::from_str(raw.get()));
        match (read, trouble) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(error)) => Err(error),
            (Err(error), None) => Err(CellError::new(plain(&error), "correct the line")),
        }
    }
}
