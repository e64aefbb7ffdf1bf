//! The targets of a row behind its first one, where it has several numbers to predict.

/// Numbers of all rows, those of one row side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ExtraTargets {
    per_row: usize,
    numbers: Vec<f64>,
}

impl ExtraTargets {
    /// No rows yet; so many numbers for each.
    pub fn new(per_row: usize) -> Self {
        ExtraTargets { per_row, numbers: Vec::new() }
    }

    pub fn of(&self, row: usize) -> &[f64] {
        &self.numbers[row * self.per_row..][..self.per_row]
    }

    pub fn reserve(&mut self, rows: usize) {
        self.numbers.reserve_exact(rows * self.per_row);
    }

    pub fn push(&mut self, numbers: &[f64]) {
        self.numbers.extend_from_slice(numbers);
    }

    /// Whether there are numbers for just so many rows.
    pub fn is_for(&self, rows: usize) -> bool {
        self.numbers.len() == rows * self.per_row
    }

    /// The row at `to` becomes the one at `from`.
    pub fn copy(&mut self, from: usize, to: usize) {
        self.numbers.copy_within(from * self.per_row..(from + 1) * self.per_row, to * self.per_row);
    }

    pub fn truncate(&mut self, rows: usize) {
        self.numbers.truncate(rows * self.per_row);
    }

    /// The number at this place of each row.
    pub fn list(&self, place: usize) -> impl Iterator<Item = f64> + '_ {
        self.numbers.iter().skip(place).step_by(self.per_row.max(1)).copied()
    }

    /// Appends rows whose numbers come place by place: all of the first place, then all of the second.
    pub fn extend_by_place(&mut self, rows: usize, numbers: &[f64]) {
        for row in 0..rows {
            self.numbers.extend((0..self.per_row).map(|place| numbers[place * rows + row]));
        }
    }
}
