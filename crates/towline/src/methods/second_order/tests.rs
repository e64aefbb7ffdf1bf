//! Conjugate gradients against factors of the whole Hessian, on tables that are small enough for both.
use std::slice::from_ref;
use std::sync::Arc;

use super::choose::{Candidate, Matrix, solver_of};
use super::path::train_all;
use crate::block::{Block, Layout, RowInfo, ValueKind};
use crate::budget::Budget;
use crate::engine::{Solver, Status, Task, TrainOptions, Trained};
use crate::loss::{ALL, AnyLoss};
use crate::objective::{Objective, Targets};
use crate::penalty::{AnyPenalty, L2};
use crate::store::MemoryStore;

const COLUMNS: u32 = 40;

/// Sparse rows; the first two columns are dense and in the thousands.
fn store(rows: u64, blocks: usize) -> Arc<MemoryStore> {
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut all = Vec::new();
    for id in 0..rows {
        let mut row = vec![(0, 3000.0 + 1000.0 * random()), (1, 2000.0 * random() - 1000.0)];
        for j in 2..COLUMNS {
            if random() < 0.2 {
                row.push((j, 2.0 * random() - 1.0));
            }
        }
        let signal: f64 = row.iter().skip(2).map(|(j, x)| x * (f64::from(j % 7) - 3.0)).sum::<f64>() + 1e-3 * row[1].1;
        let label = if signal + random() > 0.5 { 1.0 } else { -1.0 };
        all.push((RowInfo { label, weight: 1.0, group: 0, id }, row));
    }
    let block = |rows: &[(RowInfo, Vec<(u32, f64)>)]| {
        let mut block = Block::new(Layout::new(false, ValueKind::F64), COLUMNS as usize);
        rows.iter().for_each(|(info, row)| block.push(*info, row.iter().copied()));
        block
    };
    Arc::new(MemoryStore::new(all.chunks(all.len().div_ceil(blocks)).map(block).collect()))
}

fn objective(loss: AnyLoss, c: f64, lambda: f64, intercept: bool) -> Objective {
    let targets = match loss.is_classification() {
        true => Targets::Binary { positive: 1.0, names: ["a".into(), "b".into()], weights: [1.0, 1.5] },
        false => Targets::Numbers,
    };
    let penalty = AnyPenalty::L2(L2 { lambda });
    let bias = if intercept { 1.0 } else { 0.0 };
    Objective { penalty, intercept, bias, ..Objective::new(loss, c, targets) }
}

fn by(matrix: Matrix, objective: &Objective, in_memory: bool) -> Candidate {
    let solver = match solver_of(objective) {
        Some(Solver::Multipliers) => Solver::Multipliers,
        _ => Solver::Newton,
    };
    Candidate { solver, matrix, sweeps: 1.0, after_dual: false, in_memory, is_last_resort: false }
}

fn run(store: &Arc<MemoryStore>, objectives: &[Objective], how: &Candidate, threads: usize) -> Vec<Trained> {
    let tasks: Vec<Task> = objectives.iter().map(|objective| Task::new(objective.clone())).collect();
    let options = TrainOptions { tolerance: 1e-6, threads, ..TrainOptions::new(objectives[0].clone()) };
    train_all(store.clone(), &tasks, how, &options, &Budget::unlimited(), &mut ()).unwrap()
}

