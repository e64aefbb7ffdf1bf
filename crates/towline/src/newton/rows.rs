//! Where the rows of a Newton step come from: memory, or scans of the store.
use std::sync::Arc;

use crate::block::Row;
use crate::budget::{Budget, Reservation};
use crate::residents::Residents;
use crate::solver::RowState;
use crate::store::{BlockId, BlockStore, ReadAhead};
use crate::trainer::{Cost, Pace, READ_AHEAD, Status, Task, TrainError, Watch};

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

    /// The run has to end: scans go on for a while from now on, to find out what has come of it.
    fn begin_end(&mut self) {}

    /// What says that the run has to end.
    fn watch(&self) -> Option<&Watch> {
        None
    }

    /// What waits for one more scan may have it although the run has to end.
    fn let_end(&mut self) {
        if self.watch().is_some_and(|watch| watch.look().is_some()) {
            self.begin_end();
        }
    }
}

/// The rows of a store.
pub struct StoreRows<'a> {
    store: Arc<dyn BlockStore>,
    task: &'a Task,
    source: Source,
    scanning: Scanning,
    /// What reading has cost.
    pub cost: Cost,
}

/// Looks at the limits of the run during scans.
#[derive(Clone)]
pub struct Scanning {
    watch: Watch,
    /// What a row costs, in values.
    unit: u64,
    is_end: bool,
}

impl Scanning {
    /// For rows that cost about as much as so many values.
    pub fn new(watch: &Watch, unit: u64) -> Self {
        Scanning { watch: watch.clone(), unit, is_end: false }
    }

    /// The same for models of so many outputs, where matrices have a block for each pair of them.
    pub fn with_outputs(self, outputs: u64) -> Self {
        Scanning { unit: self.unit.saturating_mul(outputs * (outputs + 1) / 2), ..self }
    }

    /// The run has to end: scans go on for a while from now on.
    pub fn begin_end(&mut self) {
        self.is_end = true;
    }

    /// The run goes on after all.
    pub fn go_on(&mut self) {
        self.is_end = false;
    }

    /// What is looked at.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Counts rows of one scan.
    pub fn rows(&self) -> Counted<'_> {
        Counted { scanning: self, pace: self.watch.pace(self.unit) }
    }
}

/// Rows of a scan, counted.
pub struct Counted<'a> {
    scanning: &'a Scanning,
    pace: Pace<'a>,
}

impl Counted<'_> {
    /// The next row comes; an error if the run has to end.
    #[inline(always)]
    pub fn next(&mut self) -> Result<(), TrainError> {
        match self.pace.step() {
            None => Ok(()),
            Some(status) => self.end(status),
        }
    }

    #[cold]
    fn end(&self, status: Status) -> Result<(), TrainError> {
        let Scanning { watch, is_end, .. } = self.scanning;
        if *is_end && watch.lets_end(status) { Ok(()) } else { Err(TrainError::Stopped(status)) }
    }
}

enum Source {
    Memory { residents: Box<Residents>, states: Vec<RowState>, _paid: Reservation },
    Scans(Box<ReadAhead>),
}

impl<'a> StoreRows<'a> {
    /// Reads everything once if it fits into what is left of the budget.
    pub fn open(
        store: Arc<dyn BlockStore>,
        task: &'a Task,
        watch: &Watch,
        budget: &Budget,
    ) -> Result<Self, TrainError> {
        let mut scanning = Scanning::new(watch, store.shape().values / store.shape().rows.max(1) + 1);
        let mut reader = ReadAhead::new(store.clone(), READ_AHEAD, budget)?;
        let (shape, mut cost) = (store.shape(), Cost::default());
        let bytes =
            Residents::bytes(shape.layout, shape.rows, shape.values) + shape.rows * size_of::<RowState>() as u64;
        let Ok(paid) = budget.reserve("resident rows", bytes) else {
            return Ok(StoreRows { store, task, source: Source::Scans(Box::new(reader)), scanning, cost });
        };
        let mut residents = Residents::with_capacity(shape, shape.rows as usize, shape.values as usize);
        let mut states = Vec::with_capacity(shape.rows as usize);
        let mut first = 0;
        (0..store.blocks().len() as u32).for_each(|id| reader.request(BlockId(id)));
        scanning.begin_end();
        let mut counted = scanning.rows();
        while let Some(block) = reader.take()? {
            cost.bytes_read += store.blocks()[block.id().0 as usize].stored_bytes;
            for i in 0..block.rows() {
                counted.next()?;
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
        scanning.go_on();
        let source = Source::Memory { residents: Box::new(residents), states, _paid: paid };
        Ok(StoreRows { store, task, source, scanning, cost })
    }

    /// The run goes on after all.
    pub fn go_on(&mut self) {
        self.scanning.go_on();
    }

    /// Calls `visit` with the position in the store besides.
    pub fn scan_positions(&mut self, mut visit: impl FnMut(u64, Row, f64, f64)) -> Result<(), TrainError> {
        let StoreRows { store, task, source, scanning, cost } = self;
        let mut counted = scanning.rows();
        let reader = match source {
            Source::Memory { residents, states, .. } => {
                for (i, state) in states.iter().enumerate() {
                    counted.next()?;
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
                if let Err(stopped) = counted.next() {
                    drop(block);
                    reader.forget()?;
                    return Err(stopped);
                }
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

    fn begin_end(&mut self) {
        self.scanning.begin_end();
    }
}
