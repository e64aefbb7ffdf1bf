//! More features than memory holds: what is packed and trained is what more memory would give.
use crate::labelled::loss;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use towline::budget::Budget;
use towline::fourier::FourierMap;
use towline::input::libsvm::Precision;
use towline::input::{Input, Progress};
use towline::loss::ALL;
use towline::model::{Model, ModelWriter};
use towline::objective::{Objective, Targets};
use towline::output::{self, Inputs, OutputFile};
use towline::pack::{FourierKept, PackOptions, pack};
use towline::schema::{Kind, Rules, Words};
use towline::store::DiskStore;
use towline::store::manifest::Scale;
use towline::store::writer::Existing;
use towline::trainer::{Plan, Status, TrainOptions, train};

/// With blocks of 64 KiB and one thread packing takes some 8 MiB; all features in a table would take as much again.
const LITTLE: u64 = 9 << 20;
const FEATURES: u64 = 400_000;

fn random(k: u64) -> u64 {
    let mixed = (k ^ (k >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
}

/// Rows of which most features are rare and some are frequent.
fn features_of(row: u64) -> Vec<u64> {
    let mut features: Vec<u64> = (0..70).map(|k| random(row * 1000 + k) % FEATURES).collect();
    features.extend((0..9).map(|k| random(row * 77 + k) % 50));
    features.sort_unstable();
    features.dedup();
    features
}

fn numbered(rows: std::ops::Range<u64>, far: bool) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(if row % 3 == 0 { "-1" } else { "1" });
        for feature in features_of(row) {
            let number = if far { feature * 46_116_860_184_273 } else { feature + 1 };
            write!(text, " {number}:{}", 1 + feature % 3).unwrap();
        }
        text.push('\n');
    }
    text
}

fn named(rows: std::ops::Range<u64>) -> String {
    let mut text = String::from("y,a,b,size\n");
    for row in rows {
        let name = |k: u64| "long ".repeat((random(row + k) % 4) as usize) + &(random(row + k) % FEATURES).to_string();
        writeln!(text, "{},{},{},{}", row % 2, name(1), name(1 << 40), row % 7).unwrap();
    }
    text
}

fn options() -> PackOptions {
    PackOptions { block_bytes: Some(64 << 10), threads: 1, ..PackOptions::default() }
}

/// All files of a store.
fn files(store: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let folders = [store.to_path_buf(), store.join("blocks")];
    let entries =
        folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    files.map(|path| (path.strip_prefix(store).unwrap().to_path_buf(), std::fs::read(&path).unwrap())).collect()
}

/// Packs texts, the second one behind the first, with much memory and with little, and returns the store.
fn pack_both(folder: &Path, ending: &str, texts: &[String], options: &PackOptions) -> PathBuf {
    let stores = [(Budget::unlimited(), "much.tow"), (Budget::new(LITTLE), "little.tow")].map(|(budget, name)| {
        let store = folder.join(name);
        for (k, text) in texts.iter().enumerate() {
            let input = folder.join(format!("input{k}.{ending}"));
            std::fs::write(&input, text).unwrap();
            let existing = if k == 0 { Existing::Replace } else { Existing::Append };
            let options = PackOptions { existing, repeat: true, ..options.clone() };
            pack(&[Input::File(input)], &store, &options, &budget, &Progress::default()).unwrap();
            assert!(budget.is_unlimited() || budget.peak_bytes() <= LITTLE);
        }
        store
    });
    let [much, little] = stores.each_ref().map(|store| files(store));
    assert_eq!(much.keys().collect::<Vec<_>>(), little.keys().collect::<Vec<_>>());
    for (name, bytes) in &much {
        // The time at which the input was written is in the manifest.
        assert!(name.ends_with("manifest.json") || bytes == &little[name], "{} differs", name.display());
    }
    let [much, little] = stores;
    assert_eq!(
        DiskStore::open(&much).unwrap().manifest().features,
        DiskStore::open(&little).unwrap().manifest().features
    );
    little
}

#[test]
fn numbers_have_the_same_columns_however_little_memory_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let store = pack_both(folder.path(), "svm", &[numbered(0..7000, false)], &options());
    let map = std::fs::metadata(store.join("features.1.map")).unwrap().len();
    let features = DiskStore::open(&store).unwrap().manifest().features;
    assert!(features > 200_000 && map < 4 * features, "{map} bytes for {features} features");
    pack_both(folder.path(), "svm", &[numbered(0..6000, true)], &PackOptions { shuffle_seed: None, ..options() });
}

#[test]
fn added_rows_have_the_same_columns_however_little_memory_there_is() {
    let folder = tempfile::tempdir().unwrap();
    pack_both(folder.path(), "svm", &[numbered(0..5000, false), numbered(5000..9000, false)], &options());
}

