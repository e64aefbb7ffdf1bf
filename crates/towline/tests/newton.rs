//! Newton steps reach the certified optimum of every smooth loss, in memory and by scans.

use crate::labelled::{COLUMNS, loss, memory_store, objective, rows as make_rows};
use towline::budget::Budget;
use towline::loss::{ALL, Loss};
use towline::objective::Objective;
use towline::penalty::{AnyPenalty, L1};
use towline::second_order::{NewtonError, can_use_newton};
use towline::trainer::{Status, TrainOptions, train, train_by_newton};

#[test]
fn newton_agrees_with_dual_coordinate_descent() {
    let rows = make_rows(300, 0.1, 1);
    let whole = memory_store(&rows, 1);
    for &loss in ALL.iter().filter(|loss| loss.curvature().is_finite()) {
        for c in [0.1, 10.0] {
            let objective = objective(loss, c, 0.5, None);
            let exact =
                TrainOptions { tolerance: 1e-10, max_passes: 1_000_000, ..TrainOptions::new(objective.clone()) };
            let dual = train(whole.clone(), &exact, &Budget::unlimited(), &mut ()).unwrap();
            let newton = train_by_newton(whole.clone(), &exact, &Budget::unlimited(), &mut ()).unwrap();
            let name = format!("{} C={c}", loss.name());
            assert_eq!((dual.status, newton.status), (Status::Converged, Status::Converged), "{name}");
            let (a, b) = (dual.certificate.objective, newton.certificate.objective);
            assert!((a - b).abs() <= 1e-9 * a, "{name}: {a} and {b}");
            // The certificate, from the definitions.
            let value = |w: &[f64]| {
                let losses = rows.iter().map(|row| {
                    let (y, c) = objective.row(&row.0);
                    c * loss.value(y, crate::labelled::margin(row, w, &objective))
                });
                0.5 * w.iter().map(|w| w * w).sum::<f64>() + losses.sum::<f64>()
            };
            assert!((value(&newton.weights) - b).abs() <= 1e-12 * b, "{name}");
            let duals = newton.duals.values().unwrap();
            let mut v = [0.0; COLUMNS + 1];
            let mut bound = 0.0;
            for (row, &beta) in rows.iter().zip(&duals) {
                let (y, c) = objective.row(&row.0);
                row.1.iter().for_each(|&(j, x)| v[j as usize] += beta * x);
                v[COLUMNS] += beta * objective.bias;
                bound += loss.dual_value(y, beta, c);
            }
            bound -= 0.5 * v.iter().map(|v| v * v).sum::<f64>();
            let claimed = newton.certificate.dual_objective;
            assert!((bound - claimed).abs() <= 1e-9 * b, "{name}: {bound} and {claimed}");
        }
    }
}

#[test]
fn scans_do_the_same_as_memory() {
    let rows = make_rows(3000, 0.1, 2);
    let store = memory_store(&rows, 30);
    let options = TrainOptions { tolerance: 1e-11, ..TrainOptions::new(objective(loss("logistic"), 1.0, 1.0, None)) };
    let inside = train_by_newton(store.clone(), &options, &Budget::unlimited(), &mut ()).unwrap();
    let budget = Budget::new(160_000);
    let scanned = train_by_newton(store, &options, &budget, &mut ()).unwrap();
    assert!(budget.peak_bytes() <= 160_000 && scanned.cost.passes > 3 && inside.cost.passes == 1);
    let (a, b) = (inside.certificate.objective, scanned.certificate.objective);
    assert_eq!((inside.status, scanned.status), (Status::Converged, Status::Converged));
    assert!((a - b).abs() <= 2e-11 * a, "{a} and {b}");
    // They begin with other samples of the rows.
    let largest = inside.weights.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
    let off = inside.weights.iter().zip(&scanned.weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off <= 1e-5 * largest, "{off} of {largest}");
}

#[test]
fn what_newton_cannot_do_is_refused() {
    let hinge = objective(loss("hinge"), 1.0, 0.0, None);
    assert!(matches!(can_use_newton(&hinge), Err(NewtonError::Loss(_))));
    let mut intercept = objective(loss("logistic"), 1.0, 1.0, None);
    assert_eq!(can_use_newton(&intercept), Ok(()));
    intercept.intercept = true;
    assert_eq!(can_use_newton(&intercept), Ok(()));
    let sparse = Objective { penalty: AnyPenalty::L1(L1 { lambda: 1.0 }), ..intercept };
    assert_eq!(can_use_newton(&sparse), Err(NewtonError::Penalty));
}
