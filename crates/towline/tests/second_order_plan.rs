//! The plan of a solver of second order is what it takes.

use crate::labelled::{loss, memory_store, objective, rows as make_rows};
use towline::budget::Budget;
use towline::loss::ALL;
use towline::objective::Objective;
use towline::penalty::AnyPenalty;
use towline::trainer::{Choice, Solver, TrainOptions, train};

#[test]
fn a_run_takes_what_was_planned() {
    for &loss in ALL {
        for penalty in ["l2", "l1"] {
            for bytes in [100_000_000, 700_000] {
                let store = memory_store(&make_rows(6000, 0.1, 5), 30);
                let penalty = AnyPenalty::from_name(penalty, 1.0, 0.5, None).unwrap();
                let objective = Objective { penalty, ..objective(loss, 1.0, 0.0, None) };
                let name = format!("{} {} {bytes}", loss.name(), objective.penalty.name());
                let budget = Budget::new(bytes);
                let choice = Choice::new(&*store, &objective, Solver::Auto, &budget).unwrap();
                if !choice.solver.is_second_order() {
                    continue;
                }
                let (plan, _) = choice.plan(&*store, &objective, (Solver::Auto, 1), &budget).unwrap();
                assert_eq!((plan.solver, plan.why.is_empty()), (choice.solver, false), "{name}");
                assert!(plan.used_bytes() <= bytes && plan.least_bytes <= bytes, "{name}: {plan:?}");
                let found = train(store.clone(), &TrainOptions::new(objective.clone()), &budget, &mut ()).unwrap();
                assert_eq!(found.solver, plan.solver, "{name}");
                // Rows are read once if the plan says so.
                assert_eq!(found.cost.passes == 1, plan.in_memory || plan.solver == Solver::Gram, "{name}: {plan:?}");
                // A sample is taken and given back where rows are scanned.
                let sample = if plan.in_memory { 0 } else { plan.budget_bytes - plan.used_bytes() };
                let most = plan.used_bytes() + sample;
                assert!(budget.peak_bytes() <= most, "{name}: {} of {plan:?}", budget.peak_bytes());
                assert!(2 * budget.peak_bytes() >= plan.used_bytes(), "{name}: {} of {plan:?}", budget.peak_bytes());
            }
        }
    }
}

#[test]
fn rows_near_their_kinks_are_in_the_plan() {
    let store = memory_store(&make_rows(6000, 0.1, 5), 30);
    let objective = objective(loss("hinge"), 1.0, 0.0, None);
    let budget = Budget::new(500_000);
    let choice = Choice::new(&*store, &objective, Solver::Multipliers, &budget).unwrap();
    let (plan, _) = choice.plan(&*store, &objective, (Solver::Multipliers, 1), &budget).unwrap();
    assert!(!plan.in_memory && plan.resident_rows > 200 && plan.resident_rows < 6000, "{plan:?}");
    assert!(plan.used_bytes() > 400_000 && plan.used_bytes() <= 500_000, "{plan:?}");
}
