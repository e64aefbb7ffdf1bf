//! The front door leads to what stands behind it: each setting gives the objective and the optimum of the lower-level
//! entry.

use std::sync::Arc;

use crate::front::{dense, libsvm, numbers, scratch};
use towline::baselines::Baseline;
use towline::block::Block;
use towline::budget::Budget;
use towline::fit::Recipe;
use towline::loss::AnyLoss;
use towline::objective::{Classes, Multiclass, Objective, Targets};
use towline::penalty::{AnyPenalty, GroupMap};
use towline::store::{BlockStore, DiskStore, MemoryStore};
use towline::trainer::{self, Solver, Task, TrainOptions};
use towline::truncation::{self, Beginning};
use towline::{Data, Fit, Method, Regularizer, Rows, Store, pack};

/// The objective that the lower-level entry reaches, summed over models.
fn reached(store: Arc<dyn BlockStore>, objective: &Objective, tolerance: f64) -> f64 {
    let mut options = TrainOptions { tolerance, ..TrainOptions::new(objective.clone()) };
    options.tasks = objective.split().into_iter().map(Task::new).collect();
    let all = trainer::train_all(store, &options, &Budget::unlimited(), &mut ()).unwrap();
    all.iter().map(|model| model.certificate.objective).sum()
}

fn binary() -> Targets {
    Targets::Binary { positive: 1.0, names: ["-1".into(), "1".into()], weights: [1.0, 1.0] }
}

fn block_store(rows: &Rows) -> Arc<MemoryStore> {
    Arc::new(MemoryStore::resident(rows.block().clone()))
}

fn same(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{what}: {a} and {b}");
}

fn fit_of(loss: AnyLoss) -> Fit {
    match loss.name() {
        "hinge" => Fit::hinge(),
        "squared-hinge" => Fit::squared_hinge(),
        "logistic" => Fit::logistic(),
        "squared" => Fit::squared(),
        "epsilon-insensitive" => Fit::epsilon_insensitive(0.1),
        "squared-epsilon-insensitive" => Fit::squared_epsilon_insensitive(0.1),
        "huber" => Fit::huber(1.0),
        "quantile" => Fit::quantile(0.5),
        other => panic!("there is no fit for the {other} loss"),
    }
}

#[test]
fn every_loss_and_regularizer_is_the_objective_of_the_parts() {
    let (classes, targets) = (dense(120, true), dense(120, false));
    let columns = classes.block().columns();
    let groups = GroupMap::new((0..=columns as u32).map(|j| j / 3).collect(), vec![1.0; columns / 3 + 1]).unwrap();
    for &loss in towline::loss::ALL {
        let rows = if loss.is_classification() { &classes } else { &targets };
        for &regularizer in Regularizer::ALL {
            let needs_several = regularizer == Regularizer::Nuclear;
            if needs_several || regularizer == Regularizer::None {
                continue;
            }
            let has_groups = regularizer == Regularizer::Group;
            let mut fit = fit_of(loss).c(0.7).penalty(regularizer).lambda(0.9).tolerance(1e-7).intercept(false);
            fit = if has_groups { fit.groups(groups.clone()) } else { fit };
            let targets = if loss.is_classification() { binary() } else { Targets::Numbers };
            let groups = has_groups.then(|| groups.clone());
            let penalty = AnyPenalty::from_name(regularizer.name(), 0.9, 0.5, groups).unwrap();
            let objective = Objective { penalty, ..Objective::new(loss, 0.7, targets) };
            let what = format!("{} with {}", loss.name(), regularizer.name());
            assert_eq!(fit.objective(rows).unwrap(), objective, "{what}");
            let model = fit.run(rows).unwrap();
            same(model.objective_value(), reached(block_store(rows), &objective, 1e-7), &what);
            assert!(model.is_converged() && model.gap() <= 1e-7, "{what}: {}", model.gap());
        }
    }
}

#[test]
fn no_penalty_and_the_nuclear_norm_have_their_objectives() {
    let rows = dense(120, false);
    let fit = Fit::squared().penalty(Regularizer::None).intercept(true).tolerance(1e-8);
    let penalty = AnyPenalty::from_name("none", 1.0, 0.5, None).unwrap();
    let squared = AnyLoss::named("squared").unwrap();
    let plain = Objective::new(squared, 1.0, Targets::Numbers);
    let objective = Objective { penalty, intercept: true, bias: 1.0, ..plain };
    same(fit.run(&rows).unwrap().objective_value(), reached(block_store(&rows), &objective, 1e-8), "none");
    let rows = crate::front::three_classes(150);
    let fit = Fit::softmax().penalty(Regularizer::Nuclear).lambda(0.5).tolerance(1e-5).intercept(false);
    let objective = fit.objective(&rows).unwrap();
    assert_eq!((objective.penalty.name(), objective.width()), ("nuclear", 3));
    same(fit.run(&rows).unwrap().objective_value(), reached(block_store(&rows), &objective, 1e-5), "nuclear");
}

