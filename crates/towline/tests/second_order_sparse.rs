//! Newton's method with l1 and elastic net reaches the certified optimum of the column solver, and on tables where that
//! stands still.

use std::sync::Arc;

use crate::labelled::{COLUMNS, PlainRow, Random, loss, memory_store, objective, rows as make_rows};
use crate::odd::{odd_table, store_of, value};
use proptest::prelude::*;
use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::budget::Budget;
use towline::cv::{Comparison, Folds, cross_validate};
use towline::objective::Objective;
use towline::penalty::AnyPenalty;
use towline::store::{BlockStore, MemoryStore};
use towline::trainer::{Choice, PathState, Solver, Status, Task, TrainError, TrainOptions, Trained, path, train};

const SMOOTH: [&str; 4] = ["logistic", "squared-hinge", "huber", "squared-epsilon-insensitive"];

fn options(objective: &Objective, solver: Solver, tolerance: f64) -> TrainOptions {
    TrainOptions { tolerance, solver, max_passes: 100_000, ..TrainOptions::new(objective.clone()) }
}

fn run(store: &Arc<MemoryStore>, objective: &Objective, solver: Solver, tolerance: f64) -> Trained {
    train(store.clone(), &options(objective, solver, tolerance), &Budget::unlimited(), &mut ()).unwrap()
}

fn sparse(name: &str, penalty: &str, lambda: f64, intercept: bool) -> Objective {
    let penalty = AnyPenalty::from_name(penalty, lambda, 0.4, None).unwrap();
    Objective { penalty, intercept, ..objective(loss(name), 1.0, 1.0, None) }
}

/// Regression has numbers that a line explains in part, and some far from it.
fn rows_for(name: &str, count: usize) -> Vec<PlainRow> {
    let mut rows = make_rows(count, 0.1, 3);
    if !loss(name).is_classification() {
        for (i, (info, row)) in rows.iter_mut().enumerate() {
            let signal: f64 = row.iter().map(|&(c, v)| v * (f64::from(c % 5) - 2.0)).sum();
            info.label = 1.0 + signal + if i % 10 == 0 { 8.0 } else { 0.0 };
        }
    }
    rows
}

#[test]
fn every_smooth_loss_ends_where_the_column_solver_does() {
    for name in SMOOTH {
        let rows = rows_for(name, 300);
        let store = memory_store(&rows, 3);
        for (penalty, lambda) in [("l1", 4.0), ("l1", 0.01), ("l1", 1e4), ("elastic-net", 6.0)] {
            for intercept in [false, true] {
                let objective = sparse(name, penalty, lambda, intercept);
                let name = format!("{name} {penalty} {lambda} {intercept}");
                let chosen = Choice::new(&*store, &objective, Solver::Auto, &Budget::unlimited()).unwrap();
                assert_eq!(chosen.solver, Solver::Newton, "{name}");
                let newton = run(&store, &objective, Solver::Auto, 1e-9);
                assert_eq!((newton.status, newton.solver), (Status::Converged, Solver::Newton), "{name}");
                assert!(newton.cost.sweeps <= 20, "{name}: {} scans", newton.cost.sweeps);
                let columns = run(&store, &objective, Solver::Columns, 1e-9);
                let (a, b) = (newton.certificate.objective, columns.certificate.objective);
                assert!((a - b).abs() <= 1e-8 * b, "{name}: {a} {b}");
                assert!((value(&rows, &objective, &newton.weights) - a).abs() <= 1e-9 * a, "{name}");
                let zeros = newton.weights[..COLUMNS].iter().filter(|w| **w == 0.0).count();
                assert!(lambda < 1e3 || zeros == COLUMNS, "{name}");
            }
        }
    }
}

/// More features than a Hessian of all of them is made for, of which few matter, on scales from 1e-3 to 1e3.
fn wide(dense: bool) -> Arc<MemoryStore> {
    let (columns, mut random) = (200u32, Random(4));
    let mut block = Block::new(Layout::new(dense, ValueKind::F32), columns as usize);
    for id in 0..3000 {
        let kept = |random: &mut Random| dense || random.fraction() < 0.1;
        let values = (0..columns).map(|j| (j, kept(&mut random), random.fraction() - 0.5)).collect::<Vec<_>>();
        let signal: f64 = values.iter().filter(|x| x.1 && x.0 % 20 == 3).map(|x| x.2).sum();
        let label = if signal + 0.3 * (random.fraction() - 0.5) > 0.0 { 1.0 } else { -1.0 };
        let scaled = values.iter().filter(|x| x.1).map(|x| (x.0, x.2 * 10f64.powi(x.0 as i32 % 7 - 3)));
        block.push(RowInfo { label, weight: 1.0, group: 0, id }, scaled);
    }
    Arc::new(MemoryStore::new(vec![block]))
}

