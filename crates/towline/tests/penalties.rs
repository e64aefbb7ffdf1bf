//! Every loss with every penalty reaches a certified optimum, in memory and out of core, and a plain solver agrees.

use crate::labelled::loss;
use std::sync::Arc;

use crate::rows::{COLUMNS, ROWS, Rows, budget, objective, rows, store};
use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::budget::Budget;
use towline::loss::{ALL, AnyLoss, Loss};
use towline::objective::{Objective, Targets};
use towline::penalty::{AnyPenalty, Penalty};
use towline::store::{BlockStore, MemoryStore};
use towline::trainer::{Centre, Plan, Solver, Status, TrainOptions, Trained, train};

fn options(loss: AnyLoss, penalty: &str, intercept: bool) -> TrainOptions {
    let objective = objective(loss, penalty, intercept);
    TrainOptions { tolerance: 1e-6, max_passes: 20_000, seed: 1, solver: Solver::Dual, ..TrainOptions::new(objective) }
}

/// F from the definition.
fn value(rows: &Rows, objective: &Objective, w: &[f64]) -> f64 {
    let losses: f64 = rows
        .iter()
        .map(|(info, row)| {
            let (y, c) = objective.row(info);
            c * objective.loss.value(y, margin(row, objective, w))
        })
        .sum();
    losses + objective.penalty.value(&w[..w.len() - usize::from(objective.intercept)])
}

fn margin(row: &[(u32, f64)], objective: &Objective, w: &[f64]) -> f64 {
    row.iter().map(|&(j, x)| w[j as usize] * x).sum::<f64>() + objective.bias * w[COLUMNS]
}

/// Accelerated proximal gradient with restarts (Beck & Teboulle 2009): dense, plain, for smooth losses.
fn plain_solver(rows: &Rows, objective: &Objective) -> f64 {
    let penalised = COLUMNS + usize::from(!objective.intercept);
    let bound: f64 = rows
        .iter()
        .map(|(info, row)| {
            let sq_norm = row.iter().map(|(_, x)| x * x).sum::<f64>() + objective.bias * objective.bias;
            objective.row(info).1 * sq_norm * objective.loss.curvature()
        })
        .sum();
    let step = 1.0 / bound;
    let (mut w, mut ahead, mut age) = (vec![0.0; COLUMNS + 1], vec![0.0; COLUMNS + 1], 0.0);
    for _ in 0..30_000 {
        let mut next = ahead.clone();
        for (info, row) in rows {
            let (y, c) = objective.row(info);
            let slope = step * c * objective.loss.slope(y, margin(row, objective, &ahead));
            row.iter().for_each(|&(j, x)| next[j as usize] -= slope * x);
            next[COLUMNS] -= slope * objective.bias;
        }
        objective.penalty.prox(step, &mut next[..penalised]);
        let uphill: f64 = (0..=COLUMNS).map(|j| (ahead[j] - next[j]) * (next[j] - w[j])).sum();
        age = if uphill > 0.0 { 0.0 } else { age + 1.0 };
        let momentum = age / (age + 3.0);
        let moved: f64 = (0..=COLUMNS).map(|j| (next[j] - w[j]).powi(2)).sum();
        ahead = (0..=COLUMNS).map(|j| next[j] + momentum * (next[j] - w[j])).collect();
        w = next;
        if moved.sqrt() < 1e-13 {
            break;
        }
    }
    value(rows, objective, &w)
}

fn assert_optimal(rows: &Rows, options: &TrainOptions, trained: &Trained, case: &str) -> f64 {
    assert_eq!(trained.status, Status::Converged, "{case}: gap {:e}", trained.certificate.relative_gap());
    let found = value(rows, &options.tasks[0].objective, &trained.weights);
    let told = trained.certificate.objective;
    assert!((found - told).abs() <= 1e-9 * found, "{case}: {found}, and the certificate says {told}");
    assert!(found - trained.certificate.dual_objective <= 1.01e-6 * found, "{case}");
    found
}

