//! What a column is, by looking at the cells at the beginning of a file.
use std::collections::HashSet;

use super::Missing;
use super::cells::shown;
use super::written;
use crate::input::number;
use crate::schema::{Absent, ColumnSchema, DateForm, DateOrder, Decimal, Kind, Words};

/// What usually stands for an absent cell in a column of numbers.
const USUAL_MISSING: [&str; 14] =
    ["NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "?", "-", "--", "."];
/// So many cells have to differ before a column is taken for an identifier.
const LEAST_FOR_IDENTIFIERS: usize = 50;
/// So many cells have to be there before a column is taken for text to read.
const LEAST_FOR_TEXT: usize = 10;
/// Different texts that are remembered.
const MOST_SPOILERS: usize = 8;

const ORDERS: [DateOrder; 3] = [DateOrder::YearMonthDay, DateOrder::MonthDayYear, DateOrder::DayMonthYear];

/// What the cells of a column were so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looks {
    cells: usize,
    pub(crate) absent: usize,
    present: usize,
    numbers: usize,
    amounts: [usize; 2],
    booleans: usize,
    dates: [usize; 3],
    timed: usize,
    /// Whole numbers that are by 1 larger than the one before.
    steps: usize,
    last: f64,
    whole: usize,
    distinct: HashSet<u64>,
    /// Some of the texts that are no numbers.
    spoilers: Vec<Vec<u8>>,
    others: usize,
    /// Pieces between blanks.
    words: usize,
}

/// What a column is taken for.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) column: ColumnSchema,
    /// What a user should know of that.
    pub(crate) note: Option<String>,
    /// Why it says nothing about other rows, and is no feature.
    pub(crate) identifies: Option<&'static str>,
    /// Whether that was found by looking at cells, whatever the format says of other columns.
    pub(crate) is_looked: bool,
}

impl Found {
    /// A column whose format says what it holds.
    pub(crate) fn of(name: impl Into<String>, kind: Kind) -> Self {
        Found { column: ColumnSchema::new(name, kind), note: None, identifies: None, is_looked: false }
    }
}

impl Looks {
    pub(crate) fn add(&mut self, missing: &Missing, content: &[u8]) {
        self.cells += 1;
        let value = number::whole_float(content.trim_ascii());
        if missing.is_text(content) || value.is_some_and(|value| missing.is_number(value)) {
            self.absent += 1;
            return;
        }
        self.present += 1;
        self.distinct.insert(xxhash_rust::xxh3::xxh3_64(content));
        if let Some(value) = value.filter(|_| !is_usual_missing(content)) {
            self.numbers += 1;
            self.whole += usize::from(value.fract() == 0.0);
            self.steps += usize::from(self.numbers > 1 && value == self.last + 1.0);
            self.last = value;
            return;
        }
        self.add_text(content);
    }

    fn add_text(&mut self, content: &[u8]) {
        self.words += content.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
        for (count, decimal) in self.amounts.iter_mut().zip([Decimal::Point, Decimal::Comma]) {
            *count += usize::from(written::amount(content, decimal).is_some());
        }
        self.booleans += usize::from(written::boolean(content).is_some());
        for (count, order) in self.dates.iter_mut().zip(ORDERS) {
            if let Some((_, timed)) = written::date(content, order) {
                *count += 1;
                self.timed += usize::from(timed);
            }
        }
        if !self.spoilers.iter().any(|spoiler| spoiler == content) {
            match self.spoilers.len() < MOST_SPOILERS {
                true => self.spoilers.push(content.to_vec()),
                false => self.others += 1,
            }
        }
    }

    /// Notes so many cells that are not there.
    pub(crate) fn add_absent(&mut self, cells: usize) {
        self.cells += cells;
        self.absent += cells;
    }

    /// How many cells there were.
    pub(crate) fn cells(&self) -> usize {
        self.cells
    }

    /// What a column is whose format says that it holds text: plain numbers there are codes.
    pub(crate) fn found_as_text(&self, name: &str) -> Found {
        let found = Found { is_looked: true, ..self.found(name) };
        if found.column.kind != Kind::Number || !found.column.missing.is_empty() {
            return found;
        }
        Found { identifies: self.identifies(), is_looked: true, ..Found::of(name, Kind::Category) }
    }

