//! Truncated losses: the objective never rises, the end is a stationary point, and it is that of brute force.

use std::path::Path;
use std::sync::Arc;

use crate::labelled::{PlainRow, loss, margin, memory_store, objective, rows as make_rows};
use towline::block::{Block, RowInfo};
use towline::budget::Budget;
use towline::input::{Input, Progress};
use towline::loss::Loss;
use towline::objective::{Objective, Targets};
use towline::pack::{PackOptions, pack};
use towline::stop::Stop;
use towline::store::{BlockId, BlockStore, DiskStore, MemoryStore, ReadBuffers};
use towline::trainer::{Observer, Status, Step, TrainError, TrainOptions, Trained, WeightsNow, train, train_by_newton};
use towline::truncation::{self, Beginning, ConvexTrainer};

const BEGINNING: Beginning = Beginning { rows: 60, shuffled: true };
const S: f64 = 0.5;

/// F_s from its definition.
fn truncated(rows: &[PlainRow], w: &[f64], objective: &Objective) -> f64 {
    let losses = rows.iter().map(|row| {
        let (y, c) = objective.row(&row.0);
        c * objective.loss.value(y, margin(row, w, objective)).min(1.0 + S)
    });
    0.5 * w.iter().map(|w| w * w).sum::<f64>() + losses.sum::<f64>()
}

/// Rows under the ceiling, by the loss itself.
fn inside(rows: &[PlainRow], w: &[f64], objective: &Objective) -> Vec<PlainRow> {
    let is_in = |row: &&PlainRow| {
        let (y, _) = objective.row(&row.0);
        objective.loss.value(y, margin(row, w, objective)) <= 1.0 + S
    };
    rows.iter().filter(is_in).cloned().collect()
}

#[derive(Default)]
struct Falls {
    objectives: Vec<f64>,
    weights: Vec<Vec<f64>>,
}

impl Observer for Falls {
    fn step(&mut self, _step: &Step, _weights: &WeightsNow) {}

    fn problem_solved(&mut self, objective: f64, weights: &[f64]) {
        self.objectives.push(objective);
        self.weights.push(weights.to_vec());
    }
}

fn solve(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    convex: ConvexTrainer,
    budget: &Budget,
) -> (Trained, Falls) {
    let mut falls = Falls::default();
    let trained = truncation::train(store, options, (BEGINNING, convex), budget, &mut falls).unwrap();
    (trained, falls)
}

#[test]
fn the_objective_never_rises_and_the_end_is_stationary() {
    let rows = make_rows(400, 0.15, 3);
    for name in ["hinge", "squared-hinge", "logistic"] {
        let trainers: &[ConvexTrainer] = if name == "hinge" { &[train] } else { &[train, train_by_newton] };
        for &convex in trainers {
            for blocks in [1, 10] {
                let objective = objective(loss(name), 1.0, 0.5, Some(S));
                let options =
                    TrainOptions { tolerance: 1e-9, max_passes: 1_000_000, ..TrainOptions::new(objective.clone()) };
                let budget = if blocks == 1 { Budget::unlimited() } else { Budget::new(60_000) };
                let (trained, falls) = solve(memory_store(&rows, blocks), &options, convex, &budget);
                assert_eq!(trained.status, Status::Converged, "{name}");
                assert!(falls.objectives.len() > 1, "{name}: one problem is no series");
                for (said, w) in falls.objectives.iter().zip(&falls.weights) {
                    let found = truncated(&rows, w, &objective);
                    assert!((said - found).abs() <= 1e-9 * found, "{name}: {said} and {found}");
                }
                assert!(falls.objectives.is_sorted_by(|a, b| b <= a), "{name}: {:?}", falls.objectives);
                // The convex model of all rows under the ceiling is the model itself.
                let few = inside(&rows, &trained.weights, &objective);
                assert!(few.len() < rows.len() - 20, "{name}: hardly an outlier");
                let convex_options = TrainOptions {
                    tolerance: 1e-11,
                    max_passes: 1_000_000,
                    ..TrainOptions::new(Objective { truncate: None, ..objective.clone() })
                };
                let again = train(memory_store(&few, 1), &convex_options, &Budget::unlimited(), &mut ()).unwrap();
                let distance =
                    again.weights.iter().zip(&trained.weights).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                let length = again.weights.iter().map(|w| w * w).sum::<f64>().sqrt();
                assert!(distance <= 1e-3 * length, "{name}: {distance} from a stationary point");
                let value = truncated(&rows, &trained.weights, &objective);
                assert!((trained.certificate.objective - value).abs() <= 1e-9 * value, "{name}");
                assert!((truncated(&rows, &again.weights, &objective) - value).abs() <= 1e-6 * value, "{name}");
                assert!(trained.certificate.relative_gap() <= 1e-9, "{name}");
            }
        }
    }
}

#[test]
fn outliers_have_no_dual_variables_and_a_run_goes_on_from_the_others() {
    let rows = make_rows(300, 0.2, 4);
    let objective = objective(loss("hinge"), 1.0, 0.0, Some(S));
    let mut options = TrainOptions { tolerance: 1e-7, max_passes: 100_000, ..TrainOptions::new(objective.clone()) };
    let (trained, _) = solve(memory_store(&rows, 3), &options, train, &Budget::unlimited());
    let duals = trained.duals.values().unwrap();
    for (row, beta) in rows.iter().zip(&duals) {
        let (y, _) = objective.row(&row.0);
        assert!(*beta == 0.0 || y * margin(row, &trained.weights, &objective) >= -S - 1e-3);
    }
    options.tasks[0].start = Some(towline::trainer::Start::Values(duals));
    let (again, falls) = solve(memory_store(&rows, 3), &options, train, &Budget::unlimited());
    assert_eq!(falls.objectives.len(), 1, "nothing was left to do");
    assert!(
        (again.certificate.objective - trained.certificate.objective).abs() <= 1e-6 * trained.certificate.objective
    );
}

