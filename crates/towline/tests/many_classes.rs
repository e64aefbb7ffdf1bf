//! Crammer–Singer with so many classes that dual variables are kept as pairs: the optimum from the definitions, the
//! budget, and going on.

use crate::labelled::loss;
use std::sync::Arc;

use crate::labelled::Random;
use towline::block::{Block, Layout, RowInfo};
use towline::budget::Budget;
use towline::loss::classes::{ClassLoss, CrammerSinger};
use towline::objective::{Classes, Multiclass, Objective, Targets};
use towline::store::MemoryStore;
use towline::trainer::{
    Checkpoint, CheckpointFile, Plan, Solver, Start, Status, StoreFingerprint, Task, TrainError, TrainOptions, Trained,
    train,
};

const CLASSES: usize = 40;
const COLUMNS: usize = 120;
const ROWS: usize = 1200;

type PlainRow = (RowInfo, Vec<(u32, f64)>);

/// Each class has three columns of its own, most of the time; the others are noise.
fn rows() -> Vec<PlainRow> {
    let mut random = Random(5);
    let row = |id: usize| {
        let class = (random.next() % CLASSES as u64) as usize;
        let mut values = [0.0; COLUMNS];
        for _ in 0..8 {
            let own = random.fraction() < 0.35;
            let column = if own { 3 * class as u64 + random.next() % 3 } else { random.next() % COLUMNS as u64 };
            values[column as usize] += f64::from((0.2 + random.fraction()) as f32);
        }
        let row = (0..).zip(values).filter(|entry| entry.1 != 0.0).map(|(j, x)| (j, f64::from(x as f32))).collect();
        (RowInfo { label: class as f64, weight: 1.0, group: 0, id: id as u64 }, row)
    };
    (0..ROWS).map(row).collect()
}

fn store(rows: &[PlainRow], columns: usize, blocks: usize) -> Arc<MemoryStore> {
    let make = |rows: &[PlainRow]| {
        let mut block = Block::new(Layout::SPARSE_F32, columns);
        rows.iter().for_each(|(info, row)| block.push(*info, row.iter().copied()));
        block
    };
    Arc::new(MemoryStore::new(rows.chunks(rows.len().div_ceil(blocks)).map(make).collect()))
}

fn objective(c: f64) -> Objective {
    let labels: Vec<f64> = (0..CLASSES).map(|class| class as f64).collect();
    let names = labels.iter().map(f64::to_string).collect();
    let classes = Classes::new(labels, names, vec![1.0; CLASSES]);
    Objective::new(loss("hinge"), c, Targets::Classes { classes, multiclass: Multiclass::CrammerSinger })
}

fn task(c: f64) -> Task {
    Task::new(objective(c))
}

fn options(task: Task) -> TrainOptions {
    TrainOptions { tolerance: 1e-6, max_passes: 20_000, seed: 1, solver: Solver::Dual, ..TrainOptions::of(task) }
}

/// Primal and dual objective from the definitions, with dense dual variables.
fn sides(rows: &[PlainRow], c: f64, trained: &Trained) -> (f64, f64) {
    let w = &trained.weights;
    let mut v = vec![0.0; w.len()];
    let (mut primal, mut dual) = (0.5 * w.iter().map(|w| w * w).sum::<f64>(), 0.0);
    let duals = trained.duals.values().unwrap();
    for ((info, row), beta) in rows.iter().zip(duals.chunks(CLASSES)) {
        let class = info.label as usize;
        let margin = |m: usize| row.iter().map(|&(j, x)| w[j as usize * CLASSES + m] * x).sum::<f64>();
        primal += c * CrammerSinger.value(class, &(0..CLASSES).map(margin).collect::<Vec<_>>());
        dual += CrammerSinger.dual_value(class, beta, c);
        assert!(beta.iter().sum::<f64>().abs() < 1e-9 * c && beta[class] <= c, "{beta:?}");
        assert!((0..CLASSES).all(|m| m == class || beta[m] <= 0.0), "{beta:?}");
        row.iter().for_each(|&(j, x)| (0..CLASSES).for_each(|m| v[j as usize * CLASSES + m] += beta[m] * x));
    }
    (primal, dual - 0.5 * v.iter().map(|v| v * v).sum::<f64>())
}

