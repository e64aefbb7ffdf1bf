//! Arrow arrays become rows.
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray};
use arrow_cast::cast;
use arrow_schema::ArrowError;
use arrow_schema::{DataType, TimeUnit};

use super::columns::{Cells, Layout, Shape};
use super::lists::{self, Dense, Sparse};
use crate::input::table::cells::{self, CellError, RowWriter};
use crate::input::table::plan::{Column, Role, Tables};
use crate::input::{InputError, Place, RowBatch};
use crate::schema::{DateForm, Kind};

/// An array of any number as `f64`, in the units that the module's table gives.
pub(super) fn numbers(array: &ArrayRef) -> Result<Float64Array, ArrowError> {
    use DataType::*;
    let scaled = |per_unit: f64| -> Result<Float64Array, ArrowError> {
        let plain = cast(&cast(array, &Int64)?, &Float64)?;
        Ok(plain.as_primitive::<Float64Type>().unary(|value| value / per_unit))
    };
    match array.data_type() {
        Date32 => scaled(1.0),
        Date64 => scaled(86_400_000.0),
        Time32(unit) | Time64(unit) | Timestamp(unit, _) | Duration(unit) => scaled(match unit {
            TimeUnit::Second => 1.0,
            TimeUnit::Millisecond => 1e3,
            TimeUnit::Microsecond => 1e6,
            TimeUnit::Nanosecond => 1e9,
        }),
        Dictionary(_, values) => numbers(&cast(array, values)?),
        _ => Ok(cast(array, &Float64)?.as_primitive::<Float64Type>().clone()),
    }
}

/// An array of dates as days since 1970-01-01.
fn days(array: &ArrayRef) -> Result<Float64Array, ArrowError> {
    let is_timed = matches!(array.data_type(), DataType::Timestamp(..));
    let unit = if is_timed { 86_400.0 } else { 1.0 };
    Ok(numbers(array)?.unary(|value| value / unit))
}

/// An array of text.
pub(super) enum Strings {
    Small(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
}

impl Strings {
    pub(super) fn new(array: &ArrayRef) -> Result<Self, ArrowError> {
        Ok(match array.data_type() {
            DataType::Utf8 => Strings::Small(array.as_string().clone()),
            DataType::LargeUtf8 => Strings::Large(array.as_string().clone()),
            DataType::Utf8View => Strings::View(array.as_string_view().clone()),
            _ => Strings::Small(cast(array, &DataType::Utf8)?.as_string().clone()),
        })
    }

