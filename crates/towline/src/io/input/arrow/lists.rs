//! Lists of numbers, and of pairs of index and number.
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, Float64Array, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_cast::cast;
use arrow_schema::ArrowError;
use arrow_schema::DataType;
use rustc_hash::FxHashMap;

use super::rows::{Strings, numbers};
use crate::input::table::cells::{CellError, RowWriter};

/// Where the items of each row are.
pub(super) struct Rows {
    /// One more than there are rows, beginning with 0.
    offsets: Vec<usize>,
    nulls: Option<NullBuffer>,
}

impl Rows {
    fn range(&self, row: usize) -> std::ops::Range<usize> {
        match &self.nulls {
            Some(nulls) if nulls.is_null(row) => 0..0,
            _ => self.offsets[row]..self.offsets[row + 1],
        }
    }
}

/// The rows of a column of lists, and all items in one array.
pub(super) fn take_apart(array: &ArrayRef) -> Result<(Rows, ArrayRef), ArrowError> {
    let plain: (Vec<usize>, ArrayRef) = match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            (list.value_offsets().iter().map(|&at| at as usize).collect(), list.values().clone())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            (list.value_offsets().iter().map(|&at| at as usize).collect(), list.values().clone())
        }
        DataType::FixedSizeList(_, length) => {
            let list = array.as_fixed_size_list();
            ((0..=array.len()).map(|row| row * *length as usize).collect(), list.values().clone())
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
            (map.value_offsets().iter().map(|&at| at as usize).collect(), entries)
        }
        other => return Err(ArrowError::InvalidArgumentError(format!("{other} is no list"))),
    };
    let (mut offsets, items) = plain;
    // A few rows of a large batch should cost only what belongs to them.
    let first = offsets.first().copied().unwrap_or(0);
    let last = offsets.last().copied().unwrap_or(0);
    offsets.iter_mut().for_each(|at| *at -= first);
    Ok((Rows { offsets, nulls: array.nulls().cloned() }, items.slice(first, last - first)))
}

/// Lists of numbers.
pub(super) struct Dense {
    rows: Rows,
    items: Float64Array,
    /// The features `column[0]`, `column[1]`, … as far as they were needed.
    features: Vec<u32>,
}

impl Dense {
    pub(super) fn new(array: &ArrayRef) -> Result<Self, ArrowError> {
        let (rows, items) = take_apart(array)?;
        Ok(Dense { rows, items: numbers(&items)?, features: Vec::new() })
    }

    pub(super) fn write(&mut self, column: &str, row: usize, writer: &mut RowWriter<'_>) -> Result<(), CellError> {
        for (index, at) in self.rows.range(row).enumerate() {
            if index == self.features.len() {
                let feature = writer.feature(column, |name| push_index(name, index as u64))?;
                self.features.push(feature);
            }
            if !self.items.is_null(at) {
                writer.value(self.features[index], column, self.items.value(at))?;
            }
        }
        Ok(())
    }
}

/// Indices of sparse entries.
enum Indices {
    Numbers { original: ArrayRef, indices: UInt64Array, features: FxHashMap<u64, u32> },
    Names(Strings),
}

/// Lists of indices with their numbers.
pub(super) struct Sparse {
    rows: Rows,
    indices: Indices,
    value_rows: Option<Rows>,
    values: Float64Array,
    /// Indices of one row, to find repeated ones.
    mentioned: Vec<u64>,
}

impl Sparse {
    /// From a column of pairs, or from two columns.
    pub(super) fn new(array: &ArrayRef, values: Option<&ArrayRef>) -> Result<Self, ArrowError> {
        let (rows, items) = take_apart(array)?;
        let (indices, values, value_rows) = match values {
            Some(values) => {
                let (value_rows, values) = take_apart(values)?;
                (items, values, Some(value_rows))
            }
            None => {
                let pairs = items.as_struct();
                // Null pairs are refused as null indices.
                (with_nulls(pairs.column(0), pairs.nulls())?, pairs.column(1).clone(), None)
            }
        };
        let indices = match indices.data_type() {
            number if number.is_integer() => {
                let converted = cast(&indices, &DataType::UInt64)?.as_primitive::<UInt64Type>().clone();
                Indices::Numbers { original: indices, indices: converted, features: FxHashMap::default() }
            }
            _ => Indices::Names(Strings::new(&indices)?),
        };
        Ok(Sparse { rows, indices, value_rows, values: numbers(&values)?, mentioned: Vec::new() })
    }

    pub(super) fn write(&mut self, column: &str, row: usize, writer: &mut RowWriter<'_>) -> Result<(), CellError> {
        let range = self.rows.range(row);
        let mut value_at = range.start;
        if let Some(value_rows) = &self.value_rows {
            let values = value_rows.range(row);
            if values.len() != range.len() {
                return Err(CellError::new(
                    format!("column '{column}' has {} indices, but {} values", range.len(), values.len()),
                    "give every index one value",
                ));
            }
            value_at = values.start;
        }
        self.mentioned.clear();
        for at in range {
            let (feature, mention) = self.indices.feature(column, at, writer)?;
            self.mentioned.push(mention);
            if !self.values.is_null(value_at) {
                writer.value(feature, column, self.values.value(value_at))?;
            }
            value_at += 1;
        }
        self.check_repeated(column)
    }

    fn check_repeated(&mut self, column: &str) -> Result<(), CellError> {
        if self.mentioned.is_sorted_by(|a, b| a < b) {
            return Ok(());
        }
        self.mentioned.sort_unstable();
        match self.mentioned.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(_) => Err(CellError::new(
                format!("column '{column}' names an index twice in this row"),
                "add up the values of equal indices",
            )),
        }
    }
}

impl Indices {
    /// The feature of an index, and a number by which a repeated index is recognised.
    fn feature(&mut self, column: &str, at: usize, writer: &mut RowWriter<'_>) -> Result<(u32, u64), CellError> {
        let bad = |what: &str| {
            Err(CellError::new(format!("column '{column}' has {what} index"), "indices are whole numbers from 0 on"))
        };
        match self {
            Indices::Numbers { original, .. } if original.is_null(at) => bad("an absent"),
            Indices::Numbers { indices, .. } if indices.is_null(at) => bad("a negative"),
            Indices::Numbers { indices, features, .. } => {
                let index = indices.value(at);
                if let Some(&feature) = features.get(&index) {
                    return Ok((feature, index));
                }
                let feature = writer.feature(column, |name| push_index(name, index))?;
                features.insert(index, feature);
                Ok((feature, index))
            }
            Indices::Names(names) => match names.get(at) {
                None => bad("an absent"),
                Some(text) => {
                    let feature = writer.feature(column, |name| {
                        name.push(b'[');
                        name.extend_from_slice(text.as_bytes());
                        name.push(b']');
                    })?;
                    Ok((feature, u64::from(feature)))
                }
            },
        }
    }
}

fn push_index(name: &mut Vec<u8>, index: u64) {
    name.extend_from_slice(format!("[{index}]").as_bytes());
}

/// `array` with further nulls.
fn with_nulls(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return Ok(array.clone()) };
    let all = NullBuffer::union(array.nulls(), Some(nulls));
    Ok(arrow_array::make_array(array.to_data().into_builder().nulls(all).build()?))
}
