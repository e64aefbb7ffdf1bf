//! Solvers of second order on the way: they tell of each step, stop when asked to, start from what is known, and end
//! where numbers end.

use std::sync::Arc;

use crate::labelled::{PlainRow, Random, loss, memory_store, objective, rows as make_rows};
use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::budget::Budget;
use towline::loss::{ALL, AnyLoss};
use towline::objective::Objective;
use towline::penalty::AnyPenalty;
use towline::stop::Stop;
use towline::store::MemoryStore;
use towline::trainer::{Observer, Solver, Status, Step, Task, TrainOptions, Trained, WeightsNow, train};

/// Counts steps, and asks for a stop after some of them.
struct Counts {
    steps: Vec<Step>,
    stop: Stop,
    stop_after: usize,
    width: usize,
}

impl Counts {
    fn new(stop_after: usize, width: usize) -> Counts {
        Counts { steps: Vec::new(), stop: Stop::default(), stop_after, width }
    }
}

impl Observer for Counts {
    fn step(&mut self, step: &Step, weights: &WeightsNow) {
        assert!(weights.models.iter().all(|w| w.len() == self.width && w.iter().all(|w| w.is_finite())));
        self.steps.push(*step);
        if self.steps.len() >= self.stop_after {
            self.stop.request();
        }
    }
}

fn run(store: &Arc<MemoryStore>, task: Task, tolerance: f64, seen: &mut Counts) -> Trained {
    let stop = seen.stop.clone();
    let options = TrainOptions { tolerance, stop, max_passes: 500, ..TrainOptions::of(task) };
    train(store.clone(), &options, &Budget::unlimited(), seen).unwrap()
}

/// Dense rows whose labels, one of two or numbers, a line explains in part.
fn dense(loss: AnyLoss, count: u64, columns: u32) -> Arc<MemoryStore> {
    let mut random = Random(count + u64::from(columns));
    let mut block = Block::new(Layout::new(true, ValueKind::F64), columns as usize);
    for id in 0..count {
        let row: Vec<(u32, f64)> = (0..columns).map(|j| (j, random.fraction() - 0.5)).collect();
        let y = row[0].1 - 2.0 * row[1].1 + 0.5 * (random.fraction() - 0.5);
        let label = if loss.is_classification() { y.signum() } else { 3.0 * y };
        block.push(RowInfo { label, weight: 1.0, group: 0, id }, row);
    }
    Arc::new(MemoryStore::new(vec![block]))
}

#[test]
fn each_step_is_told_and_can_be_the_last() {
    // With matrices of features, on a sample first, and with matrices of rows.
    for (count, columns) in [(200, 10), (5000, 10), (30, 60)] {
        for &loss in ALL.iter().filter(|loss| loss.name() != "squared") {
            let store = dense(loss, count, columns);
            let objective = objective(loss, 10.0, 1.0, None);
            let name = format!("{}, {count} x {columns}", loss.name());
            let mut seen = Counts::new(usize::MAX, columns as usize + 1);
            let whole = run(&store, Task::new(objective.clone()), 1e-7, &mut seen);
            assert!(whole.solver.is_second_order() && seen.steps.len() >= 3, "{name}: {} steps", seen.steps.len());
            assert_eq!(whole.status, Status::Converged, "{name}");
            let increases = seen.steps.windows(2).all(|pair| pair[0].cost.sweeps <= pair[1].cost.sweeps);
            assert!(increases && seen.steps.iter().all(|step| step.cost.passes == 1), "{name}");
            // The last one but one may be good enough.
            for most in 1..(seen.steps.len() - 1).min(4) {
                let mut seen = Counts::new(most, columns as usize + 1);
                let found = run(&store, Task::new(objective.clone()), 1e-7, &mut seen);
                assert_eq!(found.status, Status::Interrupted, "{name} after {most} steps");
                // One more step tells of the certificate.
                assert!(seen.steps.len() <= most + 2, "{name}: {} steps after {most}", seen.steps.len());
                assert!(found.certificate.objective >= whole.certificate.dual_objective * (1.0 - 1e-7), "{name}");
            }
        }
    }
}

#[test]
fn the_objective_is_told_before_it_is_certified() {
    for name in ["logistic", "squared-hinge", "hinge", "huber"] {
        // Weights of a sample have another objective, which is not told.
        for count in [300, 5000] {
            let store = dense(loss(name), count, 10);
            let mut seen = Counts::new(usize::MAX, 11);
            let found = run(&store, Task::new(objective(loss(name), 10.0, 1.0, None)), 1e-8, &mut seen);
            let told: Vec<f64> = seen.steps.iter().filter_map(|step| step.objective).collect();
            let early = seen.steps.iter().filter(|step| step.certificate.is_none() && step.objective.is_some()).count();
            assert!(early >= 2, "{name}: {early} of {} steps", seen.steps.len());
            let bound = found.certificate.dual_objective * (1.0 - 1e-9);
            assert!(told.iter().all(|told| *told >= bound), "{name}: {told:?} {bound}");
            assert_eq!(told.last(), Some(&found.certificate.objective), "{name}");
        }
    }
}

