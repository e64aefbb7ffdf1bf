//! Solvers of second order reach the certified optimum of coordinate descent, and on tables where that stands still.
//!
//! Certificates are not trusted: both sides of the gap are computed anew here, plainly.

use std::sync::Arc;

use crate::labelled::{COLUMNS, PlainRow, Random, loss, memory_store, objective, rows as make_rows};
use crate::odd::{odd_table, store_of, value};
use proptest::prelude::*;
use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::budget::Budget;
use towline::cv::{Comparison, Folds, cross_validate};
use towline::loss::{ALL, AnyLoss, Loss};
use towline::objective::Objective;
use towline::penalty::AnyPenalty;
use towline::store::{BlockStore, MemoryStore};
use towline::trainer::{Choice, Solver, Start, Status, Task, TrainError, TrainOptions, Trained, train, train_all};

fn options(objective: &Objective, solver: Solver, tolerance: f64) -> TrainOptions {
    TrainOptions { tolerance, solver, max_passes: 100_000, ..TrainOptions::new(objective.clone()) }
}

fn run(store: &Arc<MemoryStore>, objective: &Objective, solver: Solver) -> Trained {
    train(store.clone(), &options(objective, solver, 1e-8), &Budget::unlimited(), &mut ()).unwrap()
}

/// Regression has labels that a line explains in part.
fn rows_for(loss: AnyLoss, count: usize, seed: u64) -> Vec<PlainRow> {
    let mut rows = make_rows(count, 0.1, seed);
    if !loss.is_classification() {
        let mut random = Random(seed);
        for (info, row) in &mut rows {
            let signal: f64 = row.iter().map(|&(c, v)| v * (f64::from(c % 5) - 2.0)).sum();
            info.label = 3.0 + signal + random.fraction();
        }
    }
    rows
}

#[test]
fn every_loss_ends_where_coordinate_descent_does() {
    for &loss in ALL {
        for (count, c, intercept) in [(300, 0.1, false), (300, 10.0, true), (12, 1.0, false), (12, 1.0, true)] {
            let rows = rows_for(loss, count, 3);
            let store = memory_store(&rows, 3);
            let base = objective(loss, c, if intercept { 1.0 } else { 0.5 }, None);
            let objective = Objective { intercept, ..base };
            let name = format!("{} {count} rows, C = {c}, intercept {intercept}", loss.name());
            let chosen = Choice::new(&*store, &objective, Solver::Auto, &Budget::unlimited()).unwrap();
            assert!(chosen.solver.is_second_order(), "{name}: {chosen:?}");
            let found = run(&store, &objective, Solver::Auto);
            assert_eq!((found.status, found.solver), (Status::Converged, chosen.solver), "{name}");
            let f = found.certificate.objective;
            assert!((value(&rows, &objective, &found.weights) - f).abs() <= 1e-9 * f, "{name}");
            let dual = options(&objective, Solver::Dual, 1e-6);
            let dual = train(store, &dual, &Budget::unlimited(), &mut ()).unwrap();
            assert!((dual.certificate.objective - f).abs() <= 2e-6 * f, "{name}: {} {f}", dual.certificate.objective);
        }
    }
}

#[test]
fn sparse_penalties_of_the_squared_loss_agree_with_columns() {
    let rows = rows_for(loss("squared"), 200, 5);
    let store = memory_store(&rows, 2);
    for (name, ratio) in [("l1", 1.0), ("elastic-net", 0.3)] {
        for intercept in [false, true] {
            let penalty = AnyPenalty::from_name(name, 4.0, ratio, None).unwrap();
            let base = objective(loss("squared"), 1.0, 1.0, None);
            let objective = Objective { penalty, intercept, ..base };
            let (gram, columns) = (run(&store, &objective, Solver::Gram), run(&store, &objective, Solver::Columns));
            assert_eq!(gram.status, Status::Converged, "{name} {intercept}");
            let (a, b) = (gram.certificate.objective, columns.certificate.objective);
            assert!((a - b).abs() <= 1e-7 * b, "{name} {intercept}: {a} {b}");
            assert!(gram.weights[..COLUMNS].contains(&0.0), "{name} {intercept}");
        }
    }
}

