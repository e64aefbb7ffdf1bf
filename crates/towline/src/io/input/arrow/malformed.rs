//! What is wrong with a table is said with its place and a remedy, and damage never ends the program.
use arrow_array::types::*;
use arrow_array::*;
use arrow_ipc::CompressionType;

use super::tests::{array, floats, integers, labels, pairs, read};
use crate::input::table::testing::{Files, options, row};
use crate::input::table::testing_arrow::{batch, ipc_file, ipc_stream, parquet};

#[test]
fn malformed_tables_are_refused_with_place_and_remedy() {
    let one = || labels(&[1.0]);
    let int = |values: Vec<i32>| array(Int32Array::from(values));
    let cases: Vec<(&str, RecordBatch, &str)> = vec![
        (
            "",
            batch(vec![("a", int(vec![1]))]),
            "t.arrow: no column is named label, target, y or class; choose the label with `label(NAME)` or `label(N)`; the \
             columns are a",
        ),
        ("label=b", batch(vec![one()]), "t.arrow: there is no column 'b'; the columns are y"),
        (
            "",
            batch(vec![("y", array(Int32Array::from(vec![Some(1), Some(2), None])))]),
            "t.arrow, row 3: this row has no label in column 'y'; use `unlabelled(skip)` to leave such rows out",
        ),
        (
            "",
            batch(vec![labels(&[1.0, 1.0, 1.0]), ("a", array(Float64Array::from(vec![1.0, 2.0, f64::NAN])))]),
            "t.arrow, row 3: the value in column 'a' is NaN, not a finite number; leave absent cells empty, or use \
             `missing(nan)`",
        ),
        (
            "",
            batch(vec![one(), ("a", array(Float64Array::from(vec![f64::NEG_INFINITY])))]),
            "t.arrow, row 1: the value in column 'a' is -inf, not a finite number; correct it, or use `missing(-inf)`",
        ),
        (
            "",
            batch(vec![one(), ("a", array(Float64Array::from(vec![-1e39])))]),
            "t.arrow, row 1: the value -1e39 in column 'a' is too large for a 32-bit float; use `precision(f64)`, or scale \
             the data",
        ),
        (
            "",
            batch(vec![labels(&[f64::NAN])]),
            "t.arrow, row 1: the label in column 'y' is NaN, not a finite number; use `missing(nan)` or `missing(inf)`, and \
             `unlabelled(skip)` to leave such rows out",
        ),
        (
            "weight=w",
            batch(vec![one(), ("w", int(vec![-1]))]),
            "t.arrow, row 1: the weight in column 'w' is -1, but it must be finite and not negative; correct it, or give \
             the row weight 0",
        ),
        (
            "weight=w",
            batch(vec![one(), ("w", array(StringArray::from(vec!["1"])))]),
            "t.arrow: the weight column 'w' holds text; weights are numbers; choose another column with `weight`, or \
             name absent cells with `missing(TOKEN)`",
        ),
        (
            "group=q",
            batch(vec![one(), ("q", int(vec![-1]))]),
            "t.arrow, row 1: the group in column 'q' is not a whole number from 0 on; use `category(q)` to take groups as text",
        ),
        (
            "group=q",
            batch(vec![one(), ("q", array(Int32Array::from(vec![None])))]),
            "t.arrow, row 1: this row has no group in column 'q'; give every row a group",
        ),
        (
            "",
            batch(vec![one(), ("a b", array(BinaryArray::from(vec![&b"x"[..]])))]),
            "t.arrow: column 'a b' has type Binary, which cannot be taken; use `ignore('a b')`, or write it as numbers, \
             text or lists of numbers",
        ),
        (
            "label=a",
            batch(vec![("a", integers(&[&[1]]))]),
            "t.arrow: column 'a' holds lists, which can only be features; choose a column of numbers or text",
        ),
        (
            "",
            batch(vec![one(), ("a", pairs(("from", "to"), &[&[(1, 1.0)]]))]),
            "t.arrow: column 'a' has type List(Struct(\"from\": Int32, \"to\": Float64)), which cannot be taken; use \
             `ignore(a)`, or write it as numbers, text or lists of numbers",
        ),
        (
            "",
            batch(vec![one(), ("a", pairs(("index", "value"), &[&[(1, 1.0), (2, 1.0), (1, 0.0)]]))]),
            "t.arrow, row 1: column 'a' names an index twice in this row; add up the values of equal indices",
        ),
        (
            "",
            batch(vec![one(), ("a", pairs(("index", "value"), &[&[(-1, 1.0)]]))]),
            "t.arrow, row 1: column 'a' has a negative index; indices are whole numbers from 0 on",
        ),
        (
            "",
            batch(vec![one(), ("a_indices", integers(&[&[1, 2]])), ("a_values", floats(&[&[1.0]]))]),
            "t.arrow, row 1: column 'a' has 2 indices, but 1 values; give every index one value",
        ),
        (
            "",
            batch(vec![
                one(),
                ("a_indices", integers(&[&[1]])),
                ("a_values", floats(&[&[1.0]])),
                ("a", floats(&[&[]])),
            ]),
            "t.arrow: two columns of lists would both give features named 'a[…]'; rename one of them",
        ),
        (
            "",
            batch(vec![one(), ("a", floats(&[&[1.0]])), ("a[0]", int(vec![1]))]),
            "t.arrow: features of column 'a' can have the same name as column 'a[0]'; rename one of the two columns",
        ),
    ];
    for (words, table, message) in cases {
        assert_eq!(read(words, &table), Err(message.to_string()));
    }
}

