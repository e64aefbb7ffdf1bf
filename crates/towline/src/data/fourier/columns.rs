//! Blocks of a store, mapped. Its columns are known, so that their frequencies lie in one table.
//!
//! A store may hold the features of the map or the rows that they are made from. Features cost 4 bytes each on every
//! pass; making them costs time for each value of a row and each feature. [`is_cheaper`] compares the two.
use super::FourierMap;
use super::angles::Angles;
use crate::block::{Block, Layout, Row, ValueKind};
use crate::store::features::{FeatureMap, FeatureName};

/// The most that the table of frequencies may take; those of further columns, which are the rarer ones, are made when
/// they are needed.
const MOST_TABLE_BYTES: u64 = 32 << 20;
/// What a disk of 125 MB/s takes for a feature of 4 bytes.
const READ_NANOSECONDS: f64 = 32.0;
/// What a feature takes to make, and what each value of the row adds to it (`examples/read_store.rs` on stores of both
/// kinds).
const MADE_NANOSECONDS: f64 = 5.0;
const MADE_NANOSECONDS_PER_VALUE: f64 = 0.25;

/// Whether making features of rows with so many values takes less time than reading them from an ordinary disk.
pub fn is_cheaper(map: &FourierMap, columns: u64, values_per_row: f64) -> bool {
    let all = columns.saturating_mul(4 * u64::from(map.features));
    all <= MOST_TABLE_BYTES && MADE_NANOSECONDS + MADE_NANOSECONDS_PER_VALUE * values_per_row < READ_NANOSECONDS
}

/// The frequencies of a store's columns.
#[derive(Debug)]
pub struct ColumnFrequencies {
    map: FourierMap,
    keys: Vec<u64>,
    /// Those of the first columns, one after the other.
    table: Vec<f32>,
}

impl ColumnFrequencies {
    /// What they take, and what it takes to make them.
    pub fn needed_bytes(map: &FourierMap, columns: u64) -> u64 {
        8 * columns + Self::cached(map, columns) * 4 * u64::from(map.features) + 4 * u64::from(map.features)
    }

    fn cached(map: &FourierMap, columns: u64) -> u64 {
        columns.min(MOST_TABLE_BYTES / (4 * u64::from(map.features)))
    }

    /// Those of the columns of `features`.
    pub fn of_store(map: FourierMap, features: &FeatureMap) -> Self {
        let keys = (0..features.len() as u32).map(|column| match features.name(column) {
            FeatureName::Number(number) => map.key_of_number(number),
            FeatureName::Name(name) => map.key_of_name(name.as_bytes()),
        });
        Self::new(map, keys.collect(), MOST_TABLE_BYTES)
    }

    /// What they take if none is in the table, and what it takes to make them.
    pub(crate) fn least_bytes(map: &FourierMap, columns: u64) -> u64 {
        8 * columns + 4 * u64::from(map.features)
    }

    /// What the table takes where there is enough memory.
    pub(crate) fn table_bytes(map: &FourierMap, columns: u64) -> u64 {
        Self::needed_bytes(map, columns) - Self::least_bytes(map, columns)
    }

    /// Those of columns with these keys, as many of them in the table as it has room for.
    pub(crate) fn new(map: FourierMap, keys: Vec<u64>, table_bytes: u64) -> Self {
        let room = table_bytes / (4 * u64::from(map.features));
        let cached = Self::cached(&map, keys.len() as u64).min(room) as usize;
        let mut table = Vec::with_capacity(cached * map.features as usize);
        let mut one = Vec::with_capacity(map.features as usize + 1);
        for &key in &keys[..cached] {
            map.frequencies(key, &mut one);
            table.extend_from_slice(&one);
        }
        ColumnFrequencies { map, keys, table }
    }

    /// How mapped rows lie in memory.
    pub fn layout(values: ValueKind, targets: u32) -> Layout {
        Layout::new(true, values).with_targets(targets)
    }

    /// Something that maps rows; one for each thread.
    pub fn mapper(&self) -> Mapper<'_> {
        Mapper { frequencies: self, angles: Angles::new(&self.map), made: Vec::new() }
    }

    fn row(&self, column: u32) -> Option<&[f32]> {
        let features = self.map.features as usize;
        self.table.get(column as usize * features..(column as usize + 1) * features)
    }
}