#[test]
fn working_sets_find_the_same_optimum() {
    for dense in [true, false] {
        let store = wide(dense);
        for name in ["logistic", "squared-hinge"] {
            for lambda in [0.3, 30.0] {
                let objective = sparse(name, "l1", lambda, true);
                let newton = run(&store, &objective, Solver::Newton, 1e-7);
                assert_eq!(newton.status, Status::Converged, "{name} {lambda}");
                assert!(newton.cost.sweeps <= 30, "{name} {lambda}: {} scans", newton.cost.sweeps);
                let columns = run(&store, &objective, Solver::Columns, 1e-5);
                let (a, b) = (newton.certificate.objective, columns.certificate.objective);
                assert!(a <= b * (1.0 + 1e-7) && a >= columns.certificate.dual_objective, "{name} {lambda}: {a} {b}");
            }
        }
    }
}

#[test]
fn points_of_a_path_start_from_the_one_before() {
    let store = wide(true);
    let lambdas: Vec<f64> = (0..8).map(|k| 100.0 * 0.6f64.powi(k)).collect();
    let tasks = lambdas.iter().map(|&lambda| Task::new(sparse("logistic", "l1", lambda, true))).collect();
    let options =
        TrainOptions { tolerance: 1e-6, ..options(&sparse("logistic", "l1", 1.0, true), Solver::Newton, 1e-6) }
            .with_tasks(tasks);
    let mut points = Vec::new();
    let each = &mut |_: usize, found: &[Trained]| {
        points.extend(found.iter().map(|point| (point.certificate.objective, point.status, point.cost.sweeps)));
        Ok::<(), TrainError>(())
    };
    path(store.clone(), &options, PathState::of(1), &Budget::unlimited(), &mut (), each).unwrap();
    assert_eq!(points.len(), lambdas.len());
    for (&(f, status, scans), &lambda) in points.iter().zip(&lambdas) {
        let alone = run(&store, &sparse("logistic", "l1", lambda, true), Solver::Newton, 1e-6);
        assert_eq!(status, Status::Converged, "{lambda}");
        assert!((alone.certificate.objective - f).abs() <= 2e-6 * f, "{lambda}");
        assert!(scans <= 12, "{lambda}: {scans} scans");
    }
}

/// What all points of a path on disk have read, and the solver of each.
fn path_on_disk(rows: &[PlainRow], solver: Solver) -> (u64, Vec<(Solver, Status)>) {
    let store = memory_store(rows, 30);
    let tasks = (0..10).map(|k| Task::new(sparse("logistic", "l1", 40.0 * 0.8f64.powi(k), true))).collect();
    let options = options(&sparse("logistic", "l1", 1.0, true), solver, 1e-4).with_tasks(tasks);
    let mut points = Vec::new();
    let each = &mut |_: usize, found: &[Trained]| {
        points.extend(found.iter().map(|point| (point.solver, point.status)));
        Ok::<(), TrainError>(())
    };
    let budget = Budget::new(600_000);
    let cost = path(store.clone(), &options, PathState::of(1), &budget, &mut (), each).unwrap();
    assert!(points.len() == 10 && points.iter().all(|point| point.1 == Status::Converged), "{points:?}");
    (cost.passes, points)
}

#[test]
fn points_on_disk_share_reads_where_columns_are_alike() {
    let mut rows = rows_for("logistic", 6000);
    let (newton, _) = path_on_disk(&rows, Solver::Newton);
    let (alike, points) = path_on_disk(&rows, Solver::Auto);
    assert!(points.iter().all(|point| point.0 == Solver::Dual) && alike < newton, "{alike} {newton}: {points:?}");
    rows.iter_mut().flat_map(|(_, row)| row).filter(|(j, _)| *j == 3).for_each(|(_, x)| *x *= 1000.0);
    let (_, points) = path_on_disk(&rows, Solver::Auto);
    assert!(points.iter().all(|point| point.0 == Solver::Newton), "{points:?}");
}

