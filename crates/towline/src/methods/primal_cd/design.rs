//! The rows in memory by column, with the constant feature behind them.
use crate::block::{Block, Layout, Row};

/// Columns of resident rows; the last one is the constant feature.
#[derive(Clone, Copy)]
pub struct Design<'a> {
    columns: &'a Block,
    bias: f64,
}

impl<'a> Design<'a> {
    /// `columns` is a block of rows by column; `bias` the value of the constant feature, 0 for none.
    pub fn new(columns: &'a Block, bias: f64) -> Self {
        Design { columns, bias }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.columns.columns()
    }

    /// How the columns lie in memory.
    pub fn layout(&self) -> Layout {
        self.columns.layout()
    }

    /// The number of the constant feature: there are as many columns before it.
    pub fn constant(&self) -> usize {
        self.columns.rows()
    }

    fn column(&self, j: usize) -> Option<Row<'a>> {
        (j < self.columns.rows()).then(|| self.columns.row(j))
    }

    /// Values of column `j`.
    pub fn len(&self, j: usize) -> usize {
        match j < self.columns.rows() {
            true => self.columns.row_len(j),
            false if self.bias == 0.0 => 0,
            false => self.rows(),
        }
    }

    /// Values in all.
    pub fn values(&self) -> usize {
        self.columns.values() + self.len(self.constant())
    }

    /// `Σ_i x_ij r_i`.
    #[inline]
    pub fn dot(&self, j: usize, r: &[f64]) -> f64 {
        match self.column(j) {
            Some(column) => column.dot(r),
            None if self.bias == 0.0 => 0.0,
            None => self.bias * r.iter().sum::<f64>(),
        }
    }

    /// `z_i ← z_i + scale · x_ij`.
    pub fn add_to(&self, j: usize, z: &mut [f64], scale: f64) {
        match self.column(j) {
            Some(column) => column.add_to(z, scale),
            None if self.bias == 0.0 => {}
            None => z.iter_mut().for_each(|z| *z += scale * self.bias),
        }
    }

    /// `r_i ← r_i + scale · h_i x_ij`.
    #[inline]
    pub fn add_weighted_to(&self, j: usize, r: &mut [f64], h: &[f64], scale: f64) {
        match self.column(j) {
            Some(column) => column.add_weighted_to(r, h, scale),
            None if self.bias == 0.0 => {}
            None => r.iter_mut().zip(h).for_each(|(r, h)| *r += scale * self.bias * h),
        }
    }

    /// `Σ_i h_i x_ij²`.
    pub fn curvature(&self, j: usize, h: &[f64]) -> f64 {
        match self.column(j) {
            Some(column) => column.weighted_sq_norm(h),
            None => self.bias * self.bias * h.iter().sum::<f64>(),
        }
    }

    /// Appends column `j` to `to`: the rows that have a place, each there and times its factor.
    pub fn push_scaled(&self, j: usize, to: &mut Block, places: &[u32], factors: &[f64]) {
        match self.column(j) {
            Some(column) => to.push_scaled(column, places, factors),
            None => to.push_scaled(Row::dense(&vec![self.bias; self.rows()]), places, factors),
        }
    }

    /// Brings the beginning of column `j` closer to the processor.
    #[inline]
    pub fn prefetch(&self, j: usize) {
        if j < self.columns.rows() {
            self.columns.prefetch(j);
        }
    }

    /// `z ← Xw`, from the columns whose weight is not 0.
    pub fn margins(&self, w: &[f64], z: &mut [f64]) {
        z.fill(0.0);
        for (j, &w) in w.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            self.add_to(j, z, w);
        }
    }
}
