use std::fs::File;
use std::path::PathBuf;

use proptest::prelude::*;

use super::chunks::{CHUNK, ChunkReader, HEADER_BYTES, Kind, MapWriter, Trouble};
use super::{Chunk, Scaling};
use crate::budget::Budget;
use crate::store::writer::CheckedFile;

fn written(kind: Kind, scaled: bool, count: usize, fill: impl FnOnce(&mut MapWriter)) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let handle = File::open(folder.path()).unwrap();
    let file = CheckedFile::create(&handle, PathBuf::from("features.1.map"), "features.1.map".into()).unwrap();
    let mut map = MapWriter::new(file, kind, scaled, count as u64).unwrap();
    fill(&mut map);
    map.finish().unwrap().finish().unwrap();
    std::fs::read(folder.path().join("features.1.map")).unwrap()
}

fn read(bytes: &[u8]) -> Result<Chunk, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    std::fs::write(&path, bytes).unwrap();
    let file = File::open(&path).unwrap();
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Err("short".into()) };
    let said = |trouble: Trouble| format!("{trouble:?}");
    let mut reader = ChunkReader::new(&file, bytes.len() as u64, header, &Budget::new(64 << 20)).map_err(said)?;
    let mut chunk = Chunk::default();
    while reader.next(&mut chunk).map_err(said)? {}
    Ok(chunk)
}

proptest! {
    #[test]
    fn numbers_come_back(mut numbers in proptest::collection::vec(any::<u64>(), 0..700), bits in 0u32..64, long in 0usize..3) {
        numbers.iter_mut().for_each(|number| *number >>= bits);
        numbers.extend((0..(long * CHUNK) as u64).map(|k| k.wrapping_mul(7919) >> bits));
        let largest = numbers.iter().copied().max().unwrap_or(0);
        let bytes = written(Kind::Numbers { largest }, false, numbers.len(), |map| {
            numbers.iter().for_each(|&number| map.number(number, None).unwrap());
        });
        prop_assert_eq!(read(&bytes).unwrap().numbers, numbers);
    }

    #[test]
    fn names_come_back(names in proptest::collection::vec(".{0,9}", 0..300)) {
        let scaling = |k: usize| Scaling { shift: k as f64, factor: 0.5 };
        let bytes = written(Kind::Names, true, names.len(), |map| {
            names.iter().enumerate().for_each(|(k, name)| map.name(name.as_bytes(), Some(scaling(k))).unwrap());
        });
        let chunk = read(&bytes).unwrap();
        prop_assert_eq!(chunk.len(), names.len());
        for (k, name) in names.iter().enumerate() {
            prop_assert_eq!(chunk.name(k).to_string(), name.clone());
            prop_assert_eq!(chunk.scaling[k], scaling(k));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), HEADER_BYTES..900), count in 0u64..40_000, range: u64, named: bool,
    ) {
        bytes[6..8].copy_from_slice(&[u8::from(named), 0]);
        bytes[8..16].copy_from_slice(&count.to_le_bytes());
        bytes[16..24].copy_from_slice(&range.to_le_bytes());
        // Narrow groups, so that more than the first is looked at.
        bytes[HEADER_BYTES..].iter_mut().for_each(|byte| *byte %= 9);
        if let Ok(chunk) = read(&bytes) {
            prop_assert_eq!(chunk.len() as u64, count);
            prop_assert!(range == 0 || chunk.numbers.iter().all(|&number| number < range));
        }
    }
}

#[test]
fn new_features_of_ascending_rows_take_little() {
    // 100 new features a row, spread over 25 million numbers: from the end of a row to the beginning of the next is a
    // step as well.
    let numbers: Vec<u64> =
        (0..100_000u64).map(|k| k % 100 * 250_000 + k.wrapping_mul(2_654_435_761) % 250_000).collect();
    let bytes = written(Kind::Numbers { largest: 25_000_000 }, false, numbers.len(), |map| {
        numbers.iter().for_each(|&number| map.number(number, None).unwrap());
    });
    assert!(bytes.len() as f64 <= 2.5 * numbers.len() as f64, "{}", bytes.len());
    assert_eq!(read(&bytes).unwrap().numbers, numbers);
}
