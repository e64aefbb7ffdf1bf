//! Dual variables of several outputs that add up to 0 for each of them, as an unpenalised intercept asks for.
//!
//! With r_m = Σ_i β_im and N = Σ_i c_i, `β'_i = (1 - t)β_i + t c_i e_y - c_i g` adds up to 0 for
//! `g_m = (t P_m + r_m)/N`, where P_m = N_m - r_m and N_m is what the rows of class m weigh. For numbers t = 0 will do.
//! For classes β_i = c_i(e_y - p_i) with p_i in the simplex, which p' = (1 - t)p_i + g is too if no g_m is negative: t
//! is the least for which that holds. It falls to 0 with r.
use crate::loss::joint::JointLoss;

/// How dual variables are balanced.
#[derive(Clone, Debug, PartialEq)]
pub struct Balance {
    /// t.
    mixed: f64,
    /// g.
    less: Vec<f64>,
}

impl Balance {
    /// For dual variables with these sums, of rows with these weights: of each class, or of all rows for each output.
    /// None if there is no such t.
    pub fn new<M: JointLoss>(sums: &[f64], weights: &[f64]) -> Option<Balance> {
        let total: f64 = if M::IS_SIMPLEX { weights.iter().sum() } else { weights[0] };
        let pairs = || sums.iter().zip(weights);
        let needed = |(sum, weight): (&f64, &f64)| if *sum < 0.0 { -sum / (weight - sum) } else { 0.0 };
        let mixed = if M::IS_SIMPLEX { pairs().map(needed).fold(0.0, f64::max) } else { 0.0 };
        let less = pairs().map(|(sum, weight)| (mixed * (weight - sum) + sum) / total).collect();
        (total > 0.0 && mixed < 1.0).then_some(Balance { mixed, less })
    }

    /// Balances the dual variables of a row.
    pub fn apply<M: JointLoss>(&self, target: &[f64], c: f64, duals: &mut [f64]) {
        duals.iter_mut().zip(&self.less).for_each(|(beta, less)| *beta = (1.0 - self.mixed) * *beta - c * less);
        if M::IS_SIMPLEX {
            duals[target[0] as usize] += self.mixed * c;
        }
    }
}

/// Adds what a row weighs to the sums that [`Balance::new`] asks for.
pub fn weigh<M: JointLoss>(target: &[f64], c: f64, weights: &mut [f64]) {
    if M::IS_SIMPLEX {
        weights[target[0] as usize] += c;
    } else {
        weights.iter_mut().for_each(|sum| *sum += c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::classes::{Softmax, make_feasible};
    use crate::loss::joint::{OfClass, SquaredTargets};
    use proptest::prelude::*;

    type Rows = Vec<(usize, f64, Vec<f64>)>;

    fn rows() -> impl Strategy<Value = Rows> {
        let row = (0usize..3, 0.1..2.0f64, proptest::collection::vec(-0.9..0.1f64, 3));
        proptest::collection::vec(row, 3..20)
    }

    /// Balances all rows, if that is possible.
    fn balanced<M: JointLoss>(rows: &Rows) -> Option<Rows> {
        let (mut sums, mut weights) = (vec![0.0; 3], vec![0.0; 3]);
        for (class, c, duals) in rows {
            sums.iter_mut().zip(duals).for_each(|(sum, beta)| *sum += beta);
            weigh::<M>(&[*class as f64], *c, &mut weights);
        }
        let balance = Balance::new::<M>(&sums, &weights)?;
        let mut rows = rows.clone();
        rows.iter_mut().for_each(|(class, c, duals)| balance.apply::<M>(&[*class as f64], *c, duals));
        for m in 0..3 {
            assert!(rows.iter().map(|row| row.2[m]).sum::<f64>().abs() < 1e-9);
        }
        Some(rows)
    }

    proptest! {
        #[test]
        fn sums_are_0_and_classes_stay_in_the_simplex(mut rows in rows()) {
            prop_assert!(balanced::<SquaredTargets>(&rows).is_some());
            rows.iter_mut().for_each(|(class, c, duals)| make_feasible(*class, duals, *c));
            for (class, c, duals) in balanced::<OfClass<Softmax>>(&rows).into_iter().flatten() {
                prop_assert!(duals.iter().sum::<f64>().abs() < 1e-9);
                for (m, beta) in duals.iter().enumerate() {
                    let p = f64::from(m == class) - beta / c;
                    prop_assert!((-1e-12..=1.0 + 1e-12).contains(&p), "{p}");
                }
            }
        }
    }
}
