//! Algorithms as papers have them, and each of their parameters as a setting.
use std::sync::Arc;

use crate::front::{dense, libsvm, scratch};
use crate::labelled::{loss, margin, memory_store, objective, rows};
use crate::rows as penalised;
use towline::budget::Budget;
use towline::fit::{Algorithm, Parameters};
use towline::loss::{ALL, Loss};
use towline::order::OrderName;
use towline::store::MemoryStore;
use towline::trainer::{
    Certificate, Cost, Observer, Partition, Selection, Solver, Status, Step, TrainOptions, Trained, Variant,
    WeightsNow, train,
};
use towline::{Fit, Method, Regularizer, pack};

fn run(store: &Arc<MemoryStore>, options: &TrainOptions) -> Trained {
    train(store.clone(), options, &Budget::unlimited(), &mut ()).unwrap()
}

/// Block minimization of the hinge loss on a tenth of the rows at a time.
fn bmd(partition: Partition, cache_share: f64) -> TrainOptions {
    let base = TrainOptions::new(objective(loss("hinge"), 5.0, 0.5, None));
    let variant = Variant { partition, blocks: Some(10), ..Variant::OURS };
    TrainOptions { solver: Solver::Dual, cache_share, variant, rounds: Some(10), tolerance: 1e-4, ..base }
}

#[test]
fn blocks_that_are_split_once_take_more_passes_than_blocks_that_are_drawn_anew() {
    let store = memory_store(&rows(1200, 0.1, 5), 40);
    let mut objectives = Vec::new();
    let mut passes = |partition, share| {
        let trained = run(&store, &TrainOptions { tolerance: 1e-2, max_passes: 300, ..bmd(partition, share) });
        assert!(trained.cost.passes > 1, "a tenth of the rows is in memory");
        objectives.push(trained.certificate.objective);
        trained.cost.passes
    };
    let (fixed, redrawn) = (passes(Partition::Fixed, 0.0), passes(Partition::Redrawn, 0.0));
    assert!(fixed > redrawn, "{fixed} {redrawn}");
    let (fixed_cached, redrawn_cached) = (passes(Partition::Fixed, 0.5), passes(Partition::Redrawn, 0.5));
    assert!(fixed_cached <= fixed, "{fixed_cached} {fixed}");
    assert!(redrawn_cached <= redrawn.max(fixed_cached), "{redrawn_cached} {fixed_cached}");
    let least = objectives.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(objectives.iter().all(|objective| objective - least <= 5e-2 * least), "{objectives:?}");
}

/// Looks at what was visited by the end of each step.
#[derive(Default)]
struct Visits(Vec<u64>);

impl Observer for Visits {
    fn step(&mut self, step: &Step, _weights: &WeightsNow) {
        self.0.push(step.cost.visits);
    }
}

#[test]
fn a_pass_has_as_many_steps_as_blocks_are_asked_for() {
    let store = memory_store(&rows(1200, 0.1, 5), 40);
    for (blocks, share, expected) in [(1, 0.0, 1), (8, 0.0, 8), (8, 0.5, 16), (12, 1.0 / 3.0, 18)] {
        let mut options = TrainOptions { max_passes: 1, ..bmd(Partition::Fixed, share) };
        options.variant.blocks = Some(blocks);
        let mut visits = Visits::default();
        train(store.clone(), &options, &Budget::unlimited(), &mut visits).unwrap();
        visits.0.dedup();
        assert_eq!(visits.0.len(), expected, "{blocks} {share}");
    }
    let mut options = bmd(Partition::Fixed, 0.5);
    options.variant.blocks = Some(30);
    let error = train(store, &options, &Budget::unlimited(), &mut ()).unwrap_err().to_string();
    assert!(error.contains("`blocks` asks for 60 steps a pass, and the store has 40 blocks"), "{error}");
}

