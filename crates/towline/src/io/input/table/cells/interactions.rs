//! Products of the features of two columns.
//!
//! The features of a row are known by their names: `age` is the number of column `age`, `city=Rome` a level of `city`. A
//! cell that is absent has no products, whatever stands for it: its mark, `age=`, tells.
use super::RowWriter;
use super::mistakes::CellError;
use crate::input::table::plan::Interactions;

/// Which of the multiplied columns a feature belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    None,
    /// A number or a level of the column with this place.
    Cell(usize),
    /// What marks that its cell is absent.
    Mark(usize),
}

/// What is kept between rows of a batch.
#[derive(Default)]
pub(super) struct Products {
    /// Of each feature of the batch that has been met.
    parts: Vec<Part>,
    /// Of each column the feature and value in this row.
    cells: Vec<Option<(u32, f64)>>,
    absent: Vec<bool>,
    name: Vec<u8>,
}

fn part_of(name: &[u8], interactions: &Interactions) -> Part {
    for (place, column) in interactions.columns.iter().enumerate() {
        match name.strip_prefix(column.as_bytes()) {
            Some(b"") => return Part::Cell(place),
            Some(b"=") => return Part::Mark(place),
            Some([b'=', ..]) => return Part::Cell(place),
            _ => {}
        }
    }
    Part::None
}

impl RowWriter<'_> {
    /// Adds the products of the row that ends here.
    pub(super) fn multiply(&mut self) -> Result<(), CellError> {
        let plan = self.plan;
        let interactions = &plan.interactions;
        if interactions.pairs.is_empty() {
            return Ok(());
        }
        let mut products = std::mem::take(&mut self.products);
        let result = self.multiply_into(interactions, &mut products);
        self.products = products;
        result
    }

    fn multiply_into(&mut self, interactions: &Interactions, products: &mut Products) -> Result<(), CellError> {
        let Products { parts, cells, absent, name } = products;
        cells.clear();
        cells.resize(interactions.columns.len(), None);
        absent.clear();
        absent.resize(interactions.columns.len(), false);
        let first = self.batch.ends.last().copied().unwrap_or(0);
        for at in first..self.batch.values.len() {
            let key = self.batch.keys[at] as usize;
            for next in parts.len()..=key {
                parts.push(part_of(self.batch.names.get(next), interactions));
            }
            match parts[key] {
                Part::None => {}
                Part::Cell(place) => cells[place] = Some((key as u32, self.batch.values[at])),
                Part::Mark(place) => absent[place] = true,
            }
        }
        for &(a, b, slot) in &interactions.pairs {
            let (Some((left, x)), Some((right, y))) = (cells[a], cells[b]) else { continue };
            if absent[a] || absent[b] {
                continue;
            }
            let key = match slot {
                Some(slot) => self.keys[slot],
                None => {
                    name.clear();
                    name.extend_from_slice(self.batch.names.get(left as usize));
                    name.push(b'*');
                    name.extend_from_slice(self.batch.names.get(right as usize));
                    self.batch.names.intern(name)
                }
            };
            self.value(key, &interactions.columns[a], x * y)?;
        }
        Ok(())
    }
}