    /// Why texts say nothing about other rows, if that is so.
    fn identifies(&self) -> Option<&'static str> {
        let differ = self.present >= LEAST_FOR_IDENTIFIERS && 20 * self.distinct.len() >= 19 * self.present;
        differ.then_some("nearly each row has another text")
    }

    /// Whether all cells are numbers, and there are some.
    pub(crate) fn are_numbers(&self) -> bool {
        self.present > 0 && self.numbers == self.present
    }

    /// Whether there are numbers among the cells.
    pub(crate) fn has_numbers(&self) -> bool {
        self.numbers > 0
    }

    /// What the column is; `name` is that of a header.
    pub(crate) fn found(&self, name: &str) -> Found {
        let plain = |kind| Found::of(name, kind);
        if self.present == 0 {
            return plain(Kind::Empty);
        }
        if self.numbers == self.present {
            let identifies = self.is_identifier(name).then_some("each row has another number");
            return Found { identifies, ..plain(Kind::Number) };
        }
        let is_nan = |text: &Vec<u8>| number::whole_float(text.trim_ascii()).is_some();
        if self.numbers == 0 && self.others == 0 && self.spoilers.iter().all(is_nan) {
            return plain(Kind::Number);
        }
        if let Some(found) = self.with_missing(name) {
            return found;
        }
        for (count, decimal) in self.amounts.iter().zip([Decimal::Point, Decimal::Comma]) {
            // Plain numbers with a point are no numbers with a comma for it.
            if self.numbers + count == self.present && (decimal == Decimal::Point || self.whole == self.numbers) {
                return plain(Kind::Amount(decimal));
            }
        }
        if self.booleans == self.present {
            return plain(Kind::Boolean);
        }
        if let Some((_, order)) = self.dates.iter().zip(ORDERS).find(|(count, _)| **count == self.present) {
            return plain(Kind::Date(DateForm { order, time: self.timed > 0, cyclic: false }));
        }
        // Several words a cell, and seldom the same: nobody could list them.
        let is_text = self.present >= LEAST_FOR_TEXT && self.words >= 4 * self.present;
        if is_text && 2 * self.distinct.len() >= self.present {
            return plain(Kind::Text(Words::default()));
        }
        Found { note: self.nearly_numbers(name), identifies: self.identifies(), ..plain(Kind::Category) }
    }

    /// Numbers among which something usual stands for an absent one.
    fn with_missing(&self, name: &str) -> Option<Found> {
        if self.numbers == 0 || self.others > 0 || !self.spoilers.iter().all(|text| is_usual_missing(text)) {
            return None;
        }
        let missing: Vec<String> =
            self.spoilers.iter().map(|text| String::from_utf8_lossy(text.trim_ascii()).into_owned()).collect();
        let note = format!("'{}' is an absent cell in column '{name}'", missing.join("', '"));
        let column = ColumnSchema { missing, ..ColumnSchema::new(name, Kind::Number) };
        Some(Found { column, note: Some(note), identifies: None, is_looked: false })
    }

    fn is_identifier(&self, name: &str) -> bool {
        let lower = name.trim().to_lowercase();
        let is_named = matches!(lower.as_str(), "" | "id" | "index" | "rowid" | "row")
            || ["_id", " id", "-id"].iter().any(|end| lower.ends_with(end))
            || ["Id", "ID"].iter().any(|end| name.trim().ends_with(end))
            || lower.starts_with("unnamed:");
        let is_whole = self.whole == self.present && self.distinct.len() == self.present;
        self.present >= LEAST_FOR_IDENTIFIERS && is_whole && (is_named || self.counts_rows())
    }

    fn counts_rows(&self) -> bool {
        self.steps + 1 == self.present && (self.last + 1.0 - self.present as f64).abs() <= 1.0
    }

    /// What spoils a column of numbers, if it looks like one.
    fn nearly_numbers(&self, name: &str) -> Option<String> {
        let nearly = self.numbers * 2 > self.present;
        let cell = self.spoilers.first().filter(|_| nearly).map(|text| shown(text))?;
        Some(format!(
            "column '{name}' is taken as text because of cells such as '{cell}', though most are numbers; use \
             `missing('{cell}')` if that means an absent cell"
        ))
    }
}

/// Whether a cell is what usually stands for an absent one.
pub(crate) fn is_usual_missing(cell: &[u8]) -> bool {
    USUAL_MISSING.iter().any(|usual| usual.as_bytes() == cell.trim_ascii())
}

