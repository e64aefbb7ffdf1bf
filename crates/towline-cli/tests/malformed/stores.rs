//! Stores that are missing, damaged or forged, and what is said about them.
use std::path::Path;

use serde_json::{Value, json};

use crate::workbench::{Workbench, forge};

/// What is done to a whole store `in.tow`, the arguments, the exit code, and all of standard output and standard error.
pub type Case = (fn(&Path), &'static str, i32, &'static str, &'static str);

/// A store of two blocks.
pub fn make(bench: &Workbench) {
    let rows: String = (0..40).map(|i| format!("{} {}:1.5 {}:{}\n", i % 2, i % 7, 10 + i % 5, i + 1)).collect();
    let input = bench.file("in.svm", rows);
    bench.ok("pack in.svm -o in.tow --quiet --keep-order --block-size 2k");
    std::fs::remove_file(input).unwrap();
}

fn manifest(store: &Path, text: &str) {
    std::fs::write(store.join("manifest.json"), text).unwrap();
}

fn set(store: &Path, field: &str, value: Value) {
    forge::manifest(store, |manifest| *manifest.pointer_mut(field).unwrap() = value);
}

/// Writes a number into entry `block` of the block table.
fn entry(store: &Path, block: usize, at: usize, number: u64, bytes: usize) {
    forge::table(store, |table| {
        let from = 40 * block + at;
        table[from..from + bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
    });
}

fn block_file(store: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let path = store.join("blocks/00000.blk");
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

pub const CASES: &[Case] = &[
    // no store
    (
        |store| std::fs::remove_dir_all(store).unwrap(),
        "info in.tow",
        1,
        "",
        "towline: in.tow: this is not a Towline store (there is nothing there); make one with 'towline pack INPUT -o STORE'\n",
    ),
    (
        |store| {
            std::fs::remove_dir_all(store).unwrap();
            std::fs::write(store, "x").unwrap()
        },
        "cat in.tow",
        1,
        "",
        "towline: in.tow: this is not a Towline store (it is a file, not a folder); make one with 'towline pack INPUT -o STORE'\n",
    ),
    (
        |store| std::fs::remove_file(store.join("manifest.json")).unwrap(),
        "verify in.tow",
        1,
        "",
        "towline: in.tow: this is not a Towline store (it has no manifest.json); make one with 'towline pack INPUT -o STORE'\n",
    ),
    // a manifest that is none
    (
        |store| manifest(store, ""),
        "info in.tow",
        1,
        "",
        "towline: in.tow/manifest.json: the store is damaged: EOF while parsing a value at line 1 column 0; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| manifest(store, "what?"),
        "info in.tow",
        1,
        "",
        "towline: in.tow/manifest.json: the store is damaged: expected value at line 1 column 1; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| manifest(store, "{\"crc32c\":\"00000000\",\"manifest\":{}}"),
        "info in.tow",
        1,
        "",
        "towline: in.tow/manifest.json: the store is damaged: checksum mismatch; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| manifest(store, &forge::signed("{}")),
        "info in.tow",
        1,
        "",
        "towline: in.tow/manifest.json: the store is damaged: missing field `version` at line 1 column 2; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| manifest(store, &forge::signed("{\"version\":1}")),
        "info in.tow",
        1,
        "",
        "towline: in.tow/manifest.json: the store is damaged: missing field `generation` at line 1 column 13; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| std::fs::write(store.join("manifest.json"), b"\xff\xfe").unwrap(),
        "info in.tow",
        1,
        "",
        "towline: in.tow/manifest.json: the store is damaged: stream did not contain valid UTF-8; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/version", json!(6)),
        "cat in.tow",
        1,
        "",
        "towline: in.tow: store format version 6; this program reads versions up to 5; pack it again\n",
    ),
    // numbers that cannot be
    (
        |store| set(store, "/rows", json!(-1)),
        "info in.tow",
        1,
        "",
        "towline: in.tow/manifest.json: the store is damaged: invalid value: integer `-1`, expected u64 at line 1 column 522; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/rows", json!(41)),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: the blocks do not add up to the rows and values of the manifest; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/rows", json!(u64::MAX)),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: the blocks do not add up to the rows and values of the manifest; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/values", json!(u64::MAX)),
        "verify in.tow",
        1,
        "in.tow/blocks.1.tab: the blocks do not add up to the rows and values of the manifest\n",
        "towline: in.tow: the store is damaged (1 fault); pack it again from the source\n",
    ),
    (
        |store| set(store, "/features", json!(u64::MAX)),
        "info in.tow",
        1,
        "",
        "towline: in.tow: the store is damaged: more features than 32 bits can number; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/features", json!(13)),
        "cat in.tow",
        1,
        "",
        "towline: in.tow: the store is damaged: the feature maps do not add up to the number of features; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/features", json!(3)),
        "verify in.tow",
        1,
        "in.tow: the feature maps do not add up to the number of features\nin.tow/blocks/00000.blk: block 0, header: the block has more columns than the store\nin.tow/blocks/00000.blk: block 1, header: the block has more columns than the store\n",
        "towline: in.tow: the store is damaged (3 faults); pack it again from the source\n",
    ),
    (
        |store| set(store, "/generation", json!(u64::MAX)),
        "pack more.svm -o in.tow --append",
        1,
        "",
        "towline: in.tow: the store is damaged: an impossible generation; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/block_files/0/bytes", json!(u64::MAX)),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks/00000.blk: the store is damaged: it has 886 bytes and should have 18446744073709551615; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/feature_maps/0/bytes", json!(u64::MAX)),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: it has 89 bytes and should have 18446744073709551615; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/feature_maps/0/bytes", json!(u64::MAX)),
        "info in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: it has 89 bytes and should have 18446744073709551615; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/table/bytes", json!(1u64 << 40)),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: it has 80 bytes and should have 1099511627776; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/layout/values", json!("ones")),
        "verify in.tow",
        1,
        "in.tow/blocks/00000.blk: block 0, header: the block holds other values than the store promises\nin.tow/blocks/00000.blk: block 1, header: the block holds other values than the store promises\n",
        "towline: in.tow: the store is damaged (2 faults); pack it again from the source\n",
    ),
    (
        |store| set(store, "/layout/dense", json!(true)),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/blocks/00000.blk: the store is damaged: block 0, header: the block holds other values than the store promises; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/layout", json!({"dense": true, "values": "ones"})),
        "cat in.tow",
        1,
        "",
        "towline: in.tow: the store is damaged: dense rows without values; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/layout/values", json!("f16")),
        "info in.tow",
        1,
        "",
        "towline: in.tow/manifest.json: the store is damaged: unknown variant `f16`, expected one of `ones`, `per-row`, `f32`, `f64` at line 1 column 343; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/named_features", json!(true)),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: the manifest says otherwise about named features; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/labels/names", json!(["a"])),
        "cat in.tow",
        1,
        "a 0:1.5 10:1\n",
        "towline: row 1 has a class that the manifest does not list; run 'towline verify'\n",
    ),
    (
        |store| set(store, "/labels/names", json!(["a"])),
        "verify in.tow",
        1,
        "in.tow/blocks/00000.blk: block 0: there is no class with the number 1\nin.tow/blocks/00000.blk: block 1: there is no class with the number 1\n",
        "towline: in.tow: the store is damaged (2 faults); pack it again from the source\n",
    ),
    // paths that leave the store
    (
        |store| set(store, "/block_files/0/name", json!("../x")),
        "info in.tow",
        1,
        "",
        "towline: in.tow: the store is damaged: the file name '../x' is not one of ours; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/block_files/0/name", json!("/etc/passwd")),
        "verify in.tow",
        1,
        "in.tow: the file name '/etc/passwd' is not one of ours\n",
        "towline: in.tow: the store is damaged (1 fault); pack it again from the source\n",
    ),
    (
        |store| set(store, "/block_files/0/name", json!("blocks/../../x")),
        "info in.tow",
        1,
        "",
        "towline: in.tow: the store is damaged: the file name 'blocks/../../x' is not one of ours; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/table/name", json!("blocks/..")),
        "info in.tow",
        1,
        "",
        "towline: in.tow: the store is damaged: the file name 'blocks/..' is not one of ours; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/feature_maps/0/name", json!("../../secret")),
        "cat in.tow",
        1,
        "",
        "towline: in.tow: the store is damaged: the file name '../../secret' is not one of ours; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| set(store, "/feature_maps/0/name", json!("")),
        "info in.tow",
        1,
        "",
        "towline: in.tow: the store is damaged: the file name '' is not one of ours; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    // the block table
    (
        |store| entry(store, 1, 0, 0, 8),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: block 1 does not begin where the one before it ends; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| entry(store, 1, 0, -8i64 as u64, 8),
        "verify in.tow",
        1,
        "in.tow/blocks.1.tab: block 1 does not begin where the one before it ends\n",
        "towline: in.tow: the store is damaged (1 fault); pack it again from the source\n",
    ),
    (
        |store| entry(store, 0, 8, u64::MAX, 8),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: block 1 does not begin where the one before it ends; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| entry(store, 0, 8, -1i64 as u64 - 100, 8),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: block 1 does not begin where the one before it ends; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| entry(store, 0, 16, u64::MAX, 8),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: block 0 has too few bytes for what it is said to hold; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| entry(store, 0, 24, 7, 4),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: the blocks do not add up to the rows and values of the manifest; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| entry(store, 1, 28, 9, 4),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: block 1 lies in a file that the manifest does not list; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::table(store, |table| table.truncate(40)),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: the blocks in blocks/00000.blk do not add up to its size; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::table(store, |table| table.push(0)),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: the block table has an impossible size; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::table(store, |table| table.clear()),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: the blocks in blocks/00000.blk do not add up to its size; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| std::fs::write(store.join("blocks.1.tab"), [0; 80]).unwrap(),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: checksum mismatch; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| std::fs::remove_file(store.join("blocks.1.tab")).unwrap(),
        "info in.tow",
        1,
        "",
        "towline: in.tow/blocks.1.tab: the store is damaged: the file is missing; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    // blocks
    (
        |store| std::fs::remove_file(store.join("blocks/00000.blk")).unwrap(),
        "verify in.tow",
        1,
        "in.tow/blocks/00000.blk: the file is missing\n",
        "towline: in.tow: the store is damaged (1 fault); pack it again from the source\n",
    ),
    (
        |store| std::fs::remove_dir_all(store.join("blocks")).unwrap(),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/blocks/00000.blk: the store is damaged: the file is missing; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| block_file(store, |bytes| bytes.truncate(300)),
        "verify in.tow",
        1,
        "in.tow/blocks/00000.blk: it has 300 bytes and should have 886\n",
        "towline: in.tow: the store is damaged (1 fault); pack it again from the source\n",
    ),
    (
        |store| block_file(store, |bytes| bytes.push(0)),
        "verify in.tow",
        1,
        "in.tow/blocks/00000.blk: it has 887 bytes and should have 886\n",
        "towline: in.tow: the store is damaged (1 fault); pack it again from the source\n",
    ),
    (
        |store| block_file(store, |bytes| bytes[0] = b'X'),
        "verify in.tow",
        1,
        "in.tow/blocks/00000.blk: block 0, header: this is not a Towline block\n",
        "towline: in.tow: the store is damaged (1 fault); pack it again from the source\n",
    ),
    (
        |store| block_file(store, |bytes| bytes[16] ^= 1),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/blocks/00000.blk: the store is damaged: block 0, header: checksum mismatch; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| block_file(store, |bytes| bytes[140] ^= 1),
        "verify in.tow",
        1,
        "in.tow/blocks/00000.blk: block 0, columns: checksum mismatch\n",
        "towline: in.tow: the store is damaged (1 fault); pack it again from the source\n",
    ),
    (
        |store| block_file(store, |bytes| bytes.fill(0)),
        "verify in.tow",
        1,
        "in.tow/blocks/00000.blk: block 0, header: this is not a Towline block\nin.tow/blocks/00000.blk: block 1, header: this is not a Towline block\n",
        "towline: in.tow: the store is damaged (2 faults); pack it again from the source\n",
    ),
    // the feature map
    (
        |store| std::fs::remove_file(store.join("features.1.map")).unwrap(),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: the file is missing; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| std::fs::write(store.join("features.1.map"), [7; 89]).unwrap(),
        "verify in.tow",
        1,
        "in.tow/features.1.map: checksum mismatch\n",
        "towline: in.tow: the store is damaged (1 fault); pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map[0] = b'X'),
        "verify in.tow",
        1,
        "in.tow/features.1.map: it is not a feature map\n",
        "towline: in.tow: the store is damaged (1 fault); pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map[4] = 9),
        "verify in.tow",
        1,
        "in.tow/features.1.map: it has another format version\n",
        "towline: in.tow: the store is damaged (1 fault); pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map[8..16].fill(255)),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: it ends too early; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map.truncate(30)),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: it ends too early; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map.truncate(10)),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: it ends too early; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map[6] = 1),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: the manifest says otherwise about named features; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map[7] = 1),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: it ends too early; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map[6] = 2),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: it has a mark that means nothing; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map[16..24].fill(0)),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: it ends too early; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map[16] = 1),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: a feature number is beyond the largest one; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map[24] = 33),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: it ends too early; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
    (
        |store| forge::listed_file(store, "feature_maps", |map| map.push(1)),
        "cat in.tow",
        1,
        "",
        "towline: in.tow/features.1.map: the store is damaged: it has bytes left over; 'towline verify' lists all that is broken, pack it again from the source\n",
    ),
];
