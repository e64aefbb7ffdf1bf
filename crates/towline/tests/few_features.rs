//! Rows that do not fit into memory do so with few of their features: the same certified optimum in fewer passes,
//! inside the budget.
use crate::labelled::Random;
use crate::labelled::loss;
use std::sync::Arc;

use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::budget::Budget;
use towline::loss::{ALL, AnyLoss, Loss};
use towline::objective::{Objective, Targets};
use towline::penalty::AnyPenalty;
use towline::store::MemoryStore;
use towline::trainer::{
    PathState, Plan, Solver, Status, Task, TrainError, TrainOptions, Trained, lambda_max, path, train, train_all,
};

const ROWS: u64 = 300;
const COLUMNS: u32 = 4000;
const BLOCKS: u64 = 60;

/// Rows of about 200 random features, eight of which explain the label in part.
fn store(classes: bool) -> Arc<MemoryStore> {
    let mut source = Random(5);
    let mut random = move || source.fraction();
    let layout = Layout::new(false, ValueKind::F32);
    let mut blocks: Vec<Block> = (0..BLOCKS).map(|_| Block::new(layout, COLUMNS as usize)).collect();
    for id in 0..ROWS {
        let mut row: Vec<(u32, f64)> = Vec::new();
        for column in 0..COLUMNS {
            if random() < if column < 8 { 0.5 } else { 0.05 } {
                row.push((column, f64::from((random() * 2.0 - 1.0) as f32)));
            }
        }
        let explained: f64 = row.iter().filter(|(j, _)| *j < 8).map(|&(j, x)| x * (f64::from(j) - 3.2)).sum();
        let signal = explained + 0.3 + 0.5 * (random() - 0.5);
        let label = if classes { signal.signum() } else { signal };
        let info = RowInfo { label, weight: 0.5 + (id % 3) as f64, group: 0, id };
        blocks[(id * BLOCKS / ROWS) as usize].push(info, row);
    }
    Arc::new(MemoryStore::new(blocks))
}

fn objective(loss: AnyLoss, penalty: &str, lambda: f64, intercept: bool) -> Objective {
    let names = ["-1".to_string(), "1".to_string()];
    let targets = match loss.is_classification() {
        true => Targets::Binary { positive: 1.0, names, weights: [1.0, 1.5] },
        false => Targets::Numbers,
    };
    let penalty = AnyPenalty::from_name(penalty, lambda, 0.8, None).unwrap();
    Objective { bias: if intercept { 1.0 } else { 0.5 }, penalty, intercept, ..Objective::new(loss, 1.0, targets) }
}

/// A fifth of the rows beside what is fixed.
fn little(store: &MemoryStore, objective: &Objective, models: u64) -> Budget {
    let plan = |budget: &Budget| Plan::for_models(store, objective, models, budget).unwrap();
    let whole = plan(&Budget::unlimited());
    let fixed = whole.weight_bytes + whole.dual_bytes + whole.read_ahead_bytes;
    let budget = Budget::new(fixed + whole.resident_bytes / 5);
    assert!(!plan(&budget).in_memory);
    budget
}

fn run(store: &Arc<MemoryStore>, objective: &Objective, budget: &Budget, working_set: bool) -> Trained {
    let base = TrainOptions {
        tolerance: 1e-6,
        max_passes: 20_000,
        solver: Solver::Dual,
        ..TrainOptions::new(objective.clone())
    };
    let trained = train(store.clone(), &TrainOptions { working_set, ..base }, budget, &mut ()).unwrap();
    assert_eq!(trained.status, Status::Converged, "{:?}", trained.certificate);
    assert!(budget.peak_bytes() <= budget.limit_bytes());
    trained
}

