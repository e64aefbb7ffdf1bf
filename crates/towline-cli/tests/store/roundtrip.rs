//! `cat` after `pack --keep-order` of a canonical file is that file.
use crate::workbench::Workbench;
use crate::workbench::random::{ALL_VALUES, Random, Table, Values};

/// Tables of every kind of values, thin and thick, dense and sparse, with groups and without.
fn tables() -> Vec<Table> {
    let mut tables = Vec::new();
    for values in ALL_VALUES {
        let sparse = Table { rows: 120, features: 50, row_values: 12, values, dense: false, groups: false };
        tables.push(sparse);
        tables.push(Table { features: 7, dense: true, ..sparse });
        tables.push(Table { features: u64::MAX, groups: true, ..sparse });
        tables.push(Table { rows: 3, features: 3000, row_values: 900, ..sparse });
    }
    tables
}

#[test]
fn a_canonical_file_comes_back_letter_by_letter() {
    let mut random = Random(1);
    for table in tables() {
        let bench = Workbench::new();
        let text = table.text(&mut random);
        bench.file("in.svm", &text);
        let precision = if table.values == Values::Doubles { "f64" } else { "f32" };
        for renumber in ["", "--no-renumber"] {
            for block_size in ["1k", "4M"] {
                let options = format!("--keep-order --precision {precision} --block-size {block_size} {renumber}");
                bench.ok(&format!("pack in.svm -o out.tow --force --quiet {options}"));
                assert_eq!(bench.ok("cat out.tow"), text, "{table:?} {options}");
                bench.ok("verify out.tow");
            }
        }
    }
}

#[test]
fn doubles_are_rounded_to_floats_unless_told_otherwise() {
    let bench = Workbench::new();
    bench.file("in.svm", "1 1:0.1 2:0.3333333333333333\n");
    bench.ok("pack in.svm -o single.tow --quiet");
    assert_eq!(bench.ok("cat single.tow"), "1 1:0.1 2:0.33333334\n");
    bench.ok("pack in.svm -o double.tow --quiet --precision f64");
    assert_eq!(bench.ok("cat double.tow"), "1 1:0.1 2:0.3333333333333333\n");
}

#[test]
fn the_largest_doubles_can_be_packed_and_read() {
    // Their squares and their sum are infinite, which no manifest can say.
    let bench = Workbench::new();
    let text = "1e308 1:1e200 2:-1e308\n1e308 1:5e-324\n".to_string();
    bench.file("in.svm", &text);
    bench.ok("pack in.svm -o out.tow --quiet --keep-order --precision f64");
    let read: Vec<f64> = numbers(&bench.ok("cat out.tow"));
    assert_eq!(read, numbers(&text));
    bench.ok("info out.tow");
}

fn numbers(text: &str) -> Vec<f64> {
    text.split([' ', ':', '\n']).filter(|word| !word.is_empty()).map(|word| word.parse().unwrap()).collect()
}

#[test]
fn a_row_limit_stops_in_the_middle_of_a_block() {
    let bench = Workbench::new();
    bench.file("in.svm", "1 1:1\n2 1:1\n3 1:1\n");
    bench.ok("pack in.svm -o out.tow --quiet --keep-order");
    assert_eq!(bench.ok("cat out.tow --rows 2"), "1 1:1\n2 1:1\n");
    assert_eq!(bench.ok("cat out.tow --rows 0"), "");
    assert_eq!(bench.ok("cat out.tow --rows 9"), "1 1:1\n2 1:1\n3 1:1\n");
}

#[test]
fn whoever_stops_reading_is_no_error() {
    let bench = Workbench::new();
    bench.file("in.svm", "1 1:1 2:2 3:3 4:4\n".repeat(20_000));
    bench.ok("pack in.svm -o out.tow --quiet");
    for verb in ["cat out.tow", "info out.tow", "info out.tow --json", "verify out.tow", "completions bash"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = bench.command(verb).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]), "{verb}");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = bench.command(verb).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let expected = "towline: cannot write to standard output: No space left on device (os error 28)\n";
        assert_eq!((output.status.code(), &stderr[..]), (Some(1), expected), "{verb}");
    }
}
