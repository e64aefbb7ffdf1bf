//! A run that has to end does so soon, wherever it is, and what it returns is certified all the same.
//!
//! No clock is involved: a request to stop makes itself at the k-th look, for every k of a short run. What is done
//! after it is counted in looks, each of which stands for a bounded amount of work, and in blocks that are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::labelled::{COLUMNS, PlainRow, loss, margin, memory_store, objective, rows};
use towline::block::Block;
use towline::budget::Budget;
use towline::loss::Loss;
use towline::objective::{Classes, Multiclass, Objective, Targets};
use towline::penalty::{AnyPenalty, Penalty};
use towline::stop::Stop;
use towline::store::{BlockId, BlockInfo, BlockStore, MemoryStore, ReadBuffers, Shape, StoreError};
use towline::trainer::{Plan, Solver, Status, Task, TrainError, TrainOptions, Trained, train_all};

const ROWS: usize = 300;
/// Looks after the request, at most: each scan, sweep and factorisation that ends the run has one or two, for each of
/// its models.
const MOST_LOOKS: u64 = 60;

/// Counts the blocks that are read.
#[derive(Debug)]
struct Counting {
    store: Arc<MemoryStore>,
    blocks: AtomicU64,
}

impl BlockStore for Counting {
    fn shape(&self) -> Shape {
        self.store.shape()
    }

    fn blocks(&self) -> &[BlockInfo] {
        self.store.blocks()
    }

    fn read(&self, id: BlockId, buffers: &mut ReadBuffers, into: &mut Block) -> Result<(), StoreError> {
        self.blocks.fetch_add(1, Ordering::Relaxed);
        self.store.read(id, buffers, into)
    }
}

struct Case {
    name: &'static str,
    options: TrainOptions,
    in_memory: bool,
}

fn case(name: &'static str, loss_name: &str, penalty: &str, solver: Solver, in_memory: bool) -> Case {
    let mut objective = objective(loss(loss_name), 10.0, 0.5, None);
    objective.penalty = AnyPenalty::from_name(penalty, 1.0, 0.5, None).unwrap();
    let options = TrainOptions { solver, tolerance: 1e-10, seed: 3, threads: 1, ..TrainOptions::new(objective) };
    Case { name, options, in_memory }
}

fn cases() -> Vec<Case> {
    let mut all = vec![
        case("dual", "hinge", "l2", Solver::Dual, true),
        case("dual by blocks", "logistic", "l2", Solver::Dual, false),
        case("proximal by blocks", "squared-hinge", "l1", Solver::Dual, false),
        case("columns", "logistic", "l1", Solver::Columns, true),
        case("newton", "logistic", "l2", Solver::Newton, true),
        case("newton by scans", "squared-hinge", "l2", Solver::Newton, false),
        case("newton with kinks", "logistic", "l1", Solver::Newton, true),
        case("newton after wider losses", "huber", "l2", Solver::Newton, true),
        case("multipliers", "hinge", "l2", Solver::Multipliers, true),
        case("sums of products", "squared", "l2", Solver::Gram, true),
        case("lasso", "squared", "l1", Solver::Gram, true),
    ];
    let mut free = case("proximal with an intercept", "hinge", "l2", Solver::Dual, true);
    free.options.tasks[0].objective.intercept = true;
    free.options.tolerance = 1e-4;
    all.push(free);
    // Several models, one after the other where not all of them fit.
    for (name, in_memory) in [("several", true), ("several by blocks", false)] {
        let mut several = case(name, "hinge", "l2", Solver::Dual, in_memory);
        let objective = several.options.tasks[0].objective.clone();
        several.options.tasks = [0.1, 1.0, 10.0].map(|c| Task::new(Objective { c, ..objective.clone() })).into();
        all.push(several);
    }
    all
}