#[test]
fn of_many_least_squares_solutions_the_shortest_is_found() {
    // Two rows of three features: w = Xᵀ(XXᵀ)⁻¹y is the shortest solution.
    let values = [1.0, 2.0, 0.5, -1.0, 1.0, 3.0];
    let rows = towline::Rows::dense(values.to_vec(), 3, &[2.0, -1.0]).unwrap();
    let (a, b, d) = (5.25, 2.5, 11.0);
    let (u, v) = ((d * 2.0 + b) / (a * d - b * b), (-a - b * 2.0) / (a * d - b * b));
    let wanted = [u - v, 2.0 * u + v, 0.5 * u + 3.0 * v];
    let fit = towline::Fit::squared().penalty(towline::Regularizer::None).bias(0.0);
    let model = fit.run(&rows).unwrap();
    for (j, wanted) in wanted.iter().enumerate() {
        let found = model.scores(&[(j as u64, 1.0)]).unwrap()[0];
        assert!((found - wanted).abs() < 1e-9, "{j}: {found} for {wanted}");
    }
}

#[test]
fn non_negative_least_squares_agree_with_dual_steps() {
    let rows = rows_for(loss("squared"), 200, 5);
    let store = memory_store(&rows, 2);
    for (name, ratio) in [("l1", 1.0), ("elastic-net", 0.3), ("l2", 0.0), ("none", 0.0)] {
        for intercept in [false, true] {
            let free = AnyPenalty::from_name(name, 4.0, ratio, None).unwrap();
            let base = objective(loss("squared"), 1.0, 1.0, None);
            let objective = Objective { penalty: free.clone().non_negative().unwrap(), intercept, ..base };
            let gram = run(&store, &objective, Solver::Gram);
            assert_eq!(gram.status, Status::Converged, "{name} {intercept}");
            let dual =
                train(store.clone(), &options(&objective, Solver::Dual, 1e-6), &Budget::unlimited(), &mut ()).unwrap();
            let (a, b) = (gram.certificate.objective, dual.certificate.objective);
            assert!((a - b).abs() <= 2e-6 * b, "{name} {intercept}: {a} {b}");
            assert!((value(&rows, &objective, &gram.weights) - a).abs() <= 1e-9 * a, "{name} {intercept}");
            assert!(gram.certificate.dual_objective <= b, "{name} {intercept}: {:?}", gram.certificate);
            // The bound costs something here: without it the objective is less.
            let free = run(&store, &Objective { penalty: free, ..objective.clone() }, Solver::Gram);
            assert!(free.certificate.objective < a - 1e-3, "{name} {intercept}");
            assert!(gram.weights[..COLUMNS].iter().all(|&w| w >= 0.0), "{name} {intercept}");
        }
    }
}

/// Columns from 1e-4 to 1e4: coordinate descent stands still on them.
fn stretched(rows: &[PlainRow]) -> Vec<PlainRow> {
    let stretch = |(info, row): &PlainRow| {
        let scaled = row.iter().map(|&(j, x)| (j, f64::from((x * 10f64.powi(j as i32 % 9 - 4)) as f32)));
        (*info, scaled.collect())
    };
    rows.iter().map(stretch).collect()
}

#[test]
fn rows_on_disk_end_where_rows_in_memory_do() {
    for &loss in ALL {
        let rows = stretched(&rows_for(loss, 6000, 7));
        let store = memory_store(&rows, 30);
        let base = objective(loss, 1.0, 1.0, None);
        let objective = Objective { intercept: true, ..base };
        let whole = run(&store, &objective, Solver::Auto);
        assert_eq!(whole.status, Status::Converged, "{}", loss.name());
        // Less than what rows and solver take together; rows near a kink have to fit.
        let bytes = if loss.curvature().is_finite() { 600_000 } else { 1_300_000 };
        let budget = Budget::new(bytes);
        let options = TrainOptions { max_passes: 100, ..options(&objective, Solver::Auto, 1e-6) };
        let scanned = train(store.clone(), &options, &budget, &mut ()).unwrap();
        assert_eq!(scanned.status, Status::Converged, "{}", loss.name());
        let (a, b) = (whole.certificate.objective, scanned.certificate.objective);
        assert!((a - b).abs() <= 2e-6 * a, "{}: {a} {b}", loss.name());
        let most = if loss.curvature().is_finite() { 25 } else { 60 };
        assert!(scanned.cost.passes <= most, "{}: {} passes", loss.name(), scanned.cost.passes);
        assert!(budget.peak_bytes() <= bytes);
    }
}