#[test]
fn conjugate_gradients_agree_with_factors() {
    let store = store(200, 1);
    let mut wrong = Vec::new();
    for &loss in ALL {
        for (c, lambda, intercept) in [(1e-3, 1.0, true), (1.0, 0.1, false), (1e3, 1.0, true), (1.0, 30.0, true)] {
            let objective = objective(loss, c, lambda, intercept);
            let name = format!("{} C={c} lambda={lambda} intercept={intercept}", loss.name());
            if c > 1.0 && solver_of(&objective) == Some(Solver::Multipliers) {
                // Rows that can be separated are for interior points, which need a factor.
                continue;
            }
            let exact = run(&store, from_ref(&objective), &by(Matrix::Features, &objective, true), 1).swap_remove(0);
            for heavy in [1, 8] {
                let how = by(Matrix::Heavy(heavy), &objective, true);
                let found = run(&store, from_ref(&objective), &how, 1).swap_remove(0);
                let (a, b) = (exact.certificate.objective, found.certificate.objective);
                if found.status != Status::Converged || (a - b).abs() > 2e-6 * a {
                    wrong.push(format!("{name}, {heavy} heavy: {a} and {:?}", found.certificate));
                }
                let betas = found.duals.values().unwrap();
                let (sum, size): (f64, f64) = (betas.iter().sum(), betas.iter().map(|beta| beta.abs()).sum());
                if objective.intercept && sum.abs() > 1e-9 * size {
                    wrong.push(format!("{name}, {heavy} heavy: dual variables sum to {sum} of {size}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn models_that_train_together_read_the_rows_once_for_all_of_them() {
    let store = store(600, 6);
    for name in ["logistic", "hinge"] {
        let loss = AnyLoss::named(name).unwrap();
        let objectives = [0.01, 0.1, 1.0].map(|c| objective(loss, c, 1.0, true));
        for matrix in [Matrix::Heavy(4), Matrix::Features] {
            // Rows near their kinks take all memory that is left.
            let is_one_by_one = name == "hinge" && matrix == Matrix::Features;
            let how = by(matrix, &objectives[0], false);
            let alone: Vec<Trained> =
                objectives.iter().map(|one| run(&store, from_ref(one), &how, 1).swap_remove(0)).collect();
            let most = alone.iter().map(|trained| trained.cost.passes).max().unwrap();
            for threads in [1, 3] {
                let together = run(&store, &objectives, &how, threads);
                for (a, b) in alone.iter().zip(&together) {
                    assert_eq!((a.status, &a.weights), (Status::Converged, &b.weights), "{name} {matrix:?}");
                }
                let passes = together.iter().map(|trained| trained.cost.passes).max().unwrap();
                assert!(is_one_by_one || passes <= most, "{name} {matrix:?}: {passes} passes, alone at most {most}");
            }
        }
    }
}

#[test]
fn models_in_memory_do_not_depend_on_threads() {
    let store = store(300, 2);
    for name in ["logistic", "hinge"] {
        let loss = AnyLoss::named(name).unwrap();
        let objectives = [0.01, 0.03, 0.1, 0.3, 1.0].map(|c| objective(loss, c, 1.0, true));
        let how = by(Matrix::Features, &objectives[0], true);
        let alone = run(&store, &objectives, &how, 1);
        for threads in [2, 3, 8] {
            for (a, b) in alone.iter().zip(run(&store, &objectives, &how, threads)) {
                assert_eq!((a.status, &a.weights), (Status::Converged, &b.weights), "{name} {threads}");
                assert_eq!(a.duals.values().unwrap(), b.duals.values().unwrap(), "{name} {threads}");
            }
        }
    }
}

#[test]
fn scans_find_what_memory_finds() {
    let store = store(400, 5);
    for name in ["squared-hinge", "hinge"] {
        let objective = objective(AnyLoss::named(name).unwrap(), 1.0, 1.0, false);
        let of =
            |in_memory| run(&store, from_ref(&objective), &by(Matrix::Heavy(4), &objective, in_memory), 1).remove(0);
        let (inside, scanned) = (of(true), of(false));
        assert_eq!((inside.status, scanned.status), (Status::Converged, Status::Converged), "{name}");
        assert!(inside.cost.passes <= 2 && scanned.cost.passes > 5);
        let (a, b) = (inside.certificate.objective, scanned.certificate.objective);
        assert!((a - b).abs() <= 2e-6 * a, "{name}: {a} and {b}");
    }
}