/// So many columns that a Hessian takes longer than a gradient: it follows from the one before.
#[test]
fn a_hessian_follows_from_the_one_before() {
    for (name, solver) in
        [("squared-hinge", Solver::Newton), ("hinge", Solver::Multipliers), ("logistic", Solver::Newton)]
    {
        let store = dense(loss(name), 1500, 420);
        let by = |solver: Solver, tolerance: f64| {
            let task = TrainOptions::of(Task::new(objective(loss(name), 10.0, 1.0, None)));
            let options = TrainOptions { tolerance, solver, max_passes: 2000, ..task };
            let found = train(store.clone(), &options, &Budget::unlimited(), &mut ()).unwrap();
            assert_eq!((found.status, found.solver), (Status::Converged, solver), "{name}");
            found.certificate
        };
        let (a, b) = (by(solver, 1e-8), by(Solver::Dual, 1e-5));
        assert!(a.dual_objective <= b.objective && b.dual_objective <= a.objective, "{name}: {a:?} {b:?}");
    }
}

#[test]
fn sums_over_rows_stop_on_the_way() {
    let squared = loss("squared");
    let store = dense(squared, 60_000, 60);
    let objective = Objective { intercept: true, ..objective(squared, 1.0, 1.0, None) };
    let mut seen = Counts::new(1, 61);
    let found = run(&store, Task::new(objective.clone()), 1e-6, &mut seen);
    assert_eq!((found.status, found.solver), (Status::Interrupted, Solver::Gram));
    assert!(found.weights.iter().all(|w| *w == 0.0));
    let mut whole = Counts::new(usize::MAX, 61);
    let whole = run(&store, Task::new(objective), 1e-6, &mut whole);
    assert_eq!(whole.status, Status::Converged);
    assert!(found.certificate.objective > whole.certificate.objective);
}

/// As in Python: dual variables and weights of an earlier run.
fn after(earlier: Trained, objective: Objective) -> Task {
    let start_weights = earlier.weights.clone();
    let mut earlier = earlier;
    let start = (earlier.duals.rows() > 0).then(|| earlier.take_duals());
    Task { start, start_weights, ..Task::new(objective) }
}

#[test]
fn a_start_nearby_takes_fewer_sweeps() {
    // Where rows are on one parabola the first step is the last, and the certificate of the start is a scan more.
    for (name, more) in [("logistic", 0), ("squared-hinge", 0), ("huber", 1)] {
        for (count, columns) in [(300, 10), (5000, 10)] {
            let store = dense(loss(name), count, columns);
            let of = |c: f64| objective(loss(name), c, 1.0, None);
            let train = |task: Task| run(&store, task, 1e-8, &mut Counts::new(usize::MAX, columns as usize + 1));
            let (first, cold) = (train(Task::new(of(1.0))), train(Task::new(of(1.01))));
            let warm = train(after(first, of(1.01)));
            let (a, b) = (warm.certificate.objective, cold.certificate.objective);
            assert!((a - b).abs() <= 1e-7 * b, "{name}");
            assert!(warm.cost.sweeps <= cold.cost.sweeps + more, "{name}: {} {}", warm.cost.sweeps, cold.cost.sweeps);
        }
    }
}

#[test]
fn a_lasso_starts_from_the_signs_of_the_one_before() {
    let squared = loss("squared");
    let store = dense(squared, 300, 30);
    let of = |lambda: f64| {
        let penalty = AnyPenalty::from_name("l1", lambda, 1.0, None).unwrap();
        Objective { penalty, intercept: true, ..objective(squared, 1.0, 1.0, None) }
    };
    let train = |task: Task| run(&store, task, 1e-10, &mut Counts::new(usize::MAX, 31));
    let (first, cold) = (train(Task::new(of(5.0))), train(Task::new(of(4.9))));
    let warm = train(after(first, of(4.9)));
    assert_eq!(warm.solver, Solver::Gram);
    assert!(warm.cost.sweeps < cold.cost.sweeps, "{} {}", warm.cost.sweeps, cold.cost.sweeps);
    assert!(warm.weights.iter().zip(&cold.weights).all(|(a, b)| (a - b).abs() <= 1e-9));
}

/// Some rows of weight 0, others twice the same.
fn with_weights(rows: &[PlainRow]) -> Vec<PlainRow> {
    let weigh = |(i, (info, row)): (usize, &PlainRow)| (RowInfo { weight: (i % 4) as f64, ..*info }, row.clone());
    let mut all: Vec<PlainRow> = rows.iter().enumerate().map(weigh).collect();
    all.extend_from_within(..rows.len() / 2);
    all
}

/// A tolerance that nothing reaches: what is found is the optimum all the same, and a number.
#[test]
fn an_end_without_a_tolerance_is_the_optimum() {
    for &loss in ALL {
        for count in [8, 60] {
            let store = memory_store(&with_weights(&make_rows(count, 0.2, 3)), 1);
            let objective = objective(loss, 1.0, 1.0, None);
            let seen = || Counts::new(usize::MAX, 21);
            let found = run(&store, Task::new(objective.clone()), -1.0, &mut seen());
            assert!(found.weights.iter().all(|w| w.is_finite()), "{}, {count} rows", loss.name());
            let known = run(&store, Task::new(objective), 1e-9, &mut seen());
            let (a, b) = (found.certificate.objective, known.certificate.objective);
            assert!((a - b).abs() <= 1e-8 * b, "{}, {count} rows: {a} {b}", loss.name());
        }
    }
}
