//! Many models in one file: what was committed is found, damage is noticed, and nothing that counts is overwritten.
use super::*;
use crate::engine::{CheckpointFile, Cost, Duals};
use crate::loss::AnyLoss;
use crate::objective::{Multiclass, Objective};
use crate::store::StoreFingerprint;

const ROWS: u64 = 40;

fn objectives() -> Vec<Objective> {
    let names = ["a", "b", "c"].map(String::from).to_vec();
    let classes = Classes::new(vec![1.0, 2.0, 3.0], names, vec![1.0; 3]);
    let loss = AnyLoss::named("hinge").unwrap();
    Objective::new(loss, 1.0, Targets::Classes { classes, multiclass: Multiclass::OneVsRest }).split()
}

fn store() -> StoreFingerprint {
    StoreFingerprint { rows: ROWS, generation: 1, table_checksum: 7 }
}

fn duals(seed: u64) -> Vec<f64> {
    // Few of the first model are not 0, and most of the others.
    (0..ROWS).map(|i| if i % (seed + 1) == 0 { 0.0 } else { (i * seed) as f64 / 7.0 }).collect()
}

fn save(all: &Arc<Checkpoints>, seed: u64) {
    for (model, objective) in objectives().iter().enumerate() {
        let file = CheckpointFile::among(all, format!("{model}"), store());
        let values = if model == 0 { vec![0.0; ROWS as usize] } else { duals(seed + model as u64) };
        file.save(objective, Cost::default(), &Duals::Memory(values), &[seed as f64, 2.0]).unwrap();
    }
}

fn check(all: &Checkpoints, seed: u64) {
    for (model, objective) in objectives().iter().enumerate() {
        let found = all.get(&format!("{model}")).unwrap();
        assert_eq!((&found.header.objective, &found.header.store), (objective, &store()));
        let mut read = vec![f64::NAN; ROWS as usize];
        found.duals().unwrap().next(&mut read).unwrap();
        let wanted = if model == 0 { vec![0.0; ROWS as usize] } else { duals(seed + model as u64) };
        assert_eq!(read, wanted);
        assert_eq!(found.weights().unwrap(), [seed as f64, 2.0]);
    }
}

fn open(path: &Path) -> Result<Option<Arc<Checkpoints>>, CheckpointError> {
    Checkpoints::open(path, 3, ROWS + 2)
}

#[test]
fn what_was_committed_is_found_and_the_file_does_not_grow() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.duals");
    assert!(open(&path).unwrap().is_none());
    let all = Checkpoints::new(&path);
    assert!(!path.exists());
    let mut sizes = Vec::new();
    for seed in 1..9 {
        save(&all, seed);
        if seed == 1 {
            assert!(open(&path).unwrap().unwrap().get("0").is_none(), "nothing is committed");
        } else {
            check(&open(&path).unwrap().unwrap(), seed - 1);
        }
        all.commit().unwrap();
        check(&open(&path).unwrap().unwrap(), seed);
        sizes.push(path.metadata().unwrap().len());
    }
    assert!(sizes[7] <= 3 * sizes[0], "{sizes:?}");
    // Another run goes on, and what it started from stays readable.
    let again = open(&path).unwrap().unwrap();
    let first = again.get("2").unwrap();
    for seed in 20..25 {
        save(&again, seed);
        again.commit().unwrap();
    }
    assert!(first.is_sound().unwrap());
    let mut read = vec![0.0; ROWS as usize];
    first.duals().unwrap().next(&mut read).unwrap();
    assert_eq!(read, duals(8 + 2));
    check(&open(&path).unwrap().unwrap(), 24);
}

#[test]
fn a_file_of_one_model_is_another_thing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.duals");
    let alone = CheckpointFile::alone(path.clone(), store());
    alone.save(&objectives()[0], Cost::default(), &Duals::Memory(duals(3)), &[]).unwrap();
    assert!(open(&path).unwrap().is_none());
    let all = Checkpoints::new(&path);
    save(&all, 1);
    all.commit().unwrap();
    assert!(Checkpoint::open(&path, ROWS + 2).unwrap().is_none());
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "my thesis").unwrap();
    let body = CheckpointFile::among(&Checkpoints::new(&path), "0".into(), store());
    assert!(body.save(&objectives()[0], Cost::default(), &Duals::Memory(duals(3)), &[]).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "my thesis");
}

/// A flip is found, or it is where nothing is.
#[test]
fn every_flip_and_every_cut_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.duals");
    let all = Checkpoints::new(&path);
    save(&all, 5);
    all.commit().unwrap();
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&path, &damaged).unwrap();
        let found = open(&path);
        // The first sixteen bytes say which kind of file it is; a slot of zeros is one that is not used yet.
        let is_free = (16..48).contains(&at) && whole[16..48] == [0; 32];
        assert!(found.is_err() || at < 16 && found.unwrap().is_none() || is_free, "byte {at}");
        std::fs::write(&path, &whole[..at]).unwrap();
        assert!(open(&path).is_err() || at < 16, "cut at {at}");
    }
}

/// Power may be lost at any write: what is there then is the state of some commit.
#[test]
fn a_commit_that_is_cut_short_leaves_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.duals");
    let all = Checkpoints::new(&path);
    save(&all, 1);
    all.commit().unwrap();
    let before = std::fs::read(&path).unwrap();
    save(&all, 2);
    all.commit().unwrap();
    let after = std::fs::read(&path).unwrap();
    // All that is new but the slots.
    let mut torn = after.clone();
    torn[..HEAD_BYTES as usize].copy_from_slice(&before[..HEAD_BYTES as usize]);
    std::fs::write(&path, &torn).unwrap();
    check(&open(&path).unwrap().unwrap(), 1);
    std::fs::write(&path, &after).unwrap();
    check(&open(&path).unwrap().unwrap(), 2);
}

#[test]
fn forged_tables_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.duals");
    let all = Checkpoints::new(&path);
    save(&all, 5);
    all.commit().unwrap();
    let whole = std::fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&whole).into_owned();
    let table = &text[text.find("{\"classes\"").unwrap()..];
    let forge = |text: &str, at: u64| {
        let mut bytes = whole.clone();
        bytes.truncate(HEAD_BYTES as usize + 4000);
        bytes.resize(HEAD_BYTES as usize + 4000, 0);
        let begin = bytes.len() as u64;
        bytes.extend(text.as_bytes());
        let place = at.max(begin)..at.max(begin) + text.len() as u64;
        let forged = slot(9, &place, crc32c::crc32c(text.as_bytes()));
        bytes[slot_begin(9) as usize..][..32].copy_from_slice(&forged);
        std::fs::write(&path, bytes).unwrap();
        open(&path)
    };
    let end = table.rfind('}').unwrap() + 1;
    let table = &table[..end];
    assert!(forge(table, u64::MAX - table.len() as u64).is_err(), "a table beyond the end");
    for (old, new) in [
        ("\"begin\":", "\"begin\":1844674407370955161"),
        ("\"bytes\":", "\"bytes\":99999999999"),
        ("\"rows\":40", "\"rows\":18446744073709551615"),
        ("\"rows\":40", "\"rows\":41"),
        ("\"weights\":2", "\"weights\":2305843009213693953"),
        ("\"version\":", "\"version\":9"),
        ("\"classes\":0", "\"classes\":5"),
        ("\"labels\":[1.0,", "\"labels\":["),
    ] {
        assert!(table.contains(old), "{old} in {table}");
        assert!(forge(&table.replace(old, new), 0).is_err(), "{new}");
    }
    assert!(Checkpoints::open(&path, 0, 1).is_err());
}
