//! How good a w is that came without dual variables.
//!
//! Any feasible dual point bounds the optimum from below, and the slopes at w make one: `β_i = -s c_i L'(y_i, z_i)` for
//! any s in [0, 1] for which R*(sv) is finite, v = Σ βx. For R = ½‖w‖² the gap at s = 1 is `½‖w - v‖²`, half the
//! squared gradient of F, by Fenchel–Young; smaller s help where w is far from the optimum, and s = 0 gives the bound
//! 0, since no loss is negative. One scan tries a dozen of them, and others between: the sum of the dual values is
//! concave in s, so it lies above its chords. An intercept asks for Σβ = 0, which scaling one sign reaches.
use crate::block::Row;
use crate::engine::{Certificate, Cost, Pass, SupportCount, TrainError};
use crate::loss::Loss;
use crate::objective::Objective;
use crate::penalty::Penalty;

/// The s that are tried.
const SHARES: [f64; 12] = [1.0, 0.998, 0.99, 0.97, 0.92, 0.84, 0.7, 0.5, 0.3, 0.1, 0.03, 0.0];

/// The certificate of `w`, by one scan with two vectors of scratch.
pub fn certify<L: Loss>(
    pass: &mut Pass,
    loss: L,
    objective: &Objective,
    (w, [below, above]): (&[f64], &mut [Vec<f64>; 2]),
    cost: &mut Cost,
) -> Result<Certificate, TrainError> {
    cost.certifying(|cost| {
        let mut scan = SlopeScan::new(objective, w, [below, above]);
        pass.scan(cost, |block, _| {
            for i in 0..block.rows() {
                let (y, c) = objective.row(&block.info(i));
                if c > 0.0 {
                    scan.add(loss, block.row(i), y, c);
                }
            }
            Ok(())
        })?;
        Ok(scan.finish())
    })
}

/// A scan over all rows at a fixed w.
pub struct SlopeScan<'a> {
    objective: &'a Objective,
    w: &'a [f64],
    /// Σ βx over the rows with negative and with positive β.
    v: [&'a mut [f64]; 2],
    /// The same for |β|.
    masses: [f64; 2],
    dual_values: [[f64; SHARES.len()]; 2],
    losses: f64,
    support: SupportCount,
}

impl<'a> SlopeScan<'a> {
    /// Begins a scan at `w`; the two of `v` are scratch. All have a last entry for the constant feature.
    pub fn new(objective: &'a Objective, w: &'a [f64], v: [&'a mut [f64]; 2]) -> Self {
        let mut scan = SlopeScan {
            objective,
            w,
            v,
            masses: [0.0; 2],
            dual_values: Default::default(),
            losses: 0.0,
            support: SupportCount::default(),
        };
        scan.v.iter_mut().for_each(|v| v.fill(0.0));
        scan
    }

    /// Adds a row.
    #[inline]
    pub fn add<L: Loss>(&mut self, loss: L, row: Row, y: f64, c: f64) {
        let (last, bias) = (self.w.len() - 1, self.objective.bias);
        let z = row.dot(self.w) + bias * self.w[last];
        self.losses += c * loss.value(y, z);
        let (low, high) = loss.dual_bounds(y, c);
        let beta = (-c * loss.slope(y, z)).clamp(low, high);
        let side = usize::from(beta > 0.0);
        for (sum, share) in self.dual_values[side].iter_mut().zip(SHARES) {
            *sum += loss.dual_value(y, share * beta, c);
        }
        if beta != 0.0 {
            row.add_to(self.v[side], beta);
            self.v[side][last] += beta * bias;
            self.masses[side] += beta.abs();
        }
        self.support.add(beta, c);
    }

    /// The certificate: F at w, and the best of the bounds.
    pub fn finish(self) -> Certificate {
        let SlopeScan { objective, w, v: [v, other], masses, dual_values, losses, support } = self;
        let penalised = w.len() - usize::from(objective.intercept);
        let less = masses[0].min(masses[1]);
        let balance = masses.map(|mass| if objective.intercept && mass > less { less / mass } else { 1.0 });
        v.iter_mut().zip(other).for_each(|(v, other)| *v = balance[0] * *v + balance[1] * *other);
        let v = &v[..penalised];
        let bound = |share: f64| {
            let values: f64 = dual_values.iter().zip(balance).map(|(values, part)| chord(values, part * share)).sum();
            values - objective.penalty.conjugate(v, share)
        };
        let shares = SHARES.into_iter().chain(objective.penalty.dual_scales(v));
        Certificate {
            objective: objective.penalty.value(&w[..penalised]) + losses,
            // A bound that is not finite is none; 0 is always one.
            dual_objective: shares.map(bound).filter(|bound| bound.is_finite()).fold(0.0, f64::max),
            multiple: 1.0,
            support: support.count(),
            ..Certificate::default()
        }
    }
}

/// A concave function at `share`, from below, by its values at [`SHARES`].
fn chord(values: &[f64; SHARES.len()], share: f64) -> f64 {
    let above = SHARES.iter().rposition(|&known| known >= share).unwrap_or(0);
    let below = (above + 1).min(SHARES.len() - 1);
    let width = SHARES[above] - SHARES[below];
    let part = if width > 0.0 { (share - SHARES[below]) / width } else { 1.0 };
    part * values[above] + (1.0 - part) * values[below]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chords_lie_below_a_concave_function_and_touch_it() {
        let concave = |s: f64| s - 0.7 * s * s;
        let values = SHARES.map(concave);
        for share in SHARES {
            assert!((chord(&values, share) - concave(share)).abs() < 1e-15);
        }
        for share in (0..=1000).map(|k| f64::from(k) / 1000.0) {
            let found = chord(&values, share);
            assert!(found <= concave(share) + 1e-15 && found >= concave(share) - 0.01, "{share}");
        }
    }
}
