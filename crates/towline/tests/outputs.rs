//! Several outputs in one objective, softmax and several numbers, with every penalty: a certified optimum in memory and
//! out of core, on which a plain dense solver agrees.
use crate::labelled::Random;
use std::sync::Arc;

use towline::block::{Block, Layout, RowInfo};
use towline::budget::Budget;
use towline::loss::AnyLoss;
use towline::loss::classes::Softmax;
use towline::loss::joint::{JointLoss, OfClass, SquaredTargets};
use towline::objective::{Classes, Multiclass, Objective, Targets};
use towline::penalty::{AnyPenalty, GroupMap, Penalty};
use towline::store::{BlockStore, MemoryStore};
use towline::trainer::{Plan, Solver, Start, Status, Task, TrainOptions, Trained, train};

const COLUMNS: usize = 18;
const ROWS: usize = 150;
const OUTPUTS: usize = 4;

/// Weight, targets, values.
type PlainRow = (f64, Vec<f64>, Vec<(u32, f64)>);
type Rows = Vec<PlainRow>;
/// Target, weight, and values with the constant feature last.
type JointRow = (Vec<f64>, f64, Vec<(u32, f64)>);

/// Random sparse rows; their targets follow two directions, or are the class of the largest of them.
fn rows(classes: bool) -> Rows {
    let mut source = Random(4242);
    let mut random = move || source.fraction();
    let row = |id: usize| {
        let mut row: Vec<(u32, f64)> = Vec::new();
        for column in 0..COLUMNS as u32 {
            if random() < 0.35 {
                row.push((column, f64::from((random() * 2.0 - 1.0) as f32)));
            }
        }
        let part = |rest: u32| row.iter().filter(|(j, _)| j % 5 == rest).map(|&(_, x)| x).sum::<f64>();
        let (first, second) = (2.0 * part(0), 1.5 * part(1));
        let mut numbers = vec![first + 0.5, first - second, 0.3 * second - 0.2, -first];
        numbers.iter_mut().for_each(|number| *number += random() - 0.5);
        if classes {
            let class = (0..OUTPUTS).max_by(|&a, &b| numbers[a].total_cmp(&numbers[b])).unwrap();
            numbers = vec![class as f64];
        }
        (0.5 + (id % 3) as f64, numbers, row)
    };
    (0..ROWS).map(row).collect()
}

fn store(rows: &Rows, blocks: usize) -> Arc<MemoryStore> {
    let layout = Layout::SPARSE_F32.with_targets(rows[0].1.len() as u32);
    let make = |rows: &[PlainRow]| {
        let mut block = Block::new(layout, COLUMNS);
        for (weight, numbers, row) in rows {
            block.add_further(&numbers[1..]);
            block.push(RowInfo { label: numbers[0], weight: *weight, group: 0, id: 0 }, row.iter().copied());
        }
        block
    };
    Arc::new(MemoryStore::new(rows.chunks(ROWS.div_ceil(blocks)).map(make).collect()))
}

fn penalty(name: &str) -> AnyPenalty {
    let groups = match name {
        // All weights of a feature, or those of three features.
        "rows" => GroupMap::of_each(COLUMNS + 1).unwrap(),
        _ => GroupMap::new((0..=COLUMNS as u32).map(|column| column / 3).collect(), vec![1.3; 7]).unwrap(),
    };
    let known = if name == "rows" { "group" } else { name };
    AnyPenalty::from_name(known, 1.5, 0.6, Some(groups)).unwrap().for_outputs(OUTPUTS)
}

/// What is minimised, with a constant feature of 0.5, or an intercept.
fn objective(classes: bool, name: &str, intercept: bool) -> Objective {
    let names: Vec<String> = (0..OUTPUTS).map(|m| m.to_string()).collect();
    let labels = (0..OUTPUTS).map(|m| m as f64).collect();
    let (loss, targets) = match classes {
        true => {
            let classes = Classes::new(labels, names, vec![1.0, 0.7, 1.0, 1.5]);
            ("logistic", Targets::Classes { classes, multiclass: Multiclass::Softmax })
        }
        false => ("squared", Targets::Several { names }),
    };
    let loss = AnyLoss::named(loss).unwrap();
    let bias = if intercept { 1.0 } else { 0.5 };
    Objective { bias, penalty: penalty(name), intercept, ..Objective::new(loss, 1.0, targets) }
}

