//! Several targets a row, and several outputs with other penalties, as a user sees them.

use std::path::Path;

use crate::workbench::Workbench;
use serde_json::Value;

/// An extract of covtype as `rows.svm`, and packed in several blocks: four numbers to predict, or seven classes.
fn covtype(name: &str) -> Workbench {
    let bench = Workbench::new();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../towline/tests/data/{name}.svm.zst"));
    let rows = zstd::decode_all(&std::fs::read(packed).unwrap()[..]).unwrap();
    bench.file("rows.svm", String::from_utf8(rows).unwrap());
    bench.ok("pack rows.svm -o rows.tow --block-size 16K -q");
    bench
}

fn json(bench: &Workbench, line: &str) -> Value {
    serde_json::from_str(&bench.ok(line)).unwrap()
}

/// The same rows as a table with names, in which targets are columns like others.
const TABLE: &str = "size,colour,price,rating\n1,red,2.5,3\n2,blue,4,1\n3,red,6.5,4\n4,blue,8,2\n5,red,10.5,5\n";

#[test]
fn every_penalty_trains_predicts_and_is_judged() {
    let bench = covtype("covtype-targets");
    for (penalty, memory) in [
        ("nuclear", "64M"),
        ("nuclear", "+160K"),
        ("l2", "+160K"),
        ("l1", "+160K"),
        ("elastic-net", "64M"),
        ("group", "+160K"),
    ] {
        let line = format!(
            "train rows.tow --loss squared --penalty {penalty} --lambda 0.5 --intercept --tolerance 1e-5 --memory {memory} --restart -o m.towm --json"
        );
        let run = json(&bench, &line);
        assert!(run["relative_gap"].as_f64().unwrap() <= 1e-5, "{penalty}: {run}");
        assert_eq!(run["passes"].as_u64() == Some(1), memory == "64M", "{run}");
        let judged = json(&bench, "eval m.towm rows.svm --json");
        let r2 = judged["r2"].as_f64().unwrap();
        assert!(r2 > 0.25, "{penalty}: {judged}");
        assert_eq!(judged["targets"].as_array().unwrap().len(), 4);
        // Predictions, the judgement of the file and that of the store say the same.
        assert_eq!(json(&bench, "eval m.towm rows.tow --json")["r2"].as_f64().map(|r2| r2 as f32), Some(r2 as f32));
        let predicted = bench.ok("predict m.towm rows.svm");
        // A store has the order of its input; sums of its rows are made in another order.
        let again = bench.ok("predict m.towm rows.tow");
        let parse =
            |text: &str| -> Vec<f64> { text.split_whitespace().map(|number| number.parse().unwrap()).collect() };
        assert!(parse(&predicted).iter().zip(parse(&again)).all(|(a, b)| (a - b).abs() < 1e-12));
        let truth = std::fs::read_to_string(bench.path("rows.svm")).unwrap();
        let mut squared = 0.0;
        for (line, row) in predicted.lines().zip(truth.lines()) {
            let numbers: Vec<f64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
            let targets = row.split(' ').next().unwrap().split(',').map(|number| number.parse::<f64>().unwrap());
            assert_eq!(numbers.len(), 4);
            squared += numbers.iter().zip(targets).map(|(p, y)| (p - y) * (p - y)).sum::<f64>();
        }
        let rmse = (squared / (4.0 * 700.0)).sqrt();
        assert!((judged["rmse"].as_f64().unwrap() - rmse).abs() < 1e-9, "{rmse} {judged}");
    }
    assert!(bench.ok("info m.towm").contains("4 numbers: 1, 2, 3, 4"));
    assert!(bench.ok("eval m.towm rows.svm").contains("mean R²"));
    let exported: Value = serde_json::from_str(&bench.ok("export m.towm --to json")).unwrap();
    assert_eq!(exported["objective"]["targets"]["several"]["names"].as_array().unwrap().len(), 4, "{exported}");
    let refused = bench.run("export m.towm --to liblinear");
    assert!(refused.code == Some(1) && refused.stderr.contains("several targets"), "{}", refused.stderr);
}

