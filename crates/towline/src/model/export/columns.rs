//! Features by the column of a table that they come from.
use super::{ExportError, unknown};
use crate::model::{Features, Model};
use crate::schema::Kind;

/// A column of a table.
#[derive(Debug, PartialEq)]
pub struct Column<'a> {
    /// What it is called.
    pub name: &'a str,
    /// The feature of its number, if it is one of numbers.
    pub number: Option<usize>,
    /// The features of its levels, if it is one of text; an absent cell is the level of no letters.
    pub levels: Vec<(&'a str, usize)>,
    /// The feature that marks an absent number.
    pub mark: Option<usize>,
    /// The number that stands for an absent one.
    pub impute: f64,
    /// Whether its numbers are truth values.
    pub is_boolean: bool,
}

/// The columns of a model with named features: a feature `column=level` belongs to text, any other name is a number.
/// None for numbered features.
pub fn of(model: &Model) -> Option<Vec<Column<'_>>> {
    let Features::Named(names) = &model.features else { return None };
    let mut places = hashbrown::HashMap::new();
    let mut columns: Vec<Column> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let (column, level) = name.split_once('=').map_or((name.as_str(), None), |(a, b)| (a, Some(b)));
        let place = *places.entry(column).or_insert(columns.len());
        if place == columns.len() {
            let (number, mark, levels) = (None, None, Vec::new());
            columns.push(Column { name: column, number, levels, mark, impute: 0.0, is_boolean: false });
        }
        match level {
            Some(level) => columns[place].levels.push((level, i)),
            None => columns[place].number = Some(i),
        }
    }
    for column in &mut columns {
        let Some(known) = model.header.schema.as_ref().and_then(|schema| schema.column(column.name)) else { continue };
        if known.kind.is_number() {
            column.mark = column.levels.iter().find(|level| level.0.is_empty()).map(|level| level.1);
            column.levels.clear();
            (column.impute, column.is_boolean) = (known.impute.unwrap_or(0.0), known.kind == Kind::Boolean);
        }
    }
    Some(columns)
}

/// Refuses models of columns that `format` would have to take apart first.
pub fn check(model: &Model, format: &str) -> Result<(), ExportError> {
    check_rules(model, format)?;
    for column in model.header.schema.iter().flat_map(|schema| schema.features()) {
        if matches!(column.kind, Kind::Date(_) | Kind::Text(_) | Kind::List) {
            let (name, what) = (&column.name, column.kind.noun());
            return unknown(format!("{format} does not take {what} apart, as those of column '{name}'"));
        }
    }
    Ok(())
}

/// Refuses models of columns whose features are not made from their cells alone.
pub fn check_rules(model: &Model, format: &str) -> Result<(), ExportError> {
    if let Some([a, b]) = model.header.schema.as_ref().and_then(|schema| schema.interactions.first()) {
        return unknown(format!("{format} does not multiply columns, as '{a}' and '{b}'"));
    }
    for column in model.header.schema.iter().flat_map(|schema| schema.features()) {
        if column.hash_bits.is_some() || column.powers.is_some() || !column.bins.is_empty() {
            let name = &column.name;
            return unknown(format!("{format} knows no hashes, powers and bins, as those of column '{name}'"));
        }
        if column.rare.is_some() {
            let name = &column.name;
            return unknown(format!("{format} does not put rare levels together, as those of column '{name}'"));
        }
    }
    Ok(())
}