fn options(objective: Objective) -> TrainOptions {
    let base = TrainOptions { solver: Solver::Dual, ..TrainOptions::new(objective) };
    TrainOptions { tolerance: 1e-6, max_passes: 20_000, seed: 1, ..base }
}

/// Target and weight of each row, and its values with the constant feature last.
fn problem(rows: &Rows, objective: &Objective) -> Vec<JointRow> {
    let row = |(weight, numbers, row): &PlainRow| {
        let info = RowInfo { label: numbers[0], weight: *weight, group: 0, id: 0 };
        let mut target = Vec::new();
        let c = objective.goal(&info, &numbers[1..], &mut target).unwrap();
        let values = row.iter().copied().chain([(COLUMNS as u32, objective.bias)]).collect();
        (target, c, values)
    };
    rows.iter().map(row).collect()
}

fn margins(row: &[(u32, f64)], w: &[f64]) -> Vec<f64> {
    (0..OUTPUTS).map(|m| row.iter().map(|&(j, x)| w[j as usize * OUTPUTS + m] * x).sum()).collect()
}

fn loss_value(classes: bool, target: &[f64], margins: &[f64]) -> f64 {
    if classes { OfClass(Softmax).value(target, margins) } else { SquaredTargets.value(target, margins) }
}

fn slopes(classes: bool, target: &[f64], margins: &[f64]) -> Vec<f64> {
    if !classes {
        return margins.iter().zip(target).map(|(z, y)| z - y).collect();
    }
    let sum: f64 = margins.iter().map(|z| z.exp()).sum();
    (0..OUTPUTS).map(|m| margins[m].exp() / sum - f64::from(m as f64 == target[0])).collect()
}

/// F from the definition.
fn value(rows: &Rows, objective: &Objective, w: &[f64]) -> f64 {
    let classes = objective.loss.is_classification();
    let losses: f64 =
        problem(rows, objective).iter().map(|(target, c, row)| c * loss_value(classes, target, &margins(row, w))).sum();
    losses + objective.penalty.value(&w[..w.len() - if objective.intercept { OUTPUTS } else { 0 }])
}

/// Accelerated proximal gradient with restarts (Beck & Teboulle 2009), with the whole matrix at every step.
fn plain_solver(rows: &Rows, objective: &Objective) -> f64 {
    let classes = objective.loss.is_classification();
    let problem = problem(rows, objective);
    let length = (COLUMNS + 1) * OUTPUTS;
    let penalised = length - if objective.intercept { OUTPUTS } else { 0 };
    let curvature = if classes { 0.5 } else { 1.0 };
    let bound: f64 =
        problem.iter().map(|(_, c, row)| c * curvature * row.iter().map(|(_, x)| x * x).sum::<f64>()).sum();
    let step = 1.0 / bound;
    let (mut w, mut ahead, mut age) = (vec![0.0; length], vec![0.0; length], 0.0);
    for _ in 0..30_000 {
        let mut next = ahead.clone();
        for (target, c, row) in &problem {
            let slopes = slopes(classes, target, &margins(row, &ahead));
            for &(j, x) in row {
                (0..OUTPUTS).for_each(|m| next[j as usize * OUTPUTS + m] -= step * c * slopes[m] * x);
            }
        }
        objective.penalty.prox(step, &mut next[..penalised]);
        let uphill: f64 = (0..length).map(|j| (ahead[j] - next[j]) * (next[j] - w[j])).sum();
        age = if uphill > 0.0 { 0.0 } else { age + 1.0 };
        let momentum = age / (age + 3.0);
        let moved: f64 = (0..length).map(|j| (next[j] - w[j]).powi(2)).sum();
        ahead = (0..length).map(|j| next[j] + momentum * (next[j] - w[j])).collect();
        w = next;
        if moved.sqrt() < 1e-13 {
            break;
        }
    }
    value(rows, objective, &w)
}

