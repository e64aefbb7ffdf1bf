//! JSON lines and Vowpal Wabbit's text, from rows to predictions.

use crate::preparation::features;
use crate::workbench::Workbench;
use crate::workbench::random::Random;

#[test]
fn lines_of_json_are_a_table() {
    let bench = Workbench::new();
    let mut random = Random(3);
    let mut lines = String::new();
    for row in 0..200 {
        let (size, city) = (random.fraction(), ["Rome", "Oslo"][row % 2]);
        let price = 3.0 * size + (row % 2) as f64;
        let size = if row % 9 == 0 { "null".to_string() } else { size.to_string() };
        lines += &format!(
            "{{\"price\": {price:.3}, \"size\": {size}, \"at\": {{\"city\": \"{city}\"}}, \"tags\": [\"t{}\", \"all\"]}}\n",
            row % 3
        );
    }
    bench.file("a.jsonl", &lines);
    bench.ok("train a.jsonl --label price -o m.towm -q");
    let info = bench.ok("info a.jsonl.tow");
    assert!(info.contains("at.city: category") && info.contains("tags: list"), "{info}");
    let together = bench.ok("predict m.towm a.jsonl");
    for (line, expected) in lines.lines().zip(together.lines()).take(20) {
        bench.file("one.jsonl", line);
        assert_eq!(bench.ok("predict m.towm one.jsonl").trim(), expected, "{line}");
    }
    // A line need not have all keys, nor need a file; but one that has none is another table.
    bench.file("few.jsonl", "{\"size\": 0.5}\n");
    bench.ok("predict m.towm few.jsonl");
    bench.file("none.jsonl", "{\"weight\": 0.5}\n");
    let none = bench.run("predict m.towm none.jsonl");
    assert!(none.stderr.contains("none.jsonl: its first lines have none of the known columns"), "{}", none.stderr);
    // The same table as CSV, by the model's schema.
    bench.file("one.csv", "size,at.city\n0.5,Rome\n");
    bench.file("one.jsonl", "{\"size\": 0.5, \"at\": {\"city\": \"Rome\"}}\n");
    assert_eq!(bench.ok("predict m.towm one.csv --columns note"), bench.ok("predict m.towm one.jsonl"));
    let wrong = bench.run_with_input("pack - -o s.tow -q --format json --label y", b"{\"y\": 1}\n{\"y\": }\n");
    assert_eq!(wrong.code, Some(4));
    assert!(wrong.stderr.contains("standard input:2:7: expected value"), "{}", wrong.stderr);
}

#[test]
fn rows_of_vowpal_wabbit() {
    let bench = Workbench::new();
    let mut random = Random(4);
    let mut lines = String::new();
    for _ in 0..200 {
        let (good, year) = (random.fraction() < 0.5, random.fraction());
        let label = if good == (random.fraction() < 0.9) { 1 } else { -1 };
        lines +=
            &format!("{label} {} 'tag |w {} film |m:2 year:{year:.3}\n", 2 + label, if good { "good" } else { "bad" });
    }
    bench.file("a.vw", &lines);
    bench.ok("train a.vw -o m.towm -q");
    assert_eq!(features(&bench, "a.vw.tow"), ["m^year", "w^bad", "w^film", "w^good"]);
    let unlabelled: Vec<String> = lines.lines().map(|line| line.split_once("'tag ").unwrap().1.to_string()).collect();
    bench.file("b.vw", unlabelled.join("\n"));
    let together = bench.ok("predict m.towm b.vw --scores");
    assert_eq!(bench.ok("predict m.towm a.vw --scores"), together);
    for (line, expected) in unlabelled.iter().zip(together.lines()).take(20) {
        bench.file("one.vw", line);
        assert_eq!(bench.ok("predict m.towm one.vw --scores").trim(), expected, "{line}");
    }
    let wrong = bench.run_with_input("pack - -o s.tow -q --format vw", b"1 |a x\nno label |a x\n");
    assert_eq!(wrong.code, Some(4));
    assert!(wrong.stderr.contains("standard input:2:1: expected a number before the first '|'"), "{}", wrong.stderr);
}
