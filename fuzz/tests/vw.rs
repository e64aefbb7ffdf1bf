//! The parser of Vowpal Wabbit's text: no bytes make it panic, what it accepts is as it promises, and it reads a text as
//! it reads its lines.
use bolero::check;
use towline::input::libsvm::Precision;
use towline::input::text::TextFormat;
use towline::input::vw::Vw;
use towline::input::{RowBatch, Unlabelled};
use towline_fuzz::{Executions, test_time};

/// Bytes that lines are made of.
const LETTERS: &[u8] = b"0123456789||||::::    ..--\n\n\n\r\t'eEabcn^\0\xff";

fn names(batch: &RowBatch) -> Vec<&[u8]> {
    batch.keys.iter().map(|&key| batch.names.get(key as usize)).collect()
}

#[test]
fn vw_text() {
    let executions = Executions::default();
    check!().with_type::<(u8, Vec<u8>)>().with_test_time(test_time()).for_each(|(choice, bytes)| {
        executions.count();
        let letter = |&byte: &u8| LETTERS[byte as usize % LETTERS.len()];
        let text: Vec<u8> = if *choice < 224 { bytes.iter().map(letter).collect() } else { bytes.clone() };
        let precision = [Precision::F32, Precision::F64][*choice as usize % 2];
        let unlabelled = [Unlabelled::Error, Unlabelled::Skip, Unlabelled::Keep][*choice as usize / 2 % 3];
        let format = Vw::new(precision, unlabelled);
        let (parser, _) = format.parser("fuzz.vw", &text).expect("any head will do");
        let (mut whole, mut parts) = (RowBatch::default(), RowBatch::default());
        let result = parser.parse(&text, &mut whole);
        let mut lines = text.split_inclusive(|&byte| byte == b'\n');
        let ended = lines.try_for_each(|line| parser.parse(line, &mut parts));
        assert_eq!(result.is_ok(), ended.is_ok());
        match result {
            Ok(()) => {
                assert_eq!((names(&whole), &whole.ends), (names(&parts), &parts.ends));
                assert!(whole.weights.is_empty() || whole.weights.len() == whole.rows());
                assert!(whole.values.iter().all(|&v| v != 0.0 && v.is_finite() && precision.round(v) == v));
            }
            Err(error) => assert!(error.at <= text.len() && !error.remedy.is_empty()),
        }
        let _ = (format.remarks(), parser.rows_bytes(&text));
    });
}