/// A budget under which everything fits, or about a third of it.
fn budget(store: &MemoryStore, objective: &Objective, all: bool) -> Budget {
    let plan = |budget: &Budget| Plan::for_models(store, objective, 1, budget).unwrap();
    let whole = plan(&Budget::unlimited());
    let fixed = whole.weight_bytes + whole.dual_bytes + whole.read_ahead_bytes;
    let part = if all { whole.resident_bytes } else { whole.resident_bytes * 2 / 5 };
    let budget = Budget::new((fixed + part).max(whole.least_bytes));
    assert_eq!(plan(&budget).in_memory, all);
    budget
}

fn assert_optimal(rows: &Rows, objective: &Objective, trained: &Trained, case: &str) -> f64 {
    assert_eq!(trained.status, Status::Converged, "{case}: gap {:e}", trained.certificate.relative_gap());
    let found = value(rows, objective, &trained.weights);
    let told = trained.certificate.objective;
    assert!((found - told).abs() <= 1e-9 * found, "{case}: {found}, and the certificate says {told}");
    assert!(found - trained.certificate.dual_objective <= 1.01e-6 * found, "{case}");
    found
}

fn check(penalties: &[&str], intercept: bool) {
    for classes in [false, true] {
        let rows = rows(classes);
        for name in penalties {
            let objective = objective(classes, name, intercept);
            let plain = plain_solver(&rows, &objective);
            let mut found = vec![plain];
            for blocks in [1, 3, 10] {
                let case = format!("classes {classes}, {name}, {blocks} blocks, intercept {intercept}");
                let store = store(&rows, blocks);
                let budget = budget(&store, &objective, blocks == 1);
                let trained = train(store, &options(objective.clone()), &budget, &mut ()).unwrap();
                found.push(assert_optimal(&rows, &objective, &trained, &case));
                let bound = trained.certificate.dual_objective;
                // No certificate may promise more than another solver finds.
                assert!(bound <= plain * (1.0 + 1e-9), "{case}: {bound} above {plain}");
                assert!(budget.peak_bytes() <= budget.limit_bytes());
                println!("{case}: {} sweeps, {} passes", trained.cost.sweeps, trained.cost.passes);
            }
            let best = found.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(found.iter().all(|value| value - best <= 1.1e-6 * best), "{name}: {found:?}");
        }
    }
}

#[test]
fn the_nuclear_norm_reaches_the_optimum() {
    check(&["nuclear"], false);
}

#[test]
fn l1_and_the_elastic_net_reach_the_optimum() {
    check(&["l1", "elastic-net"], false);
}

#[test]
fn groups_of_features_and_single_features_reach_the_optimum() {
    check(&["group", "rows"], false);
}

#[test]
fn l2_reaches_the_optimum_with_any_lambda() {
    check(&["l2"], false);
}

#[test]
fn unpenalised_intercepts_reach_the_optimum() {
    check(&["nuclear", "l2", "rows"], true);
}

#[test]
fn without_a_penalty_the_losses_alone_are_minimised() {
    let rows = rows(false);
    let objective = objective(false, "none", true);
    let trained = train(store(&rows, 1), &options(objective.clone()), &Budget::unlimited(), &mut ()).unwrap();
    let found = assert_optimal(&rows, &objective, &trained, "none");
    let plain = plain_solver(&rows, &objective);
    assert!((found - plain).abs() <= 2e-6 * plain, "{found} and {plain}");
    assert!(trained.certificate.radius.is_some());
}