/// Maps rows of a store.
pub struct Mapper<'a> {
    frequencies: &'a ColumnFrequencies,
    angles: Angles,
    /// Frequencies that are not in the table.
    made: Vec<f32>,
}

impl Mapper<'_> {
    /// What it takes.
    pub fn needed_bytes(map: &FourierMap) -> u64 {
        Angles::bytes(u64::from(map.features)) + 4 * u64::from(map.features)
    }

    /// The features of a row.
    pub fn map_row(&mut self, row: Row) -> &[f64] {
        let ColumnFrequencies { map, keys, .. } = self.frequencies;
        self.angles.begin();
        let mut waiting: ([&[f32]; 4], [f64; 4], usize) = ([&[]; 4], [0.0; 4], 0);
        for (column, value) in row.iter() {
            if let Some(known) = self.frequencies.row(column) {
                let (parts, values, count) = &mut waiting;
                (parts[*count], values[*count]) = (known, value);
                *count += 1;
                if *count == 4 {
                    self.angles.add_four(*parts, *values);
                    *count = 0;
                }
            } else {
                flush(&mut self.angles, &mut waiting);
                map.frequencies(keys[column as usize], &mut self.made);
                self.angles.add(&self.made, value);
            }
        }
        flush(&mut self.angles, &mut waiting);
        self.angles.features()
    }

    /// Appends all rows of `raw` to `into`, mapped.
    pub fn map_block(&mut self, raw: &Block, into: &mut Block) {
        into.reserve(raw.rows(), raw.rows() * self.frequencies.map.features as usize);
        for i in 0..raw.rows() {
            self.push(raw, i, into);
        }
    }

    /// Appends row `i` of `raw` to `into`, mapped, and lends its features.
    pub fn push(&mut self, raw: &Block, i: usize, into: &mut Block) -> &[f64] {
        let features = self.map_row(raw.row(i));
        into.add_further(raw.further(i));
        into.push_arrays(raw.info(i), 0..features.len() as u32, features.iter().copied());
        features
    }
}

/// Adds what waits for others, in its order.
fn flush(angles: &mut Angles, waiting: &mut ([&[f32]; 4], [f64; 4], usize)) {
    let (parts, values, count) = waiting;
    parts.iter().zip(values).take(*count).for_each(|(part, value)| angles.add(part, *value));
    *count = 0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::RowInfo;

    #[test]
    fn columns_without_a_place_in_the_table_are_mapped_alike() {
        let map = FourierMap::new(17, 0.3, 9).unwrap();
        let whole = ColumnFrequencies::new(map, (0..10).map(|number| map.key_of_number(number)).collect(), 1 << 20);
        let features = map.features as usize;
        let mut raw = Block::new(Layout::SPARSE_F32, 10);
        for i in 0..6u32 {
            let entries =
                (0..10).filter(|column| (column * 7 + i) % 3 != 0).map(|column| (column, f64::from(column + i) / 8.0));
            raw.push(RowInfo { label: f64::from(i), weight: 2.0, group: 1, id: u64::from(i) }, entries);
        }
        let mapped = |frequencies: &ColumnFrequencies| {
            let mut into = Block::new(ColumnFrequencies::layout(ValueKind::F64, 1), features);
            frequencies.mapper().map_block(&raw, &mut into);
            assert_eq!(
                (0..into.rows()).map(|i| into.info(i)).collect::<Vec<_>>(),
                (0..6).map(|i| raw.info(i)).collect::<Vec<_>>()
            );
            (0..into.rows()).flat_map(|i| into.row(i).iter().collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        let expected = mapped(&whole);
        for known in [0, 1, 5, 9] {
            let part = ColumnFrequencies::new(map, whole.keys.clone(), 4 * (known * features) as u64 + 3);
            assert_eq!(part.table.len(), known * features);
            assert_eq!(mapped(&part), expected, "{known} in the table");
        }
    }

    #[test]
    fn many_features_of_few_values_are_made_and_others_are_read() {
        let map = FourierMap::new(2000, 1.0, 0).unwrap();
        assert!(is_cheaper(&map, 22, 13.0));
        assert!(!is_cheaper(&map, 784, 784.0));
        assert!(!is_cheaper(&map, 1 << 20, 13.0));
        assert!(!is_cheaper(&map, u64::MAX, 13.0));
    }
}
