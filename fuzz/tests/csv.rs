//! The parser of CSV: no bytes make it panic, what it accepts is as it promises, and what it refuses has a place and a
//! remedy.
use bolero::check;
use towline::input::csv::Csv;
use towline::input::text::TextFormat;
use towline::input::{RowBatch, TableOptions, Unlabelled};
use towline_fuzz::{Executions, test_time};

/// Bytes that tables are made of.
const LETTERS: &[u8] = b"0123456789,,,,,,;;\t\t\"\"\n\n\n\r..--eEabyNA nan \0\xff";

fn options(choice: u8) -> TableOptions {
    TableOptions {
        label: [None, Some("y".into()), Some("1".into())][choice as usize % 3].clone(),
        header: [None, Some(true), Some(false)][choice as usize / 3 % 3],
        unlabelled: if choice / 9 % 2 == 1 { Unlabelled::Skip } else { Unlabelled::default() },
        missing: if choice / 18 % 2 == 1 { vec!["NA".into()] } else { Vec::new() },
        ..TableOptions::default()
    }
}

#[test]
fn csv_text() {
    let executions = Executions::default();
    check!().with_type::<(u8, Vec<u8>)>().with_test_time(test_time()).for_each(|(choice, bytes)| {
        executions.count();
        let letter = |&byte: &u8| LETTERS[byte as usize % LETTERS.len()];
        let mut text: Vec<u8> = if *choice < 224 { bytes.iter().map(letter).collect() } else { bytes.clone() };
        if choice % 2 == 1 {
            text.splice(0..0, *b"y,a,b\n");
        }
        let format = Csv::new(options(*choice));
        let Ok((parser, header)) = format.parser("fuzz.csv", &text) else { return };
        assert!(header <= text.len());
        let rest = &text[header..];
        assert!(parser.whole_records(rest) <= rest.len());
        let mut batch = RowBatch::default();
        match parser.parse(rest, &mut batch) {
            Ok(()) => {
                assert_eq!(batch.keys.len(), batch.values.len());
                assert_eq!(batch.ends.last().copied().unwrap_or(0), batch.keys.len());
                assert!(batch.labels.len() == batch.rows());
                assert!(batch.values.iter().all(|value| value.is_finite() && *value != 0.0));
            }
            Err(error) => assert!(error.at <= rest.len() && !error.remedy.is_empty()),
        }
        let _ = format.remarks();
    });
}