#[test]
fn few_features_end_at_the_same_optimum_in_fewer_passes() {
    for loss in ALL.iter().copied().filter(|loss| loss.curvature().is_finite()) {
        let store = store(loss.is_classification());
        for (penalty, intercept) in [("l1", false), ("elastic-net", false), ("l1", true)] {
            let case = format!("{} {penalty}, intercept {intercept}", loss.name());
            let objective = objective(loss, penalty, 6.0, intercept);
            let whole = run(&store, &objective, &Budget::unlimited(), true);
            let few = run(&store, &objective, &little(&store, &objective, 1), true);
            let many = run(&store, &objective, &little(&store, &objective, 1), false);
            let zeros = whole.weights.iter().filter(|&&w| w == 0.0).count();
            assert!(zeros > COLUMNS as usize / 2, "{case}: {zeros} weights are 0");
            for found in [&few, &many] {
                let (a, b) = (found.certificate, whole.certificate);
                assert!((a.objective - b.objective).abs() <= 1.1e-6 * b.objective, "{case}: {a:?} and {b:?}");
                assert!(a.dual_objective <= b.objective * (1.0 + 1e-12), "{case}: {a:?} and {b:?}");
            }
            assert!(few.cost.passes <= 16, "{case}: {} passes", few.cost.passes);
            assert!(2 * few.cost.passes <= many.cost.passes, "{case}: {}, {}", few.cost.passes, many.cost.passes);
        }
    }
}

#[test]
fn models_that_train_together_share_what_is_gathered() {
    let store = store(true);
    let lambdas = [12.0, 9.0, 6.0];
    let objectives = lambdas.map(|lambda| objective(loss("squared-hinge"), "l1", lambda, false));
    let tasks = objectives.iter().cloned().map(Task::new).collect();
    let options =
        TrainOptions { tasks, tolerance: 1e-6, solver: Solver::Dual, ..TrainOptions::new(objectives[0].clone()) };
    let budget = little(&store, &objectives[0], 3);
    let together = train_all(store.clone(), &options, &budget, &mut ()).unwrap();
    assert!(budget.peak_bytes() <= budget.limit_bytes());
    for (found, objective) in together.iter().zip(&objectives) {
        assert_eq!(found.status, Status::Converged);
        assert!(found.cost.passes <= 20, "{} passes for all", found.cost.passes);
        let alone = run(&store, objective, &Budget::unlimited(), true);
        let (a, b) = (found.certificate.objective, alone.certificate.objective);
        assert!((a - b).abs() <= 1.1e-6 * b, "{a} and {b}");
    }
}

#[test]
fn along_a_path_a_point_takes_one_pass_where_what_was_gathered_for_another_will_do() {
    for intercept in [false, true] {
        let store = store(true);
        let base = objective(loss("squared-hinge"), "l1", 1.0, intercept);
        let zero = lambda_max(store.clone(), &Task::new(base.clone()), &Budget::unlimited()).unwrap();
        let largest = zero.largest_lambda.unwrap();
        let at = |k: i32| largest * 0.87f64.powi(k);
        let objectives: Vec<Objective> =
            (0..12).map(|k| objective(loss("squared-hinge"), "l1", at(k), intercept)).collect();
        let tasks = objectives.iter().cloned().map(Task::new).collect();
        let options = TrainOptions { tasks, tolerance: 1e-6, solver: Solver::Dual, ..TrainOptions::new(base) };
        // Beside what the point before leaves there is room for one model at a time.
        let kept = 8 * (2 * (u64::from(COLUMNS) + 1) + ROWS);
        let budget = Budget::new(little(&store, &objectives[0], 1).limit_bytes() + kept);
        let mut passes = Vec::new();
        let each = &mut |first: usize, trained: &[Trained]| {
            assert_eq!((trained.len(), trained[0].status), (1, Status::Converged), "point {first}");
            let alone = run(&store, &objectives[first], &Budget::unlimited(), true);
            let (a, b) = (trained[0].certificate.objective, alone.certificate.objective);
            assert!((a - b).abs() <= 1.1e-6 * b, "point {first}: {a} and {b}");
            passes.push(trained[0].cost.passes);
            Ok::<(), TrainError>(())
        };
        path(store.clone(), &options, PathState::from(Some(zero.along)), &budget, &mut (), each).unwrap();
        assert!(budget.peak_bytes() <= budget.limit_bytes());
        let alone = run(&store, &objectives[11], &little(&store, &objectives[11], 1), true).cost.passes;
        assert_eq!(passes.len(), 12);
        assert!(passes.iter().filter(|&&passes| passes == 1).count() >= 4, "{passes:?}, intercept {intercept}");
        assert!(passes.iter().sum::<u64>() <= 4 * alone, "{passes:?} and {alone}, intercept {intercept}");
    }
}
