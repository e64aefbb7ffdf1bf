//! `towline index`, and training with `--truncate`, as a user runs them.

use crate::workbench::random::Random;
use crate::workbench::{Said, Workbench, shipped};
use serde_json::Value;

/// Two clouds of points in ten dimensions, some of them with the wrong label.
fn clouds(rows: usize, seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = String::new();
    for _ in 0..rows {
        let side = if random.below(2) == 0 { 1.0 } else { -1.0 };
        let label = if random.below(10) == 0 { -side } else { side };
        text += &format!("{label}");
        for j in 1..=10 {
            let value = if j == 1 { side * random.fraction() } else { random.fraction() - 0.5 };
            text += &format!(" {j}:{:.4}", value + 0.00001);
        }
        text.push('\n');
    }
    text
}

fn bench() -> Workbench {
    let bench = Workbench::new();
    bench.file("rows.svm", clouds(3000, 1));
    bench.file("test.svm", clouds(1000, 2));
    bench.ok("pack rows.svm -o rows.tow -q");
    bench
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("no JSON: {} {}", said.stdout, said.stderr))
}

#[test]
fn an_index_is_built_shown_verified_and_used() {
    let bench = bench();
    assert!(!bench.ok("info rows.tow").contains("index"));
    let said = bench.run("train rows.tow --method ibcd-l1-dual");
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("it has no index; build it with 'towline index rows.tow'"), "{}", said.stderr);
    let built: Value = serde_json::from_str(&bench.ok("index rows.tow --tree-rows 1000 --fan-out 4 --json")).unwrap();
    assert_eq!((built["trees"].as_u64(), built["fan_out"].as_u64()), (Some(3), Some(4)));
    assert!(bench.ok("info rows.tow").contains("index       3 trees"));
    assert!(bench.ok("verify rows.tow").contains("; index, "));
    let said = bench.run("train rows.tow --truncate 1 --query-rows 100 --init-rows 200 --test test.svm -o auto.towm");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("note: using the index"), "{}", said.stderr);
    assert!(bench.ok("info auto.towm").contains("hinge loss cut off at 2, C = 1"));
    let info: Value = serde_json::from_str(&bench.ok("info auto.towm --json")).unwrap();
    assert_eq!(info["objective"]["truncate"], 1.0);
}

#[test]
fn methods_with_and_without_an_index_agree() {
    let bench = bench();
    bench.ok("index rows.tow -q");
    for loss in ["l1-dual", "l2-dual", "l2-primal"] {
        let objective = |method: &str| {
            let line = format!(
                "train rows.tow --method {method}-{loss} --init-rows 500 --tolerance 1e-5 --test test.svm -o {method}.towm --json"
            );
            let said = bench.run(&line);
            assert_eq!(said.code, Some(0), "{method}-{loss}: {}", said.stderr);
            let run = json(&said);
            assert!(run["test"]["accuracy"].as_f64().unwrap() > 0.85, "{method}-{loss}: {run}");
            run["objective"].as_f64().unwrap()
        };
        let (with, without) = (objective("ibcd"), objective("trunc"));
        assert!((with - without).abs() < 0.01 * without, "{loss}: {with} and {without}");
    }
}

#[test]
fn an_index_of_fewer_rows_is_ignored_or_refused() {
    let bench = bench();
    bench.ok("index rows.tow -q");
    bench.file("more.svm", clouds(100, 3));
    bench.ok("pack more.svm -o rows.tow --append -q");
    assert!(bench.ok("info rows.tow").contains("out of date (generation 1)"));
    bench.ok("verify rows.tow");
    let said = bench.run("train rows.tow --truncate 1 --init-rows 200 -o m.towm");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("note: the index is out of date"), "{}", said.stderr);
    for flag in ["--quiet", "--json"] {
        let said = bench.run(&format!("train rows.tow --truncate 1 --init-rows 200 -o m.towm --restart {flag}"));
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{flag}");
        assert_eq!(said.stdout.is_empty(), flag == "--quiet");
    }
    let said = bench.run("train rows.tow --method ibcd-l1-dual -o m.towm");
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("generation 1 with 3000 rows"), "{}", said.stderr);
    bench.ok("index rows.tow -q");
    bench.ok("train rows.tow --method ibcd-l1-dual --init-rows 200 -o m.towm -q");
}

#[test]
fn a_damaged_index_is_found_and_the_rows_are_whole() {
    let bench = bench();
    bench.ok("index rows.tow -q");
    let path = bench.path("rows.tow/index/pages.dat");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    let said = bench.run("verify rows.tow");
    assert_eq!(said.code, Some(1));
    assert!(said.stdout.contains("the index is damaged: page "), "{}", said.stdout);
    assert!(said.stderr.contains("the rows are whole"), "{}", said.stderr);
    bench.ok("index rows.tow -q");
    bench.ok("verify rows.tow");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let bench = bench();
    bench.ok("index rows.tow -q");
    for (line, words) in [
        ("--truncate -1", "--truncate must be a number that is 0 or more"),
        ("--truncate 1 --loss squared", "--truncate is for hinge, squared-hinge and logistic"),
        ("--truncate 1 --penalty l1", "penalty l2"),
        ("--truncate 1 --method sgd", "--truncate is for exact training"),
        ("--method ibcd-l1-dual --loss logistic", "this method has the hinge loss"),
        ("--method ibcd-l1-dual --cache-share 0.3", "--cache-share means nothing to training with an index"),
        ("--method trunc-l1-dual --query-rows 5", "--query-rows is for training with an index"),
        ("--init-rows 5", "--init-rows is for truncated losses"),
        ("--solver newton", "use multipliers"),
        ("--solver newton --loss logistic --order shrinking", "--order is for --solver dual"),
        ("--solver newton --loss logistic --method bmd", "leave --method out"),
        ("--solver newton --loss logistic --truncate 1 --intercept", "no intercept"),
        ("--method trunc-l2-dual --solver newton", "leave --solver out"),
    ] {
        let said = bench.run(&format!("train rows.tow {line} -o m.towm"));
        assert_ne!(said.code, Some(0), "{line}");
        assert!(said.stderr.contains(words), "{line}: {}", said.stderr);
        assert!(!bench.path("m.towm").exists(), "{line}");
    }
}

