use super::*;
use crate::block::RowInfo;
use proptest::prelude::*;

/// Rows of every kind: binary, one value a row, few distinct values, arbitrary floats, dense.
fn rows() -> impl Strategy<Value = (usize, Vec<Vec<(u32, f64)>>)> {
    let kinds = prop_oneof![Just(0u8), Just(1), Just(2), Just(3), Just(4)];
    (kinds, 1usize..400, 0usize..40).prop_flat_map(|(kind, columns, rows)| {
        let value = any::<f32>().prop_filter("finite after scaling", |v| v.abs() < 1e30);
        let row = (
            proptest::collection::btree_set(0..columns as u32, 0..columns.min(60)),
            proptest::collection::vec(value, 8),
        );
        (Just(columns), proptest::collection::vec(row, rows)).prop_map(move |(columns, rows)| {
            let make = |(set, pool): (std::collections::BTreeSet<u32>, Vec<f32>)| -> Vec<(u32, f64)> {
                let present: Vec<u32> =
                    if kind == 4 { (0..columns as u32).collect() } else { set.into_iter().collect() };
                let value = |k: usize| match kind {
                    0 => 1.0,
                    1 => f64::from(pool[0]),
                    2 => [0.5, 2.0, -1.0][k % 3],
                    _ => f64::from(pool[k % 8]) * (1.0 + k as f64 / 7.0),
                };
                present.iter().enumerate().map(|(k, &c)| (c, value(k))).collect()
            };
            (columns, rows.into_iter().map(make).collect())
        })
    })
}

fn block(columns: usize, rows: &[Vec<(u32, f64)>], values: ValueKind) -> Block {
    // Every third number of columns has rows with several targets.
    let targets = if columns.is_multiple_of(3) { 1 + columns as u32 % 5 } else { 1 };
    let mut block = Block::new(Layout::new(false, values).with_targets(targets), columns);
    for (i, row) in rows.iter().enumerate() {
        let info = RowInfo { label: (i % 3) as f64, weight: 1.0, group: i as u64 / 4, id: 1000 - i as u64 };
        let further: Vec<f64> =
            (1..targets).map(|t| if t % 2 == 0 { 0.5 } else { f64::from(t) / (i + 1) as f64 }).collect();
        block.add_further(&further);
        block.push(info, row.iter().copied());
    }
    block
}