#[test]
fn many_classes_have_each_strategy() {
    let rows = crate::front::three_classes(150);
    let classes = || Classes::new(vec![0.0, 1.0, 2.0], ["0", "1", "2"].map(String::from).to_vec(), vec![1.0; 3]);
    for multiclass in Multiclass::ALL {
        let fit = match multiclass {
            Multiclass::OneVsRest => Fit::hinge(),
            Multiclass::CrammerSinger => Fit::crammer_singer(),
            Multiclass::Softmax => Fit::softmax(),
            other => panic!("there is no fit for {}", other.name()),
        };
        let loss = if multiclass == Multiclass::Softmax { "logistic" } else { "hinge" };
        let targets = Targets::Classes { classes: classes(), multiclass };
        let objective = Objective::new(AnyLoss::named(loss).unwrap(), 1.0, targets);
        let fit = fit.intercept(false).tolerance(1e-6);
        assert_eq!(fit.objective(&rows).unwrap(), objective);
        let model = fit.run(&rows).unwrap();
        same(model.objective_value(), reached(block_store(&rows), &objective, 1e-6), multiclass.name());
        assert_eq!((model.outputs(), model.header.objective.targets.names().len()), (3, 3));
    }
}

#[test]
fn class_weights_bias_and_a_positive_class_are_settings() {
    let rows = crate::front::three_classes(90);
    let fit = Fit::logistic().positive("2").class_weight("2", 3.0).bias(0.5).c(2.0);
    let objective = fit.objective(&rows).unwrap();
    let Targets::Binary { positive, weights, names } = &objective.targets else { panic!("{:?}", objective.targets) };
    assert_eq!((*positive, *weights, names[1].as_str(), objective.bias), (2.0, [1.0, 3.0], "2", 0.5));
    let balanced = Fit::hinge().balanced().objective(&rows).unwrap();
    let Targets::Classes { classes, .. } = &balanced.targets else { panic!("{:?}", balanced.targets) };
    let count = |class: f64| rows.block().labels().iter().filter(|&&label| label == class).count() as f64;
    for (weight, class) in classes.weights.iter().zip([0.0, 1.0, 2.0]) {
        assert!((weight * count(class) - 30.0).abs() < 1e-9, "a third of 90 rows for each class");
    }
}

#[test]
fn a_truncated_loss_is_a_series_of_convex_problems() {
    let rows = dense(150, true);
    let objective =
        Objective { truncate: Some(0.5), ..Objective::new(AnyLoss::named("hinge").unwrap(), 1.0, binary()) };
    let options = TrainOptions { tolerance: 1e-6, ..TrainOptions::new(objective) };
    let how = (Beginning { shuffled: false, ..Beginning::default() }, trainer::train as truncation::ConvexTrainer);
    let trained = truncation::train(block_store(&rows), &options, how, &Budget::unlimited(), &mut ()).unwrap();
    let model = Fit::hinge().truncate(0.5).first_truncate(None).intercept(false).tolerance(1e-6).run(&rows).unwrap();
    same(model.objective_value(), trained.certificate.objective, "truncated");
}

