//! `towline path` as a user runs it, on the data that ships with the project.

use crate::workbench::{Workbench, shipped};
use serde_json::Value;

fn bench() -> Workbench {
    let bench = Workbench::new();
    bench.ok(&format!("pack {} -o a9a.tow -q --block-size 100k", shipped("a9a.zst")));
    bench
}

/// What the table says of a point.
fn cell<'a>(table: &'a str, point: usize, column: &str) -> &'a str {
    let head = table.lines().next().unwrap().split(',').position(|name| name == column);
    table.lines().nth(point + 1).unwrap().split(',').nth(head.unwrap()).unwrap()
}

const LINE: &str = "path a9a.tow --penalty l1 --loss logistic --lambda-ratio 0.01 --points 6 --memory +2M";

#[test]
fn a_path_has_a_model_and_a_line_per_point() {
    let bench = bench();
    let told: Value = serde_json::from_str(&bench.ok(&format!(
        "{} --json --test {}",
        LINE.replace("2M", "6M"),
        shipped("a9a.t.zst")
    )))
    .unwrap();
    let points = told["points"].as_array().unwrap();
    assert_eq!(points.len(), 6);
    assert_eq!(points[0]["weights"], 0);
    assert!(points[5]["weights"].as_u64().unwrap() > 20);
    let number = |k: usize, name: &str| points[k][name].as_f64().unwrap();
    assert!((number(5, "lambda") / number(0, "lambda") - 0.01).abs() < 1e-12);
    assert!(points[5]["test"]["accuracy"].as_f64().unwrap() > 0.84);
    // One scan to find the beginning, and what is read for all points together.
    let read = |point: &Value| point["bytes_read"].as_u64().unwrap();
    let most = points.iter().map(read).max().unwrap();
    assert!((most + 1..=points.iter().map(read).sum::<u64>()).contains(&told["bytes_read"].as_u64().unwrap()));

    // The last point is what train finds for its lambda.
    let alone = bench.ok(&format!(
        "train a9a.tow --penalty l1 --loss logistic --lambda {} -o x.towm --tolerance 1e-5 --json",
        number(5, "lambda")
    ));
    let alone: Value = serde_json::from_str(&alone).unwrap();
    let wanted = alone["objective"].as_f64().unwrap();
    assert!((number(5, "objective") - wanted).abs() <= 1.1e-3 * wanted);

    let table = std::fs::read_to_string(bench.path("a9a.path/path.csv")).unwrap();
    assert_eq!(table.lines().count(), 7);
    assert_eq!(cell(&table, 5, "lambda").parse::<f64>().unwrap(), number(5, "lambda"));
    assert!(bench.path("a9a.path").join(cell(&table, 5, "model")).exists());
    assert!(bench.ok("info a9a.path/6.towm").contains("l1 penalty"));
}

