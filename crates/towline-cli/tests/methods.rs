//! `--method`, `--test-every` and the options of LIBLINEAR, on the data that ships with the project.

use crate::workbench::{Said, Workbench, shipped};
use serde_json::Value;

/// A folder with the a9a data packed, and the path of its test rows.
fn bench() -> (Workbench, String) {
    let bench = Workbench::new();
    bench.ok(&format!("pack {} -o a9a.tow -q --block-size 200k", shipped("a9a.zst")));
    (bench, shipped("a9a.t.zst"))
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("no JSON: {} {}", said.stdout, said.stderr))
}

/// The objective at C = 1 on which LIBLINEAR, scikit-learn and others agree, and the test accuracy of that model.
const HINGE_OPTIMUM: f64 = 11433.807;
const LOGISTIC_OPTIMUM: f64 = 10529.5626;
const EXACT_ACCURACY: f64 = 0.8497;

#[test]
fn baselines_come_near_the_exact_model() {
    let (bench, test) = bench();
    for method in ["pegasos", "perceptron", "mira", "cw", "sgd"] {
        let run = |output: &str| {
            let line = format!("train a9a.tow --method {method} --max-passes 20 --test {test} -o {output} --json");
            let said = bench.run(&line);
            assert_eq!(said.code, Some(0), "{method}: {}", said.stderr);
            json(&said)
        };
        let (first, second) = (run("first.towm"), run("second.towm"));
        assert_eq!(first["status"], "out-of-passes");
        let accuracy = first["test"]["accuracy"].as_f64().unwrap();
        assert!(accuracy > EXACT_ACCURACY - 0.005, "{method}: {accuracy}");
        assert_eq!(first["objective"], second["objective"]);
        assert!(first["objective"].as_f64().unwrap() >= HINGE_OPTIMUM, "{method}");
        assert!(first["dual_objective"].as_f64().unwrap() <= HINGE_OPTIMUM, "{method}");
        if ["pegasos", "sgd"].contains(&method) {
            assert!(first["objective"].as_f64().unwrap() < 1.05 * HINGE_OPTIMUM, "{method}: {}", first["objective"]);
        }
        let info: Value = serde_json::from_str(&bench.ok("info first.towm --json")).unwrap();
        assert_eq!(info["baseline"], method);
        assert!(!bench.path("first.towm.duals").exists(), "{method} has no dual variables");
    }
    let line = "train a9a.tow --method sgd --loss logistic --max-passes 20 -o m.towm --json";
    let logistic = json(&bench.run(line))["objective"].as_f64().unwrap();
    assert!((LOGISTIC_OPTIMUM..1.01 * LOGISTIC_OPTIMUM).contains(&logistic), "{logistic}");
}

/// Where the l1-penalised squared hinge loss ends, by the exact method, and how near its comparisons come in 60 passes.
#[test]
fn comparisons_of_penalties_come_near_the_exact_model() {
    let (bench, _) = bench();
    let problem = "train a9a.tow --penalty l1 --loss squared-hinge -C 0.05 --memory +3M --json";
    let exact = json(&bench.run(&format!("{problem} --tolerance 1e-5 -o exact.towm")));
    let (bound, best) = (exact["dual_objective"].as_f64().unwrap(), exact["objective"].as_f64().unwrap());
    for (method, within) in [("admm", 1e-3), ("bc-admm", 1e-3), ("mirror-descent", 0.3)] {
        let line = format!("{problem} --method {method} --max-passes 60 -o {method}.towm");
        let said = bench.run(&line);
        assert_eq!(said.code, Some(0), "{method}: {}", said.stderr);
        let told = json(&said);
        let objective = told["objective"].as_f64().unwrap();
        assert!(objective >= bound && objective <= best * (1.0 + within), "{method}: {objective}, optimum {best}");
        assert!(told["dual_objective"].as_f64().unwrap() <= best, "{method}");
    }
}

#[test]
fn a_trace_has_test_scores_when_asked() {
    let (bench, test) = bench();
    bench.ok(&format!("pack {test} -o test.tow -q"));
    for (method, held_out) in [("auto", &test[..]), ("auto", "test.tow"), ("sgd --max-passes 3", "test.tow")] {
        let line = format!("train a9a.tow --method {method} --restart --bias 1 --test {held_out} --trace t.jsonl");
        let line = if method == "auto" { line } else { line.replace("--restart ", "") };
        let run = json(&bench.run(&format!("{line} --test-every 0 --json")));
        let trace = std::fs::read_to_string(bench.path("t.jsonl")).unwrap();
        let lines: Vec<Value> = trace.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let scores: Vec<f64> = lines.iter().map(|line| line["test"]["accuracy"].as_f64().unwrap()).collect();
        assert!(scores.len() >= 3 && scores.last().is_some_and(|&score| score > 0.84), "{method}: {scores:?}");
        // The exact model may be a multiple of the last weights, which decides nothing.
        assert_eq!(scores.last().copied(), run["test"]["accuracy"].as_f64(), "{method} {held_out}");
        // Hours away: the first step alone is scored.
        bench.run(&format!("{line} --test-every 10000 --json"));
        let trace = std::fs::read_to_string(bench.path("t.jsonl")).unwrap();
        assert_eq!(trace.lines().filter(|line| line.contains("accuracy")).count(), 1, "{method}");
    }
}