fn budget(case: &Case, store: &MemoryStore) -> Budget {
    if case.in_memory {
        return Budget::unlimited();
    }
    let objective = &case.options.tasks[0].objective;
    let whole = Plan::for_models(store, objective, 1, &Budget::unlimited()).unwrap();
    let fixed = whole.weight_bytes + whole.dual_bytes + whole.read_ahead_bytes;
    let budget = Budget::new((fixed + whole.resident_bytes / 2).max(whole.least_bytes));
    assert!(!Plan::for_models(store, objective, 1, &budget).unwrap().in_memory);
    budget
}

/// F at the weights, from its definition.
fn value(rows: &[PlainRow], objective: &Objective, w: &[f64]) -> f64 {
    let losses = rows.iter().map(|row| {
        let (y, c) = objective.row(&row.0);
        c * objective.loss.value(y, margin(row, w, objective))
    });
    let penalised = w.len() - usize::from(objective.intercept);
    objective.penalty.value(&w[..penalised]) + losses.sum::<f64>()
}

/// The certificate is right about the weights, and its bound is none that a better model breaks.
fn check(rows: &[PlainRow], task: &Task, trained: &Trained, optimum: f64, name: &str) {
    let found = value(rows, &task.objective, &trained.weights);
    let certificate = &trained.certificate;
    assert_eq!(trained.weights.len(), COLUMNS + 1, "{name}");
    let noise = 1e-9 * (1.0 + optimum.abs());
    assert!(found <= certificate.objective + noise, "{name}: {found} above {certificate:?}");
    assert!(certificate.dual_objective <= optimum + noise, "{name}: {optimum} below {certificate:?}");
}

#[test]
fn runs_end_soon_after_any_look() {
    let rows = rows(ROWS, 0.1, 5);
    let memory = memory_store(&rows, 12);
    for case in cases() {
        let run = |stop: Stop| {
            let store = Arc::new(Counting { store: memory.clone(), blocks: AtomicU64::new(0) });
            let options =
                TrainOptions { stop, ..case.options.with_tasks(case.options.tasks.iter().map(again).collect()) };
            let trained = train_all(store.clone(), &options, &budget(&case, &memory), &mut ());
            (trained, options.stop.looks(), store.blocks.load(Ordering::Relaxed))
        };
        let (whole, all_looks, all_blocks) = run(Stop::default());
        let whole = whole.unwrap();
        let mut interrupted = 0;
        let mut look = 1;
        while look <= all_looks {
            let name = format!("{}, look {look} of {all_looks}", case.name);
            let (trained, looks, blocks) = run(Stop::at_look(look));
            assert!(looks <= look + MOST_LOOKS, "{name}: {looks}");
            // What was being read, and one scan for the certificates.
            assert!(blocks <= all_blocks + 2 * 12 + 4, "{name}: {blocks} of {all_blocks}");
            match trained {
                Ok(trained) => {
                    assert_eq!(trained.len(), case.options.tasks.len(), "{name}");
                    for ((model, best), task) in trained.iter().zip(&whole).zip(&case.options.tasks) {
                        check(&rows, task, model, best.certificate.objective, &name);
                        interrupted += u64::from(model.status == Status::Interrupted);
                    }
                }
                // Nothing was known yet.
                Err(TrainError::Stopped(Status::Interrupted)) => interrupted += 1,
                Err(error) => panic!("{name}: {error}"),
            }
            // All of the first ones, and then ever fewer.
            look += 1 + look / 4;
        }
        assert!(interrupted > 0, "{}: {all_looks} looks", case.name);
    }
}

