//! The parser of JSON lines: no bytes make it panic, what it accepts is as it promises, and what it refuses has a place
//! and a remedy.
use bolero::check;
use towline::input::json::JsonLines;
use towline::input::text::TextFormat;
use towline::input::{RowBatch, TableOptions, Unlabelled};
use towline_fuzz::{Executions, test_time};

/// Pieces that lines are made of: random bytes hardly ever make an object.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "\"y\":",
    "\"a\":",
    "\"b\":",
    ",",
    ",",
    "\n",
    "1",
    "-2.5e3",
    "null",
    "true",
    "\"x\"",
    "\"\\u00e9\"",
    "\"\\ud800\"",
    "\"2024-05-17\"",
    "{\"y\":1,\"a\":2}\n",
    "{\"y\":0,\"a\":\"x\",\"b\":[1,2]}\n",
    "{\"a\":{\"b\":",
    " ",
    "\\",
    "\"",
];

fn options(choice: u8) -> TableOptions {
    TableOptions {
        label: [None, Some("y".into()), Some("a.b".into())][choice as usize % 3].clone(),
        unlabelled: if choice / 3 % 2 == 1 { Unlabelled::Skip } else { Unlabelled::Keep },
        missing: if choice / 6 % 2 == 1 { vec!["x".into()] } else { Vec::new() },
        ..TableOptions::default()
    }
}

#[test]
fn json_lines() {
    let executions = Executions::default();
    check!().with_type::<(u8, Vec<u8>)>().with_test_time(test_time()).for_each(|(choice, bytes)| {
        executions.count();
        let piece = |&byte: &u8| PIECES[byte as usize % PIECES.len()].as_bytes();
        let text: Vec<u8> = if *choice < 224 { bytes.iter().flat_map(piece).copied().collect() } else { bytes.clone() };
        let format = JsonLines::new(options(*choice));
        let Ok((parser, header)) = format.parser("fuzz.jsonl", &text) else { return };
        assert!(header <= text.len());
        let rest = &text[header..];
        let mut batch = RowBatch::default();
        match parser.parse(rest, &mut batch) {
            Ok(()) => {
                assert_eq!(batch.keys.len(), batch.values.len());
                assert_eq!(batch.ends.last().copied().unwrap_or(0), batch.keys.len());
                assert!(batch.labels.len() == batch.rows());
                assert!(batch.values.iter().all(|value| value.is_finite() && *value != 0.0));
                assert!(batch.keys.iter().all(|&key| (key as usize) < batch.names.len()));
            }
            Err(error) => assert!(error.at <= rest.len() && !error.remedy.is_empty()),
        }
        let _ = (format.remarks(), parser.rows_bytes(rest));
    });
}
