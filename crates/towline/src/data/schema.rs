//! What a table looks like and what its columns become: decided once, kept in the store and in the model, so that every
//! later file is read in the same way without a word from the user.
//!
//! | kind | what a row gets from a cell |
//! | --- | --- |
//! | number, amount, boolean | the feature `column` with that value |
//! | category | the feature `column=text` with value 1 |
//! | text | its n-grams, `column:some words`, with their counts over the length of all of them |
//! | date | `column.days` since 1970 as a number, and 1 for `column.month=5`, `column.weekday=Mon`, `column.hour=17` |
//! | list | numbers by position or index |
//!
//! An absent cell is 0 or, as a rule, a feature of its own: `column=` has the value 1, and a number is then taken to be
//! the mean of those that are there.
use std::fmt;

use serde::{Deserialize, Serialize};

/// The columns of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// The column of labels, or several of targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub label: Vec<String>,
    /// The column of sample weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// The column that says which rows belong together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// What an absent cell looks like in any column, besides an empty one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What each column is, in the order of the first file.
    #[serde(default)]
    pub columns: Vec<ColumnSchema>,
}

/// What a column is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSchema {
    /// Its name.
    pub name: String,
    /// What its cells are.
    pub kind: Kind,
    /// What an absent cell looks like in this column alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What becomes of absent cells.
    #[serde(default, skip_serializing_if = "Absent::is_marked")]
    pub absent: Absent,
    /// The number that stands for an absent one; known when all rows have been packed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impute: Option<f64>,
}

impl ColumnSchema {
    /// A column of which only name and kind are known.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        ColumnSchema { name: name.into(), kind, missing: Vec::new(), absent: Absent::default(), impute: None }
    }

    /// The name of the feature that is 1 where the cell is absent.
    pub fn absent_feature(&self) -> String {
        format!("{}=", self.name)
    }

    /// The name of the number that this column becomes, if it becomes one.
    pub fn number_feature(&self) -> Option<String> {
        match self.kind {
            Kind::Number | Kind::Amount(_) | Kind::Boolean => Some(self.name.clone()),
            Kind::Date(_) => Some(format!("{}.days", self.name)),
            _ => None,
        }
    }
}

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// Plain numbers.
    Number,
    /// Numbers as people write them: money, percent, with separators of thousands, in brackets where they are negative.
    Amount(Decimal),
    /// `true` and `false`, `yes` and `no`, `t` and `f`, `y` and `n`.
    Boolean,
    /// One of several texts.
    Category,
    /// Text to read, whose words matter.
    Text(Words),
    /// Days, with or without a time of day.
    Date(DateForm),
    /// Numbers by position or index.
    List,
    /// Nothing was seen yet: each cell speaks for itself.
    Empty,
    /// What cannot be taken; only an error if it is not left out.
    Other,
    /// Left out.
    Ignored,
}

impl Kind {
    /// What its cells are called in messages.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Number => "numbers",
            Kind::Amount(_) => "amounts",
            Kind::Boolean => "booleans",
            Kind::Category => "text",
            Kind::Text(_) => "texts to read",
            Kind::Date(_) => "dates",
            Kind::List => "lists",
            Kind::Empty => "nothing",
            Kind::Other => "nested values",
            Kind::Ignored => "something that is left out",
        }
    }

    /// Whether a cell becomes one number.
    pub fn is_number(self) -> bool {
        matches!(self, Kind::Number | Kind::Amount(_) | Kind::Boolean)
    }
}

/// Which n-grams of a text are features, and what they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Words {
    /// What they are made of.
    pub unit: TextUnit,
    /// Units of the shortest.
    pub least: u8,
    /// Units of the longest.
    pub most: u8,
    /// What the value of one is.
    pub weighting: Weighting,
    /// Rows that must have one for it to count.
    pub min_count: u32,
    /// Whether capitals matter.
    pub keep_case: bool,
}

impl Default for Words {
    fn default() -> Self {
        let (unit, weighting) = (TextUnit::Words, Weighting::TfIdf);
        Words { unit, least: 1, most: 1, weighting, min_count: 1, keep_case: false }
    }
}

