//! Paths begin exactly where the first weight leaves 0, and every point is the optimum that a run of its own would
//! find.

use crate::labelled::loss;
use std::sync::Arc;

use crate::rows::{COLUMNS, budget, objective, penalty, rows, store};
use towline::budget::Budget;
use towline::loss::{ALL, AnyLoss, Loss};
use towline::objective::Objective;
use towline::penalty::{AnyPenalty, Penalty};
use towline::store::BlockStore;
use towline::trainer::{
    Cost, LambdaMax, PathState, Solver, Status, Task, TrainError, TrainOptions, Trained, WarmState, lambda_max, path,
    train,
};

const PENALTIES: [&str; 3] = ["l1", "elastic-net", "group"];

fn options(objective: Objective) -> TrainOptions {
    TrainOptions { tolerance: 1e-7, max_passes: 20_000, seed: 1, solver: Solver::Dual, ..TrainOptions::new(objective) }
}

/// Walks along these points, and shows each model with its number.
fn walk(
    store: &Arc<dyn BlockStore>,
    points: &[Objective],
    tolerance: f64,
    along: Option<WarmState>,
    budget: &Budget,
    mut each: impl FnMut(usize, &Trained),
) -> Cost {
    let tasks = points.iter().cloned().map(Task::new).collect();
    let options = TrainOptions { tasks, tolerance, ..options(points[0].clone()) };
    let each = &mut |first: usize, trained: &[Trained]| {
        trained.iter().enumerate().for_each(|(k, trained)| each(first + k, trained));
        Ok::<(), TrainError>(())
    };
    path(store.clone(), &options, PathState::from(along), budget, &mut (), each).unwrap()
}

fn with_lambda(objective: &Objective, lambda: f64) -> Objective {
    Objective { penalty: objective.penalty.with_lambda(lambda), ..objective.clone() }
}

/// Weights that are not 0, the constant feature aside if it is free of the penalty.
fn nonzeros(trained: &Trained, objective: &Objective) -> usize {
    let penalised = COLUMNS + usize::from(!objective.intercept);
    trained.weights[..penalised].iter().filter(|&&w| w != 0.0).count()
}

#[test]
fn the_largest_lambda_is_where_the_first_weight_leaves_zero() {
    for &loss in ALL.iter().filter(|loss| loss.curvature().is_finite()) {
        let rows = rows(loss.is_classification());
        for name in PENALTIES {
            for intercept in [false, true] {
                let base = objective(loss, name, intercept);
                let zero = lambda_max(store(&rows, 3), &Task::new(base.clone()), &Budget::unlimited()).unwrap();
                assert_eq!(zero.passes, if intercept { 2 } else { 1 });
                let largest = zero.largest_lambda.unwrap();
                let run = |part: f64| {
                    let objective = with_lambda(&base, part * largest);
                    train(store(&rows, 1), &options(objective), &Budget::unlimited(), &mut ()).unwrap()
                };
                let case = format!("{} {name}, intercept {intercept}", loss.name());
                assert_eq!(nonzeros(&run(1.0001), &base), 0, "{case}");
                assert!(nonzeros(&run(0.99), &base) > 0, "{case}");
            }
        }
    }
}

/// On kinks with an intercept another dual point may allow a smaller λ, but w = 0 is optimal at this one.
#[test]
fn weights_are_zero_at_the_beginning_also_where_the_loss_has_kinks() {
    for &loss in ALL {
        let rows = rows(loss.is_classification());
        for intercept in [false, true] {
            let base = objective(loss, "l1", intercept);
            let store: Arc<dyn BlockStore> = store(&rows, 3);
            let zero = lambda_max(store.clone(), &Task::new(base.clone()), &Budget::unlimited()).unwrap();
            let first = with_lambda(&base, zero.largest_lambda.unwrap());
            let mut gaps = Vec::new();
            walk(&store, &[first], 1e-7, Some(zero.along), &Budget::unlimited(), |_, trained| {
                gaps.push((trained.certificate.relative_gap(), trained.cost.sweeps));
            });
            // The state at the beginning is certified as it is: not a sweep is needed.
            assert!(gaps[0].0 < 1e-10 && gaps[0].1 == 0, "{} intercept {intercept}: {gaps:?}", loss.name());
        }
    }
}

#[test]
fn penalties_without_a_kink_have_no_beginning() {
    let rows = rows(true);
    for name in ["l2", "none"] {
        let zero =
            lambda_max(store(&rows, 1), &Task::new(objective(loss("logistic"), name, false)), &Budget::unlimited())
                .unwrap();
        assert_eq!(zero.largest_lambda, None, "{name}");
    }
    let ridge = AnyPenalty::from_name("elastic-net", 1.0, 0.0, None).unwrap();
    assert_eq!(ridge.least_lambda(&[1.0]), None);
}

