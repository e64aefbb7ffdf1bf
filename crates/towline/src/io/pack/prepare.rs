//! What the columns of a table need on their way into the store: where numbers are, what stands for an absent one, how
//! they are scaled, and what n-grams of text are multiplied by.
use std::collections::HashMap;

use super::arrange::{AbsentNumber, Arrangement, ColumnScaling};
use super::intern::Features;
use super::packer::Packer;
use crate::budget::{BudgetError, Reservation};
use crate::schema::{Absent, Kind, Words};
use crate::store::StoreError;
use crate::store::features::Scaling;
use crate::store::manifest::Scale;

/// What has to be found among the features.
pub struct Wanted {
    /// Columns of numbers, and of marks of their absence, by name.
    columns: HashMap<Vec<u8>, Option<u32>>,
    /// How names of n-grams begin, where it matters how many rows have them.
    texts: Vec<(Vec<u8>, Words)>,
    /// Rows in all.
    rows: u64,
    /// What n-grams are multiplied by, by column.
    factors: Vec<f32>,
    paid: Reservation,
}

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
        let Some((_, rule)) = self.texts.iter().find(|(prefix, _)| name.starts_with(prefix)) else { return Ok(()) };
        let end = column as usize + 1;
        if end > self.factors.len() {
            self.paid.grow_to(4 * end.next_power_of_two() as u64)?;
            self.factors.reserve_exact(end.next_power_of_two() - self.factors.len());
            self.factors.resize(end, 1.0);
        }
        self.factors[column as usize] = rule.factor(u64::from(count), self.rows) as f32;
        Ok(())
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
            Kind::Text(rule) if rule.needs_counts() => Some((format!("{}:", column.name).into_bytes(), rule)),
            _ => None,
        });
        Ok(Wanted {
            columns: numbers.chain(marks).map(|name| (name, None)).collect(),
            texts: texts.collect(),
            rows: self.old_rows + self.rows,
            factors: Vec::new(),
            paid: self.budget.reserve("weights of n-grams", 0)?,
        })
    }

    /// Says in `arrangement` what becomes of numbers and n-grams, and in the schema what stands for absent numbers.
    pub(super) fn prepare(&mut self, arrangement: &mut Arrangement, wanted: Wanted) {
        let Some(mut schema) = self.schema.take() else { return };
        let (mut scaling, is_first) = (Vec::new(), self.old.is_none());
        let mut by_feature: HashMap<String, usize> = HashMap::new();
        for (at, column) in schema.columns.iter().enumerate() {
            by_feature.extend(column.number_feature().map(|name| (name, at)));
        }
        let stored = |column: u32| self.old.as_ref().and_then(|(_, map)| map.as_ref()?.scaling(column));
        for (slot, name) in self.numbers.names().iter().enumerate() {
            let (Some(&at), Some(column)) = (by_feature.get(name), wanted.column(name)) else { continue };
            let described = &mut schema.columns[at];
            let number = self.numbers.number(slot, self.rows, self.scale == Scale::Auto, arrangement.precision);
            if described.impute.is_none() && described.absent == Absent::Marked {
                described.impute = Some(number.mean);
                if let Some(mark) = wanted.column(&described.absent_feature()) {
                    arrangement.absent.push(AbsentNumber { column, mark, value: number.mean });
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
    }
}
