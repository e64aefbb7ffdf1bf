//! Adding rows to a store.
use std::path::Path;

use crate::workbench::random::{Random, Table, Values};
use crate::workbench::{Workbench, contents};

/// Three files; each has features that the ones before it do not have.
fn parts(bench: &Workbench) -> [String; 3] {
    let mut random = Random(5);
    [(40, "a.svm"), (90, "b.svm"), (60, "c.svm")].map(|(features, name)| {
        let values = if features == 40 { Values::Ones } else { Values::Floats };
        let table = Table { rows: 150, features, row_values: 15, values, dense: false, groups: false };
        let text = table.text(&mut random);
        bench.file(name, &text);
        text
    })
}

#[test]
fn appending_gives_the_rows_of_one_pack() {
    let bench = Workbench::new();
    let parts = parts(&bench);
    bench.ok("pack a.svm b.svm c.svm -o whole.tow --quiet --keep-order --block-size 2k");
    for renumber in ["", "--no-renumber"] {
        let options = format!("--quiet --keep-order --block-size 2k {renumber}");
        bench.ok(&format!("pack a.svm -o out.tow --force {options}"));
        assert_eq!(bench.ok("cat out.tow"), parts[0]);
        bench.ok(&format!("pack b.svm -o out.tow --append {options}"));
        assert_eq!(bench.ok("cat out.tow"), parts[..2].concat());
        bench.ok(&format!("pack c.svm -o out.tow --append {options}"));
        assert_eq!(bench.ok("cat out.tow"), parts.concat());
        assert_eq!(bench.ok("cat out.tow"), bench.ok("cat whole.tow"));
        bench.ok("verify out.tow");
    }
    let info = |store: &str| -> serde_json::Value {
        serde_json::from_str(&bench.ok(&format!("info {store} --json"))).unwrap()
    };
    let (appended, whole) = (info("out.tow"), info("whole.tow"));
    for field in ["rows", "values", "features", "density"] {
        assert_eq!(appended[field], whole[field], "{field}");
    }
    assert_eq!(appended["labels"]["histogram"], whole["labels"]["histogram"]);
    assert_eq!(appended["row_summary"]["max_sq_norm"], whole["row_summary"]["max_sq_norm"]);
    assert_eq!((&appended["generation"], &whole["generation"]), (&3.into(), &1.into()));
    let sources: Vec<u64> =
        appended["sources"].as_array().unwrap().iter().map(|s| s["generation"].as_u64().unwrap()).collect();
    assert_eq!(sources, [1, 2, 3]);
}

#[test]
fn labels_that_are_no_short_decimals_stay_one_class_when_rows_are_added() {
    // The histogram goes through JSON; a digit lost there would make two classes of one.
    let bench = Workbench::new();
    let mut random = Random(2);
    let text: String = (0..500).map(|_| format!("{} 1:1\n", random.fraction() * 1e-5)).collect();
    bench.file("in.svm", text);
    bench.ok("pack in.svm -o out.tow --quiet");
    bench.ok("pack in.svm -o out.tow --quiet --append --repeat");
    let info: serde_json::Value = serde_json::from_str(&bench.ok("info out.tow --json")).unwrap();
    let histogram = info["labels"]["histogram"].as_array().unwrap();
    assert_eq!(histogram.len(), 500);
    assert!(histogram.iter().all(|class| class[1] == 2));
}

#[test]
fn a_generation_that_was_not_finished_is_as_if_it_had_never_begun() {
    let bench = Workbench::new();
    let parts = parts(&bench);
    bench.ok("pack a.svm -o out.tow --quiet --keep-order");
    let before = contents(&bench.path("out.tow"));
    bench.ok("pack b.svm -o out.tow --quiet --keep-order --append");
    let after = contents(&bench.path("out.tow"));
    // As a crash just before the manifest was replaced would leave it: all old files, all new ones, the old manifest.
    let manifest = Path::new("manifest.json");
    let write = |name: &Path, bytes: &Option<Vec<u8>>| {
        if let Some(bytes) = bytes {
            std::fs::write(bench.path("out.tow").join(name), bytes).unwrap();
        }
    };
    before.iter().for_each(|(name, bytes)| write(name, bytes));
    write(Path::new(".manifest.json.0123456789abcdef.towline-new"), &after[manifest]);
    assert!(contents(&bench.path("out.tow")).len() > before.len());
    assert_eq!(bench.ok("cat out.tow"), parts[0]);
    bench.ok("verify out.tow");
    // The next writer clears it away.
    bench.ok("pack c.svm -o out.tow --quiet --keep-order --append");
    assert_eq!(bench.ok("cat out.tow"), [&parts[0][..], &parts[2]].concat());
    let names: Vec<String> = contents(&bench.path("out.tow")).keys().map(|name| name.display().to_string()).collect();
    let expected = [
        "blocks",
        "blocks/00000.blk",
        "blocks/00001.blk",
        "blocks.2.tab",
        "features.1.map",
        "features.2.map",
        "manifest.json",
    ];
    assert_eq!(names, expected);
}

#[test]
fn what_a_killed_replacement_left_goes_with_the_next_writer() {
    let bench = Workbench::new();
    parts(&bench);
    bench.ok("pack a.svm -o out.tow --quiet");
    for next in ["--append", "--force"] {
        let left = ".out.tow.0123456789abcdef.towline-new";
        bench.file(&format!("{left}/blocks/00000.blk"), "half a store");
        let marker = "An unfinished folder of towline. The next run removes it.\n";
        bench.file(&format!("{left}/.towline-unfinished"), marker);
        bench.ok(&format!("pack b.svm -o out.tow --quiet {next}"));
        assert!(!bench.path(left).exists(), "{next}");
    }
}

#[test]
fn new_rows_without_new_features_need_no_new_map() {
    let bench = Workbench::new();
    bench.file("in.svm", "1 1:1\n");
    bench.ok("pack in.svm -o out.tow --quiet");
    bench.ok("pack in.svm -o out.tow --quiet --append --repeat");
    assert!(!bench.path("out.tow/features.2.map").exists());
    assert_eq!(bench.ok("cat out.tow"), "1 1:1\n1 1:1\n");
}
