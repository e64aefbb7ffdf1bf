use super::*;

fn numbers(keys: &[u64]) -> RowBatch {
    RowBatch { keys: keys.to_vec(), values: vec![1.0; keys.len()], ends: vec![keys.len()], ..RowBatch::default() }
}

/// Small numbers lie in pages; one far away changes everything to hashing, and no id changes with it.
#[test]
fn ids_stay_when_pages_become_a_hash_table() {
    let folder = tempfile::tempdir().unwrap();
    for budget in [Budget::unlimited(), Budget::new(64 << 20)] {
        let mut features = Features::new(false, folder.path(), &budget).unwrap();
        let keys: Vec<u64> = (0..5000).map(|k| k * k % 7919).chain([u64::MAX, 1 << 40, 5, u64::MAX]).collect();
        let mut expected: Vec<u64> = Vec::new();
        let ids: Vec<u64> = keys
            .iter()
            .map(|key| match expected.iter().position(|seen| seen == key) {
                Some(id) => id as u64,
                None => {
                    expected.push(*key);
                    expected.len() as u64 - 1
                }
            })
            .collect();
        for (keys, ids) in keys.chunks(700).zip(ids.chunks(700)) {
            let mut batch = numbers(keys);
            features.resolve(&mut batch, &mut 0, &budget).unwrap();
            assert_eq!(batch.keys, ids);
            features.count(&batch, u64::MAX / 2, true);
        }
        assert_eq!(features.numbers(), expected);
        let count = |id: usize| ids.iter().filter(|&&other| other == id as u64).count() as u32;
        assert!(features.counts().iter().enumerate().all(|(id, &n)| n == count(id)));
        assert!(budget.peak_bytes() < 40 << 20, "a far number must not make a table up to it");
    }
}

#[test]
fn the_most_frequent_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut features = Features::new(false, folder.path(), &Budget::unlimited()).unwrap();
    let counts = [3u32, 1, 5000, 0, 4096, 4095, 1, 0, 7000, 5000, 3];
    features.keys.set_counts(&counts);
    assert_eq!(features.by_frequency(), [8, 2, 9, 4, 5, 0, 10, 1, 6, 3, 7]);
    features.old = 3;
    assert_eq!(features.by_frequency(), [8, 9, 4, 5, 10, 6, 3, 7]);
}

#[test]
fn the_sample_is_about_an_eighth() {
    let sampled = (4096..84096).filter(|&row| is_sampled(row)).count();
    assert!((9000..11000).contains(&sampled), "{sampled}");
}

#[test]
fn names_keep_their_ids_while_the_table_grows() {
    let folder = tempfile::tempdir().unwrap();
    let budget = Budget::new(1 << 20);
    let mut features = Features::new(true, folder.path(), &budget).unwrap();
    for round in 0..2 {
        for k in 0..3000u32 {
            assert_eq!(features.name(format!("name {k}").as_bytes()).unwrap(), k, "round {round}");
        }
    }
    features.drop_lookup().unwrap();
    let (ends, _) = features.names().unwrap().unwrap();
    assert_eq!((ends.len(), ends[0], ends[2999]), (3000, 6, 10 * 6 + 90 * 7 + 900 * 8 + 2000 * 9));
}