/// However many models there was no time for, they cost one look at the targets.
#[test]
fn models_without_time_cost_one_look_at_the_targets() {
    const CLASSES: usize = 400;
    let mut rows = rows(2 * CLASSES, 0.1, 5);
    rows.iter_mut().enumerate().for_each(|(i, row)| row.0.label = (i % CLASSES) as f64);
    let names = (0..CLASSES).map(|class| class.to_string()).collect();
    let weights = (0..CLASSES).map(|class| 1.0 + class as f64 / 100.0).collect();
    let classes = Classes::new((0..CLASSES).map(|class| class as f64).collect(), names, weights);
    let targets = Targets::Classes { classes, multiclass: Multiclass::OneVsRest };
    let memory = memory_store(&rows, 12);
    for (loss_name, solver) in
        [("hinge", Solver::Dual), ("logistic", Solver::Newton), ("squared-hinge", Solver::Newton)]
    {
        for in_memory in [true, false] {
            let case = case("", loss_name, "l2", solver, in_memory);
            let objective = Objective { targets: targets.clone(), ..case.options.tasks[0].objective.clone() };
            let store = Arc::new(Counting { store: memory.clone(), blocks: AtomicU64::new(0) });
            let tasks = || objective.split().into_iter().map(Task::new).collect();
            let options = TrainOptions { stop: Stop::at_look(100), ..case.options.with_tasks(tasks()) };
            // The weights of all models besides.
            let of_one = budget(&case, &memory);
            let limit = if in_memory { of_one } else { Budget::new(of_one.limit_bytes() + 80 * CLASSES as u64) };
            let trained = train_all(store.clone(), &options, &limit, &mut ()).unwrap();
            let (name, looks) = (format!("{loss_name} {in_memory}"), options.stop.looks());
            // As many as train together, and nothing for the others.
            assert!(looks <= 100 + MOST_LOOKS + 20 * 128, "{name}: {looks}");
            let blocks = store.blocks.load(Ordering::Relaxed);
            // A block a look until then, and a scan for certificates, another for targets, and what was being read.
            assert!(blocks <= 100 + 2 * 12 + 4, "{name}: {blocks} blocks for {CLASSES} models");
            assert_eq!(trained.len(), CLASSES);
            let untouched = trained.iter().filter(|model| model.weights.iter().all(|w| *w == 0.0)).count();
            assert!(untouched > CLASSES / 2, "{name}: {untouched}");
            // Newton's method takes them one after the other, and may be done with the first.
            let done = trained.iter().take_while(|model| model.status == Status::Converged).count();
            for (number, (model, objective)) in trained.iter().zip(objective.split()).enumerate() {
                assert!(number < done || model.status == Status::Interrupted, "{name}: {number} of {done}");
                let found = value(&rows, &objective, &model.weights);
                let said = model.certificate.objective;
                assert!((found - said).abs() <= 1e-9 * found, "{name}: {found} and {said}");
            }
        }
    }
}

/// The last scan looks as often as its work asks for, which with many classes is often.
#[test]
fn the_last_scan_of_many_classes_looks_now_and_then() {
    const CLASSES: usize = 400;
    let mut rows = rows(10_000, 0.1, 5);
    rows.iter_mut().enumerate().for_each(|(i, row)| row.0.label = (i % CLASSES) as f64);
    let names = (0..CLASSES).map(|class| class.to_string()).collect();
    let classes = Classes::new((0..CLASSES).map(|class| class as f64).collect(), names, vec![1.0; CLASSES]);
    let targets = Targets::Classes { classes, multiclass: Multiclass::Softmax };
    let case = case("", "logistic", "l2", Solver::Dual, true);
    let objective = Objective { targets, ..case.options.tasks[0].objective.clone() };
    let options = TrainOptions { stop: Stop::at_look(3), ..case.options.with_tasks(vec![Task::new(objective)]) };
    let trained = match train_all(memory_store(&rows, 12), &options, &Budget::unlimited(), &mut ()) {
        // A machine so busy that even the end had no time.
        Err(TrainError::Stopped(Status::Interrupted)) => return,
        trained => trained.unwrap(),
    };
    let looks = options.stop.looks();
    // Where even the end had no time, there are no weights.
    let is_zero = trained[0].weights.iter().all(|w| *w == 0.0);
    assert!(is_zero || looks >= 3 + 8, "{looks}");
}

fn again(task: &Task) -> Task {
    Task::new(task.objective.clone())
}
