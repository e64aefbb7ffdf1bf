//! What `pack`, `info` and `verify` say, for people and for programs, and the pages and completions that are made.
use serde_json::Value;

use crate::workbench::Workbench;

const ROWS: &str = "1 qid:1 1:1 2:3\n-1 qid:1 2:0\n1 qid:2 2:4 7:0.5\n";

fn bench() -> Workbench {
    let bench = Workbench::new();
    bench.file("in.svm", ROWS);
    bench
}

#[test]
fn pack_says_what_came_of_it_in_json() {
    let summary: Value = serde_json::from_str(&bench().ok("pack in.svm -o out.tow --json")).unwrap();
    let expected: [(&str, Value); 7] = [
        ("schema", 1.into()),
        ("rows", 3.into()),
        ("features", 3.into()),
        ("values", 4.into()),
        ("classes", 2.into()),
        ("blocks", 1.into()),
        ("input_bytes", ROWS.len().into()),
    ];
    for (field, value) in expected {
        assert_eq!(summary[field], value, "{field}");
    }
    assert!(summary["store_bytes"].as_u64().unwrap() > 100);
    assert!(summary["seconds"].as_f64().unwrap() > 0.0);
    assert!(summary["peak_memory_bytes"].as_u64().unwrap() > 1 << 20);
    let remarks = ["feature indices count from 1", "qid: entries were kept as groups", "1 explicit zeros were dropped"];
    assert_eq!(summary["remarks"], Value::from(remarks.to_vec()));
}

#[test]
fn pack_says_what_came_of_it_in_words_unless_told_not_to() {
    let bench = bench();
    let said = bench.run("pack in.svm -o out.tow");
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert_eq!(lines[0], "out.tow: 3 rows, 3 features, 4 values in 1 blocks");
    assert!(lines[1].starts_with("47 B read, ") && lines[1].contains("peak memory"), "{}", lines[1]);
    assert_eq!(lines[2], "note: feature indices count from 1");
    assert_eq!(said.stdout, "");
    let quiet = bench.run("pack in.svm -o quiet.tow --quiet");
    assert_eq!((quiet.stdout, quiet.stderr), (String::new(), String::new()));
}

#[test]
fn info_tells_all_about_a_store() {
    let bench = bench();
    bench.ok("pack in.svm -o out.tow --quiet --seed 5");
    let info: Value = serde_json::from_str(&bench.ok("info out.tow --json")).unwrap();
    let expected = [
        ("/schema", "1"),
        ("/version", "4"),
        ("/generation", "1"),
        ("/rows", "3"),
        ("/values", "4"),
        ("/features", "3"),
        ("/blocks", "1"),
        ("/precision", "\"f32\""),
        ("/scale", "\"none\""),
        ("/shuffle_seed", "5"),
        ("/renumbered", "true"),
        ("/grouped", "true"),
        ("/weighted", "false"),
        ("/named_features", "false"),
        ("/labels/histogram", "[[-1.0,1],[1.0,2]]"),
        ("/row_summary/min_values", "0"),
        ("/row_summary/max_sq_norm", "16.25"),
        ("/encodings", "{\"32-bit floats\":1}"),
        ("/sources/0/name", "\"in.svm\""),
        ("/sources/0/bytes", "47"),
    ];
    for (field, value) in expected {
        assert_eq!(info.pointer(field).map(Value::to_string).as_deref(), Some(value), "{field}");
    }
    assert!((info["density"].as_f64().unwrap() - 4.0 / 9.0).abs() < 1e-12);
    let text = bench.ok("info out.tow");
    for line in [
        "rows        3",
        "features    3 seen, numbered",
        "row length  0 to 4.031129, root mean square 2.95804",
        "values      4 (0 to 2 a row, 1.3 on average), density 4.44e-1",
        "labels      1 x 2, -1 x 1",
        "row order   shuffled, seed 5",
        "groups      one per row",
    ] {
        assert!(text.lines().any(|found| found == line), "'{line}' is not in\n{text}");
    }
}

#[test]
fn verify_says_that_a_store_is_whole() {
    let bench = bench();
    bench.ok("pack in.svm -o out.tow --quiet");
    assert!(bench.ok("verify out.tow").starts_with("out.tow: whole (1 blocks, "));
}

#[test]
fn completions_and_pages_are_made_for_every_verb() {
    let bench = Workbench::new();
    for (shell, sign) in [("bash", "_towline()"), ("zsh", "#compdef towline"), ("fish", "complete -c towline")] {
        let text = bench.ok(&format!("completions {shell}"));
        assert!(text.contains(sign) && text.contains("keep-order"), "{shell}");
    }
    bench.ok("man pages");
    for page in ["towline", "towline-pack", "towline-info", "towline-verify", "towline-cat"] {
        let text = std::fs::read_to_string(bench.path(&format!("pages/{page}.1"))).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
    let pack = std::fs::read_to_string(bench.path("pages/towline-pack.1")).unwrap();
    assert!(pack.contains("keep\\-order") && pack.contains("Memory for the whole process"));
}
