//! Rows in the memory of another program are trained on where they lie, with the same result.
use std::sync::Arc;

use towline::block::{Block, Cells, SharedColumns, SharedRows, SharedValues};
use towline::budget::Budget;
use towline::loss::AnyLoss;
use towline::objective::{Objective, Targets};
use towline::penalty::AnyPenalty;
use towline::store::MemoryStore;
use towline::trainer::{Solver, Status, TrainError, TrainOptions, Trained, train};

const ROWS: usize = 200;
const WIDTH: usize = 30;

/// Rows of five values each, with the columns as they are asked for.
fn rows(columns: impl Fn(Vec<u64>) -> SharedColumns, weight: impl Fn(usize) -> f64) -> Block {
    let column = |k: usize| (k % 5 * 6 + k / 5 * 7 % 6) as u64;
    let values: Vec<f32> = (0..5 * ROWS).map(|k| ((k * 37 % 101) as f32 - 50.0) / 25.0).collect();
    let labels = (0..ROWS).map(|i| f64::from(u8::from(values[5 * i] + 0.3 * values[5 * i + 1] > 0.1)));
    Block::over(SharedRows {
        width: WIDTH,
        ends: (1..=ROWS).map(|i| 5 * i).collect(),
        labels: labels.collect(),
        columns: columns((0..5 * ROWS).map(column).collect()),
        values: SharedValues::F32(Cells::shared(Arc::new(values))),
        further: Vec::new(),
        weights: (0..ROWS).map(weight).collect(),
    })
    .unwrap()
}

fn wide(columns: Vec<u64>) -> SharedColumns {
    SharedColumns::Wide(Cells::shared(Arc::new(columns)))
}

fn narrow(columns: Vec<u64>) -> SharedColumns {
    SharedColumns::Narrow(columns.into_iter().map(|column| column as u32).collect::<Vec<_>>().into())
}

fn fit(store: MemoryStore, penalty: AnyPenalty, intercept: bool, budget: &Budget) -> Trained {
    try_fit(store, penalty, intercept, budget).unwrap()
}

fn try_fit(store: MemoryStore, penalty: AnyPenalty, intercept: bool, budget: &Budget) -> Result<Trained, TrainError> {
    let names = ["0".to_string(), "1".to_string()];
    let targets = Targets::Binary { positive: 1.0, names, weights: [1.0, 1.0] };
    let loss = AnyLoss::named("squared-hinge").unwrap();
    let bias = f64::from(u8::from(intercept));
    let objective = Objective { penalty, intercept, bias, ..Objective::new(loss, 1.0, targets) };
    let options = TrainOptions { tolerance: 1e-6, solver: Solver::Dual, ..TrainOptions::new(objective) };
    train(Arc::new(store), &options, budget, &mut ())
}

#[test]
fn resident_rows_give_the_same_weights_as_copied_ones() {
    let l1 = AnyPenalty::from_name("l1", 1.0, 0.5, None).unwrap();
    let skip = |i: usize| f64::from(u8::from(!i.is_multiple_of(3)));
    for (penalty, intercept) in [(AnyPenalty::default(), false), (AnyPenalty::default(), true), (l1, true)] {
        for weight in [&(|_| 1.0) as &dyn Fn(usize) -> f64, &skip] {
            let free = Budget::unlimited();
            let copied = fit(MemoryStore::new(vec![rows(narrow, weight)]), penalty.clone(), intercept, &free);
            assert_eq!(copied.status, Status::Converged);
            for block in [rows(narrow, weight), rows(wide, weight)] {
                let resident = fit(MemoryStore::resident(block), penalty.clone(), intercept, &free);
                assert_eq!(resident.weights, copied.weights);
                assert_eq!(resident.duals.values().unwrap(), copied.duals.values().unwrap());
            }
        }
    }
}

#[test]
fn resident_rows_are_not_paid_for_again() {
    let budget = Budget::unlimited();
    fit(MemoryStore::resident(rows(narrow, |_| 1.0)), AnyPenalty::default(), false, &budget);
    let model = 2 * 8 * (WIDTH as u64 + 1);
    assert!(budget.peak_bytes() <= model + 105 * ROWS as u64, "{}", budget.peak_bytes());
}

#[test]
fn the_least_budget_that_an_error_names_is_enough() {
    let store = || MemoryStore::resident(rows(narrow, |_| 1.0));
    let refused = try_fit(store(), AnyPenalty::default(), false, &Budget::new(1000)).unwrap_err();
    let TrainError::Budget(refused) = refused else { panic!("{refused}") };
    let trained = fit(store(), AnyPenalty::default(), false, &Budget::new(refused.least_bytes));
    let free = fit(store(), AnyPenalty::default(), false, &Budget::unlimited());
    // With one vector they are not summed anew after a certificate, which leaves rounding errors.
    let apart = trained.weights.iter().zip(&free.weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart <= 1e-12, "{apart}");
}
