//! What the columns of a table need on their way into the store: where numbers are, what stands for an absent one, how
//! they are scaled, and what n-grams of text are multiplied by.
use std::collections::HashMap;

use super::PackError;
use super::arrange::{AbsentNumber, Arrangement, ColumnScaling};
use super::intern::Features;
use super::packer::Packer;
use super::select::DROPPED;
use crate::budget::{BudgetError, Reservation};
use crate::schema::{Absent, Kind, Words};
use crate::store::StoreError;
use crate::store::features::Scaling;
use crate::store::manifest::Scale;

/// What has to be found among the features.
pub struct Wanted {
    /// Columns of numbers, and of marks of their absence, by name.
    columns: HashMap<Vec<u8>, Option<u32>>,
    /// Columns of text, where it matters how many rows have an n-gram.
    texts: Vec<Text>,
    /// Rows in all.
    rows: u64,
    /// What n-grams are multiplied by, by column, and the text that each is of.
    factors: Vec<f32>,
    texts_of: Vec<u16>,
    paid: Reservation,
}

/// A column of text.
struct Text {
    /// How the names of its n-grams begin.
    prefix: Vec<u8>,
    rule: Words,
    /// How often all n-grams stand in a row, rare ones included, and the same with the squares of the factors of those
    /// that have columns.
    count: f64,
    squares: f64,
}

impl Text {
    /// The length that rows would have with these factors, about: the counts of a row are of unit length before, and each
    /// of its n-grams has an equal part of that.
    fn length(&self) -> f64 {
        if self.squares > 0.0 && self.rule.is_unit_length() { (self.squares / self.count).sqrt() } else { 1.0 }
    }
}

/// Bytes of an n-gram.
const GRAM_BYTES: u64 = 4 + 2;
/// No text: another feature.
const NO_TEXT: u16 = u16::MAX;

impl Wanted {
    /// Looks for the ids of numbers and marks.
    pub fn find_ids(&mut self, features: &Features) {
        self.columns.iter_mut().for_each(|(name, id)| *id = features.find_name(name));
    }

    /// Makes columns of the ids that were found, and looks through all names for n-grams.
    pub fn number(&mut self, features: &mut Features, columns: &[u32]) -> Result<(), StoreError> {
        self.columns.values_mut().flatten().for_each(|id| *id = columns[*id as usize]);
        if self.texts.is_empty() {
            return Ok(());
        }
        features.each_name(&mut |name, id, count| self.see_text(name, columns[id as usize], count))
    }

    /// Is told of a feature.
    pub fn see(&mut self, name: &[u8], column: u32, count: u32) -> Result<(), StoreError> {
        if let Some(found) = self.columns.get_mut(name) {
            *found = Some(column);
        }
        self.see_text(name, column, count)
    }

    fn see_text(&mut self, name: &[u8], column: u32, count: u32) -> Result<(), StoreError> {
        let of_text = self.texts.iter_mut().zip(0..).find(|(text, _)| name.starts_with(&text.prefix));
        let Some((text, number)) = of_text else { return Ok(()) };
        text.count += f64::from(count);
        if column == DROPPED {
            return Ok(());
        }
        let end = column as usize + 1;
        if end > self.factors.len() {
            let room = end.next_power_of_two();
            self.paid.grow_to(GRAM_BYTES * room as u64)?;
            self.factors.reserve_exact(room - self.factors.len());
            self.texts_of.reserve_exact(room - self.texts_of.len());
            self.factors.resize(end, 1.0);
            self.texts_of.resize(end, NO_TEXT);
        }
        let factor = text.rule.factor(u64::from(count), self.rows);
        text.squares += f64::from(count) * factor * factor;
        self.factors[column as usize] = factor as f32;
        self.texts_of[column as usize] = number;
        Ok(())
    }

    /// Makes rows of text about as long as they were before factors, which is 1: rare words have large ones, and the
    /// penalty would hardly matter to them.
    fn keep_lengths(&mut self) {
        let lengths: Vec<f64> = self.texts.iter().map(Text::length).collect();
        for (factor, &text) in self.factors.iter_mut().zip(&self.texts_of) {
            *factor /= lengths.get(usize::from(text)).map_or(1.0, |&length| length as f32);
        }
    }

    fn column(&self, name: &str) -> Option<u32> {
        self.columns.get(name.as_bytes()).copied().flatten()
    }
}

