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
mod rules;
mod words;

use serde::{Deserialize, Serialize};

pub use rules::{ImputeBy, Rules};
pub use words::{TextUnit, Weighting, Words};

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
    /// Pairs of columns whose features are multiplied: `a*b`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<[String; 2]>,
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
    /// The number that stands for an absent one; known when all rows have been packed, unless it is a constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impute: Option<f64>,
    /// What that number is.
    #[serde(default, skip_serializing_if = "ImputeBy::is_mean")]
    pub impute_by: ImputeBy,
    /// Levels of a category that fewer rows have are one, `column=(rare)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rare: Option<u32>,
    /// The levels that are not; known when all rows have been packed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<String>>,
    /// Levels and n-grams are known by so many bits of a hash: `column=#77`, `column:#77`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash_bits: Option<u8>,
    /// Powers of a number up to this one are features, too: `column^2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub powers: Option<u8>,
    /// Edges at which numbers are cut into bins, each of which is a level: `age=18..35`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<f64>,
    /// Words of a text that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

/// What stands for levels that are rare, or that training has not seen.
pub const RARE_LEVEL: &str = "(rare)";

impl ColumnSchema {
    /// A column of which only name and kind are known.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        ColumnSchema {
            name: name.into(),
            kind,
            missing: Vec::new(),
            absent: Absent::default(),
            impute: None,
            impute_by: ImputeBy::default(),
            rare: None,
            levels: None,
            hash_bits: None,
            powers: None,
            bins: Vec::new(),
            stop: Vec::new(),
        }
    }

    /// The name of the feature that is 1 where the cell is absent.
    pub fn absent_feature(&self) -> String {
        format!("{}=", self.name)
    }

    /// The names of its powers, if they are features.
    pub fn power_features(&self) -> impl Iterator<Item = (u8, String)> {
        let most = self.powers.filter(|_| self.kind.is_number() && self.bins.is_empty()).unwrap_or(1);
        (2..=most).map(move |power| (power, format!("{}^{power}", self.name)))
    }

    /// The level of the bin with this place, below the edge with the same place: `18..35`, open at both ends.
    pub fn bin_name(&self, place: usize) -> String {
        let edge = |at: Option<usize>| at.and_then(|at| self.bins.get(at)).map_or(String::new(), f64::to_string);
        format!("{}..{}", edge(place.checked_sub(1)), edge(Some(place)))
    }

    /// The name of the number that this column becomes, if it becomes one.
    pub fn number_feature(&self) -> Option<String> {
        match self.kind {
            Kind::Number | Kind::Amount(_) | Kind::Boolean => self.bins.is_empty().then(|| self.name.clone()),
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
    /// Whether month, weekday and hour are sine and cosine of their part of a round, in place of a feature each.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cyclic: bool,
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

    /// Whether n-grams are multiplied by how rare they are.
    pub(crate) fn needs_counts(&self) -> bool {
        self.columns.iter().any(|column| matches!(column.kind, Kind::Text(words) if words.needs_counts()))
    }

    /// The same for rows that are scored: how often something has to be seen mattered in training alone.
    pub(crate) fn for_scoring(&self) -> Schema {
        let mut schema = self.clone();
        for column in &mut schema.columns {
            if let Kind::Text(words) = &mut column.kind {
                (words.min_count, words.max_features) = (1, None);
            }
        }
        schema
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
        let is_odd = |words: Words| words.least == 0 || words.least > words.most || words.most > words::MOST;
        if let Some(odd) = self.columns.iter().find(|column| matches!(column.kind, Kind::Text(words) if is_odd(words)))
        {
            return Err(format!("the n-grams of '{}' have no length", odd.name));
        }
        self.check_products()?;
        let is_odd = |column: &&ColumnSchema| {
            column.powers.is_some_and(|most| most > rules::MOST_POWERS)
                || column.hash_bits.is_some_and(|bits| bits == 0 || bits > rules::MOST_BITS)
        };
        if let Some(odd) = self.columns.iter().find(is_odd) {
            return Err(format!("column '{}' has too many powers or bits", odd.name));
        }
        if let Some(odd) = self.columns.iter().find(|column| !rules::are_edges(&column.bins)) {
            return Err(format!("the edges of the bins of '{}' are not in order", odd.name));
        }
        match self.columns.iter().find(|column| column.impute.is_some_and(|value| !value.is_finite())) {
            Some(column) => Err(format!("the number that stands for absent cells of '{}' is not finite", column.name)),
            None => Ok(()),
        }
    }

    /// Interactions are of two numbers or categories that are there; they and powers have names of their own.
    pub(crate) fn check_products(&self) -> Result<(), String> {
        let powers = self.columns.iter().flat_map(ColumnSchema::power_features);
        if let Some((_, power)) = powers.into_iter().find(|(_, power)| self.column(power).is_some()) {
            return Err(format!("'{power}' is a column itself, and would be a power, too"));
        }
        for pair in &self.interactions {
            for name in pair {
                let Some(column) = self.features().find(|column| column.name == *name) else {
                    return Err(format!("there is no column '{name}' to multiply by another"));
                };
                if !column.kind.is_number() && !matches!(column.kind, Kind::Category | Kind::Empty) {
                    let noun = column.kind.noun();
                    return Err(format!("numbers and categories are multiplied, and column '{name}' holds {noun}"));
                }
                if column.rare.is_some() {
                    // Which levels are rare is known when all rows have been read, and their products are made before.
                    return Err(format!(
                        "column '{name}' is multiplied, so that 'rare' comes too late; 'hash' does not"
                    ));
                }
            }
            let product = format!("{}*{}", pair[0], pair[1]);
            if pair[0] == pair[1] || self.column(&product).is_some() {
                return Err(format!("'{product}' is a column itself, or a column by itself"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_survives_being_written() {
        let mut age = ColumnSchema::new("age", Kind::Number);
        (age.impute, age.missing) = (Some(0.1 + 0.2), vec!["?".into()]);
        let when = Kind::Date(DateForm { order: DateOrder::DayMonthYear, time: true, cyclic: false });
        let price = ColumnSchema { absent: Absent::Zero, ..ColumnSchema::new("price", Kind::Amount(Decimal::Comma)) };
        let columns = vec![age, ColumnSchema::new("when", when), price, ColumnSchema::new("id", Kind::Ignored)];
        let schema = Schema { label: vec!["price".into()], columns, ..Schema::default() };
        let text = serde_json::to_string(&schema).unwrap();
        assert_eq!(serde_json::from_str::<Schema>(&text).unwrap(), schema, "{text}");
        assert_eq!(schema.features().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["age", "when"]);
        assert_eq!(schema.check(), Ok(()));
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
