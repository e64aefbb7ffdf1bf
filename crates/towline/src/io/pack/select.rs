//! Which features become columns: those that enough rows have, and of a text the most frequent ones. Rare levels of a
//! category share one, `column=(rare)`, which comes behind all others.
//!
//! How often a feature was seen is known when all rows have been read, and that is when features get columns. Numbers of
//! a table and the marks of their absence always have one: what stands for an absent number depends on its mark.
use std::collections::{BTreeMap, HashSet};

use super::PackError;
use super::eras::FeatureKey;
use super::fourier::NO_SELECTION;
use super::intern::Features;
use super::packer::{Packer, expected_bytes};
use super::rows::WaitingRows;
use crate::budget::{BudgetError, Reservation};
use crate::schema::{ColumnSchema, Kind, RARE_LEVEL, Words};
use crate::store::StoreError;

/// The place of a feature that has no column.
pub const DROPPED: u32 = u32::MAX;

/// What becomes of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// It has a column of its own.
    Column,
    /// It has none.
    Dropped,
    /// It has the column of rare levels with this place.
    Rare(u32),
    /// It is that column.
    RareItself(u32),
}

/// Decides about features, which have to come in the order in which they were first seen.
pub struct Selection {
    /// Rows that must have a feature.
    min_count: u32,
    /// Names of features that always stay.
    always: HashSet<Vec<u8>>,
    texts: Vec<Text>,
    categories: Vec<Category>,
    /// Pays for the levels that are not rare.
    paid: Reservation,
    /// How many features outside of texts will stay, by count.
    others: BTreeMap<u32, u32>,
}

/// A column of text with a rule about how many of its n-grams stay.
struct Text {
    /// How the names of its n-grams begin.
    prefix: Vec<u8>,
    /// Rows that must have one.
    min_count: u32,
    /// How many stay at most.
    most: Option<u64>,
    /// How many n-grams have which count, and how many have columns of older generations.
    counts: BTreeMap<u32, u32>,
    old: u64,
    /// Of those that just `least` rows have, so many stay; of those that more have, all.
    least: u32,
    of_least: u32,
}

/// A category whose rare levels are one.
struct Category {
    column: String,
    /// How the names of its levels begin, and what all that are rare are called.
    prefix: Vec<u8>,
    rare: Vec<u8>,
    /// Rows that a level must have not to be rare.
    least: u32,
    /// Those that have.
    levels: Vec<String>,
}

/// What is decided by the same rule.
enum Class {
    Always,
    Other,
    Text(usize),
    Level(usize),
    RareItself(usize),
}

/// A level that is kept in a list.
const LEVEL_BYTES: u64 = size_of::<String>() as u64;
/// Ids of features with the column of rare levels `r` are marked with this less `r` until columns are known.
const RARE: u32 = u32::MAX - 1;

impl Text {
    fn new(column: &str, rule: Words, min_count: u32) -> Self {
        let min_count = rule.min_count.max(min_count);
        let prefix = format!("{column}:").into_bytes();
        let most = rule.max_features.map(u64::from);
        Text { prefix, min_count, most, counts: BTreeMap::new(), old: 0, least: min_count, of_least: u32::MAX }
    }

    /// Finds the count from which on n-grams stay, and leaves in `counts` those that will.
    fn decide(&mut self) {
        self.counts = self.counts.split_off(&self.min_count);
        let Some(most) = self.most else { return };
        let mut left = most.saturating_sub(self.old);
        for (&count, &features) in self.counts.iter().rev() {
            (self.least, self.of_least) = (count, u64::from(features).min(left) as u32);
            left -= u64::from(self.of_least);
            if self.of_least < features {
                break;
            }
        }
        self.counts = self.counts.split_off(&self.least);
        if let Some(features) = self.counts.get_mut(&self.least) {
            *features = self.of_least;
        }
    }

    fn keeps(&mut self, count: u32) -> bool {
        if count != self.least || self.most.is_none() {
            return count >= self.least;
        }
        let stays = self.of_least > 0;
        self.of_least = self.of_least.saturating_sub(1);
        stays
    }
}

