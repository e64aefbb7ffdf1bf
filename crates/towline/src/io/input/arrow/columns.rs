//! What the fields of a schema become.
use std::collections::HashMap;

use arrow_schema::{DataType, Field, Fields, Schema};

use crate::input::InputError;
use crate::input::table::cells::word;
use crate::input::table::looks::Found;
use crate::input::table::plan::{self, Column, Evidence, Plan, Role, Tables};
use crate::schema::{DateForm, DateOrder, Kind};

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Number,
    /// Days; with a time of day or without.
    Date {
        time: bool,
    },
    Text,
    /// Nulls alone.
    Nothing,
    /// A list of numbers.
    Dense,
    /// A list of pairs of index and number, or a map.
    Sparse,
    Other,
}

impl Shape {
    pub(super) fn of(data_type: &DataType) -> Shape {
        use DataType::*;
        match data_type {
            Null => Shape::Nothing,
            Utf8 | LargeUtf8 | Utf8View => Shape::Text,
            Date32 | Date64 => Shape::Date { time: false },
            Timestamp(..) => Shape::Date { time: true },
            Dictionary(_, values) => match Shape::of(values) {
                simple @ (Shape::Number | Shape::Date { .. } | Shape::Text) => simple,
                _ => Shape::Other,
            },
            Boolean | Time32(_) | Time64(_) | Duration(_) => Shape::Number,
            number if number.is_numeric() => Shape::Number,
            List(item) | LargeList(item) | FixedSizeList(item, _) => match item.data_type() {
                Struct(fields) if is_pair(fields) => Shape::Sparse,
                item if matches!(Shape::of(item), Shape::Number | Shape::Date { .. }) => Shape::Dense,
                _ => Shape::Other,
            },
            Map(entries, _) => match entries.data_type() {
                Struct(fields) if is_entry(fields) => Shape::Sparse,
                _ => Shape::Other,
            },
            _ => Shape::Other,
        }
    }

    fn kind(self) -> Kind {
        match self {
            Shape::Number => Kind::Number,
            Shape::Date { time } => Kind::Date(DateForm { order: DateOrder::YearMonthDay, time, cyclic: false }),
            Shape::Text => Kind::Category,
            Shape::Nothing => Kind::Empty,
            Shape::Dense | Shape::Sparse => Kind::List,
            Shape::Other => Kind::Other,
        }
    }
}

/// Names of the two fields of a sparse entry.
const PAIR_NAMES: [(&str, &str); 3] = [("index", "value"), ("indices", "values"), ("key", "value")];

fn is_pair(fields: &Fields) -> bool {
    let [index, value] = &fields[..] else { return false };
    PAIR_NAMES.contains(&(index.name().as_str(), value.name().as_str())) && is_entry(fields)
}

/// Whether these are an index, by number or name, and a number.
fn is_entry(fields: &Fields) -> bool {
    let [index, value] = &fields[..] else { return false };
    let (index, value) = (index.data_type(), value.data_type());
    (index.is_integer() || matches!(index, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View))
        && matches!(Shape::of(value), Shape::Number | Shape::Date { .. })
}

/// Where the cells of a column are in the batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cells {
    pub(super) at: usize,
    /// The lists of values that belong to the lists of indices.
    pub(super) values_at: Option<usize>,
    pub(super) shape: Shape,
}

/// The columns of a table: what they are, and where their cells are.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) plan: Plan,
    pub(super) cells: Vec<Cells>,
    /// Positions in the schema of what has to be read.
    pub(super) wanted: Vec<usize>,
}

impl Layout {
    /// `looked` says what some columns of strings hold.
    pub(super) fn new(
        tables: &Tables,
        file: &str,
        schema: &Schema,
        mut looked: HashMap<usize, Found>,
    ) -> Result<Self, InputError> {
        let fields = schema.fields();
        if fields.is_empty() {
            return Ok(Layout { plan: Plan::default(), cells: Vec::new(), wanted: Vec::new() });
        }
        let shapes: Vec<Shape> = fields.iter().map(|field| Shape::of(field.data_type())).collect();
        let found =
            fields.iter().zip(&shapes).enumerate().map(|(at, (field, shape))| {
                looked.remove(&at).unwrap_or_else(|| Found::of(field.name(), shape.kind()))
            });
        let found = found.collect();
        let mut plan = tables.plan(file, found, Evidence::Schema)?;
        let planned = std::mem::take(&mut plan.columns);
        let values_of = pair_up(&planned, fields);
        let mut layout = Layout { plan, cells: Vec::new(), wanted: Vec::new() };
        for (at, mut column) in planned.iter().cloned().enumerate().filter(|(_, column)| column.role != Role::Ignored) {
            let shape = shapes[at];
            if shape == Shape::Other {
                return Err(InputError::file(
                    file,
                    format!("column '{}' has type {}, which cannot be taken", column.name, fields[at].data_type()),
                    format!("use `ignore({})`, or write it as numbers, text or lists of numbers", word(&column.name)),
                ));
            }
            // The cells are numbered among those that are read.
            let position = layout.wanted.len();
            layout.wanted.push(at);
            if values_of.iter().flatten().any(|&values| values == at) {
                continue;
            }
            let values_at = values_of[at];
            if values_at.is_some() {
                column.name = sparse_name(&column.name).to_string();
            }
            layout.plan.columns.push(column);
            layout.cells.push(Cells { at: position, values_at, shape });
        }
        for cells in &mut layout.cells {
            cells.values_at = cells.values_at.and_then(|at| layout.wanted.binary_search(&at).ok());
        }
        layout.check_lists(file)?;
        plan::check_clashes(file, &layout.plan.columns)?;
        Ok(layout)
    }

    /// A pair of columns may have taken the name of a third.
    fn check_lists(&self, file: &str) -> Result<(), InputError> {
        let lists = || self.plan.columns.iter().filter(|column| column.kind == Kind::List);
        for (at, column) in lists().enumerate() {
            if lists().take(at).any(|other| other.name == column.name) {
                return Err(InputError::file(
                    file,
                    format!("two columns of lists would both give features named '{}[…]'", column.name),
                    "rename one of them",
                ));
            }
        }
        Ok(())
    }
}

/// For each column of indices, the column of values that belongs to it.
fn pair_up(planned: &[Column], fields: &Fields) -> Vec<Option<usize>> {
    let is_feature = |at: usize| planned[at].role == Role::Feature && Shape::of(fields[at].data_type()) == Shape::Dense;
    let partner = |(at, column): (usize, &Column)| {
        let prefix = column.name.strip_suffix("indices").filter(|prefix| prefix.is_empty() || prefix.ends_with('_'))?;
        let values = planned.iter().position(|other| other.name == format!("{prefix}values"))?;
        (is_feature(at) && is_feature(values) && holds_integers(&fields[at])).then_some(values)
    };
    planned.iter().enumerate().map(partner).collect()
}

fn holds_integers(field: &Field) -> bool {
    use DataType::*;
    matches!(field.data_type(), List(item) | LargeList(item) | FixedSizeList(item, _) if item.data_type().is_integer())
}

fn sparse_name(indices: &str) -> &str {
    match indices.strip_suffix("_indices") {
        Some(name) if !name.is_empty() => name,
        _ => "features",
    }
}