/// What n-grams are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextUnit {
    /// Words.
    #[default]
    Words,
    /// Characters.
    Characters,
}

/// What the value of an n-gram is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// How often it is in the text, over the length of all such counts, times ln((1 + n)/(1 + m)) + 1, where m of n rows
    /// have it.
    #[default]
    TfIdf,
    /// How often it is in the text.
    Counts,
    /// 1.
    Binary,
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.unit == TextUnit::Words { "words" } else { "chars" };
        write!(f, "{unit}={}-{}", self.least, self.most)?;
        if self.min_count > 1 {
            write!(f, ",min={}", self.min_count)?;
        }
        f.write_str(match self.weighting {
            Weighting::TfIdf => ",tf-idf",
            Weighting::Counts => ",counts",
            Weighting::Binary => ",binary",
        })?;
        if self.keep_case { f.write_str(",case") } else { Ok(()) }
    }
}

impl Words {
    /// The longest n-grams that make sense.
    const MOST: u8 = 16;

    /// Reads `words=1-2,min=5,counts`, or `chars=3-5,binary,case`.
    pub fn parse(text: &str) -> Result<Words, String> {
        let mut words = Words::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some((unit @ ("words" | "chars"), range)) => {
                    words.unit = if unit == "words" { TextUnit::Words } else { TextUnit::Characters };
                    let (least, most) = range.split_once('-').unwrap_or((range, range));
                    let size = |text: &str| text.parse().ok().filter(|n| (1..=Words::MOST).contains(n));
                    match (size(least), size(most)) {
                        (Some(least), Some(most)) if least <= most => (words.least, words.most) = (least, most),
                        _ => return Err(format!("'{part}': write {unit}=1-2, with numbers from 1 to {}", Words::MOST)),
                    }
                }
                Some(("min", count)) => {
                    words.min_count = count.parse().map_err(|_| format!("'{part}': write min=5"))?;
                }
                None if part == "tf-idf" => words.weighting = Weighting::TfIdf,
                None if part == "counts" => words.weighting = Weighting::Counts,
                None if part == "binary" => words.weighting = Weighting::Binary,
                None if part == "case" => words.keep_case = true,
                _ => {
                    return Err(format!(
                        "'{part}' says nothing of a text; use words=1-2, chars=3-5, min=5, tf-idf, counts, binary, case"
                    ));
                }
            }
        }
        Ok(words)
    }

    /// Whether values depend on how many rows have an n-gram.
    pub fn needs_counts(self) -> bool {
        self.weighting == Weighting::TfIdf || self.min_count > 1
    }

    /// What an n-gram that `count` of `rows` rows have is multiplied by; 0 if they are too few.
    pub fn factor(self, count: u64, rows: u64) -> f64 {
        match self.weighting {
            _ if count < u64::from(self.min_count) => 0.0,
            Weighting::TfIdf => ((1.0 + rows as f64) / (1.0 + count as f64)).ln() + 1.0,
            Weighting::Counts | Weighting::Binary => 1.0,
        }
    }
}

/// What separates whole numbers from their fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decimal {
    /// `1,200.50`
    #[default]
    Point,
    /// `1.200,50`
    Comma,
}

/// How dates are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DateForm {
    /// Which number comes first.
    pub order: DateOrder,
    /// Whether there is a time of day.
    #[serde(default)]
    pub time: bool,
}

/// The order of year, month and day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateOrder {
    /// 2024-05-17
    YearMonthDay,
    /// 05/17/2024
    MonthDayYear,
    /// 17.05.2024
    DayMonthYear,
}

/// What becomes of absent cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// The feature `column=` is 1; a number is then the mean of those that are there.
    #[default]
    Marked,
    /// They count as 0, as in a sparse matrix.
    Zero,
}

impl Absent {
    /// All of them.
    pub const ALL: [Absent; 2] = [Absent::Marked, Absent::Zero];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Absent::Marked => "marked",
            Absent::Zero => "zero",
        }
    }

    fn is_marked(&self) -> bool {
        *self == Absent::Marked
    }
}

