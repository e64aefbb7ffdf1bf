//! Every composition of loss, order, cache and budget reaches the same certified optimum.
//!
//! The certificate itself is not trusted: both sides of the duality gap are computed anew here, densely and plainly. By
//! weak duality a small gap proves the optimum, whatever the solver did.
use crate::labelled::Random;
use crate::labelled::loss;
use std::sync::Arc;

use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::budget::Budget;
use towline::loss::{ALL, AnyLoss, Loss};
use towline::objective::{Objective, Targets};
use towline::order::OrderName;
use towline::store::{BlockStore, MemoryStore};
use towline::trainer::{Plan, Selection, Solver, Start, Status, TrainOptions, Trained, train};

const COLUMNS: usize = 30;
const ROWS: usize = 240;

struct Data {
    rows: Vec<(RowInfo, Vec<(u32, f64)>)>,
}

/// Random sparse rows with labels that a linear model explains in part. `classes` makes labels of -1 and +1.
fn data(classes: bool) -> Data {
    let mut source = Random(12345);
    let mut random = move || source.fraction();
    let rows = (0..ROWS as u64).map(|id| {
        let mut row: Vec<(u32, f64)> = Vec::new();
        for column in 0..COLUMNS as u32 {
            if random() < 0.25 {
                row.push((column, f64::from((random() * 2.0 - 1.0) as f32)));
            }
        }
        let signal: f64 = row.iter().map(|&(c, v)| v * (f64::from(c % 5) - 2.0)).sum::<f64>() + (random() - 0.5) * 2.0;
        let label = if classes { if signal > 0.0 { 1.0 } else { -1.0 } } else { signal };
        (RowInfo { label, weight: 0.5 + f64::from(id as u32 % 3), group: 0, id }, row)
    });
    Data { rows: rows.collect() }
}

fn store(data: &Data, blocks: usize) -> Arc<MemoryStore> {
    let layout = Layout::new(false, ValueKind::F32);
    let chunk = data.rows.len().div_ceil(blocks);
    let make = |rows: &[(RowInfo, Vec<(u32, f64)>)]| {
        let mut block = Block::new(layout, COLUMNS);
        rows.iter().for_each(|(info, row)| block.push(*info, row.iter().copied()));
        block
    };
    Arc::new(MemoryStore::new(data.rows.chunks(chunk).map(make).collect()))
}

fn objective(loss: AnyLoss, c: f64, bias: f64) -> Objective {
    let names = ["-1".to_string(), "1".to_string()];
    let targets = match loss.is_classification() {
        true => Targets::Binary { positive: 1.0, names, weights: [1.0, 1.5] },
        false => Targets::Numbers,
    };
    Objective { bias, ..Objective::new(loss, c, targets) }
}

fn options(objective: Objective) -> TrainOptions {
    // These tests are about coordinate descent, by rows and by blocks.
    let base = TrainOptions { solver: Solver::Dual, ..TrainOptions::new(objective) };
    TrainOptions { tolerance: 1e-6, max_passes: 20_000, seed: 1, ..base }
}

fn duals(trained: &Trained) -> Vec<f64> {
    trained.duals.values().unwrap()
}

/// Primal and dual objective, from the definitions.
fn sides(data: &Data, objective: &Objective, trained: &Trained) -> (f64, f64) {
    let loss = objective.loss;
    let (w, bias_weight) = (&trained.weights[..COLUMNS], trained.weights[COLUMNS]);
    let mut v = vec![0.0; COLUMNS + 1];
    let mut primal = 0.5 * trained.weights.iter().map(|w| w * w).sum::<f64>();
    let mut dual = 0.0;
    for ((info, row), beta) in data.rows.iter().zip(duals(trained)) {
        let (y, c) = objective.row(info);
        let z: f64 = row.iter().map(|&(j, x)| w[j as usize] * x).sum::<f64>() + objective.bias * bias_weight;
        primal += c * loss.value(y, z);
        dual += loss.dual_value(y, beta, c);
        row.iter().for_each(|&(j, x)| v[j as usize] += beta * x);
        v[COLUMNS] += beta * objective.bias;
    }
    (primal, dual - 0.5 * v.iter().map(|v| v * v).sum::<f64>())
}

fn assert_optimal(data: &Data, options: &TrainOptions, trained: &Trained, case: &str) -> f64 {
    assert_eq!(trained.status, Status::Converged, "{case}");
    let (primal, dual) = sides(data, &options.tasks[0].objective, trained);
    assert!(primal - dual >= -1e-9 * primal.abs(), "{case}: weak duality");
    assert!(primal - dual <= 1.01e-6 * primal.abs(), "{case}: {primal} {dual}");
    assert!(
        (trained.certificate.objective - primal).abs() <= 1e-9 * primal.abs(),
        "{case}: the certificate tells the objective"
    );
    assert!(
        (trained.certificate.dual_objective - dual).abs() <= 1e-9 * primal.abs(),
        "{case}: the certificate tells the dual"
    );
    primal
}

