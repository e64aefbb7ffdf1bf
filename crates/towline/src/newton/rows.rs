//! Where the rows of a Newton step come from: memory, or scans of the store.
use std::sync::Arc;

use crate::block::Row;
use crate::budget::{Budget, Reservation};
use crate::loss::Loss;
use crate::store::{BlockId, BlockStore, ReadAhead};
use crate::trainer::{Cost, READ_AHEAD, TrainError, TrainOptions};
use crate::working_set::WorkingSet;

/// Rows that can be gone through again and again, in the same order.
pub trait Rows {
    /// Calls `visit` with the number, values, target and weight of each row that has a part in the objective.
    fn scan(&mut self, visit: impl FnMut(usize, Row, f64, f64)) -> Result<(), TrainError>;
}

/// The rows of a store.
pub struct StoreRows<'a> {
    store: Arc<dyn BlockStore>,
    options: &'a TrainOptions,
    source: Source,
    /// What reading has cost.
    pub cost: Cost,
}

enum Source {
    Memory { set: Box<WorkingSet>, _paid: Reservation },
    Scans(Box<ReadAhead>),
}

impl<'a> StoreRows<'a> {
    /// Reads everything once if it fits into what is left of the budget.
    pub fn open<L: Loss>(
        loss: L,
        store: Arc<dyn BlockStore>,
        options: &'a TrainOptions,
        budget: &Budget,
    ) -> Result<Self, TrainError> {
        let mut reader = ReadAhead::new(store.clone(), READ_AHEAD, budget)?;
        let (shape, mut cost) = (store.shape(), Cost::default());
        let Ok(paid) = budget.reserve("resident rows", WorkingSet::bytes(shape.layout, shape.rows, shape.values))
        else {
            return Ok(StoreRows { store, options, source: Source::Scans(Box::new(reader)), cost });
        };
        let mut set = WorkingSet::with_capacity(shape, shape.rows as usize, shape.values as usize);
        let mut first = 0;
        (0..store.blocks().len() as u32).for_each(|id| reader.request(BlockId(id)));
        while let Some(block) = reader.take()? {
            cost.bytes_read += store.blocks()[block.id().0 as usize].stored_bytes;
            for i in (0..block.rows()).filter(|&i| !options.is_left_out(first + i as u64)) {
                set.push(loss, &block, i, first + i as u64, 0.0, &options.objective);
            }
            first += block.rows() as u64;
        }
        cost.passes = 1;
        Ok(StoreRows { store, options, source: Source::Memory { set: Box::new(set), _paid: paid }, cost })
    }

    /// Calls `visit` with the position in the store besides.
    pub fn scan_positions(&mut self, mut visit: impl FnMut(u64, Row, f64, f64)) -> Result<(), TrainError> {
        let StoreRows { store, options, source, cost } = self;
        let reader = match source {
            Source::Memory { set, .. } => {
                for (i, state) in set.states.iter().enumerate() {
                    visit(set.positions[i], set.block.row(i), state.y, state.c);
                }
                return Ok(());
            }
            Source::Scans(reader) => reader,
        };
        let mut first = 0;
        (0..store.blocks().len() as u32).for_each(|id| reader.request(BlockId(id)));
        while let Some(block) = reader.take()? {
            cost.bytes_read += store.blocks()[block.id().0 as usize].stored_bytes;
            for i in 0..block.rows() {
                let (y, c) = options.objective.row(&block.info(i));
                if c > 0.0 && !options.is_left_out(first + i as u64) {
                    visit(first + i as u64, block.row(i), y, c);
                }
            }
            first += block.rows() as u64;
        }
        cost.passes += 1;
        Ok(())
    }
}

impl Rows for StoreRows<'_> {
    fn scan(&mut self, mut visit: impl FnMut(usize, Row, f64, f64)) -> Result<(), TrainError> {
        let mut number = 0;
        self.scan_positions(|_, row, y, c| {
            visit(number, row, y, c);
            number += 1;
        })
    }
}
