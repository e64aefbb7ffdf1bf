//! Softmax and Crammer–Singer by methods of second order: the optimum of coordinate descent, also on tables where that
//! stands still.

use std::sync::Arc;

use crate::labelled::{PlainRow, Random, loss};
use crate::odd::{odd_table, store_of};
use proptest::prelude::*;
use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::budget::Budget;
use towline::loss::classes::{ClassLoss, CrammerSinger, Softmax};
use towline::objective::{Classes, Multiclass, Objective, Targets};
use towline::penalty::{AnyPenalty, Penalty};
use towline::stop::Stop;
use towline::store::MemoryStore;
use towline::trainer::{Choice, Solver, Start, Status, Task, TrainError, TrainOptions, Trained, train};

const COLUMNS: usize = 12;

fn objective(multiclass: Multiclass, c: f64, intercept: bool) -> Objective {
    let labels = vec![0.0, 1.0, 2.0];
    let names = labels.iter().map(f64::to_string).collect();
    let classes = Classes::new(labels, names, vec![1.0, 0.7, 2.0]);
    let loss = if multiclass == Multiclass::Softmax { loss("logistic") } else { loss("hinge") };
    let bias = if intercept { 1.0 } else { 0.5 };
    Objective { bias, intercept, ..Objective::new(loss, c, Targets::Classes { classes, multiclass }) }
}

/// The class is that of the largest of three sums, most of the time; columns are from 10^-stretch to 10^stretch.
fn rows(count: usize, dense: bool, stretch: i32) -> Vec<PlainRow> {
    let mut random = Random(8);
    let row = |id: usize| {
        let mut values: Vec<(u32, f64)> = Vec::new();
        for j in 0..COLUMNS as u32 {
            let x = random.fraction() - 0.4;
            if dense || random.fraction() < 0.4 {
                values.push((j, x));
            }
        }
        let mut sums = [0.0; 3];
        values.iter().for_each(|&(j, x)| sums[j as usize % 3] += x);
        sums.iter_mut().for_each(|sum| *sum += 0.5 * random.fraction());
        let label = (0..3).max_by(|&a, &b| f64::total_cmp(&sums[a], &sums[b])).unwrap() as f64;
        let scale = |j: u32| 10f64.powi(if stretch == 0 { 0 } else { j as i32 % (2 * stretch + 1) - stretch });
        let scaled = values.iter().map(|&(j, x)| (j, f64::from((x * scale(j)) as f32)));
        (RowInfo { label, weight: (id % 3) as f64, group: 0, id: id as u64 }, scaled.collect())
    };
    (0..count).map(row).collect()
}

fn store(rows: &[PlainRow], dense: bool, blocks: usize) -> Arc<MemoryStore> {
    let make = |rows: &[PlainRow]| {
        let mut block = Block::new(Layout::new(dense, ValueKind::F32), COLUMNS);
        rows.iter().for_each(|(info, row)| block.push(*info, row.iter().copied()));
        block
    };
    Arc::new(MemoryStore::new(rows.chunks(rows.len().div_ceil(blocks)).map(make).collect()))
}

fn options(objective: &Objective, solver: Solver, tolerance: f64) -> TrainOptions {
    TrainOptions { tolerance, solver, max_passes: 20_000, ..TrainOptions::new(objective.clone()) }
}

fn run(store: &Arc<MemoryStore>, objective: &Objective, solver: Solver, tolerance: f64) -> Trained {
    train(store.clone(), &options(objective, solver, tolerance), &Budget::unlimited(), &mut ()).unwrap()
}

/// F from its definition; the weights of one column lie side by side.
fn value(rows: &[PlainRow], objective: &Objective, w: &[f64]) -> f64 {
    let (outputs, columns) = (objective.width(), w.len() / objective.width() - 1);
    let mut sum = objective.penalty.value(&w[..outputs * (columns + usize::from(!objective.intercept))]);
    for (info, row) in rows {
        let Some((class, c)) = objective.class(info) else { continue };
        let margin = |k: usize| {
            let products = row.iter().map(|&(j, x)| w[j as usize * outputs + k] * x);
            products.sum::<f64>() + objective.bias * w[columns * outputs + k]
        };
        let z: Vec<f64> = (0..outputs).map(margin).collect();
        let softmax = objective.targets.multiclass() == Some(Multiclass::Softmax);
        sum += c * if softmax { Softmax.value(class, &z) } else { CrammerSinger.value(class, &z) };
    }
    sum
}

