//! Objectives with other penalties agree with scikit-learn, celer, skglm, LIBLINEAR and SciPy's linear programs on
//! extracts of real data sets, in memory and in ten blocks.
//!
//! `benchmarks/reference.py` solved the problems; `tests/data/README.md` says where the data is from.
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use towline::budget::Budget;
use towline::columns;
use towline::group_file::read_groups;
use towline::input::{Input, Progress};
use towline::loss::{AnyLoss, Loss, LossParameters};
use towline::objective::{Objective, Targets};
use towline::pack::{PackOptions, pack};
use towline::penalty::{AnyPenalty, GroupMap};
use towline::store::features::{FeatureMap, FeatureName};
use towline::store::{BlockStore, DiskStore};
use towline::trainer::{Plan, Solver, Status, TrainOptions, train};

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
    #[serde(default)]
    l1_ratio: f64,
    c: f64,
    intercept: bool,
    objective: f64,
    peers: Vec<String>,
}

/// What the project promises, as a part of the objective.
const AGREEMENT: f64 = 1e-6;
/// How exact the other programs were.
const REFERENCE_TOLERANCE: f64 = 1e-7;

/// The data in one block, and in about ten to thirty: sizes of blocks are planned for the most general layout.
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

/// Features in threes, in the order of their numbers.
fn groups(store: &DiskStore) -> GroupMap {
    let features = FeatureMap::read(store.path(), store.manifest(), &Budget::unlimited()).unwrap();
    let mut numbers: Vec<u64> = (0..features.len() as u32)
        .map(|column| match features.name(column) {
            FeatureName::Number(number) => number,
            FeatureName::Name(name) => panic!("features have numbers, not names such as {name}"),
        })
        .collect();
    numbers.sort_unstable();
    let line = |group: &[u64]| group.iter().map(u64::to_string).collect::<Vec<_>>().join(" ") + "\n";
    let text: String = numbers.chunks(3).map(line).collect();
    read_groups(&text, &features, false).unwrap()
}

fn objective(case: &Case, store: &DiskStore) -> Objective {
    let loss = AnyLoss::from_name(&case.loss, LossParameters { quantile: 0.8, ..LossParameters::default() }).unwrap();
    let targets = match loss.is_classification() {
        true => Targets::binary(&store.manifest().labels, None).unwrap(),
        false => Targets::Numbers,
    };
    let penalty = AnyPenalty::from_name(&case.penalty, case.lambda, case.l1_ratio, Some(groups(store))).unwrap();
    let (bias, intercept) = (if case.intercept { 1.0 } else { 0.0 }, case.intercept);
    Objective { bias, penalty, intercept, ..Objective::new(loss, case.c, targets) }
}

#[test]
fn objectives_agree_with_other_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let text = std::fs::read_to_string(folder.join("reference-penalties.json")).unwrap();
    let reference: Reference = serde_json::from_str(&text).unwrap();
    let into = tempfile::tempdir().unwrap();
    let (mut kinds, mut by_columns) = (BTreeSet::new(), 0);
    for case in &reference.cases {
        let both = stores(&folder, &case.data, into.path()).into_iter();
        for (store, solver) in
            both.flat_map(|store| [Solver::Dual, Solver::Columns].map(|solver| (store.clone(), solver)))
        {
            let objective = objective(case, &store);
            // Blocks by columns are slow: one set with classes and one with numbers are enough.
            let is_chosen = store.blocks().len() == 1 || ["a9a", "debian-size"].contains(&case.data.as_str());
            if solver == Solver::Columns && (columns::can_train(&objective).is_err() || !is_chosen) {
                continue;
            }
            // Losses with kinks are for columns, and all rows in memory; by rows they take very many passes.
            if objective.loss.curvature().is_infinite() && (solver == Solver::Dual || store.blocks().len() > 1) {
                continue;
            }
            let whole = Plan::for_solver(&*store, &objective, solver, 1, &Budget::unlimited()).unwrap().0;
            let least = whole.least_bytes;
            let budget = if store.blocks().len() == 1 { Budget::unlimited() } else { Budget::new(least + least / 8) };
            let base = TrainOptions { max_passes: 200_000, solver, ..TrainOptions::new(objective) };
            let options = TrainOptions { tolerance: 0.9 * AGREEMENT, ..base };
            let name = format!(
                "{} {} {} lambda {} intercept {} in {} blocks by {solver:?} against {}",
                case.data,
                case.loss,
                case.penalty,
                case.lambda,
                case.intercept,
                store.blocks().len(),
                case.peers.join(", ")
            );
            let trained = train(store, &options, &budget, &mut ()).unwrap();
            assert_eq!(trained.status, Status::Converged, "{name}: {:?}", trained.certificate);
            assert_eq!(trained.solver, solver, "{name}");
            by_columns += usize::from(trained.solver == Solver::Columns);
            let (found, wanted) = (trained.certificate.objective, case.objective);
            assert!((found - wanted).abs() <= AGREEMENT * wanted, "{name}: {found}, there {wanted}");
            let bound = trained.certificate.dual_objective;
            assert!(bound <= wanted * (1.0 + 1e-12), "{name}: the bound {bound} is above what others reach, {wanted}");
            assert!(found >= wanted * (1.0 - REFERENCE_TOLERANCE), "{name}: {found} is better than {wanted}");
        }
        kinds.insert((case.loss.as_str(), case.penalty.as_str(), case.intercept));
    }
    assert_eq!(kinds.len(), 14, "{kinds:?}");
    assert!(by_columns >= reference.cases.len(), "{by_columns} runs by columns");
}
