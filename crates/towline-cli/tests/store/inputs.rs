//! Where rows come from: files, globs, standard input, archives; and what comes with them: weights and groups.
use std::io::Write;

use towline::block::{Block, RowInfo};
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers};

use crate::workbench::Workbench;

#[test]
fn several_inputs_and_globs_make_one_table() {
    let bench = Workbench::new();
    for (name, text) in
        [("b.svm", "2 2:2\n"), ("logs/1.svm", "3 3:3\n"), ("logs/2.svm", "4 4:4"), ("a[1].svm", "1 1:1\n")]
    {
        bench.file(name, text);
    }
    // The shell would have expanded it; the program does where nobody has. A name that exists is no pattern.
    bench.ok("pack a[1].svm b.svm logs/*.svm -o out.tow --quiet --keep-order");
    assert_eq!(bench.ok("cat out.tow"), "1 1:1\n2 2:2\n3 3:3\n4 4:4\n");
    let info: serde_json::Value = serde_json::from_str(&bench.ok("info out.tow --json")).unwrap();
    let names: Vec<&str> = info["sources"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a[1].svm", "b.svm", "logs/1.svm", "logs/2.svm"]);
}

#[test]
fn archives_are_recognised_by_what_is_in_them() {
    let text = "1 1:1 2:0.5\n-1 3:2\n".repeat(500);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(text.as_bytes()).unwrap();
    let zstd = zstd::encode_all(text.as_bytes(), 3).unwrap();
    let plain = text.clone().into_bytes();
    for bytes in [plain, gzip.finish().unwrap(), bzip2.finish().unwrap(), zstd] {
        let bench = Workbench::new();
        // Without an ending, so that only the contents can tell; from a file and from standard input.
        bench.file("table", &bytes);
        bench.ok("pack table -o file.tow --quiet --keep-order");
        assert_eq!(bench.ok("cat file.tow"), text);
        let said = bench.run_with_input("pack - -o stdin.tow --keep-order --json", &bytes);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert_eq!(bench.ok("cat stdin.tow"), text);
        let summary: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(summary["input_bytes"], bytes.len());
    }
}

fn infos(bench: &Workbench, store: &str) -> Vec<RowInfo> {
    let store = DiskStore::open(bench.path(store)).unwrap();
    let mut block = Block::new(store.shape().layout, store.shape().columns as usize);
    for id in 0..store.blocks().len() as u32 {
        store.read(BlockId(id), &mut ReadBuffers::default(), &mut block).unwrap();
    }
    let mut infos: Vec<RowInfo> = (0..block.rows()).map(|i| block.info(i)).collect();
    infos.sort_by_key(|info| info.id);
    infos
}

#[test]
fn every_row_keeps_its_weight_and_its_group() {
    let bench = Workbench::new();
    let rows = 1000;
    let group = |i: usize| if i.is_multiple_of(3) { 0 } else { i as u64 / 10 };
    let line = |i: usize| match group(i) {
        0 => format!("{i} 1:1\n"),
        group => format!("{i} qid:{group} 1:1\n"),
    };
    let weight = |i: usize| (i % 17) as f64 / 4.0;
    let lines: Vec<String> = (0..rows).map(line).collect();
    bench.file("a.svm", lines[..400].concat());
    bench.file("b.svm", lines[400..].concat());
    bench.file("weights", (0..rows).map(|i| format!("{}\n", weight(i))).collect::<String>());
    bench.ok("pack a.svm b.svm -o out.tow --quiet --weights weights --block-size 2k");
    for (i, info) in infos(&bench, "out.tow").into_iter().enumerate() {
        assert_eq!(info, RowInfo { label: i as f64, weight: weight(i), group: group(i), id: i as u64 });
    }
    bench.ok("pack a.svm b.svm -o skipped.tow --quiet --skip-groups");
    assert!(infos(&bench, "skipped.tow").iter().all(|info| info.group == 0 && info.weight == 1.0));
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let bench = Workbench::new();
    bench.file("in.svm", "\u{feff}1 1:1\n2 1:x\n");
    assert!(bench.run("pack in.svm -o out.tow").stderr.starts_with("towline: in.svm:2:5: expected a number"));
    bench.file("in.svm", "\u{feff}1 1:1\n");
    bench.ok("pack in.svm -o out.tow --quiet");
    assert_eq!(bench.ok("cat out.tow"), "1 1:1\n");
}