#[test]
fn a_finished_run_is_recognised_at_once() {
    for name in ["hinge", "logistic"] {
        let store = memory_store(&make_rows(300, 0.1, 9), 1);
        let objective = objective(loss(name), 1.0, 0.0, None);
        let mut first = run(&store, &objective, Solver::Auto);
        let weights = first.weights.clone();
        let task = Task { start: Some(first.take_duals()), start_weights: weights, ..Task::new(objective.clone()) };
        let again = TrainOptions { tolerance: 1e-6, ..TrainOptions::of(task) };
        let again = train(store.clone(), &again, &Budget::unlimited(), &mut ()).unwrap();
        assert_eq!((again.status, again.cost.sweeps), (Status::Converged, 1), "{name}: one scan for the certificate");
        let task = Task { start: Some(Start::Values(vec![0.0; 300])), ..Task::new(objective.clone()) };
        let anew = TrainOptions { tolerance: 1e-6, ..TrainOptions::of(task) };
        assert_eq!(train(store, &anew, &Budget::unlimited(), &mut ()).unwrap().status, Status::Converged);
    }
}

#[test]
fn folds_from_sums_are_those_of_models_that_have_not_seen_them() {
    let rows = rows_for(loss("squared"), 400, 11);
    let store = memory_store(&rows, 4);
    let folds = Arc::new(Folds::new(5, 1, false));
    for (name, intercept) in [("l2", false), ("l2", true), ("l1", true)] {
        let of = |c: f64| {
            let penalty = AnyPenalty::from_name(name, 1.0, 0.5, None).unwrap();
            Objective { penalty, intercept, ..objective(loss("squared"), c, 1.0, None) }
        };
        let objectives = [of(0.01), of(1.0), of(100.0)];
        let validate = |solver: Solver| {
            let how = options(&objectives[0], solver, 1e-8);
            cross_validate(
                store.clone(),
                &objectives,
                folds.clone(),
                Comparison::default(),
                &how,
                &Budget::unlimited(),
                &mut (),
            )
        };
        let (sums, models) = (validate(Solver::Auto).unwrap(), validate(Solver::Dual).unwrap());
        assert_eq!(sums.cost.passes, 1, "one scan for 15 models and their scores");
        assert_eq!((sums.best, sums.one_standard_error), (models.best, models.one_standard_error));
        for (a, b) in sums.points.iter().zip(&models.points) {
            assert!((a.mean - b.mean).abs() < 1e-5 * b.mean, "{name} {intercept}: {a:?} {b:?}");
        }
    }
}

/// More folds than one scan tells apart: each group of them has its own.
#[test]
fn a_hundred_folds_are_scored() {
    let store = memory_store(&rows_for(loss("squared"), 400, 13), 2);
    let objectives = [objective(loss("squared"), 1.0, 0.0, None)];
    let how = options(&objectives[0], Solver::Auto, 1e-6);
    let folds = Arc::new(Folds::new(100, 1, false));
    let found =
        cross_validate(store, &objectives, folds, Comparison::default(), &how, &Budget::unlimited(), &mut ()).unwrap();
    assert_eq!(found.points[0].status, Status::Converged);
}