fn check(penalties: &[&str], intercept: bool) {
    for &loss in ALL {
        let rows = rows(loss.is_classification());
        for name in penalties {
            let options = options(loss, name, intercept);
            let mut found = Vec::new();
            let mut bound = 0.0f64;
            for blocks in [1, 3, 20] {
                let store = store(&rows, blocks);
                let budget = budget(&store, &options.tasks[0].objective, blocks == 1);
                let trained = train(store, &options, &budget, &mut ()).unwrap();
                let case = format!("{} {name} {blocks} blocks, intercept {intercept}", loss.name());
                found.push(assert_optimal(&rows, &options, &trained, &case));
                bound = bound.max(trained.certificate.dual_objective);
                assert!(budget.peak_bytes() <= budget.limit_bytes());
            }
            if loss.curvature().is_finite() {
                let plain = plain_solver(&rows, &options.tasks[0].objective);
                // No certificate may promise more than another solver finds, and all find the same.
                assert!(bound <= plain * (1.0 + 1e-9), "{} {name}: {bound} above {plain}", loss.name());
                found.push(plain);
            }
            let best = found.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(found.iter().all(|value| value - best <= 1.1e-6 * best), "{} {name}: {found:?}", loss.name());
        }
    }
}

#[test]
fn l1_reaches_the_optimum_with_every_loss() {
    check(&["l1"], false);
}

#[test]
fn the_elastic_net_reaches_the_optimum_with_every_loss() {
    check(&["elastic-net"], false);
}

#[test]
fn non_negative_weights_reach_the_optimum_with_every_loss() {
    check(&["non-negative"], false);
    check(&["non-negative"], true);
}

#[test]
fn groups_reach_the_optimum_with_every_loss() {
    check(&["group"], false);
}

#[test]
fn another_lambda_of_l2_reaches_the_optimum_with_every_loss() {
    check(&["l2"], false);
}

#[test]
fn unpenalised_intercepts_reach_the_optimum_with_every_loss() {
    check(&["l1", "l2"], true);
}

#[test]
fn without_a_penalty_the_losses_alone_are_minimised() {
    for &loss in ALL.iter().filter(|loss| !loss.is_classification() && loss.curvature().is_finite()) {
        let rows = rows(false);
        let options = options(loss, "none", true);
        let trained = train(store(&rows, 1), &options, &Budget::unlimited(), &mut ()).unwrap();
        let found = assert_optimal(&rows, &options, &trained, loss.name());
        let plain = plain_solver(&rows, &options.tasks[0].objective);
        assert!((found - plain).abs() <= 2e-6 * plain, "{}: {found} and {plain}", loss.name());
        assert!(trained.certificate.radius.is_some());
    }
}

#[test]
fn l1_leaves_out_what_explains_nothing() {
    let rows = rows(true);
    let mut options = options(loss("squared-hinge"), "l1", true);
    options.tasks[0].objective.penalty = options.tasks[0].objective.penalty.with_lambda(15.0);
    let trained = train(store(&rows, 1), &options, &Budget::unlimited(), &mut ()).unwrap();
    let zeros = trained.weights.iter().filter(|&&w| w == 0.0).count();
    assert!((5..COLUMNS - 2).contains(&zeros), "{zeros} of {COLUMNS} weights are 0");
}

/// Every feature is in two rows, in different blocks, that want it to be 2 and 0: `min |w| + ½(w - 2)² + ½w²` for each,
/// which is 1.75 at w = ½. Every block has ten features, and wants half of them to be 2.
fn torn_apart(features: usize) -> Arc<MemoryStore> {
    let layout = Layout::new(false, ValueKind::F32);
    let block = |number: usize| {
        let mut block = Block::new(layout, features);
        for row in 10 * number..10 * (number + 1) {
            let label = if (row % 2 == 0) == (row < features) { 2.0 } else { 0.0 };
            block.push(RowInfo { label, weight: 1.0, group: 0, id: row as u64 }, [((row % features) as u32, 1.0)]);
        }
        block
    };
    Arc::new(MemoryStore::new((0..features / 5).map(block).collect()))
}

/// A run in as little memory as possible, by whole rows.
fn run_by_blocks(store: &Arc<MemoryStore>, options: TrainOptions, centre: Centre, max_passes: u64) -> Trained {
    let least = Plan::for_models(&**store, &options.tasks[0].objective, 1, &Budget::new(1)).unwrap_err().least_bytes;
    let options = TrainOptions { centre, max_passes, cache_share: 0.0, working_set: false, ..options };
    train(store.clone(), &options, &Budget::new(least), &mut ()).unwrap()
}

