//! Which pieces of a text become features.
use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest n-grams that make sense.
pub(super) const MOST: u8 = 16;

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
    /// Rows that must have one for it to be a feature.
    pub min_count: u32,
    /// How many are features at most, the most frequent ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_features: Option<u32>,
    /// Whether capitals matter.
    pub keep_case: bool,
}

impl Default for Words {
    fn default() -> Self {
        let (unit, weighting) = (TextUnit::Words, Weighting::TfIdf);
        Words { unit, least: 1, most: 1, weighting, min_count: 1, max_features: None, keep_case: false }
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
        if let Some(most) = self.max_features {
            write!(f, ",max={most}")?;
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
    /// Reads `words=1-2,min=5,counts`, or `chars=3-5,binary,case`.
    pub fn parse(text: &str) -> Result<Words, String> {
        let mut words = Words::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some((unit @ ("words" | "chars"), range)) => {
                    words.unit = if unit == "words" { TextUnit::Words } else { TextUnit::Characters };
                    let (least, most) = range.split_once('-').unwrap_or((range, range));
                    let size = |text: &str| text.parse().ok().filter(|n| (1..=MOST).contains(n));
                    match (size(least), size(most)) {
                        (Some(least), Some(most)) if least <= most => (words.least, words.most) = (least, most),
                        _ => return Err(format!("'{part}': write {unit}=1-2, with numbers from 1 to {}", MOST)),
                    }
                }
                Some(("min", count)) => {
                    words.min_count = count.parse().map_err(|_| format!("'{part}': write min=5"))?;
                }
                Some(("max", count)) => {
                    let most = count.parse().ok().filter(|&most| most > 0);
                    words.max_features = Some(most.ok_or_else(|| format!("'{part}': write max=100000"))?);
                }
                None if part == "tf-idf" => words.weighting = Weighting::TfIdf,
                None if part == "counts" => words.weighting = Weighting::Counts,
                None if part == "binary" => words.weighting = Weighting::Binary,
                None if part == "case" => words.keep_case = true,
                _ => {
                    return Err(format!(
                        "'{part}' says nothing of a text; use words=1-2, chars=3-5, min=5, max=100000, tf-idf, counts, \
                         binary, case"
                    ));
                }
            }
        }
        Ok(words)
    }

    /// Whether it matters how many rows have an n-gram.
    pub fn needs_counts(self) -> bool {
        self.weighting == Weighting::TfIdf || self.selects()
    }

    /// Whether not all n-grams are features.
    pub fn selects(self) -> bool {
        self.min_count > 1 || self.max_features.is_some()
    }

    /// Whether the counts of a row are divided by their length.
    pub fn is_unit_length(self) -> bool {
        self.weighting == Weighting::TfIdf
    }

    /// What an n-gram that `count` of `rows` rows have is multiplied by.
    pub fn factor(self, count: u64, rows: u64) -> f64 {
        match self.weighting {
            Weighting::TfIdf => ((1.0 + rows as f64) / (1.0 + count as f64)).ln() + 1.0,
            Weighting::Counts | Weighting::Binary => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_texts() {
        let words = Words::parse("words=1-2,min=5,counts").unwrap();
        assert_eq!((words.least, words.most, words.min_count, words.weighting), (1, 2, 5, Weighting::Counts));
        let characters = Words::parse("chars=3,case").unwrap();
        assert_eq!((characters.unit, characters.least, characters.most), (TextUnit::Characters, 3, 3));
        assert!(characters.keep_case && Words::parse("").unwrap() == Words::default());
        for wrong in ["words", "words=0", "words=2-1", "words=1-99", "min=x", "max=0", "most=3", "tfidf"] {
            assert!(Words::parse(wrong).is_err(), "{wrong}");
        }
        for text in ["words=1-2,min=5,max=9,counts", "chars=3-3,tf-idf,case", "words=1-1,binary"] {
            assert_eq!(Words::parse(text).unwrap().to_string(), text);
        }
        let words = Words::default();
        assert_eq!(words.factor(10, 10), 1.0);
        assert!(words.factor(3, 10) > words.factor(4, 10));
    }
}
