//! With an index: the same stationary point as the truncated batch solver, without ever rising, inside the budget.

use std::path::Path;
use std::sync::Arc;

use crate::labelled::{loss, objective, rows as make_rows, text};
use towline::budget::Budget;
use towline::index::{Forest, IndexOptions, PageCache, build};
use towline::indexed::{self, IndexedOptions, Queries};
use towline::input::{Input, Progress};
use towline::objective::Objective;
use towline::order::OrderName;
use towline::pack::{PackOptions, pack};
use towline::stop::Stop;
use towline::store::DiskStore;
use towline::trainer::{
    Cost, Observer, Start, Status, Step, Task, TrainError, TrainOptions, Trained, WeightsNow, train, train_by_newton,
};
use towline::truncation::{self, Beginning};

const BEGINNING: Beginning = Beginning { rows: 60, shuffled: true };
const S: f64 = 0.5;

fn store(folder: &Path, rows: usize, flipped: f64) -> Arc<DiskStore> {
    let (input, path) = (folder.join("rows.svm"), folder.join("rows.tow"));
    std::fs::write(&input, text(&make_rows(rows, flipped, 7))).unwrap();
    let options = PackOptions { block_bytes: Some(8000), ..PackOptions::default() };
    pack(&[Input::File(input)], &path, &options, &Budget::unlimited(), &Progress::default()).unwrap();
    let store = Arc::new(DiskStore::open(path).unwrap());
    let index = IndexOptions { tree_rows: 200, fan_out: 4, leaf_bytes: 4000, ..IndexOptions::default() };
    build(&store, &index, &Budget::unlimited(), |_| {}).unwrap().unwrap();
    store
}

#[derive(Default)]
struct Falls(Vec<f64>);

impl Observer for Falls {
    fn step(&mut self, _step: &Step, _weights: &WeightsNow) {}

    fn problem_solved(&mut self, objective: f64, _weights: &[f64]) {
        self.0.push(objective);
    }
}

fn options(objective: Objective, tolerance: f64) -> TrainOptions {
    TrainOptions { tolerance, max_passes: 100_000, ..TrainOptions::new(objective) }
}

fn with_index(
    store: &Arc<DiskStore>,
    options: &TrainOptions,
    indexed: &IndexedOptions,
    budget: &Budget,
) -> (Trained, Vec<f64>) {
    let forest = Arc::new(Forest::open(store, budget).unwrap());
    let mut pages = PageCache::new(forest, budget).unwrap();
    let mut falls = Falls::default();
    let mut trained = indexed::train(store, &mut pages, (options, indexed), budget, &mut falls).unwrap();
    (trained.pop().unwrap(), falls.0)
}

#[test]
fn one_row_at_a_time_is_the_truncated_batch_solver() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), 400, 0.15);
    for (name, primal) in [("hinge", false), ("squared-hinge", false), ("squared-hinge", true)] {
        let options = options(objective(loss(name), 1.0, 0.5, Some(S)), 1e-10);
        let convex: truncation::ConvexTrainer = if primal { train_by_newton } else { train };
        let batch =
            truncation::train(store.clone(), &options, (BEGINNING, convex), &Budget::unlimited(), &mut ()).unwrap();
        let indexed = IndexedOptions { wanted: 1, primal, beginning: BEGINNING, queries: Queries::OURS };
        let (found, falls) = with_index(&store, &options, &indexed, &Budget::unlimited());
        assert_eq!((batch.status, found.status), (Status::Converged, Status::Converged), "{name}");
        let (a, b) = (batch.certificate.objective, found.certificate.objective);
        assert!((a - b).abs() <= 1e-6 * a, "{name}: {a} by blocks, {b} with an index");
        let distance = batch.weights.iter().zip(&found.weights).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(distance <= 1e-3, "{name}: {distance} apart");
        assert!(falls.is_sorted_by(|a, b| b <= a), "{name}: {falls:?}");
        assert!(found.certificate.support < 300 && found.certificate.support > 20, "{name}: {:?}", found.certificate);
    }
}

