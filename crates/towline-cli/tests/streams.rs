//! Streams as a user sees them: one pass, models meanwhile, going on from a model.

use crate::workbench::random::Random;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::workbench::program_bytes;
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use tempfile::TempDir;

fn shipped(name: &str) -> String {
    let packed = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)).unwrap();
    String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap()
}

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(cargo_bin("towline"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn feed(arguments: &[&str], text: &str) -> Output {
    let mut child = start(arguments);
    // A program that refuses its options does not read.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    child.wait_with_output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Bench { folder: TempDir::new().unwrap() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}

/// Rows of four classes with names of no order; each class has features of its own.
fn many_classes(rows: usize, late: bool) -> String {
    let mut text = String::new();
    let mut source = Random(7);
    let mut random = |n: u64| source.below(n);
    for row in 0..rows {
        let known = if late && row < rows / 2 { 2 } else { 4 };
        let class = random(known);
        let mut features: Vec<u64> = (0..6).map(|_| 1 + class * 10 + random(10)).collect();
        features.extend((0..4).map(|_| 100 + random(50)));
        features.sort_unstable();
        features.dedup();
        let words: Vec<String> = features.iter().map(|feature| format!("{feature}:1")).collect();
        text += &format!("{} {}\n", [3, -1, 20, 7][class as usize], words.join(" "));
    }
    text
}

#[test]
fn one_pass_comes_near_the_exact_model_and_keeps_its_budget() {
    let bench = Bench::new();
    let test = bench.write("test.svm", &shipped("a9a.t.zst"));
    let text = shipped("a9a.zst");
    for (memory, options) in
        [("64M", &[][..]), ("+24M", &["--loss", "logistic", "--bias", "1"]), ("64M", &["--hash-bits", "12"])]
    {
        let model = bench.path("a9a.towm");
        let mut arguments = vec![
            "train",
            "-",
            "--stream",
            "--memory",
            memory,
            "-o",
            &model,
            "--test",
            &test,
            "--json",
            "--progressive",
            // Buffers of other threads would leave room for other blocks.
            "--threads",
            "2",
        ];
        arguments.extend(options);
        let run = json(&feed(&arguments, &text));
        assert_eq!(run["rows"], 32561);
        // The exact hinge model has 84.9 %; in 24 MiB blocks are of a few hundred rows.
        let accuracy = run["test"]["accuracy"].as_f64().unwrap();
        assert!(accuracy > 0.84, "{options:?}: {accuracy}");
        let progressive = &run["progressive"];
        assert_eq!(progressive["rows"], 32561);
        assert!(progressive["right"].as_f64().unwrap() > 0.8 * 32561.0);
        let peak = run["peak_memory_bytes"].as_u64().unwrap();
        let budget = if memory == "64M" { 64 << 20 } else { 24 << 20 };
        assert!(peak <= budget + (16 << 20), "{memory}: {peak}");
    }
}

#[test]
fn a_stream_in_one_block_is_batch_training() {
    let bench = Bench::new();
    let text = many_classes(400, false);
    let data = bench.write("rows.svm", &text);
    let (streamed, batch) = (bench.path("s.towm"), bench.path("b.towm"));
    let scores = |model: &str| -> Vec<f64> {
        let output = feed(&["predict", model, &data, "--scores"], "");
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    for kind in [["--loss", "squared-hinge"], ["--multiclass", "crammer-singer"], ["--multiclass", "softmax"]] {
        let train = [&["train", "--json", "--memory", "64M"], &kind[..]].concat();
        json(&feed(&[&train[..], &["-", "--stream", "--rounds", "3000", "-o", &streamed]].concat(), &text));
        json(&feed(&[&train[..], &[&data, "--tolerance", "1e-10", "-o", &batch]].concat(), ""));
        let (a, b) = (scores(&streamed), scores(&batch));
        assert_eq!(a.len(), 4 * 400);
        let distance = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(distance < 1e-4, "{kind:?}: scores are {distance} apart");
    }
}

#[test]
fn classes_and_features_may_come_late() {
    let bench = Bench::new();
    let text = many_classes(3000, true);
    let data = bench.write("rows.svm", &many_classes(500, false));
    let model = bench.path("late.towm");
    for way in ["auto", "ovr", "softmax"] {
        let arguments = ["train", "-", "--stream", "--memory", "+8M", "-o", &model, "--test", &data, "--json"];
        let run = json(&feed(&[&arguments[..], &["--multiclass", way]].concat(), &text));
        assert_eq!(run["classes"], serde_json::json!(["-1", "3", "7", "20"]));
        assert!(run["steps"].as_u64().unwrap() > 3, "{way}: {run}");
        assert!(run["test"]["accuracy"].as_f64().unwrap() > 0.97, "{way}: {run}");
    }
}

#[test]
fn the_second_of_two_classes_is_the_larger_one_whichever_comes_first() {
    let bench = Bench::new();
    for text in ["1 1:1\n-1 2:1\n", "-1 2:1\n1 1:1\n"] {
        let model = bench.path("two.towm");
        json(&feed(&["train", "-", "--stream", "-o", &model, "--json"], text));
        let predicted = feed(&["predict", &model, "-"], "1 1:5\n1 2:5\n");
        assert_eq!(String::from_utf8(predicted.stdout).unwrap(), "1\n-1\n");
        let scores = feed(&["predict", &model, "-", "--scores"], "1 1:5\n");
        assert!(String::from_utf8(scores.stdout).unwrap().trim().parse::<f64>().unwrap() > 0.0);
    }
}

#[test]
fn the_rules_of_papers_learn_from_a_stream_too() {
    let bench = Bench::new();
    let test = bench.write("test.svm", &shipped("a9a.t.zst"));
    let classes = bench.write("classes.svm", &many_classes(500, false));
    let model = bench.path("rule.towm");
    for rule in ["perceptron", "mira", "cw", "pegasos", "sgd"] {
        let arguments = ["train", "-", "--stream", "--method", rule, "-o", &model, "--json", "--progressive", "--test"];
        let two = json(&feed(&[&arguments[..], &[&test]].concat(), &shipped("a9a.zst")));
        assert!(two["test"]["accuracy"].as_f64().unwrap() > 0.83, "{rule}: {two}");
        assert!(two["progressive"]["right"].as_f64().unwrap() > 0.75 * 32561.0, "{rule}: {two}");
        let many = json(&feed(&[&arguments[..], &[&classes]].concat(), &many_classes(3000, true)));
        assert!(many["test"]["accuracy"].as_f64().unwrap() > 0.95, "{rule}: {many}");
        let one = json(&feed(&[&arguments[..], &[&classes, "--positive", "20"]].concat(), &many_classes(3000, true)));
        assert!(one["test"]["accuracy"].as_f64().unwrap() > 0.95, "{rule}: {one}");
    }
}

#[test]
fn steps_of_descent_follow_the_rows_that_are_expected() {
    let bench = Bench::new();
    let test = bench.write("test.svm", &shipped("a9a.t.zst"));
    let model = bench.path("descent.towm");
    let run = |options: &[&str]| {
        let arguments = ["train", "-", "--stream", "-o", &model, "--json", "--test", &test];
        let run = json(&feed(&[&arguments[..], options].concat(), &shipped("a9a.zst")));
        assert!(run["test"]["accuracy"].as_f64().unwrap() > 0.83, "{options:?}: {run}");
        feed(&["predict", &model, &test, "--scores"], "").stdout
    };
    for rule in [&["--method", "pegasos"][..], &["--method", "sgd", "--loss", "logistic"]] {
        let expected = run(&[rule, &["--rows", "32561"]].concat());
        assert!(expected != run(rule));
        // Fewer than have come are as many as have come.
        assert!(run(&[rule, &["--rows", "1"]].concat()) == run(rule));
    }
}

fn saved_rows(model: &Path) -> Option<u64> {
    let output = feed(&["info", &model.display().to_string(), "--json"], "");
    output.status.success().then(|| serde_json::from_slice::<Value>(&output.stdout).unwrap()["rows"].as_u64().unwrap())
}

#[test]
fn a_stream_that_is_killed_goes_on_from_its_last_save() {
    let bench = Bench::new();
    let test = bench.write("test.svm", &shipped("a9a.t.zst"));
    let text = shipped("a9a.zst");
    let lines: Vec<&str> = text.lines().collect();
    let model = PathBuf::from(bench.path("killed.towm"));
    let name = model.display().to_string();
    let mut done = 0;
    for stop in [7000, 19000] {
        let mut arguments =
            vec!["train", "-", "--stream", "--memory", "32M", "--save-every", "1000", "-o", &name, "-q"];
        if done > 0 {
            arguments.extend(["--warm-start", &name]);
        }
        let mut child = start(&arguments);
        let part = lines[done..stop].join("\n") + "\n";
        child.stdin.as_mut().unwrap().write_all(part.as_bytes()).unwrap();
        // The writer pauses; what has come is learnt and saved meanwhile.
        let begin = Instant::now();
        while saved_rows(&model).is_none_or(|rows| rows <= done as u64) && begin.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(50));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let saved = saved_rows(&model).unwrap() as usize;
        assert!(saved > done && saved <= stop, "{saved} after {done}");
        done = saved;
    }
    let rest = lines[done..].join("\n") + "\n";
    let arguments =
        ["train", "-", "--stream", "--memory", "32M", "--warm-start", &name, "-o", &name, "--test", &test, "--json"];
    let run = json(&feed(&arguments, &rest));
    assert_eq!(run["rows"], 32561, "no row is lost or learnt twice");
    // Where blocks end depends on when rows came.
    assert!(run["test"]["accuracy"].as_f64().unwrap() > 0.83, "{run}");
}

/// The budget that an error names for a stream that grows is enough, at once.
#[test]
fn a_stream_that_outgrows_its_budget_says_what_would_be_enough() {
    let bench = Bench::new();
    let row = |i: usize| {
        let words: Vec<String> = (0..20).map(|k| format!("{}:1", 1 + i * 20 + k)).collect();
        format!("{} 0:1 {}\n", i % 4, words.join(" "))
    };
    let data = bench.write("grows.svm", &(0..20_000).map(row).collect::<String>());
    let model = bench.path("m.towm");
    let train = ["train", &data, "--stream", "--threads", "1", "-o", &model, "--json", "--memory"];
    let refused = feed(&[&train[..], &["+24M"]].concat(), "");
    assert_eq!(refused.status.code(), Some(3));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    let number = |before: &str| message.split(before).nth(1).unwrap().split([' ', ',']).next().unwrap().to_string();
    assert!(message.contains("is likely to be enough for the whole input"), "{message}");
    json(&feed(&[&train[..], &[&number("--memory ")]].concat(), ""));
    let hashed = json(&feed(&[&train[..], &["+24M", "--hash-bits", &number("--hash-bits ")]].concat(), ""));
    assert!(hashed["peak_memory_bytes"].as_u64().unwrap() <= program_bytes() + (24 << 20), "{hashed}");
    // Nobody knows how long standard input is.
    let piped =
        feed(&["train", "-", "--stream", "-o", &model, "--memory", "+24M"], &(0..20_000).map(row).collect::<String>());
    let message = String::from_utf8_lossy(&piped.stderr).into_owned();
    assert!(message.contains("later rows may need more; or --hash-bits"), "{message}");
}

#[test]
fn mistakes_are_named() {
    let bench = Bench::new();
    let model = bench.path("m.towm");
    let fails = |arguments: &[&str], text: &str, word: &str| {
        let output = feed(arguments, text);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && message.contains(word), "{arguments:?}: {message}");
    };
    let rows = "1 1:1\n-1 2:1\n";
    fails(&["train", "-", "--stream"], rows, "-o MODEL");
    fails(&["train", "-", "-o", &model], rows, "--stream");
    fails(&["train", "-", "--stream", "-o", &model, "--tolerance", "1e-3"], rows, "--tolerance has no meaning");
    fails(&["train", "-", "--stream", "-o", &model, "--penalty", "l1"], rows, "--penalty has no meaning");
    fails(&["train", "-", "--stream", "-o", &model, "--class-weight", "balanced"], rows, "not a class weight");
    fails(&["train", "-", "--stream", "-o", &model, "--follow"], rows, "name a file");
    fails(&["train", "-", "--stream", "-o", &model, "--save-every", "soon"], rows, "a time like");
    fails(&["train", "-", "--stream", "-o", &model], "1 1:1\n1 2:1\n", "all rows have the label '1'");
    fails(&["train", "-", "--stream", "-o", &model], "", "no rows");
    fails(&["train", "-", "--stream", "-o", &model], "1 1:1\n2 x:1\n", "standard input:2");
    fails(&["train", "-", "--stream", "-o", &model, "--positive", "5"], rows, "no row has the label '5'");
    let counted = ["train", "-", "--stream", "-o", &model, "--format", "csv", "--label", "y", "--text", "t:min=5"];
    fails(&counted, "y,t\n1,a b\n0,c\n", "--text of column 't' has min or max");
    // The exit codes are those of every verb.
    for (arguments, text, code) in [
        (&["-"][..], "1 1:1\n2 x:1\n", 4),
        (&["-"], "1 1:1\n1 2:1\n", 4),
        (&["-", "--memory", "64K"], rows, 3),
        (&["none.svm"], rows, 1),
    ] {
        let output = feed(&[&["train", "--stream", "-o", &model], arguments].concat(), text);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        assert!(message.matches("No such file").count() <= 1, "{message}");
    }
    fails(&["train", "-", "--stream", "-o", &model, "--method", "admm"], rows, "many times");
    fails(
        &["train", "-", "--stream", "-o", &model, "--method", "mira", "--loss", "squared"],
        rows,
        "in place of --loss",
    );
    fails(&["train", "-", "--stream", "-o", &model, "--rows", "100"], rows, "--rows is for --method pegasos and sgd");
    fails(
        &["train", "-", "--stream", "-o", &model, "--method", "mira", "--multiclass", "ovr"],
        rows,
        "leave --multiclass out",
    );
    fails(
        &["train", "-", "--stream", "-o", &model, "--multiclass", "softmax", "--loss", "hinge"],
        rows,
        "leave --loss out",
    );
    fails(&["train", "-", "--stream", "-o", &model, "--method", "bmd"], rows, "leave --method out");
    fails(&["train", "-", "--stream", "-o", &model, "--method", "cw", "--rounds", "3"], rows, "--rounds");
    json(&feed(&["train", "-", "--stream", "-o", &model, "--json"], rows));
    fails(&["train", "-", "--stream", "-o", &model, "--warm-start", &model, "--hash-bits", "4"], rows, "hash bits");
    fails(&["train", "-", "--stream", "-o", &model, "--warm-start", &model, "--loss", "squared"], rows, "kind of loss");
}

#[test]
fn rows_that_come_sorted_by_class_are_pointed_out() {
    let bench = Bench::new();
    let row = |i: usize, class: usize| format!("{class} {}:1 {}:{}\n", 1 + class, 10 + i % 7, 1 + i % 3);
    let sorted: String = (0..600).map(|i| row(i, i / 200)).collect();
    let mixed: String = (0..600).map(|i| row(i, i % 3)).collect();
    for (text, is_sorted) in [(sorted, true), (mixed, false)] {
        let said = feed(&["train", "-", "--stream", "-o", &bench.path("m.towm")], &text);
        let words = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "{words}");
        assert_eq!(words.contains("note: the rows come sorted by class"), is_sorted, "{words}");
    }
}

/// Blocks follow from the budget, and neither from threads nor from when the window of packed data is paid for.
#[test]
fn models_of_a_stream_do_not_depend_on_threads_or_time() {
    let bench = Bench::new();
    let text = many_classes(60_000, false);
    let packed = bench.path("rows.svm.zst");
    std::fs::write(&packed, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
    let plain = bench.write("rows.svm", &text);
    for file in [&packed, &plain] {
        let models = ["1", "2", "4", "2", "2"].map(|threads| {
            let model = bench.path("m.towm");
            let line = ["train", file, "--stream", "-o", &model, "-q", "--memory", "+8M", "--threads", threads];
            let output = feed(&line, "");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let model = std::fs::read(&model).unwrap();
            // The header tells how long it took, and the checksum is of all of it.
            let header = u64::from_le_bytes(std::array::from_fn(|k| model[8 + k])) as usize;
            model[16 + header..model.len() - 4].to_vec()
        });
        assert!(models[0].len() > 1000 && models.iter().all(|model| model == &models[0]), "{file}");
    }
}
