//! `towline pack --rff`: a circle that no linear model can tell apart, and one that it can.

use crate::workbench::{Workbench, forge};
use serde_json::{Value, json};

/// Points inside and outside a circle, as libsvm text or as a table.
fn points(count: u32, csv: bool) -> String {
    let mut text = if csv { "label,east,north\n".to_string() } else { String::new() };
    for k in 0..count {
        let (angle, radius) = (f64::from(k) * 2.399_963, f64::from(k % 20) / 10.0 + 0.05);
        let (x, y, label) = (radius * angle.cos(), radius * angle.sin(), if radius < 1.0 { 1 } else { -1 });
        text += &if csv { format!("{label},{x:.4},{y:.4}\n") } else { format!("{label} 1:{x:.4} 2:{y:.4}\n") };
    }
    text
}

fn accuracy(bench: &Workbench, line: &str) -> f64 {
    let told: Value = serde_json::from_str(&bench.ok(line)).unwrap();
    told["accuracy"].as_f64().or(told["test"]["accuracy"].as_f64()).unwrap()
}

#[test]
fn models_of_random_features_judge_raw_rows() {
    for (file, csv, keep) in
        [("points.svm", false, "seed"), ("points.svm", false, "values"), ("points.csv", true, "auto")]
    {
        let bench = Workbench::new();
        bench.file(file, points(600, csv));
        bench.file(&format!("test-{file}"), points(300, csv));
        bench.ok(&format!("pack {file} -o raw.tow -q"));
        let map = "--rff 200 --gamma 1 --rff-seed 7";
        bench.ok(&format!("pack {file} -o rff.tow -q {map} --block-size 50k --rff-keep {keep}"));
        bench.ok(&format!("pack test-{file} -o test.tow -q {map}"));
        let info: Value = serde_json::from_str(&bench.ok("info rff.tow --json")).unwrap();
        assert_eq!((info["features"].as_u64(), info["values"].as_u64()), (Some(200), Some(200 * 600)), "{info}");
        assert!(bench.ok("info rff.tow").contains("200 random Fourier features, gamma 1, seed 7"));

        let straight = accuracy(&bench, "train raw.tow --loss logistic -C 10 -o raw.towm --json --test raw.tow");
        assert!(straight < 0.7, "{straight}");
        let line = "train rff.tow --loss logistic -C 100 -o rff.towm --json";
        let scored = format!("{line} --test test-{file} --trace t.jsonl --test-every 0");
        let curved = accuracy(&bench, &scored);
        assert!(curved > 0.98, "{curved}");
        // The same rows: as they are, packed alike, and on the way.
        assert_eq!(accuracy(&bench, &format!("eval rff.towm test-{file} --json")), curved);
        assert_eq!(accuracy(&bench, "eval rff.towm test.tow --json"), curved);
        let trace = std::fs::read_to_string(bench.path("t.jsonl")).unwrap();
        let last: Value = serde_json::from_str(trace.lines().last().unwrap()).unwrap();
        assert_eq!(last["test"]["accuracy"].as_f64(), Some(curved));
        assert!(bench.ok("info rff.towm").contains("mapped to 200 random Fourier features"));
        // A store of other features is not taken for one of these.
        let said = bench.run("eval rff.towm raw.tow");
        assert!(said.code == Some(1) && said.stderr.contains("random Fourier features"), "{}", said.stderr);
    }
}

