//! The decoder of blocks: whatever lies under correct checksums, it does not panic, and what it accepts can be used.
use bolero::{TypeGenerator, check};
use towline::block::{Block, Layout, RowInfo, ValueKind};
use towline::store::format::{self, Scratch};
use towline_fuzz::{Executions, SECTIONS, parts, signed_block, test_time};

/// Columns of the block that is decoded into.
const COLUMNS: usize = 300;

/// A block that begins as a right one and is then changed here and there.
#[derive(Clone, Debug, TypeGenerator)]
struct Forgery {
    rows: Vec<(u8, Vec<(u8, i8)>)>,
    kind: u8,
    edits: Vec<Edit>,
    whole_sections: Vec<(u8, Vec<u8>)>,
}

#[derive(Clone, Debug, TypeGenerator)]
enum Edit {
    Field { at: u8, byte: u8 },
    Byte { section: u8, at: u16, byte: u8 },
    Insert { section: u8, at: u16, byte: u8 },
    Cut { section: u8, length: u16 },
}

impl Forgery {
    fn block(&self) -> Vec<u8> {
        let mut block = Block::new(Layout::new(false, ValueKind::F64), COLUMNS);
        for (i, (label, entries)) in self.rows.iter().enumerate() {
            let mut entries: Vec<(u32, f64)> = entries.iter().map(|&(c, v)| (u32::from(c), self.value(v))).collect();
            entries.sort_by_key(|entry| entry.0);
            entries.dedup_by_key(|entry| entry.0);
            let info = RowInfo { label: f64::from(*label), weight: 1.0, group: i as u64, id: 1000 - i as u64 };
            block.push(info, entries);
        }
        let mut bytes = Vec::new();
        format::encode(&block, &mut Scratch::default(), &mut bytes);
        bytes
    }

    /// Each kind leads to another encoding.
    fn value(&self, value: i8) -> f64 {
        match self.kind % 4 {
            0 => 1.0,
            1 => f64::from(value.signum()),
            2 => f64::from(value),
            _ => f64::from(value) / 3.0,
        }
    }

    fn forged(&self) -> Vec<u8> {
        let (mut fields, mut sections) = parts(&self.block());
        for (section, bytes) in &self.whole_sections {
            sections[*section as usize % SECTIONS] = bytes.clone();
        }
        for edit in &self.edits {
            match *edit {
                Edit::Field { at, byte } => fields[at as usize % 40] = byte,
                Edit::Byte { section, at, byte } => {
                    let section = &mut sections[section as usize % SECTIONS];
                    let length = section.len().max(1);
                    if let Some(place) = section.get_mut(at as usize % length) {
                        *place = byte;
                    }
                }
                Edit::Insert { section, at, byte } => {
                    let section = &mut sections[section as usize % SECTIONS];
                    section.insert(at as usize % (section.len() + 1), byte);
                }
                Edit::Cut { section, length } => {
                    let section = &mut sections[section as usize % SECTIONS];
                    section.truncate(length as usize % (section.len() + 1));
                }
            }
        }
        signed_block(&fields, &sections)
    }
}

/// Decodes behind a row that is there already; it must stay whatever happens.
fn decode(bytes: &[u8], layout: Layout) {
    let mut block = Block::new(layout, COLUMNS);
    let info = RowInfo { label: 7.0, weight: 2.0, group: 3, id: 4 };
    block.push(info, (0..if layout.dense { COLUMNS as u32 } else { 3 }).map(|column| (column, 1.0)));
    let first: Vec<(u32, f64)> = block.row(0).iter().collect();
    let result = format::decode(bytes, &mut block, &mut Scratch::default());
    assert!(result.is_ok() || block.rows() == 1);
    let w = vec![1.0; COLUMNS];
    let mut sum = vec![0.0; COLUMNS];
    for i in 0..block.rows() {
        let row = block.row(i);
        assert_eq!(row.iter().count(), row.len());
        let _ = (row.dot(&w), row.sq_norm(), block.info(i));
        row.add_to(&mut sum, 0.5);
    }
    assert_eq!((block.info(0), block.row(0).iter().collect::<Vec<_>>()), (info, first));
}

#[test]
fn block_bytes() {
    let executions = Executions::default();
    check!().with_type::<(Forgery, u8)>().with_test_time(test_time()).for_each(|(forgery, choice)| {
        let layouts = [
            Layout::new(false, ValueKind::F64),
            Layout::new(false, ValueKind::F32),
            Layout::new(false, ValueKind::PerRow),
            Layout::new(false, ValueKind::Ones),
            Layout::new(true, ValueKind::F64),
        ];
        executions.count();
        let bytes = forgery.forged();
        decode(&bytes, layouts[*choice as usize % layouts.len()]);
        let _ = format::values_at(&bytes);
    });
}

/// Without any forging the same machinery accepts every block: otherwise the target above would look at nothing but
/// headers.
#[test]
fn unforged_blocks_are_accepted() {
    check!().with_type::<Forgery>().with_iterations(300).for_each(|forgery| {
        let forgery = Forgery { edits: Vec::new(), whole_sections: Vec::new(), ..forgery.clone() };
        let mut block = Block::new(Layout::new(false, ValueKind::F64), COLUMNS);
        format::decode(&forgery.forged(), &mut block, &mut Scratch::default()).expect("a right block");
        assert_eq!(block.rows(), forgery.rows.len());
    });
}
