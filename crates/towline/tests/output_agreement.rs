//! Several targets, and softmax with other penalties, agree with scikit-learn and with a dense proximal gradient method
//! on extracts of real data sets, in one block and in about ten; `benchmarks/reference_outputs.py` made and solved
//! them.
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use towline::budget::Budget;
use towline::input::{Input, Progress};
use towline::loss::AnyLoss;
use towline::objective::{Classes, Multiclass, Objective, Targets};
use towline::pack::{PackOptions, pack};
use towline::penalty::{AnyPenalty, GroupMap};
use towline::store::{BlockStore, DiskStore};
use towline::trainer::{Plan, Status, TrainOptions, train};

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    data: String,
    loss: String,
    penalty: String,
    lambda: f64,
    c: f64,
    intercept: bool,
    objective: f64,
    peers: Vec<String>,
}

/// What the project promises, as a part of the objective.
const AGREEMENT: f64 = 1e-6;

/// The data in one block, and in about ten.
fn stores(folder: &Path, data: &str, into: &Path) -> [Arc<DiskStore>; 2] {
    let input = [Input::File(folder.join(format!("{data}.svm.zst")))];
    let make = |name: &str, block_bytes: Option<u64>| {
        let path = into.join(format!("{data}-{name}"));
        if !path.exists() {
            let options = PackOptions { block_bytes, ..PackOptions::default() };
            pack(&input, &path, &options, &Budget::unlimited(), &Progress::default()).unwrap();
        }
        Arc::new(DiskStore::open(&path).unwrap())
    };
    let whole = make("whole", None);
    let shape = whole.shape();
    let parts = make("parts", Some(shape.layout.resident_bytes(shape.rows, shape.values) / 10));
    assert!(whole.blocks().len() == 1 && (8..=40).contains(&parts.blocks().len()), "{}", parts.blocks().len());
    [whole, parts]
}

fn objective(case: &Case, store: &DiskStore) -> Objective {
    let (loss, targets) = match case.loss.as_str() {
        "softmax" => {
            let classes = Classes::of(&store.manifest().labels).unwrap();
            ("logistic", Targets::Classes { classes, multiclass: Multiclass::Softmax })
        }
        loss => {
            let names = store.manifest().targets.iter().map(|target| target.name.clone()).collect();
            (loss, Targets::Several { names })
        }
    };
    let loss = AnyLoss::named(loss).unwrap();
    let objective = Objective::new(loss, case.c, targets);
    let groups = GroupMap::of_each(store.shape().columns as usize + 1).unwrap();
    let penalty = AnyPenalty::from_name(&case.penalty, case.lambda, 0.5, Some(groups)).unwrap();
    let (bias, intercept) = (if case.intercept { 1.0 } else { 0.0 }, case.intercept);
    Objective { bias, intercept, penalty: penalty.for_outputs(objective.width()), ..objective }
}

#[test]
fn objectives_of_several_outputs_agree_with_other_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let text = std::fs::read_to_string(folder.join("outputs.json")).unwrap();
    let reference: Reference = serde_json::from_str(&text).unwrap();
    assert_eq!(reference.cases.len(), 18);
    let into = tempfile::tempdir().unwrap();
    for case in &reference.cases {
        for store in stores(&folder, &case.data, into.path()) {
            let objective = objective(case, &store);
            let least = Plan::for_models(&*store, &objective, 1, &Budget::new(0)).unwrap_err().least_bytes;
            let budget = if store.blocks().len() == 1 { Budget::unlimited() } else { Budget::new(least + least / 8) };
            let options =
                TrainOptions { tolerance: 0.9 * AGREEMENT, max_passes: 100_000, ..TrainOptions::new(objective) };
            let name = format!(
                "{} {} {} lambda {} intercept {} in {} blocks against {}",
                case.data,
                case.loss,
                case.penalty,
                case.lambda,
                case.intercept,
                store.blocks().len(),
                case.peers.join(", ")
            );
            let trained = train(store, &options, &budget, &mut ()).unwrap();
            println!("{name}: {} passes, {} sweeps", trained.cost.passes, trained.cost.sweeps);
            assert_eq!(trained.status, Status::Converged, "{name}: {:?}", trained.certificate);
            let (found, wanted) = (trained.certificate.objective, case.objective);
            assert!((found - wanted).abs() <= AGREEMENT * wanted, "{name}: {found}, there {wanted}");
            let bound = trained.certificate.dual_objective;
            assert!(bound <= wanted * (1.0 + 1e-12), "{name}: the bound {bound} is above what others reach, {wanted}");
            assert!(found >= wanted * (1.0 - 2e-9), "{name}: {found} is better than {wanted}");
        }
    }
}