impl Packer<'_> {
    /// The features that have to be found: numbers of a table, what marks that they are absent, and n-grams.
    pub(super) fn wanted(&self) -> Result<Wanted, BudgetError> {
        let columns = self.schema.iter().flat_map(|schema| &schema.columns);
        let numbers = self.numbers.names().iter().map(|name| name.clone().into_bytes());
        let marks = columns.clone().map(|column| column.absent_feature().into_bytes());
        let texts = columns.filter_map(|column| match column.kind {
            Kind::Text(rule) if rule.needs_counts() => {
                let prefix = format!("{}:", column.name).into_bytes();
                Some(Text { prefix, rule, count: 0.0, squares: 0.0 })
            }
            _ => None,
        });
        Ok(Wanted {
            columns: numbers.chain(marks).map(|name| (name, None)).collect(),
            // More columns than that are no tables.
            texts: texts.take(usize::from(NO_TEXT)).collect(),
            rows: self.old_rows + self.rows,
            factors: Vec::new(),
            texts_of: Vec::new(),
            paid: self.budget.reserve("weights of n-grams", 0)?,
        })
    }

    /// Says in `arrangement` what becomes of numbers and n-grams, and in the schema what stands for absent numbers.
    pub(super) fn prepare(&mut self, arrangement: &mut Arrangement, mut wanted: Wanted) -> Result<(), PackError> {
        let Some(mut schema) = self.schema.take() else { return Ok(()) };
        let (mut scaling, is_first) = (Vec::new(), self.old.is_none());
        let mut by_feature: HashMap<String, (usize, i32)> = HashMap::new();
        for (at, column) in schema.columns.iter().enumerate() {
            by_feature.extend(column.number_feature().map(|name| (name, (at, 1))));
            by_feature.extend(column.power_features().map(|(power, name)| (name, (at, i32::from(power)))));
        }
        // What stood for absent numbers is known of columns that are there already.
        let are_new: Vec<bool> = schema.columns.iter().map(|column| column.impute.is_none()).collect();
        let stored = |column: u32| self.old.as_ref().and_then(|(_, map)| map.as_ref()?.scaling(column));
        for (slot, name) in self.numbers.names().iter().enumerate() {
            let Some(column) = wanted.column(name) else { continue };
            let number = self.numbers.number(slot, self.rows, self.scale == Scale::Auto, arrangement.precision);
            // Products of two numbers belong to no column, and are 0 where one of both is absent.
            let described = by_feature.get(name).map(|&(at, power)| (&mut schema.columns[at], are_new[at], power));
            let described = described.filter(|(column, is_new, _)| *is_new && column.absent == Absent::Marked);
            if let Some((described, _, power)) = described {
                let precision = arrangement.precision;
                // The number itself comes before its powers.
                let value = match described.impute.filter(|_| power > 1) {
                    Some(base) => precision.round(base.powi(power)),
                    None => {
                        let value = self.numbers.imputed(slot, described.impute_by, self.rows, number.mean, precision);
                        *described.impute.insert(value.ok_or_else(|| no_most_frequent(&described.name))?)
                    }
                };
                if let Some(mark) = wanted.column(&described.absent_feature()) {
                    arrangement.absent.push(AbsentNumber { column, mark, value });
                }
            }
            let how = if is_first { number.scaling } else { stored(column).unwrap_or(Scaling::NONE) };
            if self.scale == Scale::Auto && how != Scaling::NONE {
                scaling.push((column, how));
                if how.shift != 0.0 && self.numbers.has_zeros(slot, self.rows) {
                    arrangement.fill.push((column, arrangement.precision.round(-how.shift * how.factor)));
                }
            }
        }
        wanted.keep_lengths();
        let Wanted { mut factors, paid, .. } = wanted;
        // What rows were multiplied by that are there already cannot be changed.
        for (column, factor) in factors.iter_mut().enumerate().take(self.features.old()) {
            *factor = stored(column as u32).map_or(*factor, |scaling| scaling.factor as f32);
        }
        if !scaling.is_empty() || !factors.is_empty() {
            scaling.sort_unstable_by_key(|&(column, _)| column);
            arrangement.fill.sort_unstable_by_key(|&(column, _)| column);
            arrangement.scaling = ColumnScaling::Table { numbers: scaling, texts: factors };
            arrangement.paid = Some(paid);
        }
        arrangement.absent.sort_unstable_by_key(|number| number.column);
        self.schema = Some(schema);
        Ok(())
    }
}

fn no_most_frequent(column: &str) -> PackError {
    PackError::Mismatch {
        problem: format!("column '{column}' has too many different numbers to say which is the most frequent one"),
        remedy: "impute the median or the mean".into(),
    }
}
