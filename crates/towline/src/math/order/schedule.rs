//! The visits of one sweep, laid out beforehand.

/// Rows in the order of their visits, and how far the sweep is.
#[derive(Default)]
pub struct Schedule {
    rows: Vec<u32>,
    at: usize,
}

impl Schedule {
    /// Begins anew; the visits are for the caller to lay out.
    pub fn begin(&mut self) -> &mut Vec<u32> {
        self.at = 0;
        self.rows.clear();
        &mut self.rows
    }

    /// The next visit, or `None` at the end of the sweep.
    #[inline]
    pub fn next(&mut self) -> Option<usize> {
        let row = self.rows.get(self.at).copied();
        self.at += 1;
        row.map(|row| row as usize)
    }
}
