//! The one way over the blocks of a store: they are read ahead, each comes with the position of its first row, and what
//! reading has cost is counted.
use std::sync::Arc;
use std::time::Instant;

use crate::block::Block;
use crate::budget::Budget;
use crate::engine::plan::READ_AHEAD;
use crate::engine::{Cost, TrainError};
use crate::store::{BlockId, BlockStore, Lent, ReadAhead, StoreError};

/// Walks over the blocks of a store, as often as asked for.
pub struct Pass {
    store: Arc<dyn BlockStore>,
    reader: ReadAhead,
    /// Rows before each block.
    first_rows: Vec<u64>,
}

impl Pass {
    /// What blocks that are read ahead take from the budget.
    pub fn bytes(store: &dyn BlockStore) -> u64 {
        ReadAhead::needed_bytes(store, READ_AHEAD)
    }

    /// Nothing is read yet.
    pub fn over(store: Arc<dyn BlockStore>, budget: &Budget) -> Result<Pass, StoreError> {
        let reader = ReadAhead::new(store.clone(), READ_AHEAD, budget)?;
        let mut rows = 0;
        let first_rows = store.blocks().iter().map(|block| {
            rows += u64::from(block.rows);
            rows - u64::from(block.rows)
        });
        let first_rows = first_rows.collect();
        Ok(Pass { store, reader, first_rows })
    }

    /// All blocks, as they lie in the store.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.first_rows.len() as u32).map(BlockId)
    }

    /// Asks for blocks, which come in this order, behind those that were asked for before.
    pub fn ask_for(&mut self, blocks: impl IntoIterator<Item = BlockId>) {
        blocks.into_iter().for_each(|id| self.reader.request(id));
    }

    /// The next block that was asked for, and the position of its first row.
    pub fn next(&mut self, cost: &mut Cost) -> Result<Option<(Lent, u64)>, StoreError> {
        let waiting = Instant::now();
        let Some(block) = self.reader.take()? else { return Ok(None) };
        cost.read_seconds += waiting.elapsed().as_secs_f64();
        let id = block.id().0 as usize;
        cost.bytes_read += self.store.blocks()[id].stored_bytes;
        Ok(Some((block, self.first_rows[id])))
    }

    /// Takes back what was asked for and has not come.
    pub fn break_off(&mut self) -> Result<(), StoreError> {
        self.reader.forget()
    }

    /// Calls `visit` with all blocks in order, each with the position of its first row. An error of `visit` breaks the
    /// pass off.
    pub fn scan(
        &mut self,
        cost: &mut Cost,
        visit: impl FnMut(&Block, u64) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        self.ask_for(self.blocks());
        self.visit_asked(cost, visit)?;
        cost.passes += 1;
        Ok(())
    }

    /// The same for the blocks that were asked for.
    pub fn visit_asked(
        &mut self,
        cost: &mut Cost,
        mut visit: impl FnMut(&Block, u64) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        while let Some((block, first)) = self.next(cost)? {
            let visited = visit(&block, first);
            drop(block);
            if visited.is_err() {
                // Whatever is wrong with blocks that nobody will look at, this error came first.
                let _ = self.break_off();
                return visited;
            }
        }
        Ok(())
    }
}

/// One scan over all blocks of a store, for which nothing stays open.
pub fn scan_once(
    store: &Arc<dyn BlockStore>,
    budget: &Budget,
    cost: &mut Cost,
    visit: impl FnMut(&Block, u64) -> Result<(), TrainError>,
) -> Result<(), TrainError> {
    Pass::over(store.clone(), budget)?.scan(cost, visit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Layout, RowInfo, ValueKind};
    use crate::engine::Status;
    use crate::store::MemoryStore;

    fn store(blocks: u64) -> Arc<dyn BlockStore> {
        let block = |k: u64| {
            let mut block = Block::new(Layout::new(false, ValueKind::F64), 3);
            (0..=k).for_each(|i| block.push(RowInfo { label: 1.0, weight: 1.0, group: 0, id: i }, [(0, 1.0)]));
            block
        };
        Arc::new(MemoryStore::new((0..blocks).map(block).collect()))
    }

    #[test]
    fn blocks_come_in_order_with_their_positions_and_count_as_a_pass() {
        let (mut cost, mut seen) = (Cost::default(), Vec::new());
        let mut pass = Pass::over(store(4), &Budget::unlimited()).unwrap();
        let note = |seen: &mut Vec<(u64, usize)>, block: &Block, first| seen.push((first, block.rows()));
        pass.scan(&mut cost, |block, first| {
            note(&mut seen, block, first);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, [(0, 1), (1, 2), (3, 3), (6, 4)]);
        assert_eq!(cost.passes, 1);
        seen.clear();
        pass.ask_for([BlockId(2), BlockId(0)]);
        pass.visit_asked(&mut cost, |block, first| {
            note(&mut seen, block, first);
            Ok(())
        })
        .unwrap();
        assert_eq!((seen, cost.passes), (vec![(3, 3), (0, 1)], 1));
    }

    #[test]
    fn a_pass_that_is_broken_off_can_begin_again() {
        let mut cost = Cost::default();
        let mut pass = Pass::over(store(5), &Budget::unlimited()).unwrap();
        for _ in 0..3 {
            let mut left = 2;
            let ended = pass.scan(&mut cost, |_, _| {
                left -= 1;
                if left > 0 { Ok(()) } else { Err(TrainError::Stopped(Status::OutOfTime)) }
            });
            assert!(matches!(ended, Err(TrainError::Stopped(Status::OutOfTime))));
        }
        assert_eq!(cost.passes, 0);
        let mut rows = 0;
        scan_once(&store(5), &Budget::unlimited(), &mut cost, |block, first| {
            assert_eq!(first, rows);
            rows += block.rows() as u64;
            Ok(())
        })
        .unwrap();
        assert_eq!((rows, cost.passes), (15, 1));
    }
}