#[test]
fn one_target_at_a_time_is_the_same_with_the_penalty_l2() {
    let bench = covtype("covtype-targets");
    let whole = json(&bench, "train rows.tow --loss squared --tolerance 1e-8 -o m.towm --json");
    let rows = std::fs::read_to_string(bench.path("rows.svm")).unwrap();
    let mut sum = 0.0;
    for target in 0..4 {
        let one = |row: &str| {
            let (label, rest) = row.split_once(' ').unwrap();
            format!("{} {rest}\n", label.split(',').nth(target).unwrap())
        };
        bench.file("one.svm", rows.lines().map(one).collect::<String>());
        bench.ok("pack one.svm -o one.tow -q --force");
        let run = json(&bench, "train one.tow --loss squared --tolerance 1e-8 -o one.towm --restart --json");
        sum += run["objective"].as_f64().unwrap();
        let alone = bench.ok("predict one.towm one.svm");
        let together = bench.ok("predict m.towm rows.svm");
        for (a, b) in alone.lines().zip(together.lines()) {
            let (a, b): (f64, f64) = (a.parse().unwrap(), b.split(' ').nth(target).unwrap().parse().unwrap());
            assert!((a - b).abs() < 1e-3, "{a} {b}");
        }
    }
    let found = whole["objective"].as_f64().unwrap();
    assert!((found - sum).abs() <= 1e-7 * sum, "{found} {sum}");
}

#[test]
fn columns_of_tables_are_targets_by_name() {
    let bench = Workbench::new();
    bench.file("t.csv", TABLE);
    bench.ok("pack t.csv -o t.tow -q --label rating,price --keep-order --scale none");
    let info = bench.ok("info t.tow");
    assert!(info.contains("rating: 1 to 5, mean 3") && info.contains("price: 2.5 to 10.5"), "{info}");
    assert!(bench.ok("cat t.tow").starts_with("3,2.5 size:1"), "{}", bench.ok("cat t.tow"));
    bench.ok("verify t.tow");
    bench.ok("train t.tow --loss squared --penalty nuclear --lambda 0.5 --intercept -o t.towm -q");
    assert!(bench.ok("info t.towm").contains("2 numbers: rating, price"));
    assert!(bench.ok("eval t.towm t.csv --label rating,price").contains("price"));
    // Rows to predict need no targets.
    bench.file("new.csv", "size,colour\n2,red\n");
    assert_eq!(bench.ok("predict t.towm new.csv").split(' ').count(), 2);
    // More rows, with the same targets only.
    bench.ok("pack t.csv -o t.tow -q --append --repeat --label rating,price");
    for label in ["price,rating", "price", "rating,price,size"] {
        let refused = bench.run(&format!("pack t.csv -o t.tow -q --append --repeat --label {label}"));
        assert!(refused.code != Some(0) && refused.stderr.contains("target"), "{}", refused.stderr);
    }
}

#[test]
fn rows_that_do_not_fit_are_refused_with_their_place() {
    let bench = Workbench::new();
    let refused = |line: &str, parts: &[&str]| {
        let said = bench.run(line);
        assert!(said.code != Some(0), "{line}");
        parts.iter().for_each(|part| assert!(said.stderr.contains(part), "{line}: {}", said.stderr));
    };
    bench.file("a.svm", "1,2 1:1\n\n# more\n1,2,3 1:1\n");
    refused("pack a.svm -o a.tow", &["a.svm:4:1", "3 targets", "have 2"]);
    // Far apart, so that different pieces of the text are parsed by different threads.
    let many: String = (0..60_000).map(|i| format!("{i},1 {}:1\n", i % 50 + 1)).collect();
    bench.file("b.svm", format!("{many}7 1:1\n"));
    refused("pack b.svm -o b.tow --memory +8M", &["b.svm:60001:1", "1 target,"]);
    bench.file("c.svm", "1 1:1\n");
    bench.file("d.svm", "1,2 1:1\n");
    refused("pack c.svm d.svm -o e.tow", &["d.svm:1:1", "2 targets"]);
    bench.file("t.csv", TABLE);
    refused("pack t.csv -o t.tow --label price,colour", &["column of targets 'colour' holds text"]);
    refused("pack t.csv -o t.tow --label price,weight", &["no column 'weight'"]);
    refused("pack t.csv -o t.tow --label price,price", &["cannot be both"]);
    bench.file("gap.csv", "a,b,c\n1,2,3\n4,,6\n");
    refused("pack gap.csv -o g.tow --label a,b", &["gap.csv:3", "no label in column 'b'"]);
    bench.ok("pack gap.csv -o g.tow --label a,b --unlabelled skip -q --scale none");
    assert_eq!(bench.ok("cat g.tow"), "1,2 c:3\n");
}

