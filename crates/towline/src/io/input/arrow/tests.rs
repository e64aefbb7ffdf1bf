use std::sync::Arc;

use arrow_array::builder::*;
use arrow_array::types::*;
use arrow_array::*;
use arrow_ipc::CompressionType;
use arrow_schema::*;

use super::ArrowSource;
use crate::budget::Budget;
use crate::input::table::testing::{Files, PlainRow, options, read_all, row};
use crate::input::table::testing_arrow::{batch, gzip, ipc_file, ipc_stream, parquet};

pub(super) fn array(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// Reads a batch in each format and makes sure that all give the same.
pub(super) fn read(words: &str, batch: &RecordBatch) -> Result<Vec<PlainRow>, String> {
    let formats = [
        ("t.arrow", ipc_file(batch, 2, None)),
        ("t.arrow", ipc_stream(batch, 2, Some(CompressionType::ZSTD))),
        ("t.arrow", ipc_file(batch, 3, Some(CompressionType::LZ4_FRAME))),
        ("t.arrow", gzip(&ipc_file(batch, 1, None))),
        ("t.arrow", parquet(batch, 2)),
        ("t.arrow", gzip(&parquet(batch, 2))),
    ];
    let results = formats.map(|(name, bytes)| Files::new(&[(name, &bytes)]).read(&options(words)));
    assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    results.into_iter().next().unwrap()
}

pub(super) fn labels(values: &[f64]) -> (&'static str, ArrayRef) {
    ("y", array(Float64Array::from(values.to_vec())))
}

#[test]
fn every_simple_type_is_a_number_or_text() {
    let decimals = Decimal128Array::from(vec![150, -25]).with_precision_and_scale(10, 2).unwrap();
    let codes: DictionaryArray<Int32Type> = vec![Some("red"), None].into_iter().collect();
    let table = batch(vec![
        labels(&[1.0, 0.0]),
        ("i8", array(Int8Array::from(vec![Some(-3), None]))),
        ("u64", array(UInt64Array::from(vec![1 << 40, 0]))),
        ("f32", array(Float32Array::from(vec![0.1, -0.0]))),
        ("bool", array(BooleanArray::from(vec![true, false]))),
        ("decimal", array(decimals)),
        ("date32", array(Date32Array::from(vec![1, 2]))),
        ("ms", array(TimestampMillisecondArray::from(vec![1500, 0]))),
        ("ns", array(TimestampNanosecondArray::from(vec![2_000_000_000, 0]).with_timezone("UTC"))),
        ("time", array(Time64MicrosecondArray::from(vec![2_500_000, 0]))),
        ("utf8", array(StringArray::from(vec![Some("a"), Some("")]))),
        ("large", array(LargeStringArray::from(vec!["b", "c"]))),
        ("view", array(StringViewArray::from(vec!["a longer text than fits", "NA"]))),
        ("code", array(codes)),
        ("null", array(NullArray::new(2))),
    ]);
    let first = row(
        "1",
        &[
            ("i8", -3.0),
            ("u64", (1u64 << 40) as f64),
            ("f32", f64::from(0.1f32)),
            ("bool", 1.0),
            ("decimal", 1.5),
            ("date32.days", 1.0),
            ("date32.month=1", 1.0),
            ("date32.weekday=Fri", 1.0),
            ("ms.days", f64::from((1.5 / 86_400.0) as f32)),
            ("ms.month=1", 1.0),
            ("ms.weekday=Thu", 1.0),
            ("ms.hour=0", 1.0),
            ("ns.days", f64::from((2.0 / 86_400.0) as f32)),
            ("ns.month=1", 1.0),
            ("ns.weekday=Thu", 1.0),
            ("ns.hour=0", 1.0),
            ("time", 2.5),
            ("utf8=a", 1.0),
            ("large=b", 1.0),
            ("view=a longer text than fits", 1.0),
            ("code=red", 1.0),
        ],
    );
    let date = [("date32.days", 2.0), ("date32.month=1", 1.0), ("date32.weekday=Sat", 1.0)];
    let began = ["ms.month=1", "ms.weekday=Thu", "ms.hour=0", "ns.month=1", "ns.weekday=Thu", "ns.hour=0"];
    let began = began.map(|name| (name, 1.0));
    let second = row("0", &[&[("decimal", -0.25)], &date[..], &began[..], &[("large=c", 1.0)]].concat());
    assert_eq!(read("missing=NA absent=zero", &table), Ok(vec![first, second]));
}

#[test]
fn types_that_parquet_does_not_keep() {
    let table = batch(vec![
        labels(&[1.0]),
        ("date64", array(Date64Array::from(vec![86_400_000 * 3 / 2]))),
        ("duration", array(DurationMillisecondArray::from(vec![250]))),
        ("half", array(Float16Array::from(vec![half(1.5)]))),
    ]);
    let rows = Files::new(&[("t.arrow", &ipc_stream(&table, 1, None))]).read(&options(""));
    assert_eq!(
        rows,
        Ok(vec![row(
            "1",
            &[
                ("date64.days", 1.5),
                ("date64.month=1", 1.0),
                ("date64.weekday=Fri", 1.0),
                ("duration", 0.25),
                ("half", 1.5)
            ]
        )])
    );
}

/// A half-precision number, whose crate is not a dependency of its own.
fn half(value: f32) -> <Float16Type as ArrowPrimitiveType>::Native {
    <Float16Type as ArrowPrimitiveType>::Native::from_f32(value)
}

#[test]
fn parts_and_text_on_demand() {
    let classes: DictionaryArray<Int8Type> = vec!["no", "yes", "no"].into_iter().collect();
    let table = batch(vec![
        ("class", array(classes)),
        ("w", array(Int32Array::from(vec![1, 2, 3]))),
        ("q", array(Int64Array::from(vec![i64::MAX, 7, 7]))),
        ("zip", array(Int32Array::from(vec![Some(8001), None, Some(8002)]))),
        ("day", array(Date32Array::from(vec![0, 1, 365]))),
        ("blob", array(BinaryArray::from(vec![&b"x"[..], b"", b"y"]))),
    ]);
    let rows = read("weight=w group=q category=zip category=day ignore=blob", &table).unwrap();
    let entries = |names: &[&str]| names.iter().map(|name| (name.to_string(), 1.0)).collect::<Vec<_>>();
    let expected = [
        ("no", entries(&["zip=8001", "day=1970-01-01"]), 1.0, i64::MAX as u64),
        ("yes", entries(&["zip=", "day=1970-01-02"]), 2.0, 7),
        ("no", entries(&["zip=8002", "day=1971-01-01"]), 3.0, 7),
    ];
    let expected = expected.map(|(label, entries, weight, group)| PlainRow {
        label: label.to_string(),
        entries,
        weight: Some(weight),
        group: Some(group),
    });
    assert_eq!(rows, expected);
    let hashed = read("group=zip category=zip ignore=blob ignore=q unlabelled=keep", &table.slice(0, 1)).unwrap();
    assert_eq!(hashed[0].group, Some(xxhash_rust::xxh3::xxh3_64(b"8001")));
}

#[test]
fn lists_of_numbers() {
    let lists = || vec![Some(vec![Some(1.0), None, Some(3.0)]), None, Some(vec![Some(0.0), Some(5.0)])];
    let table = batch(vec![
        labels(&[1.0, 2.0, 3.0]),
        ("a", array(ListArray::from_iter_primitive::<Float32Type, _, _>(lists()))),
        ("b", array(LargeListArray::from_iter_primitive::<Float32Type, _, _>(lists()))),
        (
            "c",
            array(FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
                [Some(vec![Some(1), Some(2)]), None, Some(vec![None, Some(4)])],
                2,
            )),
        ),
    ]);
    let expected = vec![
        row("1", &[("a[0]", 1.0), ("a[2]", 3.0), ("b[0]", 1.0), ("b[2]", 3.0), ("c[0]", 1.0), ("c[1]", 2.0)]),
        row("2", &[]),
        row("3", &[("a[1]", 5.0), ("b[1]", 5.0), ("c[1]", 4.0)]),
    ];
    assert_eq!(read("", &table), Ok(expected));
}

