//! What people read, kept as files: the help of every verb, plans, and one error of each kind. A change of these shows up in a review;
//! `INSTA_UPDATE=always cargo test --workspace --test all snapshots::` takes it over.
use crate::workbench::{Workbench, shipped};

/// Numbers differ from machine to machine, and with them the width of their columns; words do not.
fn without_numbers(text: &str) -> String {
    let mut found = String::new();
    let mut in_number = false;
    for c in text.chars() {
        let goes_on = c.is_ascii_digit() || (in_number && matches!(c, '.' | ','));
        match (goes_on, in_number) {
            (true, false) => found.push('#'),
            (true, true) => {}
            (false, _) => found.push(c),
        }
        in_number = goes_on;
    }
    let lines = found.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn help_of_every_verb() {
    let bench = Workbench::new();
    let overview = bench.ok("--help");
    let commands = overview.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs: Vec<&str> = commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(verbs.len() > 10, "{verbs:?}");
    insta::assert_snapshot!("help", overview);
    for verb in verbs.into_iter().filter(|&verb| verb != "help") {
        insta::assert_snapshot!(format!("help-{verb}"), bench.ok(&format!("{verb} --help")));
    }
}

#[test]
fn plans() {
    let bench = Workbench::new();
    bench.ok(&format!("pack {} -o a9a.tow -q", shipped("a9a.zst")));
    for (name, options) in [
        ("default", ""),
        ("columns", "--penalty l1 --solver columns"),
        ("newton", "--loss logistic --solver newton"),
        ("multipliers", "--solver multipliers --intercept"),
    ] {
        let plan = bench.ok(&format!("plan a9a.tow --memory +64M {options}"));
        insta::assert_snapshot!(format!("plan-{name}"), without_numbers(&plan));
    }
}

/// One command for each way to fail; `malformed` has them all.
#[test]
fn errors_of_each_kind() {
    let bench = Workbench::new();
    bench.file("good.svm", "1 1:1\n-1 2:1\n");
    bench.file("bad.svm", "1 1:1\n-1 2:x\n");
    bench.file("bad.csv", "y,a,b\n1,2,3\n0,4\n");
    bench.ok("pack good.svm -o good.tow -q");
    bench.ok("train good.tow -o good.towm -q");
    let mut found = String::new();
    for line in [
        "train",
        "train good.tow --los hinge",
        "train good.tow --loss hing",
        "train none.svm",
        "pack bad.svm -o bad.tow",
        "pack bad.csv -o bad.tow",
        "pack good.svm -o good.tow",
        "train good.tow -o good.svm",
        "train good.tow --memory 1M",
        "train good.tow --penalty l1 --solver gram",
        "predict good.tow good.svm",
        "predict good.towm bad.svm",
        "export good.towm --to pmml -o x",
        "path good.tow --points 0",
        "cv good.tow --folds 5",
    ] {
        let said = bench.run(line);
        let stderr = if said.stderr.contains("MiB") { without_numbers(&said.stderr) + "\n" } else { said.stderr };
        found += &format!("$ towline {line}\n{stderr}exit code {}\n\n", said.code.unwrap());
    }
    insta::assert_snapshot!("errors", found);
}
