//! The reader of feature maps: whatever lies under a right checksum, it does not panic, and what it accepts has a name for
//! every column.
use bolero::check;
use towline::budget::Budget;
use towline::store::features::FeatureMap;
use towline_fuzz::{Edit, Executions, libsvm, scratch, store, test_time};

fn csv() -> String {
    (0..40).fold("a,colour,y\n".to_string(), |text, i| text + &format!("{},{},{}\n", i, "rgbwk".len() + i % 3, i % 2))
}

#[test]
fn feature_map_bytes() {
    let folder = scratch();
    let stores = [
        store(folder.path(), "numbers", &libsvm(60), false),
        store(folder.path(), "scaled", &libsvm(60), true),
        store(folder.path(), "names.csv", &csv(), false),
    ];
    let kept: Vec<Vec<u8>> = stores
        .iter()
        .map(|store| std::fs::read(store.path().join(&store.manifest().feature_maps[0].name)).expect("the map"))
        .collect();
    let executions = Executions::default();
    check!().with_type::<(u8, Vec<Edit>)>().with_test_time(test_time()).for_each(|(which, edits)| {
        executions.count();
        let which = *which as usize % stores.len();
        let (store, mut bytes) = (&stores[which], kept[which].clone());
        edits.iter().take(4).for_each(|edit| edit.apply(&mut bytes));
        let mut manifest = store.manifest().clone();
        let entry = &mut manifest.feature_maps[0];
        std::fs::write(store.path().join(&entry.name), &bytes).expect("a file");
        (entry.bytes, entry.checksum) = (bytes.len() as u64, crc32c::crc32c(&bytes));
        if let Ok(map) = FeatureMap::read(store.path(), &manifest, &Budget::new(8 << 20)) {
            assert_eq!(map.len() as u64, manifest.features);
            for column in 0..map.len() as u32 {
                let _ = (map.name(column).to_string(), map.scaling(column));
            }
        } else {
            assert!(bytes != kept[which], "a right map");
        }
    });
}
