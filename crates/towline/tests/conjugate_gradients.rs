//! Wide tables whose Hessian does not fit: `auto` goes on by conjugate gradients where dual coordinate descent stands
//! still and the loss is smooth.

use std::sync::Arc;

use crate::labelled::{Random, loss};
use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::budget::Budget;
use towline::objective::{Objective, Targets};
use towline::store::MemoryStore;
use towline::trainer::{Choice, Observer, Solver, Status, Step, TrainOptions, WeightsNow, train};

const COLUMNS: usize = 3000;
/// Rows and weights fit, a matrix of 3,000 x 3,000 does not.
const BUDGET: u64 = 8 << 20;

/// Sparse rows; with `heavy`, three dense columns in the ten thousands besides.
fn store(rows: u64, heavy: bool) -> Arc<MemoryStore> {
    let mut random = Random(3);
    let mut block = Block::new(Layout::new(false, ValueKind::F32), COLUMNS);
    for id in 0..rows {
        let dense = |random: &mut Random| f64::from((1e4 * (1.0 + random.fraction())) as f32);
        let mut row: Vec<(u32, f64)> = (0..3).filter(|_| heavy).map(|j| (j, dense(&mut random))).collect();
        let mut columns: Vec<u32> =
            (0..15).map(|_| 3 + ((COLUMNS - 3) as f64 * random.fraction().powi(3)) as u32).collect();
        columns.sort_unstable();
        columns.dedup();
        let values = columns.into_iter().map(|j| (j, f64::from((0.25 * (random.fraction() + 0.5)) as f32)));
        row.extend(values);
        let sparse = row.iter().filter(|(j, _)| *j >= 3);
        let signal: f64 = sparse.map(|(j, x)| x * if j % 2 == 0 { 1.0 } else { -1.0 }).sum();
        let label = if signal + random.fraction() > 0.5 { 1.0 } else { -1.0 };
        block.push(RowInfo { label, weight: 1.0, group: 0, id }, row);
    }
    Arc::new(MemoryStore::new(vec![block]))
}

fn objective(name: &str, c: f64, intercept: bool) -> Objective {
    let names = ["-1".to_string(), "1".to_string()];
    let targets = Targets::Binary { positive: 1.0, names, weights: [1.0, 1.0] };
    Objective { intercept, bias: f64::from(u8::from(intercept)), ..Objective::new(loss(name), c, targets) }
}

/// What was told, and the least objective that was certified on the way.
struct Notes(Vec<String>, f64);

impl Observer for Notes {
    fn step(&mut self, step: &Step, _: &WeightsNow) {
        self.1 = step.certificate.map_or(self.1, |certificate| self.1.min(certificate.objective));
    }

    fn note(&mut self, text: &str) {
        self.0.push(text.to_string());
    }
}

#[test]
fn columns_in_large_units_are_no_hindrance() {
    let store = store(4000, true);
    for name in ["logistic", "squared-hinge"] {
        for (c, intercept) in [(1e-3, true), (1.0, false)] {
            let objective = objective(name, c, intercept);
            let options = TrainOptions { tolerance: 1e-6, ..TrainOptions::new(objective.clone()) };
            let (budget, mut notes) = (Budget::new(BUDGET), Notes(Vec::new(), f64::INFINITY));
            let choice = Choice::new(&*store, &objective, Solver::Auto, &budget).unwrap();
            assert!(choice.why.contains("conjugate gradients"), "{}", choice.why);
            let trained = train(store.clone(), &options, &budget, &mut notes).unwrap();
            assert_eq!((trained.status, trained.solver), (Status::Converged, Solver::Newton), "{name} C={c}");
            assert!(notes.0.iter().any(|note| note.contains("conjugate gradients")), "{:?}", notes.0);
            assert!(budget.peak_bytes() <= BUDGET);
            assert!(trained.certificate.objective <= notes.1, "{name} C={c}: {} was known", notes.1);
            let dual = TrainOptions { solver: Solver::Dual, max_passes: 100, ..TrainOptions::new(objective) };
            let dual = train(store.clone(), &dual, &Budget::unlimited(), &mut ()).unwrap();
            assert!(dual.certificate.relative_gap() > 0.1, "{name} C={c}: coordinate descent would do");
        }
    }
}

#[test]
fn coordinate_descent_stays_where_rows_are_alike() {
    let store = store(4000, false);
    for name in ["logistic", "hinge", "squared-hinge"] {
        for c in [1e-3, 1.0, 10.0] {
            let objective = objective(name, c, false);
            let options = TrainOptions { tolerance: 1e-6, ..TrainOptions::new(objective.clone()) };
            let auto = train(store.clone(), &options, &Budget::new(BUDGET), &mut ()).unwrap();
            let dual = TrainOptions { solver: Solver::Dual, ..options };
            let dual = train(store.clone(), &dual, &Budget::new(BUDGET), &mut ()).unwrap();
            assert_eq!((auto.status, auto.solver), (Status::Converged, Solver::Dual), "{name} C={c}");
            assert!(auto.cost.visits as f64 <= 1.1 * dual.cost.visits as f64, "{name} C={c}");
        }
    }
}

/// A run that ends before the other solver has got anywhere keeps what coordinate descent had.
#[test]
fn what_coordinate_descent_had_is_not_lost() {
    let store = store(4000, true);
    for max_passes in [12, 20, 60] {
        let objective = objective("logistic", 1.0, false);
        let options = TrainOptions { tolerance: 1e-9, max_passes, ..TrainOptions::new(objective) };
        let mut notes = Notes(Vec::new(), f64::INFINITY);
        let trained = train(store.clone(), &options, &Budget::new(BUDGET), &mut notes).unwrap();
        assert!(trained.certificate.objective <= notes.1, "{} was known", notes.1);
        assert!(trained.certificate.dual_objective <= trained.certificate.objective);
    }
}

/// Multipliers by conjugate gradients come where coordinate descent has ended nowhere, and not before.
#[test]
fn non_smooth_losses_have_multipliers_as_a_last_resort() {
    let store = store(4000, true);
    let objective = objective("hinge", 1e-3, true);
    let options = |solver| TrainOptions { solver, max_passes: 200, ..TrainOptions::new(objective.clone()) };
    let choice = Choice::new(&*store, &objective, Solver::Auto, &Budget::new(BUDGET)).unwrap();
    assert_eq!((choice.solver, &choice.why[..]), (Solver::Dual, ""));
    let [auto, dual, asked] = [Solver::Auto, Solver::Dual, Solver::Multipliers]
        .map(|solver| train(store.clone(), &options(solver), &Budget::new(BUDGET), &mut ()).unwrap());
    assert!(dual.certificate.relative_gap() > 0.5, "coordinate descent would do: {:?}", dual.certificate);
    assert_eq!((auto.solver, asked.solver), (Solver::Multipliers, Solver::Multipliers));
    assert_eq!(auto.status, Status::Converged);
    let [auto, dual, asked] = [auto, dual, asked].map(|trained| trained.certificate);
    assert!(auto.objective < dual.objective, "{auto:?}, {dual:?}");
    assert!(auto.objective <= 1.01 * asked.objective, "{auto:?}, {asked:?}");
    assert!(dual.dual_objective <= asked.objective && asked.dual_objective <= asked.objective);
}
