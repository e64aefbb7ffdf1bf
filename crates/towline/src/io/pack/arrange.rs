//! Rows as they were read become rows as they are stored: renumbered, scaled, sorted by column.
use crate::block::{Block, Layout, Row, RowInfo, ValueKind};
use crate::budget::Reservation;
use crate::input::libsvm::Precision;
use crate::store::features::Scaling;
use crate::store::manifest::Scale;

use super::labels::RowStatistics;
use super::select::DROPPED;
use crate::prefetch::prefetch;

/// How many values ahead the column of a feature is asked for.
const LOOK_AHEAD: usize = 24;

/// How to store rows: the same for all of them.
pub struct Arrangement {
    /// Column of each feature id; empty where rows have columns already.
    pub columns: Vec<u32>,
    /// Whether some features have no column.
    pub drops: bool,
    /// Columns in all.
    pub column_count: usize,
    /// How columns are scaled.
    pub scaling: ColumnScaling,
    /// What 0 becomes, for the columns where that is not 0, in column order.
    pub fill: Vec<(u32, f64)>,
    /// Numbers that may be absent, in column order.
    pub absent: Vec<AbsentNumber>,
    /// Whether rows are scaled to unit length.
    pub scale: Scale,
    /// How values are kept.
    pub precision: Precision,
    /// Targets of a row.
    pub targets: u32,
    /// What the scaling of n-grams takes.
    pub paid: Option<Reservation>,
}

/// How columns are scaled.
pub enum ColumnScaling {
    /// Not at all.
    None,
    /// Each by itself.
    All(Vec<Scaling>),
    /// Each by itself, and values have been scaled already.
    Done,
    /// Numbers of a table in column order, and n-grams of text by what they are multiplied by; the latter by column, or
    /// none.
    Table { numbers: Vec<(u32, Scaling)>, texts: Vec<f32> },
}

impl ColumnScaling {
    /// How a column is scaled, if that is known.
    pub fn of(&self, column: u32) -> Option<Scaling> {
        match self {
            ColumnScaling::None | ColumnScaling::Done => None,
            ColumnScaling::All(all) => all.get(column as usize).copied(),
            ColumnScaling::Table { numbers, texts } => {
                let found = numbers.binary_search_by_key(&column, |&(column, _)| column);
                let factor = || texts.get(column as usize).map_or(1.0, |&factor| f64::from(factor));
                Some(found.map_or_else(|_| Scaling { shift: 0.0, factor: factor() }, |at| numbers[at].1))
            }
        }
    }

    /// Whether some are.
    pub fn is_some(&self) -> bool {
        !matches!(self, ColumnScaling::None)
    }
}

/// A number that is absent in rows that have a mark.
#[derive(Clone, Copy, Debug)]
pub struct AbsentNumber {
    /// Its column.
    pub column: u32,
    /// The column of the mark.
    pub mark: u32,
    /// What stands for it.
    pub value: f64,
}

/// Buffers for arranging rows, kept between rows.
#[derive(Default)]
pub struct Arranger {
    /// Column in the upper half, and in the lower one the value, if it is a 32-bit float, or else its place in
    /// `values`.
    pairs: Vec<u64>,
    other: Vec<u64>,
    values: Vec<f64>,
    entries: Vec<(u32, f64)>,
}

impl Arranger {
    /// What the buffers take for a row of this many values.
    pub fn most_bytes(values: u64) -> u64 {
        values * (8 + 8 + 8 + 16)
    }
}

impl Arrangement {
    /// How rows lie in memory on the way into the store.
    pub fn layout(precision: Precision) -> Layout {
        let values = if precision == Precision::F32 { ValueKind::F32 } else { ValueKind::F64 };
        Layout::new(false, values)
    }

    /// Appends `row` to `block` as it is to be stored.
    pub fn push(
        &self,
        info: RowInfo,
        row: Row,
        arranger: &mut Arranger,
        block: &mut Block,
        statistics: &mut RowStatistics,
    ) {
        let Arranger { pairs, other, values, entries } = arranger;
        let small = self.precision == Precision::F32;
        pairs.clear();
        values.clear();
        // Long rows are paid for exactly.
        pairs.reserve_exact(row.len());
        if small {
            row.for_each(|id, value| pairs.push(u64::from(id) << 32 | u64::from((value as f32).to_bits())));
        } else {
            values.reserve_exact(row.len());
            row.for_each(|id, value| {
                pairs.push(u64::from(id) << 32 | values.len() as u64);
                values.push(value);
            });
        }
        self.renumber(pairs);
        sort_by_column(pairs, other, self.column_count);
        let column_of = |pair: u64| (pair >> 32) as u32;
        let value_of =
            |pair: u64| if small { f64::from(f32::from_bits(pair as u32)) } else { values[pair as u32 as usize] };
        if self.scale != Scale::Rows && !self.scaling.is_some() && self.absent.is_empty() {
            let columns = pairs.iter().map(|&pair| column_of(pair));
            statistics.add(pairs.len() as u64, sq_norm(pairs.iter().map(|&pair| value_of(pair))));
            block.push_arrays(info, columns, pairs.iter().map(|&pair| value_of(pair)));
            return;
        }
        entries.clear();
        entries.reserve_exact(row.len());
        entries.extend(pairs.iter().map(|&pair| (column_of(pair), value_of(pair))));
        self.rescale(entries);
        statistics.add(entries.len() as u64, sq_norm(entries.iter().map(|&(_, value)| value)));
        block.push(info, entries.iter().copied());
    }

