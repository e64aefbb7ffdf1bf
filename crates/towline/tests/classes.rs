//! Many classes: every way to tell them apart reaches its certified optimum, in memory and out of core, with every
//! order and selection.
//!
//! As in `training.rs`, both sides of the duality gap are computed anew from the definitions.
use crate::labelled::Random;
use crate::labelled::loss;
use std::sync::Arc;

use towline::block::{Block, Layout, RowInfo};
use towline::budget::Budget;
use towline::loss::classes::{ClassLoss, CrammerSinger, Softmax};
use towline::loss::{ALL, AnyLoss};
use towline::objective::{Classes, Multiclass, Objective, Targets};
use towline::order::OrderName;
use towline::store::MemoryStore;
use towline::trainer::{
    Plan, Selection, Solver, Start, Status, Task, TrainError, TrainOptions, Trained, train, train_all,
};

const COLUMNS: usize = 20;
const ROWS: usize = 300;
const CLASSES: usize = 4;

type Rows = Vec<(RowInfo, Vec<(u32, f64)>)>;

/// Random sparse rows; the class is that of the largest of four sums, most of the time.
fn rows() -> Rows {
    let mut source = Random(99);
    let mut random = move || source.fraction();
    let row = |id: u64| {
        let mut row: Vec<(u32, f64)> = Vec::new();
        for column in 0..COLUMNS as u32 {
            if random() < 0.3 {
                row.push((column, f64::from((random() * 2.0 - 1.0) as f32)));
            }
        }
        let sum = |class: u32| row.iter().map(|&(j, x)| if j % 4 == class { x } else { -0.2 * x }).sum::<f64>();
        let mut sums: Vec<f64> = (0..CLASSES as u32).map(sum).collect();
        sums.iter_mut().for_each(|sum| *sum += random() - 0.5);
        let class = (0..CLASSES).max_by(|&a, &b| sums[a].total_cmp(&sums[b])).unwrap();
        let label = [7.0, 1.0, 30.0, 4.0][class];
        (RowInfo { label, weight: 0.5 + f64::from(id as u32 % 3), group: 0, id }, row)
    };
    (0..ROWS as u64).map(row).collect()
}

fn store(rows: &Rows, blocks: usize) -> Arc<MemoryStore> {
    let make = |rows: &[(RowInfo, Vec<(u32, f64)>)]| {
        let mut block = Block::new(Layout::SPARSE_F32, COLUMNS);
        rows.iter().for_each(|(info, row)| block.push(*info, row.iter().copied()));
        block
    };
    Arc::new(MemoryStore::new(rows.chunks(ROWS.div_ceil(blocks)).map(make).collect()))
}

fn classes() -> Classes {
    let labels = vec![1.0, 4.0, 7.0, 30.0];
    let names = labels.iter().map(f64::to_string).collect();
    Classes::new(labels, names, vec![1.0, 0.7, 1.0, 2.0])
}

fn objective(multiclass: Multiclass, loss: AnyLoss, c: f64, bias: f64) -> Objective {
    Objective { bias, ..Objective::new(loss, c, Targets::Classes { classes: classes(), multiclass }) }
}

fn options(objective: Objective) -> TrainOptions {
    let base = TrainOptions { solver: Solver::Dual, ..TrainOptions::new(objective) };
    TrainOptions { tolerance: 1e-6, max_passes: 20_000, seed: 1, ..base }
}

/// A budget under which about `part` of the rows fit.
fn budget(store: &MemoryStore, objective: &Objective, models: u64, part: f64) -> Budget {
    let plan = Plan::for_models(store, objective, models, &Budget::unlimited()).unwrap();
    let fixed = plan.weight_bytes + plan.dual_bytes + plan.read_ahead_bytes;
    Budget::new((fixed + (plan.resident_bytes as f64 * part) as u64).max(plan.least_bytes))
}

/// Primal and dual objective of one objective for all classes, from the definitions.
fn sides<M: ClassLoss>(loss: M, rows: &Rows, objective: &Objective, trained: &Trained) -> (f64, f64) {
    let w = &trained.weights;
    let mut v = vec![0.0; w.len()];
    let mut primal = 0.5 * w.iter().map(|w| w * w).sum::<f64>();
    let mut dual = 0.0;
    let duals = trained.duals.values().unwrap();
    for ((info, row), beta) in rows.iter().zip(duals.chunks(CLASSES)) {
        let (class, c) = objective.class(info).unwrap();
        let mut entries = row.clone();
        entries.push((COLUMNS as u32, objective.bias));
        let margin = |m: usize| entries.iter().map(|&(j, x)| w[j as usize * CLASSES + m] * x).sum::<f64>();
        let margins: Vec<f64> = (0..CLASSES).map(margin).collect();
        primal += c * loss.value(class, &margins);
        dual += loss.dual_value(class, beta, c);
        assert!(beta.iter().sum::<f64>().abs() < 1e-9 * c && beta[class] <= c, "{beta:?}");
        for &(j, x) in &entries {
            (0..CLASSES).for_each(|m| v[j as usize * CLASSES + m] += beta[m] * x);
        }
    }
    (primal, dual - 0.5 * v.iter().map(|v| v * v).sum::<f64>())
}