#[test]
fn folds_are_scored_as_by_columns() {
    let store = memory_store(&rows_for("logistic", 400), 4);
    let objectives = [0.1, 1.0, 10.0].map(|c| Objective { c, ..sparse("logistic", "l1", 2.0, true) });
    let folds = Arc::new(Folds::new(4, 1, false));
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
        .unwrap()
    };
    let (newton, columns) = (validate(Solver::Auto), validate(Solver::Columns));
    for (a, b) in newton.points.iter().zip(&columns.points) {
        assert_eq!((a.status, a.scores.clone()), (Status::Converged, b.scores.clone()));
    }
}

#[test]
fn rows_on_disk_are_scanned_within_the_budget() {
    let rows = rows_for("logistic", 6000);
    let store = memory_store(&rows, 30);
    let objective = sparse("logistic", "l1", 20.0, true);
    let whole = run(&store, &objective, Solver::Newton, 1e-8);
    let budget = Budget::new(600_000);
    let scanned = train(store, &options(&objective, Solver::Newton, 1e-6), &budget, &mut ()).unwrap();
    assert_eq!(scanned.status, Status::Converged);
    assert!(scanned.cost.passes <= 15, "{} passes", scanned.cost.passes);
    let (a, b) = (whole.certificate.objective, scanned.certificate.objective);
    assert!((a - b).abs() <= 2e-6 * a, "{a} {b}");
}

/// Weights that separate the classes by more than enough: no row has a slope or a curvature, and weights are still too
/// large.
#[test]
fn separated_classes_are_not_where_it_ends() {
    let feature = [-9.850488662719727, 9.469465255737305, 0.0, -6.43980073928833, -4.232166290283203];
    let table: Vec<Vec<f64>> = feature.iter().map(|&x| vec![0.0, 0.0, x, 0.0]).collect();
    let (labels, weights) = ([1.0, -1.0, -1.0, 1.0, 1.0], [0.5004217965488099, 1.0, 0.0, 1.0, 1.0]);
    let (store, _) = store_of(&table, &labels, &weights);
    let objective = Objective { c: 1e3, ..sparse("squared-hinge", "l1", 1.0, true) };
    let options = TrainOptions { max_passes: 2000, ..options(&objective, Solver::Newton, 1e-6) };
    let trained = train(store, &options, &Budget::unlimited(), &mut ()).unwrap();
    assert_eq!(trained.status, Status::Converged, "{:?}", trained.certificate);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn any_table_has_a_certified_optimum_or_an_error(
        (table, labels, weights) in odd_table(3), at in 0usize..4, power in -3i32..4, net: bool, intercept: bool,
    ) {
        let (store, plain) = store_of(&table, &labels, &weights);
        let penalty = if net { "elastic-net" } else { "l1" };
        let objective = Objective { c: 10f64.powi(power), ..sparse(SMOOTH[at], penalty, 1.0, intercept) };
        let options = TrainOptions { max_passes: 2000, ..options(&objective, Solver::Newton, 1e-6) };
        match train(store.clone(), &options, &Budget::unlimited(), &mut ()) {
            Err(error) => {
                prop_assert!(matches!(error, TrainError::NoWeight) && weights.iter().all(|w| *w == 0.0), "{error}");
            }
            Ok(trained) => {
                let f = value(&plain, &objective, &trained.weights);
                let nothing = value(&plain, &objective, &vec![0.0; table[0].len() + 1]);
                prop_assert!(f <= nothing * (1.0 + 1e-12) + 1e-300, "worse than no model: {f} {nothing}");
                let gap = trained.certificate.objective - trained.certificate.dual_objective;
                let certified = trained.status == Status::Converged || gap <= 1e-7 * nothing + 1e-4 * f;
                prop_assert!(certified, "{} {:?} {:?}", SMOOTH[at], trained.status, trained.certificate);
                prop_assert!((f - trained.certificate.objective).abs() <= 1e-6 * (f.abs() + 1e-6 * nothing));
            }
        }
        prop_assert!(store.shape().columns == table[0].len() as u64);
    }
}
