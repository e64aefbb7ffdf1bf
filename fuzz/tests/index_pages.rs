//! The reader of an index: whatever its nodes and pages are under right checksums, it does not panic, and a page that it
//! accepts can be used.
use std::sync::Arc;

use bolero::check;
use serde_json::Value;
use towline::budget::Budget;
use towline::index::{Forest, IndexOptions, PageCache, build, verify};
use towline::store::BlockStore;
use towline_fuzz::{Edit, Executions, libsvm, scratch, store, test_time};

/// The manifest of an index that names this table and these pages.
fn signed(index: &Value, table: &[u8], pages: u64) -> String {
    let mut manifest = index["manifest"].clone();
    manifest["table"]["bytes"] = table.len().into();
    manifest["table"]["checksum"] = crc32c::crc32c(table).into();
    manifest["pages"]["bytes"] = pages.into();
    manifest["nodes"] = (table.len() / 40).into();
    let text = manifest.to_string();
    format!("{{\"crc32c\":\"{:08x}\",\"manifest\":{text}}}\n", crc32c::crc32c(text.as_bytes()))
}

#[test]
fn index_bytes() {
    let folder = scratch();
    let store = store(folder.path(), "rows", &libsvm(90), false);
    let options = IndexOptions { tree_rows: 45, leaf_bytes: 800, fan_out: 4, ..IndexOptions::default() };
    build(&store, &options, &Budget::unlimited(), |_| {}).expect("an index").expect("nobody has stopped it");
    let at = |name: &str| store.path().join("index").join(name);
    let read = |name: &str| std::fs::read(at(name)).expect("a file of the index");
    let (table, pages) = (read("nodes.tab"), read("pages.dat"));
    let index: Value = serde_json::from_slice(&read("index.json")).expect("JSON");
    let executions = Executions::default();
    type Edits = Vec<Edit>;
    check!().with_type::<(Edits, Edits)>().with_test_time(test_time()).for_each(|(of_table, of_pages)| {
        executions.count();
        let (mut table, mut pages) = (table.clone(), pages.clone());
        of_table.iter().take(4).for_each(|edit| edit.apply(&mut table));
        of_pages.iter().take(4).for_each(|edit| edit.apply(&mut pages));
        std::fs::write(at("nodes.tab"), &table).expect("a file");
        std::fs::write(at("pages.dat"), &pages).expect("a file");
        std::fs::write(at("index.json"), signed(&index, &table, pages.len() as u64)).expect("a file");
        let budget = Budget::new(8 << 20);
        if let Ok(forest) = Forest::open(&store, &budget) {
            let forest = Arc::new(forest);
            let nodes = table.len() / 40;
            let mut cache = PageCache::new(forest.clone(), &budget).expect("room for a page");
            for node in 0..nodes as u32 {
                if let Ok(page) = cache.page(node) {
                    assert!(page.columns() as u64 == store.shape().columns);
                }
            }
        }
        let _ = verify(&store, &budget, |_| {});
    });
}
