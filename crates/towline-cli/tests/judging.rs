//! How models are judged, as a user sees it.

use crate::workbench::random::Random;
use crate::workbench::{Workbench, shipped};
use serde_json::Value;

fn json(bench: &Workbench, line: &str) -> Value {
    serde_json::from_str(&bench.ok(&format!("{line} --json"))).unwrap()
}

/// Rows with a feature that says much of the label and one that says nothing; one row in four is positive.
fn rows(count: u64, seed: u64) -> String {
    let mut source = Random(seed);
    let mut random = |n: u64| source.below(n);
    let mut text = String::new();
    for _ in 0..count {
        let is_positive = random(4) == 0;
        let x = random(100) as f64 / 50.0 - 1.0 + if is_positive { 0.8 } else { -0.4 };
        text += &format!("{} 1:{x} 2:{} 3:1\n", if is_positive { "1" } else { "-1" }, random(10));
    }
    text
}

fn trained(options: &str) -> Workbench {
    let bench = Workbench::new();
    bench.file("train.svm", rows(800, 1));
    bench.file("test.svm", rows(400, 2));
    bench.ok(&format!("train train.svm {options} -o m.towm -q"));
    bench
}

#[test]
fn the_rarer_class_is_positive_unless_somebody_says_otherwise() {
    let bench = trained("--loss logistic");
    let found = json(&bench, "eval m.towm test.svm");
    assert_eq!(found["positive"], "1");
    let other = json(&bench, "eval m.towm test.svm --positive -1");
    assert_eq!(other["positive"], "-1");
    assert_eq!(found["confusion"], other["confusion"], "decisions are the same");
    assert_ne!(found["precision"], other["precision"]);
    assert!((found["auc"].as_f64().unwrap() - other["auc"].as_f64().unwrap()).abs() < 1e-12);
    let text = bench.ok("eval m.towm test.svm");
    for line in
        ["precision of 1 ", "recall of 1 ", "F1 of 1 ", "AUC of 1 ", "PR-AUC of 1 ", "log loss ", "Brier score "]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    // The rarer class is the first one here.
    let bench = Workbench::new();
    bench.file("turned.svm", rows(800, 1).replace("\n1 ", "\n-9 "));
    bench.ok("train turned.svm --loss logistic -o m.towm -q");
    let turned = json(&bench, "eval m.towm turned.svm");
    assert_eq!((&turned["positive"], &turned["classes"]), (&"-9".into(), &serde_json::json!(["-9", "-1"])));
    bench.ok("train turned.svm --loss logistic --positive -1 -o named.towm -q");
    assert_eq!(json(&bench, "eval named.towm turned.svm")["positive"], "-1");
    let said = bench.run("eval m.towm turned.svm --positive 7");
    assert!(said.code == Some(1) && said.stderr.contains("-9 and -1"), "{said:?}");
}

#[test]
fn the_metric_that_is_asked_for_comes_first() {
    let bench = trained("--loss logistic");
    let text = bench.ok("eval m.towm test.svm --metric pr-auc");
    assert!(text.starts_with("PR-AUC of 1 "), "{text}");
    let found = json(&bench, "eval m.towm test.svm --metric mcc");
    assert_eq!((&found["metric"], &found["score"]), (&"mcc".into(), &found["mcc"]));
    for (metric, word) in [("rmse", "is for numbers"), ("top-3", "many classes"), ("roc", "balanced-accuracy")] {
        let said = bench.run(&format!("eval m.towm test.svm --metric {metric}"));
        assert!(said.code != Some(0) && said.stderr.contains(word), "{said:?}");
    }
    bench.ok("train train.svm --loss hinge -o hinge.towm -q");
    let said = bench.run("eval hinge.towm test.svm --metric log-loss");
    assert!(said.stderr.contains("--metric log-loss") && said.stderr.contains("--calibrate"), "{said:?}");
}

