//! The same table gives the same rows, whatever the format.
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use proptest::prelude::*;

use super::TableOptions;
use super::testing::{Files, options};
use super::testing_arrow::{batch, ipc_file, ipc_stream, parquet};
use crate::input::text::TextLimits;
use crate::schema::Kind;

/// Columns with names that need quotes, the first of which is the label.
#[derive(Clone, Debug)]
struct Table {
    text_label: bool,
    rows: Vec<Cells>,
}

/// The cells of a row: the label, then a number, a text and a number.
type Cells = (Result<f64, String>, Option<f64>, Option<String>, Option<f64>);

const NAMES: [&str; 4] = ["y", "size, in \"cm\"", "te\nxt", " blank "];

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        (-100i32..100).prop_map(f64::from),
        (-1_000_000i32..1_000_000).prop_map(|i| f64::from(i) / 1000.0),
        any::<f32>().prop_filter("finite", |value| value.is_finite()).prop_map(f64::from),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]", "[a-z ,;\t|\"\r\n]{1,12}", "[0-9.e-]{1,4}", "\\PC{1,6}"]
}

fn table() -> impl Strategy<Value = Table> {
    any::<bool>().prop_flat_map(|text_label| {
        let label = if text_label { text().prop_map(Err).boxed() } else { number().prop_map(Ok).boxed() };
        let cell =
            (label, proptest::option::of(number()), proptest::option::of(text()), proptest::option::of(number()));
        let table = (proptest::collection::vec(cell, 0..40), number(), text(), number());
        table.prop_map(move |(mut rows, size, word, blank)| {
            // A column without any cell is one of numbers in one format, and of nothing in another.
            if let Some(first) = rows.first_mut() {
                (first.1, first.2, first.3) = (Some(size), Some(word), Some(blank));
            }
            Table { text_label, rows }
        })
    })
}

impl Table {
    fn options(&self, delimiter: u8) -> TableOptions {
        let mut options = options("header=true label=y absent=marked");
        options.kinds = vec![(NAMES[2].into(), Kind::Category)];
        if self.text_label {
            options.kinds.push((NAMES[0].into(), Kind::Category));
        }
        options.delimiter = Some(delimiter);
        options
    }

    fn batch(&self) -> RecordBatch {
        let floats = |column: Vec<Option<f64>>| Arc::new(Float64Array::from(column)) as ArrayRef;
        let strings = |column: Vec<Option<String>>| Arc::new(StringArray::from(column)) as ArrayRef;
        let label = if self.text_label {
            strings(self.rows.iter().map(|row| row.0.clone().err()).collect())
        } else {
            floats(self.rows.iter().map(|row| row.0.clone().ok()).collect())
        };
        batch(vec![
            (NAMES[0], label),
            (NAMES[1], floats(self.rows.iter().map(|row| row.1).collect())),
            (NAMES[2], strings(self.rows.iter().map(|row| row.2.clone()).collect())),
            (NAMES[3], floats(self.rows.iter().map(|row| row.3).collect())),
        ])
    }

    /// The table as CSV; bits of `style` decide about quotes and line ends.
    fn csv(&self, delimiter: u8, mut style: u64) -> Vec<u8> {
        let mut flip = move || {
            style = style.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
            style >> 63 == 1
        };
        let mut records: Vec<[String; 4]> = vec![NAMES.map(String::from)];
        for (label, size, text, blank) in &self.rows {
            let label = label.clone().map_or_else(|text| text, |number| number.to_string());
            let number = |cell: &Option<f64>| cell.map_or(String::new(), |number| number.to_string());
            records.push([label, number(size), text.clone().unwrap_or_default(), number(blank)]);
        }
        let mut bytes = Vec::new();
        for (at, record) in records.iter().enumerate() {
            for (column, cell) in record.iter().enumerate() {
                if column > 0 {
                    bytes.push(delimiter);
                }
                let special = |c: char| c == delimiter as char || matches!(c, '"' | '\n');
                let blank = |c: char| matches!(c, ' ' | '\t' | '\r');
                if cell.contains(special) || cell.starts_with(blank) || cell.ends_with(blank) || flip() {
                    bytes.extend_from_slice(format!("\"{}\"", cell.replace('"', "\"\"")).as_bytes());
                } else {
                    bytes.extend_from_slice(cell.as_bytes());
                }
            }
            if at + 1 < records.len() || flip() {
                bytes.extend_from_slice(if flip() { b"\r\n" } else { b"\n" });
            }
        }
        bytes
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn all_formats_agree(
        table in table(),
        delimiter in prop_oneof![Just(b','), Just(b'\t'), Just(b';'), Just(b'|')],
        style: u64,
        piece_bytes in 1usize..300,
        threads in 1usize..=3,
        group_rows in 1usize..20,
    ) {
        let options = table.options(delimiter);
        let csv = Files::new(&[("t.csv", &table.csv(delimiter, style))]);
        let rows = csv.read(&options);
        prop_assert_eq!(rows.as_ref().map(Vec::len), Ok(table.rows.len()));
        prop_assert_eq!(&csv.read_csv_pieces(&options, TextLimits { threads, piece_bytes }), &rows);
        let batch = table.batch();
        for bytes in [
            parquet(&batch, group_rows),
            ipc_file(&batch, group_rows, Some(CompressionType::LZ4_FRAME)),
            ipc_stream(&batch, group_rows, None),
        ] {
            prop_assert_eq!(&Files::new(&[("t", &bytes)]).read(&options), &rows);
        }
    }
}