#[test]
fn every_point_is_what_a_run_of_its_own_finds() {
    let rows = rows(true);
    for (name, intercept) in [("l1", true), ("group", false), ("l2", false), ("l2", true)] {
        for blocks in [1, 20] {
            let base = objective(loss("squared-hinge"), name, intercept);
            let memory = store(&rows, blocks);
            let store: Arc<dyn BlockStore> = memory.clone();
            let points: Vec<Objective> = [20.0, 8.0, 3.0, 1.0].iter().map(|&l| with_lambda(&base, l)).collect();
            // What goes on from point to point is paid for, too.
            let held = Budget::new(budget(&memory, &base, blocks == 1).limit_bytes() + 8 * (2 * 25 + 160));
            let mut objectives = Vec::new();
            let cost = walk(&store, &points, 1e-7, None, &held, |number, trained| {
                assert_eq!((trained.status, number), (Status::Converged, objectives.len()), "{name}");
                objectives.push(trained.certificate.objective);
            });
            assert!(blocks > 1 || cost.passes == 1, "in memory rows are read once, and not {} times", cost.passes);
            assert!(held.peak_bytes() <= held.limit_bytes());
            for (point, found) in points.iter().zip(&objectives) {
                let budget = budget(&memory, point, blocks == 1);
                let trained = train(store.clone(), &options(point.clone()), &budget, &mut ()).unwrap();
                let wanted = trained.certificate.objective;
                assert!((found - wanted).abs() <= 2.1e-7 * wanted, "{name} {blocks}: {found} and {wanted}");
            }
        }
    }
}

#[test]
fn points_that_there_is_no_time_for_are_left_out() {
    let memory = store(&rows(true), 1);
    let store: Arc<dyn BlockStore> = memory.clone();
    let base = objective(AnyLoss::named("logistic").unwrap(), "l2", true);
    for solver in [Solver::Dual, Solver::Newton] {
        let tasks = [20.0, 8.0, 3.0].iter().map(|&lambda| Task::new(with_lambda(&base, lambda))).collect();
        let max_time = Some(std::time::Duration::from_nanos(1));
        let options = TrainOptions { tasks, solver, max_time, threads: 1, ..options(base.clone()) };
        let mut statuses = Vec::new();
        let each = &mut |_: usize, trained: &[Trained]| {
            statuses.extend(trained.iter().map(|trained| trained.status));
            Ok::<(), TrainError>(())
        };
        path(store.clone(), &options, PathState::from(None), &Budget::unlimited(), &mut (), each).unwrap();
        assert_eq!(statuses, [Status::OutOfTime], "{solver:?}");
    }
}

#[test]
fn a_path_costs_little_more_reading_than_its_last_point() {
    let rows = rows(true);
    let base = objective(loss("logistic"), "l1", false);
    let memory = store(&rows, 20);
    let store: Arc<dyn BlockStore> = memory.clone();
    let options = |objective: Objective| TrainOptions { tolerance: 1e-3, ..options(objective) };
    let largest = |zero: &LambdaMax| zero.largest_lambda.unwrap();
    let zero = || lambda_max(store.clone(), &Task::new(base.clone()), &Budget::unlimited()).unwrap();
    let points: Vec<Objective> =
        (0..20).map(|k| with_lambda(&base, largest(&zero()) * 1e-2f64.powf(f64::from(k) / 19.0))).collect();
    let limit = budget(&memory, &base, false).limit_bytes() + 8 * (2 * 25 + 160);
    let budget = Budget::new(limit);
    let mut most = 0;
    let tasks = points.iter().cloned().map(Task::new).collect();
    let each = &mut |_: usize, trained: &[Trained]| {
        most = trained.len().max(most);
        assert!(trained.iter().all(|trained| trained.status == Status::Converged));
        Ok::<(), TrainError>(())
    };
    let along = TrainOptions { tasks, ..options(base.clone()) };
    let cost = path(store.clone(), &along, PathState::from(Some(zero().along)), &budget, &mut (), each).unwrap();
    assert!(budget.peak_bytes() <= limit);
    assert!((2..20).contains(&most), "{most} trained together");
    let alone = |point: &Objective| {
        train(store.clone(), &options(point.clone()), &Budget::new(limit), &mut ()).unwrap().cost.passes
    };
    let (last, all) = (alone(&points[19]), points.iter().map(alone).sum::<u64>());
    assert!(cost.passes <= 8 * last && 2 * cost.passes < all, "{}, {last} for the last, {all} for all", cost.passes);
}

#[test]
fn another_c_starts_from_scaled_dual_variables() {
    let rows = rows(true);
    let store: Arc<dyn BlockStore> = store(&rows, 1);
    for name in ["l2", "l1"] {
        let base = objective(loss("hinge"), name, false);
        let points: Vec<Objective> = [0.1, 0.3, 1.0].iter().map(|&c| Objective { c, ..base.clone() }).collect();
        let mut found = Vec::new();
        walk(&store, &points, 1e-7, None, &Budget::unlimited(), |_, trained| {
            found.push((trained.status, trained.certificate.objective));
        });
        for (point, (status, objective)) in points.iter().zip(found) {
            let wanted = train(store.clone(), &options(point.clone()), &Budget::unlimited(), &mut ()).unwrap();
            let wanted = wanted.certificate.objective;
            assert!(status == Status::Converged && (objective - wanted).abs() <= 2.1e-7 * wanted, "{name} {}", point.c);
        }
    }
}

#[test]
fn the_dual_norm_is_the_least_lambda_of_the_definition() {
    let v: Vec<f64> = (0..=COLUMNS).map(|j| (j as f64 * 0.7).sin()).collect();
    for name in PENALTIES {
        let penalty = penalty(name);
        let least = penalty.least_lambda(&v).unwrap();
        assert_eq!(penalty.with_lambda(least * (1.0 + 1e-9)).conjugate(&v, 1.0), 0.0, "{name}");
        assert!(penalty.with_lambda(least * (1.0 - 1e-6)).conjugate(&v, 1.0) > 0.0, "{name}");
    }
}
