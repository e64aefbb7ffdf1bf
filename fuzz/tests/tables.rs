//! The readers of Parquet and Arrow: a footer, a schema, a page or a message that was changed never makes them panic or
//! take more than their budget, and what they accept is as they promise.
use bolero::check;
use towline::budget::Budget;
use towline::input::arrow::is_decoding;
use towline::input::{Input, Progress, ReadOptions, RowBatch, TableOptions, open};
use towline_fuzz::{Edit, Executions, scratch, test_time};

/// Small tables: plain, with words, with lists, with delta encodings, of rows of one length; packed in different ways.
const TABLES: [&[u8]; 8] = [
    include_bytes!("tables/plain.parquet"),
    include_bytes!("tables/words.parquet"),
    include_bytes!("tables/lists.parquet"),
    include_bytes!("tables/delta.parquet"),
    include_bytes!("tables/fixed.parquet"),
    include_bytes!("tables/plain.arrow"),
    include_bytes!("tables/words.arrows"),
    include_bytes!("tables/lists.arrows"),
];

/// How many rows are in a file, if it can be read.
fn rows(path: &std::path::Path) -> Option<usize> {
    let table = TableOptions { label: Some("y".into()), ..TableOptions::default() };
    let options = ReadOptions { table, threads: 1, ..ReadOptions::default() };
    let input = Input::File(path.to_path_buf());
    let mut source = open(&[input], &options, &Budget::new(16 << 20), &Progress::new(None)).ok()?;
    let (mut batch, mut rows) = (RowBatch::default(), 0);
    while source.next_batch(&mut batch).ok()? {
        assert_eq!(batch.keys.len(), batch.values.len());
        assert_eq!(batch.ends.last().copied().unwrap_or(0), batch.keys.len());
        assert!(batch.labels.len() == batch.rows());
        assert!(batch.keys.iter().all(|&key| batch.names.is_empty() || (key as usize) < batch.names.len()));
        assert!(batch.values.iter().all(|value| value.is_finite() && *value != 0.0));
        rows += batch.rows();
    }
    Some(rows)
}

#[test]
fn table_bytes() {
    let folder = scratch();
    let path = folder.path().join("table");
    for table in TABLES {
        std::fs::write(&path, table).expect("a file");
        assert_eq!(rows(&path), Some(12), "a right table");
    }
    // Panics of decoders are caught, and need not be told.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_decoding() {
            hook(info)
        }
    }));
    let executions = Executions::default();
    check!().with_type::<(u8, Vec<Edit>, bool)>().with_test_time(test_time()).for_each(|(which, edits, at_end)| {
        executions.count();
        let mut bytes = TABLES[*which as usize % TABLES.len()].to_vec();
        // The footer of Parquet is at the end, and is all that many changes get to.
        let from = if *at_end { bytes.len().saturating_sub(400) } else { 0 };
        let mut end = bytes.split_off(from);
        edits.iter().take(4).for_each(|edit| edit.apply(&mut end));
        bytes.append(&mut end);
        std::fs::write(&path, &bytes).expect("a file");
        rows(&path);
    });
}

/// A file of 648 bytes that says it has 25,769,803,788 rows of no columns.
#[test]
fn rows_without_columns_are_refused() {
    let folder = scratch();
    let path = folder.path().join("table");
    std::fs::write(&path, include_bytes!("tables/rows-without-columns.arrows")).expect("a file");
    assert_eq!(rows(&path), None);
}