impl Selection {
    fn class(&self, key: FeatureKey<'_>) -> Class {
        let FeatureKey::Name(name) = key else { return Class::Other };
        if let Some(text) = self.texts.iter().position(|text| name.starts_with(&text.prefix)) {
            return Class::Text(text);
        }
        if self.always.contains(name) {
            return Class::Always;
        }
        match self.categories.iter().position(|category| name.starts_with(&category.prefix)) {
            Some(of) if name == self.categories[of].rare => Class::RareItself(of),
            Some(of) => Class::Level(of),
            None => Class::Other,
        }
    }

    /// Columns of rare levels.
    pub fn rare_columns(&self) -> usize {
        self.categories.len()
    }

    /// What they are called.
    fn rare_names(&self) -> Vec<Vec<u8>> {
        self.categories.iter().map(|category| category.rare.clone()).collect()
    }

    /// The levels of each column that are not rare.
    pub fn levels(self) -> impl Iterator<Item = (String, Vec<String>)> {
        self.categories.into_iter().map(|category| (category.column, category.levels))
    }

    /// Whether all features have to be shown to [`Selection::survey`] before the first can be decided about.
    fn needs_survey(&self) -> bool {
        self.texts.iter().any(|text| text.most.is_some())
    }

    /// Whether so many rows are enough for a feature of which nothing else was said.
    pub fn is_frequent(&self, count: u32) -> bool {
        count >= self.min_count
    }

    /// Is shown a feature; `is_old` if it has a column already.
    pub fn survey(&mut self, key: FeatureKey<'_>, count: u32, is_old: bool) {
        match self.class(key) {
            Class::Text(text) if is_old => self.texts[text].old += 1,
            _ if is_old => {}
            Class::Text(text) => *self.texts[text].counts.entry(count).or_default() += 1,
            Class::RareItself(_) => {}
            Class::Level(of) if count < self.categories[of].least => {}
            Class::Level(_) => *self.others.entry(count).or_default() += 1,
            Class::Other if count < self.min_count => {}
            Class::Other | Class::Always => *self.others.entry(count).or_default() += 1,
        }
    }

    /// All features have been shown. Returns how many of each count will have a column of their own.
    pub fn decide(&mut self) -> BTreeMap<u32, u32> {
        let mut kept = std::mem::take(&mut self.others);
        for text in &mut self.texts {
            text.decide();
            for (count, features) in std::mem::take(&mut text.counts).into_iter().filter(|&(_, features)| features > 0)
            {
                *kept.entry(count).or_default() += features;
            }
        }
        kept
    }

    /// What becomes of a feature that has no column yet.
    pub fn place(&mut self, key: FeatureKey<'_>, count: u32) -> Result<Placing, BudgetError> {
        let keeps = match self.class(key) {
            Class::Always => true,
            Class::Other => count >= self.min_count,
            Class::Text(text) => self.texts[text].keeps(count),
            Class::RareItself(of) => return Ok(Placing::RareItself(of as u32)),
            Class::Level(of) => {
                let category = &mut self.categories[of];
                if count < category.least {
                    return Ok(Placing::Rare(of as u32));
                }
                if let FeatureKey::Name(name) = key {
                    let level = String::from_utf8_lossy(&name[category.prefix.len()..]).into_owned();
                    self.paid.resize(self.paid.bytes() + LEVEL_BYTES + level.len() as u64)?;
                    category.levels.push(level);
                }
                true
            }
        };
        Ok(if keeps { Placing::Column } else { Placing::Dropped })
    }
}

impl Selection {
    /// Marks the ids of features in memory that get no column of their own, and returns those of rare levels.
    pub fn mark(&mut self, features: &mut Features, columns: &mut [u32]) -> Result<Vec<u32>, StoreError> {
        let (old, mut rare_ids) = (features.old(), vec![0; self.rare_columns()]);
        if self.needs_survey() {
            features.each_name(&mut |name, id, count| {
                self.survey(FeatureKey::Name(name), count, (id as usize) < old);
                Ok(())
            })?;
            self.decide();
        }
        let mut mark = |key: FeatureKey<'_>, id: usize, count: u32| -> Result<(), StoreError> {
            match self.place(key, count)? {
                Placing::Column => {}
                Placing::Dropped => columns[id] = DROPPED,
                Placing::Rare(of) => columns[id] = RARE - of,
                Placing::RareItself(of) => {
                    rare_ids[of as usize] = id as u32;
                    columns[id] = RARE - of;
                }
            }
            Ok(())
        };
        features.each_name(&mut |name, id, count| match id as usize >= old {
            true => mark(FeatureKey::Name(name), id as usize, count),
            false => Ok(()),
        })?;
        for (id, (&number, &count)) in features.numbers().iter().zip(features.counts()).enumerate().skip(old) {
            mark(FeatureKey::Number(number), id, count)?;
        }
        Ok(rare_ids)
    }
}

