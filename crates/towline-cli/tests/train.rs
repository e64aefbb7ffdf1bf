//! Training as a user sees it, on the data that ships with the project.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::workbench::program_bytes;
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use tempfile::TempDir;

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

fn towline(arguments: &[&str]) -> Output {
    Command::new(cargo_bin("towline")).args(arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A folder with the a9a data packed.
fn packed(block_size: &str) -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("a9a.tow").display().to_string();
    let data = shipped("a9a.zst").display().to_string();
    assert!(towline(&["pack", &data, "-o", &store, "--block-size", block_size, "-q"]).status.success());
    (folder, store)
}

/// Optima on which LIBLINEAR, scikit-learn and others agree: a9a, C = 1, no bias.
const OPTIMA: [(&str, f64); 2] = [("hinge", 11433.807), ("logistic", 10529.5626)];

#[test]
fn the_known_optima_are_found_in_memory_and_out_of_core() {
    let (_folder, store) = packed("100K");
    for memory in ["1G", "+3M"] {
        let plan = json(&towline(&["plan", &store, "--memory", memory, "--json"]));
        assert_eq!(plan["in_memory"].as_bool(), Some(memory == "1G"));
        for (loss, optimum) in OPTIMA {
            let run = json(&towline(&[
                "train",
                &store,
                "--loss",
                loss,
                "--tolerance",
                "1e-6",
                "--memory",
                memory,
                "--json",
                "--restart",
            ]));
            let (objective, gap) = (run["objective"].as_f64().unwrap(), run["relative_gap"].as_f64().unwrap());
            assert_eq!(run["status"], "converged");
            assert!(gap <= 1e-6, "{loss} {memory}: gap {gap}");
            assert!((objective - optimum).abs() < 2e-6 * optimum, "{loss} {memory}: {objective}");
            let peak = run["peak_memory_bytes"].as_u64().unwrap();
            let budget = if memory == "1G" { 1 << 30 } else { program_bytes() + (3 << 20) };
            assert!(peak <= budget, "{loss} {memory}: a peak of {peak} bytes with a budget of {budget}");
        }
    }
}

#[test]
fn a_model_predicts_what_it_was_judged_by() {
    let (folder, store) = packed("1M");
    let model = folder.path().join("m.towm").display().to_string();
    let test = shipped("a9a.t.zst").display().to_string();
    let run = json(&towline(&["train", &store, "-o", &model, "--loss", "logistic", "--test", &test, "--json"]));
    let quality = json(&towline(&["eval", &model, &test, "--json"]));
    assert_eq!(run["test"], quality);
    assert!(quality["accuracy"].as_f64().unwrap() > 0.84);
    let lines = |extra: &[&str]| -> Vec<String> {
        let output = towline(&[&["predict", &model, &test], extra].concat());
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect()
    };
    let (labels, scores, probabilities) = (lines(&[]), lines(&["--scores"]), lines(&["--probabilities"]));
    assert_eq!(labels.len(), 16_281);
    for ((label, score), probability) in labels.iter().zip(&scores).zip(&probabilities) {
        let (score, probability): (f64, f64) = (score.parse().unwrap(), probability.parse().unwrap());
        assert_eq!(label, if score > 0.0 { "1" } else { "-1" });
        assert!((probability - 1.0 / (1.0 + (-score).exp())).abs() < 1e-12);
    }
    // A store of the same rows gives the same scores in the order of the input, although its rows are shuffled.
    let shuffled = folder.path().join("t.tow").display().to_string();
    assert!(towline(&["pack", &test, "-o", &shuffled, "-q"]).status.success());
    let from_store = String::from_utf8(towline(&["predict", &model, &shuffled, "--scores"]).stdout).unwrap();
    for (a, b) in scores.iter().zip(from_store.lines()) {
        assert!((a.parse::<f64>().unwrap() - b.parse::<f64>().unwrap()).abs() < 1e-9);
    }
}

#[test]
fn a_run_goes_on_where_it_ended() {
    let (folder, store) = packed("100K");
    let model = folder.path().join("m.towm").display().to_string();
    let train = |extra: &[&str]| {
        towline(
            &[&["train", &store, "-o", &model, "--solver", "dual", "--tolerance", "1e-5", "--json"], extra].concat(),
        )
    };
    let first = train(&["--max-passes", "3"]);
    assert_eq!(first.status.code(), Some(5), "not converged");
    let first: Value = serde_json::from_slice(&first.stdout).unwrap();
    let second = json(&train(&[]));
    assert!(second["dual_objective"].as_f64() > first["dual_objective"].as_f64());
    assert_eq!(json(&train(&[]))["sweeps"].as_u64(), Some(0), "nothing is left to do");
    let other = folder.path().join("other.towm").display().to_string();
    let warm = json(&towline(&["train", &store, "-o", &other, "-C", "2", "--warm-start", &model, "--json"]));
    assert_eq!(warm["status"], "converged");
}

#[test]
fn mistakes_are_named() {
    let (folder, store) = packed("1M");
    let bad_model = folder.path().join("bad.towm");
    std::fs::write(&bad_model, "TOWMODEL and then nothing").unwrap();
    let bad = bad_model.display().to_string();
    let cases: [(&[&str], i32, &str); 7] = [
        (&["train", &store, "--loss", "hinges"], 1, "hinge, squared-hinge"),
        (&["train", &store, "-C", "0"], 2, "'0' is not a number above 0"),
        (&["train", &store, "--memory", "1M"], 3, "use --memory"),
        (&["train", &store, "--positive", "5"], 4, "no row has the label '5'; labels are -1, 1"),
        (&["train", &store, "--class-weight", "1:2"], 4, "'1:2' is not a class weight; write -1=W or 1=W"),
        (&["info", &bad], 1, "bad.towm: checksum mismatch"),
        (&["eval", &bad, &store], 1, "bad.towm: checksum mismatch"),
    ];
    for (arguments, code, message) in cases {
        let output = towline(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}

#[test]
fn a_changed_file_is_not_trained_from_an_old_store() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rows.svm");
    std::fs::write(&file, "1 1:1\n-1 2:1\n").unwrap();
    let name = file.display().to_string();
    assert!(towline(&["train", &name]).status.success());
    assert!(towline(&["train", &name, "--restart"]).status.success());
    std::fs::write(&file, "1 1:1\n-1 2:1\n1 3:1\n").unwrap();
    let output = towline(&["train", &name]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("has changed since"));
}

/// F of LIBLINEAR 2.x on a9a, C = 1, no bias, computed from its weights: `-s 6 -e 1e-7`, which converges, and
/// `-s 5 -e 1e-7`, which stops at its limit of iterations above the optimum.
const LIBLINEAR_L1: [(&str, f64, bool); 2] =
    [("logistic", 10558.723370637, true), ("squared-hinge", 13761.991496, false)];

#[test]
fn a_store_of_another_label_is_not_trained_from() {
    let folder = TempDir::new().unwrap();
    let (data, model) = (folder.path().join("d.csv"), folder.path().join("m.towm"));
    std::fs::write(&data, "a,b,c\n1,2,3\n2,3,4\n3,5,1\n").unwrap();
    let train = |label: &str| {
        let (data, model) = (data.to_str().unwrap(), model.to_str().unwrap());
        towline(&["train", data, "--label", label, "--loss", "squared", "-o", model, "--memory", "64M", "--restart"])
    };
    assert!(train("a").status.success());
    assert!(train("a").status.success());
    let output = train("b");
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("'--label a'") && words.contains("'--label b'") && words.contains("--force"), "{words}");
}

#[test]
fn l1_agrees_with_liblinear_in_memory_and_out_of_core() {
    let (_folder, store) = packed("100K");
    for memory in ["1G", "+3M"] {
        for (loss, reference, converged) in LIBLINEAR_L1 {
            let options = ["--loss", loss, "--penalty", "l1", "--tolerance", "1e-6", "--memory", memory];
            let run = json(&towline(&[&["train", &store, "--json", "--restart"], &options[..]].concat()));
            let (objective, gap) = (run["objective"].as_f64().unwrap(), run["relative_gap"].as_f64().unwrap());
            assert!(gap <= 1e-6, "{loss} {memory}: gap {gap}");
            assert!(objective <= reference * (1.0 + 2e-6), "{loss} {memory}: {objective}");
            assert!(!converged || objective >= reference * (1.0 - 2e-6), "{loss} {memory}: {objective}");
        }
    }
}

#[test]
fn a_plan_says_how_zeros_would_be_found() {
    let (_folder, store) = packed("100K");
    let plan = |more: &[&str]| json(&towline(&[&["plan", &store, "--penalty", "l1", "--json"], more].concat()));
    // There are more rows than features: by columns for the sake of the kinks alone.
    for (more, solver) in [
        (&["--memory", "1G"][..], "columns"),
        (&["--memory", "1G", "--loss", "logistic", "--solver", "dual"], "dual"),
        (&["--memory", "1G", "--loss", "logistic", "--solver", "columns"], "columns"),
        (&["--memory", "1G", "--solver", "dual"], "dual"),
        (&["--memory", "+3M"], "dual"),
    ] {
        let plan = plan(more);
        assert_eq!(plan["solver"], solver, "{more:?}");
        assert_eq!(plan["column_bytes"].as_u64().unwrap() > 0, solver == "columns", "{more:?}");
        let run = [&["train", &store, "--penalty", "l1", "--json", "--restart", "--tolerance", "0.9"], more].concat();
        assert_eq!(json(&towline(&run))["solver"], solver, "{more:?}");
    }
    let failed = towline(&["plan", &store, "--solver", "newton"]);
    assert!(String::from_utf8_lossy(&failed.stderr).contains("newton cannot minimise the hinge loss"));
}

/// Whatever is asked for, the plan names the solver that a run begins with, and what that takes.
#[test]
fn a_plan_is_that_of_the_run() {
    let (_folder, store) = packed("100K");
    for loss in ["hinge", "squared-hinge", "logistic", "squared", "epsilon-insensitive", "huber"] {
        for penalty in ["l2", "l1", "elastic-net"] {
            for more in [&["--memory", "1G"][..], &["--memory", "+3M"], &["--memory", "1G", "--solver", "dual"]] {
                let asked = [&["--loss", loss, "--penalty", penalty], more].concat();
                let plan = json(&towline(&[&["plan", &store, "--json"], &asked[..]].concat()));
                let run = ["train", &store, "--restart", "--tolerance", "0.9", "--no-intercept"];
                let run = towline(&[&run, &asked[..]].concat());
                let told = String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
                let name = plan["solver"].as_str().unwrap();
                let why = plan["why"].as_str().unwrap();
                // A run says which solver it begins with wherever there was a choice; it may end with another one.
                assert!(why.is_empty() || told.contains(&format!("solver {name}: {why}")), "{asked:?}: {told}");
                let is_second_order = ["gram", "newton", "multipliers"].contains(&name);
                assert_eq!(plan["solver_bytes"].as_u64().unwrap() > 0, is_second_order, "{asked:?}");
                let used: u64 = ["program_bytes", "weight_bytes", "dual_bytes", "read_ahead_bytes", "resident_bytes"]
                    .iter()
                    .chain(&["column_bytes", "solver_bytes", "finished_bytes"])
                    .map(|part| plan[part].as_u64().unwrap())
                    .sum();
                assert!(used <= plan["budget_bytes"].as_u64().unwrap(), "{asked:?}: {plan}");
            }
        }
    }
}

/// A raw table with text, gaps and a price to predict: no other option says that it is a regression.
#[test]
fn a_table_whose_labels_are_quantities_is_a_regression() {
    for fraction in [0.5, 0.0] {
        prices_are_predicted(fraction);
    }
}

fn prices_are_predicted(fraction: f64) {
    let folder = TempDir::new().unwrap();
    let mut text = String::from("price,area,rooms,city,income\n");
    for i in 0..400u32 {
        let (area, rooms) = (30 + (i * 37) % 270, 1 + (i * 7) % 8);
        let (city, more) = if i % 3 == 0 { ("Basel", 90_000) } else { ("Bern", 0) };
        let income = 20_000 + (i * 7919) % 280_000;
        let price = f64::from(50_000 + 2500 * area + 8000 * rooms + more) + f64::from(income / 3) + fraction;
        let area = if i % 50 == 0 { String::new() } else { area.to_string() };
        text += &format!("{price},{area},{rooms},{city},{income}\n");
    }
    let table = folder.path().join("houses.csv").display().to_string();
    std::fs::write(&table, text).unwrap();
    let model = folder.path().join("m.towm").display().to_string();
    let output = towline(&["train", &table, "--label", "price", "-o", &model]);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("task regression") && said.contains("converged"), "{said}");
    let quality = json(&towline(&["eval", &model, &table, "--label", "price", "--json"]));
    // Rows without an area are what is left to explain.
    assert!(quality["r2"].as_f64().unwrap() > 0.8, "{quality}");
    // Who asks for classes gets them.
    let asked = towline(&["train", &table, "--label", "price", "-o", &model, "--positive", "1", "--restart"]);
    assert!(!asked.status.success());
    let both = towline(&["train", &table, "--label", "price", "--task", "classes", "--loss", "huber", "--restart"]);
    assert!(String::from_utf8_lossy(&both.stderr).contains("leave one out"));
}

/// Thousands of classes are rarely meant.
#[test]
fn very_many_classes_are_trained_only_if_asked_for() {
    let folder = TempDir::new().unwrap();
    let rows: String = (0..1200).map(|i| format!("{i} 1:{} 2:{}\n", i % 7, i % 11)).collect();
    let file = folder.path().join("many.svm").display().to_string();
    std::fs::write(&file, rows).unwrap();
    let model = folder.path().join("m.towm").display().to_string();
    let failed = towline(&["train", &file, "-o", &model, "--max-passes", "1"]);
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(said.contains("1200 values") && said.contains("--task classes"), "{said}");
    let asked = towline(&["train", &file, "-o", &model, "--max-passes", "1", "--task", "classes", "--solver", "dual"]);
    assert!(String::from_utf8_lossy(&asked.stdout).contains("1200, ovr"));
    let numbers = towline(&["train", &file, "-o", &model, "--task", "regression", "--restart"]);
    assert!(numbers.status.success());
}
