//! Coordinate descent on columns ends at the certified optimum that dual coordinate descent ends at, in memory and out
//! of core, inside its budget.

use crate::labelled::loss;
use std::sync::Arc;

use crate::rows::{objective, rows, store};
use towline::budget::Budget;
use towline::loss::{ALL, AnyLoss, Loss};
use towline::objective::Objective;
use towline::store::MemoryStore;
use towline::trainer::{Plan, Solver, Status, Task, TrainError, TrainOptions, Trained, train, train_all};

const PENALTIES: [&str; 3] = ["l1", "elastic-net", "group"];

fn is_smooth(loss: AnyLoss) -> bool {
    loss.curvature().is_finite()
}

fn options(objective: Objective, solver: Solver) -> TrainOptions {
    TrainOptions { tolerance: 1e-7, max_passes: 20_000, seed: 1, solver, ..TrainOptions::new(objective) }
}

fn plan(store: &MemoryStore, objective: &Objective, budget: &Budget) -> Result<Plan, TrainError> {
    Plan::for_solver(store, objective, Solver::Columns, 1, budget).map(|found| found.0)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Memory {
    /// Little more than the least that works.
    Little,
    /// Just what all rows need by columns.
    All,
    /// As much again, so that working sets are copied.
    Plenty,
}

fn budget(store: &MemoryStore, objective: &Objective, memory: Memory) -> Budget {
    let whole = plan(store, objective, &Budget::unlimited()).unwrap();
    let budget = Budget::new(match memory {
        Memory::Little => whole.least_bytes * 17 / 16,
        Memory::All => whole.used_bytes(),
        Memory::Plenty => 3 * whole.used_bytes(),
    });
    let plan = plan(store, objective, &budget).unwrap();
    assert_eq!(plan.in_memory, memory != Memory::Little);
    assert_eq!(plan.spare_bytes > 0, memory == Memory::Plenty);
    budget
}

fn run(store: &Arc<MemoryStore>, options: &TrainOptions, budget: &Budget, case: &str) -> Trained {
    let trained = train(store.clone(), options, budget, &mut ()).unwrap();
    assert_eq!(trained.status, Status::Converged, "{case}: {:?}", trained.certificate);
    assert!(budget.peak_bytes() <= budget.limit_bytes(), "{case}");
    trained
}

fn check(penalty: &str, intercept: bool) {
    for &loss in ALL {
        let rows = rows(loss.is_classification());
        let objective = objective(loss, penalty, intercept);
        let dual = run(&store(&rows, 1), &options(objective.clone(), Solver::Dual), &Budget::unlimited(), "dual");
        assert_eq!(dual.solver, Solver::Dual);
        for (blocks, memory) in [(1, Memory::All), (1, Memory::Plenty), (10, Memory::Little)] {
            if memory == Memory::Little && !is_smooth(loss) {
                continue;
            }
            let case = format!("{} {penalty}, {blocks} blocks, {memory:?}, intercept {intercept}", loss.name());
            let store = store(&rows, blocks);
            let budget = budget(&store, &objective, memory);
            let found = run(&store, &options(objective.clone(), Solver::Columns), &budget, &case);
            let planned = plan(&store, &objective, &Budget::unlimited()).unwrap().used_bytes();
            assert_eq!(budget.peak_bytes() > planned, memory == Memory::Plenty, "{case}");
            assert_eq!(found.solver, Solver::Columns, "{case}");
            let (a, b) = (found.certificate, dual.certificate);
            assert!((a.objective - b.objective).abs() <= 2e-7 * b.objective, "{case}: {a:?} and {b:?}");
            assert!(a.dual_objective <= b.objective * (1.0 + 1e-12), "{case}: {a:?} and {b:?}");
            for (a, b) in found.weights.iter().zip(&dual.weights) {
                assert!((a - b).abs() <= 3e-2, "{case}: {a} and {b}");
            }
        }
    }
}

#[test]
fn l1_has_the_optimum_of_dual_steps() {
    check("l1", false);
    check("l1", true);
}

#[test]
fn the_elastic_net_has_the_optimum_of_dual_steps() {
    check("elastic-net", false);
    check("elastic-net", true);
}

#[test]
fn non_negative_weights_have_the_optimum_of_dual_steps() {
    check("non-negative", false);
    check("non-negative", true);
}

#[test]
fn groups_have_the_optimum_of_dual_steps() {
    check("group", false);
    check("group", true);
}

#[test]
fn auto_is_by_columns_where_they_fit_and_says_from_when_on() {
    let rows = rows(true);
    let tall = objective(loss("squared-hinge"), "l1", false);
    let (plan, _) = Plan::for_solver(&*store(&rows, 10), &tall, Solver::Auto, 1, &Budget::unlimited()).unwrap();
    assert_eq!((plan.solver, plan.columns_from_bytes), (Solver::Dual, None), "more rows than columns");
    let store = store(&rows[..crate::rows::COLUMNS].to_vec(), 10);
    for loss in ALL {
        for penalty in ["l2", "none", "l1", "elastic-net", "group"] {
            let objective = objective(*loss, penalty, false);
            let plan = |budget: &Budget| Plan::for_solver(&*store, &objective, Solver::Auto, 1, budget).unwrap().0;
            let whole = plan(&Budget::unlimited());
            let can = PENALTIES.contains(&penalty);
            assert_eq!(whole.solver == Solver::Columns, can, "{} {penalty}", loss.name());
            assert!(can || whole.columns_from_bytes.is_none());
            if !can {
                continue;
            }
            let less = plan(&Budget::new(whole.used_bytes() - 1));
            assert_eq!((less.solver, less.columns_from_bytes), (Solver::Dual, Some(whole.used_bytes())));
            assert_eq!(plan(&Budget::new(whole.used_bytes())).solver, Solver::Columns);
        }
    }
}

#[test]
fn what_cannot_be_done_by_columns_is_said() {
    let rows = rows(true);
    let store = store(&rows, 10);
    let failed = |name: &str, penalty: &str, budget: &Budget| {
        let options = options(objective(loss(name), penalty, false), Solver::Columns);
        train(store.clone(), &options, budget, &mut ()).unwrap_err().to_string()
    };
    let whole = plan(&store, &objective(loss("hinge"), "l1", false), &Budget::unlimited()).unwrap().used_bytes();
    let error = failed("hinge", "l1", &Budget::new(whole - 1));
    assert!(error.contains(&format!("has kinks: use `memory({whole})`")), "{error}");
    assert!(failed("squared-hinge", "l2", &Budget::unlimited()).contains("l1, elastic-net and group"));
    let least = plan(&store, &objective(loss("squared-hinge"), "l1", false), &Budget::unlimited()).unwrap().least_bytes;
    let error = failed("squared-hinge", "l1", &Budget::new(least - 1));
    assert!(error.contains(&format!("`memory({least})`")), "{error}");
    assert!(plan(&store, &objective(loss("squared-hinge"), "l1", false), &Budget::new(least)).is_ok());
}

#[test]
fn a_run_starts_from_weights() {
    let rows = rows(true);
    let store = store(&rows, 1);
    for intercept in [false, true] {
        let base = || options(objective(loss("logistic"), "l1", intercept), Solver::Columns);
        let first = run(&store, &base(), &Budget::unlimited(), "first");
        let mut again = TrainOptions { tolerance: 1e-6, ..base() };
        again.tasks[0].start = Some(towline::trainer::Start::Values(first.duals.values().unwrap()));
        again.tasks[0].start_weights = first.weights.clone();
        let again = run(&store, &again, &Budget::unlimited(), "again");
        assert_eq!(again.cost.sweeps, 0);
        assert_eq!(again.weights, first.weights);
    }
}

/// Rows of other models are in memory, too: a row that a model does not want must not count.
#[test]
fn models_that_share_rows_are_those_that_train_alone() {
    use towline::objective::{Classes, Multiclass, Targets};
    let mut rows = rows(true);
    for (info, _) in &mut rows {
        info.label = (info.id % 3) as f64;
    }
    let names = ["a", "b", "c"].map(String::from).to_vec();
    let classes = Classes::new(vec![0.0, 1.0, 2.0], names, vec![1.0, 0.0, 2.0]);
    let targets = Targets::Classes { classes, multiclass: Multiclass::OneVsRest };
    let all = Objective { targets, ..objective(loss("squared-hinge"), "l1", true) };
    let store = store(&rows, 1);
    let tasks = all.split().into_iter().map(Task::new).collect();
    let together = TrainOptions { tasks, ..options(all.clone(), Solver::Columns) };
    let together = train_all(store.clone(), &together, &Budget::unlimited(), &mut ()).unwrap();
    for (objective, together) in all.split().into_iter().zip(together) {
        let alone = run(&store, &options(objective, Solver::Columns), &Budget::unlimited(), "alone");
        assert_eq!((alone.weights, alone.certificate), (together.weights, together.certificate));
    }
}