#[test]
fn features_that_are_kept_are_those_that_are_made() {
    for (file, csv) in [("points.svm", false), ("points.csv", true)] {
        let bench = Workbench::new();
        bench.file(file, points(300, csv));
        bench.file(&format!("more-{file}"), points(90, csv));
        for keep in ["seed", "values"] {
            let options = format!("--rff 150 --gamma 0.5 --block-size 20k --rff-keep {keep} -q");
            bench.ok(&format!("pack {file} -o {keep}.tow {options}"));
            bench.ok(&format!("pack more-{file} -o {keep}.tow --append {options}"));
            assert!(bench.ok(&format!("verify {keep}.tow")).contains("whole"));
        }
        assert_eq!(bench.ok("cat seed.tow"), bench.ok("cat values.tow"));
        assert_eq!(bench.ok("cat seed.tow").lines().count(), 390);
        let manifest =
            |keep: &str| -> Value { serde_json::from_str(&bench.ok(&format!("info {keep}.tow --json"))).unwrap() };
        let (made, kept) = (manifest("seed"), manifest("values"));
        let version = if csv { 5 } else { 4 };
        for field in ["rows", "features", "values", "layout", "row_summary", "labels", "fourier", "named_features"] {
            assert_eq!(made[field], kept[field], "{field}");
        }
        assert_eq!((made["version"].as_u64(), kept["version"].as_u64()), (Some(version), Some(version)));
        assert_eq!(made["made_from"]["features"].as_u64(), Some(2), "{made}");
        assert!(made["store_bytes"].as_u64().unwrap() * 10 < kept["store_bytes"].as_u64().unwrap(), "{made} {kept}");
        assert!(bench.ok("info seed.tow").contains("values of 2 features, whenever a block is read"));
        // The same problem, also out of core and by the index.
        let objective = |line: &str| -> f64 {
            let told: Value = serde_json::from_str(&bench.ok(line)).unwrap();
            assert!(told["relative_gap"].as_f64().unwrap() <= 1e-6, "{line}: {told}");
            told["objective"].as_f64().unwrap()
        };
        let line = |keep: &str, more: &str| format!("train {keep}.tow --tolerance 1e-6 --json -o {keep}.towm {more}");
        let expected = objective(&line("values", ""));
        for more in ["", "--memory +300k"] {
            let found = objective(&line("seed", more));
            assert!((found - expected).abs() <= 2e-6 * expected, "{more}: {found} {expected}");
        }
        let said =
            bench.run(&format!("pack {file} -o seed.tow --append --repeat --rff 150 --gamma 0.5 --rff-keep values"));
        assert!(said.code == Some(4) && said.stderr.contains("packed with --rff-keep seed"), "{}", said.stderr);
    }
}

#[test]
fn a_forged_store_of_made_features_is_refused() {
    let bench = Workbench::new();
    bench.file("a.svm", points(50, false));
    let not_made = "its rows are not those that the map makes";
    for (field, forged, expected) in [
        ("/features", json!(2000), not_made),
        ("/values", json!(1501), not_made),
        ("/layout/dense", json!(false), not_made),
        ("/named_features", json!(true), not_made),
        ("/fourier", json!(null), "it does not say what rows are mapped to"),
        ("/made_from/values", json!(77), "do not add up to the rows and values"),
    ] {
        bench.ok("pack a.svm -o a.tow -q --force --rff 30 --gamma 0.5 --rff-keep seed");
        forge::manifest(&bench.path("a.tow"), |manifest| *manifest.pointer_mut(field).unwrap() = forged);
        for verb in ["info a.tow", "verify a.tow", "train a.tow", "cat a.tow"] {
            let said = bench.run(verb);
            let words = said.stdout + &said.stderr;
            assert!(said.code == Some(1) && words.contains(expected), "{verb} {field}: {words}");
        }
    }
}

#[test]
fn rows_are_added_with_the_same_map_only() {
    let bench = Workbench::new();
    bench.file("a.svm", points(50, false));
    bench.ok("pack a.svm -o a.tow -q --rff 30 --gamma 0.5");
    bench.ok("pack a.svm -o a.tow -q --append --repeat --rff 30 --gamma 0.5");
    assert!(bench.ok("verify a.tow").contains("whole"));
    for options in ["", "--rff 30 --gamma 0.6", "--rff 31 --gamma 0.5", "--rff 30 --gamma 0.5 --rff-seed 1"] {
        let said = bench.run(&format!("pack a.svm -o a.tow -q --append --repeat {options}"));
        assert_eq!(said.code, Some(4), "{options}: {}", said.stderr);
        assert!(said.stderr.contains("append with the same --rff"), "{options}: {}", said.stderr);
    }
    for (options, message) in [
        ("--rff 0 --gamma 1", "--rff must be a number from 1"),
        ("--rff 10 --gamma 0", "--gamma must be a number from 1e-60"),
        ("--rff 10", "--gamma"),
        ("--gamma 1", "--rff"),
        ("--rff 10 --gamma 1 --scale rows", "cannot be used with"),
        ("--rff-keep seed", "--rff"),
        ("--rff 100000 --gamma 1 --memory 1M", "--memory"),
    ] {
        let said = bench.run(&format!("pack a.svm -o b.tow -q {options}"));
        assert!(matches!(said.code, Some(1..=3)), "{options}: {:?}", said.code);
        assert!(said.stderr.contains(message), "{options}: {}", said.stderr);
    }
}
