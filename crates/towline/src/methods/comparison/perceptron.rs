//! The averaged perceptron.
//!
//! A row on the wrong side is added to w: `w ← w + y x` if `y w·x ≤ 0` (Rosenblatt 1958). The model is the average of w
//! over all visits (Freund & Schapire, "Large margin classification using the perceptron algorithm", 1999), which is
//! what keeps it from wavering where the classes overlap. A row of weight 2 is added twice. C scales every update alike
//! and so changes no prediction.
use super::Online;
use super::averaged::Averaged;
use crate::block::Row;

/// The state of the perceptron.
pub struct Perceptron {
    w: Averaged,
}

impl Perceptron {
    /// Begins at 0.
    pub fn new(columns: usize, bias: f64) -> Self {
        Perceptron { w: Averaged::new(columns, bias, 0) }
    }
}

impl Online for Perceptron {
    #[inline]
    fn learn(&mut self, row: Row, y: f64, c: f64) {
        if y * self.w.dot(row) <= 0.0 {
            self.w.add(row, c * y);
        }
        self.w.end_step();
    }

    fn write(&self, w: &mut [f64]) {
        self.w.write(w);
    }
}
