//! Objectives and weights agree with LIBLINEAR, scikit-learn and SciPy, for every loss, on extracts of real data sets.
//!
//! `benchmarks/reference.py` made the extracts and solved the problems; `tests/data/README.md` says where the data is
//! from.
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use towline::budget::Budget;
use towline::input::{Input, Progress};
use towline::loss::{ALL, AnyLoss, LossParameters};
use towline::model::{Features, Model};
use towline::objective::{Objective, Targets};
use towline::pack::{PackOptions, pack};
use towline::store::DiskStore;
use towline::store::features::FeatureMap;
use towline::trainer::{Status, TrainOptions, train};

#[derive(Deserialize)]
struct Reference {
    epsilon: f64,
    delta: f64,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    data: String,
    loss: String,
    c: f64,
    peers: Vec<String>,
    objective: f64,
    /// The largest weights, by feature number.
    weights: BTreeMap<u64, f64>,
}

/// The tolerance of training: the objective is at most this part above the optimum.
const TOLERANCE: f64 = 1e-7;
/// How far from each other two objectives may be, as a part of them: what the project promises.
const AGREEMENT: f64 = 1e-6;
/// How exact the other program was, as a part of the objective.
const REFERENCE_TOLERANCE: f64 = 1e-8;

fn options(objective: Objective) -> TrainOptions {
    TrainOptions { tolerance: TOLERANCE, max_passes: 100_000, ..TrainOptions::new(objective) }
}

#[test]
fn objectives_and_weights_agree_with_other_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let reference: Reference =
        serde_json::from_str(&std::fs::read_to_string(folder.join("reference.json")).unwrap()).unwrap();
    let stores = tempfile::tempdir().unwrap();
    let budget = Budget::unlimited();
    let mut sets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in &reference.cases {
        let path = stores.path().join(&case.data);
        if !path.exists() {
            let input = Input::File(folder.join(format!("{}.svm.zst", case.data)));
            pack(&[input], &path, &PackOptions::default(), &budget, &Progress::default()).unwrap();
        }
        let store = Arc::new(DiskStore::open(&path).unwrap());
        let loss = AnyLoss::from_name(
            &case.loss,
            LossParameters { epsilon: reference.epsilon, delta: reference.delta, ..Default::default() },
        )
        .unwrap();
        let targets = match loss.is_classification() {
            true => Targets::binary(&store.manifest().labels, None).unwrap(),
            false => Targets::Numbers,
        };
        let options = options(Objective::new(loss, case.c, targets));
        let trained = train(store.clone(), &options, &budget, &mut ()).unwrap();
        let name = format!("{} {} C={} against {}", case.data, case.loss, case.c, case.peers.join(", "));
        assert_eq!(trained.status, Status::Converged, "{name}: {:?}", trained.certificate);
        let (found, wanted) = (trained.certificate.objective, case.objective);
        assert!((found - wanted).abs() <= AGREEMENT * wanted, "{name}: {found}, there {wanted}");
        let bound = trained.certificate.dual_objective;
        assert!(bound <= wanted * (1.0 + 1e-12), "{name}: the bound {bound} is below what others reach, {wanted}");

        // F is strongly convex: ½‖w - w*‖² is at most what is left to gain, here and there.
        let allowed = [TOLERANCE, REFERENCE_TOLERANCE].map(|part| (2.0 * part * wanted).sqrt()).iter().sum::<f64>();
        let features = FeatureMap::read(store.path(), store.manifest(), &budget).unwrap();
        let model = Model::new(&[trained], &options.tasks[0].objective, &store, &features);
        let Features::Numbered(numbers) = &model.features else { panic!("features have numbers") };
        let weights: BTreeMap<u64, f64> = numbers.iter().copied().zip(model.weights.iter().copied()).collect();
        let distances = case.weights.iter().map(|(feature, weight)| weights.get(feature).unwrap_or(&0.0) - weight);
        let distance = distances.map(|d| d * d).sum::<f64>().sqrt();
        assert!(distance <= allowed, "{name}: weights are {distance} apart, at most {allowed}");
        sets.entry(loss.name()).or_default().push(&case.data);
    }
    // No other program has the quantile loss with this penalty; `penalty_agreement` has it with l1.
    for loss in ALL.iter().filter(|loss| loss.name() != "quantile") {
        let known = sets.get_mut(loss.name()).unwrap();
        known.dedup();
        assert!(known.len() >= 4, "{}: {known:?}", loss.name());
    }
}