fn assert_optimal(rows: &Rows, objective: &Objective, trained: &Trained, case: &str) -> f64 {
    assert_eq!(trained.status, Status::Converged, "{case}");
    let (primal, dual) = match objective.targets.multiclass() {
        Some(Multiclass::CrammerSinger) => sides(CrammerSinger, rows, objective, trained),
        _ => sides(Softmax, rows, objective, trained),
    };
    assert!(primal - dual >= -1e-9 * primal, "{case}: weak duality");
    assert!(primal - dual <= 1.01e-6 * primal, "{case}: {primal} {dual}");
    let told = trained.certificate;
    assert!((told.objective - primal).abs() <= 1e-9 * primal, "{case}: the certificate tells the objective");
    assert!((told.dual_objective - dual).abs() <= 1e-9 * primal, "{case}: the certificate tells the dual");
    primal
}

#[test]
fn joint_objectives_reach_their_optimum_with_every_order_and_feed() {
    let rows = rows();
    for (multiclass, loss) in [(Multiclass::CrammerSinger, loss("hinge")), (Multiclass::Softmax, loss("logistic"))] {
        let mut optima = Vec::new();
        for (blocks, part) in [(1, 1.0), (3, 0.5), (20, 0.3)] {
            for order in OrderName::ALL {
                for selection in Selection::ALL {
                    let objective = objective(multiclass, loss, 1.0, 0.5);
                    let store = store(&rows, blocks);
                    let budget = budget(&store, &objective, 1, part);
                    let options = TrainOptions { order, selection, ..options(objective.clone()) };
                    let trained = train(store, &options, &budget, &mut ()).unwrap();
                    let case = format!("{multiclass:?}, {blocks} blocks, {order:?}, {selection:?}");
                    optima.push(assert_optimal(&rows, &objective, &trained, &case));
                }
            }
        }
        let (least, most) = optima.iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
        assert!(most - least <= 1e-6 * most, "{multiclass:?}: {least} {most}");
    }
}

#[test]
fn one_vs_rest_is_the_same_as_one_model_after_the_other() {
    let rows = rows();
    for &loss in ALL.iter().filter(|loss| loss.is_classification()) {
        let all = objective(Multiclass::OneVsRest, loss, 3.0, 1.0).split();
        let in_memory = store(&rows, 1);
        let tasks = all.iter().cloned().map(Task::new).collect();
        let together = TrainOptions { tasks, ..options(all[0].clone()) };
        let together = train_all(in_memory.clone(), &together, &Budget::unlimited(), &mut ()).unwrap();
        for (objective, together) in all.iter().zip(&together) {
            let alone = train(in_memory.clone(), &options(objective.clone()), &Budget::unlimited(), &mut ()).unwrap();
            assert_eq!(alone.weights, together.weights, "in memory they are the same to the bit");
        }
    }
    // Out of core models share the room for rows that stay, and reach the same optimum on another way.
    let all = objective(Multiclass::OneVsRest, loss("squared-hinge"), 3.0, 1.0).split();
    let blocks = store(&rows, 20);
    let exact = |objective: &Objective| TrainOptions { tolerance: 1e-10, ..options(objective.clone()) };
    let tasks = all.iter().cloned().map(Task::new).collect();
    let many = TrainOptions { tasks, ..exact(&all[0]) };
    let limit = budget(&blocks, &all[0], 4, 0.3);
    assert!(!Plan::for_models(&*blocks, &all[0], 4, &limit).unwrap().in_memory);
    let together = train_all(blocks.clone(), &many, &limit, &mut ()).unwrap();
    for (objective, together) in all.iter().zip(&together) {
        let alone = train(blocks.clone(), &exact(objective), &budget(&blocks, objective, 1, 0.3), &mut ()).unwrap();
        let (a, b) = (alone.certificate.objective, together.certificate.objective);
        assert!((a - b).abs() <= 1e-9 * a, "{a} {b}");
        assert_eq!(together.status, Status::Converged);
    }
}