#[test]
fn every_order_and_any_number_of_rows_ends_at_a_certified_stationary_point() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), 600, 0.1);
    for order in OrderName::ALL {
        for wanted in [10, 100, 10_000] {
            let objective = objective(loss("hinge"), 1.0, 0.0, Some(S));
            let mut options = options(objective.clone(), 1e-6);
            options.order = order;
            let indexed = IndexedOptions { wanted, primal: false, beginning: BEGINNING, queries: Queries::OURS };
            let (found, falls) = with_index(&store, &options, &indexed, &Budget::unlimited());
            assert_eq!(found.status, Status::Converged, "{order:?} {wanted}");
            assert!(found.certificate.relative_gap() <= 1e-6 && falls.is_sorted_by(|a, b| b <= a));
            // The batch solver has nothing left to do from here: one problem, and no better objective.
            let mut again = self::options(objective, 1e-7);
            again.tasks[0].start = Some(Start::Values(found.duals.values().unwrap()));
            let mut falls = Falls::default();
            let batch =
                truncation::train(store.clone(), &again, (BEGINNING, train), &Budget::unlimited(), &mut falls).unwrap();
            let (a, b) = (batch.certificate.objective, found.certificate.objective);
            assert!((a - b).abs() <= 2e-6 * a, "{order:?} {wanted}: {a} and {b}, {:?}", falls.0);
        }
    }
}

/// Asks to stop after this many steps.
struct Stops {
    steps: usize,
    stop: Stop,
    reached: f64,
}

impl Observer for Stops {
    fn step(&mut self, _step: &Step, _weights: &WeightsNow) {
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 {
            self.stop.request();
        }
    }

    fn problem_solved(&mut self, objective: f64, _weights: &[f64]) {
        self.reached = objective;
    }
}

#[test]
fn a_run_that_is_cut_short_claims_no_more_than_it_knows() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), 900, 0.3);
    let indexed = IndexedOptions {
        wanted: 50,
        primal: false,
        beginning: Beginning { rows: 15, shuffled: true },
        queries: Queries::OURS,
    };
    for steps in 1..40 {
        let stop = Stop::default();
        let objective = objective(loss("hinge"), 20.0, 0.0, Some(0.0));
        let options = TrainOptions { stop: stop.clone(), ..options(objective, 1e-9) };
        let budget = Budget::unlimited();
        let mut pages = PageCache::new(Arc::new(Forest::open(&store, &budget).unwrap()), &budget).unwrap();
        let mut observer = Stops { steps, stop, reached: 0.0 };
        let trained = indexed::train(&store, &mut pages, (&options, &indexed), &budget, &mut observer).unwrap();
        let certificate = trained[0].certificate;
        assert!(certificate.dual_objective <= certificate.objective * (1.0 + 1e-12), "{steps} steps: {certificate:?}");
        // The convex problem is never below the truncated one.
        let reached = observer.reached;
        assert!(certificate.objective >= reached * (1.0 - 1e-12), "{steps} steps: {reached}, {certificate:?}");
    }
}

#[test]
fn active_rows_that_do_not_fit_wait_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), 4000, 0.3);
    for (name, primal) in [("hinge", false), ("squared-hinge", true)] {
        // A loss that is hardly cut off: most rows are active.
        let options = options(objective(loss(name), 1.0, 0.0, Some(4.0)), 1e-3);
        let indexed = IndexedOptions { wanted: 200, primal, beginning: BEGINNING, queries: Queries::OURS };
        let (whole, _) = with_index(&store, &options, &indexed, &Budget::unlimited());
        let limit = 700_000;
        let budget = Budget::new(limit);
        let (parted, _) = with_index(&store, &options, &indexed, &budget);
        assert!(whole.certificate.support > 2500, "{:?}", whole.certificate);
        assert!(budget.peak_bytes() <= limit);
        assert_eq!(parted.status, Status::Converged);
        let (a, b) = (whole.certificate.objective, parted.certificate.objective);
        assert!((a - b).abs() <= 5e-3 * a, "{name}: {a} and {b}");
        assert!(parted.certificate.relative_gap() <= 1e-3);
    }
}

/// Keeps what it is told, and asks to stop after this many steps.
struct Notes {
    falls: Vec<f64>,
    notes: Vec<String>,
    steps: usize,
    stop: Stop,
}

impl Observer for Notes {
    fn step(&mut self, _step: &Step, _weights: &WeightsNow) {
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 {
            self.stop.request();
        }
    }

