//! A store that an earlier version wrote must still be read.
use std::path::Path;

use crate::workbench::{Workbench, contents};

/// Packed with version 0.1.0, format version 1, from `golden-v1.svm`: its first 60 lines with `--keep-order --block-size 2k`, the others
/// with `--append`. It is never to be written again.
#[test]
fn version_1() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let bench = Workbench::new();
    for (name, bytes) in contents(&data) {
        if let Some(bytes) = bytes {
            bench.file(name.to_str().unwrap(), bytes);
        }
    }
    let expected = std::fs::read_to_string(data.join("golden-v1.svm")).unwrap();
    assert_eq!(bench.ok("cat golden-v1.tow"), expected);
    bench.ok("verify golden-v1.tow");
    // And more can be added to it.
    bench.file("more.svm", "1 qid:9 12345:0.25\n");
    bench.ok("pack more.svm -o golden-v1.tow --append --keep-order --quiet");
    assert_eq!(bench.ok("cat golden-v1.tow"), expected + "1 qid:9 12345:0.25\n");
}
