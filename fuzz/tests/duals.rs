//! The readers of dual variables, of one model and of many: whatever lies under right checksums, they do not panic, and
//! what they accept is made of numbers that a run can start from.
use std::path::Path;

use bolero::check;
use towline::Fit;
use towline::trainer::{Checkpoint, Checkpoints, Solver};
use towline_fuzz::{Edit, Executions, scratch, test_time};

/// More dual variables than this are refused.
const NUMBERS: u64 = 1000;

/// The files of short runs.
fn files(folder: &Path) -> [Vec<u8>; 2] {
    let rows = |classes: u32| {
        let row = |i: u32| format!("{} {}:1 {}:{}\n", i % classes, i % 7 + 1, i % 5 + 9, i % 3 + 1);
        (0..60).map(row).collect::<String>()
    };
    [2, 4].map(|classes| {
        let (file, store) = (folder.join("rows.svm"), folder.join(format!("{classes}.tow")));
        std::fs::write(&file, rows(classes)).expect("a file");
        let model = folder.join(format!("{classes}.towm"));
        let store = towline::pack(&file).to(&store).expect("a store");
        Fit::new().max_passes(3).solver(Solver::Dual).run_to(&store, &model, &mut ()).expect("a model");
        std::fs::read(model.with_extension("towm.duals")).expect("dual variables")
    })
}

/// Makes the checksum of a file of one model right.
fn sign_one(bytes: &mut Vec<u8>) {
    let body = bytes.len().saturating_sub(4);
    let checksum = crc32c::crc32c(&bytes[..body]).to_le_bytes();
    bytes.truncate(body);
    bytes.extend(checksum);
}

/// Makes the checksums of both slots of a file of many models right, and of the tables that they lead to.
fn sign_many(bytes: &mut [u8]) {
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
    for slot in [16, 48] {
        if slot + 32 > bytes.len() {
            return;
        }
        let (begin, length) = (number(bytes, slot + 8) as usize, number(bytes, slot + 16) as usize);
        if let Some(table) = begin.checked_add(length).and_then(|end| bytes.get(begin..end)) {
            let checksum = crc32c::crc32c(table).to_le_bytes();
            bytes[slot + 24..slot + 28].copy_from_slice(&checksum);
        }
        let checksum = crc32c::crc32c(&bytes[slot..slot + 28]).to_le_bytes();
        bytes[slot + 28..slot + 32].copy_from_slice(&checksum);
    }
}

fn use_it(found: &Checkpoint) {
    assert!(found.count() <= NUMBERS);
    let mut values = vec![0.0; found.count() as usize];
    found.duals().and_then(|mut duals| duals.next(&mut values)).expect("what was checked can be read");
    let weights = found.weights().expect("what was checked can be read");
    assert!(values.iter().chain(&weights).all(|value| value.is_finite()));
}

#[test]
fn dual_bytes() {
    let folder = scratch();
    let [one, many] = files(folder.path());
    let path = folder.path().join("changed.duals");
    std::fs::write(&path, &one).expect("a file");
    use_it(&Checkpoint::open(&path, NUMBERS).expect("a right file").expect("of one model"));
    std::fs::write(&path, &many).expect("a file");
    assert!(Checkpoints::open(&path, 16, NUMBERS).expect("a right file").expect("of many").get("1").is_some());
    let executions = Executions::default();
    check!().with_type::<(bool, Vec<Edit>)>().with_test_time(test_time()).for_each(|(is_one, edits)| {
        executions.count();
        let mut bytes = if *is_one { one.clone() } else { many.clone() };
        edits.iter().take(4).for_each(|edit| edit.apply(&mut bytes));
        if *is_one {
            sign_one(&mut bytes)
        } else {
            sign_many(&mut bytes)
        }
        std::fs::write(&path, &bytes).expect("a file");
        if let Ok(Some(found)) = Checkpoint::open(&path, NUMBERS) {
            use_it(&found);
        }
        if let Ok(Some(all)) = Checkpoints::open(&path, 16, NUMBERS) {
            (1..16).filter_map(|model: u32| all.get(&model.to_string())).for_each(|found| use_it(&found));
        }
    });
}