/// The largest violation of all rows at the weights and dual variables of the end.
fn violation(data: &[crate::labelled::PlainRow], options: &TrainOptions, trained: &Trained) -> f64 {
    let objective = &options.tasks[0].objective;
    let duals = trained.duals.values().unwrap();
    let w: Vec<f64> = trained.weights.iter().map(|w| w / trained.certificate.multiple).collect();
    let of = |(row, &beta): (&crate::labelled::PlainRow, &f64)| {
        let ((y, c), z) = (objective.row(&row.0), margin(row, &w, objective));
        let is_held = objective.loss.slack(y, z, beta, c) > 0.0;
        if is_held { 0.0 } else { objective.loss.dual_gradient(y, z, beta, c).abs() }
    };
    data.iter().zip(&duals).map(of).fold(0.0, f64::max)
}

#[test]
fn a_run_ends_by_violations_if_it_is_asked_to() {
    let data = rows(150, 0.1, 3);
    let store = memory_store(&data, 4);
    for &loss in ALL.iter().filter(|loss| loss.name() != "logistic") {
        for order in OrderName::ALL {
            let base = TrainOptions::new(objective(loss, 2.0, 0.5, None));
            let variant = Variant { violation: Some(1e-2), ..Variant::OURS };
            let limits = TrainOptions { tolerance: -1.0, max_passes: 100_000, ..base };
            let options = TrainOptions { solver: Solver::Dual, order, variant, ..limits };
            let trained = run(&store, &options);
            let name = (loss.name(), order);
            assert_eq!(trained.status, Status::Converged, "{name:?}");
            let Certificate { violation: Some(met), .. } = trained.certificate else { panic!("{name:?}") };
            assert!(met < 1e-2, "{name:?}: {met}");
            // Rows that were visited early in the last sweep may be a little worse by its end.
            let all = violation(&data, &options, &trained);
            assert!(all < 0.1, "{name:?}: {all}");
            assert!(trained.certificate.relative_gap() < 0.1, "{name:?}");
        }
    }
}

#[test]
fn smaller_violations_take_more_visits_and_leave_a_smaller_gap() {
    let store = memory_store(&rows(600, 0.05, 9), 4);
    let find = |order: OrderName, violation: f64| {
        let base = TrainOptions::new(objective(loss("hinge"), 100.0, 0.5, None));
        let variant = Variant { violation: Some(violation), ..Variant::OURS };
        let trained = run(
            &store,
            &TrainOptions { solver: Solver::Dual, order, variant, tolerance: -1.0, max_passes: 100_000, ..base },
        );
        (trained.cost.visits, trained.certificate.relative_gap())
    };
    for order in [OrderName::Adaptive, OrderName::Shrinking, OrderName::Permutation] {
        let (loose, tight) = (find(order, 0.1), find(order, 1e-3));
        assert!(tight.0 > loose.0 && tight.1 < loose.1, "{order:?}: {loose:?} {tight:?}");
    }
    // What AVSF and shrinking are for, at large C.
    let visits = |order| find(order, 0.01).0;
    let (adaptive, shrinking, uniform) =
        (visits(OrderName::Adaptive), visits(OrderName::Shrinking), visits(OrderName::Permutation));
    assert!(adaptive < uniform && shrinking < uniform, "{adaptive} {shrinking} {uniform}");
}

#[test]
fn violations_end_runs_out_of_core_as_well() {
    let store = memory_store(&rows(600, 0.1, 5), 20);
    // Curved losses: where rows have kinks, those that come anew always violate something.
    let of_squares = || objective(loss("squared-hinge"), 0.2, 0.5, None);
    let mut options = TrainOptions { tolerance: -1.0, ..bmd(Partition::Redrawn, 0.5) };
    options.tasks[0].objective = of_squares();
    options.variant.violation = Some(0.05);
    let trained = run(&store, &options);
    assert_eq!(trained.status, Status::Converged);
    assert!(trained.cost.passes > 1 && trained.certificate.violation.unwrap() < 0.05);
    assert!(trained.certificate.relative_gap() < 5e-2);
    // The problem of a block may end by them, too: fewer sweeps than a thousand a step.
    let mut options = TrainOptions { rounds: None, max_passes: 5, tolerance: 1e-9, ..bmd(Partition::Fixed, 0.0) };
    options.tasks[0].objective = of_squares();
    options.variant.inner_tolerance = Some(1e-3);
    let solved = run(&store, &options);
    options.variant.inner_tolerance = Some(10.0);
    let loose = run(&store, &options);
    let sweeps_per_pass = |cost: Cost| cost.sweeps as f64 / cost.passes as f64;
    assert!(sweeps_per_pass(loose.cost) < 0.5 * sweeps_per_pass(solved.cost), "{:?} {:?}", loose.cost, solved.cost);
}

