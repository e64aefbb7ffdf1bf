//! What is wrong with a line of JSON is said with its place and a remedy.
use crate::input::table::testing::{Files, options};

/// Options, lines, and how the message begins.
const MALFORMED: &[(&str, &str, &str)] = &[
    ("", "{\"y\":1,\"a\":2}\n{\"y\":1,\"a\":}\n", "a.jsonl:2:12: expected value; write one object a line"),
    ("", "{\"y\":1,\"a\":2}\n{\"y\":1,\"a\":2", "a.jsonl:2:12: EOF while parsing an object"),
    ("", "{\"y\":1,\"a\":2}\n[1]\n", "a.jsonl:2:"),
    ("", "{\"y\":1,\"a\":2} 7\n", "a.jsonl:1:15: trailing characters"),
    ("", "{\"y\":1,\"a\":2,\"a\":3}\n", "a.jsonl:1:1: 'a' is there twice; leave one out"),
    ("", "{\"y\":1,\"a\":{\"b\":2},\"a.b\":3}\n", "a.jsonl:1:1: 'a.b' is there twice"),
    ("", "{\"y\":[1],\"a\":2}\n", "a.jsonl: column 'y' holds lists, which can only be features"),
    ("", "{\"y\":1,\"a\":[[1]]}\n", "a.jsonl:1:1: a list of lists or of objects; lists hold numbers or text"),
    ("", "{\"y\":1,\"a\":\"\\ud800\"}\n{\"y\":1}\n", "a.jsonl:1:1: "),
    ("", "{\"y\":1,\"a\":1e999}\n", "a.jsonl:1:"),
    ("label=z", "{\"y\":1,\"a\":2}\n", "a.jsonl: there is no column 'z'; the columns are y, a"),
    ("", "{\"y\":1,\"a\":2}\n{\"a\":2}\n", "a.jsonl:2:1: this row has no label in column 'y'"),
    ("", "{\"y\":1,\"a\":\"x\",\"a=x\":2}\n", "a.jsonl: features of column 'a' can have the same name as column 'a=x'"),
];

#[test]
fn mistakes_have_a_place() {
    for (words, lines, message) in MALFORMED {
        let found = Files::new(&[("a.jsonl", lines.as_bytes())]).read(&options(words)).unwrap_err();
        assert!(found.starts_with(message), "{lines}: {found}");
    }
}

#[test]
fn depth_and_bytes_that_are_no_text() {
    let deep = format!("{}1{}\n", "{\"a\":".repeat(200_000), "}".repeat(200_000));
    let lines = format!("{{\"y\":1,\"b\":2}}\n{deep}");
    let found = Files::new(&[("a.jsonl", lines.as_bytes())]).read(&options("")).unwrap_err();
    assert!(found.contains("objects within objects, more than 32 deep"), "{found}");
    let found =
        Files::new(&[("a.jsonl", b"{\"y\":1,\"a\":2}\n{\"y\":1,\"a\":\"\xff\"}\n")]).read(&options("")).unwrap_err();
    assert!(found.starts_with("a.jsonl:2:1: this line is not UTF-8"), "{found}");
}

#[test]
fn rows_that_lack_nearly_everything_are_refused_before_they_fill_the_memory() {
    let columns: Vec<String> = (0..500).map(|k| format!("\"c{k}\":{k}.5")).collect();
    let mut lines = format!("{{\"y\":1,{}}}\n", columns.join(",")).repeat(200);
    lines += &"{\"y\":1}\n".repeat(60_000);
    let files = Files::new(&[("a.jsonl", lines.as_bytes())]);
    let found = files.read(&options("label=y absent=marked")).unwrap_err();
    assert!(found.contains("lack most of the columns that the first ones have; use `absent(zero)`"), "{found}");
    assert!(files.read(&options("label=y absent=zero")).is_ok());
}
