use super::*;
use crate::input::libsvm::{Libsvm, LibsvmOptions};
use proptest::prelude::*;
use std::io::Write;

/// Label and entries of a row.
type PlainRow = (f64, u64, Vec<(u64, f64)>);

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(".svm").tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// All rows of `files`, or the rows before the first error and the error without its folder.
fn read(
    files: &[&tempfile::NamedTempFile],
    limits: TextLimits,
    budget: &Budget,
) -> (Vec<PlainRow>, Result<(), InputError>) {
    let inputs = files.iter().map(|file| Input::File(file.path().to_path_buf())).collect();
    let format = Arc::new(Libsvm::new(LibsvmOptions::default()));
    let mut source = match TextSource::new(format, inputs, limits, budget, &Progress::default()) {
        Ok(source) => source,
        Err(source) => return (Vec::new(), Err(InputError::Budget { file: String::new(), source })),
    };
    let (mut rows, mut batch) = (Vec::new(), RowBatch::default());
    loop {
        match source.next_batch(&mut batch) {
            Ok(true) => {}
            Ok(false) => return (rows, Ok(())),
            Err(error) => return (rows, Err(error)),
        }
        for i in 0..batch.rows() {
            let range = batch.range(i);
            let entries = batch.keys[range.clone()].iter().copied().zip(batch.values[range].iter().copied());
            rows.push((batch.labels[i], batch.groups.get(i).copied().unwrap_or(0), entries.collect()));
        }
    }
}

fn place(error: &InputError) -> (&Place, &str) {
    match error {
        InputError::Bad { place, problem, .. } => (place, problem),
        other => panic!("{other}"),
    }
}

/// Pieces much larger than any text of these tests.
const WHOLE: TextLimits = TextLimits { threads: 1, piece_bytes: 1 << 16 };

/// Lines of very different lengths, the long ones longer than most pieces; `bad` makes one of them wrong.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let entries = prop_oneof![4 => 0usize..4, 1 => 20usize..60];
    let line = (entries, 0u8..6, -9i32..9).prop_map(|(entries, kind, label)| match kind {
        0 => String::new(),
        1 => format!("# {label}"),
        2 => format!("{label} qid:{}\r", entries + 1),
        _ => {
            let entries: String = (1..=entries).map(|k| format!(" {k}:{}", k as i32 * label + 100)).collect();
            format!("{label}{entries}")
        }
    });
    proptest::collection::vec(line, 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn pieces_and_threads_do_not_change_rows_or_their_order(
        lines in lines(), piece_bytes in prop_oneof![1usize..12, 1usize..400], threads in 1usize..=4, final_newline: bool,
    ) {
        let text = lines.join("\n") + if final_newline { "\n" } else { "" };
        let file = file(&text);
        let (expected, whole) = read(&[&file], WHOLE, &Budget::unlimited());
        prop_assert!(whole.is_ok());
        let limits = TextLimits { threads, piece_bytes };
        let (rows, ended) = read(&[&file], limits, &Budget::unlimited());
        prop_assert!(ended.is_ok());
        prop_assert_eq!(rows, expected);
    }

    #[test]
    fn an_error_has_its_line_and_column_whatever_the_piece(
        lines in lines(), at: prop::sample::Index, piece_bytes in prop_oneof![1usize..12, 1usize..400], threads in 1usize..=4,
    ) {
        let mut lines = lines;
        let bad = at.index(lines.len() + 1);
        lines.insert(bad, "+1 1:1 2:oops".into());
        // What comes after the first error must not hide it, even if it is parsed sooner.
        lines.push("worse".into());
        let file = file(&lines.join("\n"));
        let (rows, error) = read(&[&file], TextLimits { threads, piece_bytes }, &Budget::unlimited());
        let error = error.unwrap_err();
        prop_assert_eq!(place(&error), (&Place::Line(bad as u64 + 1, Some(10)), "expected a number after the colon in '2:oops'"));
        let before = lines[..bad].join("\n");
        let (expected, _) = read(&[&self::file(&before)], WHOLE, &Budget::unlimited());
        prop_assert!(expected.starts_with(&rows), "only rows of lines before the error come out");
    }
}

