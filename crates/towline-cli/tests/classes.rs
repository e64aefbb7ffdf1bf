//! More than two classes as a user sees them.
use std::path::Path;
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use tempfile::TempDir;

fn towline(folder: &TempDir, line: &str) -> Output {
    Command::new(cargo_bin("towline")).args(line.split_whitespace()).current_dir(folder.path()).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&text(output)).unwrap()
}

/// A folder with an extract of covtype, of seven classes, as `rows.svm`.
fn covtype() -> TempDir {
    let folder = TempDir::new().unwrap();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../towline/tests/data/covtype-classes.svm.zst");
    let rows = zstd::decode_all(&std::fs::read(packed).unwrap()[..]).unwrap();
    std::fs::write(folder.path().join("rows.svm"), rows).unwrap();
    assert!(towline(&folder, "pack rows.svm -o rows.tow --block-size 16K -q").status.success());
    folder
}

#[test]
fn every_way_trains_predicts_and_is_judged_the_same() {
    let folder = covtype();
    for (multiclass, memory) in
        [("ovr", "64M"), ("ovr", "+130K"), ("crammer-singer", "64M"), ("crammer-singer", "+180K"), ("softmax", "+180K")]
    {
        let line = format!(
            "train rows.tow --multiclass {multiclass} --tolerance 1e-5 --memory {memory} --restart -o m.towm --json"
        );
        let run = json(&towline(&folder, &line));
        assert!(run["relative_gap"].as_f64().unwrap() <= 1e-5, "{multiclass}: {run}");
        assert_eq!(run["passes"].as_u64() == Some(1), memory == "64M", "{run}");
        let accuracy = json(&towline(&folder, "eval m.towm rows.svm --json"))["accuracy"].as_f64().unwrap();
        assert!(accuracy > 0.6, "{multiclass}: {accuracy}");
        // Predictions, the judgement of the file and that of the store say the same.
        let labels = text(&towline(&folder, "predict m.towm rows.svm"));
        let truth = std::fs::read_to_string(folder.path().join("rows.svm")).unwrap();
        let right = labels.lines().zip(truth.lines()).filter(|(a, b)| Some(*a) == b.split(' ').next()).count();
        assert_eq!(right as f64 / 800.0, accuracy);
        assert_eq!(labels, text(&towline(&folder, "predict m.towm rows.tow")), "a store has the order of its input");
        let judged = json(&towline(&folder, "eval m.towm rows.tow --json"));
        assert_eq!(judged["accuracy"].as_f64(), Some(accuracy));
        assert_eq!(judged["confusion"].as_array().unwrap().len(), 7);
        let scores = text(&towline(&folder, "predict m.towm rows.svm --scores"));
        assert!(scores.lines().all(|line| line.split(' ').count() == 7));
        assert!(text(&towline(&folder, "info m.towm")).contains(&format!("7 classes by {multiclass}")));
    }
    let chances = text(&towline(&folder, "predict m.towm rows.svm --probabilities"));
    for line in chances.lines() {
        let sum: f64 = line.split(' ').map(|word| word.parse::<f64>().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{line}");
    }
}

#[test]
fn a_run_of_many_models_goes_on_and_starts_from_another_c() {
    let folder = covtype();
    let line = "train rows.tow --loss squared-hinge --tolerance 1e-6 --memory +130K -o m.towm --json";
    let first = json(&towline(&folder, line));
    let again = json(&towline(&folder, line));
    assert!(again["sweeps"].as_u64().unwrap() * 3 < first["sweeps"].as_u64().unwrap(), "{again}");
    let other = json(&towline(
        &folder,
        "train rows.tow --loss squared-hinge -C 2 --tolerance 1e-6 --memory +130K --warm-start m.towm -o n.towm --json",
    ));
    assert_eq!(other["status"], "converged");
    assert_eq!(other["classes"].as_array().unwrap().len(), 7);
}

#[test]
fn liblinear_reads_what_is_exported() {
    let folder = covtype();
    json(&towline(&folder, "train rows.tow -s 4 -B 1 -o m.towm --json"));
    let exported = text(&towline(&folder, "export m.towm --to liblinear"));
    assert!(exported.starts_with("solver_type MCSVM_CS\nnr_class 7\nlabel 1 2 3 4 5 6 7\n"), "{exported}");
    let weights = exported.split("\nw\n").nth(1).unwrap();
    assert!(weights.lines().all(|line| line.split_whitespace().count() == 7));
    assert_eq!(weights.lines().count(), 54 + 1, "every feature, and the intercept");
}

#[test]
fn classes_may_be_words_and_weigh_differently() {
    let folder = TempDir::new().unwrap();
    let mut table = String::from("kind,length,width\n");
    for i in 0..150 {
        let (kind, length, width) = [("oak", 1.0, 0.0), ("elm", 0.0, 1.0), ("ash", 0.0, 0.0)][i % 3];
        let noise = (i * 7 % 11) as f64 / 40.0;
        table += &format!("{kind},{},{}\n", length + noise, width - noise + 0.3);
    }
    std::fs::write(folder.path().join("trees.csv"), table).unwrap();
    let run = json(&towline(
        &folder,
        "train trees.csv --label kind -C 100 --bias 1 --class-weight elm=2 --test trees.csv --json",
    ));
    assert!(run["test"]["accuracy"].as_f64().unwrap() > 0.9, "{run}");
    assert_eq!(run["test"]["classes"], serde_json::json!(["ash", "elm", "oak"]));
    assert!(text(&towline(&folder, "info trees.towm")).contains("elm (weight 2)"));
    assert!(text(&towline(&folder, "predict trees.towm trees.csv --label kind")).starts_with("oak\nelm\nash\n"));
}

#[test]
fn mistakes_are_named() {
    let folder = covtype();
    for (line, word) in [
        ("train rows.tow --multiclass softmax --loss hinge", "leave --loss out"),
        ("train rows.tow --multiclass crammer-singer --penalty l1", "use --multiclass softmax or ovr"),
        ("train rows.tow --multiclass ovr --loss squared", "for classification"),
        ("train rows.tow --positive 9", "labels are 1, 2"),
        ("train rows.tow --class-weight 12=3", "names no class"),
        ("train rows.tow --method pegasos", "--positive LABEL"),
        ("train rows.tow -s 4 --multiclass ovr", "cannot be used with"),
    ] {
        let output = towline(&folder, line);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && message.contains(word), "{line}: {message}");
    }
}
