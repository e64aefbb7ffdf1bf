//! The parser of libsvm text: no bytes make it panic, what it accepts is as it promises, and it reads a text as it
//! reads its lines.
use bolero::check;
use towline::input::RowBatch;
use towline::input::libsvm::{Duplicates, IndexBase, Libsvm, LibsvmOptions, Precision};
use towline::input::text::{LineError, TextFormat};
use towline_fuzz::{Executions, test_time};

/// Bytes that lines are made of, and some that they are not made of: random bytes hardly ever make a number.
const LETTERS: &[u8] = b"0123456789012345678901234567890123456789::::::....  \t\n\n\r--++eEqid#nanif,\0\xff";

fn options(choice: u8) -> LibsvmOptions {
    LibsvmOptions {
        index_base: [IndexBase::Auto, IndexBase::Zero, IndexBase::One][choice as usize % 3],
        duplicates: [Duplicates::Error, Duplicates::Sum, Duplicates::Last][choice as usize / 3 % 3],
        precision: [Precision::F32, Precision::F64][choice as usize / 9 % 2],
        skip_groups: choice / 18 % 2 == 1,
    }
}

fn parse(format: &Libsvm, text: &[u8], batch: &mut RowBatch) -> Result<(), LineError> {
    let (parser, header) = format.parser("fuzz.svm", text).expect("any head will do");
    parser.parse(&text[header..], batch)
}

fn check_rows(batch: &RowBatch, precision: Precision) {
    assert_eq!(batch.keys.len(), batch.values.len());
    assert_eq!(batch.ends.last().copied().unwrap_or(0), batch.keys.len());
    assert!(batch.groups.is_empty() || batch.groups.len() == batch.rows());
    assert!(batch.labels.len() == batch.rows() && batch.labels.iter().all(|label| label.is_finite()));
    for i in 0..batch.rows() {
        let range = batch.range(i);
        assert!(batch.keys[range.clone()].is_sorted_by(|a, b| a < b), "ascending, and none twice");
        assert!(batch.values[range].iter().all(|&v| v != 0.0 && v.is_finite() && precision.round(v) == v));
    }
}

#[test]
fn libsvm_text() {
    let executions = Executions::default();
    check!().with_type::<(u8, Vec<u8>)>().with_test_time(test_time()).for_each(|(choice, bytes)| {
        executions.count();
        let options = options(*choice);
        // The high bit of the choice: bytes as they are, or as letters.
        let letter = |&byte: &u8| LETTERS[byte as usize % LETTERS.len()];
        let text: Vec<u8> = if *choice < 224 { bytes.iter().map(letter).collect() } else { bytes.clone() };
        let format = Libsvm::new(options);
        let mut whole = RowBatch::default();
        let result = parse(&format, &text, &mut whole);
        let mut parts = RowBatch::default();
        let mut ended = Ok(());
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            ended = parse(&format, line, &mut parts);
            if ended.is_err() {
                break;
            }
        }
        assert_eq!(result.is_ok(), ended.is_ok(), "{text:?}");
        match result {
            Ok(()) => {
                check_rows(&whole, options.precision);
                assert_eq!((&whole.keys, &whole.ends, &whole.labels), (&parts.keys, &parts.ends, &parts.labels));
                let bits = |batch: &RowBatch| batch.values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&whole), bits(&parts));
            }
            Err(error) => assert!(error.at <= text.len() && !error.remedy.is_empty()),
        }
        let _ = format.remarks();
    });
}