#[test]
fn models_that_do_not_fit_together_train_in_waves() {
    let rows = rows();
    let all = objective(Multiclass::OneVsRest, loss("hinge"), 1.0, 0.0).split();
    let tasks = || all.iter().cloned().map(Task::new).collect();
    for blocks in [1, 20] {
        let store = store(&rows, blocks);
        let one = Plan::for_models(&*store, &all[0], 1, &Budget::unlimited()).unwrap();
        let limit = match blocks {
            // All rows, and room for two models or three: four do not fit with one vector each, either.
            1 => one.read_ahead_bytes + one.weight_bytes + 3 * one.dual_bytes + 2 * one.resident_bytes,
            _ => one.least_bytes + one.weight_bytes,
        };
        let (plan, size) = Plan::for_wave(&*store, &all[0], 4, &Budget::new(limit)).unwrap();
        assert!(size < 4 && plan.in_memory == (blocks == 1), "{size} {plan:?}");
        let many = TrainOptions { tasks: tasks(), ..options(all[0].clone()) };
        let trained = train_all(store.clone(), &many, &Budget::new(limit), &mut ()).unwrap();
        for (objective, found) in all.iter().zip(&trained) {
            let alone = train(store.clone(), &options(objective.clone()), &Budget::unlimited(), &mut ()).unwrap();
            let (a, b) = (alone.certificate.objective, found.certificate.objective);
            assert!(found.status == Status::Converged && (a - b).abs() <= 1e-6 * a, "{a} {b}");
        }
        assert_eq!(trained[3].cost.passes == 1, blocks == 1, "in memory the rows are read once for all waves");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let rows = rows();
    let all = objective(Multiclass::OneVsRest, loss("hinge"), 10.0, 0.0).split();
    let blocks = store(&rows, 20);
    let limit = || budget(&blocks, &all[0], 4, 0.3);
    let run = |threads| {
        let tasks = all.iter().cloned().map(Task::new).collect();
        let options = TrainOptions { tasks, threads, max_passes: 5, ..options(all[0].clone()) };
        train_all(blocks.clone(), &options, &limit(), &mut ()).unwrap()
    };
    let (one, four) = (run(1), run(4));
    assert!(one.iter().zip(&four).all(|(a, b)| a.weights == b.weights && a.cost.passes == b.cost.passes));
}

#[test]
fn joint_runs_go_on_from_their_dual_variables() {
    let rows = rows();
    for (blocks, part) in [(1, 1.0), (20, 0.3)] {
        for (multiclass, loss) in [(Multiclass::CrammerSinger, loss("hinge")), (Multiclass::Softmax, loss("logistic"))]
        {
            let objective = objective(multiclass, loss, 1.0, 0.5);
            let store = store(&rows, blocks);
            let limit = || budget(&store, &objective, 1, part);
            let first = train(store.clone(), &options(objective.clone()), &limit(), &mut ()).unwrap();
            let start = Some(Start::Values(first.duals.values().unwrap()));
            let again =
                TrainOptions { tolerance: 1e-5, ..TrainOptions::of(Task { start, ..Task::new(objective.clone()) }) };
            let again = train(store.clone(), &again, &limit(), &mut ()).unwrap();
            assert_eq!(again.status, Status::Converged);
            assert!(again.cost.sweeps <= 1 + first.cost.sweeps / 3, "{} {}", again.cost.sweeps, first.cost.sweeps);
        }
    }
}

#[test]
fn rows_of_unknown_classes_have_no_part() {
    let mut rows = rows();
    let known = rows.clone();
    for (info, row) in &known[..20] {
        rows.push((RowInfo { label: 1234.0, id: 1000 + info.id, ..*info }, row.clone()));
    }
    for multiclass in Multiclass::ALL {
        let objective = objective(multiclass, loss("hinge"), 1.0, 0.0);
        let train = |rows: &Rows| {
            let tasks = objective.split().into_iter().map(Task::new).collect();
            let options = TrainOptions { tasks, ..options(objective.clone()) };
            train_all(store(rows, 1), &options, &Budget::unlimited(), &mut ()).unwrap()
        };
        let (a, b) = (train(&known), train(&rows));
        assert!(a.iter().zip(&b).all(|(a, b)| a.certificate.objective == b.certificate.objective));
    }
    let nothing: Rows = rows.iter().map(|(info, row)| (RowInfo { label: 99.0, ..*info }, row.clone())).collect();
    let objective = objective(Multiclass::CrammerSinger, loss("hinge"), 1.0, 0.0);
    let error = train(store(&nothing, 1), &options(objective), &Budget::unlimited(), &mut ()).unwrap_err();
    assert!(matches!(error, TrainError::NoWeight));
}

/// No step moves a margin where rows are tiny, and their dual variables have to move all the same.
#[test]
fn tiny_rows_and_empty_ones_have_a_certified_optimum() {
    let mut rows = rows();
    rows.iter_mut().flat_map(|row| &mut row.1).for_each(|value| value.1 *= 1e-10);
    rows[3].1.clear();
    for (multiclass, loss) in [(Multiclass::CrammerSinger, "hinge"), (Multiclass::Softmax, "logistic")] {
        for (c, blocks) in [(1.0, 1), (1.0, 8), (1e15, 1)] {
            let objective = objective(multiclass, AnyLoss::named(loss).unwrap(), c, 0.0);
            let store = store(&rows, blocks);
            let part = if blocks == 1 { 2.0 } else { 0.4 };
            let options = options(objective.clone());
            let trained = train(store.clone(), &options, &budget(&store, &objective, 1, part), &mut ()).unwrap();
            assert_optimal(&rows, &objective, &trained, &format!("{loss} {c} {blocks}"));
            assert!(trained.cost.sweeps < 100, "{loss} {c} {blocks}: {:?}", trained.cost);
        }
    }
}
