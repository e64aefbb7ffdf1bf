//! `--memory` is the whole process: every verb ends within the least budget that it names and within more, and says so
//! where there is less.

use crate::workbench::random::Random;
use crate::workbench::{Workbench, shipped};

const MIB: u64 = 1 << 20;

/// A budget with which it was refused, in the words of the refusal, in MiB.
fn advice(stderr: &str) -> u64 {
    let (_, rest) = stderr.split_once("use --memory ").unwrap_or_else(|| panic!("no advice in: {stderr}"));
    rest.split_once('M').unwrap().0.parse().unwrap()
}

/// Runs with the least budget that works, by the program's own words, with 1.5 and with 4 times as much, and with 0.8
/// of it.
fn check(bench: &Workbench, arguments: &str) {
    let least = check_enough(bench, arguments);
    let refused = bench.run(&format!("{arguments} --memory {}", least * MIB * 4 / 5));
    assert_eq!(refused.code, Some(3), "{arguments} with 0.8 of {least} MiB: {}", refused.stderr);
}

/// The same without the last one: where the need is a guess, less may do. Returns the least budget in MiB.
fn check_enough(bench: &Workbench, arguments: &str) -> u64 {
    let refused = bench.run(&format!("{arguments} --memory 1M"));
    assert_eq!(refused.code, Some(3), "{arguments}: {}", refused.stderr);
    let least = advice(&refused.stderr);
    for mebibytes in [least, least + least / 2, 4 * least] {
        let (said, peak) = bench.watched(&format!("{arguments} --memory {mebibytes}M"));
        assert!(matches!(said.code, Some(0 | 5)), "{arguments} with {mebibytes} MiB: {}", said.stderr);
        println!("{arguments}: a budget of {mebibytes} MiB, a peak of {:.1} MiB", peak as f64 / MIB as f64);
        assert!(peak > 0 && peak <= mebibytes * MIB, "{arguments}: {peak} bytes with a budget of {mebibytes} MiB");
    }
    least
}

fn packed() -> Workbench {
    let bench = Workbench::new();
    bench.ok(&format!("pack {} -o a9a.tow -q", shipped("a9a.zst")));
    bench
}

#[test]
fn packing() {
    let bench = Workbench::new();
    for name in ["a9a.zst", "covtype.zst"] {
        check(&bench, &format!("pack {} -o out.tow --force -q --threads 2", shipped(name)));
    }
    check(&bench, &format!("pack {} -o out.tow --force -q --threads 2 --label label", shipped("breast-cancer.csv")));
}

#[test]
fn training_one_model() {
    let bench = packed();
    for options in [
        "",
        "--solver dual --method bmd",
        "--loss logistic",
        "--loss squared-hinge --solver dual",
        "--penalty l1 --loss logistic",
        "--penalty elastic-net --lambda 1 --solver dual",
    ] {
        check(&bench, &format!("train a9a.tow -o m.towm --restart --max-passes 4 -q {options}"));
    }
    for method in ["sgd", "pegasos", "admm --penalty l1 --loss logistic"] {
        check(&bench, &format!("train a9a.tow -o m.towm --max-passes 2 -q --method {method}"));
    }
}

#[test]
fn training_many_models() {
    let bench = Workbench::new();
    // The weights of all classes are much more than the rows.
    let mut random = Random(7);
    let mut text = String::new();
    for i in 0..4000 {
        text += &format!("{}", i % 20);
        (0..15).for_each(|k| text += &format!(" {}:1", 2000 * k + random.below(2000) + 1));
        text.push('\n');
    }
    bench.file("classes.svm", text);
    bench.ok("pack classes.svm -o classes.tow -q --block-size 256k");
    for options in [
        "",
        "--loss logistic",
        "--loss squared-hinge --solver newton",
        "--solver dual",
        "--multiclass crammer-singer",
        "--multiclass softmax",
    ] {
        check(&bench, &format!("train classes.tow -o m.towm --restart --max-passes 3 -q {options}"));
    }
}

#[test]
fn comparing_and_indexing() {
    let bench = packed();
    check(&bench, "cv a9a.tow -C 1,10 --folds 3 --tolerance 0.01 -q");
    check(&bench, "path a9a.tow --penalty l1 --loss squared --points 4 --tolerance 0.01 -q --restart -o p");
    check(&bench, "index a9a.tow -q");
    check(&bench, "train a9a.tow --truncate 1 -o t.towm --restart -q --tolerance 0.01");
}

/// A table with names, and blocks that are much larger than these.
fn table() -> String {
    let mut random = Random(11);
    let mut text = "a,b,c,d,e,f,g,h,i,j,k,l,y\n".to_string();
    for i in 0..60_000 {
        (0..12).for_each(|_| text += &format!("{},", random.below(1000)));
        text += &format!("{}\n", i % 3);
    }
    text
}

#[test]
fn tables_with_names() {
    let bench = Workbench::new();
    bench.file("t.csv", table());
    bench.ok("pack t.csv -o t.tow -q --label y");
    check(&bench, "cat t.tow");
    check(&bench, "index t.tow -q --tree-rows 256");
    check(&bench, "train t.tow --positive 1 --truncate 1 -o t.towm --restart -q --max-time 5 -C 1e-9");
    check(&bench, "train t.csv --stream --positive 1 -o s.towm -q --threads 2 --label y");
}

