//! Rows that are visited in several parts at the same time: the same certified optimum as in one part, and the same
//! bits for any number of threads.
use std::sync::Arc;

use crate::labelled::Random;
use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::budget::Budget;
use towline::loss::{ALL, AnyLoss, Hinge};
use towline::objective::{Objective, Targets};
use towline::store::MemoryStore;
use towline::trainer::{Plan, Solver, Status, Task, TrainError, TrainOptions, Trained, train};

/// Rows with a few frequent features that all of them have in common, and rare ones.
fn store(rows: usize, columns: usize, values: usize, blocks: usize) -> Arc<MemoryStore> {
    let mut random = Random(4711);
    let mut make = |count: usize, first: usize| {
        let mut block = Block::new(Layout::new(false, ValueKind::F32), columns);
        for id in first..first + count {
            let mut row: Vec<(u32, f64)> = (0..values)
                .map(|_| {
                    // Frequent columns come first.
                    let column = (random.fraction().powi(3) * columns as f64) as u32;
                    (column, f64::from((random.fraction() - 0.3) as f32))
                })
                .collect();
            row.sort_by_key(|value| value.0);
            row.dedup_by_key(|value| value.0);
            let signal: f64 = row.iter().map(|&(j, x)| x * (f64::from(j % 7) - 3.0)).sum();
            let noise = 4.0 * (random.fraction() - 0.5);
            let label = if signal + noise > 0.0 { 1.0 } else { -1.0 };
            block.push(RowInfo { label, weight: 1.0 + (id % 2) as f64, group: 0, id: id as u64 }, row);
        }
        block
    };
    let part = rows / blocks;
    Arc::new(MemoryStore::new((0..blocks).map(|k| make(part, k * part)).collect()))
}

fn objective(loss: AnyLoss, c: f64) -> Objective {
    let names = ["-1".to_string(), "1".to_string()];
    let targets = match loss.is_classification() {
        true => Targets::Binary { positive: 1.0, names, weights: [1.0, 1.5] },
        false => Targets::Numbers,
    };
    Objective { bias: 0.7, ..Objective::new(loss, c, targets) }
}

fn options(objective: Objective, parts: u32, threads: usize) -> TrainOptions {
    let base = TrainOptions::new(objective);
    TrainOptions { tolerance: 1e-6, max_passes: 20_000, solver: Solver::Dual, parts: Some(parts), threads, ..base }
}

fn run(store: &Arc<MemoryStore>, options: &TrainOptions) -> Trained {
    train(store.clone(), options, &Budget::unlimited(), &mut ()).unwrap()
}

#[test]
fn every_loss_ends_at_the_optimum_of_one_part_with_the_same_bits_for_any_number_of_threads() {
    let store = store(1500, 60, 12, 3);
    for &loss in ALL {
        let objective = objective(loss, 0.5);
        let one = run(&store, &options(objective.clone(), 1, 1));
        for parts in [2, 5] {
            let case = format!("{} in {parts} parts", loss.name());
            let trained = run(&store, &options(objective.clone(), parts, 1));
            assert_eq!(trained.status, Status::Converged, "{case}");
            assert!(trained.certificate.relative_gap() <= 1e-6, "{case}");
            let (found, expected) = (trained.certificate.objective, one.certificate.objective);
            assert!((found - expected).abs() <= 2e-6 * expected, "{case}: {found} {expected}");
            assert_ne!(trained.weights, one.weights, "{case}: there are parts");
            for threads in [2, 4] {
                let again = run(&store, &options(objective.clone(), parts, threads));
                assert_eq!(again.weights, trained.weights, "{case} on {threads} threads");
                assert_eq!(again.cost.visits, trained.cost.visits, "{case} on {threads} threads");
            }
        }
    }
}

#[test]
fn rare_columns_are_joined_too() {
    // More columns than are exchanged often.
    let store = store(4000, 20_000, 150, 2);
    for c in [0.05, 5.0] {
        let objective = objective(AnyLoss::Hinge(Hinge), c);
        let one = run(&store, &options(objective.clone(), 1, 1));
        let trained = run(&store, &options(objective.clone(), 3, 2));
        assert_eq!(trained.status, Status::Converged);
        let (found, expected) = (trained.certificate.objective, one.certificate.objective);
        assert!((found - expected).abs() <= 2e-6 * expected, "{found} {expected}");
        assert_eq!(run(&store, &options(objective, 3, 1)).weights, trained.weights);
    }
}

#[test]
fn parts_serve_and_keep_the_budget_where_not_all_rows_fit() {
    let store = store(24_000, 600, 180, 16);
    let objective = objective(AnyLoss::Hinge(Hinge), 0.01);
    let whole = Plan::new(&*store, &Budget::unlimited()).unwrap();
    let fixed = whole.weight_bytes + whole.dual_bytes + whole.read_ahead_bytes;
    let run = |parts: u32, share: f64| {
        let budget = Budget::new(fixed + (share * whole.resident_bytes as f64) as u64);
        let options = TrainOptions { tolerance: 1e-4, ..options(objective.clone(), parts, 2) };
        (train(store.clone(), &options, &budget, &mut ()), budget)
    };
    let (one, two) = (run(1, 0.8), run(2, 0.8));
    let (one, trained) = (one.0.unwrap(), two.0.unwrap());
    assert_eq!((one.status, trained.status), (Status::Converged, Status::Converged));
    assert!(trained.cost.passes > 1 && two.1.peak_bytes() <= two.1.limit_bytes());
    assert_ne!(one.weights, trained.weights, "there are parts");
    let (found, expected) = (trained.certificate.objective, one.certificate.objective);
    assert!((found - expected).abs() <= 2e-4 * expected, "{found} {expected}");
    // Copies of the weights would take more than rows can spare.
    let Err(TrainError::Budget(error)) = run(2, 0.3).0 else { panic!("they were not refused") };
    assert!(error.to_string().contains("training in parts"), "{error}");
}

#[test]
fn parts_are_refused_where_they_would_be_ignored() {
    let store = store(200, 20, 5, 1);
    let binary = objective(AnyLoss::Hinge(Hinge), 1.0);
    let mut several = options(binary.clone(), 2, 1);
    several.tasks.push(Task::new(Objective { c: 2.0, ..binary.clone() }));
    let with_intercept = options(Objective { intercept: true, bias: 1.0, ..binary }, 2, 1);
    for options in [several, with_intercept] {
        let found = train(store.clone(), &options, &Budget::unlimited(), &mut ()).map(drop);
        assert!(matches!(found, Err(TrainError::Parts)), "{found:?}");
    }
}