#[test]
fn names_have_the_same_columns_however_little_memory_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options();
    options.read.table.label = Some("y".into());
    pack_both(folder.path(), "csv", &[named(0..120_000), named(120_000..180_000)], &options);
}

/// A text of words of which most are rare.
fn texts(rows: std::ops::Range<u64>) -> String {
    let mut text = String::from("y,size,body\n");
    for row in rows {
        let words: Vec<String> = features_of(row).iter().map(|feature| format!("word{feature}")).collect();
        writeln!(
            text,
            "{},{},{}",
            row % 2,
            if row % 5 == 0 { String::new() } else { row.to_string() },
            words.join(" ")
        )
        .unwrap();
    }
    text
}

#[test]
fn rare_features_have_no_column_however_little_memory_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let files = [numbered(0..5000, false), numbered(5000..9000, false)];
    let all = DiskStore::open(pack_both(folder.path(), "svm", &files, &options())).unwrap().manifest().features;
    for (scale, renumber) in [(Scale::None, true), (Scale::None, false), (Scale::Standard, true)] {
        let options = PackOptions { min_count: 3, scale, renumber, ..options() };
        let store = DiskStore::open(pack_both(folder.path(), "svm", &files, &options)).unwrap();
        assert!(store.manifest().features < all / 3 && store.manifest().features > 50);
    }
    let mut options = options();
    options.read.table.label = Some("y".into());
    let files = [texts(0..2500), texts(2500..4000)];
    for (rule, most) in [("min=3", 40_000), ("max=5000", 5000), ("min=2,max=50000,counts", 50_000)] {
        options.read.table.kinds = vec![("body".into(), Kind::Text(Words::parse(rule).unwrap()))];
        let store = DiskStore::open(pack_both(folder.path(), "csv", &files, &options)).unwrap();
        // Beside the n-grams a number and the mark of its absence.
        assert!(store.manifest().features <= most + 2 && store.manifest().features > 1000, "{rule}");
    }
}

#[test]
fn rare_levels_share_a_column_however_little_memory_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options();
    options.read.table.label = Some("y".into());
    options.read.table.kinds = vec![("a".into(), Kind::Category), ("b".into(), Kind::Category)];
    options.read.table.rules = vec![("*".into(), Rules::parse("rare=2").unwrap())];
    let files = [named(0..120_000)];
    let store = DiskStore::open(pack_both(folder.path(), "csv", &files, &options)).unwrap();
    let schema = store.manifest().schema.clone().unwrap();
    let levels: usize = schema.columns.iter().filter_map(|column| column.levels.as_ref()).map(Vec::len).sum();
    // Levels, both columns of rare ones, and a number.
    assert_eq!(store.manifest().features, levels as u64 + 2 + 1);
    assert!(levels > 10_000);
}

/// Values whose sums depend on the order in which they are added; some of frequent features are negative, and some
/// features are the same in all rows.
fn valued(rows: std::ops::Range<u64>) -> String {
    let mut text = String::new();
    for row in rows {
        write!(text, "{} 0:3.5", row % 2).unwrap();
        for feature in features_of(row) {
            let value = 0.1 + (random(feature * 7919 + row) % 1000) as f64 / 7.0;
            let sign = if feature < 3 && row % 2 == 0 { "-" } else { "" };
            write!(text, " {}:{sign}{value}", feature + 1).unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn features_are_scaled_alike_however_little_memory_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let texts = [valued(0..5000), valued(5000..8000)];
    for (scale, renumber) in [(Scale::Standard, true), (Scale::Minmax, true), (Scale::Standard, false)] {
        for precision in [Precision::F32, Precision::F64] {
            let options = PackOptions { scale, renumber, precision, ..options() };
            pack_both(folder.path(), "svm", &texts, &options);
        }
    }
}

#[test]
fn named_features_are_scaled_alike_however_little_memory_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = PackOptions { scale: Scale::Standard, ..options() };
    options.read.table.label = Some("y".into());
    for renumber in [true, false] {
        let options = PackOptions { renumber, ..options.clone() };
        pack_both(folder.path(), "csv", &[named(0..120_000), named(120_000..180_000)], &options);
    }
}

#[test]
fn features_stay_in_the_order_of_their_numbers_however_little_memory_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let options = PackOptions { renumber: false, ..options() };
    for far in [false, true] {
        pack_both(folder.path(), "svm", &[numbered(0..5000, far), numbered(5000..8000, far)], &options);
    }
}

#[test]
fn rows_are_mapped_alike_however_little_memory_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let fourier = Some(FourierMap::new(16, 0.01, 5).unwrap());
    let texts = [numbered(0..2000, false), numbered(2000..3000, false)];
    for fourier_kept in [FourierKept::Values, FourierKept::Seed] {
        let options = PackOptions { fourier, fourier_kept, ..options() };
        pack_both(folder.path(), "svm", &texts, &options);
    }
}