/// A budget under which about `part` of the rows fit.
fn budget(store: &MemoryStore, part: f64) -> Budget {
    let plan = Plan::new(store, &Budget::unlimited()).unwrap();
    let fixed = plan.weight_bytes + plan.dual_bytes + plan.read_ahead_bytes;
    let wanted = fixed + (plan.resident_bytes as f64 * part) as u64;
    Budget::new(wanted.max(plan.least_bytes))
}

#[test]
fn every_loss_and_order_reaches_the_optimum_in_memory() {
    for &loss in ALL {
        let data = data(loss.is_classification());
        let mut objectives = Vec::new();
        for order in OrderName::ALL {
            for c in [0.1, 10.0] {
                let options = TrainOptions { order, ..options(objective(loss, c, 0.7)) };
                let trained = train(store(&data, 1), &options, &Budget::unlimited(), &mut ()).unwrap();
                let case = format!("{} {order:?} C={c}", loss.name());
                objectives.push((c, assert_optimal(&data, &options, &trained, &case)));
            }
        }
        for (c, value) in &objectives {
            let (_, first) = objectives.iter().find(|(other, _)| other == c).unwrap();
            assert!((value - first).abs() <= 2e-6 * first.abs(), "{}", loss.name());
        }
    }
}

#[test]
fn every_feed_reaches_the_optimum_out_of_core() {
    for &loss in ALL {
        let data = data(loss.is_classification());
        for blocks in [3, 20] {
            for (cache_share, selection) in caches() {
                let store = store(&data, blocks);
                let budget = budget(&store, 0.4);
                assert!(!Plan::new(&*store, &budget).unwrap().in_memory);
                let options = TrainOptions { cache_share, selection, ..options(objective(loss, 1.0, 0.0)) };
                let trained = train(store, &options, &budget, &mut ()).unwrap();
                let case = format!("{} {blocks} blocks, cache {cache_share} {selection:?}", loss.name());
                assert_optimal(&data, &options, &trained, &case);
                assert!(budget.peak_bytes() <= budget.limit_bytes());
            }
        }
    }
}

/// Shares of the cache and ways to choose what is in it; with no cache there is nothing to choose.
fn caches() -> Vec<(f64, Selection)> {
    let with_rows = [1.0 / 3.0, 0.5].into_iter().flat_map(|share| Selection::ALL.map(|selection| (share, selection)));
    [(0.0, Selection::Gradient)].into_iter().chain(with_rows).collect()
}