#[test]
fn what_is_for_one_output_says_so() {
    let bench = covtype("covtype-targets");
    for (line, said) in [
        ("train rows.tow --loss hinge", "--loss squared predicts together"),
        ("train rows.tow --loss huber", "--loss squared predicts together"),
        ("train rows.tow --loss squared --solver newton", "use gram"),
        ("train rows.tow --loss squared --penalty l1 --solver columns", "is for one output, and there are"),
        ("train rows.tow --loss squared --method sgd", "predicts one number"),
        ("train rows.tow --loss squared --method admm", "predicts one number"),
        ("path rows.tow --loss squared --penalty l1", "is found for one output"),
        ("train rows.svm --stream --loss squared", "a stream is for one"),
        ("train rows.tow --loss squared --penalty nuclear --groups x", "--groups is for --penalty group"),
    ] {
        let refused = bench.run(line);
        assert!(refused.code != Some(0) && refused.stderr.contains(said), "{line}: {}", refused.stderr);
    }
    // Several targets are a regression, whatever else is typed.
    bench.ok("train rows.tow -q");
    let classes = covtype("covtype-classes");
    for (line, said) in [
        ("train rows.tow --penalty nuclear", "--multiclass softmax"),
        ("train rows.tow --multiclass crammer-singer --penalty l1", "--multiclass softmax"),
        ("train rows.tow --multiclass softmax --solver gram", "use newton"),
        ("train rows.tow --multiclass crammer-singer --solver newton", "use multipliers"),
    ] {
        let refused = classes.run(line);
        assert!(refused.code != Some(0) && refused.stderr.contains(said), "{line}: {}", refused.stderr);
    }
    let refused = classes.run("train rows.tow --multiclass softmax --penalty nuclear --memory 20K");
    assert!(refused.code == Some(3) && refused.stderr.contains("too small"), "{}", refused.stderr);
}

#[test]
fn runs_go_on_and_folds_are_scored() {
    for (name, loss) in [("covtype-targets", "--loss squared"), ("covtype-classes", "--multiclass softmax")] {
        let bench = covtype(name);
        let line =
            format!("train rows.tow {loss} --penalty nuclear --lambda 3 --intercept --memory +200K -o m.towm --json");
        let short = bench.run(&format!("{line} --tolerance 1e-4 --max-passes 3"));
        assert_eq!(short.code, Some(5), "{}", short.stderr);
        let on = json(&bench, &format!("{line} --tolerance 1e-4"));
        let anew = json(&bench, &format!("{line} --tolerance 1e-4 --restart"));
        let (a, b) = (on["objective"].as_f64().unwrap(), anew["objective"].as_f64().unwrap());
        assert!((a - b).abs() <= 2e-4 * b, "{a} {b}");
        assert!(on["passes"].as_u64() < anew["passes"].as_u64(), "{on} {anew}");
        let warm = json(&bench, &format!("{line} --warm-start m.towm -C 1.1 --tolerance 1e-3"));
        assert!(warm["relative_gap"].as_f64().unwrap() <= 1e-3);
        let folds =
            json(&bench, &format!("cv rows.tow {loss} --penalty nuclear --folds 3 -C 0.1,1 --memory 64M --json"));
        assert_eq!(folds["points"].as_array().map(Vec::len), Some(2), "{folds}");
    }
}