#[test]
fn what_cannot_be_scaled_is_told_by_its_name_however_little_memory_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input.svm");
    let told = |text: &str, scale: Scale, budget: &Budget| {
        std::fs::write(&input, text).unwrap();
        let store = folder.path().join("scaled.tow");
        let mut options = PackOptions { scale, precision: Precision::F64, ..options() };
        options.read.libsvm.precision = Precision::F64;
        pack(&[Input::File(input.clone())], &store, &options, budget, &Progress::default()).unwrap_err().to_string()
    };
    let apart = numbered(0..5000, false) + "1 777777:1e200\n1 777777:-1e200\n";
    let below = numbered(0..5000, false).replace(':', ":-");
    for (text, scale, problem) in [
        (&apart, Scale::Standard, "the values of feature 777777 are too far apart"),
        (&below, Scale::Minmax, "features have negative values"),
    ] {
        let [much, little] = [Budget::unlimited(), Budget::new(LITTLE)].map(|budget| told(text, scale, &budget));
        assert!(much.contains(problem), "{much}");
        assert_eq!(much, little);
    }
}

fn trained_store(folder: &Path, scale: Scale) -> Arc<DiskStore> {
    let (input, store) = (folder.join("rows.svm"), folder.join("rows.tow"));
    std::fs::write(&input, numbered(0..4000, false)).unwrap();
    let options = PackOptions { scale, existing: Existing::Replace, ..options() };
    pack(&[Input::File(input)], &store, &options, &Budget::unlimited(), &Progress::default()).unwrap();
    Arc::new(DiskStore::open(&store).unwrap())
}

/// One vector of weights is enough, in memory and out of core, from nothing and from dual variables, and the
/// certificate still holds.
#[test]
fn weights_without_a_second_vector_reach_the_same_optimum() {
    let folder = tempfile::tempdir().unwrap();
    let store = trained_store(folder.path(), Scale::Rows);
    let columns = store.manifest().features;
    for &loss in ALL.iter().filter(|loss| loss.is_classification()) {
        let targets = Targets::binary(&store.manifest().labels, None).unwrap();
        let objective = Objective { bias: 0.5, ..Objective::new(loss, 2.0, targets) };
        let options = TrainOptions { tolerance: 1e-6, max_passes: 2000, ..TrainOptions::new(objective.clone()) };
        let roomy = train(store.clone(), &options, &Budget::unlimited(), &mut ()).unwrap();
        let whole = Plan::for_models(&*store, &objective, 1, &Budget::unlimited()).unwrap();
        // Enough for all rows and one vector, and the least that works.
        let in_memory = whole.used_bytes() - 4 * columns;
        for bytes in [in_memory, whole.least_bytes] {
            let budget = Budget::new(bytes);
            let plan = Plan::for_models(&*store, &objective, 1, &budget).unwrap();
            assert_eq!((plan.is_lean, plan.in_memory), (true, bytes == in_memory), "{loss:?} {bytes}");
            assert!(plan.weight_bytes <= 8 * (columns + 1));
            let lean = train(store.clone(), &options, &budget, &mut ()).unwrap();
            let (found, wanted) = (lean.certificate, roomy.certificate);
            assert_eq!(lean.status, Status::Converged, "{loss:?} {found:?}");
            assert!(found.dual_objective <= wanted.objective * (1.0 + 1e-12), "{loss:?} {found:?} {wanted:?}");
            assert!(found.objective <= wanted.objective * (1.0 + 2e-6), "{loss:?} {found:?} {wanted:?}");
        }
    }
}

/// A model is the same whether its features are put in order at once or a few at a time.
#[test]
fn models_are_written_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    for scale in [Scale::None, Scale::Standard] {
        let store = trained_store(folder.path(), scale);
        let targets = Targets::binary(&store.manifest().labels, None).unwrap();
        let objective = Objective { bias: 1.0, ..Objective::new(loss("hinge"), 1.0, targets) };
        let options = TrainOptions { tolerance: 0.1, ..TrainOptions::new(objective.clone()) };
        let trained = [train(store.clone(), &options, &Budget::unlimited(), &mut ()).unwrap()];
        let model = Model::new(&trained, &objective, &store, &store.features(&Budget::unlimited()).unwrap());
        let path = folder.path().join("model.towm");
        for budget in [Budget::unlimited(), Budget::new(2 << 20)] {
            let mut place = OutputFile::open(&path, output::Kind::Model, &Inputs::none()).unwrap();
            let written = ModelWriter::new(&store, &budget).unwrap().write(&trained, &objective, &mut place);
            let (header, features) = written.unwrap();
            assert_eq!((&header, features), (&model.header, model.features.len() as u64));
            assert!(features > 40_000, "{features} features are put in order in one round");
            assert_eq!(std::fs::read(&path).unwrap(), model.to_bytes().unwrap());
        }
    }
}