    /// Puts the column of each feature in the place of its id.
    fn renumber(&self, pairs: &mut Vec<u64>) {
        if self.columns.is_empty() {
            return;
        }
        for k in 0..pairs.len() {
            if let Some(&coming) = pairs.get(k + LOOK_AHEAD) {
                prefetch(&self.columns, (coming >> 32) as usize);
            }
            let column = self.columns[(pairs[k] >> 32) as usize];
            pairs[k] = u64::from(column) << 32 | pairs[k] & u64::from(u32::MAX);
        }
        if self.drops {
            pairs.retain(|&pair| (pair >> 32) as u32 != DROPPED);
        }
    }

    /// Values that a row may have beyond those that came.
    pub fn filled(&self) -> usize {
        self.fill.len() + self.absent.len()
    }

    /// Values that row `i` of `source` has at most when it is stored.
    pub fn stored_len(&self, source: &Block, i: usize) -> usize {
        if !self.drops {
            return source.row_len(i) + self.filled();
        }
        let mut kept = 0;
        source.row(i).for_each(|id, _| kept += usize::from(self.columns[id as usize] != DROPPED));
        kept + self.filled()
    }

    fn rescale(&self, entries: &mut Vec<(u32, f64)>) {
        let came = entries.len();
        for &AbsentNumber { column, mark, value } in &self.absent {
            let has = |column: u32| entries[..came].binary_search_by_key(&column, |entry| entry.0).is_ok();
            if has(mark) && !has(column) {
                entries.push((column, value));
            }
        }
        if entries.len() > came {
            entries.sort_unstable_by_key(|&(column, _)| column);
        }
        if self.scaling.is_some() {
            self.scale_columns(entries);
        }
        if self.scale == Scale::Rows {
            let norm = length(entries);
            if norm > 0.0 {
                entries.iter_mut().for_each(|(_, v)| *v /= norm);
            }
        }
        entries.iter_mut().for_each(|(_, v)| *v = self.precision.round(*v));
        entries.retain(|&(_, v)| v != 0.0);
    }

    fn scale_columns(&self, entries: &mut Vec<(u32, f64)>) {
        for (column, value) in entries.iter_mut() {
            *value = self.scaling.of(*column).unwrap_or(Scaling::NONE).apply(*value);
        }
        let came = entries.len();
        let mut at = 0;
        for &(column, value) in &self.fill {
            while at < came && entries[at].0 < column {
                at += 1;
            }
            if at == came || entries[at].0 != column {
                entries.push((column, value));
            }
        }
        if entries.len() > came {
            entries.sort_unstable_by_key(|&(column, _)| column);
        }
    }
}

fn sq_norm(values: impl Iterator<Item = f64>) -> f64 {
    // Not `sum`, which makes -0 of nothing.
    values.fold(0.0, |sum, v| sum + v * v)
}

/// `√Σ v²`, also where the squares of doubles overflow or vanish.
fn length(entries: &[(u32, f64)]) -> f64 {
    let sum_of_squares = |unit: f64| entries.iter().map(|&(_, v)| (v / unit) * (v / unit)).sum::<f64>();
    let plain = sum_of_squares(1.0);
    if plain.is_normal() {
        return plain.sqrt();
    }
    let largest = entries.iter().fold(0.0f64, |largest, &(_, v)| largest.max(v.abs()));
    if largest > 0.0 { sum_of_squares(largest).sqrt() * largest } else { 0.0 }
}

/// Rows shorter than this are sorted by comparison: a pass of counting would cost more than the row.
const SHORT_ROW: usize = 96;
const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Sorts pairs by their upper half, which is below `columns`: least significant digit first, only as many digits as
/// needed.
fn sort_by_column(pairs: &mut Vec<u64>, other: &mut Vec<u64>, columns: usize) {
    if pairs.len() < SHORT_ROW {
        pairs.sort_unstable();
        return;
    }
    let bits = usize::BITS - columns.saturating_sub(1).leading_zeros();
    let passes = bits.div_ceil(DIGIT_BITS) as usize;
    let digit = |pair: u64, pass: usize| (pair >> (32 + DIGIT_BITS as usize * pass)) as usize % DIGITS;
    let mut starts = [[0u32; DIGITS]; 4];
    for &pair in pairs.iter() {
        (0..passes).for_each(|pass| starts[pass][digit(pair, pass)] += 1);
    }
    other.resize(pairs.len(), 0);
    for (pass, starts) in starts.iter_mut().enumerate().take(passes) {
        let mut sum = 0;
        for start in starts.iter_mut() {
            (*start, sum) = (sum, sum + *start);
        }
        for &pair in pairs.iter() {
            let place = &mut starts[digit(pair, pass)];
            other[*place as usize] = pair;
            *place += 1;
        }
        std::mem::swap(pairs, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_of_extreme_rows() {
        for unit in [1.0, 1e300, 1e-300, 5e-324] {
            assert_eq!(length(&[(0, 3.0 * unit), (7, -4.0 * unit)]), 5.0 * unit, "{unit:e}");
        }
        assert_eq!(length(&[]), 0.0);
    }

    proptest! {
        #[test]
        fn both_sorts_agree(columns in 1usize..5_000_000, n in 0usize..1000, seed: u64) {
            let mut pairs: Vec<u64> = (0..n as u64)
                .map(|k| (k.wrapping_mul(seed | 1) >> 7) % columns as u64)
                .enumerate()
                .map(|(k, column)| column << 32 | k as u64)
                .collect();
            let mut expected = pairs.clone();
            expected.sort_unstable();
            sort_by_column(&mut pairs, &mut Vec::new(), columns);
            prop_assert_eq!(pairs, expected);
        }
    }
}