#[test]
fn both_end_where_coordinate_descent_does() {
    for (multiclass, solver) in
        [(Multiclass::Softmax, Solver::Newton), (Multiclass::CrammerSinger, Solver::Multipliers)]
    {
        for dense in [true, false] {
            let rows = rows(200, dense, 0);
            let store = store(&rows, dense, 3);
            for (c, intercept) in [(0.01, false), (1.0, true), (30.0, false)] {
                let objective = objective(multiclass, c, intercept);
                let name = format!("{multiclass:?} dense {dense} C = {c} intercept {intercept}");
                let chosen = Choice::new(&*store, &objective, Solver::Auto, &Budget::unlimited()).unwrap();
                assert_eq!(chosen.solver, solver, "{name}");
                let found = run(&store, &objective, Solver::Auto, 1e-8);
                assert_eq!((found.status, found.solver), (Status::Converged, solver), "{name}");
                let f = found.certificate.objective;
                assert!((value(&rows, &objective, &found.weights) - f).abs() <= 1e-9 * f, "{name}");
                let dual = run(&store, &objective, Solver::Dual, 1e-5);
                assert!(
                    (dual.certificate.objective - f).abs() <= 2e-5 * f,
                    "{name}: {} {f}",
                    dual.certificate.objective
                );
            }
        }
    }
}

#[test]
fn columns_of_any_scale_and_any_c_are_certified() {
    let rows = rows(300, true, 3);
    let store = store(&rows, true, 2);
    for multiclass in [Multiclass::Softmax, Multiclass::CrammerSinger] {
        for c in [1e-3, 1.0, 1e3] {
            let objective = objective(multiclass, c, true);
            let found = run(&store, &objective, Solver::Auto, 1e-6);
            assert_eq!(found.status, Status::Converged, "{multiclass:?} {c}: {:?}", found.certificate);
            assert!(found.cost.sweeps < 60, "{multiclass:?} {c}: {} scans", found.cost.sweeps);
        }
    }
}

/// As gene expression has it: tens of rows, and features by the hundred in large units.
#[test]
fn fewer_rows_than_features_are_certified() {
    const WIDE: usize = 400;
    let mut random = Random(21);
    let row = |id: usize| {
        let label = (id % 3) as f64;
        let values = (0..WIDE as u32)
            .map(|j| (j, 900.0 * random.fraction() + if j as usize % 50 == id % 3 { 200.0 } else { 0.0 }));
        let weight = if id % 7 == 6 { 0.0 } else { 1.0 };
        (RowInfo { label, weight, group: 0, id: id as u64 }, values.collect())
    };
    let rows: Vec<PlainRow> = (0..40).map(row).collect();
    let mut block = Block::new(Layout::new(true, ValueKind::F64), WIDE);
    rows.iter().for_each(|(info, row)| block.push(*info, row.iter().copied()));
    let store = Arc::new(MemoryStore::new(vec![block]));
    for multiclass in [Multiclass::Softmax, Multiclass::CrammerSinger] {
        for (c, intercept) in [(1e-3, false), (1.0, true), (1.0, false)] {
            let objective = objective(multiclass, c, intercept);
            let choice = Choice::new(&*store, &objective, Solver::Auto, &Budget::unlimited()).unwrap();
            assert_eq!(choice.why, "40 rows are few");
            let found = run(&store, &objective, Solver::Auto, 1e-7);
            let name = format!("{multiclass:?} C={c} intercept={intercept}: {:?}", found.certificate);
            assert_eq!((found.status, found.solver), (Status::Converged, choice.solver), "{name}");
            let plain = value(&rows, &objective, &found.weights);
            assert!((plain - found.certificate.objective).abs() <= 1e-9 * plain, "{plain}, {name}");
            let sums = |k: usize| found.duals.values().unwrap().iter().skip(k).step_by(3).sum::<f64>();
            assert!(!intercept || (0..3).all(|k| sums(k).abs() <= 1e-9 * c), "{name}");
        }
    }
}

#[test]
fn without_a_penalty_softmax_has_no_gradient_left() {
    let rows = rows(2000, true, 2);
    let store = store(&rows, true, 2);
    let penalty = AnyPenalty::from_name("none", 1.0, 0.5, None).unwrap();
    let objective = Objective { penalty, ..objective(Multiclass::Softmax, 1.0, true) };
    let found = run(&store, &objective, Solver::Newton, 1e-6);
    assert_eq!(found.status, Status::Converged);
    let f = value(&rows, &objective, &found.weights);
    for at in 0..found.weights.len() {
        for step in [-1e-2, 1e-2] {
            let mut moved = found.weights.clone();
            moved[at] += step * moved[at].abs().max(1e-3);
            assert!(value(&rows, &objective, &moved) >= f * (1.0 - 1e-9), "{at} {step}");
        }
    }
}