    fn problem_solved(&mut self, objective: f64, _weights: &[f64]) {
        self.falls.push(objective);
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.to_string());
    }
}

/// Trains in little memory, from dual variables if there are any, for this many steps at most.
fn in_little_memory(
    store: &Arc<DiskStore>,
    (objective, primal): (&Objective, bool),
    start: Option<Vec<f64>>,
    steps: usize,
) -> (Trained, Notes) {
    let budget = Budget::new(700_000);
    let mut pages = PageCache::new(Arc::new(Forest::open(store, &budget).unwrap()), &budget).unwrap();
    let stop = Stop::default();
    let mut options = TrainOptions { stop: stop.clone(), ..options(objective.clone(), 1e-4) };
    options.tasks[0].start = start.map(Start::Values);
    let indexed = IndexedOptions { wanted: 200, primal, beginning: BEGINNING, queries: Queries::OURS };
    let mut notes = Notes { falls: Vec::new(), notes: Vec::new(), steps, stop };
    let mut trained = indexed::train(store, &mut pages, (&options, &indexed), &budget, &mut notes).unwrap();
    assert!(budget.peak_bytes() <= budget.limit_bytes());
    assert!(notes.falls.is_sorted_by(|a, b| b <= a), "{:?}", notes.falls);
    (trained.pop().unwrap(), notes)
}

#[test]
fn where_most_rows_matter_the_series_goes_on_by_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), 4000, 0.3);
    for (name, primal) in [("hinge", false), ("squared-hinge", false), ("squared-hinge", true)] {
        // A loss that is hardly cut off: most rows are active.
        let objective = objective(loss(name), 1.0, 0.0, Some(4.0));
        let (whole, seen) = in_little_memory(&store, (&objective, primal), None, usize::MAX);
        assert_eq!((whole.status, seen.notes.len()), (Status::Converged, 1), "{name}");
        assert!(seen.notes[0].contains("block by block"), "{:?}", seen.notes);
        let certificate = whole.certificate;
        assert!(certificate.relative_gap() <= 1e-4 && certificate.support > 2500, "{name}: {certificate:?}");
        // Its own dual variables are the end of the series: whoever goes on from them begins with blocks, and has
        // nothing left to do.
        let duals = whole.duals.values().unwrap();
        let (again, seen) = in_little_memory(&store, (&objective, primal), Some(duals), usize::MAX);
        let (a, b) = (certificate.objective, again.certificate.objective);
        assert!(seen.notes.len() == 1 && (a - b).abs() <= 2e-4 * a, "{name}: {a} and {b}");
        for steps in (1..30).step_by(4) {
            let (cut, seen) = in_little_memory(&store, (&objective, primal), None, steps);
            let certificate = cut.certificate;
            assert!(certificate.dual_objective <= certificate.objective * (1.0 + 1e-9), "{steps}: {certificate:?}");
            let reached = seen.falls.last().unwrap();
            assert!(certificate.objective >= reached * (1.0 - 1e-9), "{steps}: {reached}, {certificate:?}");
            let duals = cut.duals.values().unwrap();
            let (on, _) = in_little_memory(&store, (&objective, primal), Some(duals), usize::MAX);
            assert_eq!(on.status, Status::Converged, "{name}, cut after {steps}");
        }
    }
}

#[test]
fn where_few_rows_matter_they_stay_with_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), 4000, 0.0);
    let objective = objective(loss("hinge"), 20.0, 0.0, Some(1.0));
    let (trained, seen) = in_little_memory(&store, (&objective, false), None, usize::MAX);
    assert_eq!((trained.status, &seen.notes[..]), (Status::Converged, &[][..]), "{:?}", trained.certificate);
    assert!(trained.certificate.support < 300, "{:?}", trained.certificate);
}