#[test]
fn pairs_reach_the_optimum_in_memory_and_on_disk_inside_the_budget() {
    let rows = rows();
    let mut optima = Vec::new();
    let mut places = Vec::new();
    for (blocks, part) in [(1, 1.0), (8, 0.5), (20, 0.0)] {
        let store = store(&rows, COLUMNS, blocks);
        let whole = Plan::for_models(&*store, &objective(1.0), 1, &Budget::unlimited()).unwrap();
        let limit = whole.least_bytes.max((whole.used_bytes() as f64 * part) as u64);
        let plan = Plan::for_models(&*store, &objective(1.0), 1, &Budget::new(limit)).unwrap();
        places.push((plan.in_memory, plan.duals_on_disk));
        let run = || {
            let budget = Budget::new(limit);
            let trained = train(store.clone(), &options(task(1.0)), &budget, &mut ()).unwrap();
            assert!(budget.peak_bytes() <= limit, "{} of {limit}", budget.peak_bytes());
            trained
        };
        let (trained, again) = (run(), run());
        assert_eq!(trained.weights, again.weights, "{blocks} blocks: to the bit");
        assert_eq!(trained.status, Status::Converged, "{blocks} blocks");
        let (primal, dual) = sides(&rows, 1.0, &trained);
        assert!(primal - dual >= -1e-9 * primal && primal - dual <= 1.01e-6 * primal, "{primal} {dual}");
        assert!((trained.certificate.dual_objective - dual).abs() <= 1e-9 * primal);
        optima.push(primal);
        let pairs = trained.duals.values().unwrap().iter().filter(|beta| **beta != 0.0).count();
        assert!(pairs < ROWS * 8, "{pairs} pairs: these rows do not show what sparse ones take");
    }
    assert_eq!(places, [(true, false), (false, true), (false, true)]);
    let (least, most) = optima.iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
    assert!(most - least <= 1e-6 * most, "{optima:?}");
}

#[test]
fn a_run_goes_on_from_pairs_in_a_checkpoint() {
    let rows = rows();
    let folder = tempfile::tempdir().unwrap();
    for (blocks, part) in [(1, 1.0), (20, 0.3)] {
        let store = store(&rows, COLUMNS, blocks);
        let whole = Plan::for_models(&*store, &objective(1.0), 1, &Budget::unlimited()).unwrap();
        let limit = whole.least_bytes.max((whole.used_bytes() as f64 * part) as u64);
        let fingerprint = StoreFingerprint { rows: ROWS as u64, generation: 1, table_checksum: 7 };
        let file = CheckpointFile::alone(folder.path().join(format!("{blocks}.duals")), fingerprint);
        let task = |start| Task { start, checkpoint: Some(file.clone()), ..task(1.0) };
        let first = train(store.clone(), &options(task(None)), &Budget::new(limit), &mut ()).unwrap();
        let bytes = std::fs::metadata(&file.path).unwrap().len();
        assert!(bytes < (ROWS * CLASSES * 8) as u64 / 3, "{bytes} bytes");

        let saved = Checkpoint::open(&file.path, (ROWS * CLASSES) as u64).unwrap().unwrap();
        let mut stored = vec![f64::NAN; ROWS * CLASSES];
        saved.duals().unwrap().next(&mut stored).unwrap();
        assert_eq!(stored, first.duals.values().unwrap(), "the checkpoint has the dual variables to the bit");
        let earlier = Some(Start::Earlier(Box::new(saved), 1.0));
        let again = train(store.clone(), &options(task(earlier)), &Budget::new(limit), &mut ()).unwrap();
        assert_eq!(again.status, Status::Converged);
        assert!(again.cost.sweeps <= 1 + first.cost.sweeps / 3, "{} {}", again.cost.sweeps, first.cost.sweeps);
        // Another C begins from the same dual variables, brought within its bounds.
        let other = Task { start: Some(Start::Duals(first.duals, 0.25)), ..Task::new(objective(0.25)) };
        let other = train(store.clone(), &options(other), &Budget::new(limit), &mut ()).unwrap();
        let (primal, dual) = sides(&rows, 0.25, &other);
        assert!(other.status == Status::Converged && primal - dual <= 1.01e-6 * primal, "{primal} {dual}");
    }
}

/// Where each row has columns of its own, all other classes are alike for it, and none of its dual variables is 0 at
/// the optimum.
#[test]
fn rows_with_all_classes_are_kept_or_the_budget_is_said_to_be_too_small() {
    let rows: Vec<PlainRow> = (0..200u32)
        .map(|id| {
            let info = RowInfo { label: f64::from(id % CLASSES as u32), weight: 1.0, group: 0, id: u64::from(id) };
            (info, vec![(2 * id, 1.0), (2 * id + 1, 0.5)])
        })
        .collect();
    let store = store(&rows, 400, 10);
    let trained = train(store.clone(), &options(task(1.0)), &Budget::unlimited(), &mut ()).unwrap();
    assert_eq!(trained.status, Status::Converged);
    assert!(trained.duals.values().unwrap().iter().all(|beta| *beta != 0.0));
    let (primal, dual) = sides(&rows, 1.0, &trained);
    assert!(primal - dual <= 1.01e-6 * primal, "{primal} {dual}");

    let least = Plan::for_models(&*store, &objective(1.0), 1, &Budget::unlimited()).unwrap().least_bytes;
    let budget = Budget::new(least);
    let refused = train(store, &options(task(1.0)), &budget, &mut ()).unwrap_err();
    assert!(matches!(&refused, TrainError::Budget(error) if error.least_bytes > least), "{refused}");
    assert!(budget.peak_bytes() <= least);
}