#[test]
fn support_vectors_between_their_bounds_are_counted() {
    let data = rows(300, 0.1, 4);
    let options = TrainOptions {
        solver: Solver::Dual,
        tolerance: 1e-7,
        ..TrainOptions::new(objective(loss("hinge"), 1.0, 0.5, None))
    };
    let trained = run(&memory_store(&data, 3), &options);
    let duals = trained.duals.values().unwrap();
    let objective = &options.tasks[0].objective;
    let between = data.iter().zip(&duals).filter(|(row, beta)| {
        let c = objective.row(&row.0).1;
        beta.abs() > 1e-6 * c && beta.abs() < (1.0 - 1e-6) * c
    });
    let count = between.count() as u64;
    assert!(count > 0 && count < trained.certificate.support);
    assert_eq!(trained.certificate.unbounded, Some(count));
}

#[test]
fn every_selection_reaches_the_optimum() {
    let store = memory_store(&rows(600, 0.1, 5), 20);
    for selection in Selection::ALL {
        let trained = run(&store, &TrainOptions { selection, tolerance: 2e-2, ..bmd(Partition::Redrawn, 0.5) });
        assert_eq!(trained.status, Status::Converged, "{selection:?}");
        assert_eq!(selection.name(), serde_json::to_value(selection).unwrap());
    }
}

#[test]
fn proximal_steps_of_every_kind_reach_the_optimum() {
    let store = penalised::store(&penalised::rows(true), 10);
    let base = || {
        let objective = penalised::objective(loss("squared-hinge"), "l1", false);
        TrainOptions { tolerance: 1e-3, max_passes: 3000, working_set: false, ..TrainOptions::new(objective) }
    };
    let ours = run(&store, &TrainOptions { solver: Solver::Dual, ..base() });
    let of_blocks = Variant { partition: Partition::Fixed, blocks: Some(10), ..Variant::OURS };
    let plain = Variant { extrapolates: false, eta: Some(0.2), ..of_blocks };
    let variants =
        [of_blocks, plain, Variant { eta_growth: 1.05, ..plain }, Variant { inner_passes: Some(3), ..plain }];
    let mut passes = Vec::new();
    for variant in variants {
        let options = TrainOptions { solver: Solver::Dual, variant, cache_share: 0.0, ..base() };
        let trained = run(&store, &options);
        let difference = (trained.certificate.objective - ours.certificate.objective).abs();
        assert!(difference <= 1e-2 * ours.certificate.objective, "{variant:?}: {difference}");
        passes.push(trained.cost.passes);
    }
    // Each of them changes the run; a centre that moves every third pass takes more passes.
    assert!(passes[1] != passes[0] && passes[2] != passes[1], "{passes:?}");
    assert!(passes[3] > passes[1], "{passes:?}");
}

#[test]
fn methods_as_published_have_the_parameters_of_their_papers() {
    let of = |algorithm| Method::AsPublished(algorithm).parameters();
    let sbm = of(Algorithm::Sbm);
    assert_eq!((sbm.cache_share, sbm.rounds, sbm.selection), (0.5, Some(10), Selection::SecondScore));
    assert_eq!((sbm.variant.blocks, sbm.variant.partition), (Some(12), Partition::Fixed));
    assert_eq!(Parameters { cache_share: 0.5, ..of(Algorithm::Bmd) }, sbm, "no cache is all that differs");
    assert_eq!(of(Algorithm::Avsf).variant.violation, Some(0.01));
    let da_bcd = of(Algorithm::DaBcd);
    assert_eq!((da_bcd.variant.eta, da_bcd.variant.extrapolates, da_bcd.variant.blocks), (Some(1.0), false, Some(10)));
    assert_eq!(Method::Sbm.parameters(), Parameters::OURS);
}

