//! `towline pack --rff`: a circle that no linear model can tell apart, and one that it can.
mod workbench;

use serde_json::Value;
use workbench::Workbench;

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
    for (file, csv) in [("points.svm", false), ("points.csv", true)] {
        let bench = Workbench::new();
        bench.file(file, points(600, csv));
        bench.file(&format!("test-{file}"), points(300, csv));
        bench.ok(&format!("pack {file} -o raw.tow -q"));
        bench.ok(&format!("pack {file} -o rff.tow -q --rff 200 --gamma 1 --rff-seed 7 --block-size 50k"));
        bench.ok(&format!("pack test-{file} -o test.tow -q --rff 200 --gamma 1 --rff-seed 7"));
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
fn rows_are_added_with_the_same_map_only() {
    let bench = Workbench::new();
    bench.file("a.svm", points(50, false));
    bench.ok("pack a.svm -o a.tow -q --rff 30 --gamma 0.5");
    bench.ok("pack a.svm -o a.tow -q --append --rff 30 --gamma 0.5");
    assert!(bench.ok("verify a.tow").contains("whole"));
    for options in ["", "--rff 30 --gamma 0.6", "--rff 31 --gamma 0.5", "--rff 30 --gamma 0.5 --rff-seed 1"] {
        let said = bench.run(&format!("pack a.svm -o a.tow -q --append {options}"));
        assert_eq!(said.code, Some(4), "{options}: {}", said.stderr);
        assert!(said.stderr.contains("append with the same --rff"), "{options}: {}", said.stderr);
    }
    for (options, message) in [
        ("--rff 0 --gamma 1", "--rff must be a number from 1"),
        ("--rff 10 --gamma 0", "--gamma must be a number above 0"),
        ("--rff 10", "--gamma"),
        ("--gamma 1", "--rff"),
        ("--rff 10 --gamma 1 --scale rows", "cannot be used with"),
        ("--rff 100000 --gamma 1 --memory 1M", "--memory"),
    ] {
        let said = bench.run(&format!("pack a.svm -o b.tow -q {options}"));
        assert!(matches!(said.code, Some(1..=3)), "{options}: {:?}", said.code);
        assert!(said.stderr.contains(message), "{options}: {}", said.stderr);
    }
}
