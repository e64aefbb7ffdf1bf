//! How good a w is that came without dual variables.
//!
//! Any feasible dual point bounds the optimum from below, and the slopes at w make one: `β_i = -s c_i L'(y_i, z_i)` for any s in [0, 1]. At s = 1
//! the gap is `½‖w - Σ β_i x_i‖²`, half the squared gradient of F, by Fenchel–Young; smaller s help where w is far from the optimum, and
//! s = 0 gives the bound 0, since no loss is negative. One scan tries all of them.
use crate::block::Row;
use crate::loss::Loss;
use crate::trainer::Certificate;

/// The s that are tried.
const SHARES: [f64; 12] = [1.0, 0.998, 0.99, 0.97, 0.92, 0.84, 0.7, 0.5, 0.3, 0.1, 0.03, 0.0];

/// A scan over all rows at a fixed w.
pub struct SlopeScan<'a> {
    w: &'a [f64],
    v: &'a mut [f64],
    bias: f64,
    losses: f64,
    dual_values: [f64; SHARES.len()],
    support: u64,
}

impl<'a> SlopeScan<'a> {
    /// Begins a scan at `w`; `v` becomes Σ βx. Both have a last entry for the bias.
    pub fn new(w: &'a [f64], v: &'a mut [f64], bias: f64) -> Self {
        v.fill(0.0);
        SlopeScan { w, v, bias, losses: 0.0, dual_values: [0.0; SHARES.len()], support: 0 }
    }

    /// Adds a row.
    #[inline]
    pub fn add<L: Loss>(&mut self, loss: L, row: Row, y: f64, c: f64) {
        let last = self.w.len() - 1;
        let z = row.dot(self.w) + self.bias * self.w[last];
        self.losses += c * loss.value(y, z);
        let (low, high) = loss.dual_bounds(y, c);
        let beta = (-c * loss.slope(y, z)).clamp(low, high);
        for (sum, share) in self.dual_values.iter_mut().zip(SHARES) {
            *sum += loss.dual_value(y, share * beta, c);
        }
        if beta != 0.0 {
            row.add_to(self.v, beta);
            self.v[last] += beta * self.bias;
            self.support += 1;
        }
    }

    /// The certificate: F at w, and the best of the bounds.
    pub fn finish(self) -> Certificate {
        let sq_norm = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>();
        let v = sq_norm(self.v);
        let bounds = self.dual_values.iter().zip(SHARES).map(|(values, share)| values - 0.5 * share * share * v);
        Certificate {
            objective: 0.5 * sq_norm(self.w) + self.losses,
            dual_objective: bounds.fold(0.0, f64::max),
            multiple: 1.0,
            support: self.support,
            radius: None,
        }
    }
}
