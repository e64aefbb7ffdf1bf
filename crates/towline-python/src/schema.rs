//! What the columns of tables are, in the form in which Python has it: JSON, or TOML for people.
use pyo3::prelude::*;
use towline::budget::Budget;
use towline::input::{InputError, Progress, RowBatch, RowSource};
use towline::schema::{ColumnSchema, Rules, Schema, Words};

use crate::batches;
use crate::errors::{IntoException, OrRaise, bad_value, spoken};
use crate::reading::{Reading, expand};

/// A schema from its JSON, if nothing is wrong with it.
pub fn parse(json: &str) -> PyResult<Schema> {
    let schema: Schema = serde_json::from_str(json).map_err(|error| bad_value(format!("the schema: {error}")))?;
    checked(schema)
}

fn checked(schema: Schema) -> PyResult<Schema> {
    match schema.check() {
        Ok(()) => Ok(schema),
        Err(problem) => Err(bad_value(format!("the schema: {problem}"))),
    }
}

/// A schema as JSON.
pub fn json(schema: &Schema) -> PyResult<String> {
    serde_json::to_string(schema).map_err(bad_value)
}

/// The same in full, or an error that says what is wrong with it.
#[pyfunction]
pub fn schema_check(text: &str) -> PyResult<String> {
    json(&parse(text)?)
}

/// What `towline schema` has written.
#[pyfunction]
pub fn schema_from_toml(text: &str) -> PyResult<String> {
    let schema: Schema = toml::from_str(text).map_err(|error| bad_value(error.to_string().trim_end()))?;
    json(&checked(schema)?)
}

/// As `towline schema` writes it.
#[pyfunction]
pub fn schema_to_toml(text: &str) -> PyResult<String> {
    toml::to_string(&parse(text)?).map_err(bad_value)
}

/// How a text is read, from a rule such as `words=1-2,min=5`.
#[pyfunction]
pub fn schema_text(rule: &str) -> PyResult<String> {
    serde_json::to_string(&Words::parse(rule).map_err(bad_value)?).map_err(bad_value)
}

/// A column with further rules, such as `rare=5`.
#[pyfunction]
pub fn schema_column(column: &str, rules: &str) -> PyResult<String> {
    let mut column: ColumnSchema =
        serde_json::from_str(column).map_err(|error| bad_value(format!("a column: {error}")))?;
    let name = column.name.clone();
    let applied = Rules::parse(rules).and_then(|rules| rules.apply(&mut column, false));
    applied.map_err(|problem| bad_value(format!("{name}: {problem}")))?;
    serde_json::to_string(&column).map_err(bad_value)
}

/// What the columns of files or of an Arrow stream are taken for, and what there is to say of them. `kind` is `files` or
/// `arrow`.
#[pyfunction]
pub fn schema_of(
    py: Python<'_>,
    kind: &str,
    data: &Bound<'_, PyAny>,
    reading: Reading,
    memory: Option<u64>,
) -> PyResult<(String, Vec<String>)> {
    let budget = Budget::new(memory.unwrap_or_else(towline::machine::default_memory_bytes));
    let options = reading.options(false)?;
    let refused = |source| InputError::Budget { file: kind.to_string(), source }.into_exception();
    let mut source: Box<dyn RowSource> = match kind {
        "arrow" => Box::new(batches::arrow(data, &options.table, &budget)?.map_err(refused)?),
        _ => {
            let inputs = expand(&data.extract::<Vec<String>>()?)?;
            towline::input::open(&inputs, &options, &budget, &Progress::default()).or_raise()?
        }
    };
    py.detach(|| source.next_batch(&mut RowBatch::default())).or_raise()?;
    let Some(schema) = source.schema() else {
        return Err(bad_value("its features have no columns; a schema says what the columns of tables are"));
    };
    Ok((json(&schema)?, source.remarks().iter().map(|remark| spoken(remark)).collect()))
}
