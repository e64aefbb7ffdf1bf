use super::*;
use proptest::prelude::*;

/// Label, group (0 if none) and entries of a row.
type PlainRow = (f64, u64, Vec<(u64, f64)>);

fn rows_of(batch: &RowBatch) -> Vec<PlainRow> {
    let row = |i: usize| {
        let range = batch.range(i);
        let entries = batch.keys[range.clone()].iter().copied().zip(batch.values[range].iter().copied());
        (batch.labels[i], batch.groups.get(i).copied().unwrap_or(0), entries.collect())
    };
    (0..batch.rows()).map(row).collect()
}

fn parse_with(options: LibsvmOptions, text: &str) -> (Result<Vec<PlainRow>, LineError>, Vec<String>) {
    let format = Libsvm::new(options);
    let (parser, _) = format.parser("test.svm", text.as_bytes()).unwrap();
    let mut batch = RowBatch::default();
    let rows = parser.parse(text.as_bytes(), &mut batch).map(|()| rows_of(&batch));
    (rows, format.remarks())
}

fn parse(text: &str) -> Result<Vec<PlainRow>, LineError> {
    parse_with(LibsvmOptions::default(), text).0
}

fn row(label: f64, entries: &[(u64, f64)]) -> PlainRow {
    (label, 0, entries.to_vec())
}

#[test]
fn every_dialect_reads_the_same_rows() {
    let plain = [row(1.0, &[(1, 0.5), (3, 2.0)]), row(-1.0, &[(2, 1.0)])];
    let cases = [
        ("as canonical as it gets", "1 1:0.5 3:2\n-1 2:1\n"),
        ("a plus sign before labels and values", "+1 1:+0.5 3:+2\n-1 2:+1\n"),
        ("no final newline", "1 1:0.5 3:2\n-1 2:1"),
        ("CRLF", "1 1:0.5 3:2\r\n-1 2:1\r\n"),
        ("CRLF without the last LF", "1 1:0.5 3:2\r\n-1 2:1\r"),
        ("tabs", "1\t1:0.5\t3:2\n-1\t2:1\n"),
        ("blanks everywhere", "  1   1:0.5 \t 3:2  \n\t-1  2:1\t\r\n"),
        ("blank lines", "\n\n1 1:0.5 3:2\n   \n\t\r\n-1 2:1\n\n"),
        ("comments on lines of their own", "# head\n1 1:0.5 3:2\n  # 7:7\n-1 2:1\n#"),
        ("comments behind rows", "1 1:0.5 3:2 # 4:1\n-1 2:1#9:9\n"),
        ("scientific notation", "1e0 1:5e-1 3:0.2E+1\n-1.0e+0 2:10e-1\n"),
        ("points without digits on one side", "1. 1:.5 3:2.\n-1. 2:1.\n"),
        ("more digits than a double has", "1 1:0.50000000000000000000000 3:2.000000000000000000001\n-1 2:1\n"),
        ("leading zeros", "01 01:00.5 0003:2\n-01 2:1\n"),
        ("indices in any order", "1 3:2 1:0.5\n-1 2:1\n"),
        ("explicit zeros", "1 1:0.5 2:0 3:2 9:-0.0\n-1 1:0e5 2:1\n"),
    ];
    for (name, text) in cases {
        assert_eq!(parse(text).as_deref(), Ok(&plain[..]), "{name}");
    }
}

#[test]
fn labels_are_any_finite_number() {
    let rows = parse("3\n-2.5\n1e-3\n0\n+7\n-0\n123456789012\n").unwrap();
    let labels: Vec<f64> = rows.iter().map(|row| row.0).collect();
    assert_eq!(labels, [3.0, -2.5, 1e-3, 0.0, 7.0, -0.0, 123_456_789_012.0]);
    assert!(rows.iter().all(|row| row.2.is_empty()), "rows without values are kept");
}