/// Where most cells of a table are absent it is a sparse matrix, and they count as 0.
pub(crate) fn is_sparse(all: &[Looks]) -> bool {
    let cells: usize = all.iter().map(|looks| looks.cells).sum();
    2 * all.iter().map(|looks| looks.absent).sum::<usize>() > cells
}

/// What becomes of absent cells in a table that looks like this.
pub(crate) fn absent_in(all: &[Looks]) -> Absent {
    if is_sparse(all) { Absent::Zero } else { Absent::Marked }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(name: &str, cells: impl IntoIterator<Item = impl AsRef<str>>) -> Found {
        let mut looks = Looks::default();
        cells.into_iter().for_each(|cell| looks.add(&Missing::default(), cell.as_ref().as_bytes()));
        looks.found(name)
    }

    fn kind(cells: &[&str]) -> Kind {
        look("x", cells).column.kind
    }

    #[test]
    fn kinds_by_looking() {
        use DateOrder::*;
        let dated = |order, time| Kind::Date(DateForm { order, time, cyclic: false });
        assert_eq!(kind(&["1", "2.5", "", "-3e4"]), Kind::Number);
        assert_eq!(kind(&["$1,200.00", "12", "(5)"]), Kind::Amount(Decimal::Point));
        assert_eq!(kind(&["3,5", "1.200,25", "7"]), Kind::Amount(Decimal::Comma));
        assert_eq!(kind(&["12%", "7.5 %"]), Kind::Amount(Decimal::Point));
        assert_eq!(kind(&["yes", "no", ""]), Kind::Boolean);
        assert_eq!(kind(&["2024-05-17", "2023-01-02"]), dated(YearMonthDay, false));
        assert_eq!(kind(&["05/17/2024 10:30", "05/02/2024 11:00"]), dated(MonthDayYear, true));
        assert_eq!(kind(&["17.05.2024", "02.05.2024"]), dated(DayMonthYear, false));
        assert_eq!(kind(&["Rome", "Oslo", "Rome"]), Kind::Category);
        assert_eq!(kind(&["1", "2", "x7"]), Kind::Category);
        assert_eq!(kind(&["", ""]), Kind::Empty);
    }

    #[test]
    fn usual_tokens_are_absent_cells_among_numbers() {
        let found = look("n", ["1", "NA", "?", "2"]);
        assert_eq!((found.column.kind, found.column.missing), (Kind::Number, vec!["NA".to_string(), "?".into()]));
        assert_eq!(found.note.unwrap(), "'NA', '?' is an absent cell in column 'n'");
        assert_eq!(kind(&["NA", "n/a"]), Kind::Category, "no number at all");
        assert_eq!(kind(&["1", "NA", "Namibia"]), Kind::Category);
    }

    #[test]
    fn identifiers_are_left_out() {
        let texts = (0..100).map(|k| format!("k{:x}", k * 7919));
        assert!(look("key", texts.clone()).identifies.is_some());
        assert!(look("key", texts.take(40)).identifies.is_none(), "too few to tell");
        let numbers = || (0..100).map(|k| (k * k).to_string());
        assert!(look("user_id", numbers()).identifies.is_some());
        assert!(look("area", numbers()).identifies.is_none());
        assert!(look("n", (1..101).map(|k| k.to_string())).identifies.is_some(), "counts the rows");
        assert!(look("year", (1900..2000).map(|k| k.to_string())).identifies.is_none());
        let halves = (0..100).map(|k| (k / 2).to_string());
        assert!(look("user_id", halves).identifies.is_none(), "numbers come twice");
    }

    #[test]
    fn text_to_read_has_many_words() {
        let reviews = |k: usize| format!("this was the visit number {k} to a shop");
        assert_eq!(look("body", (0..20).map(reviews)).column.kind, Kind::Text(Words::default()));
        assert_eq!(look("body", (0..20).map(|k| reviews(k % 3))).column.kind, Kind::Category, "three levels");
        assert_eq!(look("body", (0..5).map(reviews)).column.kind, Kind::Category, "too few to tell");
    }

    #[test]
    fn mostly_empty_tables_are_sparse() {
        let mut looks = vec![Looks::default(), Looks::default()];
        ["1", "", "", ""].iter().for_each(|cell| looks[0].add(&Missing::default(), cell.as_bytes()));
        ["1", "2", "", ""].iter().for_each(|cell| looks[1].add(&Missing::default(), cell.as_bytes()));
        assert_eq!((absent_in(&looks), absent_in(&looks[1..])), (Absent::Zero, Absent::Marked));
    }
}