    /// Bytes of text, whether or not arrays share a buffer.
    fn text_bytes(&self) -> u64 {
        fn between<T: Copy>(offsets: &[T], bytes: impl Fn(T, T) -> i64) -> u64 {
            offsets.first().zip(offsets.last()).map_or(0, |(&start, &end)| bytes(start, end).max(0) as u64)
        }
        match self {
            Strings::Small(array) => between(array.value_offsets(), |start, end| i64::from(end - start)),
            Strings::Large(array) => between(array.value_offsets(), |start, end| end - start),
            // the length is the lower half of a view
            Strings::View(array) => array.views().iter().map(|&view| u64::from(view as u32)).sum(),
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<&str> {
        match self {
            Strings::Small(array) => (!array.is_null(at)).then(|| array.value(at)),
            Strings::Large(array) => (!array.is_null(at)).then(|| array.value(at)),
            Strings::View(array) => (!array.is_null(at)).then(|| array.value(at)),
        }
    }
}

/// The cells of a column in some rows.
enum Values {
    Nothing,
    Numbers(Float64Array),
    Dates(Float64Array, DateForm),
    Text(Strings),
    /// Text by its position in a dictionary; the feature of an entry is looked up once, unless there are more entries
    /// than rows and `features` is empty.
    Coded {
        codes: Vec<Option<usize>>,
        dictionary: Strings,
        features: Vec<Option<u32>>,
    },
    Groups(Vec<Option<Option<u64>>>),
    Dense(Dense),
    Sparse(Box<Sparse>),
}

impl Values {
    fn new(column: &Column, cells: &Cells, batch: &RecordBatch) -> Result<Self, ArrowError> {
        let array = batch.column(cells.at);
        match (cells.shape, column.kind) {
            (Shape::Nothing, _) => Ok(Values::Nothing),
            (Shape::Dense, _) if cells.values_at.is_none() => Ok(Values::Dense(Dense::new(array)?)),
            (Shape::Dense | Shape::Sparse, _) => {
                Ok(Values::Sparse(Box::new(Sparse::new(array, cells.values_at.map(|at| batch.column(at)))?)))
            }
            (_, Kind::Category) => match array.as_any_dictionary_opt() {
                Some(coded) if coded.values().is_empty() => Ok(Values::Nothing),
                Some(coded) if Shape::of(coded.values().data_type()) == Shape::Text => {
                    let codes = coded.normalized_keys().into_iter().enumerate();
                    let entries = coded.values().len();
                    Ok(Values::Coded {
                        codes: codes.map(|(row, code)| (!coded.keys().is_null(row)).then_some(code)).collect(),
                        dictionary: Strings::new(coded.values())?,
                        features: vec![None; if entries <= array.len() { entries } else { 0 }],
                    })
                }
                _ => Ok(Values::Text(Strings::new(array)?)),
            },
            (Shape::Text, _) => Ok(Values::Text(Strings::new(array)?)),
            (_, Kind::Date(form)) => Ok(Values::Dates(days(array)?, form)),
            _ if column.role == Role::Group => groups(array),
            _ => Ok(Values::Numbers(numbers(array)?)),
        }
    }

    #[inline(always)]
    fn write(
        &mut self,
        tables: &Tables,
        row: usize,
        column: &Column,
        writer: &mut RowWriter<'_>,
    ) -> Result<(), CellError> {
        match self {
            Values::Nothing => absent(column, writer),
            Values::Numbers(array) | Values::Dates(array, _) if array.is_null(row) => absent(column, writer),
            Values::Numbers(array) => match column.role {
                Role::Label(place) => writer.label_number(place, &column.name, array.value(row)),
                Role::Weight => writer.weight(&column.name, array.value(row)),
                _ => writer.number(column, array.value(row)),
            },
            Values::Dates(array, form) => writer.days(column, array.value(row), *form),
            Values::Text(strings) => match strings.get(row).filter(|text| !tables.missing.is_text(text.as_bytes())) {
                Some(text) => writer.cell(column, text.as_bytes()),
                None => absent(column, writer),
            },
            Values::Coded { codes, dictionary, features } => {
                let Some(code) = codes[row] else { return absent(column, writer) };
                if let Some(&Some(feature)) = features.get(code) {
                    writer.one(feature);
                    return Ok(());
                }
                match dictionary.get(code).filter(|text| !tables.missing.is_text(text.as_bytes())) {
                    Some(text) if column.role == Role::Feature => {
                        let feature = writer.level(column, text.as_bytes())?;
                        if let Some(known) = features.get_mut(code) {
                            *known = Some(feature);
                        }
                        writer.one(feature);
                        Ok(())
                    }
                    Some(text) => writer.cell(column, text.as_bytes()),
                    None => absent(column, writer),
                }
            }
            Values::Groups(groups) => groups[row].map_or(Ok(()), |group| writer.group_number(&column.name, group)),
            Values::Dense(lists) => lists.write(&column.name, row, writer),
            Values::Sparse(lists) => lists.write(&column.name, row, writer),
        }
    }
}

/// What an absent cell means depends on the part of its column: rows without a label are known at their end.
fn absent(column: &Column, writer: &mut RowWriter<'_>) -> Result<(), CellError> {
    if column.role == Role::Feature { writer.absent(column) } else { Ok(()) }
}

/// Absent, not whole, or whole. Integers are not taken through `f64`, which would make neighbours equal.
fn groups(array: &ArrayRef) -> Result<Values, ArrowError> {
    let rows = 0..array.len();
    if array.data_type().is_integer() {
        let whole = cast(array, &DataType::UInt64)?;
        let whole = whole.as_primitive::<UInt64Type>();
        let group = |row| (!array.is_null(row)).then(|| (!whole.is_null(row)).then(|| whole.value(row)));
        return Ok(Values::Groups(rows.map(group).collect()));
    }
    let numbers = numbers(array)?;
    Ok(Values::Groups(rows.map(|row| (!numbers.is_null(row)).then(|| cells::whole(numbers.value(row)))).collect()))
}

/// Appends the rows of `rows_of`, of which the first is number `before` (from 0) of its file.
pub(super) fn write(
    tables: &Tables,
    file: &str,
    layout: &Layout,
    rows_of: &RecordBatch,
    before: u64,
    batch: &mut RowBatch,
) -> Result<(), InputError> {
    let convert = |(column, cells): (&Column, &Cells)| {
        Values::new(column, cells, rows_of).map_err(|error| {
            InputError::file(
                file,
                format!("column '{}' cannot be converted ({error})", column.name),
                format!("use `ignore({})`", cells::word(&column.name)),
            )
        })
    };
    let columns = &layout.plan.columns;
    let mut values: Vec<Values> = columns.iter().zip(&layout.cells).map(convert).collect::<Result<_, _>>()?;
    let mut writer = RowWriter::new(tables, &layout.plan, batch);
    for row in 0..rows_of.num_rows() {
        let place = |error: CellError| InputError::Bad {
            file: file.to_string(),
            place: Place::Row(before + row as u64 + 1),
            problem: error.problem,
            remedy: error.remedy,
        };
        for (column, values) in columns.iter().zip(&mut values) {
            values.write(tables, row, column, &mut writer).map_err(place)?;
        }
        writer.end_row().map_err(place)?;
    }
    Ok(())
}

/// About how many bytes a row of this batch takes as a row and while it is converted.
pub(super) fn bytes_per_row(batch: &RecordBatch) -> u64 {
    let rows = batch.num_rows().max(1) as u64;
    let column = |array: &ArrayRef| match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            24 + Strings::new(array).map_or(0, |strings| strings.text_bytes()) / rows
        }
        list if matches!(Shape::of(list), Shape::Dense | Shape::Sparse) => {
            24 + 24 * lists::take_apart(array).map_or(0, |(_, items)| items.len() as u64) / rows
        }
        _ => 24,
    };
    batch.columns().iter().map(column).sum::<u64>().max(1)
}
