//! A store on disk and one in memory are the same to whoever reads them.
use std::sync::Arc;

use super::*;
use crate::block::RowInfo;
use crate::budget::Budget;
use crate::input::{Input, Progress};
use crate::pack::{PackOptions, pack};
use proptest::prelude::*;

type PlainRow = (RowInfo, Vec<(u32, f64)>);

fn rows() -> impl Strategy<Value = Vec<Vec<(u32, f64)>>> {
    let value = prop_oneof![Just(1.0), (1i32..50).prop_map(|v| f64::from(v) / 4.0)];
    let row = proptest::collection::btree_map(0u32..40, value, 0..20);
    proptest::collection::vec(row.prop_map(|row| row.into_iter().collect()), 1..60)
}

fn on_disk(rows: &[Vec<(u32, f64)>], folder: &std::path::Path) -> DiskStore {
    // Every feature appears once in the first row's order, so that columns are the numbers themselves.
    let line = |(i, row): (usize, &Vec<(u32, f64)>)| {
        let entries: String = row.iter().map(|(column, value)| format!(" {column}:{value}")).collect();
        format!("{} qid:{}{entries}\n", i % 3, i / 2)
    };
    let (text, store) = (folder.join("rows.svm"), folder.join("rows.tow"));
    std::fs::write(&text, rows.iter().enumerate().map(line).collect::<String>()).unwrap();
    let options = PackOptions { shuffle_seed: None, renumber: false, block_bytes: Some(600), ..PackOptions::default() };
    pack(&[Input::File(text)], &store, &options, &Budget::unlimited(), &Progress::default()).unwrap();
    DiskStore::open(store).unwrap()
}

fn in_memory(rows: &[Vec<(u32, f64)>], columns: usize) -> MemoryStore {
    let mut blocks = Vec::new();
    for (k, chunk) in rows.chunks(7).enumerate() {
        let mut block = Block::new(Layout::SPARSE_F32, columns);
        for (i, row) in chunk.iter().enumerate() {
            let id = k * 7 + i;
            let info = RowInfo { label: (id % 3) as f64, weight: 1.0, group: id as u64 / 2, id: id as u64 };
            block.push(info, row.iter().copied());
        }
        blocks.push(block);
    }
    MemoryStore::new(blocks)
}

/// All rows, read ahead.
fn read(store: Arc<dyn BlockStore>) -> Vec<PlainRow> {
    let mut reader = ReadAhead::new(store.clone(), 2, &Budget::unlimited()).unwrap();
    (0..store.blocks().len() as u32).for_each(|id| reader.request(BlockId(id)));
    let mut rows = Vec::new();
    while let Some(block) = reader.take().unwrap() {
        rows.extend((0..block.rows()).map(|i| (block.info(i), block.row(i).iter().collect())));
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn disk_and_memory_give_the_same_rows(mut rows in rows()) {
        rows.insert(0, (0..40).map(|column| (column, 1.5)).collect());
        let folder = tempfile::tempdir().unwrap();
        let disk = on_disk(&rows, folder.path());
        let memory = in_memory(&rows, 40);
        let size = |store: &dyn BlockStore| (store.shape().rows, store.shape().values, store.shape().columns);
        prop_assert_eq!(size(&disk), size(&memory));
        prop_assert_eq!(read(Arc::new(disk)), read(Arc::new(memory)));
    }
}

#[test]
fn a_store_has_one_writer_whatever_it_does() {
    use writer::{Existing, StoreWriter};
    let folder = tempfile::tempdir().unwrap();
    on_disk(&[vec![(0, 1.0)]], folder.path());
    let store = folder.path().join("rows.tow");
    for (first, second) in [
        (Existing::Append, Existing::Replace),
        (Existing::Replace, Existing::Append),
        (Existing::Replace, Existing::Replace),
    ] {
        let held = StoreWriter::create(&store, first, &Budget::unlimited()).unwrap();
        let refused = StoreWriter::create(&store, second, &Budget::unlimited()).err();
        assert!(matches!(refused, Some(StoreError::Busy { .. })), "{first:?}, then {second:?}");
        drop(held);
        StoreWriter::create(&store, second, &Budget::unlimited()).unwrap();
    }
    DiskStore::open(store).unwrap();
}
