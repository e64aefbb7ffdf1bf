//! Losses with kinks, with a part of the rows in memory: a few reads to the certified optimum, whatever the scale of
//! columns.

use crate::labelled::{PlainRow, Random, loss, memory_store, objective, rows as make_rows};
use towline::budget::Budget;
use towline::loss::AnyLoss;
use towline::objective::Objective;
use towline::trainer::{Choice, Solver, Status, TrainOptions, train};

/// Columns from 1e-4 to 1e4; the last one is in few rows.
fn table(loss: AnyLoss, count: usize, seed: u64) -> Vec<PlainRow> {
    let mut random = Random(seed);
    let mut rows = make_rows(count, 0.1, seed);
    for (info, row) in &mut rows {
        if !loss.is_classification() {
            info.label = 3.0 + row.iter().map(|&(j, x)| x * (f64::from(j % 5) - 2.0)).sum::<f64>() + random.fraction();
        }
        let is_rare = random.fraction() < 0.002;
        row.retain(|(j, _)| *j != 19 || is_rare);
        row.iter_mut().for_each(|(j, x)| *x = f64::from((*x * 10f64.powi(*j as i32 % 9 - 4)) as f32));
    }
    rows
}

/// Passes and objective with so much memory.
fn passes(loss: AnyLoss, (c, intercept): (f64, bool), bytes: u64) -> (u64, f64, f64) {
    let store = memory_store(&table(loss, 20_000, 3), 100);
    let objective = Objective { intercept, ..objective(loss, c, 1.0, None) };
    let how = |tolerance| TrainOptions {
        tolerance,
        solver: Solver::Multipliers,
        max_passes: 1000,
        ..TrainOptions::new(objective.clone())
    };
    let whole = train(store.clone(), &how(1e-8), &Budget::unlimited(), &mut ()).unwrap();
    let budget = Budget::new(bytes);
    let found = train(store, &how(1e-6), &budget, &mut ()).unwrap();
    assert_eq!((whole.status, found.status), (Status::Converged, Status::Converged), "{} {c}", loss.name());
    assert!(budget.peak_bytes() <= bytes);
    (found.cost.passes, found.certificate.objective, whole.certificate.objective)
}

#[test]
fn a_tenth_of_the_rows_in_memory_takes_few_reads() {
    // All rows take 2.4 MB, their dual variables 160 or 320 kB, and a row beside them about 300 bytes.
    for (name, bytes) in [("hinge", 900_000), ("epsilon-insensitive", 1_200_000)] {
        for how in [(1.0, false), (0.01, true), (100.0, true)] {
            let (passes, objective, whole) = passes(loss(name), how, bytes);
            assert!((objective - whole).abs() <= 2e-6 * whole, "{name} {how:?}: {objective} {whole}");
            assert!(passes <= 12, "{name} {how:?}: {passes} passes");
        }
    }
}

#[test]
fn less_memory_takes_more_reads_and_ends_all_the_same() {
    let (passes, objective, whole) = passes(loss("hinge"), (1.0, true), 420_000);
    assert!((objective - whole).abs() <= 2e-6 * whole, "{objective} {whole}");
    assert!(passes <= 60, "{passes} passes");
}

/// One model is read for alone; many share their reads.
#[test]
fn many_models_begin_with_coordinate_descent() {
    let store = memory_store(&table(loss("hinge"), 20_000, 3), 100);
    let objective = objective(loss("hinge"), 1.0, 1.0, None);
    let solver =
        |models| Choice::for_models(&*store, &objective, (Solver::Auto, models), &Budget::new(900_000)).unwrap().solver;
    assert_eq!([1, 10].map(solver), [Solver::Multipliers, Solver::Dual]);
}
