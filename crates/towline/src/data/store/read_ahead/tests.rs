use super::*;
use crate::block::{Layout, RowInfo};
use crate::store::{BlockInfo, Shape};

/// Blocks of one row each, whose id is the block's number; one of them may be unreadable.
struct Numbered {
    infos: Vec<BlockInfo>,
    broken: Option<u32>,
}

fn numbered(blocks: usize, broken: Option<u32>) -> Arc<dyn BlockStore> {
    Arc::new(Numbered { infos: vec![BlockInfo { rows: 1, values: 1, stored_bytes: 10 }; blocks], broken })
}

impl BlockStore for Numbered {
    fn shape(&self) -> Shape {
        let blocks = self.infos.len() as u64;
        Shape { rows: blocks, values: blocks, columns: 1, layout: Layout::SPARSE_F32 }
    }

    fn blocks(&self) -> &[BlockInfo] {
        &self.infos
    }

    fn read(&self, id: BlockId, _buffers: &mut ReadBuffers, into: &mut Block) -> Result<(), StoreError> {
        if self.broken == Some(id.0) {
            return Err(StoreError::damaged(std::path::Path::new("numbered"), format!("block {}", id.0)));
        }
        into.push(RowInfo { label: 0.0, weight: 1.0, group: 0, id: u64::from(id.0) }, [(0, 1.0)]);
        Ok(())
    }
}

fn reader(store: Arc<dyn BlockStore>, depth: usize) -> ReadAhead {
    ReadAhead::new(store, depth, &Budget::unlimited()).unwrap()
}

#[test]
fn blocks_come_in_the_order_of_the_requests() {
    let orders: [&[u32]; 4] = [&[0, 1, 2, 3, 4], &[4, 3, 2, 1, 0], &[2, 2, 2], &[3, 0, 3, 1, 1, 4, 0]];
    for depth in 0..4 {
        for order in orders {
            let mut reader = reader(numbered(5, None), depth);
            order.iter().for_each(|&id| reader.request(BlockId(id)));
            for &id in order {
                let block = reader.take().unwrap().unwrap();
                assert_eq!((block.id(), block.ids()), (BlockId(id), &[u64::from(id)][..]), "depth {depth}");
            }
            assert!(reader.take().unwrap().is_none(), "nothing more was asked for");
        }
    }
}

#[test]
fn requests_may_follow_what_was_taken() {
    let mut reader = reader(numbered(100, None), 2);
    reader.request(BlockId(0));
    for id in 0..99 {
        reader.request(BlockId(id + 1));
        assert_eq!(reader.take().unwrap().unwrap().id(), BlockId(id));
    }
}

#[test]
fn an_error_comes_in_its_place_and_nothing_hangs_after_it() {
    for depth in 1..4 {
        let mut reader = reader(numbered(5, Some(2)), depth);
        (0..5).for_each(|id| reader.request(BlockId(id)));
        for id in 0..2 {
            assert_eq!(reader.take().unwrap().unwrap().id(), BlockId(id));
        }
        let error = reader.take().err().expect("block 2 is broken");
        assert!(matches!(&error, StoreError::Damaged { problem, .. } if problem == "block 2"), "{error}");
        assert!(matches!(reader.take(), Err(StoreError::ReaderGone)));
        reader.request(BlockId(0));
        assert!(!matches!(reader.take(), Ok(Some(_))), "reading has ended");
    }
}

#[test]
fn dropping_the_reader_while_blocks_are_on_loan_does_not_hang() {
    for taken in 0..=2 {
        let mut reader = reader(numbered(9, None), 2);
        (0..9).for_each(|id| reader.request(BlockId(id)));
        let lent: Vec<Lent> = (0..taken).map(|_| reader.take().unwrap().unwrap()).collect();
        drop(reader);
        for (id, block) in lent.iter().enumerate() {
            assert_eq!(block.ids(), [id as u64], "a block on loan outlives its reader");
        }
    }
}

#[test]
fn the_budget_pays_for_the_blocks_and_gets_them_back() {
    let store = numbered(3, None);
    let needed = ReadAhead::needed_bytes(&*store, 2);
    let budget = Budget::new(needed);
    let reader = ReadAhead::new(store.clone(), 2, &budget).unwrap();
    assert_eq!(budget.free_bytes(), 0);
    drop(reader);
    assert_eq!(budget.free_bytes(), needed);
    assert!(matches!(ReadAhead::new(store, 3, &budget), Err(StoreError::Budget(_))));
}