#[test]
fn methods_as_published_reach_what_ours_do() {
    let folder = scratch("published");
    libsvm(&folder.join("train.svm"), 3000);
    let store = pack(folder.join("train.svm")).block_bytes(2000).to(folder.join("train.tow")).unwrap();
    let fit = || Fit::hinge().tolerance(1e-4).memory(1 << 30);
    let ours = fit().run(&store).unwrap();
    for name in ["sbm-as-published", "bmd-as-published", "avsf-as-published"] {
        let model = fit().method(name.parse().unwrap()).run(&store).unwrap();
        assert!((model.objective_value() - ours.objective_value()).abs() < 2e-4 * ours.objective_value(), "{name}");
    }
    let by_violation = Fit::hinge().memory(1 << 30).method("avsf-as-published".parse().unwrap()).run(&store).unwrap();
    assert!(by_violation.header.certificate.unwrap().violation.unwrap() < 0.01);
    let sparse = || Fit::squared_hinge().penalty(Regularizer::L1).tolerance(1e-3).memory(1 << 30);
    let ours = sparse().run(&store).unwrap();
    let published = sparse().method("da-bcd-as-published".parse().unwrap()).solver(Solver::Dual).rounds(Some(10));
    let published = published.max_passes(200).run(&store).unwrap();
    let off = (published.objective_value() - ours.objective_value()).abs() / ours.objective_value();
    assert!(off < 2e-2, "{off}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn parameters_that_would_be_ignored_are_refused() {
    let data = dense(30, true);
    let l1 = || Fit::squared_hinge().penalty(Regularizer::L1).intercept(false);
    let cases: Vec<(Fit, &str)> = vec![
        (Fit::hinge().bias(1.0).eta(Some(1.0)), "`eta` is for the proximal point method"),
        (l1().eta(Some(-1.0)), "`eta` must be a number above 0"),
        (l1().eta_growth(0.5), "`eta_growth` must be a number from 1 to 1000"),
        (l1().violation(0.1), "`violation` is for one output, the penalty l2"),
        (Fit::hinge().bias(1.0).violation(0.1).tolerance(0.1), "are two ways to end"),
        (Fit::hinge().bias(1.0).violation(0.0), "`violation` must be a number above 0"),
        (Fit::hinge().bias(1.0).blocks(Some(0)), "`blocks` must be 1 or more"),
        (Fit::hinge().bias(1.0).blocks(Some(5)), "the store has 1 blocks"),
        (l1().solver(Solver::Columns).order(OrderName::Adaptive), "`order` is about rows"),
        (l1().solver(Solver::Dual).block_steps(3), "`block_steps` is for `solver(columns)`"),
        (l1().inner_tolerance(0.1), "`inner_tolerance` is for one output and the penalty l2"),
        (Fit::hinge().solver(Solver::Newton).partition(Partition::Fixed), "`partition` is for `solver(dual)`"),
    ];
    for (fit, expected) in cases {
        let error = fit.run(&data).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} does not say {expected}");
    }
}

#[test]
fn rules_of_their_own_tell_many_classes_apart_over_a_store() {
    let data = crate::front::three_classes(600);
    let exact = Fit::crammer_singer().bias(1.0).run(&data).unwrap();
    for name in ["perceptron", "mira", "cw"] {
        let model = Fit::new().bias(1.0).method(name.parse().unwrap()).max_passes(20).run(&data).unwrap();
        assert_eq!(model.header.objective.width(), 3, "{name}");
        assert!(model.objective_value() > exact.objective_value() * 0.999, "{name}");
        let two = Fit::new().bias(1.0).method(name.parse().unwrap()).run(&dense(60, true)).unwrap();
        assert_eq!(two.header.objective.width(), 1, "{name}: one score tells two classes apart");
    }
}