/// Few rows with many features need matrices of rows by rows only.
#[test]
fn few_rows_of_many_features_take_little_memory() {
    let (columns, count) = (4000u32, 20);
    let mut random = Random(7);
    let mut block = Block::new(Layout::new(true, ValueKind::F32), columns as usize);
    for id in 0..count {
        let row: Vec<(u32, f64)> = (0..columns).map(|j| (j, random.fraction() - 0.5)).collect();
        block.push(RowInfo { label: if id % 2 == 0 { 1.0 } else { -1.0 }, weight: 1.0, group: 0, id }, row);
    }
    let store = Arc::new(MemoryStore::new(vec![block]));
    let budget = Budget::new(4 << 20);
    for name in ["hinge", "logistic"] {
        let options = options(&objective(loss(name), 1.0, 0.0, None), Solver::Auto, 1e-6);
        let found = train(store.clone(), &options, &budget, &mut ()).unwrap();
        assert_eq!(found.status, Status::Converged, "{name}");
        assert!(found.solver.is_second_order(), "{name}");
    }
}

/// Measurements of genes are in thousands and can be separated: the optimum is a billionth, and margins that miss 1 by
/// a hair would cost more than that.
#[test]
fn classes_that_can_be_separated_in_large_units_are_certified() {
    let (columns, count) = (700u32, 60);
    let mut random = Random(11);
    let mut rows: Vec<PlainRow> = Vec::new();
    for id in 0..count {
        let label = if id % 3 == 0 { 1.0 } else { -1.0 };
        let row: Vec<(u32, f64)> = (0..columns).map(|j| (j, (10.0 * random.fraction()).exp().round())).collect();
        rows.push((RowInfo { label, weight: 1.0, group: 0, id }, row));
    }
    let mut block = Block::new(Layout::new(true, ValueKind::F32), columns as usize);
    rows.iter().for_each(|(info, row)| block.push(*info, row.iter().copied()));
    let store = Arc::new(MemoryStore::new(vec![block]));
    for (name, c, intercept) in [("hinge", 1.0, false), ("hinge", 1e3, true), ("squared-hinge", 1.0, true)] {
        let base = objective(loss(name), c, f64::from(u8::from(intercept)), None);
        let objective = Objective { intercept, ..base };
        let found = train(store.clone(), &options(&objective, Solver::Auto, 1e-6), &Budget::unlimited(), &mut ());
        let found = found.unwrap();
        assert_eq!(found.status, Status::Converged, "{name}, C = {c}: {:?}", found.certificate);
        let f = found.certificate.objective;
        assert!(f < 1e-3, "{f}");
        let again = value(&rows, &objective, &found.weights);
        assert!((again - f).abs() <= 1e-6 * f, "{name}, C = {c}: {again}, not {f}");
        assert!((2..=count).contains(&found.certificate.support), "{name}: {}", found.certificate.support);
    }
}

#[test]
fn a_solver_that_cannot_says_which_can() {
    let store = memory_store(&make_rows(50, 0.1, 1), 1);
    for (name, asked, words) in [
        ("hinge", Solver::Newton, "use multipliers"),
        ("logistic", Solver::Multipliers, "use newton"),
        ("logistic", Solver::Gram, "use newton"),
        ("huber", Solver::Multipliers, "use newton"),
    ] {
        let options = options(&objective(loss(name), 1.0, 0.0, None), asked, 1e-6);
        let error = train(store.clone(), &options, &Budget::unlimited(), &mut ()).unwrap_err();
        assert!(matches!(error, TrainError::SecondOrder(_)) && error.to_string().contains(words), "{error}");
    }
    let options = options(&objective(loss("hinge"), 1.0, 0.0, None), Solver::Multipliers, 1e-6);
    let error = train(store, &options, &Budget::new(5_000), &mut ()).unwrap_err();
    assert!(matches!(error, TrainError::Budget(_)) && error.to_string().contains("this solver needs"), "{error}");
}