#[test]
fn a_threshold_that_was_found_is_what_predict_uses() {
    for (loss, unit) in [("logistic", "probability"), ("hinge", "score")] {
        let bench = trained(&format!("--loss {loss}"));
        for positive in ["1", "-1"] {
            for rule in ["f1", "mcc", "cost=1:7", "0.3"] {
                let line = format!("eval m.towm test.svm --positive {positive} --threshold {rule}");
                let found = json(&bench, &line);
                assert!(bench.ok(&line).contains(&format!("the {unit} of {positive}")));
                let threshold = found["threshold"].as_f64().unwrap();
                let labels =
                    bench.ok(&format!("predict m.towm test.svm --positive {positive} --threshold {threshold}"));
                let truths = std::fs::read_to_string(bench.path("test.svm")).unwrap();
                let mut confusion = [[0u64; 2]; 2];
                for (truth, label) in truths.lines().zip(labels.lines()) {
                    let truth = truth.split_once(' ').unwrap().0;
                    confusion[usize::from(truth == "1")][usize::from(label == "1")] += 1;
                }
                assert_eq!(found["confusion"], serde_json::json!(confusion), "{loss} {positive} {rule}");
            }
        }
        let plain = json(&bench, "eval m.towm test.svm");
        let best = json(&bench, "eval m.towm test.svm --threshold f1");
        assert!(best["f1"].as_f64() > plain["f1"].as_f64());
    }
    let bench = trained("--loss squared");
    let said = bench.run("predict m.towm test.svm --threshold 0.5");
    assert!(said.stderr.contains("two classes"), "{said:?}");
}

#[test]
fn labels_that_the_model_does_not_know_are_named() {
    let bench = trained("--loss logistic");
    bench.file("other.svm", "7 1:1\n1 1:1\n-1 1:-1\n");
    let found = json(&bench, "eval m.towm other.svm");
    assert_eq!((found["rows"].as_u64(), found["unknown"].as_u64()), (Some(3), Some(1)));
    assert!(bench.ok("eval m.towm other.svm").contains("1 rows of labels that the model does not know"));
    bench.file("none.svm", "7 1:1\n8 1:1\n");
    let said = bench.run("eval m.towm none.svm");
    assert!(said.code == Some(1) && said.stderr.contains("knows (-1, 1)"), "{said:?}");
    // In a store, too.
    bench.ok("pack none.svm -o none.tow -q");
    assert!(bench.run("eval m.towm none.tow").stderr.contains("knows (-1, 1)"));
    // One class against all others has no labels that it does not know.
    bench.file("three.svm", "1 1:1\n2 1:-1\n3 1:-2\n1 1:2\n");
    bench.ok("train three.svm --positive 1 -o one.towm -q");
    assert_eq!(json(&bench, "eval one.towm three.svm")["unknown"].as_u64(), Some(0));
}

#[test]
fn test_rows_are_looked_at_before_training() {
    let bench = Workbench::new();
    bench.file("train.csv", "a,b,label\n1,2,x\n2,1,y\n3,1,y\n0,2,x\n");
    bench.file("unlabelled.csv", "a,b\n1,2\n");
    bench.file("numbers.svm", "1 1:1\n");
    for test in ["unlabelled.csv", "numbers.svm", "missing.csv"] {
        let said = bench.run(&format!("train train.csv --test {test} -o m.towm"));
        assert!(said.code != Some(0) && said.stderr.contains(test), "{said:?}");
        assert!(!bench.path("m.towm").exists(), "{test}: nothing was trained");
    }
    // What only all of them tell comes after what training has found.
    bench.file("late.csv", "a,b,label\n1,2,z\n1,2,z\n");
    let said = bench.run("train train.csv --test late.csv -o m.towm");
    assert!(said.code != Some(0) && said.stderr.contains("late.csv"), "{said:?}");
    assert!(said.stdout.contains("relative gap") && bench.path("m.towm").exists(), "{said:?}");
}