#[test]
fn nothing_but_blank_lines_and_comments_is_no_row() {
    for text in ["", "\n", "\r\n", "# only\n", "  \n\t# x", "\n\n\n"] {
        assert_eq!(parse(text), Ok(Vec::new()), "{text:?}");
    }
}

#[test]
fn indices_have_64_bits() {
    let rows = parse("1 0:1 4294967296:2 18446744073709551615:3\n").unwrap();
    assert_eq!(rows, [row(1.0, &[(0, 1.0), (1 << 32, 2.0), (u64::MAX, 3.0)])]);
}

#[test]
fn groups_are_kept_or_left_out_and_either_is_said() {
    let text = "1 qid:7 1:1\n0 2:1\n1 3:1 qid:18446744073709551615\n";
    let (kept, remarks) = parse_with(LibsvmOptions::default(), text);
    let groups = |rows: Vec<PlainRow>| rows.into_iter().map(|row| row.1).collect::<Vec<_>>();
    assert_eq!(groups(kept.unwrap()), [7, 0, u64::MAX]);
    assert_eq!(remarks, ["feature indices count from 1", "qid: entries were kept as groups"]);

    let (left_out, remarks) = parse_with(LibsvmOptions { skip_groups: true, ..Default::default() }, text);
    assert_eq!(groups(left_out.unwrap()), [0, 0, 0]);
    assert_eq!(remarks, ["feature indices count from 1", "qid: entries were left out"]);
}

#[test]
fn the_index_base_is_seen_or_told() {
    let cases = [
        (IndexBase::Auto, "1 0:1\n", &["feature indices count from 0"][..]),
        (IndexBase::Auto, "1 1:1\n", &["feature indices count from 1"]),
        // A zero that is dropped was written all the same.
        (IndexBase::Auto, "1 0:0\n", &["feature indices count from 0", "1 explicit zeros were dropped"]),
        (IndexBase::Zero, "1 0:1\n", &[]),
        (IndexBase::One, "1 1:1\n", &[]),
    ];
    for (index_base, text, expected) in cases {
        let (rows, remarks) = parse_with(LibsvmOptions { index_base, ..Default::default() }, text);
        assert!(rows.is_ok());
        assert_eq!(remarks, expected, "{index_base:?} {text}");
    }
    let (refused, _) = parse_with(LibsvmOptions { index_base: IndexBase::One, ..Default::default() }, "1 1:1 0:2\n");
    assert_eq!(refused.unwrap_err().at, 6);
}

#[test]
fn duplicates_are_settled_as_told() {
    use Duplicates::{Error, Last, Sum};
    // The text, and what remains of it under `sum` and under `last`.
    type Entries<'a> = &'a [(u64, f64)];
    let cases: [(&str, Entries, Entries); 7] = [
        ("1 3:1 3:2", &[(3, 3.0)], &[(3, 2.0)]),
        ("1 3:0 3:1", &[(3, 1.0)], &[(3, 1.0)]),
        ("1 3:1 3:0", &[(3, 1.0)], &[]),
        ("1 3:1 3:-1", &[], &[(3, -1.0)]),
        ("1 5:1 3:1 5:2 3:2 5:4", &[(3, 3.0), (5, 7.0)], &[(3, 2.0), (5, 4.0)]),
        ("1 1:1 2:2 2:3 9:9", &[(1, 1.0), (2, 5.0), (9, 9.0)], &[(1, 1.0), (2, 3.0), (9, 9.0)]),
        ("1 0:1 0:1", &[(0, 2.0)], &[(0, 1.0)]),
    ];
    for (text, sum, last) in cases {
        let settled = |duplicates| parse_with(LibsvmOptions { duplicates, ..Default::default() }, text).0;
        assert_eq!(settled(Sum), Ok(vec![row(1.0, sum)]), "sum {text}");
        assert_eq!(settled(Last), Ok(vec![row(1.0, last)]), "last {text}");
        assert!(settled(Error).is_err(), "error {text}");
    }
}

