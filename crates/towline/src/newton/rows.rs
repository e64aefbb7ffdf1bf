//! Where the rows of a Newton step come from: memory, or scans of the store.
use std::sync::Arc;

use crate::block::Row;
use crate::budget::{Budget, Reservation};
use crate::residents::Residents;
use crate::solver::RowState;
use crate::store::{BlockId, BlockStore, ReadAhead};
use crate::trainer::{Cost, READ_AHEAD, Task, TrainError};

/// Rows that can be gone through again and again, in the same order.
pub trait Rows {
    /// Calls `visit` with the number, values, target and weight of each row that has a part in the objective.
    fn scan(&mut self, visit: impl FnMut(usize, Row, f64, f64)) -> Result<(), TrainError>;

    /// How many there are at most.
    fn most(&self) -> usize;

    /// Whether they are in memory, so that there is room for some numbers of each of them as well.
    fn are_in_memory(&self) -> bool {
        true
    }
}

/// The rows of a store.
pub struct StoreRows<'a> {
    store: Arc<dyn BlockStore>,
    task: &'a Task,
    source: Source,
    /// What reading has cost.
    pub cost: Cost,
}

enum Source {
    Memory { residents: Box<Residents>, states: Vec<RowState>, _paid: Reservation },
    Scans(Box<ReadAhead>),
}

impl<'a> StoreRows<'a> {
    /// Reads everything once if it fits into what is left of the budget.
    pub fn open(store: Arc<dyn BlockStore>, task: &'a Task, budget: &Budget) -> Result<Self, TrainError> {
        let mut reader = ReadAhead::new(store.clone(), READ_AHEAD, budget)?;
        let (shape, mut cost) = (store.shape(), Cost::default());
        let bytes =
            Residents::bytes(shape.layout, shape.rows, shape.values) + shape.rows * size_of::<RowState>() as u64;
        let Ok(paid) = budget.reserve("resident rows", bytes) else {
            return Ok(StoreRows { store, task, source: Source::Scans(Box::new(reader)), cost });
        };
        let mut residents = Residents::with_capacity(shape, shape.rows as usize, shape.values as usize);
        let mut states = Vec::with_capacity(shape.rows as usize);
        let mut first = 0;
        (0..store.blocks().len() as u32).for_each(|id| reader.request(BlockId(id)));
        while let Some(block) = reader.take()? {
            cost.bytes_read += store.blocks()[block.id().0 as usize].stored_bytes;
            for i in 0..block.rows() {
                let (info, position) = (block.info(i), first + i as u64);
                let (y, c) = task.objective.row(&info);
                if c > 0.0 && task.keeps(&info, position) {
                    residents.push(&block, i, position);
                    states.push(RowState { y, c, sq_norm: 0.0, beta: 0.0 });
                }
            }
            first += block.rows() as u64;
        }
        cost.passes = 1;
        Ok(StoreRows {
            store,
            task,
            source: Source::Memory { residents: Box::new(residents), states, _paid: paid },
            cost,
        })
    }

    /// Calls `visit` with the position in the store besides.
    pub fn scan_positions(&mut self, mut visit: impl FnMut(u64, Row, f64, f64)) -> Result<(), TrainError> {
        let StoreRows { store, task, source, cost } = self;
        let reader = match source {
            Source::Memory { residents, states, .. } => {
                for (i, state) in states.iter().enumerate() {
                    visit(residents.positions[i], residents.block.row(i), state.y, state.c);
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
                let (info, position) = (block.info(i), first + i as u64);
                let (y, c) = task.objective.row(&info);
                if c > 0.0 && task.keeps(&info, position) {
                    visit(position, block.row(i), y, c);
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

    fn most(&self) -> usize {
        self.store.shape().rows as usize
    }
}