#[test]
fn cv_compares_by_any_metric() {
    let bench = trained("--loss logistic");
    bench.ok("pack train.svm -o s.tow -q");
    let by = |metric: &str| json(&bench, &format!("cv s.tow -C 0.01,1 --folds 3 --loss logistic --metric {metric}"));
    for metric in
        ["accuracy", "balanced-accuracy", "precision", "recall", "f1", "mcc", "auc", "pr-auc", "log-loss", "brier"]
    {
        let found = by(metric);
        assert_eq!(found["score"], metric);
        let means: Vec<f64> = found["points"].as_array().unwrap().iter().map(|p| p["mean"].as_f64().unwrap()).collect();
        assert!(means.iter().all(|mean| (0.0..1.0).contains(mean)), "{metric}: {means:?}");
        let smaller = ["log-loss", "brier"].contains(&metric);
        let best = found["best"].as_u64().unwrap() as usize;
        assert!(if smaller { means[best] <= means[1 - best] } else { means[best] >= means[1 - best] }, "{metric}");
    }
    assert_eq!(by("auc")["positive"], "1");
    assert!(bench.ok("cv s.tow -C 1 --folds 3 --metric pr-auc").contains("PR-AUC of 1"));
    let said = bench.run("cv s.tow -C 1 --loss hinge --metric log-loss");
    assert!(said.stderr.contains("--metric log-loss"), "{said:?}");
    let numbers = |metric: &str| json(&bench, &format!("cv s.tow -C 1 --folds 3 --loss squared --metric {metric}"));
    let [rmse, mae, r2] = ["rmse", "mae", "r2"].map(|metric| numbers(metric)["points"][0]["mean"].as_f64().unwrap());
    assert!(mae < rmse && (0.0..1.0).contains(&r2), "{rmse} {mae} {r2}");
}

#[test]
fn ordered_folds_are_what_training_on_the_past_gives() {
    let bench = Workbench::new();
    let all = rows(300, 5);
    bench.file("all.svm", &all);
    let lines: Vec<&str> = all.lines().collect();
    let line = "-C 1 --loss logistic --tolerance 1e-9";
    let found = json(&bench, &format!("cv all.svm {line} --folds 2 --ordered --metric auc"));
    for (fold, begin) in [100, 200].into_iter().enumerate() {
        bench.file("past.svm", lines[..begin].join("\n") + "\n");
        bench.file("next.svm", lines[begin..begin + 100].join("\n") + "\n");
        bench.ok(&format!("train past.svm {line} -o past.towm --restart -q"));
        let expected = json(&bench, "eval past.towm next.svm --metric auc")["score"].as_f64().unwrap();
        let score = found["points"][0]["scores"][fold].as_f64().unwrap();
        assert!((score - expected).abs() < 1e-12, "{score} {expected}");
        std::fs::remove_dir_all(bench.path("past.svm.tow")).ok();
        std::fs::remove_dir_all(bench.path("past.tow")).ok();
    }
    // The squared loss has a shorter way with folds that use every row, and must not take it here.
    let by_sums = json(&bench, "cv all.svm -C 1 --loss squared --folds 2 --ordered --tolerance 1e-9");
    bench.file("past.svm", lines[..100].join("\n") + "\n");
    bench.file("next.svm", lines[100..200].join("\n") + "\n");
    bench.ok("train past.svm -C 1 --loss squared --tolerance 1e-9 -o squared.towm -q");
    let expected = json(&bench, "eval squared.towm next.svm")["rmse"].as_f64().unwrap();
    let score = by_sums["points"][0]["scores"][0].as_f64().unwrap();
    assert!((score - expected).abs() < 1e-6, "{score} {expected}");
    let said = bench.run("cv all.svm --ordered --stratify");
    assert_eq!(said.code, Some(2), "{said:?}");
}