#[test]
fn newton_reaches_the_optimum_of_a9a() {
    let bench = Workbench::new();
    bench.ok(&format!("pack {} -o a9a.tow -q --block-size 200k", shipped("a9a.zst")));
    for memory in ["1G", "+4M"] {
        let said = bench.run(&format!(
            "train a9a.tow --loss logistic --solver newton --tolerance 1e-7 --memory {memory} -o m.towm --json --restart"
        ));
        let run = json(&said);
        // What LIBLINEAR, scikit-learn and others agree on.
        assert!((run["objective"].as_f64().unwrap() - 10529.5626).abs() < 0.01, "{run}");
    }
}

#[test]
fn a_run_with_an_index_goes_on_and_starts_others() {
    let bench = bench();
    bench.ok("index rows.tow -q");
    for (how, limit) in
        [("--method ibcd-l1-dual", 1), ("--method ibcd-l2-primal", 1), ("--solver dual --loss logistic", 2)]
    {
        let line = format!("train rows.tow {how} --tolerance 1e-6 -o m.towm");
        let whole = json(&bench.run(&format!("{line} --restart --json")));
        let said = bench.run(&format!("{line} --restart --max-passes {limit}"));
        // The first model alone may be good enough.
        assert!(matches!(said.code, Some(0 | 5)), "{how}: {}", said.stdout);
        let said = bench.run(&line);
        assert!(said.stderr.contains("note: going on from m.towm.duals"), "{how}: {}", said.stderr);
        assert_eq!(said.code, Some(0), "{how}: {}", said.stdout);
        // What is solved already takes next to nothing, and ends at the same objective.
        let again = json(&bench.run(&format!("{line} --json")));
        let (a, b) = (again["objective"].as_f64().unwrap(), whole["objective"].as_f64().unwrap());
        assert!((a - b).abs() < 0.01 * b, "{how}: {a} and {b}");
        assert!(again["sweeps"].as_u64().unwrap() < whole["sweeps"].as_u64().unwrap(), "{how}: {again} {whole}");
        bench.ok(&format!("train rows.tow {how} -C 2 --warm-start m.towm -o n.towm -q"));
    }
}

#[test]
fn an_index_of_odd_stores_is_built_or_refused_in_words() {
    let bench = Workbench::new();
    for (line, code, words) in [
        ("index none.tow", 1, "none.tow"),
        ("index none.tow --tree-rows 0", 2, "--tree-rows"),
        ("index none.tow --fan-out 1", 2, "--fan-out"),
    ] {
        let said = bench.run(line);
        assert_eq!(said.code, Some(code), "{line}: {}", said.stderr);
        assert!(said.stderr.contains(words), "{line}: {}", said.stderr);
    }
    // Empty rows, rows of zeros, all rows the same, a single row, and one class only.
    let same = "1 1:1 2:0.5\n-1 1:1 2:0.5\n".repeat(400);
    let odd = [("empty", "1\n-1 2:1\n-1\n1 1:0\n".repeat(300)), ("same", same), ("few", "1 1:1\n-1 1:2\n".to_string())];
    for (name, text) in odd {
        bench.file(&format!("{name}.svm"), text);
        bench.ok(&format!("pack {name}.svm -o {name}.tow -q"));
        bench.ok(&format!("index {name}.tow -q --tree-rows 7 --fan-out 2"));
        bench.ok(&format!("verify {name}.tow -q"));
        for more in ["--query-rows 1", "--query-rows 18446744073709551615", "--truncate 0", "--bias 1"] {
            bench.ok(&format!("train {name}.tow --method ibcd-l1-dual --init-rows 3 -o m.towm -q --restart {more}"));
        }
    }
    bench.file("one.svm", "1 1:1\n1 1:2\n");
    bench.ok("pack one.svm -o one.tow -q");
    bench.ok("index one.tow -q");
    let said = bench.run("train one.tow --method ibcd-l1-dual -o m.towm");
    assert!(said.code == Some(4) || said.code == Some(1), "{said:?}");
    assert!(!said.stderr.contains("panicked"), "{}", said.stderr);
    bench.file("rows.svm", clouds(3000, 1));
    bench.ok("pack rows.svm -o rows.tow -q --block-size 20k");
    let said = bench.run("index rows.tow --memory 100K");
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(!bench.path("rows.tow/index").exists() && !bench.path("rows.tow/index.partial").exists());
    bench.ok("index rows.tow -q --memory +4M");
    let said = bench.run("train rows.tow --method ibcd-l1-dual --memory 100K -o m.towm");
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    bench.ok("train rows.tow --method ibcd-l1-dual --memory +3M --init-rows 200 -o m.towm -q --restart");
    // A block of the store is damaged: no index is left behind.
    let block = std::fs::read_dir(bench.path("rows.tow/blocks")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&block).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&block, bytes).unwrap();
    let said = bench.run("index rows.tow");
    assert_ne!(said.code, Some(0));
    assert!(said.stderr.contains("rows.tow") && !bench.path("rows.tow/index.partial").exists(), "{}", said.stderr);
}
