//! Objectives of many classes agree with LIBLINEAR and scikit-learn on extracts of real data sets;
//! `benchmarks/reference_classes.py` made and solved them.
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use towline::budget::Budget;
use towline::input::{Input, Progress};
use towline::loss::AnyLoss;
use towline::objective::{Classes, Multiclass, Objective, Targets};
use towline::pack::{PackOptions, pack};
use towline::store::DiskStore;
use towline::trainer::{Certificate, Status, Task, TrainOptions, train_all};

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    data: String,
    multiclass: String,
    loss: String,
    c: f64,
    objective: f64,
}

#[test]
fn objectives_of_many_classes_agree_with_other_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let text = std::fs::read_to_string(folder.join("classes.json")).unwrap();
    let reference: Reference = serde_json::from_str(&text).unwrap();
    let stores = tempfile::tempdir().unwrap();
    let budget = Budget::unlimited();
    for case in &reference.cases {
        let path = stores.path().join(&case.data);
        if !path.exists() {
            let input = Input::File(folder.join(format!("{}.svm.zst", case.data)));
            pack(&[input], &path, &PackOptions::default(), &budget, &Progress::default()).unwrap();
        }
        let store = Arc::new(DiskStore::open(&path).unwrap());
        let multiclass = Multiclass::ALL.into_iter().find(|multiclass| multiclass.name() == case.multiclass).unwrap();
        let classes = Classes::of(&store.manifest().labels).unwrap();
        let loss = AnyLoss::named(&case.loss).unwrap();
        let objective = Objective::new(loss, case.c, Targets::Classes { classes, multiclass });
        let tasks = objective.split().into_iter().map(Task::new).collect();
        let options =
            TrainOptions { tasks, tolerance: 1e-7, max_passes: 100_000, ..TrainOptions::new(objective.clone()) };
        let trained = train_all(store, &options, &budget, &mut ()).unwrap();
        let name = format!("{} {} C={}", case.data, case.multiclass, case.c);
        assert!(trained.iter().all(|model| model.status == Status::Converged), "{name}");
        let certificates: Vec<Certificate> = trained.iter().map(|model| model.certificate).collect();
        let total = Certificate::total(&certificates).unwrap();
        let (found, wanted) = (total.objective, case.objective);
        assert!((found - wanted).abs() <= 1e-6 * wanted, "{name}: {found}, there {wanted}");
        assert!(total.dual_objective <= wanted * (1.0 + 1e-12), "{name}: the bound is below what others reach");
    }
}