/// The whole grid: a loss with kinks and bounds, and a smooth one, at a C where many rows are free.
#[test]
fn every_feed_order_selection_and_budget_reaches_the_same_optimum() {
    let data = data(true);
    for name in ["hinge", "logistic"] {
        let objective = objective(AnyLoss::named(name).unwrap(), 3.0, 0.5);
        let mut optimum: Option<f64> = None;
        for (blocks, order) in [1, 3, 20].into_iter().flat_map(|blocks| OrderName::ALL.map(|order| (blocks, order))) {
            for (cache_share, selection) in caches() {
                let store = store(&data, blocks);
                let budget = budget(&store, 0.3);
                // A block that is alone is all of the data.
                assert_eq!(Plan::new(&*store, &budget).unwrap().in_memory, blocks == 1);
                let options = TrainOptions { order, cache_share, selection, ..options(objective.clone()) };
                let trained = train(store, &options, &budget, &mut ()).unwrap();
                let case = format!("{name}: {blocks} blocks, {order:?}, cache {cache_share} {selection:?}");
                let found = assert_optimal(&data, &options, &trained, &case);
                let first = *optimum.get_or_insert(found);
                assert!((found - first).abs() <= 1.01e-6 * first, "{case}: {found} {first}");
                assert!(budget.peak_bytes() <= budget.limit_bytes(), "{case}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let data = data(true);
    let run = |seed| {
        let store = store(&data, 20);
        let budget = budget(&store, 0.4);
        let options =
            TrainOptions { seed, max_passes: 3, tolerance: 1e-12, ..options(objective(loss("hinge"), 10.0, 0.0)) };
        train(store, &options, &budget, &mut ()).unwrap().weights
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn a_run_goes_on_from_its_dual_variables_and_from_those_of_another_c() {
    let data = data(true);
    for part in [1.0, 0.4] {
        let first = {
            let store = store(&data, 20);
            let budget = budget(&store, part);
            let options = TrainOptions { max_passes: 2, ..options(objective(loss("hinge"), 10.0, 0.0)) };
            let trained = train(store, &options, &budget, &mut ()).unwrap();
            assert_eq!(trained.status, Status::OutOfPasses);
            trained
        };
        for c in [10.0, 3.0, 30.0] {
            let store = store(&data, 20);
            let budget = budget(&store, part);
            let start = Some(Start::Values(duals(&first).iter().map(|d| d * c / 10.0).collect()));
            let mut options = options(objective(loss("hinge"), c, 0.0));
            options.tasks[0].start = start;
            let trained = train(store, &options, &budget, &mut ()).unwrap();
            assert_optimal(&data, &options, &trained, &format!("C={c}"));
        }
    }
}

#[test]
fn a_finished_run_is_recognised_at_once() {
    let data = data(true);
    let options_of = |start| {
        let mut options = options(objective(loss("hinge"), 1.0, 0.0));
        options.tasks[0].start = start;
        options
    };
    let first = train(store(&data, 1), &options_of(None), &Budget::unlimited(), &mut ()).unwrap();
    let again =
        train(store(&data, 1), &options_of(Some(Start::Values(duals(&first)))), &Budget::unlimited(), &mut ()).unwrap();
    assert_eq!((again.status, again.cost.sweeps), (Status::Converged, 0));
}

#[test]
fn a_weight_is_a_repetition() {
    let mut once = data(true);
    once.rows.iter_mut().for_each(|(info, _)| info.weight = f64::from(info.id as u32 % 3));
    let repeated = Data {
        rows: once
            .rows
            .iter()
            .flat_map(|(info, row)| vec![(RowInfo { weight: 1.0, ..*info }, row.clone()); info.weight as usize])
            .collect(),
    };
    let options = options(objective(loss("hinge"), 1.0, 0.0));
    let run =
        |data: &Data| train(store(data, 1), &options, &Budget::unlimited(), &mut ()).unwrap().certificate.objective;
    let (a, b) = (run(&once), run(&repeated));
    assert!((a - b).abs() <= 2e-6 * a, "{a} {b}");
}

#[test]
fn too_small_a_budget_says_the_least_that_works() {
    let data = data(true);
    let store = store(&data, 20);
    let options = options(objective(loss("hinge"), 1.0, 0.0));
    let error = Plan::new(&*store, &Budget::new(1000)).unwrap_err();
    let trained = train(store.clone(), &options, &Budget::new(error.least_bytes), &mut ()).unwrap();
    assert_optimal(&data, &options, &trained, "least budget");
    assert!(train(store, &options, &Budget::new(error.least_bytes - 1), &mut ()).is_err());
}

#[test]
fn no_weight_at_all_is_an_error() {
    let mut data = data(true);
    data.rows.iter_mut().for_each(|(info, _)| info.weight = 0.0);
    let options = options(objective(loss("hinge"), 1.0, 0.0));
    assert!(train(store(&data, 1), &options, &Budget::unlimited(), &mut ()).is_err());
    let store = store(&data, 20);
    let budget = budget(&store, 0.4);
    assert!(store.shape().rows > 0 && train(store, &options, &budget, &mut ()).is_err());
}

/// Where one value is larger than all others by many orders of magnitude, weights that are updated step by step and
/// their sum from dual variables are far apart. The model has those that its certificate speaks of.
#[test]
fn weights_are_those_that_were_certified() {
    let mut data = data(true);
    let place = data.rows.iter().position(|(_, row)| row.len() > 3).unwrap();
    data.rows[place].1[1].1 = f64::from(2.9e38f32);
    for (loss, blocks, budget) in [("squared-hinge", 1, u64::MAX), ("hinge", 1, u64::MAX), ("squared-hinge", 12, 0)] {
        let objective = objective(AnyLoss::named(loss).unwrap(), 1.0, 0.0);
        let store = store(&data, blocks);
        let least = Plan::new(&*store, &Budget::unlimited()).unwrap().least_bytes;
        let budget = Budget::new(budget.clamp(least + least / 4, 1 << 30));
        for max_passes in [3, 20] {
            let options =
                TrainOptions { solver: Solver::Dual, max_passes, threads: 1, ..TrainOptions::new(objective.clone()) };
            let trained = train(store.clone(), &options, &budget, &mut ()).unwrap();
            let mut value = 0.5 * trained.weights.iter().map(|w| w * w).sum::<f64>();
            for (info, row) in &data.rows {
                let (y, c) = objective.row(info);
                let margin = row.iter().map(|&(j, x)| x * trained.weights[j as usize]).sum::<f64>();
                value += c * objective.loss.value(y, margin);
            }
            let said = trained.certificate.objective;
            assert!((value - said).abs() <= 1e-6 * said, "{loss}, {blocks} blocks: {said} is said, it is {value}");
        }
    }
}