#[test]
fn scaled_features_and_numbers_are_scored_as_the_model_scores_them() {
    let bench = Workbench::new();
    let row = |k: u32| format!("{} 1:{} 7:{} {}:1\n", f64::from(k % 7) * 0.5, k % 5, k % 3 + 2, 10 + k % 4);
    bench.file("train.svm", (0..200).map(row).collect::<String>());
    // Feature 13 is not in the first rows, and feature 99 not in training.
    bench.file("test.svm", (50..80).map(row).map(|row| row.replace("13:1", "99:1")).collect::<String>());
    for scale in ["none", "rows", "minmax", "standard"] {
        bench.ok(&format!("pack train.svm -o train.tow -q --force --scale {scale}"));
        bench.ok(&format!("pack test.svm -o test.tow -q --force --scale {scale}"));
        // A store has a scale of its own, which is only the same for rows; text is scaled as in training.
        let inputs = if scale == "minmax" { &["test.svm"][..] } else { &["test.svm", "test.tow"] };
        for input in inputs {
            let run = json(&bench.run(&format!(
                "train train.tow --loss squared --tolerance 1e-9 --bias 1 --restart --test {input} --trace t.jsonl --test-every 0 --json"
            )));
            let trace = std::fs::read_to_string(bench.path("t.jsonl")).unwrap();
            let last: Value = serde_json::from_str(trace.lines().last().unwrap()).unwrap();
            let (found, wanted) = (last["test"]["rmse"].as_f64().unwrap(), run["test"]["rmse"].as_f64().unwrap());
            assert!((found - wanted).abs() < 1e-3 * wanted, "{scale} {input}: {found} {wanted}");
        }
    }
}

#[test]
fn options_of_liblinear_mean_the_same_here() {
    let (bench, _) = bench();
    let objective = |options: &str| -> f64 {
        let said = bench.run(&format!("train a9a.tow {options} --tolerance 1e-4 --restart --json"));
        assert_eq!(said.code, Some(0), "{options}: {}", said.stderr);
        json(&said)["objective"].as_f64().unwrap()
    };
    for (theirs, ours) in [
        ("-s 0 -c 0.5", "--loss logistic -C 0.5"),
        ("-s 7 -B 1", "--loss logistic --bias 1"),
        ("-s 1 -c 0.01 -B -1", "--loss squared-hinge -C 0.01"),
        ("-s 2 -c 0.01", "--loss squared-hinge -C 0.01"),
        ("-s 3 -w1 2 -w-1 0.5 -q", "--loss hinge --class-weight 1=2 --class-weight -1=0.5"),
        ("-s 11 -c 0.01", "--loss squared-epsilon-insensitive -C 0.01"),
        ("-s 12 -c 0.01 -p 0.5", "--loss squared-epsilon-insensitive -C 0.01 --epsilon 0.5"),
        ("-s 13 -c 0.01 -p 0.2", "--loss epsilon-insensitive -C 0.01 --epsilon 0.2"),
    ] {
        let (theirs_found, ours_found) = (objective(theirs), objective(ours));
        assert!((theirs_found - ours_found).abs() <= 1e-4 * ours_found, "{theirs}: {theirs_found} and {ours_found}");
    }
}

#[test]
fn what_has_no_meaning_is_refused() {
    let (bench, test) = bench();
    let cases = [
        (
            "--method sgd --tolerance 1e-3",
            1,
            "--tolerance is for exact training, and --method sgd makes --max-passes passes",
        ),
        ("--method cw --rounds 3", 1, "--rounds is for exact training"),
        ("--method mira --restart", 1, "--restart is for exact training"),
        ("--method perceptron --loss hinge", 1, "--method perceptron has a rule of its own in place of --loss"),
        ("--method mira -s 3", 1, "has a rule of its own in place of -s; use --method sgd to choose a loss"),
        ("--method cw -C 2", 1, "does not depend on -C"),
        ("--method cw -w1 2", 1, "--method cw knows no weights"),
        (
            "--method pegasos --loss logistic",
            1,
            "pegasos is for the hinge loss, not for the logistic loss; use --method sgd",
        ),
        (
            "--method admm --tolerance 1e-3",
            1,
            "--tolerance is for exact training, and --method admm makes --max-passes",
        ),
        ("--method bc-admm --cache-share 0.2", 1, "--cache-share is for exact training"),
        ("--method mirror-descent", 1, "mirror-descent knows the penalty l1 and no intercept only; use --penalty l1"),
        (
            "--method mirror-descent --penalty l1 --intercept",
            1,
            "mirror-descent knows the penalty l1 and no intercept only",
        ),
        ("--method sgd --penalty l1", 1, "sgd knows the penalty l2 with --lambda 1 and no intercept only"),
        ("--method sgd --max-passes 0", 1, "--max-passes must be 1 or more for sgd"),
        ("--method bmd --cache-share 0.2", 1, "this method keeps none; use --method sbm"),
        ("--test-every 1", 2, "--test"),
        ("--test - --trace t --test-every 1", 1, "standard input can be read only once; name a file"),
        ("--stop gap -e 0.1", 1, "use --tolerance, the relative duality gap"),
        ("-s 4 --loss hinge", 2, "cannot be used with"),
        ("-s 6", 2, "l1 penalty"),
        ("-s 9", 2, "or name the loss with --loss"),
        ("-s 3 --loss hinge", 2, "cannot be used with"),
        ("-B x", 2, "name a number"),
        ("--method sgd --memory 100k", 3, "use --memory"),
    ];
    for (options, code, message) in cases {
        let said = bench.run(&format!("train a9a.tow {options}"));
        assert_eq!(said.code, Some(code), "{options}: {}", said.stderr);
        assert!(said.stderr.contains(message), "{options}: {}", said.stderr);
    }
    let said = bench.run(&format!("train a9a.tow --test {test} --trace t --test-every -1"));
    assert!(matches!(said.code, Some(1 | 2)), "{}", said.stderr);
    assert!(!bench.path("a9a.towm").exists(), "nothing was written");
}