/// A column of lists of pairs, with the given names of their fields.
pub(super) fn pairs(names: (&str, &str), rows: &[&[(i32, f64)]]) -> ArrayRef {
    let flat: Vec<(i32, f64)> = rows.concat();
    let fields =
        Fields::from(vec![Field::new(names.0, DataType::Int32, true), Field::new(names.1, DataType::Float64, true)]);
    let indices = array(Int32Array::from_iter_values(flat.iter().map(|&(index, _)| index)));
    let values = array(Float64Array::from_iter_values(flat.iter().map(|&(_, value)| value)));
    let items = StructArray::new(fields.clone(), vec![indices, values], None);
    let offsets = arrow_buffer::OffsetBuffer::from_lengths(rows.iter().map(|row| row.len()));
    array(ListArray::new(Arc::new(Field::new("item", DataType::Struct(fields), true)), offsets, array(items), None))
}

pub(super) fn integers(rows: &[&[i64]]) -> ArrayRef {
    let row = |row: &&[i64]| Some(row.iter().map(|&value| Some(value)).collect::<Vec<_>>());
    array(ListArray::from_iter_primitive::<Int64Type, _, _>(rows.iter().map(row)))
}

pub(super) fn floats(rows: &[&[f64]]) -> ArrayRef {
    let row = |row: &&[f64]| Some(row.iter().map(|&value| Some(value)).collect::<Vec<_>>());
    array(LargeListArray::from_iter_primitive::<Float64Type, _, _>(rows.iter().map(row)))
}