/// DA-BCD and D-BCD side by side (Yen et al. 2015, figure 1 and section 4). The dual of a feature above is
/// `min ½(β₁ - 2)² + ½β₂²` with `|β₁ + β₂| ≤ 1`. Block minimization without a proximal term goes to (1, 0), where
/// neither block alone can move any further, and w swings between 0 and 1: D is 1.5 and F is 2 for ever, both a seventh
/// of the optimum off it. Only blocks that are in memory together find the way out, which few do.
#[test]
fn without_the_proximal_term_blocks_get_stuck() {
    let features = 200;
    let store = torn_apart(features);
    let run = |centre, max_passes| {
        let loss = AnyLoss::named("squared").unwrap();
        let penalty = AnyPenalty::from_name("l1", 1.0, 0.5, None).unwrap();
        let objective = Objective { penalty, ..Objective::new(loss, 1.0, Targets::Numbers) };
        run_by_blocks(&store, TrainOptions { tolerance: 1e-6, ..TrainOptions::new(objective) }, centre, max_passes)
    };
    let optimum = 1.75 * features as f64;
    let with = run(Centre::AfterPass, 100);
    assert_eq!(with.status, Status::Converged);
    assert!((with.certificate.objective - optimum).abs() <= 2e-6 * optimum, "{}", with.certificate.objective);
    for passes in [5, 20, 100] {
        let without = run(Centre::UntilSolved, passes);
        let above = without.certificate.objective / optimum - 1.0;
        let below = 1.0 - without.certificate.dual_objective / optimum;
        // The model is the best multiple of w, which wins some of the seventh back.
        assert_eq!(without.status, Status::OutOfPasses);
        assert!(above > 0.09, "{passes} passes: {above:e} above the optimum");
        assert!(below > 0.135, "{passes} passes: the dual objective is {below:e} below the optimum");
    }
}

/// The same on rows like any others. The blocks are the same in all passes and each is solved, so what the first passes
/// win is all that there is.
#[test]
fn without_the_proximal_term_the_dual_objective_stops_rising() {
    let rows = rows(false);
    let store = store(&rows, 20);
    let run = |centre, passes| {
        run_by_blocks(&store, options(AnyLoss::named("squared").unwrap(), "l1", false), centre, passes).certificate
    };
    let optimum = run(Centre::AfterPass, 20_000).objective;
    let [early, late] = [10, 200].map(|passes| run(Centre::UntilSolved, passes));
    assert!(late.dual_objective - early.dual_objective < 0.02 * optimum, "{early:?} {late:?}, optimum {optimum}");
    assert!(late.dual_objective < 0.7 * optimum && late.objective > 1.2 * optimum, "{late:?}, optimum {optimum}");
}

/// Where R is strongly convex, the dual is smooth and needs no proximal term to converge (Theorem 1).
#[test]
fn without_the_proximal_term_strongly_convex_penalties_converge() {
    let rows = rows(false);
    let store = store(&rows, 20);
    let options = || options(AnyLoss::named("squared").unwrap(), "elastic-net", false);
    let trained = run_by_blocks(&store, options(), Centre::UntilSolved, 20_000);
    assert_optimal(&rows, &options(), &trained, "D-BCD, elastic net");
}

#[test]
fn a_run_goes_on_from_its_weights_and_dual_variables() {
    let rows = rows(true);
    for (blocks, intercept) in [(1, false), (1, true), (20, false), (20, true)] {
        let store = store(&rows, blocks);
        let base = || options(loss("squared-hinge"), "l1", intercept);
        let budget = || budget(&store, &base().tasks[0].objective, blocks == 1);
        let first = train(store.clone(), &base(), &budget(), &mut ()).unwrap();
        let mut duals = Vec::new();
        first.duals.read(0, ROWS, &mut duals).unwrap();
        let mut again = TrainOptions { tolerance: 1e-5, ..base() };
        again.tasks[0].start = Some(towline::trainer::Start::Values(duals));
        again.tasks[0].start_weights = first.weights.clone();
        let again = train(store.clone(), &again, &budget(), &mut ()).unwrap();
        assert_eq!(again.status, Status::Converged);
        assert!(again.cost.sweeps < first.cost.sweeps / 2, "{} after {}", again.cost.sweeps, first.cost.sweeps);
    }
}

#[test]
fn too_small_a_budget_says_the_least_that_works() {
    let rows = rows(true);
    let store = store(&rows, 20);
    let options = options(loss("squared-hinge"), "l1", false);
    let objective = &options.tasks[0].objective;
    let error = Plan::for_models(&*store, objective, 1, &Budget::new(1000)).unwrap_err();
    assert!(error.least_bytes > Plan::new(&*store, &Budget::new(1000)).unwrap_err().least_bytes);
    assert!(store.shape().rows > 0 && train(store.clone(), &options, &Budget::new(error.least_bytes), &mut ()).is_ok());
    assert!(train(store, &options, &Budget::new(error.least_bytes - 1), &mut ()).is_err());
}