#[test]
fn streams_whose_features_grow() {
    let bench = Workbench::new();
    let mut random = Random(5);
    for (name, features) in [("few.svm", 2000), ("many.svm", 200_000)] {
        let mut text = String::new();
        for i in 0..20_000 {
            text += &format!("{}", i % 4);
            (0..10).for_each(|k| text += &format!(" {}:1", features * k + random.below(features) + 1));
            text.push('\n');
        }
        bench.file(name, text);
        for options in ["--positive 1", "", "--loss logistic"] {
            check_enough(&bench, &format!("train {name} --stream -o s.towm -q --threads 2 {options}"));
        }
    }
}

#[test]
fn reading_and_predicting() {
    let bench = packed();
    bench.ok("train a9a.tow -o m.towm -q");
    let test = shipped("a9a.t.zst");
    bench.file("rows.svm", zstd::decode_all(&std::fs::read(shipped("a9a.zst")).unwrap()[..]).unwrap());
    for line in [
        "verify a9a.tow -q".to_string(),
        "cat a9a.tow".to_string(),
        "plan a9a.tow".to_string(),
        format!("predict m.towm {test}"),
        "predict m.towm a9a.tow".to_string(),
        format!("eval m.towm {test}"),
        "eval m.towm a9a.tow".to_string(),
        "train rows.svm --stream -o s.towm -q --threads 2".to_string(),
        format!("train {} --stream -o z.towm -q --threads 2", shipped("a9a.zst")),
    ] {
        check(&bench, &line);
    }
}

/// Rows with features of their own: there are many more features than rows.
fn wide() -> Workbench {
    let bench = Workbench::new();
    let row = |i: u32| {
        let values: String = (0..40).map(|k| format!(" {}:1", 40 * i + k + 1)).collect();
        format!("{}{values}\n", i % 2)
    };
    bench.file("wide.svm", (0..20_000).map(row).collect::<String>());
    bench
}

/// What packing takes shows before anything is packed: how long rows are, and about how many features there are.
#[test]
fn packing_wide_and_long_rows() {
    let bench = wide();
    let mut text = "1 1:1\n".repeat(20_000);
    (1..=60_000).for_each(|k| text += &format!("{}{k}:0.5", if k == 1 { "1 " } else { " " }));
    bench.file("long.svm", text + "\n");
    for file in ["wide.svm", "long.svm"] {
        for options in ["", "--scale standard", "--no-renumber", "--keep-order"] {
            check_enough(&bench, &format!("pack {file} -o out.tow --force -q --threads 2 {options}"));
        }
    }
    check_enough(&bench, "pack wide.svm -o out.tow --force -q --threads 2 --rff 16 --gamma 0.1");
}

#[test]
fn training_on_wide_rows() {
    let bench = wide();
    bench.ok("pack wide.svm -o wide.tow -q");
    for line in [
        "train wide.tow -o m.towm --max-passes 2 -q --restart",
        "train wide.tow -o m.towm --max-passes 2 -q --method sgd",
        "train wide.tow -o m.towm --max-passes 2 -q --method pegasos",
        "path wide.tow --penalty l1 --loss logistic --points 3 --max-passes 3 -q --restart -o p",
    ] {
        check(&bench, line);
    }
}

#[test]
fn reading_wide_models() {
    let bench = wide();
    bench.ok("pack wide.svm -o wide.tow -q");
    bench.ok("train wide.tow -o wide.towm -q --tolerance 0.5");
    for line in [
        "verify wide.tow -q",
        "cat wide.tow",
        "predict wide.towm wide.svm --threads 2",
        "predict wide.towm wide.tow",
        "eval wide.towm wide.svm --threads 2",
        "eval wide.towm wide.tow",
        "export wide.towm --to text",
        "info wide.towm",
    ] {
        check(&bench, line);
    }
}

#[test]
fn a_budget_below_the_program_itself_is_refused_with_one_that_works() {
    let bench = packed();
    for (arguments, words) in [
        ("verify a9a.tow --memory 10", "the memory budget of 10 B is too small: a block needs 4."),
        ("verify a9a.tow --memory +10", "MiB and only 10 B is free beside"),
        ("pack a.svm -o b.tow --threads 1 --memory 0", "the memory budget of 0 B is too small: packing needs 3.0 MiB"),
        ("pack a.svm -o b.tow --threads 2 --memory +1M", "packing needs 5.0 MiB and only 1.0 MiB is free beside"),
    ] {
        bench.file("a.svm", "1 1:1\n-1 2:1\n");
        let refused = bench.run(arguments);
        assert_eq!(refused.code, Some(3), "{arguments}: {}", refused.stderr);
        assert!(refused.stderr.contains(words), "{arguments}: {}", refused.stderr);
        assert!(refused.stderr.ends_with("M or more\n"), "{arguments}: {}", refused.stderr);
    }
}