#[test]
fn repeats_deal_the_rows_out_anew() {
    let bench = trained("--loss logistic");
    bench.ok("pack train.svm -o s.tow -q");
    for loss in ["logistic", "squared"] {
        let line = format!("cv s.tow -C 1 --folds 3 --loss {loss} --tolerance 1e-6");
        let scores = |options: &str| -> Vec<f64> {
            let found = json(&bench, &format!("{line} {options}"));
            found["points"][0]["scores"].as_array().unwrap().iter().map(|score| score.as_f64().unwrap()).collect()
        };
        let both = scores("--repeats 2");
        assert_eq!(both.len(), 6);
        assert_eq!(both[..3], scores("")[..], "{loss}: the first time is that of the seed");
        assert_eq!(both[3..], scores("--seed 1")[..], "{loss}: the second that of the next");
    }
}

#[test]
fn cv_takes_a_solver_and_ends_in_time() {
    let bench = Workbench::new();
    let line = format!("pack {} -o a9a.tow --block-size 100K -q", shipped("a9a.zst"));
    bench.ok(&line);
    let found = json(&bench, "cv a9a.tow -C 0.01 --folds 2 --loss squared-hinge --solver newton --tolerance 1e-6");
    assert!(found["points"][0]["mean"].as_f64().unwrap() > 0.8);
    let said = bench.run("cv a9a.tow --loss hinge --solver gram -C 1");
    assert!(said.code != Some(0) && said.stderr.contains("gram"), "{said:?}");
    // A millisecond is over after the first wave: what comes later has no score, and is not the best.
    let said =
        bench.run("cv a9a.tow -C 0.01,0.1,1,10 --folds 2 --max-time 0.001 --tolerance 1e-9 --solver dual --json");
    assert_eq!(said.code, Some(5), "{said:?}");
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    let points = found["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    assert!(points[0]["mean"].is_f64() && points[3]["mean"].is_null(), "{found}");
    assert_eq!(found["best"].as_u64(), Some(0));
    assert!(bench.run("cv a9a.tow -C 0.01,10 --folds 2 --max-time 0.001 --solver dual").stdout.contains("no time"));
}

/// The mean log loss of the labels of a file by probabilities of the second class.
fn log_loss(bench: &Workbench, file: &str, probabilities: &str) -> f64 {
    let truths = std::fs::read_to_string(bench.path(file)).unwrap();
    let costs: Vec<f64> = truths
        .lines()
        .zip(probabilities.lines())
        .map(|(row, p)| {
            let p: f64 = p.parse().unwrap();
            -(if row.starts_with("1 ") { p } else { 1.0 - p }).ln()
        })
        .collect();
    costs.iter().sum::<f64>() / costs.len() as f64
}

#[test]
fn a_calibrated_hinge_model_has_probabilities() {
    let bench = trained("--loss logistic -C 10");
    let best = json(&bench, "eval m.towm test.svm")["log_loss"].as_f64().unwrap();
    let plain = {
        bench.ok("train train.svm --loss hinge -C 10 -o plain.towm -q");
        bench.ok("predict plain.towm test.svm --scores")
    };
    for method in ["platt", "isotonic"] {
        let summary = bench
            .ok(&format!("train train.svm --loss hinge -C 10 --calibrate 4 --calibration {method} -o {method}.towm"));
        assert!(summary.contains(&format!("{method}, 4 folds")), "{summary}");
        assert!(bench.ok(&format!("info {method}.towm")).contains(&format!("calibrated by {method} on 4 folds")));
        let found = json(&bench, &format!("eval {method}.towm test.svm --metric log-loss"));
        let loss = found["score"].as_f64().unwrap();
        let by_hand =
            log_loss(&bench, "test.svm", &bench.ok(&format!("predict {method}.towm test.svm --probabilities")));
        assert!((loss - by_hand).abs() < 1e-9, "{loss} {by_hand}");
        assert!(loss < 1.15 * best && found["brier"].as_f64().unwrap() < 0.2, "{method}: {loss} against {best}");
        // The weights are those of a model without: scores are the same, and so are labels.
        assert_eq!(bench.ok(&format!("predict {method}.towm test.svm --scores")), plain);
        assert_eq!(bench.ok(&format!("predict {method}.towm test.svm")), bench.ok("predict plain.towm test.svm"));
    }
    for (line, word) in [
        ("train train.svm --loss squared --calibrate 3 -o x.towm", "predicts numbers"),
        ("train train.svm --calibration isotonic -o x.towm", "--calibrate"),
        ("train train.svm --calibrate 1 -o x.towm", "2..=1000"),
        ("train train.svm --truncate 1 --calibrate 3 -o x.towm", "--truncate"),
        ("train train.svm --method sgd --calibrate 3 -o x.towm", "--calibrate"),
        ("train train.svm --stream --calibrate 3 -o x.towm", "--calibrate"),
        ("path train.svm --penalty l1 --calibrate 3", "--calibrate"),
    ] {
        let said = bench.run(line);
        assert!(said.code != Some(0) && said.stderr.contains(word), "{line}: {said:?}");
        assert!(!bench.path("x.towm").exists());
    }
}

#[test]
fn many_classes_are_calibrated_one_by_one() {
    let bench = Workbench::new();
    let text: String = rows(900, 3)
        .lines()
        .enumerate()
        .map(|(i, row)| {
            let row = row.split_once(' ').unwrap().1;
            let x: f64 = row.split_once(' ').unwrap().0[2..].parse().unwrap();
            let class = if x < -0.7 + 0.3 * (i % 3) as f64 {
                "1"
            } else if x < 0.4 {
                "2"
            } else {
                "3"
            };
            format!("{class} {row}\n")
        })
        .collect();
    bench.file("t.svm", text);
    for options in ["--multiclass ovr --loss squared-hinge", "--multiclass crammer-singer"] {
        bench.ok(&format!("train t.svm {options} --calibrate 3 -o m.towm -q --restart"));
        let found = json(&bench, "eval m.towm t.svm --metric top-2");
        assert!(found["log_loss"].as_f64().unwrap() < 0.8, "{found}");
        assert!(found["score"].as_f64().unwrap() > found["accuracy"].as_f64().unwrap());
        for line in bench.ok("predict m.towm t.svm --probabilities").lines() {
            let chances: Vec<f64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            assert!(chances.len() == 3 && (chances.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{line}");
        }
    }
}

#[test]
fn the_weights_that_matter_most_come_first() {
    let bench = Workbench::new();
    // In large units a feature has a small weight, and may matter more than one in small units.
    let mut text = String::new();
    for i in 0..200 {
        let (a, b) = ((i * 37 % 200) as f64 * 100.0, f64::from(i * 53 % 7) / 70.0);
        text += &format!("{},{a},{b}\n", a / 1000.0 + 3.0 * b);
    }
    bench.file("t.csv", format!("label,large,small\n{text}"));
    bench.ok("pack t.csv -o t.tow -q");
    bench.ok("pack t.csv -o scaled.tow --scale standard -q");
    bench.ok("train t.tow --loss squared -C 1000 -o m.towm -q");
    let first = |line: &str| -> Vec<String> {
        let found = json(&bench, line);
        found["top"].as_array().unwrap().iter().map(|top| top["feature"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(first("info m.towm --top 2"), ["small", "large"]);
    assert!(bench.ok("info m.towm --top 2").contains("does not know how far values spread"));
    // The deviation is that of raw values, whatever the store made of them.
    for store in ["t.tow", "scaled.tow"] {
        assert_eq!(first(&format!("info m.towm --top 2 --rows {store}")), ["large", "small"]);
        let found = json(&bench, &format!("info m.towm --top 1 --rows {store}"));
        let deviation = found["top"][0]["deviation"].as_f64().unwrap();
        assert!((deviation - (200.0f64 * 200.0 - 1.0).sqrt() / 12.0f64.sqrt() * 100.0).abs() < 1e-2, "{deviation}");
    }
    let text = bench.ok("info m.towm --top 1 --rows t.tow");
    assert!(text.lines().last().unwrap().starts_with("large "), "{text}");
    assert!(bench.run("info t.tow --top 3").stderr.contains("is a store"));
}
