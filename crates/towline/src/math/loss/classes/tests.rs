use proptest::prelude::*;

use super::*;
use crate::loss::joint::{JointLoss, OfClass};

/// What a step maximises, as a minimum: ½q‖β' - β‖² + z·(β' - β) - dual value.
fn cost<M: ClassLoss>(loss: M, row: ClassRow, margins: &[f64], before: &[f64], after: &[f64]) -> f64 {
    let moved = before.iter().zip(after).zip(margins);
    let quadratic: f64 = moved.map(|((b, a), z)| 0.5 * row.sq_norm * (a - b) * (a - b) + z * (a - b)).sum();
    quadratic - loss.dual_value(row.class as usize, after, row.c)
}

fn rows() -> impl Strategy<Value = (ClassRow, Vec<f64>, Vec<f64>)> {
    (2usize..6, 0.01f64..50.0, 0.0f64..20.0).prop_flat_map(|(k, c, sq_norm)| {
        let row = (0..k as u32).prop_map(move |class| ClassRow { class, c, sq_norm });
        let numbers = |low, high| proptest::collection::vec(low..high, k);
        (row, numbers(-8.0, 8.0), numbers(-1.0, 0.2)).prop_map(|(row, margins, mut duals)| {
            duals.iter_mut().for_each(|beta| *beta *= row.c);
            make_feasible(row.class as usize, &mut duals, row.c);
            (row, margins, duals)
        })
    })
}

fn assert_feasible(row: ClassRow, duals: &[f64]) {
    let sum: f64 = duals.iter().sum();
    assert!(sum.abs() <= 1e-9 * row.c, "{sum}");
    for (m, &beta) in duals.iter().enumerate() {
        let bound = if m == row.class as usize { row.c } else { 0.0 };
        assert!(beta <= bound && beta >= -row.c * (1.0 + 1e-9), "{duals:?}");
    }
}

fn check_step<M: ClassLoss>(loss: M, row: ClassRow, margins: &[f64], duals: &[f64], other: &[f64]) {
    let (mut after, mut room) = (duals.to_vec(), vec![0.0; duals.len()]);
    loss.dual_step(row, margins, &mut after, &mut room);
    assert_feasible(row, &after);
    let best = cost(loss, row, margins, duals, &after);
    // No point between the solution and any other feasible one is better.
    for share in [1e-4, 1e-2, 0.1, 0.5, 1.0] {
        let between: Vec<f64> = after.iter().zip(other).map(|(a, o)| a + share * (o - a)).collect();
        let found = cost(loss, row, margins, duals, &between);
        assert!(best <= found + 1e-9 * (1.0 + best.abs() + row.c), "{best} {found} {share} {after:?} {between:?}");
    }
}

proptest! {
    #[test]
    fn steps_are_the_best_of_the_row((row, margins, duals) in rows(), other in proptest::collection::vec(-1.0f64..0.2, 5)) {
        let mut other: Vec<f64> = other[..duals.len().min(5)].iter().map(|x| x * row.c).collect();
        make_feasible(row.class as usize, &mut other, row.c);
        check_step(CrammerSinger, row, &margins, &duals, &other);
        check_step(Softmax, row, &margins, &duals, &other);
    }

    /// Fenchel–Young: cL(z) + cL*(-β/c) + β·z is never negative, and 0 for a step of a row without length at fixed
    /// margins.
    #[test]
    fn the_gap_of_a_row_is_never_negative((row, margins, duals) in rows()) {
        fn raw<M: ClassLoss>(loss: M, row: ClassRow, margins: &[f64], duals: &[f64]) -> f64 {
            let products: f64 = margins.iter().zip(duals).map(|(z, beta)| z * beta).sum();
            let class = row.class as usize;
            row.c * loss.value(class, margins) - loss.dual_value(class, duals, row.c) + products
        }
        prop_assert!(raw(CrammerSinger, row, &margins, &duals) >= -1e-9 * row.c);
        prop_assert!(raw(Softmax, row, &margins, &duals) >= -1e-9 * row.c);
        // With next to no curvature a step goes where the gap at these margins is 0.
        let flat = ClassRow { sq_norm: 1e-9 / row.c, ..row };
        let (mut after, mut room) = (duals.clone(), vec![0.0; duals.len()]);
        Softmax.dual_step(flat, &margins, &mut after, &mut room);
        prop_assert!(OfClass(Softmax).gap(&[f64::from(row.class)], &margins, &after, row.c) <= 1e-6 * row.c);
        let mut after = duals.clone();
        CrammerSinger.dual_step(flat, &margins, &mut after, &mut room);
        prop_assert!(OfClass(CrammerSinger).gap(&[f64::from(row.class)], &margins, &after, row.c) <= 1e-5 * row.c);
    }

    /// A corner holds while no margin moves by more than the slack.
    #[test]
    fn slack_is_how_far_margins_may_move((row, margins, _) in rows(), corner in 0usize..5, moves in proptest::collection::vec(-1.0f64..1.0, 5)) {
        let class = row.class as usize;
        let corner = corner % margins.len();
        let mut duals = vec![0.0; margins.len()];
        if corner != class {
            (duals[class], duals[corner]) = (row.c, -row.c);
        }
        let slack = CrammerSinger.slack(class, &margins, &duals, row.c);
        if slack > 0.0 {
            let moved: Vec<f64> = margins.iter().zip(&moves).map(|(z, x)| z + 0.999 * slack * x).collect();
            let (mut after, mut room) = (duals.clone(), vec![0.0; duals.len()]);
            CrammerSinger.dual_step(ClassRow { sq_norm: row.sq_norm + 0.1, ..row }, &moved, &mut after, &mut room);
            for (a, b) in after.iter().zip(&duals) {
                prop_assert!((a - b).abs() <= 1e-9 * row.c, "{after:?} {duals:?}");
            }
        }
    }
}

#[test]
fn two_classes_of_softmax_are_the_logistic_loss() {
    for z in [-30.0, -1.0, 0.0, 0.3, 40.0f64] {
        let value = Softmax.value(1, &[0.0, z]);
        assert!((value - (-z).exp().ln_1p()).abs() <= 1e-14 * (1.0 + value), "{z}");
    }
}