#[test]
fn a_sum_of_duplicates_may_not_overflow_either() {
    let cases = [(Precision::F32, "1 3:3e38 3:3e38"), (Precision::F64, "1 3:1e308 2:1 3:1e308")];
    for (precision, text) in cases {
        let options = LibsvmOptions { duplicates: Duplicates::Sum, precision, ..Default::default() };
        let error = parse_with(options, text).0.unwrap_err();
        assert!(error.problem.contains("the values of feature 3 add up to more than"), "{}", error.problem);
    }
}

#[test]
fn the_second_mention_is_where_the_trouble_is() {
    let cases = [("1 3:1 3:2", 6), ("1 3:1 4:1\n0 13:1 3:0 2:1\t3:1", 25), ("1 3:1 13:1 3:1", 11)];
    for (text, at) in cases {
        assert_eq!(parse(text).unwrap_err().at, at, "{text}");
    }
}

#[test]
fn values_are_rounded_to_the_precision_that_is_kept() {
    let text = "1 1:0.1 2:1e-50\n";
    let single = parse(text).unwrap();
    assert_eq!(single, [row(1.0, &[(1, f64::from(0.1f32))])], "too small for a float is a zero");
    let double = parse_with(LibsvmOptions { precision: Precision::F64, ..Default::default() }, text).0.unwrap();
    assert_eq!(double, [row(1.0, &[(1, 0.1), (2, 1e-50)])]);
}

#[test]
fn what_is_wrong_and_where() {
    let cases = [
        ("1 1:nan", 2, "not a finite number"),
        ("1 1:-inf", 2, "not a finite number"),
        ("1 1:Infinity", 2, "not a finite number"),
        ("1 1:1e999", 2, "not a finite number"),
        ("1 1:4e38", 2, "too large for a 32-bit float"),
        ("nan 1:1", 0, "not a finite number"),
        ("1e999 1:1", 0, "not a finite number"),
        ("x 1:1", 0, "expected a number as label"),
        ("1:1 2:1", 0, "must begin with a label"),
        ("1,x 1:1", 0, "expected a number as label"),
        ("1,2, 1:1", 0, "expected a number as label"),
        ("1,,2 1:1", 0, "expected a number as label"),
        ("1,2;3 1:1", 0, "expected a number as label"),
        ("1,inf 1:1", 0, "expected a number as label"),
        ("1,2 1:1\n3 1:1", 8, "this row has 1 target, and the rows before it have 2"),
        ("1 1:1\n\n3,4 1:1", 7, "this row has 2 targets, and the rows before it have 1"),
        ("1 1:", 4, "no value after the colon"),
        ("1 1: 2", 4, "no value after the colon"),
        ("1 1:x", 4, "expected a number after the colon"),
        ("1 1:2:3", 4, "expected a number after the colon"),
        ("1 1:2,3", 4, "expected a number after the colon"),
        ("1 -1:2", 2, "negative index"),
        ("1 1.5:2", 2, "expected index:value"),
        ("1 x:2", 2, "expected index:value"),
        ("1 :2", 2, "expected index:value"),
        ("1 7", 2, "has no ':value'"),
        ("1 18446744073709551616:1", 2, "does not fit into 64 bits"),
        ("1 qid:x 1:1", 2, "whole number after qid:"),
        ("1 qid:1 qid:2", 8, "second qid:"),
        ("0 1:1\n1 2:y\n", 10, "expected a number after the colon"),
    ];
    for (text, at, problem) in cases {
        let error = parse(text).unwrap_err();
        assert!(error.problem.contains(problem), "{text}: {}", error.problem);
        assert_eq!(error.at, at, "{text}");
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_label() {
    let text = "\u{feff}1 1:1\n";
    let (_, header_bytes) = Libsvm::new(LibsvmOptions::default()).parser("test.svm", text.as_bytes()).unwrap();
    assert_eq!(parse(&text[header_bytes..]), Ok(vec![row(1.0, &[(1, 1.0)])]));
}

/// Numbers in all the ways in which people and programs write them.
fn number() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        -1e6f64..1e6,
        (-1000i32..1000).prop_map(f64::from),
        any::<f32>().prop_filter("finite", |v| v.is_finite()).prop_map(f64::from),
    ];
    (value, 0u8..5).prop_map(|(value, form)| match form {
        0 => format!("{value}"),
        1 => format!("{value:e}"),
        2 => format!("{value:+}"),
        3 => format!("{value:.3}"),
        _ => format!("{value:E}"),
    })
}