#[test]
fn an_interrupted_path_goes_on() {
    let bench = bench();
    let whole: Value = serde_json::from_str(&bench.ok(&format!("{LINE} -o whole --json"))).unwrap();
    bench.ok(&format!("{LINE} -o parts -q"));
    // As if it had been killed after the third point: later models are not there, its dual variables are.
    let lambda = whole["points"][2]["lambda"].as_f64().unwrap();
    bench.ok(&format!("train a9a.tow --penalty l1 --loss logistic --lambda {lambda} -o parts/path -q --restart"));
    for number in 4..=6 {
        std::fs::remove_file(bench.path(&format!("parts/{number}.towm"))).unwrap();
    }
    let before = std::fs::read(bench.path("parts/2.towm")).unwrap();
    let said = bench.run(&format!("{LINE} -o parts"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("going on after point 3 of 6"), "{}", said.stderr);
    assert_eq!(std::fs::read(bench.path("parts/2.towm")).unwrap(), before);
    let table = std::fs::read_to_string(bench.path("parts/path.csv")).unwrap();
    for (number, point) in whole["points"].as_array().unwrap().iter().enumerate() {
        let (found, wanted) = (cell(&table, number, "objective"), point["objective"].as_f64().unwrap());
        assert!((found.parse::<f64>().unwrap() - wanted).abs() <= 2e-3 * wanted, "{number}: {found} {wanted}");
    }
}

#[test]
fn a_list_of_lambdas_works_for_every_penalty() {
    let bench = bench();
    for penalty in ["l2", "l1", "elastic-net"] {
        let line =
            format!("path a9a.tow --penalty {penalty} --lambdas 10,1 --loss squared-hinge --json --restart -o p");
        let told: Value = serde_json::from_str(&bench.ok(&line)).unwrap();
        assert_eq!(told["points"].as_array().unwrap().len(), 2, "{penalty}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bench = bench();
    for (options, message) in [
        ("--penalty l2", "with the l2 penalty they never are; name --lambdas"),
        ("--penalty l1 --lambda 2", "--lambda is what changes along a path"),
        ("--penalty l1 --lambda-ratio 2", "--lambda-ratio must be a number between 0 and 1"),
        ("--penalty l1 --lambdas 1,0", "--lambdas must be a number above 0"),
        ("--penalty l1 --method sgd", "a path needs a method with dual variables"),
        ("--penalty l1 --warm-start x.towm", "leave --warm-start out"),
        ("--penalty l1 --points 0", "0 is not in 1..=10000"),
        ("--penalty l1 --points 3 --lambdas 1", "cannot be used with"),
        ("-C 0.1,1 --points 3", "along values of C or along lambdas, not both"),
        ("-C 0.1,1 --stream", "leave --stream out"),
        ("-C 0.1,1 --truncate 1", "leave --truncate out"),
        ("-C 0.1,1 --solver newton", "use multipliers"),
        ("-C 0.1,1 --method ibcd-l1-dual", "a path needs a method with dual variables"),
    ] {
        let said = bench.run(&format!("path a9a.tow {options}"));
        assert!(matches!(said.code, Some(1 | 2)), "{options}: {}", said.stderr);
        assert!(said.stderr.contains(message), "{options}: {}", said.stderr);
    }
}

/// Rows of three classes, each of which has features of its own, but for a row in nine.
fn three_classes() -> String {
    let row = |i: usize| {
        let class = (i * i + i / 3) % 3;
        let shown = if i.is_multiple_of(9) { (class + 1) % 3 } else { class };
        let (own, noise) = (1 + shown * 4 + i % 4, 13 + i * 7 % 11);
        format!("{} {own}:1 {noise}:{}\n", [3, 1, 20][class], 0.5 + (i % 5) as f64)
    };
    (0..20_000).map(row).collect()
}

#[test]
fn a_path_over_many_classes_has_the_models_of_train_and_goes_on() {
    let bench = Workbench::new();
    std::fs::write(bench.path("three.svm"), three_classes()).unwrap();
    bench.ok("pack three.svm -o three.tow -q --block-size 16k");
    for kind in ["ovr", "crammer-singer"] {
        // In memory, and out of it.
        for memory in ["64M", "+2M"] {
            let line = format!(
                "path three.tow -C 0.1,1,10 --multiclass {kind} --tolerance 1e-4 --memory {memory} -o {kind}{memory}"
            );
            let told: Value = serde_json::from_str(&bench.ok(&format!("{line} --json --test three.svm"))).unwrap();
            for (number, c) in ["0.1", "1", "10"].iter().enumerate() {
                let alone = bench.ok(&format!(
                    "train three.tow -C {c} --multiclass {kind} --tolerance 1e-4 -o one.towm --restart --json"
                ));
                let alone: Value = serde_json::from_str(&alone).unwrap();
                let point = &told["points"][number];
                let (found, wanted) = (point["objective"].as_f64().unwrap(), alone["objective"].as_f64().unwrap());
                assert!((found - wanted).abs() <= 2e-4 * wanted, "{kind} {memory} {c}: {found} {wanted}");
                assert_eq!(point["intercepts"].as_array().unwrap().len(), 3);
                assert!(point["test"]["accuracy"].as_f64().unwrap() > 0.8, "{point}");
            }
            // As if it had been killed before the last point: the dual variables of the second are there.
            let folder = format!("{kind}{memory}");
            std::fs::remove_file(bench.path(&format!("{folder}/3.towm"))).unwrap();
            bench.ok(&format!("train three.tow -C 1 --multiclass {kind} -o {folder}/path -q --restart"));
            assert!(bench.path(&format!("{folder}/path.duals")).exists(), "{kind}");
            let said = bench.run(&line);
            assert_eq!(said.code, Some(0), "{}", said.stderr);
            assert!(said.stderr.contains("going on after point 2 of 3"), "{}", said.stderr);
            assert!(bench.path(&format!("{folder}/3.towm")).exists());
        }
    }
    let said = bench.run("path three.tow --penalty l1 --loss logistic");
    assert!(said.stderr.contains("name --lambdas, or several values of -C"), "{}", said.stderr);
    bench.ok("path three.tow --penalty l1 --loss logistic --lambdas 10,1 -o lambdas -q");
}

#[test]
fn several_targets_have_a_path() {
    let bench = Workbench::new();
    let row = |i: usize| format!("{},{} {}:1 {}:2\n", i % 7, (i % 3) as f64 - 0.5, 1 + i % 7, 8 + i % 3);
    std::fs::write(bench.path("two.svm"), (0..300).map(row).collect::<String>()).unwrap();
    bench.ok("pack two.svm -o two.tow -q --block-size 2k");
    let line = "path two.tow --loss squared --penalty group --lambdas 100,1 --tolerance 1e-5 --json";
    let told: Value = serde_json::from_str(&bench.ok(line)).unwrap();
    let alone = bench.ok("train two.tow --loss squared --penalty group --lambda 1 --tolerance 1e-5 -o one.towm --json");
    let alone: Value = serde_json::from_str(&alone).unwrap();
    let (found, wanted) = (told["points"][1]["objective"].as_f64().unwrap(), alone["objective"].as_f64().unwrap());
    assert!((found - wanted).abs() <= 3e-5 * wanted, "{found} {wanted}");
}

#[test]
fn a_path_along_c_has_the_model_of_each() {
    let bench = bench();
    bench.ok("path a9a.tow -C 0.1,1 --tolerance 1e-5 --memory 64M -o c.path -q");
    let alone = bench.ok("train a9a.tow -C 1 --tolerance 1e-5 --memory 64M -o one.towm --json");
    let alone: serde_json::Value = serde_json::from_str(&alone).unwrap();
    let table = std::fs::read_to_string(bench.path("c.path/path.csv")).unwrap();
    let last: Vec<&str> = table.lines().last().unwrap().split(',').collect();
    assert_eq!((table.lines().count(), last[1]), (3, "1"));
    let (found, wanted) = (last[4].parse::<f64>().unwrap(), alone["objective"].as_f64().unwrap());
    assert!((found - wanted).abs() <= 2e-5 * wanted, "{found} {wanted}");
}

#[test]
fn what_a_killed_run_left_in_the_folder_is_removed() {
    let bench = bench();
    let line = format!("{LINE} -o points -q");
    bench.ok(&line);
    for name in [".path.duals.0123456789abcdef.towline-new", ".path.csv.0123456789abcdef.towline-new"] {
        bench.file(&format!("points/{name}"), "half");
    }
    bench.file("points/.notes.0123456789abcdef.towline-new", "mine");
    bench.ok(&line);
    let left = |name: &str| bench.path(&format!("points/{name}")).exists();
    assert!(!left(".path.duals.0123456789abcdef.towline-new") && !left(".path.csv.0123456789abcdef.towline-new"));
    assert!(left(".notes.0123456789abcdef.towline-new"), "what is not of a path stays");
}

#[test]
fn a_dense_table_has_the_same_path_with_one_and_two_threads() {
    let bench = Workbench::new();
    let (mut state, mut text) = (1u64, String::from("y,a,b,c,d,e,f,g,h\n"));
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64 - 0.5
    };
    for _ in 0..6000 {
        let row: Vec<f64> = (0..8).map(|_| draw()).collect();
        let y = row[0] - 2.0 * row[1] + 0.2 * draw() > 0.3;
        let cells: Vec<String> = row.iter().map(|cell| format!("{cell:.5}")).collect();
        text += &format!("{},{}\n", u8::from(y), cells.join(","));
    }
    bench.file("t.csv", text);
    // Rows are many for the blocks and for what is resident at a time.
    bench.ok("pack t.csv -o t.tow -q --label y --block-size 10k");
    let points = |threads: usize, memory: &str| -> Vec<(f64, f64, u64)> {
        let line = format!(
            "path t.tow --penalty l1 --loss logistic --intercept --points 3 --threads {threads} --memory {memory} \
             --tolerance 1e-6 -o p{threads}{memory} --json -q"
        );
        let told: Value = serde_json::from_str(&bench.ok(&line)).unwrap();
        let point = |point: &Value| {
            let number = |name: &str| point[name].as_f64().unwrap();
            (number("lambda"), number("objective"), point["weights"].as_u64().unwrap())
        };
        told["points"].as_array().unwrap().iter().map(point).collect()
    };
    let one = points(1, "256M");
    assert!(one.len() == 3 && one[2].2 >= 2, "{one:?}");
    for (threads, memory) in [(2, "256M"), (2, "+2M")] {
        let two = points(threads, memory);
        let is_same = |(a, b): (&(f64, f64, u64), &(f64, f64, u64))| {
            (a.0 / b.0 - 1.0).abs() < 1e-9 && (a.1 / b.1 - 1.0).abs() < 2e-6
        };
        assert!(one.iter().zip(&two).all(is_same) && two.len() == 3, "{one:?} {two:?}");
    }
}