/// Without a budget, matrices are no larger than a machine has room for.
#[test]
fn an_unlimited_budget_is_not_spent_on_matrices() {
    let size = 30_000u32;
    let mut block = Block::new(Layout::new(false, ValueKind::F32), size as usize);
    for id in 0..size {
        let info = RowInfo { label: if id % 2 == 0 { 1.0 } else { -1.0 }, weight: 1.0, group: 0, id: u64::from(id) };
        block.push(info, [(id, 1.0)]);
    }
    let store = MemoryStore::new(vec![block]);
    for (name, other) in [("squared", "conjugate gradients"), ("logistic", "conjugate gradients"), ("hinge", "")] {
        let objective = objective(loss(name), 1.0, 0.0, None);
        let found = Choice::new(&store, &objective, Solver::Auto, &Budget::unlimited()).unwrap();
        assert_eq!((found.solver, found.why.is_empty()), (Solver::Dual, other.is_empty()), "{name}");
        assert!(found.why.contains(other), "{name}: there is no other way, but {}", found.why);
    }
}

#[test]
fn slow_coordinate_descent_gives_way() {
    // Many features, so that it is tried at all, and scales on which it stands still.
    let (columns, count) = (600u32, 700);
    let mut random = Random(5);
    let mut block = Block::new(Layout::new(true, ValueKind::F32), columns as usize);
    for id in 0..count {
        let row: Vec<(u32, f64)> =
            (0..columns).map(|j| (j, (random.fraction() - 0.5) * 10f64.powi(j as i32 % 9 - 4))).collect();
        let label = if row[3].1 + row[12].1 > 0.0 || random.fraction() < 0.1 { 1.0 } else { -1.0 };
        block.push(RowInfo { label, weight: 1.0, group: 0, id }, row);
    }
    let store = Arc::new(MemoryStore::new(vec![block]));
    let objective = objective(loss("hinge"), 1.0, 0.0, None);
    let chosen = Choice::new(&*store, &objective, Solver::Auto, &Budget::unlimited()).unwrap();
    assert_eq!(chosen.solver, Solver::Dual, "{chosen:?}");
    let found = run(&store, &objective, Solver::Auto);
    assert_eq!((found.status, found.solver), (Status::Converged, Solver::Multipliers));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Columns from 1e-6 to 1e6, constant, twice or empty; one class, weights of 0, fewer rows than features.
    #[test]
    fn any_table_has_a_certified_optimum_or_an_error(
        (table, labels, weights) in odd_table(6), at in 0usize..ALL.len(), power in -3i32..4, intercept: bool, one: bool,
    ) {
        let columns = table[0].len();
        // Classes, or numbers as those of prices.
        let is_price = !ALL[at].is_classification() && !one;
        let prices = labels.iter().enumerate().map(|(i, class)| 5e4 + class * (1e3 * (i as f64 * 0.7).sin() + 4e4));
        let labels = match one {
            _ if is_price => prices.collect(),
            true => vec![1.0; labels.len()],
            false => labels,
        };
        let (store, plain) = store_of(&table, &labels, &weights);
        let bias = if intercept { 1.0 } else { 0.0 };
        let objective = Objective { intercept, ..objective(ALL[at], 10f64.powi(power), bias, None) };
        let options = TrainOptions { max_passes: 2000, ..options(&objective, Solver::Auto, 1e-6) };
        match train_all(store.clone(), &options, &Budget::unlimited(), &mut ()) {
            Err(error) => prop_assert!(matches!(error, TrainError::NoWeight) && weights.iter().all(|w| *w == 0.0), "{error}"),
            Ok(found) => {
                let trained = &found[0];
                // One class and an intercept: the optimum is 0, of which no gap is a part.
                let f = value(&plain, &objective, &trained.weights);
                let nothing = value(&plain, &objective, &vec![0.0; columns + 1]);
                prop_assert!(f <= nothing * (1.0 + 1e-12) + 1e-300, "worse than no model: {f} {nothing}");
                let gap = trained.certificate.objective - trained.certificate.dual_objective;
                // Columns of 1e6 that say the same leave the ridge between them to the last digits: the status says so
                // then.
                let certified = trained.status == Status::Converged || gap <= 1e-7 * nothing + 1e-4 * f;
                prop_assert!(certified, "{} {:?} {:?}", ALL[at].name(), trained.status, trained.certificate);
                prop_assert!((f - trained.certificate.objective).abs() <= 1e-6 * (f.abs() + 1e-6 * nothing));
            }
        }
        prop_assert!(store.shape().columns == columns as u64);
    }
}
