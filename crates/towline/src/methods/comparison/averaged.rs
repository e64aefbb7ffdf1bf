//! A weight vector that can be multiplied and averaged at the cost of the row that changes it.
//!
//! `w = scale · u`, so that shrinking w is one multiplication. The sum of all w so far needs no vector of its own
//! either (Xu 2011, "Towards optimal one pass large scale learning with averaged stochastic gradient descent", section
//! 4.2): where step j adds Δ_j to u and P_k is the sum of the scales up to step k,
//! ```text
//! Σ_k w_k = Σ_k scale_k · u_k = P_T · u_T - lag        lag = Σ_j P_{j-1} Δ_j
//! ```
use crate::block::Row;

/// Below this the scale goes into u. `P · u - lag` loses as many digits as the scale has shrunk by since the last time:
/// six of sixteen.
const LEAST_SCALE: f64 = 1e-6;

/// w, and the average of what it has been.
#[derive(Clone)]
pub struct Averaged {
    u: Vec<f64>,
    lag: Vec<f64>,
    scale: f64,
    /// P.
    scales: f64,
    bias: f64,
    /// Steps seen; those after the first `begin` are averaged.
    steps: u64,
    begin: u64,
    /// Whether step t counts t times as much as the first.
    growing: bool,
    /// What all steps of the average count.
    counted: f64,
}

impl Averaged {
    /// w = 0 for `columns` columns and a constant feature `bias`; the average leaves out the first `begin` steps.
    pub fn new(columns: usize, bias: f64, begin: u64) -> Self {
        let zeros = || vec![0.0; columns + 1];
        let (growing, counted) = (false, 0.0);
        Averaged { u: zeros(), lag: zeros(), scale: 1.0, scales: 0.0, bias, steps: 0, begin, growing, counted }
    }

    /// The same for steps without an end that is known: step t counts t times as much as the first, so that the average
    /// follows w (Shamir & Zhang, "Stochastic gradient descent for non-smooth optimization", ICML 2013, section 4).
    pub fn growing(columns: usize, bias: f64) -> Self {
        Averaged { growing: true, ..Averaged::new(columns, bias, 0) }
    }

    /// The same with the sign of every weight turned.
    pub fn turn(&mut self) {
        self.u.iter_mut().chain(&mut self.lag).for_each(|x| *x = -*x);
    }

    /// More columns have come; the constant feature stays the last one.
    pub fn grow(&mut self, columns: usize) {
        for vector in [&mut self.u, &mut self.lag] {
            if let Some(constant) = vector.pop() {
                vector.resize(columns, 0.0);
                vector.push(constant);
            }
        }
    }

    /// Back to 0 and to the first step.
    pub fn clear(&mut self) {
        self.u.fill(0.0);
        self.lag.fill(0.0);
        (self.scale, self.scales, self.steps, self.counted) = (1.0, 0.0, 0, 0.0);
    }

    /// ‖w‖².
    pub fn sq_norm(&self) -> f64 {
        self.u.iter().map(|u| (self.scale * u).powi(2)).sum()
    }

    /// w·x.
    #[inline]
    pub fn dot(&self, row: Row) -> f64 {
        self.scale * (row.dot(&self.u) + self.bias * self.u[self.u.len() - 1])
    }

    /// w ← w + step·x.
    #[inline]
    pub fn add(&mut self, row: Row, step: f64) {
        let (step, last) = (step / self.scale, self.u.len() - 1);
        row.add_to(&mut self.u, step);
        self.u[last] += step * self.bias;
        if self.scales > 0.0 {
            row.add_to(&mut self.lag, step * self.scales);
            self.lag[last] += step * self.scales * self.bias;
        }
    }

    /// w ← factor·w, for a factor above 0.
    #[inline]
    pub fn multiply(&mut self, factor: f64) {
        self.scale *= factor;
        if self.scale < LEAST_SCALE {
            // The sum so far goes into the lag, and P begins anew: dividing P instead would overflow after a few times.
            for (u, lag) in self.u.iter_mut().zip(&mut self.lag) {
                *lag -= self.scales * *u;
                *u *= self.scale;
            }
            (self.scale, self.scales) = (1.0, 0.0);
        }
    }

    /// A step is done: w as it is now has its part in the average.
    #[inline]
    pub fn end_step(&mut self) {
        self.steps += 1;
        if self.steps > self.begin {
            let counts = if self.growing { self.steps as f64 } else { 1.0 };
            self.scales += counts * self.scale;
            self.counted += counts;
        }
    }

    /// The average, or w itself as long as there is none.
    pub fn write(&self, into: &mut [f64]) {
        if self.steps > self.begin {
            for ((into, u), lag) in into.iter_mut().zip(&self.u).zip(&self.lag) {
                *into = (self.scales * u - lag) / self.counted;
            }
        } else {
            into.iter_mut().zip(&self.u).for_each(|(into, u)| *into = self.scale * u);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, Layout, RowInfo};

    #[test]
    fn the_average_is_that_of_all_vectors_kept() {
        let mut rows = Block::new(Layout::SPARSE_F32, 3);
        let info = RowInfo { label: 1.0, weight: 1.0, group: 0, id: 0 };
        rows.push(info, [(0, 1.0), (2, -2.0)]);
        rows.push(info, [(1, 3.0)]);
        for (begin, growing) in [(0, false), (7, false), (100, false), (0, true)] {
            let mut fast = if growing { Averaged::growing(3, 0.5) } else { Averaged::new(3, 0.5, begin) };
            let (mut w, mut sum, mut counted) = ([0.0; 4], [0.0; 4], 0.0);
            for step in 0..40u64 {
                // Strong enough that the scale is folded into u several times.
                let factor = if step % 3 == 0 { 1e-30 } else { 0.9 };
                fast.multiply(factor);
                w.iter_mut().for_each(|w| *w *= factor);
                let row = rows.row((step % 2) as usize);
                let mut extended = [0.0, 0.0, 0.0, 0.5];
                row.for_each(|column, value| extended[column as usize] = value);
                let z: f64 = extended.iter().zip(&w).map(|(x, w)| x * w).sum();
                assert!((fast.dot(row) - z).abs() <= 1e-12 * (1.0 + z.abs()));
                let size = 1.0 + step as f64;
                fast.add(row, size);
                w.iter_mut().zip(extended).for_each(|(w, x)| *w += size * x);
                fast.end_step();
                if step >= begin {
                    let counts = if growing { 1.0 + step as f64 } else { 1.0 };
                    counted += counts;
                    sum.iter_mut().zip(w).for_each(|(sum, w)| *sum += counts * w);
                }
            }
            let mut found = [0.0; 4];
            fast.write(&mut found);
            let wanted = if begin < 40 { sum.map(|sum| sum / counted) } else { w };
            for (found, wanted) in found.iter().zip(wanted) {
                assert!((found - wanted).abs() <= 1e-9 * wanted.abs(), "{begin}: {found} {wanted}");
            }
        }
    }
}