fn same_rows(a: &Block, b: &Block) -> bool {
    a.rows() == b.rows()
        && (0..a.rows()).all(|i| {
            a.info(i) == b.info(i)
                && a.further(i) == b.further(i)
                && a.row(i).iter().collect::<Vec<_>>() == b.row(i).iter().collect::<Vec<_>>()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn blocks_come_back((columns, rows) in rows(), double: bool) {
        let original = block(columns, &rows, if double { ValueKind::F64 } else { ValueKind::F32 });
        let mut bytes = vec![1, 2, 3];
        let header = encode(&original, &mut Scratch::default(), &mut bytes);
        prop_assert_eq!(header.block_bytes(), Some(bytes.len() as u64 - 3));
        // into the smallest layout, twice in a row, and into the most general one
        let general = Layout::new(false, ValueKind::F64).with_targets(original.layout().targets);
        for layout in [header.layout, general] {
            let mut back = Block::new(layout, columns);
            for _ in 0..2 {
                let rows_before = back.rows();
                decode(&bytes[3..], &mut back, &mut Scratch::default()).unwrap();
                back.retain(|i| i >= rows_before);
                prop_assert!(same_rows(&back, &original));
            }
        }
    }

    #[test]
    fn a_flipped_bit_is_always_detected((columns, rows) in rows(), place: prop::sample::Index, bit in 0u8..8) {
        let original = block(columns, &rows, ValueKind::F32);
        let mut bytes = Vec::new();
        let header = encode(&original, &mut Scratch::default(), &mut bytes);
        let at = place.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let mut back = Block::new(header.layout, columns);
        prop_assert!(decode(&bytes, &mut back, &mut Scratch::default()).is_err());
        prop_assert_eq!(back.rows(), 0);
    }

    /// Checksums guard against accidents; this is about malice: contents that lie under a correct checksum.
    #[test]
    fn a_forged_section_never_panics((columns, rows) in rows(), section in 0..SECTIONS.len(), place: prop::sample::Index, byte: u8) {
        let original = block(columns, &rows, ValueKind::F32);
        let mut bytes = Vec::new();
        let mut header = encode(&original, &mut Scratch::default(), &mut bytes);
        let from = HEADER_BYTES + header.section_bytes[..section].iter().sum::<u64>() as usize;
        let size = header.section_bytes[section] as usize;
        if size > 0 {
            bytes[from + place.index(size)] = byte;
            header.section_checksums[section] = crc32c::crc32c(&bytes[from..from + size]);
            header.write(&mut bytes[..HEADER_BYTES]);
        }
        let layout = Layout::new(false, ValueKind::F64).with_targets(original.layout().targets);
        let mut back = Block::new(layout, columns);
        if decode(&bytes, &mut back, &mut Scratch::default()).is_ok() {
            // What was accepted must be usable.
            let w = vec![1.0; columns];
            (0..back.rows()).for_each(|i| _ = back.row(i).dot(&w));
        }
    }
}

#[test]
fn every_encoding_is_chosen_where_it_fits() {
    let encode_rows = |rows: &[Vec<(u32, f64)>], kind: ValueKind| {
        let mut bytes = Vec::new();
        encode(&block(1000, rows, kind), &mut Scratch::default(), &mut bytes);
        encoding_name(bytes[values_at(&bytes).unwrap() as usize]).unwrap()
    };
    let make = |value: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<(u32, f64)>> {
        (0..200).map(|i| (0..100).map(|k| (k as u32 * 3, value(i, k))).collect()).collect()
    };
    let noise = |i: usize, k: usize| 1.0 + ((i * 7919 + k * 104_729) % 1_000_003) as f64 / 1_000_003.0;
    assert_eq!(encode_rows(&make(&|_, _| 1.0), ValueKind::F32), "all ones");
    assert_eq!(encode_rows(&make(&|i, _| 1.5 + i as f64), ValueKind::F32), "one per row");
    assert_eq!(encode_rows(&make(&|i, k| ((i + k) % 50) as f64), ValueKind::F32), "block dictionary");
    assert_eq!(encode_rows(&make(&|i, k| (k % 4) as f64 * noise(i, 0)), ValueKind::F32), "row dictionary");
    assert_eq!(encode_rows(&make(&noise), ValueKind::F32), "32-bit floats");
    assert_eq!(encode_rows(&make(&noise), ValueKind::F64), "64-bit floats");
}

/// A constant that is no 32-bit float must not be taken for one when its block is read beside blocks of such floats.
#[test]
fn constants_that_need_64_bits_say_so() {
    let rows = vec![vec![(0, 0.1), (3, 0.1)], vec![(1, 0.3)]];
    let header = encode(&block(5, &rows, ValueKind::F64), &mut Scratch::default(), &mut Vec::new());
    assert_eq!(header.layout.values, ValueKind::F64);
}

#[test]
fn blocks_with_another_number_of_targets_are_refused() {
    let rows = vec![vec![(0, 2.0)], vec![(1, 3.0)]];
    let mut bytes = Vec::new();
    // Six columns make two targets.
    let header = encode(&block(6, &rows, ValueKind::F32), &mut Scratch::default(), &mut bytes);
    assert_eq!(header.layout.targets, 2);
    for targets in [1, 3] {
        let mut back = Block::new(header.layout.with_targets(targets), 6);
        let error = decode(&bytes, &mut back, &mut Scratch::default()).unwrap_err();
        assert!(error.to_string().contains("targets a row"), "{error}");
    }
}