#[test]
fn what_is_no_file_of_the_format() {
    let table = batch(vec![labels(&[1.0, 2.0]), ("a", array(StringArray::from(vec!["x", "y"])))]);
    let (file, stream, parquet) = (ipc_file(&table, 1, None), ipc_stream(&table, 1, None), parquet(&table, 1));
    let cut = |bytes: &[u8], less: usize| bytes[..bytes.len() - less].to_vec();
    let damaged = |format: &str, reason: &str| {
        format!("t.{format}; check that it is complete, or write it anew").replace("REASON", reason)
    };
    let ipc = |reason| damaged("arrow: this cannot be read as Arrow IPC (REASON)", reason);
    let pq = |reason| damaged("parquet: this cannot be read as Parquet (REASON)", reason);
    let endless = [&[0xff; 4][..], &[0xff, 0xff, 0xff, 0x7f], &stream[8..]].concat();
    let cases: Vec<(&str, Vec<u8>, String)> = vec![
        ("t.arrow", b"".to_vec(), ipc("it does not begin like it")),
        ("t.arrow", b"hello, world".to_vec(), ipc("it does not begin like it")),
        ("t.arrow", b"ARROW2\0\0".to_vec(), ipc("it does not begin like it")),
        ("t.arrow", b"ARROW1\0\0hello, world".to_vec(), ipc("its end is missing")),
        ("t.arrow", file[..100].to_vec(), ipc("its end is missing")),
        ("t.arrow", b"ARROW1".to_vec(), ipc("it is too short")),
        ("t.arrow", cut(&stream, 1), ipc("it ends within a message")),
        ("t.arrow", endless, ipc("the description of a message is too long")),
        ("t.arrow", [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0].to_vec(), ipc("it has no schema")),
        ("t.parquet", b"".to_vec(), pq("EOF: Parquet file too small. Size is 0 but need 8")),
        ("t.parquet", b"1,2\n3,4\n".to_vec(), pq("Parquet error: Invalid Parquet file. Corrupt footer")),
        ("t.parquet", cut(&parquet, 8), pq("Parquet error: Invalid Parquet file. Corrupt footer")),
    ];
    for (name, bytes, message) in cases {
        assert_eq!(Files::new(&[(name, &bytes)]).read(&options("")), Err(message));
    }
}

#[test]
fn later_files_must_fit() {
    let numbers = parquet(&batch(vec![labels(&[1.0]), ("a", array(Int32Array::from(vec![1])))]), 1);
    let text = parquet(&batch(vec![labels(&[1.0]), ("a", array(StringArray::from(vec!["x"])))]), 1);
    let files = Files::new(&[("a.parquet", &numbers), ("b.parquet", &text)]);
    assert_eq!(
        files.read(&options("")),
        Err("b.parquet: column 'a' holds text, but numbers in a.parquet; use `category(a)` or `ignore(a)`, or give the files \
             one schema"
            .to_string())
    );
    assert_eq!(files.read(&options("category=a")), Ok(vec![row("1", &[("a=1", 1.0)]), row("1", &[("a=x", 1.0)])]));
}

/// Damages every byte of a file in several ways, and expects rows or an error each time.
fn damage(name: &str, bytes: &[u8]) {
    let mut errors = 0;
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= change;
            errors += usize::from(Files::new(&[(name, &damaged)]).read(&options("label=y")).is_err());
        }
    }
    assert!(errors > 0);
}

fn small_table() -> RecordBatch {
    let codes: DictionaryArray<Int32Type> = vec!["red", "blue"].into_iter().collect();
    batch(vec![
        labels(&[1.0, 2.0]),
        ("a", array(StringViewArray::from(vec!["x", "a longer text than fits"]))),
        ("b", array(codes)),
        ("c", floats(&[&[1.0], &[]])),
        ("d", pairs(("index", "value"), &[&[(1, 1.0)], &[]])),
    ])
}

#[test]
fn damaged_parquet_never_panics() {
    damage("t.parquet", &parquet(&small_table(), 10));
}

#[test]
fn damaged_ipc_never_panics() {
    damage("t.arrow", &ipc_file(&small_table(), 10, Some(CompressionType::ZSTD)));
    damage("t.arrow", &ipc_stream(&small_table(), 10, None));
}
