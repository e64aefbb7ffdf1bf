//! Features by the column of a table that they come from.
use crate::model::{Features, Model};

/// A column of a table.
#[derive(Debug, PartialEq)]
pub struct Column<'a> {
    /// What it is called.
    pub name: &'a str,
    /// The feature of its number, if it is one of numbers.
    pub number: Option<usize>,
    /// The features of its levels, if it is one of text.
    pub levels: Vec<(&'a str, usize)>,
}

/// The columns of a model with named features: a feature `column=level` belongs to text, any other name is a number. None
/// for numbered features.
pub fn of(model: &Model) -> Option<Vec<Column<'_>>> {
    let Features::Named(names) = &model.features else { return None };
    let mut places = hashbrown::HashMap::new();
    let mut columns: Vec<Column> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let (column, level) = name.split_once('=').map_or((name.as_str(), None), |(a, b)| (a, Some(b)));
        let place = *places.entry(column).or_insert(columns.len());
        if place == columns.len() {
            columns.push(Column { name: column, number: None, levels: Vec::new() });
        }
        match level {
            Some(level) => columns[place].levels.push((level, i)),
            None => columns[place].number = Some(i),
        }
    }
    Some(columns)
}
