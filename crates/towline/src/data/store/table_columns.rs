//! What the columns of a table became, and what was found in them: one look at the names of features, one scan of rows.
use std::collections::HashMap;

use super::features::{FeatureName, Scaling};
use super::manifest::Scale;
use super::{BlockId, BlockStore, DiskStore, ReadBuffers, StoreError};
use crate::block::Block;
use crate::budget::Budget;
use crate::schema::{Absent, ColumnSchema, Kind};

/// Levels or words that are shown of a column.
const EXAMPLES: usize = 3;
/// What is known of a table's column, beside its name.
const COLUMN_BYTES: u64 = 512;
/// A feature that is neither a number nor a mark.
const OTHER: u32 = u32::MAX;

/// What was found in a column of a table.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TableColumn {
    /// The name of the column.
    pub name: String,
    /// Features that its cells became: levels, words, parts of dates; a number is one. Marks of absent cells are not
    /// counted.
    pub features: u64,
    /// Rows whose cell was absent, where cells that are absent are marked.
    pub absent: Option<u64>,
    /// Some of its levels or words: the most frequent ones where features are sorted by frequency.
    pub examples: Vec<String>,
    /// Of a number, in the units of the table; unknown where rows were scaled to unit length.
    pub range: Option<Range>,
}

/// Where the numbers of a column lie. What stands for absent ones counts as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least one.
    pub least: f64,
    /// Their mean.
    pub mean: f64,
    /// The largest one.
    pub most: f64,
}

/// What a scan counts of the features that it looks at: numbers and marks.
struct Counted {
    /// The column of the table.
    column: usize,
    is_mark: bool,
    scaling: Scaling,
    rows: u64,
    sum: f64,
    least: f64,
    most: f64,
}

impl Counted {
    fn add(&mut self, value: f64) {
        self.rows += 1;
        self.sum += value;
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Of all rows, those included in which the stored value is 0.
    fn range(&self, rows: u64) -> Range {
        let (least, most) =
            if self.rows < rows { (self.least.min(0.0), self.most.max(0.0)) } else { (self.least, self.most) };
        let raw = |stored: f64| stored / self.scaling.factor + self.scaling.shift;
        Range { least: raw(least), mean: raw(self.sum / rows.max(1) as f64), most: raw(most) }
    }
}

/// Finds the column of a table that a feature comes from.
struct Owners {
    /// Place of a column, and whether the feature is its number or its mark, by name.
    whole: HashMap<String, (usize, bool)>,
    columns: HashMap<String, usize>,
}

impl Owners {
    fn new(columns: &[&ColumnSchema]) -> Self {
        let mut whole = HashMap::new();
        for (place, column) in columns.iter().enumerate() {
            whole.extend(column.number_feature().map(|name| (name, (place, false))));
            whole.insert(column.absent_feature(), (place, true));
        }
        Owners {
            whole,
            columns: columns.iter().enumerate().map(|(place, column)| (column.name.clone(), place)).collect(),
        }
    }

    /// The column whose name stands before a level, a word or a part of a date, and what stands behind it.
    fn of<'n>(&self, feature: &'n str) -> Option<(usize, &'n str)> {
        let ends = feature.match_indices(['=', ':', '.', '^', '[']).map(|(end, _)| end);
        ends.filter_map(|end| Some((*self.columns.get(&feature[..end])?, &feature[end + 1..]))).next()
    }
}

/// What was found in each column that is a feature; nothing for rows that are no table.
pub fn table_columns(store: &DiskStore, budget: &Budget) -> Result<Vec<TableColumn>, StoreError> {
    let Some(schema) = &store.manifest().schema else { return Ok(Vec::new()) };
    let columns: Vec<&ColumnSchema> = schema.features().collect();
    let bytes = store.shape().columns * 4 + columns.len() as u64 * COLUMN_BYTES + store.one_block_bytes();
    let _paid = budget.reserve("what is known of columns", bytes)?;
    let (mut found, places, mut counted) = by_name(store, &columns, budget)?;
    scan(store, &places, &mut counted)?;
    let (rows, keeps_units) = (store.manifest().rows, store.manifest().scale != Scale::Rows);
    for counted in &counted {
        let column = &mut found[counted.column];
        match counted.is_mark {
            true => column.absent = Some(counted.rows),
            false if keeps_units && counted.scaling.factor != 0.0 => column.range = Some(counted.range(rows)),
            false => {}
        }
    }
    Ok(found)
}

/// Reads the names of all features: which columns they belong to, and which of them are to be counted.
#[expect(clippy::type_complexity, reason = "three parts of one answer, used once")]
fn by_name(
    store: &DiskStore,
    columns: &[&ColumnSchema],
    budget: &Budget,
) -> Result<(Vec<TableColumn>, Vec<u32>, Vec<Counted>), StoreError> {
    let start = |column: &&ColumnSchema| TableColumn {
        name: column.name.clone(),
        absent: is_marked(column).then_some(0),
        ..TableColumn::default()
    };
    let mut found: Vec<TableColumn> = columns.iter().map(start).collect();
    let owners = Owners::new(columns);
    let (mut places, mut counted) = (Vec::with_capacity(store.shape().columns as usize), Vec::new());
    let mut names = store.feature_columns(budget)?;
    while let Some((name, scaling)) = names.next()? {
        let FeatureName::Name(name) = name else { break };
        if let Some(&(column, is_mark)) = owners.whole.get(name) {
            let scaling = scaling.unwrap_or(Scaling::NONE);
            places.push(counted.len() as u32);
            counted.push(Counted { column, is_mark, scaling, rows: 0, sum: 0.0, least: f64::MAX, most: f64::MIN });
            found[column].features += u64::from(!is_mark);
            continue;
        }
        places.push(OTHER);
        if let Some((column, rest)) = owners.of(name) {
            found[column].features += 1;
            if found[column].examples.len() < EXAMPLES {
                found[column].examples.push(rest.to_string());
            }
        }
    }
    Ok((found, places, counted))
}

/// Whether absent cells of a column are marked: those of texts and lists never are.
fn is_marked(column: &ColumnSchema) -> bool {
    let has_mark = column.number_feature().is_some() || column.kind == Kind::Category || !column.bins.is_empty();
    has_mark && column.absent == Absent::Marked
}

fn scan(store: &DiskStore, places: &[u32], counted: &mut [Counted]) -> Result<(), StoreError> {
    let shape = store.shape();
    let mut block = Block::new(shape.layout, shape.columns as usize);
    let mut buffers = ReadBuffers::default();
    for number in 0..store.blocks().len() as u32 {
        block.clear();
        store.read(BlockId(number), &mut buffers, &mut block)?;
        for i in 0..block.rows() {
            block.row(i).for_each(|column, value| {
                if let Some(counted) = counted.get_mut(places[column as usize] as usize)
                    && value != 0.0
                {
                    counted.add(value);
                }
            });
        }
    }
    Ok(())
}