impl Schema {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&ColumnSchema> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Names of the columns that become features.
    pub fn features(&self) -> impl Iterator<Item = &ColumnSchema> {
        self.columns.iter().filter(|column| {
            let name = &column.name;
            column.kind != Kind::Ignored
                && !self.label.contains(name)
                && self.weight.as_ref() != Some(name)
                && self.group.as_ref() != Some(name)
        })
    }

    /// Tells it from other schemas.
    pub fn digest(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
    }

    /// What is wrong with it, if it comes from outside.
    pub fn check(&self) -> Result<(), String> {
        let mut names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("it has two columns '{}'", twice[0]));
        }
        let parts = self.label.iter().chain(&self.weight).chain(&self.group);
        if let Some(unknown) = parts.into_iter().find(|name| self.column(name).is_none()) {
            return Err(format!("it names '{unknown}', which is none of its columns"));
        }
        let is_odd = |words: Words| words.least == 0 || words.least > words.most || words.most > Words::MOST;
        if let Some(odd) = self.columns.iter().find(|column| matches!(column.kind, Kind::Text(words) if is_odd(words)))
        {
            return Err(format!("the n-grams of '{}' have no length", odd.name));
        }
        match self.columns.iter().find(|column| column.impute.is_some_and(|value| !value.is_finite())) {
            Some(column) => Err(format!("the number that stands for absent cells of '{}' is not finite", column.name)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_survives_being_written() {
        let mut age = ColumnSchema::new("age", Kind::Number);
        (age.impute, age.missing) = (Some(0.1 + 0.2), vec!["?".into()]);
        let when = Kind::Date(DateForm { order: DateOrder::DayMonthYear, time: true });
        let price = ColumnSchema { absent: Absent::Zero, ..ColumnSchema::new("price", Kind::Amount(Decimal::Comma)) };
        let columns = vec![age, ColumnSchema::new("when", when), price, ColumnSchema::new("id", Kind::Ignored)];
        let schema = Schema { label: vec!["price".into()], columns, ..Schema::default() };
        let text = serde_json::to_string(&schema).unwrap();
        assert_eq!(serde_json::from_str::<Schema>(&text).unwrap(), schema, "{text}");
        assert_eq!(schema.features().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["age", "when"]);
        assert_eq!(schema.check(), Ok(()));
    }

    #[test]
    fn rules_of_texts() {
        let words = Words::parse("words=1-2,min=5,counts").unwrap();
        assert_eq!((words.least, words.most, words.min_count, words.weighting), (1, 2, 5, Weighting::Counts));
        let characters = Words::parse("chars=3,case").unwrap();
        assert_eq!((characters.unit, characters.least, characters.most), (TextUnit::Characters, 3, 3));
        assert!(characters.keep_case && Words::parse("").unwrap() == Words::default());
        for wrong in ["words", "words=0", "words=2-1", "words=1-99", "min=x", "max=3", "tfidf"] {
            assert!(Words::parse(wrong).is_err(), "{wrong}");
        }
        for text in ["words=1-2,min=5,counts", "chars=3-3,tf-idf,case", "words=1-1,binary"] {
            assert_eq!(Words::parse(text).unwrap().to_string(), text);
        }
        let rare = Words { min_count: 3, ..Words::default() };
        assert_eq!((rare.factor(2, 10), rare.factor(10, 10)), (0.0, 1.0));
        assert!(rare.factor(3, 10) > rare.factor(4, 10));
    }

    #[test]
    fn a_schema_from_outside_is_checked() {
        let column = || ColumnSchema::new("a", Kind::Number);
        let twice = Schema { columns: vec![column(), column()], ..Schema::default() };
        assert_eq!(twice.check().unwrap_err(), "it has two columns 'a'");
        let unknown = Schema { label: vec!["y".into()], columns: vec![column()], ..Schema::default() };
        assert_eq!(unknown.check().unwrap_err(), "it names 'y', which is none of its columns");
        let odd = ColumnSchema { impute: Some(f64::NAN), ..column() };
        assert!(Schema { columns: vec![odd], ..Schema::default() }.check().is_err());
    }
}