#[test]
fn models_on_one_index_share_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), 2000, 0.05);
    let task = || Task::new(objective(loss("hinge"), 1.0, 0.0, Some(S)));
    let indexed = IndexedOptions { wanted: 100, primal: false, beginning: BEGINNING, queries: Queries::OURS };
    // The second budget has no room for the rows of all: those that wait go to disk.
    for limit in [1 << 40, 2_000_000, 900_000] {
        let train = |tasks: Vec<Task>| {
            let budget = Budget::new(limit);
            let forest = Arc::new(Forest::open(&store, &budget).unwrap());
            let mut pages = PageCache::new(forest, &budget).unwrap();
            let options = TrainOptions { tasks, ..options(task().objective, 1e-4) };
            let trained = indexed::train(&store, &mut pages, (&options, &indexed), &budget, &mut ()).unwrap();
            assert!(budget.peak_bytes() <= limit);
            trained
        };
        let (alone, together) = (train(vec![task()]), train((0..4).map(|_| task()).collect()));
        for model in &together {
            assert!(model.status == Status::Converged && model.cost.passes > 0);
            let (a, b) = (alone[0].certificate.objective, model.certificate.objective);
            // Another way may end at another stationary point.
            assert!((a - b).abs() <= 1e-2 * a && model.certificate.relative_gap() <= 1e-4, "{a} and {b}");
        }
        let cost = Cost::of_all(together.iter().map(|model| model.cost));
        // Rows that go to disk and come back are read as well, and these models have few others.
        let times = if limit == 1 << 40 { 3 } else { 12 };
        assert!(cost.bytes_read < times * alone[0].cost.bytes_read, "{limit}: {cost:?} {:?}", alone[0].cost);
    }
}

#[test]
fn what_an_index_is_no_use_for_is_refused() {
    let check = |objective: &Objective, primal: bool| {
        let options = IndexedOptions { primal, ..IndexedOptions::default() };
        indexed::can_train(objective, &options).map_err(|error| error.to_string())
    };
    assert!(check(&objective(loss("logistic"), 1.0, 0.0, Some(S)), false).unwrap_err().contains("logistic"));
    assert!(check(&objective(loss("hinge"), 1.0, 0.0, Some(S)), true).unwrap_err().contains("squared-hinge"));
    let mut intercept = objective(loss("hinge"), 1.0, 1.0, Some(S));
    assert!(check(&intercept, false).is_ok());
    intercept.intercept = true;
    assert!(check(&intercept, false).unwrap_err().contains("intercept"));
}

/// A request to stop at any look is obeyed soon, and what is known then is true.
#[test]
fn runs_with_an_index_end_soon_after_any_look() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), 600, 0.1);
    for (name, primal, budget) in
        [("hinge", false, u64::MAX), ("squared-hinge", true, u64::MAX), ("hinge", false, 600_000)]
    {
        let indexed = IndexedOptions { wanted: 50, primal, beginning: BEGINNING, queries: Queries::OURS };
        let tasks = || [0.3, 1.0].map(|c| Task::new(objective(loss(name), c, 0.5, Some(S)))).into();
        let run = |stop: Stop| {
            let budget = if budget == u64::MAX { Budget::unlimited() } else { Budget::new(budget) };
            let forest = Arc::new(Forest::open(&store, &budget).unwrap());
            let mut pages = PageCache::new(forest, &budget).unwrap();
            let first = objective(loss(name), 1.0, 0.5, Some(S));
            let options = TrainOptions { tasks: tasks(), stop, ..options(first, 1e-6) };
            let trained = indexed::train(&store, &mut pages, (&options, &indexed), &budget, &mut ());
            (trained, options.stop.looks())
        };
        let (whole, all_looks) = run(Stop::default());
        let whole = whole.unwrap();
        let (mut interrupted, mut look) = (0, 1);
        while look <= all_looks {
            let (trained, looks) = run(Stop::at_look(look));
            let what = format!("{name}, look {look} of {all_looks}");
            // Each of a few scans of each model has a look or two.
            assert!(looks <= look + 120, "{what}: {looks}");
            match trained {
                Ok(trained) => {
                    assert_eq!(trained.len(), whole.len(), "{what}");
                    for model in &trained {
                        interrupted += u64::from(model.status == Status::Interrupted);
                        let certificate = &model.certificate;
                        assert!(
                            certificate.objective.is_finite() && certificate.dual_objective <= certificate.objective
                        );
                        assert!(model.weights.iter().all(|w| w.is_finite()), "{what}");
                    }
                }
                Err(TrainError::Stopped(Status::Interrupted)) => interrupted += 1,
                Err(error) => panic!("{what}: {error}"),
            }
            look += 1 + look / 3;
        }
        assert!(interrupted > 0, "{name}: {all_looks} looks");
    }
}
