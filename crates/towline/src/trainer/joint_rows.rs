//! What a joint model keeps of its resident rows, and room for the one at hand.
use crate::residents;

/// Its resident rows.
#[derive(Default)]
pub struct Rows {
    /// Weight and squared norm, the bias included.
    pub states: Vec<(f64, f64)>,
    /// Dual variables, one per output.
    pub duals: Vec<f64>,
    /// What margins should be.
    pub targets: Vec<f64>,
}

impl Rows {
    /// What the margins of row `i` should be.
    pub fn target(&self, i: usize, width: usize) -> &[f64] {
        &self.targets[i * width..][..width]
    }

    /// Keeps the rows that are marked; each has so many dual variables, and so many numbers as its target.
    pub fn retain(&mut self, width: usize, target_width: usize, keep: &[bool]) {
        residents::retain(&mut self.states, keep);
        retain_each(&mut self.duals, width, keep);
        retain_each(&mut self.targets, target_width, keep);
    }
}

/// Keeps the numbers of the rows that are marked, each of which has as many.
fn retain_each(numbers: &mut Vec<f64>, width: usize, keep: &[bool]) {
    let mut at = 0;
    numbers.retain(|_| {
        at += 1;
        keep[(at - 1) / width]
    });
}

/// Scratch for one row.
pub struct Room {
    pub margins: Vec<f64>,
    pub products: Vec<f64>,
    pub duals: Vec<f64>,
    pub other: Vec<f64>,
    pub steps: Vec<(u32, f64)>,
    pub target: Vec<f64>,
}

impl Room {
    pub fn new(width: usize) -> Self {
        let numbers = || vec![0.0; width];
        let (steps, target) = (Vec::with_capacity(width), Vec::with_capacity(width));
        Room { margins: numbers(), products: numbers(), duals: numbers(), other: numbers(), steps, target }
    }
}