fn index() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..30, 0u64..100_000_000, any::<u64>()]
}

/// A line that is right, with its end.
fn line() -> impl Strategy<Value = String> {
    let separator = prop_oneof![Just(" "), Just("\t"), Just("  "), Just(" \t ")];
    let entries = proptest::collection::vec((separator, index(), number()), 0..12);
    let group = prop_oneof![2 => Just(String::new()), 1 => (0u64..50).prop_map(|group| format!(" qid:{group}"))];
    let tail = prop_oneof![Just(""), Just(" "), Just("\t"), Just("# 5:5 x"), Just(" #")];
    let end = prop_oneof![Just("\n"), Just("\r\n")];
    let filled = (number(), group, entries, tail, end.clone()).prop_map(|(label, group, entries, tail, end)| {
        let entries: String = entries.iter().map(|(blank, index, value)| format!("{blank}{index}:{value}")).collect();
        format!("{label}{group}{entries}{tail}{end}")
    });
    let empty =
        (prop_oneof![Just(""), Just("  "), Just("# c 1:1")], end).prop_map(|(text, end)| format!("{text}{end}"));
    prop_oneof![5 => filled, 1 => empty]
}

/// Text that is right but for repeated features, perhaps without the last newline.
fn text() -> impl Strategy<Value = String> {
    (proptest::collection::vec(line(), 0..20), any::<bool>()).prop_map(|(lines, cut)| {
        let text = lines.concat();
        if cut { text.trim_end_matches(['\r', '\n']).to_string() } else { text }
    })
}

/// The same in the plainest words of the standard library.
fn naive(text: &str, duplicates: Duplicates) -> Option<Vec<PlainRow>> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut tokens = line.split_whitespace();
        let Some(label) = tokens.next() else { continue };
        let mut row: PlainRow = (label.parse().unwrap(), 0, Vec::new());
        for token in tokens {
            let (key, value) = token.split_once(':').unwrap();
            if key == "qid" {
                row.1 = value.parse().unwrap();
                continue;
            }
            let (key, value): (u64, f64) = (key.parse().unwrap(), f64::from(value.parse::<f64>().unwrap() as f32));
            match row.2.iter_mut().find(|entry| entry.0 == key) {
                None => row.2.push((key, value)),
                Some(_) if duplicates == Duplicates::Error => return None,
                Some(entry) if duplicates == Duplicates::Sum => entry.1 = f64::from((entry.1 + value) as f32),
                Some(entry) => entry.1 = value,
            }
        }
        row.2.retain(|entry| entry.1 != 0.0);
        row.2.sort_by_key(|entry| entry.0);
        rows.push(row);
    }
    // A sum that overflows is an error too, whatever the row.
    rows.iter().flat_map(|row| &row.2).all(|entry| entry.1.is_finite()).then_some(rows)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn text_reads_as_the_naive_parser_reads_it(text in text()) {
        for duplicates in [Duplicates::Error, Duplicates::Sum, Duplicates::Last] {
            let ours = parse_with(LibsvmOptions { duplicates, ..Default::default() }, &text).0;
            match naive(&text, duplicates) {
                Some(rows) => prop_assert_eq!(ours, Ok(rows)),
                None => prop_assert!(ours.is_err()),
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(&b"0123456789:.-+eqid# \t\r\n"[..])], 0..200)) {
        let format = Libsvm::new(LibsvmOptions::default());
        let (parser, _) = format.parser("test.svm", &bytes).unwrap();
        let mut batch = RowBatch::default();
        if let Err(error) = parser.parse(&bytes, &mut batch) {
            prop_assert!(error.at <= bytes.len());
        }
    }
}