#[test]
fn limits_are_kept() {
    let rows = make_rows(300, 0.2, 5);
    let objective = objective(loss("logistic"), 1.0, 0.0, Some(S));
    let options = TrainOptions { tolerance: 1e-12, max_passes: 4, ..TrainOptions::new(objective) };
    let (trained, _) = solve(memory_store(&rows, 10), &options, train, &Budget::new(50_000));
    assert_eq!(trained.status, Status::OutOfPasses);
}

/// A shipped file in memory, some of its labels turned round.
fn shipped(name: &str, flipped: f64) -> MemoryStore {
    let folder = tempfile::tempdir().unwrap();
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name);
    let path = folder.path().join("a9a.tow");
    let options = PackOptions { renumber: false, ..PackOptions::default() };
    pack(&[Input::File(input)], &path, &options, &Budget::unlimited(), &Progress::default()).unwrap();
    let store = DiskStore::open(path).unwrap();
    let mut random = crate::labelled::Random(5);
    let mut blocks = Vec::new();
    for id in 0..store.blocks().len() as u32 {
        let mut block = Block::new(store.shape().layout, store.shape().columns as usize);
        store.read(BlockId(id), &mut ReadBuffers::default(), &mut block).unwrap();
        let mut turned = Block::new(block.layout(), block.columns());
        for i in 0..block.rows() {
            let info = block.info(i);
            let label = if random.fraction() < flipped { -info.label } else { info.label };
            turned.push(RowInfo { label, ..info }, block.row(i).iter());
        }
        blocks.push(turned);
    }
    MemoryStore::new(blocks)
}

/// The part of the rows that the weights are right about.
fn accuracy(store: &MemoryStore, w: &[f64]) -> f64 {
    let mut right = 0;
    let mut block = Block::new(store.shape().layout, store.shape().columns as usize);
    for id in 0..store.blocks().len() as u32 {
        store.read(BlockId(id), &mut ReadBuffers::default(), &mut block).unwrap();
    }
    for i in 0..block.rows() {
        let z: f64 = block.row(i).iter().map(|(j, x)| w[j as usize] * x).sum();
        right += u32::from((z > 0.0) == (block.labels()[i] > 0.0));
    }
    f64::from(right) / block.rows() as f64
}

#[test]
fn with_a_fifth_of_the_labels_wrong_the_truncated_model_is_the_better_one() {
    // Columns are feature numbers; the test rows have a feature less, the last one.
    let (train_rows, test_rows) = (Arc::new(shipped("a9a.zst", 0.2)), shipped("a9a.t.zst", 0.0));
    let objective = |truncate| Objective {
        targets: Targets::Binary { positive: 1.0, names: ["-1".into(), "1".into()], weights: [1.0, 1.0] },
        ..objective(loss("hinge"), 1.0, 0.0, truncate)
    };
    let convex = train(train_rows.clone(), &TrainOptions::new(objective(None)), &Budget::unlimited(), &mut ()).unwrap();
    let options = TrainOptions::new(objective(Some(1.0)));
    let start = (Beginning::default(), train as ConvexTrainer);
    let cut_off = truncation::train(train_rows, &options, start, &Budget::unlimited(), &mut ()).unwrap();
    let (plain, robust) = (accuracy(&test_rows, &convex.weights), accuracy(&test_rows, &cut_off.weights));
    assert!(robust > plain + 0.02 && robust > 0.84, "{robust} cut off, {plain} convex");
}

/// A request to stop at any look is obeyed soon, and F_s of what is left is what is said.
#[test]
fn a_series_ends_soon_after_any_look() {
    let rows = make_rows(300, 0.15, 3);
    let objective = objective(loss("squared-hinge"), 1.0, 0.5, Some(S));
    for (convex, blocks) in [(train as ConvexTrainer, 1), (train, 10), (train_by_newton, 10)] {
        let run = |stop: Stop| {
            let options = TrainOptions { tolerance: 1e-9, stop, ..TrainOptions::new(objective.clone()) };
            let budget = if blocks == 1 { Budget::unlimited() } else { Budget::new(60_000) };
            let trained =
                truncation::train(memory_store(&rows, blocks), &options, (BEGINNING, convex), &budget, &mut ());
            (trained, options.stop.looks())
        };
        let (whole, all_looks) = run(Stop::default());
        let whole = whole.unwrap().certificate.objective;
        let (mut interrupted, mut look) = (0, 1);
        while look <= all_looks {
            let (trained, looks) = run(Stop::at_look(look));
            let what = format!("{blocks} blocks, look {look} of {all_looks}");
            assert!(looks <= look + 60, "{what}: {looks}");
            match trained {
                Ok(trained) => {
                    let found = truncated(&rows, &trained.weights, &objective);
                    assert!(found <= trained.certificate.objective + 1e-9 * whole, "{what}: {found}");
                    interrupted += u64::from(trained.status == Status::Interrupted);
                }
                Err(TrainError::Stopped(Status::Interrupted)) => interrupted += 1,
                Err(error) => panic!("{what}: {error}"),
            }
            look += 1 + look / 3;
        }
        assert!(interrupted > 0, "{all_looks} looks");
    }
}
