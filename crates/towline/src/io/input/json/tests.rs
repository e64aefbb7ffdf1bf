use crate::input::table::testing::{Files, PlainRow, options, row};

fn read(words: &str, lines: &str) -> Result<Vec<PlainRow>, String> {
    Files::new(&[("a.jsonl", lines.as_bytes())]).read(&options(words))
}

#[test]
fn cells_nested_objects_and_lists() {
    let lines = r#"
        {"y": 1, "size": 0.5, "place": {"city": "Rome", "at": {"x": 2}}, "tags": ["a", "b", "a", null], "v": [3, null, 0, 4]}
        {"tags": "b", "y": -1, "place": {"city": "Caf\u00e9"}, "size": null, "v": []}

        {"y": 2e0, "place": null, "size": -1.5e1}"#;
    let expected = vec![
        row(
            "1",
            &[
                ("size", 0.5),
                ("place.city=Rome", 1.0),
                ("place.at.x", 2.0),
                ("tags=a", 2.0),
                ("tags=b", 1.0),
                ("v[0]", 3.0),
                ("v[3]", 4.0),
            ],
        ),
        row("-1", &[("place.city=Café", 1.0), ("tags=b", 1.0)]),
        row("2", &[("size", -15.0)]),
    ];
    assert_eq!(read("absent=zero", lines), Ok(expected));
}

#[test]
fn absent_cells_are_marked() {
    let lines = "{\"y\":1,\"a\":1,\"b\":\"x\"}\n{\"y\":0,\"a\":null,\"b\":\"z\"}\n{\"y\":1,\"a\":2}\n";
    let expected = vec![
        row("1", &[("a", 1.0), ("b=x", 1.0)]),
        row("0", &[("b=z", 1.0), ("a=", 1.0)]),
        row("1", &[("a", 2.0), ("b=", 1.0)]),
    ];
    assert_eq!(read("absent=marked", lines), Ok(expected));
}

#[test]
fn kinds_are_those_of_json_first() {
    let lines = "{\"y\":\"no\",\"zip\":\"01001\",\"pay\":\"$1,200\",\"on\":true,\"day\":\"2024-05-17\"}\n\
                 {\"y\":\"yes\",\"zip\":\"02\",\"pay\":\"$7\",\"on\":false,\"day\":\"2024-05-18\"}\n";
    let rows = read("absent=zero", lines).unwrap();
    let names: Vec<&str> = rows[0].entries.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["zip=01001", "pay", "on", "day.days", "day.month=5", "day.weekday=Fri"]);
    assert_eq!((rows[0].label.as_str(), rows[0].entries[1].1, rows[1].entries.len()), ("no", 1200.0, 5));
}

#[test]
fn keys_that_come_late_are_left_out_with_a_note() {
    let mut lines = "{\"y\":1,\"a\":2}\n".repeat(80_000);
    lines += "{\"y\":1,\"new\":2,\"a\":3}\n";
    let files = Files::new(&[("a.jsonl", lines.as_bytes())]);
    let (rows, remarks) = files.read_within(&options("label=y"), &crate::budget::Budget::unlimited()).unwrap();
    assert_eq!(rows.last(), Some(&row("1", &[("a", 3.0)])));
    let note = "keys 'new' are not in the first lines, and were left out; a schema may name them";
    assert_eq!(remarks, [note]);
}

#[test]
fn files_after_the_first_may_lack_keys_and_have_them_later() {
    let files = Files::new(&[
        ("a.jsonl", b"{\"y\":1,\"a\":2,\"b\":3}\n"),
        ("b.jsonl", b"{\"y\":1,\"a\":5}\n{\"y\":0,\"b\":7}\n"),
    ]);
    let rows = files.read(&options("absent=zero")).unwrap();
    assert_eq!(rows[1..], [row("1", &[("a", 5.0)]), row("0", &[("b", 7.0)])]);
}
