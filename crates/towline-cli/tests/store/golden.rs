//! Stores that earlier versions wrote must still be read. They are never to be written again.
use std::path::Path;

use crate::workbench::{Workbench, contents};

/// A workbench with a store and its text.
fn bench_of(store: &str, text: &str) -> (Workbench, String) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let bench = Workbench::new();
    for (name, bytes) in contents(&data) {
        if let Some(bytes) = bytes.filter(|_| name.starts_with(store)) {
            bench.file(name.to_str().unwrap(), bytes);
        }
    }
    (bench, std::fs::read_to_string(data.join(text)).unwrap())
}

/// Its rows are those of the text, it is whole, and more can be added to it.
fn check(store: &str, text: &str, more: &str) {
    let (bench, expected) = bench_of(store, text);
    assert_eq!(bench.ok(&format!("cat {store}")), expected);
    bench.ok(&format!("verify {store}"));
    bench.file("more.svm", more);
    bench.ok(&format!("pack more.svm -o {store} --append --keep-order --quiet"));
    assert_eq!(bench.ok(&format!("cat {store}")), expected + more);
}

/// Packed from `golden-v1.svm`: its first 60 lines with `--keep-order --block-size 2k`, the others with `--append`.
#[test]
fn version_1() {
    check("golden-v1.tow", "golden-v1.svm", "1 qid:9 12345:0.25\n");
}

/// Several targets a row, `--keep-order`.
#[test]
fn version_2() {
    check("golden-v2.tow", "golden-v2.svm", "0.5,3 59:0.25\n");
}

/// Rows that are mapped to Fourier features when they are read: `--keep-order --rff 16 --gamma 0.5`.
#[test]
fn version_3() {
    let (bench, expected) = bench_of("golden-v3.tow", "golden-v3.mapped.svm");
    assert_eq!(bench.ok("cat golden-v3.tow"), expected);
    bench.ok("verify golden-v3.tow");
    bench.ok("train golden-v3.tow -o m.towm --quiet");
}

/// A feature map of the second version, `--keep-order`.
#[test]
fn version_4() {
    check("golden-v4.tow", "golden-v4.svm", "-1 4999999999:0.25\n");
}
