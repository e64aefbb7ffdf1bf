//! Rows of which some columns are left out, and the others scaled.
use super::{Block, Row, Values};

impl Block {
    /// Appends a row without what is known of it besides its values: those whose column has a place below
    /// [`Block::columns`], there and times the factor of the column. In a dense block every place has its column, in
    /// order.
    ///
    /// # Panics
    /// If the block does not hold floats, or if there are fewer places or factors than the row has columns.
    pub(crate) fn push_scaled(&mut self, row: Row, places: &[u32], factors: &[f64]) {
        let (columns, dense) = (self.columns, self.layout.dense);
        let scaled = Scaled { row, columns, places, factors };
        let indices = (!dense).then(|| self.indices.own());
        let end = match &mut self.values {
            Values::F32(values) => scaled.append(indices, values.own(), |x| x as f32),
            Values::F64(values) => scaled.append(indices, values.own(), |x| x),
            Values::Ones | Values::PerRow(_) => unreachable!("scaled values are floats"),
        };
        assert!(!dense || end == columns * (self.ends.len() + 1), "a dense row holds every column");
        self.ends.push(end);
    }
}

struct Scaled<'a> {
    row: Row<'a>,
    columns: usize,
    places: &'a [u32],
    factors: &'a [f64],
}

impl Scaled<'_> {
    /// Returns where the row ends. Whether a value stays is as good as chance: all are written, and the next one over
    /// those that do not.
    fn append<T: Copy + Default>(
        &self,
        indices: Option<&mut Vec<u32>>,
        values: &mut Vec<T>,
        narrow: impl Fn(f64) -> T,
    ) -> usize {
        let Scaled { row, columns, places, factors } = self;
        let mut end = values.len();
        values.resize(end + row.len(), T::default());
        let stays = |place: u32| usize::from((place as usize) < *columns);
        match indices {
            Some(indices) => {
                indices.resize(values.len(), 0);
                row.for_each(|j, x| {
                    let place = places[j as usize];
                    (indices[end], values[end]) = (place, narrow(x * factors[j as usize]));
                    end += stays(place);
                });
                indices.truncate(end);
            }
            None => row.for_each(|j, x| {
                values[end] = narrow(x * factors[j as usize]);
                end += stays(places[j as usize]);
            }),
        }
        values.truncate(end);
        end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::block::{Block, Layout, Row, RowInfo, ValueKind};

    proptest! {
        #[test]
        fn what_has_a_place_is_there_and_scaled(
            rows in proptest::collection::vec(proptest::collection::btree_map(0u32..7, 1i8..4, 0..7), 1..9),
            factors in proptest::collection::vec(1u8..9, 7),
            stay in proptest::collection::vec(any::<bool>(), 7),
            kind in 0usize..2,
        ) {
            let values = [ValueKind::F32, ValueKind::F64][kind];
            let factors: Vec<f64> = factors.iter().map(|&factor| f64::from(factor) / 8.0).collect();
            let mut next = 0;
            let places: Vec<u32> = stay.iter().map(|&stays| if stays { next += 1; next - 1 } else { u32::MAX }).collect();
            let mut block = Block::new(Layout::new(false, values), 7);
            let mut scaled = Block::new(Layout::new(false, values), next as usize);
            let mut dense = Block::new(Layout::new(true, values), next as usize);
            for row in &rows {
                let info = RowInfo { label: 1.0, weight: 1.0, group: 0, id: 0 };
                block.push(info, row.iter().map(|(&j, &x)| (j, f64::from(x))));
                scaled.push_scaled(block.row(block.rows() - 1), &places, &factors);
                let all: Vec<f64> = (0..7).map(|j| f64::from(row.get(&j).copied().unwrap_or(0))).collect();
                dense.push_scaled(Row::dense(&all), &places, &factors);
            }
            for (i, row) in rows.iter().enumerate() {
                let wanted: Vec<(u32, f64)> = row.iter().filter(|(j, _)| stay[**j as usize])
                    .map(|(&j, &x)| (places[j as usize], f64::from(x) * factors[j as usize])).collect();
                prop_assert_eq!(scaled.row(i).iter().collect::<Vec<_>>(), wanted.clone());
                prop_assert_eq!(dense.row(i).iter().filter(|(_, x)| *x != 0.0).collect::<Vec<_>>(), wanted);
                prop_assert_eq!(dense.row(i).len(), next as usize);
            }
        }
    }
}
