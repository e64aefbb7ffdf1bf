//! What a user says of a column besides its kind.
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Absent, ColumnSchema, Kind, TextUnit};

/// What stands for an absent number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ImputeBy {
    /// The mean of those that are there.
    #[default]
    Mean,
    /// Their median.
    Median,
    /// The one that most rows have.
    MostFrequent,
    /// A number that was said.
    Constant,
}

impl ImputeBy {
    pub(super) fn is_mean(&self) -> bool {
        *self == ImputeBy::Mean
    }
}

/// Rules of a column, none of which has to be there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Levels that fewer rows have are one.
    pub rare: Option<u32>,
    /// What stands for an absent number; with the number itself, if it was said.
    pub impute: Option<(ImputeBy, Option<f64>)>,
    /// Whether parts of dates go round: sine and cosine in place of a feature for each month, weekday and hour.
    pub cyclic: bool,
    /// Levels and n-grams are known by so many bits of a hash.
    pub hash_bits: Option<u8>,
    /// Powers of a number that are features, too, up to this one.
    pub powers: Option<u8>,
    /// Edges at which numbers are cut into bins.
    pub bins: Vec<f64>,
    /// Words of a text that are left out.
    pub stop: Vec<String>,
}

/// More bits than that number more columns than a store can have.
pub(super) const MOST_BITS: u8 = 31;
/// Higher powers say nothing that is not lost in rounding.
pub(super) const MOST_POWERS: u8 = 8;

impl Rules {
    /// Reads `rare=5`, `impute=median` or `cyclic`, or several with commas between them.
    pub fn parse(text: &str) -> Result<Rules, String> {
        let mut rules = Rules::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("rare", count)) => {
                    let count = count.parse().ok().filter(|&count| count > 1);
                    rules.rare = Some(count.ok_or_else(|| format!("'{part}': write rare=5, with a number above 1"))?);
                }
                Some(("impute", how)) => rules.impute = Some(impute(part, how)?),
                Some(("hash", bits)) => {
                    let bits = bits.parse().ok().filter(|bits| (1..=MOST_BITS).contains(bits));
                    rules.hash_bits =
                        Some(bits.ok_or_else(|| format!("'{part}': write hash=22, from 1 to {MOST_BITS}"))?);
                }
                Some(("powers", most)) => {
                    let most = most.parse().ok().filter(|most| (2..=MOST_POWERS).contains(most));
                    rules.powers = Some(most.ok_or_else(|| format!("'{part}': write powers=2, up to {MOST_POWERS}"))?);
                }
                Some(("bins", edges)) => rules.bins = bins(part, edges)?,
                Some(("stop", file)) => rules.stop = words_of(file)?,
                None if part == "cyclic" => rules.cyclic = true,
                _ => {
                    return Err(format!(
                        "'{part}' is no rule of a column; use rare=5, impute=mean, median, most-frequent, zero or a \
                         number, hash=22, powers=2, bins=18/35/65, stop=FILE, or cyclic"
                    ));
                }
            }
        }
        Ok(rules)
    }

    /// Makes the rules those of `column`. Rules for all columns are for those that they fit.
    pub fn apply(&self, column: &mut ColumnSchema, is_for_all: bool) -> Result<(), String> {
        let name = column.name.clone();
        let refuse = |rule: &str, fits: &str, kind: Kind| match is_for_all {
            true => Ok(()),
            false => Err(format!("'{rule}' is for {fits}, and column '{name}' holds {}", kind.noun())),
        };
        match self.rare {
            Some(_) if column.kind != Kind::Category => refuse("rare", "categories", column.kind)?,
            Some(rare) => column.rare = Some(rare),
            None => {}
        }
        match self.impute {
            Some(_) if column.number_feature().is_none() => refuse("impute", "numbers and dates", column.kind)?,
            Some((by, value)) => (column.impute_by, column.impute, column.absent) = (by, value, Absent::Marked),
            None => {}
        }
        match self.hash_bits {
            Some(_) if !matches!(column.kind, Kind::Category | Kind::Text(_) | Kind::List) => {
                refuse("hash", "categories, texts and lists", column.kind)?;
            }
            Some(bits) => column.hash_bits = Some(bits),
            None => {}
        }
        match self.powers {
            Some(_) if !column.kind.is_number() => refuse("powers", "numbers", column.kind)?,
            Some(most) => column.powers = Some(most),
            None => {}
        }
        match self.bins.is_empty() {
            false if !column.kind.is_number() => refuse("bins", "numbers", column.kind)?,
            false if column.powers.is_some() || self.impute.is_some() => {
                let problem = "cut into bins, so that it has neither powers nor a number that stands for absent cells";
                return Err(format!("column '{name}' is {problem}"));
            }
            false => column.bins.clone_from(&self.bins),
            true => {}
        }
        match column.kind {
            Kind::Text(rule) if rule.unit == TextUnit::Characters && !self.stop.is_empty() => {
                refuse("stop", "texts that are cut into words", column.kind)?;
            }
            Kind::Text(_) => column.stop.extend(self.stop.iter().cloned()),
            kind if !self.stop.is_empty() => refuse("stop", "texts", kind)?,
            _ => {}
        }
        if column.rare.is_some() && column.hash_bits.is_some() {
            return Err(format!(
                "levels of column '{}' are put together by 'rare' or by 'hash', not by both",
                column.name
            ));
        }
        match &mut column.kind {
            Kind::Date(form) => form.cyclic |= self.cyclic,
            kind if self.cyclic => refuse("cyclic", "dates", *kind)?,
            _ => {}
        }
        Ok(())
    }
}