/// Singular values by way of all pairs of rows: a rank is the number of rows that are not a sum of those before.
fn rank(w: &[f64]) -> usize {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let largest = w.iter().fold(0.0f64, |most, w| most.max(w.abs()));
    for row in w.chunks(OUTPUTS) {
        let mut rest = row.to_vec();
        for q in &basis {
            let along: f64 = rest.iter().zip(q).map(|(a, b)| a * b).sum();
            rest.iter_mut().zip(q).for_each(|(a, b)| *a -= along * b);
        }
        let norm = rest.iter().map(|a| a * a).sum::<f64>().sqrt();
        if norm > 1e-6 * largest {
            basis.push(rest.iter().map(|a| a / norm).collect());
        }
    }
    basis.len()
}

#[test]
fn the_nuclear_norm_leaves_few_directions() {
    let rows = rows(false);
    let mut ranks = Vec::new();
    for lambda in [0.01, 12.0, 1e4] {
        let mut objective = objective(false, "nuclear", true);
        objective.penalty = objective.penalty.with_lambda(lambda);
        let trained = train(store(&rows, 1), &options(objective), &Budget::unlimited(), &mut ()).unwrap();
        ranks.push(rank(&trained.weights[..COLUMNS * OUTPUTS]));
    }
    assert_eq!(ranks[0], OUTPUTS);
    assert!((1..OUTPUTS).contains(&ranks[1]), "{ranks:?}");
    assert_eq!(ranks[2], 0);
}

#[test]
fn one_output_is_a_vector_whose_length_is_penalised() {
    let rows: Rows =
        rows(false).into_iter().map(|(weight, numbers, row)| (weight, numbers[..1].to_vec(), row)).collect();
    let loss = AnyLoss::named("squared").unwrap();
    let run = |penalty: AnyPenalty| {
        let objective = Objective { bias: 0.5, penalty, ..Objective::new(loss, 1.0, Targets::Numbers) };
        train(store(&rows, 3), &options(objective), &Budget::unlimited(), &mut ()).unwrap().certificate
    };
    let nuclear = run(AnyPenalty::from_name("nuclear", 3.0, 0.5, None).unwrap());
    let group = run(AnyPenalty::from_name("group", 3.0, 0.5, Some(GroupMap::whole(COLUMNS + 1))).unwrap());
    assert!((nuclear.objective - group.objective).abs() <= 2e-6 * group.objective);
    assert!(nuclear.relative_gap() <= 1e-6);
}

#[test]
fn a_run_goes_on_from_its_weights_and_dual_variables() {
    for (classes, blocks, intercept) in [(false, 1, true), (true, 1, false), (false, 10, false), (true, 10, true)] {
        let rows = rows(classes);
        let store = store(&rows, blocks);
        let objective = objective(classes, "nuclear", intercept);
        let limit = || budget(&store, &objective, blocks == 1);
        let first = train(store.clone(), &options(objective.clone()), &limit(), &mut ()).unwrap();
        let start = Some(Start::Values(first.duals.values().unwrap()));
        let task = Task { start, start_weights: first.weights.clone(), ..Task::new(objective.clone()) };
        let again = TrainOptions { tolerance: 1e-5, max_passes: 20_000, ..TrainOptions::of(task) };
        let again = train(store.clone(), &again, &limit(), &mut ()).unwrap();
        assert_eq!(again.status, Status::Converged);
        assert!(again.cost.sweeps <= 1 + first.cost.sweeps / 2, "{} after {}", again.cost.sweeps, first.cost.sweeps);
    }
}

#[test]
fn too_small_a_budget_says_the_least_that_works() {
    let rows = rows(false);
    let (store, objective) = (store(&rows, 10), objective(false, "nuclear", false));
    let error = Plan::for_models(&*store, &objective, 1, &Budget::new(1000)).unwrap_err();
    // Four matrices of features by outputs are the most of it.
    assert!(error.least_bytes > 4 * 8 * (store.shape().columns + 1) * OUTPUTS as u64);
    assert!(train(store.clone(), &options(objective.clone()), &Budget::new(error.least_bytes), &mut ()).is_ok());
    assert!(train(store, &options(objective), &Budget::new(error.least_bytes - 1), &mut ()).is_err());
}
