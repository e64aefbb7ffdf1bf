//! Losses of several margins at once, as the trainer of joint models sees them: of a class among many, or of several
//! numbers.
use super::classes::{self, ClassLoss, ClassRow};

/// A convex loss of one margin per output, with its dual: see [`super::classes`] for the two sides.
///
/// A target is a list of numbers: that of a class alone, or one for each output.
pub trait JointLoss: Copy + Send + Sync + 'static {
    /// Whether dual variables are c(e_y - p) for a point p of the simplex; else any numbers are.
    const IS_SIMPLEX: bool;

    /// Numbers that make up a target, where there are this many outputs.
    fn target_width(&self, outputs: usize) -> usize;

    /// L(y, z).
    fn value(&self, target: &[f64], margins: &[f64]) -> f64;

    /// -cL*(-β/c), for dual variables within their bounds.
    fn dual_value(&self, target: &[f64], duals: &[f64], c: f64) -> f64;

    /// Replaces the dual variables by those that maximise the dual over one row, see [`ClassLoss::dual_step`];
    /// `curvature` is ‖x‖² for the penalty ½‖w‖².
    fn dual_step(&self, row: JointRow, margins: &[f64], duals: &mut [f64], room: &mut [f64]);

    /// How far margins may move before the dual variables would leave their corner; 0 if they are in none.
    fn slack(&self, target: &[f64], margins: &[f64], duals: &[f64], c: f64) -> f64;

    /// The margin as a part of the one from which on the row costs nothing; -∞ for a loss that has no such margin.
    fn clearance(&self, target: &[f64], margins: &[f64]) -> f64 {
        let _ = (target, margins);
        f64::NEG_INFINITY
    }

    /// The largest curvature: that of L along any direction is at most this.
    fn curvature(&self) -> f64;

    /// Dual variables that are feasible stay as they are, to the bit; others are brought into the domain.
    fn bring_in(&self, target: &[f64], duals: &mut [f64], c: f64);

    /// The row's share of the duality gap, cL(y, z) + cL*(-β/c) + β·z.
    fn gap(&self, target: &[f64], margins: &[f64], duals: &[f64], c: f64) -> f64 {
        let products: f64 = margins.iter().zip(duals).map(|(z, beta)| z * beta).sum();
        (c * self.value(target, margins) - self.dual_value(target, duals, c) + products).max(0.0)
    }
}

/// What a step needs of a row besides its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointRow<'a> {
    /// What its margins should be.
    pub target: &'a [f64],
    /// The weight of its loss.
    pub c: f64,
    /// How steeply margins follow dual variables: ‖x‖², the bias included, for the penalty ½‖w‖².
    pub curvature: f64,
}

/// A loss that knows the class of a row by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfClass<M>(pub M);

impl<M: ClassLoss> JointLoss for OfClass<M> {
    const IS_SIMPLEX: bool = true;

    fn target_width(&self, _outputs: usize) -> usize {
        1
    }

    fn value(&self, target: &[f64], margins: &[f64]) -> f64 {
        self.0.value(target[0] as usize, margins)
    }

    fn dual_value(&self, target: &[f64], duals: &[f64], c: f64) -> f64 {
        self.0.dual_value(target[0] as usize, duals, c)
    }

    fn dual_step(&self, row: JointRow, margins: &[f64], duals: &mut [f64], room: &mut [f64]) {
        let row = ClassRow { class: row.target[0] as u32, c: row.c, sq_norm: row.curvature };
        self.0.dual_step(row, margins, duals, room);
    }

    fn slack(&self, target: &[f64], margins: &[f64], duals: &[f64], c: f64) -> f64 {
        self.0.slack(target[0] as usize, margins, duals, c)
    }

    fn clearance(&self, target: &[f64], margins: &[f64]) -> f64 {
        self.0.clearance(target[0] as usize, margins)
    }

    fn curvature(&self) -> f64 {
        self.0.curvature()
    }

    fn bring_in(&self, target: &[f64], duals: &mut [f64], c: f64) {
        let class = target[0] as usize;
        let sum: f64 = duals.iter().sum();
        let others = duals.iter().enumerate().all(|(m, &beta)| m == class || beta <= 0.0);
        if !others || duals[class] > c || duals[class] < 0.0 || sum.abs() > 1e-12 * c {
            classes::make_feasible(class, duals, c);
        }
    }
}

/// ½‖z - y‖², for several numbers to predict: -cL*(-β/c) = β·y - ‖β‖²/(2c).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SquaredTargets;

impl JointLoss for SquaredTargets {
    const IS_SIMPLEX: bool = false;

    fn target_width(&self, outputs: usize) -> usize {
        outputs
    }

    fn value(&self, target: &[f64], margins: &[f64]) -> f64 {
        0.5 * target.iter().zip(margins).map(|(y, z)| (z - y) * (z - y)).sum::<f64>()
    }

    fn dual_value(&self, target: &[f64], duals: &[f64], c: f64) -> f64 {
        target.iter().zip(duals).map(|(y, beta)| beta * (y - 0.5 * beta / c)).sum()
    }

    /// Each output for itself: the slope y - z - β/c over the curvature q + 1/c.
    fn dual_step(&self, row: JointRow, margins: &[f64], duals: &mut [f64], _room: &mut [f64]) {
        let factor = 1.0 / (1.0 + row.c * row.curvature);
        for (beta, (y, z)) in duals.iter_mut().zip(row.target.iter().zip(margins)) {
            *beta += (row.c * (y - z) - *beta) * factor;
        }
    }

    fn slack(&self, _target: &[f64], _margins: &[f64], _duals: &[f64], _c: f64) -> f64 {
        0.0
    }

    fn curvature(&self) -> f64 {
        1.0
    }

    fn bring_in(&self, _target: &[f64], _duals: &mut [f64], _c: f64) {}

    /// ‖c(z - y) + β‖²/(2c), which keeps its digits where the sum cancels.
    fn gap(&self, target: &[f64], margins: &[f64], duals: &[f64], c: f64) -> f64 {
        let terms = target.iter().zip(margins).zip(duals);
        terms.map(|((y, z), beta)| (c * (z - y) + beta).powi(2)).sum::<f64>() / (2.0 * c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(-5.0..5.0f64, 3)
    }

    proptest! {
        #[test]
        fn several_numbers_are_as_many_squared_losses(y in numbers(), z in numbers(), duals in numbers(), other in numbers(), c in 0.1..10.0f64, q in 0.0..9.0f64) {
            let raw = c * SquaredTargets.value(&y, &z) - SquaredTargets.dual_value(&y, &duals, c)
                + z.iter().zip(&duals).map(|(z, b)| z * b).sum::<f64>();
            prop_assert!(raw >= -1e-9);
            prop_assert!((raw - SquaredTargets.gap(&y, &z, &duals, c)).abs() < 1e-9 * (1.0 + raw));
            // What a step maximises, as a minimum.
            let cost = |after: &[f64]| {
                let moved = duals.iter().zip(after).zip(&z);
                let quadratic: f64 = moved.map(|((b, a), z)| 0.5 * q * (a - b) * (a - b) + z * (a - b)).sum();
                quadratic - SquaredTargets.dual_value(&y, after, c)
            };
            let mut after = duals.clone();
            SquaredTargets.dual_step(JointRow { target: &y, c, curvature: q }, &z, &mut after, &mut []);
            for share in [1e-3, 0.1, 1.0] {
                let between: Vec<f64> = after.iter().zip(&other).map(|(a, o)| a + share * (o - a)).collect();
                prop_assert!(cost(&after) <= cost(&between) + 1e-9);
            }
        }
    }
}