fn impute(part: &str, how: &str) -> Result<(ImputeBy, Option<f64>), String> {
    let value = || how.parse().ok().filter(|value: &f64| value.is_finite());
    match how {
        "mean" => Ok((ImputeBy::Mean, None)),
        "median" => Ok((ImputeBy::Median, None)),
        "most-frequent" => Ok((ImputeBy::MostFrequent, None)),
        "zero" => Ok((ImputeBy::Constant, Some(0.0))),
        _ => match value() {
            Some(value) => Ok((ImputeBy::Constant, Some(value))),
            None => Err(format!("'{part}': write impute=mean, median, most-frequent, zero or a number")),
        },
    }
}

/// Whether these are edges of bins: finite, each above the one before.
pub(super) fn are_edges(edges: &[f64]) -> bool {
    edges.iter().all(|edge| edge.is_finite()) && edges.windows(2).all(|pair| pair[0] < pair[1])
}

fn bins(part: &str, edges: &str) -> Result<Vec<f64>, String> {
    let edges: Result<Vec<f64>, _> = edges.split('/').map(str::parse).collect();
    let edges = edges.ok().filter(|edges| are_edges(edges));
    edges.ok_or_else(|| format!("'{part}': write the edges of the bins in order, bins=18/35/65"))
}

/// The words of a file, one a line, in the case in which they stand there.
fn words_of(file: &str) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("stop={file}: cannot read it: {error}"))?;
    Ok(text.split_whitespace().map(str::to_string).collect())
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        words.extend(self.rare.map(|rare| format!("rare={rare}")));
        words.extend(self.impute.map(|(by, value)| match (by, value) {
            (ImputeBy::Median, _) => "impute=median".to_string(),
            (ImputeBy::MostFrequent, _) => "impute=most-frequent".into(),
            (_, Some(value)) => format!("impute={value}"),
            (ImputeBy::Mean | ImputeBy::Constant, None) => "impute=mean".into(),
        }));
        words.extend(self.hash_bits.map(|bits| format!("hash={bits}")));
        words.extend(self.powers.map(|most| format!("powers={most}")));
        if !self.bins.is_empty() {
            let edges: Vec<String> = self.bins.iter().map(f64::to_string).collect();
            words.push(format!("bins={}", edges.join("/")));
        }
        if !self.stop.is_empty() {
            // The words, not the name of their file, tell one rule from another.
            let digest = xxhash_rust::xxh3::xxh3_64(self.stop.join(" ").as_bytes());
            words.push(format!("stop={digest:016x}"));
        }
        words.extend(self.cyclic.then(|| "cyclic".to_string()));
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{DateForm, DateOrder};

    #[test]
    fn rules_are_read_and_written() {
        for text in [
            "rare=5",
            "impute=median,cyclic",
            "rare=2,impute=most-frequent",
            "impute=-1.5",
            "hash=22,powers=2",
            "bins=-0.5/18/65",
            "",
        ] {
            assert_eq!(Rules::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Rules::parse("impute=zero").unwrap().to_string(), "impute=0");
        for wrong in [
            "rare",
            "rare=1",
            "rare=x",
            "impute=inf",
            "impute=middle",
            "median",
            "hash=0",
            "powers=1",
            "bins=3/3",
            "bins=ten",
            "stop=/none",
        ] {
            assert!(Rules::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rule_is_for_columns_that_it_fits() {
        let rules = Rules::parse("rare=3,impute=7,cyclic").unwrap();
        let mut city = ColumnSchema::new("city", Kind::Category);
        let problem = rules.apply(&mut city, false).unwrap_err();
        assert_eq!(problem, "'impute' is for numbers and dates, and column 'city' holds text");
        rules.apply(&mut city, true).unwrap();
        assert_eq!((city.rare, city.impute), (Some(3), None));
        let form = DateForm { order: DateOrder::YearMonthDay, time: false, cyclic: false };
        let mut day = ColumnSchema::new("day", Kind::Date(form));
        rules.apply(&mut day, true).unwrap();
        assert_eq!((day.kind, day.impute), (Kind::Date(DateForm { cyclic: true, ..form }), Some(7.0)));
    }
}