#[test]
fn rows_on_disk_are_scanned_within_the_budget() {
    let rows = rows(8000, true, 2);
    let store = store(&rows, true, 40);
    let objective = objective(Multiclass::Softmax, 1.0, true);
    let whole = run(&store, &objective, Solver::Newton, 1e-8);
    let budget = Budget::new(1_100_000);
    let scanned = train(store, &options(&objective, Solver::Newton, 1e-6), &budget, &mut ()).unwrap();
    assert_eq!(scanned.status, Status::Converged);
    assert!(scanned.cost.passes > 3 && scanned.cost.passes <= 15, "{} passes", scanned.cost.passes);
    let (a, b) = (whole.certificate.objective, scanned.certificate.objective);
    assert!((a - b).abs() <= 2e-6 * a, "{a} {b}");
}

#[test]
fn a_finished_run_is_recognised_at_once() {
    let store = store(&rows(200, true, 0), true, 1);
    for multiclass in [Multiclass::Softmax, Multiclass::CrammerSinger] {
        let objective = objective(multiclass, 1.0, false);
        let mut first = run(&store, &objective, Solver::Auto, 1e-9);
        let duals = match first.take_duals() {
            Start::Duals(duals, _) => duals,
            other => panic!("{other:?}"),
        };
        // Weights are found from dual variables alone.
        let task = Task { start: Some(Start::Duals(duals, 1.0)), ..Task::new(objective.clone()) };
        let again = TrainOptions { tolerance: 1e-5, ..TrainOptions::of(task) };
        let again = train(store.clone(), &again, &Budget::unlimited(), &mut ()).unwrap();
        assert_eq!((again.status, again.cost.sweeps), (Status::Converged, 1), "{multiclass:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn any_table_has_a_certified_optimum_or_an_error(
        (table, labels, weights) in odd_table(3), softmax: bool, power in -3i32..4, intercept: bool,
    ) {
        let labels: Vec<f64> = labels.iter().enumerate().map(|(i, y)| if *y > 0.0 { 0.0 } else { (i % 3) as f64 }).collect();
        let (store, plain) = store_of(&table, &labels, &weights);
        let multiclass = if softmax { Multiclass::Softmax } else { Multiclass::CrammerSinger };
        let objective = objective(multiclass, 10f64.powi(power), intercept);
        let options = TrainOptions { max_passes: 2000, ..options(&objective, Solver::Auto, 1e-6) };
        match train(store, &options, &Budget::unlimited(), &mut ()) {
            Err(error) => {
                prop_assert!(matches!(error, TrainError::NoWeight) && weights.iter().all(|w| *w == 0.0), "{error}");
            }
            Ok(trained) => {
                let f = value(&plain, &objective, &trained.weights);
                let nothing = value(&plain, &objective, &vec![0.0; 3 * (table[0].len() + 1)]);
                prop_assert!(f <= nothing * (1.0 + 1e-12) + 1e-300, "worse than no model: {f} {nothing}");
                let gap = trained.certificate.objective - trained.certificate.dual_objective;
                let certified = trained.status == Status::Converged || gap <= 1e-6 * nothing + 1e-4 * f;
                prop_assert!(certified, "{multiclass:?} {:?} {:?}", trained.status, trained.certificate);
                prop_assert!((f - trained.certificate.objective).abs() <= 1e-6 * (f.abs() + 1e-6 * nothing));
            }
        }
    }
}

/// A request to stop makes itself at any look: what comes of it is certified, as little as it may be.
#[test]
fn runs_that_are_broken_off_are_certified() {
    for (multiclass, solver) in
        [(Multiclass::Softmax, Solver::Newton), (Multiclass::CrammerSinger, Solver::Multipliers)]
    {
        let rows = rows(300, true, 0);
        let (store, objective) = (store(&rows, true, 3), objective(multiclass, 3.0, true));
        let run = |stop: Stop| {
            let options = TrainOptions { stop, ..options(&objective, solver, 1e-9) };
            let trained = train(store.clone(), &options, &Budget::unlimited(), &mut ());
            (trained, options.stop.looks())
        };
        let (whole, all_looks) = run(Stop::default());
        let optimum = whole.unwrap().certificate.objective;
        let mut interrupted = 0;
        for look in 1..=all_looks {
            let name = format!("{multiclass:?}, look {look} of {all_looks}");
            let (trained, looks) = run(Stop::at_look(look));
            assert!(looks <= look + 20, "{name}: {looks}");
            let trained = trained.unwrap();
            let (found, certificate) = (value(&rows, &objective, &trained.weights), trained.certificate);
            assert!((found - certificate.objective).abs() <= 1e-9 * found, "{name}: {found} {certificate:?}");
            assert!(certificate.dual_objective <= optimum * (1.0 + 1e-9), "{name}: {optimum} {certificate:?}");
            interrupted += u64::from(trained.status == Status::Interrupted);
        }
        assert!(interrupted > 3, "{multiclass:?}: {interrupted} of {all_looks}");
    }
}
