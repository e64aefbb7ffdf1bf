//! JSON lines: an object a line, as a table whose columns are its keys.
//!
//! | value | what it is |
//! | --- | --- |
//! | a number, `true`, `false`, text | a cell, as in CSV; text stays text even if it looks like a number |
//! | `null`, or a key that is not there | an absent cell |
//! | an object | further columns: `{"a": {"b": 1}}` has the column `a.b` |
//! | a list of texts | a bag: the feature `column=text` with how often it is there |
//! | a list of numbers | `column[0]`, `column[1]`, … |
//!
//! Keys are those of the first megabyte of each file; what comes later under other keys is left out, with a note. Lines need
//! not have all of them.
mod flatten;
#[cfg(test)]
mod malformed;
mod parse;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use self::flatten::Cell;
use self::parse::JsonParser;
use super::InputError;
use super::table::looks::{Found, Looks, absent_in};
use super::table::plan::{self, Evidence, Plan, Role, Tables};
use super::table::{Missing, TableOptions};
use super::text::{RecordParser, TextFormat};
use crate::schema::{Kind, Schema};

/// How much of a file is looked at before the first row is read, and how many of its lines.
const HEAD_BYTES: usize = 1 << 20;
const KIND_LINES: usize = 10_000;
/// Some editors begin a file with this.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The format, shared by all files of a call.
pub struct JsonLines {
    tables: Arc<Tables>,
    late: Arc<LateKeys>,
}

/// Keys that no line at the beginning has.
#[derive(Default)]
pub(super) struct LateKeys(Mutex<Vec<String>>);

impl LateKeys {
    /// So many are remembered.
    const MOST: usize = 6;

    fn add(&self, key: &str) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() < Self::MOST && !keys.iter().any(|known| known == key) {
            keys.push(key.to_string());
        }
    }

    fn remark(&self) -> Option<String> {
        let keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shown: Vec<String> = keys.iter().take(Self::MOST - 1).map(|key| format!("'{key}'")).collect();
        let more = if keys.len() == Self::MOST { " and others" } else { "" };
        (!shown.is_empty()).then(|| {
            format!(
                "keys {}{more} are not in the first lines, and were left out; a schema may name them",
                shown.join(", ")
            )
        })
    }
}

impl JsonLines {
    /// A reader with these settings.
    pub fn new(options: TableOptions) -> Self {
        JsonLines { tables: Arc::new(Tables::new(options)), late: Arc::default() }
    }

    /// Refuses lines that have nothing in common with what is known.
    fn check_known(&self, file: &str, plan: &Plan, seen: &HashMap<String, Seen>) -> Result<(), InputError> {
        let mut features = plan.columns.iter().filter(|column| column.role == Role::Feature).peekable();
        let is_known = self.tables.options.known.is_some();
        if !is_known || seen.is_empty() || features.peek().is_none() || features.any(|c| seen.contains_key(&c.name)) {
            return Ok(());
        }
        let problem = "its first lines have none of the known columns";
        Err(InputError::file(file, problem, "name a table like those before it"))
    }
}

impl TextFormat for JsonLines {
    fn head_bytes(&self, seen: &[u8]) -> usize {
        match seen.len() {
            few if few < HEAD_BYTES => HEAD_BYTES,
            many if memchr::memchr(b'\n', seen).is_none() => 2 * many,
            enough => enough,
        }
    }

    fn parser(&self, file: &str, head: &[u8]) -> Result<(Arc<dyn RecordParser>, usize), InputError> {
        let mark = if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let (mut found, seen) = look(&self.tables.missing, &head[mark..]);
        // Lines that come later may have what others have had before.
        let known = self.tables.names().into_iter().filter(|name| !seen.contains_key(name));
        found.extend(known.map(|name| Found::of(name, Kind::Empty)));
        let plan = match found {
            none if none.is_empty() => Plan::default(),
            some => self.tables.plan(file, some, Evidence::Cells)?,
        };
        plan::check_clashes(file, &plan.columns)?;
        self.check_known(file, &plan, &seen)?;
        Ok((Arc::new(JsonParser::new(self.tables.clone(), plan, self.late.clone())), mark))
    }

    fn features_are_named(&self) -> bool {
        true
    }

    fn target_names(&self) -> Vec<String> {
        self.tables.target_names()
    }

    fn remarks(&self) -> Vec<String> {
        self.tables.remarks().into_iter().chain(self.late.remark()).collect()
    }

    fn schema(&self) -> Option<Schema> {
        self.tables.schema()
    }
}

/// What was seen under a key.
#[derive(Default)]
struct Seen {
    looks: Looks,
    /// Its place among all keys.
    place: usize,
    /// Cells within quotes, and lists.
    quoted: usize,
    lists: usize,
}

impl Seen {
    fn found(&self, name: &str) -> Found {
        if self.lists > 0 {
            return Found::of(name, Kind::List);
        }
        if self.quoted > 0 { self.looks.found_as_text(name) } else { self.looks.found(name) }
    }
}

/// Looks at the lines of `head`. It stops at trouble, which is reported when the line is parsed.
fn look(missing: &Missing, head: &[u8]) -> (Vec<Found>, HashMap<String, Seen>) {
    let (mut all, mut lines): (HashMap<String, Seen>, usize) = (HashMap::new(), 0);
    for line in head.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).take(KIND_LINES) {
        let read = flatten::each_cell(line, &mut |name, cell| {
            let place = all.len();
            if !all.contains_key(name) {
                all.insert(name.to_string(), Seen { place, ..Seen::default() });
            }
            let Some(seen) = all.get_mut(name) else { return Ok(()) };
            match cell {
                Cell::Text(text) => {
                    seen.quoted += 1;
                    seen.looks.add(missing, text.as_bytes());
                }
                Cell::Plain(text) => seen.looks.add(missing, text.as_bytes()),
                Cell::List(_) => seen.lists += 1,
                Cell::Null => {}
            }
            Ok(())
        });
        if read.is_err() {
            break;
        }
        lines += 1;
    }
    all.values_mut().for_each(|seen| seen.looks.add_absent(lines.saturating_sub(seen.looks.cells() + seen.lists)));
    let looks: Vec<Looks> = all.values().filter(|seen| seen.lists == 0).map(|seen| seen.looks.clone()).collect();
    let absent = absent_in(&looks);
    let mut ordered: Vec<(&String, &Seen)> = all.iter().collect();
    ordered.sort_unstable_by_key(|(_, seen)| seen.place);
    let mut found: Vec<Found> = ordered.into_iter().map(|(name, seen)| seen.found(name)).collect();
    found.iter_mut().for_each(|found| found.column.absent = absent);
    (found, all)
}
