//! What strings hold, by looking at the first rows of a file: money, dates and texts to read are strings in Parquet and
//! Arrow, too.
//!
//! The file is opened a second time for that, and the same number of rows is looked at whatever the size of batches, so
//! that the memory budget never changes the features. What comes through a pipe cannot be read twice: its strings are
//! categories unless something else is said of them.
use std::collections::HashMap;

use arrow_schema::{DataType, Schema};

use super::rows::Strings;
use super::{Batches, Tables};
use crate::input::InputError;
use crate::input::table::looks::{Found, Looks};
use crate::schema::Kind;

/// Rows that are looked at, as for the other formats.
const ROWS: usize = 10_000;

/// Columns of strings whose kind nobody has said, by place: all but those that are known or left out.
pub(super) fn undecided(tables: &Tables, schema: &Schema) -> Vec<usize> {
    if tables.is_closed() {
        return Vec::new();
    }
    let (known, names) = (tables.names(), schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>());
    let options = &tables.options;
    let said = options.ignore.iter().chain(options.kinds.iter().map(|(column, _)| column));
    let said: Vec<usize> = said.filter_map(|column| column.find(&names)).collect();
    let is_undecided = |&at: &usize| {
        let is_text = matches!(schema.field(at).data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        is_text && !said.contains(&at) && !known.contains(&names[at])
    };
    (0..names.len()).filter(is_undecided).collect()
}

/// Looks at the first rows of these columns.
pub(super) fn look(
    tables: &Tables,
    file: &str,
    mut batches: Box<dyn Batches>,
    columns: &[usize],
) -> Result<HashMap<usize, Found>, InputError> {
    let schema = batches.schema();
    batches.select(columns);
    let mut all = vec![Looks::default(); columns.len()];
    let mut left = ROWS;
    while left > 0 {
        let Some(batch) = batches.next()? else { break };
        let rows = batch.num_rows().min(left);
        for (looks, array) in all.iter_mut().zip(batch.columns()) {
            let strings = Strings::new(array)
                .map_err(|error| InputError::file(file, error.to_string(), "make the file again"))?;
            for row in 0..rows {
                looks.add(&tables.missing, strings.get(row).unwrap_or_default().as_bytes());
            }
        }
        left -= rows;
    }
    let found = |(&at, looks): (&usize, &Looks)| {
        let (name, found) = (schema.field(at).name(), looks.found_as_text(schema.field(at).name()));
        // Nothing was seen, and later there may be any string.
        (at, if found.column.kind == Kind::Empty { Found::of(name, Kind::Category) } else { found })
    };
    Ok(columns.iter().zip(&all).map(found).collect())
}
