//! Group lasso and the nuclear norm from sums over rows: the optimum of coordinate descent, from one scan, whatever the
//! scale of columns.

use std::sync::Arc;

use crate::labelled::Random;
use proptest::prelude::*;
use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::budget::Budget;
use towline::cv::{Comparison, Folds, cross_validate};
use towline::loss::AnyLoss;
use towline::objective::{Objective, Targets};
use towline::penalty::{AnyPenalty, GroupMap, Penalty};
use towline::store::MemoryStore;
use towline::trainer::{Choice, Solver, Status, TrainOptions, Trained, train};

const COLUMNS: usize = 12;

/// Numbers that follow two directions; columns are from 10^-stretch to 10^stretch, the last ones are constant and twice
/// the same.
fn store(outputs: usize, rows: usize, stretch: i32) -> Arc<MemoryStore> {
    let mut random = Random(2);
    let layout = Layout::new(true, ValueKind::F32).with_targets(outputs as u32);
    let mut block = Block::new(layout, COLUMNS);
    for id in 0..rows as u64 {
        let mut x: Vec<f64> = (0..COLUMNS).map(|_| random.fraction() - 0.3).collect();
        let (first, second) = (x[0] + x[1] - x[2], x[3] - 0.5 * x[5]);
        let y: Vec<f64> =
            (0..outputs).map(|k| 2.0 + first * (k as f64 - 1.0) + second + 0.3 * (random.fraction() - 0.5)).collect();
        (x[COLUMNS - 1], x[COLUMNS - 2]) = (1.0, x[0]);
        let scale = |j: usize| 10f64.powi(if stretch == 0 { 0 } else { j as i32 % (2 * stretch + 1) - stretch });
        block.add_further(&y[1..]);
        let info = RowInfo { label: y[0], weight: (id % 3) as f64, group: 0, id };
        block.push(info, x.iter().enumerate().map(|(j, x)| (j as u32, x * scale(j))));
    }
    Arc::new(MemoryStore::new(vec![block]))
}

fn objective(name: &str, lambda: f64, outputs: usize, intercept: bool) -> Objective {
    let groups = GroupMap::new((0..=COLUMNS as u32).map(|j| j / 3).collect(), vec![1.0, 1.3, 0.8, 1.0, 1.0]).unwrap();
    let penalty = AnyPenalty::from_name(name, lambda, 0.5, Some(groups)).unwrap().for_outputs(outputs);
    let targets = match outputs {
        1 => Targets::Numbers,
        _ => Targets::Several { names: (0..outputs).map(|k| k.to_string()).collect() },
    };
    let loss = AnyLoss::named("squared").unwrap();
    let bias = if intercept { 1.0 } else { 0.5 };
    Objective { bias, penalty, intercept, ..Objective::new(loss, 1.0, targets) }
}

fn run(store: &Arc<MemoryStore>, objective: &Objective, solver: Solver, tolerance: f64) -> Trained {
    let options = TrainOptions { tolerance, solver, max_passes: 50_000, ..TrainOptions::new(objective.clone()) };
    train(store.clone(), &options, &Budget::unlimited(), &mut ()).unwrap()
}

#[test]
fn both_end_where_coordinate_descent_does() {
    for outputs in [1, 3] {
        let store = store(outputs, 200, 0);
        for (name, lambda) in [("group", 3.0), ("group", 20.0), ("nuclear", 3.0), ("nuclear", 20.0)] {
            for intercept in [false, true] {
                let objective = objective(name, lambda, outputs, intercept);
                let name = format!("{name} {lambda}, {outputs} outputs, intercept {intercept}");
                let chosen = Choice::new(&*store, &objective, Solver::Auto, &Budget::unlimited()).unwrap();
                assert_eq!(chosen.solver, Solver::Gram, "{name}");
                let found = run(&store, &objective, Solver::Auto, 1e-7);
                assert_eq!(
                    (found.status, found.cost.passes),
                    (Status::Converged, 1),
                    "{name}: {:?}",
                    found.certificate
                );
                let dual = run(&store, &objective, Solver::Dual, 1e-6);
                let (a, b) = (found.certificate.objective, dual.certificate.objective);
                assert!(
                    a <= b * (1.0 + 1e-7) && a >= dual.certificate.dual_objective * (1.0 - 1e-9),
                    "{name}: {a} {b}"
                );
                let zeros = found.weights.iter().filter(|w| **w == 0.0).count();
                assert!(zeros >= 3 * outputs || !name.starts_with("group 2"), "{name}: {zeros} zeros");
            }
        }
    }
}

#[test]
fn folds_of_groups_take_one_scan() {
    let store = store(1, 300, 0);
    let objectives = [0.1, 1.0, 10.0].map(|c| Objective { c, ..objective("group", 2.0, 1, true) });
    let folds = Arc::new(Folds::new(4, 1, false));
    let validate = |solver: Solver| {
        let base =
            TrainOptions { solver, tolerance: 1e-7, max_passes: 50_000, ..TrainOptions::new(objectives[0].clone()) };
        cross_validate(
            store.clone(),
            &objectives,
            folds.clone(),
            Comparison::default(),
            &base,
            &Budget::unlimited(),
            &mut (),
        )
        .unwrap()
    };
    let (sums, models) = (validate(Solver::Auto), validate(Solver::Dual));
    assert_eq!(sums.cost.passes, 1);
    for (a, b) in sums.points.iter().zip(&models.points) {
        assert!((a.mean - b.mean).abs() < 1e-4 * b.mean, "{a:?} {b:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    /// Fewer rows than features, rows of weight 0, columns of any scale: certified, and never worse than no model.
    #[test]
    fn tables_of_any_scale_are_certified(
        rows in 4usize..60, stretch in 0i32..4, power in -3i32..4, several: bool, nuclear: bool, intercept: bool,
    ) {
        let outputs = if several { 3 } else { 1 };
        let store = store(outputs, rows, stretch);
        let name = if nuclear { "nuclear" } else { "group" };
        let objective = Objective { c: 10f64.powi(power), ..objective(name, 1.0, outputs, intercept) };
        let found = run(&store, &objective, Solver::Gram, 1e-6);
        prop_assert_eq!(found.status, Status::Converged, "{:?}", found.certificate);
        let penalised = found.weights.len() - if intercept { outputs } else { 0 };
        let of_penalty = objective.penalty.value(&found.weights[..penalised]);
        prop_assert!(of_penalty <= found.certificate.objective * (1.0 + 1e-9));
    }
}