#[test]
fn several_files_come_one_after_the_other_and_lines_count_anew() {
    let (first, second) = (file("1 1:1\n2 2:2"), file("3 3:3\n4 4:x\n"));
    let (rows, error) = read(&[&first, &second], TextLimits { threads: 2, piece_bytes: 4 }, &Budget::unlimited());
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
    let error = error.unwrap_err();
    assert_eq!(place(&error).0, &Place::Line(2, Some(5)));
    assert!(error.to_string().starts_with(&second.path().display().to_string()));
}

#[test]
fn a_missing_file_comes_after_the_rows_before_it() {
    let (first, gone) = (file("1 1:1\n"), file(""));
    std::fs::remove_file(gone.path()).unwrap();
    let (rows, error) = read(&[&first, &gone], WHOLE, &Budget::unlimited());
    assert_eq!(rows.len(), 1);
    assert!(matches!(error, Err(InputError::Io { action: "open it", .. })));
}

#[test]
fn a_long_record_is_paid_for_or_refused() {
    let text: String = "1 1:1\n2".to_string() + &(1..5000).map(|k| format!(" {k}:1")).collect::<String>() + "\n3 1:1\n";
    let file = file(&text);
    let limits = TextLimits { threads: 2, piece_bytes: 64 };
    let roomy = Budget::new(1 << 20);
    let (rows, ended) = read(&[&file], limits, &roomy);
    assert!(ended.is_ok());
    assert_eq!(rows.iter().map(|row| row.2.len()).collect::<Vec<_>>(), [1, 4999, 1]);
    assert!(roomy.peak_bytes() > text.len() as u64 + 4999 * 16, "text and rows are both held for a moment");
    assert_eq!(roomy.free_bytes(), roomy.limit_bytes(), "all of it comes back");

    let tight = Budget::new(64 << 10);
    let (_, refused) = read(&[&file], limits, &tight);
    assert!(matches!(refused, Err(InputError::Budget { .. })));
    assert_eq!(tight.free_bytes(), tight.limit_bytes());
}

#[test]
fn the_batch_that_the_consumer_holds_stays_paid_for() {
    let text: String = "2".to_string() + &(1..5000).map(|k| format!(" {k}:1")).collect::<String>() + "\n3 1:1\n4 1:1\n";
    let file = file(&text);
    let budget = Budget::new(1 << 20);
    let format = Arc::new(Libsvm::new(LibsvmOptions::default()));
    let inputs = vec![Input::File(file.path().to_path_buf())];
    let limits = TextLimits { threads: 1, piece_bytes: 64 };
    let mut source = TextSource::new(format, inputs, limits, &budget, &Progress::default()).unwrap();
    let mut batch = RowBatch::default();
    assert!(source.next_batch(&mut batch).unwrap());
    assert!(batch.values.len() >= 4999);
    let held = budget.limit_bytes() - budget.free_bytes();
    assert!(
        held >= batch.capacity_bytes(),
        "{held} bytes are paid for, the batch alone has {}",
        batch.capacity_bytes()
    );
}

#[test]
fn dropping_the_source_in_the_middle_ends_its_threads() {
    let file = file(&"1 1:1 2:2\n".repeat(1000));
    let budget = Budget::new(1 << 20);
    let format = Arc::new(Libsvm::new(LibsvmOptions::default()));
    let inputs = vec![Input::File(file.path().to_path_buf())];
    let limits = TextLimits { threads: 3, piece_bytes: 32 };
    let mut source = TextSource::new(format, inputs, limits, &budget, &Progress::default()).unwrap();
    assert!(source.next_batch(&mut RowBatch::default()).unwrap());
    drop(source);
    assert_eq!(budget.free_bytes(), budget.limit_bytes());
}