/// Puts the last columns, those of rare levels, in the place of their marks.
pub fn place_rare(columns: &mut [u32], order: &[u32], rare_columns: usize) {
    let first = (order.len() - rare_columns) as u32;
    let marks = RARE - rare_columns as u32 + 1..=RARE;
    columns.iter_mut().filter(|column| marks.contains(*column)).for_each(|column| *column = first + (RARE - *column));
}

impl Category {
    /// Levels that are known to be rare are read as such.
    fn new(column: &ColumnSchema) -> Option<Self> {
        let least = column.rare.filter(|_| column.levels.is_none() && column.kind == Kind::Category)?;
        let prefix = format!("{}=", column.name).into_bytes();
        let rare = [&prefix, RARE_LEVEL.as_bytes()].concat();
        Some(Category { column: column.name.clone(), prefix, rare, least, levels: Vec::new() })
    }
}

/// More columns than that are no tables.
const MOST_CATEGORIES: usize = 1 << 16;

impl Packer<'_> {
    /// Rare levels of categories get a feature, before the last era ends.
    pub(super) fn add_rare_levels(&mut self, waiting: &mut WaitingRows) -> Result<(), PackError> {
        let names = self.selection()?.map_or_else(Vec::new, |selection| selection.rare_names());
        match self.features.add_names(&names) {
            Err(StoreError::Budget(_)) if self.features.may_end_era() => {
                self.features.end_era(self.budget)?;
                waiting.end_era(expected_bytes(self.progress, waiting.held_bytes()))?;
                Ok(self.features.add_names(&names)?)
            }
            added => Ok(added?),
        }
    }

    /// Notes in the schema which levels are not rare.
    pub(super) fn note_levels(&mut self, selection: Option<Selection>) {
        let Some(schema) = &mut self.schema else { return };
        for (name, levels) in selection.into_iter().flat_map(Selection::levels) {
            if let Some(column) = schema.columns.iter_mut().find(|column| column.name == name) {
                column.levels = Some(levels);
            }
        }
    }

    /// Which features become columns, if not all of them do.
    pub(super) fn selection(&self) -> Result<Option<Selection>, PackError> {
        let min_count = self.min_count;
        let columns = self.schema.iter().flat_map(|schema| &schema.columns);
        let texts: Vec<Text> = columns
            .clone()
            .filter_map(|column| match column.kind {
                Kind::Text(rule) if rule.selects() => Some(Text::new(&column.name, rule, min_count)),
                _ => None,
            })
            .collect();
        let categories: Vec<Category> = columns.clone().filter_map(Category::new).take(MOST_CATEGORIES).collect();
        if texts.is_empty() && categories.is_empty() && min_count <= 1 {
            return Ok(None);
        }
        if self.is_scaled() && !categories.is_empty() {
            return Err(PackError::Mismatch {
                problem: "rare levels become one, whose scale nobody knows".into(),
                remedy: "use `scale(auto)`, `scale(rows)` or `scale(none)`".into(),
            });
        }
        if self.options.fourier.is_some() {
            let (problem, remedy) = (NO_SELECTION.into(), "leave out the bounds on n-grams".into());
            return Err(PackError::Mismatch { problem, remedy });
        }
        let numbers = self.numbers.names().iter().map(|name| name.clone().into_bytes());
        let marks = columns.map(|column| column.absent_feature().into_bytes());
        let always = numbers.chain(marks).collect();
        let paid = self.budget.reserve("levels of categories", 0)?;
        Ok(Some(Selection { min_count, always, texts, categories, paid, others: BTreeMap::new() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;

    fn selection(min_count: u32, rules: &[(&str, &str)]) -> Selection {
        let texts = rules.iter().map(|(column, rule)| Text::new(column, Words::parse(rule).unwrap(), min_count));
        let always = HashSet::from([b"size".to_vec(), b"size=".to_vec(), b"user=".to_vec()]);
        let column = ColumnSchema { rare: Some(3), ..ColumnSchema::new("user", Kind::Category) };
        let categories = Category::new(&column).into_iter().collect();
        let paid = Budget::unlimited().reserve("levels", 0).unwrap();
        Selection { min_count, always, texts: texts.collect(), categories, paid, others: BTreeMap::new() }
    }

    /// The features that stay, and how many of each count were announced.
    fn kept<'a>(selection: &mut Selection, features: &[(&'a str, u32)]) -> (Vec<&'a str>, BTreeMap<u32, u32>) {
        for &(name, count) in features {
            selection.survey(FeatureKey::Name(name.as_bytes()), count, false);
        }
        let counts = selection.decide();
        let key = |name: &'a str| FeatureKey::Name(name.as_bytes());
        let kept = features.iter().filter(|(name, count)| selection.place(key(name), *count) == Ok(Placing::Column));
        (kept.map(|&(name, _)| name).collect(), counts)
    }

    #[test]
    fn rare_features_have_no_column_but_numbers_do() {
        let features = [("size", 0), ("size=", 1), ("city=Rome", 2), ("city=Oslo", 1), ("t:a", 3), ("t:b", 2)];
        let (names, counts) = kept(&mut selection(2, &[("t", "min=3")]), &features);
        assert_eq!(names, ["size", "size=", "city=Rome", "t:a"]);
        assert_eq!(counts, BTreeMap::from([(0, 1), (1, 1), (2, 1), (3, 1)]));
    }

    #[test]
    fn of_a_text_the_most_frequent_stay_and_among_equals_the_first() {
        let features = [("t:a", 1), ("t:b", 5), ("t:c", 2), ("t:d", 2), ("t:e", 2), ("u:f", 1)];
        let (names, counts) = kept(&mut selection(1, &[("t", "max=3")]), &features);
        assert_eq!(names, ["t:b", "t:c", "t:d", "u:f"]);
        assert_eq!(counts, BTreeMap::from([(1, 1), (2, 2), (5, 1)]));
        let (names, _) = kept(&mut selection(3, &[("t", "max=3")]), &features);
        assert_eq!(names, ["t:b"], "both bounds hold");
        let (names, _) = kept(&mut selection(1, &[("t", "max=9")]), &features);
        assert_eq!(names.len(), 6);
    }

    #[test]
    fn rare_levels_share_a_column() {
        let features = [("user=a", 3), ("user=b", 2), ("user=", 9), ("user=c", 7), ("user=(rare)", 0)];
        let mut selection = selection(1, &[]);
        let (names, counts) = kept(&mut selection, &features);
        assert_eq!((names, counts), (vec!["user=a", "user=", "user=c"], BTreeMap::from([(3, 1), (7, 1), (9, 1)])));
        assert_eq!(selection.place(FeatureKey::Name(b"user=b"), 2), Ok(Placing::Rare(0)));
        assert_eq!(selection.place(FeatureKey::Name(b"user=(rare)"), 0), Ok(Placing::RareItself(0)));
        let mut columns = [0, RARE, DROPPED, 0, RARE];
        place_rare(&mut columns, &[0, 3, 4], 1);
        assert_eq!(columns, [0, 2, DROPPED, 0, 2]);
        assert_eq!(selection.levels().next().unwrap(), ("user".into(), vec!["a".to_string(), "c".into()]));
    }

    #[test]
    fn columns_that_are_there_count_towards_the_most() {
        let mut selection = selection(1, &[("t", "max=3")]);
        selection.survey(FeatureKey::Name(b"t:x"), 0, true);
        selection.survey(FeatureKey::Name(b"t:y"), 7, true);
        let (names, counts) = kept(&mut selection, &[("t:a", 1), ("t:b", 2)]);
        assert_eq!((names, counts), (vec!["t:b"], BTreeMap::from([(2, 1)])));
    }
}