#[test]
fn an_index_that_is_there_is_used() {
    let folder = scratch("indexed");
    libsvm(&folder.join("train.svm"), 1500);
    let store = pack(folder.join("train.svm")).to(folder.join("train.tow")).unwrap();
    let fit = Fit::hinge().truncate(1.0).tolerance(1e-3);
    assert!(matches!(fit.prepare(&store).unwrap().recipe(), Recipe::Truncated(..)));
    store.index(&Budget::unlimited()).unwrap();
    assert!(store.verify(&Budget::unlimited()).unwrap().is_empty());
    let prepared = fit.prepare(&store).unwrap();
    assert!(matches!(prepared.recipe(), Recipe::Indexed(_)));
    assert!(prepared.notes().unwrap().iter().any(|note| note.contains("using the index of the store")));
    let (by_index, by_blocks) = (fit.run(&store).unwrap(), fit.method(Method::Sbm).run(&store).unwrap());
    let (a, b) = (by_index.objective_value(), by_blocks.objective_value());
    assert!((a - b).abs() < 0.02 * b, "{a} {b}");
    // Rows that are added make it out of date.
    pack(folder.join("train.svm")).append().repeat().to(folder.join("train.tow")).unwrap();
    let store = Store::open(folder.join("train.tow")).unwrap();
    let prepared = Fit::hinge().truncate(1.0).prepare(&store).unwrap();
    assert!(matches!(prepared.recipe(), Recipe::Truncated(..)));
    assert!(prepared.notes().unwrap().iter().any(|note| note.contains("out of date")));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn rows_are_mapped_while_they_are_packed() {
    let folder = scratch("fourier");
    libsvm(&folder.join("train.svm"), 50);
    let packing = || pack(folder.join("train.svm"));
    let store = packing().rff(64).gamma(0.5).rff_seed(3).to(folder.join("mapped.tow")).unwrap();
    assert_eq!(store.manifest().features, 64);
    let error = packing().rff(64).to(folder.join("x.tow")).unwrap_err().to_string();
    assert!(error.contains("`rff` and `gamma` go together"), "{error}");
    let error = packing().rff(64).gamma(-1.0).to(folder.join("x.tow")).unwrap_err().to_string();
    assert!(error.contains("`gamma` must be a number"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn arrays_of_any_kind_are_the_same_rows() {
    let rows = dense(80, true);
    let block: &Block = rows.block();
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let (mut wide, mut narrow) = (Vec::new(), Vec::new());
    for i in 0..block.rows() {
        block.row(i).for_each(|column, value| {
            indices.push(column);
            values.push(value);
            wide.push(value);
            narrow.push(value as f32);
        });
        starts.push(values.len());
    }
    let columns = block.columns();
    let fit = Fit::logistic().tolerance(1e-9).intercept(true);
    let expected = fit.run(&rows).unwrap().objective_value();
    let others = [
        Rows::dense(wide, columns, block.labels()).unwrap(),
        Rows::dense(&narrow[..], columns, block.labels()).unwrap(),
        Rows::csr(&starts, indices, values, columns, block.labels()).unwrap(),
    ];
    for other in others {
        same(fit.run(&other).unwrap().objective_value(), expected, "arrays");
    }
    let twice = rows.weighted(&vec![2.0; block.rows()]).unwrap();
    same(fit.clone().c(0.5).run(&twice).unwrap().objective_value(), expected, "weights");
}

#[test]
fn a_packed_file_is_fitted_like_the_store_below_it() {
    let folder = scratch("packed");
    libsvm(&folder.join("train.svm"), 200);
    let store = pack(folder.join("train.svm")).memory(64 << 20).to(folder.join("train.tow")).unwrap();
    let model = Fit::logistic().tolerance(1e-7).memory(64 << 20).run(&store).unwrap();
    let disk = Arc::new(DiskStore::open(folder.join("train.tow")).unwrap());
    let objective = Objective::new(AnyLoss::named("logistic").unwrap(), 1.0, binary());
    assert_eq!(model.header.objective, objective);
    same(model.objective_value(), reached(disk, &objective, 1e-7), "disk");
    let of = |input: &str| -> Vec<String> {
        model.predict(folder.join(input)).unwrap().map(|found| found.unwrap().to_string()).collect()
    };
    assert_eq!(of("train.svm"), of("train.tow"), "both are in the order of the input");
    assert_eq!(of("train.svm").len(), 200);
    model.save(folder.join("m.towm")).unwrap();
    assert_eq!(towline::model::Model::load(folder.join("m.towm")).unwrap(), model.clone().into_model());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn methods_and_solvers_reach_the_same_optimum() {
    let rows = dense(120, true);
    let best = Fit::squared_hinge().tolerance(1e-8).intercept(false).run(&rows).unwrap().objective_value();
    for solver in [Solver::Dual, Solver::Newton] {
        let fit = Fit::squared_hinge().tolerance(1e-8).intercept(false).solver(solver);
        let model = fit.run(&rows).unwrap();
        assert_eq!(model.solver(), Some(solver));
        assert!((model.objective_value() - best).abs() < 1e-6 * best);
    }
    for method in [Method::Sbm, Method::Bmd] {
        let model = Fit::squared_hinge().tolerance(1e-8).intercept(false).method(method).run(&rows).unwrap();
        assert!((model.objective_value() - best).abs() < 1e-6 * best, "{}", method.name());
    }
    let baseline = Fit::hinge().bias(1.0).method(Method::Baseline(Baseline::Pegasos)).max_passes(5);
    let model = baseline.run(&rows).unwrap();
    assert_eq!(model.header.baseline, Some(Baseline::Pegasos));
    assert!(model.header.cost.passes >= 5 && model.gap() < 1.0, "{} {}", model.header.cost.passes, model.gap());
    let error = baseline.solver(Solver::Dual).run(&rows).unwrap_err().to_string();
    assert!(
        error.contains("`solver` is for exact training, and `method(pegasos)` makes `max_passes` passes"),
        "{error}"
    );
    for name in Method::ALL.map(Method::name) {
        assert_eq!(name.parse::<Method>().unwrap().name(), name);
    }
}

#[test]
fn settings_that_cannot_be_are_refused_with_a_remedy() {
    let (classes, targets) = (dense(30, true), dense(30, false));
    let cases: Vec<(Fit, &str)> = vec![
        (Fit::logistic().c(-1.0), "`c` must be a number above 0, not -1"),
        (Fit::logistic().tolerance(0.0), "`tolerance` must be a number above 0"),
        (Fit::huber(f64::NAN), "delta must be above zero and finite"),
        (Fit::logistic().lambda(0.0), "`lambda` must be a number above 0"),
        (Fit::logistic().l1_ratio(0.5), "`l1_ratio` is for `penalty(elastic-net)`, and the penalty is l2"),
        (Fit::logistic().penalty(Regularizer::Nuclear), "`penalty(nuclear)` is for several outputs"),
        (Fit::softmax().loss(AnyLoss::named("hinge").unwrap()), "leave `loss` out"),
        (Fit::hinge().truncate(-0.5), "`truncate` must be a number that is 0 or more"),
        (Fit::hinge().truncate(1.0).penalty(Regularizer::L1), "`truncate` is for hinge, squared-hinge and logistic"),
        (Fit::hinge().query_rows(5), "`query_rows` is for truncated losses"),
        (Fit::hinge().working_set(true), "`working_set` is for one output and penalties that make weights 0"),
        (Fit::hinge().cache_share(1.5), "`cache_share` must be a number from 0 to 0.9"),
        (Fit::hinge().method(Method::Bmd).cache_share(0.5), "`cache_share` is about the rows that stay in memory"),
        (Fit::hinge().method(Method::IbcdL1Dual), "an index is that of a store"),
        (Fit::logistic().method(Method::TruncL1Dual), "this method has the hinge loss"),
        (Fit::hinge().warm_start("no.towm"), "are for a store"),
        (Fit::hinge().positive("7"), "no row has the label '7'"),
    ];
    for (fit, expected) in cases {
        let error = fit.run(&classes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} does not say {expected}");
    }
    let error = Fit::squared().positive("1").run(&targets).unwrap_err().to_string();
    assert!(error.contains("are for classification"), "{error}");
    assert!(Rows::dense(vec![1.0f32; 5], 2, &[1.0, 2.0]).is_err());
    assert!(Rows::dense(vec![1.0f64; 4], 2, &[f64::NAN, 2.0]).is_err());
    assert!(Rows::csr(&[0, 2], vec![1u32, 0], vec![1.0f32, 2.0], 2, &[1.0]).is_err());
    let error = Fit::hinge().memory(1000).run(&numbers_on_disk()).unwrap_err().to_string();
    assert!(error.contains("use `memory("), "{error}");
}

fn numbers_on_disk() -> towline::Store {
    let folder = scratch("budget");
    libsvm(&folder.join("train.svm"), 500);
    let store = pack(folder.join("train.svm")).to(folder.join("train.tow")).unwrap();
    // An open store needs no names.
    std::fs::remove_dir_all(folder).unwrap();
    store
}

#[test]
fn what_labels_suggest_is_what_is_fitted() {
    let loss = |rows: &Rows| Fit::new().objective(rows).unwrap().loss.name();
    assert_eq!((loss(&dense(60, true)), loss(&numbers(60))), ("logistic", "squared"));
    let sparse = Fit::new().objective(&numbers_on_disk()).unwrap();
    assert_eq!((sparse.loss.name(), sparse.intercept), ("hinge", false), "libsvm rows are as LIBLINEAR has them");
    let data = Data::from(&dense(60, true));
    assert!(Fit::new().objective(&data).unwrap().intercept, "dense arrays are tables");
}
