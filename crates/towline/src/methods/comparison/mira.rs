//! MIRA for two classes: the passive-aggressive update with a capped step.
//!
//! w moves as little as puts the row at margin 1, but by no more than C (Crammer, Dekel, Keshet, Shalev-Shwartz &
//! Singer, "Online passive-aggressive algorithms", JMLR 2006, PA-I, Figure 1):
//! `w ← w + min(c, max(0, 1 - y w·x) / ‖x‖²) y x`. It is the dual step of the hinge loss for a row that has forgotten
//! its dual variable, which is how it is computed. The model is the average over all visits.
use super::Online;
use super::averaged::Averaged;
use crate::block::Row;
use crate::loss::{Hinge, Loss};

/// The state of MIRA.
pub struct Mira {
    w: Averaged,
    bias: f64,
}

impl Mira {
    /// Begins at 0.
    pub fn new(columns: usize, bias: f64) -> Self {
        Mira { w: Averaged::new(columns, bias, 0), bias }
    }
}

impl Online for Mira {
    #[inline]
    fn learn(&mut self, row: Row, y: f64, c: f64) {
        let z = self.w.dot(row);
        if y * z < 1.0 {
            let sq_norm = row.sq_norm() + self.bias * self.bias;
            let step = Hinge.dual_step(y, z, 0.0, sq_norm, c);
            self.w.add(row, step);
        }
        self.w.end_step();
    }

    fn write(&self, w: &mut [f64]) {
        self.w.write(w);
    }
}
