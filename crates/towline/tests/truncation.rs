//! Truncated losses: the objective never rises, the end is a stationary point, and it is that of brute force.
mod labelled;

use std::sync::Arc;

use labelled::{PlainRow, loss, margin, memory_store, objective, rows as make_rows};
use towline::budget::Budget;
use towline::loss::Loss;
use towline::newton;
use towline::objective::Objective;
use towline::store::BlockStore;
use towline::trainer::{Observer, Status, Step, TrainOptions, Trained, train};
use towline::truncation::{self, Beginning, ConvexTrainer};

const BEGINNING: Beginning = Beginning { rows: 60, shuffled: true };
const S: f64 = 0.5;

/// F_s from its definition.
fn truncated(rows: &[PlainRow], w: &[f64], objective: &Objective) -> f64 {
    let losses = rows.iter().map(|row| {
        let (y, c) = objective.row(&row.0);
        c * objective.loss.value(y, margin(row, w, objective)).min(1.0 + S)
    });
    0.5 * w.iter().map(|w| w * w).sum::<f64>() + losses.sum::<f64>()
}

/// Rows under the ceiling, by the loss itself.
fn inside(rows: &[PlainRow], w: &[f64], objective: &Objective) -> Vec<PlainRow> {
    let is_in = |row: &&PlainRow| {
        let (y, _) = objective.row(&row.0);
        objective.loss.value(y, margin(row, w, objective)) <= 1.0 + S
    };
    rows.iter().filter(is_in).cloned().collect()
}

#[derive(Default)]
struct Falls {
    objectives: Vec<f64>,
    weights: Vec<Vec<f64>>,
}

impl Observer for Falls {
    fn step(&mut self, _step: &Step, _weights: &[f64]) {}

    fn problem_solved(&mut self, objective: f64, weights: &[f64]) {
        self.objectives.push(objective);
        self.weights.push(weights.to_vec());
    }
}

fn solve(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    convex: ConvexTrainer,
    budget: &Budget,
) -> (Trained, Falls) {
    let mut falls = Falls::default();
    let trained = truncation::train(store, options, (BEGINNING, convex), budget, &mut falls).unwrap();
    (trained, falls)
}

#[test]
fn the_objective_never_rises_and_the_end_is_stationary() {
    let rows = make_rows(400, 0.15, 3);
    for name in ["hinge", "squared-hinge", "logistic"] {
        let trainers: &[ConvexTrainer] = if name == "hinge" { &[train] } else { &[train, newton::train] };
        for &convex in trainers {
            for blocks in [1, 10] {
                let objective = objective(loss(name), 1.0, 0.5, Some(S));
                let options =
                    TrainOptions { tolerance: 1e-9, max_passes: 1_000_000, ..TrainOptions::new(objective.clone()) };
                let budget = if blocks == 1 { Budget::unlimited() } else { Budget::new(60_000) };
                let (trained, falls) = solve(memory_store(&rows, blocks), &options, convex, &budget);
                assert_eq!(trained.status, Status::Converged, "{name}");
                assert!(falls.objectives.len() > 1, "{name}: one problem is no series");
                for (said, w) in falls.objectives.iter().zip(&falls.weights) {
                    let found = truncated(&rows, w, &objective);
                    assert!((said - found).abs() <= 1e-9 * found, "{name}: {said} and {found}");
                }
                assert!(falls.objectives.is_sorted_by(|a, b| b <= a), "{name}: {:?}", falls.objectives);
                // The convex model of all rows under the ceiling is the model itself.
                let few = inside(&rows, &trained.weights, &objective);
                assert!(few.len() < rows.len() - 20, "{name}: hardly an outlier");
                let convex_options = TrainOptions {
                    tolerance: 1e-11,
                    max_passes: 1_000_000,
                    ..TrainOptions::new(Objective { truncate: None, ..objective.clone() })
                };
                let again = train(memory_store(&few, 1), &convex_options, &Budget::unlimited(), &mut ()).unwrap();
                let distance =
                    again.weights.iter().zip(&trained.weights).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                let length = again.weights.iter().map(|w| w * w).sum::<f64>().sqrt();
                assert!(distance <= 1e-3 * length, "{name}: {distance} from a stationary point");
                let value = truncated(&rows, &trained.weights, &objective);
                assert!((trained.certificate.objective - value).abs() <= 1e-9 * value, "{name}");
                assert!((truncated(&rows, &again.weights, &objective) - value).abs() <= 1e-6 * value, "{name}");
                assert!(trained.certificate.relative_gap() <= 1e-9, "{name}");
            }
        }
    }
}

#[test]
fn outliers_have_no_dual_variables_and_a_run_goes_on_from_the_others() {
    let rows = make_rows(300, 0.2, 4);
    let objective = objective(loss("hinge"), 1.0, 0.0, Some(S));
    let mut options = TrainOptions { tolerance: 1e-7, max_passes: 100_000, ..TrainOptions::new(objective.clone()) };
    let (trained, _) = solve(memory_store(&rows, 3), &options, train, &Budget::unlimited());
    let duals = trained.duals.values().unwrap();
    for (row, beta) in rows.iter().zip(&duals) {
        let (y, _) = objective.row(&row.0);
        assert!(*beta == 0.0 || y * margin(row, &trained.weights, &objective) >= -S - 1e-3);
    }
    options.start = Some(towline::trainer::Start::Values(duals));
    let (again, falls) = solve(memory_store(&rows, 3), &options, train, &Budget::unlimited());
    assert_eq!(falls.objectives.len(), 1, "nothing was left to do");
    assert!(
        (again.certificate.objective - trained.certificate.objective).abs() <= 1e-6 * trained.certificate.objective
    );
}

#[test]
fn limits_are_kept() {
    let rows = make_rows(300, 0.2, 5);
    let objective = objective(loss("logistic"), 1.0, 0.0, Some(S));
    let options = TrainOptions { tolerance: 1e-12, max_passes: 4, ..TrainOptions::new(objective) };
    let (trained, _) = solve(memory_store(&rows, 10), &options, train, &Budget::new(50_000));
    assert_eq!(trained.status, Status::OutOfPasses);
}
