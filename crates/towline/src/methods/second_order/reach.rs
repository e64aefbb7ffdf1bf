//! How far w may go before a row bends.
//!
//! A step d changes the margin of a row by at most `‖d‖_H ‖x‖_{H⁻¹}` (Cauchy and Schwarz), so a row whose kinks are
//! `|t - sz|` away stays on its straight piece while `‖d‖_H < |t - sz| / ‖x‖_{H⁻¹}`, its reach. H is the curvature that
//! the losses have around w, as rows near their kinks tell. With it the scale of columns cancels out, and the rows of a
//! rare column, which is free to move far, are near.
use super::factor::Factor;
use super::gram::Gram;
use super::scanning::Rows;
use crate::block::Row;
use crate::engine::TrainError;
use crate::loss::PiecewiseLinear;

/// The part of all weight whose rows make up the curvature: those nearest to their kinks.
const NEAR_PART: f64 = 0.1;
/// At least this many rows for each weight.
const ROWS_PER_WEIGHT: usize = 10;
/// Rows are not nearer to a kink than this.
const NEAREST: f64 = 1e-6;

/// H, and what it says of rows.
pub struct Metric {
    /// H without the ridge.
    gram: Gram,
    ridge: Vec<f64>,
    /// `H⁻¹ = Σ uuᵀ`: what a column has of each u, one column after the other.
    roots: Vec<f64>,
    /// `u·x` of the row at hand.
    products: Vec<f64>,
}

/// How far a row is from the nearest of its kinks.
pub fn to_kink<L: PiecewiseLinear>(loss: L, y: f64, z: f64) -> f64 {
    let distance = |k: usize| {
        let (s, t) = loss.term(y, k);
        (t / s - z).abs()
    };
    (0..L::TERMS).map(distance).fold(f64::INFINITY, f64::min)
}

impl Metric {
    /// Bytes of memory for this many weights.
    pub fn bytes(size: u64) -> u64 {
        Gram::bytes(size) + Factor::bytes(size) + 8 * size * (size + 2)
    }

    /// Bytes for each row in memory, while H is found.
    pub const ROW_BYTES: u64 = 16;

    /// H is the ridge alone; rows have about `len` values.
    pub fn new(ridge: &[f64], len: f64) -> Metric {
        let (size, ridge) = (ridge.len(), ridge.to_vec());
        Metric { gram: Gram::new(size, len), ridge, roots: vec![0.0; size * size], products: vec![0.0; size] }
    }

    /// Finds H at w, from rows in memory and what the others add, `far`.
    pub fn find<L: PiecewiseLinear, R: Rows>(
        &mut self,
        loss: L,
        (w, bias): (&[f64], f64),
        rows: &mut R,
        far: Option<&Gram>,
    ) -> Result<(), TrainError> {
        let (size, last) = (w.len(), w.len() - 1);
        let mut distances = Vec::with_capacity(rows.most());
        rows.scan(|_, row, y, c| distances.push((to_kink(loss, y, row.dot(w) + bias * w[last]), c)))?;
        let radius = nearest(distances, ROWS_PER_WEIGHT * size);
        let gram = &mut self.gram;
        gram.clear();
        if let Some(far) = far {
            gram.lower_mut().copy_from_slice(far.lower());
        }
        rows.scan(|_, row, y, c| {
            if to_kink(loss, y, row.dot(w) + bias * w[last]) <= radius {
                // Slopes change by c over this width, seen from both sides.
                gram.add(row, &[bias], c / (2.0 * radius));
            }
        })?;
        gram.flush();
        let mut factor = Factor::new(size);
        factor.find(gram, &self.ridge, rows.watch())?;
        factor.inverse_roots(&mut self.roots);
        Ok(())
    }

    /// `‖x‖_{H⁻¹}` of a row with the constant feature `bias`.
    pub fn length(&mut self, row: Row, bias: f64) -> f64 {
        let Metric { roots, products, .. } = self;
        let size = products.len();
        products.fill(0.0);
        let mut add = |j: usize, x: f64| {
            // L⁻¹ is a lower triangle.
            let column = &roots[j * size..][j..size];
            products[j..].iter_mut().zip(column).for_each(|(sum, u)| *sum += x * u);
        };
        row.for_each(|j, x| add(j as usize, x));
        add(size - 1, bias);
        products.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// `‖a - b‖_H`.
    pub fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let step: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let mut along = vec![0.0; step.len()];
        self.gram.product(&self.ridge, &step, &mut along);
        along.iter().zip(&step).map(|(a, s)| a * s).sum::<f64>().max(0.0).sqrt()
    }
}

/// The distance within which the rows are that make up the curvature.
fn nearest(mut distances: Vec<(f64, f64)>, least: usize) -> f64 {
    distances.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let enough = NEAR_PART * distances.iter().map(|(_, c)| c).sum::<f64>();
    let mut sum = 0.0;
    let is_within = |&(i, &(_, c)): &(usize, &(f64, f64))| {
        let before = sum;
        sum += c;
        before < enough || i < least
    };
    let within = distances.iter().enumerate().take_while(is_within).last();
    within.map_or(NEAREST, |(_, (distance, _))| distance.max(NEAREST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, Layout, RowInfo, ValueKind};
    use crate::engine::Watch;
    use crate::loss::Hinge;
    use crate::second_order::rows::Subset;
    use crate::second_order::scanning::Scanning;
    use crate::stop::Stop;
    use proptest::prelude::*;

    proptest! {
        /// A step that is shorter than the reach of a row leaves it on its piece, whatever the scale of columns.
        #[test]
        fn rows_within_reach_stay_on_their_piece(
            values in proptest::collection::vec(proptest::collection::vec(-2.0..2.0f64, 3), 20..60),
            step in proptest::collection::vec(-1.0..1.0f64, 4),
            scale in -4i32..4,
        ) {
            let mut block = Block::new(Layout::new(true, ValueKind::F64), 3);
            let scales = [10f64.powi(scale), 1.0, 10f64.powi(-scale)];
            for (i, row) in values.iter().enumerate() {
                let info = RowInfo { label: if i % 2 == 0 { 1.0 } else { -1.0 }, weight: 1.0, group: 0, id: i as u64 };
                block.push(info, row.iter().zip(scales).enumerate().map(|(j, (x, s))| (j as u32, x * s)));
            }
            let known: Vec<(u32, f64, f64)> = (0..block.rows()).map(|i| (i as u32, block.labels()[i], 1.0)).collect();
            let mut rows = Subset::new(&block, &known, Scanning::new(&Watch::new(&Stop::default(), None), 1));
            let w = [0.1 / scales[0], -0.2, 0.3 / scales[2], 0.1];
            let mut metric = Metric::new(&[1.0; 4], 4.0);
            metric.find(Hinge, (&w, 1.0), &mut rows, None).unwrap();
            let mut other = w;
            other.iter_mut().zip(&step).zip([1.0 / scales[0], 1.0, 1.0 / scales[2], 1.0]).for_each(|((w, d), s)| *w += d * s);
            let far = metric.distance(&other, &w);
            for &(i, y, _) in &known {
                let row = block.row(i as usize);
                let at = |w: &[f64; 4]| row.dot(w) + w[3];
                let reach = to_kink(Hinge, y, at(&w)) / metric.length(row, 1.0);
                if far < 0.999 * reach {
                    prop_assert_eq!(y * at(&w) < 1.0, y * at(&other) < 1.0);
                }
            }
        }
    }
}
