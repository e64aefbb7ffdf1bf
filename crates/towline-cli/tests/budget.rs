//! `--memory` is kept: the process never has more in memory.

use std::fs::File;
use std::io::{BufWriter, Write};

use crate::workbench::random::Random;
use crate::workbench::{Workbench, program_bytes};

const MIB: u64 = 1 << 20;

/// Packs within `mebibytes` beside the program itself, and holds the peak against both.
fn pack(bench: &Workbench, mebibytes: u64, arguments: &str) -> serde_json::Value {
    let text = bench.ok(&format!("pack {arguments} -o out.tow --force --json --threads 2 --memory +{mebibytes}M"));
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let peak = summary["peak_memory_bytes"].as_u64().unwrap();
    println!("{arguments}: a budget of {mebibytes} MiB, a peak of {} MiB", peak / MIB);
    let budget = mebibytes * MIB + program_bytes();
    assert!(peak <= budget, "{arguments}: {peak} bytes with a budget of {budget}, {mebibytes} MiB of it for data");
    summary
}

/// A part of a large file: 4 MiB of rows with 50 of 20,000 features each.
fn part() -> Vec<u8> {
    let mut random = Random(41);
    let mut text = Vec::new();
    while (text.len() as u64) < 4 * MIB {
        text.extend_from_slice([&b"1"[..], b"-1"][random.below(2) as usize]);
        let mut index = 0;
        for _ in 0..50 {
            index += 1 + random.below(399);
            write!(text, " {index}:{}", random.below(10_000) as f32 / 10_000.0 + 0.0001).unwrap();
        }
        text.push(b'\n');
    }
    text
}

/// The budget of the large files, and how many times larger they are.
const SMALL_MIB: u64 = 12;
const TIMES: u64 = 10;

/// A file of ten times the budget. It is the same part again and again; nothing in the program could profit from that.
fn large_file(bench: &Workbench, name: &str, part: &[u8], plain_bytes: u64) {
    let mut out = BufWriter::new(File::create(bench.path(name)).unwrap());
    for _ in 0..(TIMES * SMALL_MIB * MIB).div_ceil(plain_bytes) {
        out.write_all(part).unwrap();
    }
    out.flush().unwrap();
}

#[test]
fn a_file_of_ten_times_the_budget() {
    let bench = Workbench::new();
    let part = part();
    large_file(&bench, "large.svm", &part, part.len() as u64);
    for options in ["", "--keep-order", "--scale minmax"] {
        let summary = pack(&bench, SMALL_MIB, &format!("large.svm {options}"));
        assert_eq!(summary["values"].as_u64().unwrap() % 50, 0);
        assert!(summary["input_bytes"].as_u64().unwrap() >= TIMES * SMALL_MIB * MIB);
    }
}

#[test]
fn an_archive_of_ten_times_the_budget() {
    let bench = Workbench::new();
    let part = part();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&part).unwrap();
    // An archive may have several members, one after the other.
    large_file(&bench, "large.svm.gz", &gzip.finish().unwrap(), part.len() as u64);
    pack(&bench, SMALL_MIB, "large.svm.gz");
}

#[test]
fn rows_of_nothing_but_a_label() {
    // The worst of what text can be: every two bytes are a row.
    let bench = Workbench::new();
    bench.file("labels.svm", "1\n0\n".repeat(3 << 20));
    // With the larger budget threads free much, which the process must give back.
    for (mebibytes, options) in [(SMALL_MIB, ""), (SMALL_MIB, "--keep-order"), (64, ""), (64, "--keep-order")] {
        pack(&bench, mebibytes, &format!("labels.svm {options}"));
    }
}

#[test]
fn a_row_of_a_million_values() {
    let bench = Workbench::new();
    let mut text = String::from("1 1:1\n-1");
    (1..=1_000_000).for_each(|k| text += &format!(" {k}:{}", (k % 1000) as f32 / 8.0 + 1.0));
    text += "\n1 7:1\n";
    bench.file("long.svm", &text);
    for options in ["", "--keep-order", "--scale rows"] {
        let summary = pack(&bench, 192, &format!("long.svm {options}"));
        assert_eq!(summary["values"], 1_000_002);
    }
    bench.ok("verify out.tow --memory 64M");
}

#[test]
fn many_rows_that_are_longer_than_a_piece_of_text_wait_for_each_other() {
    let bench = Workbench::new();
    let row = "1".to_string() + &(1..=50_000).map(|k| format!(" {k}:0.5")).collect::<String>() + "\n";
    bench.file("long.svm", row.repeat(60));
    let summary = pack(&bench, 32, "long.svm");
    assert_eq!(summary["rows"], 60);
}

#[test]
fn two_million_distinct_features() {
    let bench = Workbench::new();
    let mut random = Random(42);
    let mut out = BufWriter::new(File::create(bench.path("hashed.svm")).unwrap());
    for _ in 0..40_000 {
        write!(out, "1").unwrap();
        (0..50).for_each(|_| write!(out, " {}:1", random.next()).unwrap());
        writeln!(out).unwrap();
    }
    drop(out);
    let summary = pack(&bench, 128, "hashed.svm");
    assert_eq!(summary["features"], 2_000_000);
}

/// The number behind `--memory` in a refusal.
fn stated(stderr: &str) -> String {
    let (_, rest) = stderr.split_once("use --memory ").unwrap_or_else(|| panic!("no advice in: {stderr}"));
    rest.split(' ').next().unwrap().to_string()
}

#[test]
fn a_budget_that_is_too_small_is_told_one_that_works() {
    let bench = Workbench::new();
    bench.file("labels.svm", "1\n".repeat(10_000));
    let mut random = Random(43);
    let hashed: String = (0..300_000).map(|_| format!("1 {}:1\n", random.next())).collect();
    bench.file("hashed.svm", &hashed);
    let long = "1".to_string() + &(1..=200_000).map(|k| format!(" {k}:1.5")).collect::<String>() + "\n";
    bench.file("long.svm", "1 1:1\n".to_string() + &long);
    let cases = [
        ("labels.svm --threads 1", "+1k"),
        ("labels.svm --threads 4", "+1k"),
        ("labels.svm --threads 2 --block-size 8M", "+8M"),
        ("hashed.svm --threads 2", "+4M"),
        ("hashed.svm --threads 2 --no-renumber", "+4M"),
        ("hashed.svm --threads 2 --scale standard", "+4M"),
        ("hashed.svm --threads 2 --rff 64 --gamma 0.1", "+6M"),
        ("long.svm --threads 2", "+4M"),
        ("long.svm --threads 2 --scale standard", "+4M"),
        ("long.svm --threads 2", "+6M"),
        ("long.svm --threads 2 --keep-order", "+20M"),
    ];
    for (arguments, memory) in cases {
        let refused = bench.run(&format!("pack {arguments} -o out.tow --force --quiet --memory {memory}"));
        if refused.code == Some(0) {
            panic!("{arguments}: {memory} is enough; make it less");
        }
        assert_eq!(refused.code, Some(3), "{arguments}: {}", refused.stderr);
        let enough = stated(&refused.stderr);
        println!("{arguments}: refused {memory}, was told {enough}");
        bench.ok(&format!("pack {arguments} -o out.tow --force --quiet --memory {enough}"));
    }
}
