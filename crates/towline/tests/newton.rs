//! Newton steps reach the certified optimum of every smooth loss, in memory and by scans.
mod labelled;

use labelled::{COLUMNS, loss, memory_store, objective, rows as make_rows};
use towline::budget::Budget;
use towline::loss::{ALL, Loss};
use towline::newton::{self, NewtonError};
use towline::trainer::{Status, TrainOptions, train};

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
            let newton = newton::train(whole.clone(), &exact, &Budget::unlimited(), &mut ()).unwrap();
            let name = format!("{} C={c}", loss.name());
            assert_eq!((dual.status, newton.status), (Status::Converged, Status::Converged), "{name}");
            let (a, b) = (dual.certificate.objective, newton.certificate.objective);
            assert!((a - b).abs() <= 1e-9 * a, "{name}: {a} and {b}");
            // The certificate, from the definitions.
            let value = |w: &[f64]| {
                let losses = rows.iter().map(|row| {
                    let (y, c) = objective.row(&row.0);
                    c * loss.value(y, labelled::margin(row, w, &objective))
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
    let options = TrainOptions { tolerance: 1e-8, ..TrainOptions::new(objective(loss("logistic"), 1.0, 1.0, None)) };
    let inside = newton::train(store.clone(), &options, &Budget::unlimited(), &mut ()).unwrap();
    let budget = Budget::new(160_000);
    let scanned = newton::train(store, &options, &budget, &mut ()).unwrap();
    assert!(budget.peak_bytes() <= 160_000 && scanned.cost.passes > 3 && inside.cost.passes == 1);
    assert_eq!(inside.weights, scanned.weights);
}

#[test]
fn what_newton_cannot_do_is_refused() {
    let hinge = objective(loss("hinge"), 1.0, 0.0, None);
    assert!(matches!(newton::can_train(&hinge), Err(NewtonError::Loss(_))));
    let mut intercept = objective(loss("logistic"), 1.0, 1.0, None);
    assert_eq!(newton::can_train(&intercept), Ok(()));
    intercept.intercept = true;
    assert_eq!(newton::can_train(&intercept), Err(NewtonError::Penalty));
}