#[test]
fn sparse_lists() {
    let words = {
        let mut words = MapBuilder::new(None, StringBuilder::new(), Float64Builder::new());
        words.keys().append_value("two");
        words.values().append_value(2.0);
        words.append(true).unwrap();
        words.append(false).unwrap();
        words.finish()
    };
    let table = batch(vec![
        labels(&[1.0, 2.0]),
        ("a", pairs(("index", "value"), &[&[(7, 0.5), (3, 1.0)], &[]])),
        ("b", pairs(("key", "value"), &[&[], &[(0, 2.0), (1, 0.0)]])),
        ("c_indices", integers(&[&[5], &[6, 1]])),
        ("c_values", floats(&[&[0.25], &[1.0, 2.0]])),
        ("values", floats(&[&[1.0], &[]])),
        ("indices", integers(&[&[9], &[]])),
        ("words", array(words)),
        ("d_indices", integers(&[&[4], &[]])),
    ]);
    let expected = vec![
        row(
            "1",
            &[
                ("a[7]", 0.5),
                ("a[3]", 1.0),
                ("c[5]", 0.25),
                ("features[9]", 1.0),
                ("words[two]", 2.0),
                ("d_indices[0]", 4.0),
            ],
        ),
        row("2", &[("b[0]", 2.0), ("c[6]", 1.0), ("c[1]", 2.0)]),
    ];
    assert_eq!(read("", &table), Ok(expected));
}

#[test]
fn batches_of_another_program() {
    let table = batch(vec![labels(&[1.0, 2.0]), ("a", array(Int32Array::from(vec![5, 6])))]);
    let batches = vec![Ok(table.slice(0, 1)), Ok(table.slice(1, 1))];
    let reader = Box::new(RecordBatchIterator::new(batches, table.schema()));
    let mut source =
        ArrowSource::from_reader("the data frame", reader, &options("label=y"), &Budget::unlimited()).unwrap();
    assert_eq!(read_all(&mut source).unwrap(), [row("1", &[("a", 5.0)]), row("2", &[("a", 6.0)])]);
}

#[test]
fn many_rows_come_in_small_batches_within_the_budget() {
    let rows = 300_000;
    let table = batch(vec![
        ("y", array(Float32Array::from_iter_values((0..rows).map(|i| i as f32)))),
        ("a", array(StringArray::from_iter_values((0..rows).map(|i| (i % 1000).to_string())))),
    ]);
    for bytes in [parquet(&table, 100_000), ipc_stream(&table, 10_000, Some(CompressionType::ZSTD))] {
        let budget = Budget::new(16 << 20);
        let (read, _) = Files::new(&[("t", &bytes)]).read_within(&options(""), &budget).unwrap();
        assert_eq!(read.len(), rows as usize);
        assert!(read.iter().enumerate().all(|(i, row)| row.label == i.to_string()));
        assert!(budget.peak_bytes() > 0);
        assert_eq!(budget.holders().iter().map(|(_, bytes)| bytes).sum::<u64>(), 0);
    }
    let refused = Files::new(&[("t", &ipc_stream(&table, rows as usize, None))])
        .read_within(&options(""), &Budget::new(1 << 20))
        .unwrap_err();
    assert!(
        refused.starts_with("t: the memory budget of 1048576 bytes is too small: Arrow messages needs"),
        "{refused}"
    );
}

#[test]
fn strings_are_what_they_look_like() {
    let texts = |of: &dyn Fn(usize) -> String| array(StringArray::from_iter_values((0..60).map(of)));
    let table = batch(vec![
        labels(&[1.0; 60]),
        ("price", texts(&|k| format!("${},{:03}.50", 1 + k % 3, k))),
        ("day", texts(&|k| format!("2024-05-{:02}", 1 + k % 28))),
        ("member", texts(&|k| ["no", "yes"][k % 2].to_string())),
        ("body", texts(&|k| format!("this was visit number {k} to a shop"))),
        ("code", texts(&|k| (k % 3).to_string())),
        ("key", texts(&|k| format!("k{:x}", k * 7919))),
    ]);
    let word = f64::from((1.0 / 6f64.sqrt()) as f32);
    let first = row(
        "1",
        &[
            ("price", 1000.5),
            ("day.days", 19_844.0),
            ("day.month=5", 1.0),
            ("day.weekday=Wed", 1.0),
            ("body:this", word),
            ("body:was", word),
            ("body:visit", word),
            ("body:number", word),
            ("body:to", word),
            ("body:shop", word),
            ("code=0", 1.0),
        ],
    );
    assert_eq!(read("label=y", &table).unwrap()[0], first);
    // A second file is read as the first one, and the budget decides nothing.
    let (bytes, few) = (parquet(&table, 7), parquet(&table.slice(0, 3), 7));
    for budget in [Budget::unlimited(), Budget::new(8 << 20)] {
        let files = Files::new(&[("t.parquet", &bytes), ("u.parquet", &few)]);
        let (rows, remarks) = files.read_within(&options("label=y"), &budget).unwrap();
        assert_eq!((rows.len(), &rows[60]), (63, &first));
        assert!(remarks.iter().any(|remark| remark.starts_with("column 'key' is left out")), "{remarks:?}");
    }
}
