//! Where rows come from: memory, if all of them fit, else scans of the store.
use std::sync::Arc;

use super::scanning::{Rows, Scanning, scan_and_choose};
use super::together::Port;
use crate::block::{Block, Row};
use crate::budget::{Budget, Reservation};
use crate::engine::{Cost, Pass, Status, Task, TrainError, Watch};
use crate::store::{BlockStore, Lent, Shape};

/// All rows of a store.
pub struct StoreRows {
    store: Arc<dyn BlockStore>,
    source: Source,
    /// Looks at the limits.
    pub scanning: Scanning,
    /// What reading has cost.
    pub cost: Cost,
}

enum Source {
    /// The memory of another program.
    Lent,
    Memory(Arc<Owned>),
    Scans(Box<Pass>),
    /// Scans that serve other models as well.
    Shared(Port),
}

/// Rows that were read for good.
struct Owned {
    rows: Block,
    #[allow(dead_code, reason = "holds what the rows take")]
    paid: Reservation,
}

impl StoreRows {
    /// Reads everything once if it is to be in memory. A row costs about as much as `row_work` values.
    pub fn open(
        store: Arc<dyn BlockStore>,
        in_memory: bool,
        (watch, row_work): (&Watch, u64),
        budget: &Budget,
    ) -> Result<Self, TrainError> {
        let cost = Cost { passes: 1, ..Cost::default() };
        let scanning = Scanning::new(watch, row_work);
        if store.resident().is_some() {
            return Ok(StoreRows { store, source: Source::Lent, scanning, cost });
        }
        let source = Source::Scans(Box::new(Pass::over(store.clone(), budget)?));
        let mut rows = StoreRows { store, source, scanning, cost: Cost::default() };
        let shape = rows.store.shape();
        if !in_memory {
            return Ok(rows);
        }
        let bytes = shape.layout.resident_bytes(shape.rows, shape.values);
        let paid = budget.reserve("resident rows", bytes)?;
        let (count, values) = (shape.rows as usize, shape.values as usize);
        let mut all = Block::with_capacity(shape.layout, shape.columns as usize, count, values);
        rows.scanning.begin_end();
        rows.blocks(|block, _| {
            (0..block.rows()).for_each(|i| all.push_from(block, i));
            Ok(())
        })?;
        rows.scanning.go_on();
        rows.source = Source::Memory(Arc::new(Owned { rows: all, paid }));
        Ok(rows)
    }

    /// The store that they are of.
    pub fn store(&self) -> &Arc<dyn BlockStore> {
        &self.store
    }

    /// All rows, if they are in memory.
    pub fn memory(&self) -> Option<&Block> {
        match &self.source {
            Source::Lent => self.store.resident(),
            Source::Memory(owned) => Some(&owned.rows),
            Source::Scans(_) | Source::Shared(_) => None,
        }
    }

    /// Calls `visit` with each block and the position of its first row.
    pub fn blocks(&mut self, mut visit: impl FnMut(&Block, u64) -> Result<(), TrainError>) -> Result<(), TrainError> {
        let StoreRows { store, source, scanning, cost } = self;
        let pass = match source {
            Source::Lent => return store.resident().map_or(Ok(()), |block| visit(block, 0)),
            Source::Memory(owned) => return visit(&owned.rows, 0),
            Source::Shared(port) => return port.scan(1, (scanning, cost), visit),
            Source::Scans(pass) => pass,
        };
        read(pass, 1, cost, |block, first| scanning.rows().next().and_then(|()| visit(&block, first)))?;
        cost.passes += 1;
        Ok(())
    }

    /// The same for every `step`-th block of those that are not in memory.
    pub fn every_block(
        &mut self,
        step: usize,
        mut visit: impl FnMut(&Block, u64) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let StoreRows { source, scanning, cost, .. } = self;
        match source {
            Source::Scans(pass) => {
                let visit = |block: Lent, first| scanning.rows().next().and_then(|()| visit(&block, first));
                read(pass, step, cost, visit)
            }
            Source::Shared(port) => port.scan(step, (scanning, cost), visit),
            _ => self.blocks(visit),
        }
    }

    /// The same rows for one of several models, where they are in memory.
    pub fn share(&self) -> Option<StoreRows> {
        let source = match &self.source {
            Source::Lent => Source::Lent,
            Source::Memory(owned) => Source::Memory(owned.clone()),
            Source::Scans(_) | Source::Shared(_) => return None,
        };
        Some(StoreRows { store: self.store.clone(), source, scanning: self.scanning.clone(), cost: self.cost })
    }

    /// The same rows for one of several models, which gets them through a port.
    pub fn through(&self, port: Port) -> StoreRows {
        let StoreRows { store, scanning, cost, .. } = self;
        StoreRows { store: store.clone(), source: Source::Shared(port), scanning: scanning.clone(), cost: *cost }
    }

    /// Lends every `step`-th block of those that are not in memory to `visit`, with the position of its first row,
    /// until that returns false.
    pub fn lend(&mut self, step: usize, mut visit: impl FnMut(Lent, u64) -> bool) -> Result<(), TrainError> {
        let StoreRows { source, cost, .. } = self;
        let Source::Scans(pass) = source else { return Ok(()) };
        let mut is_whole = true;
        let read = read(pass, step, cost, |block, first| {
            is_whole = visit(block, first);
            if is_whole { Ok(()) } else { Err(TrainError::Stopped(Status::Interrupted)) }
        });
        // Nobody wanted the rest.
        if is_whole {
            read?;
        }
        cost.passes += u64::from(is_whole && step == 1);
        Ok(())
    }
}

/// About what a row costs that is looked at and may be added to a matrix, in values.
pub fn row_work(shape: &Shape) -> u64 {
    shape.values / shape.rows.max(1) + shape.columns.saturating_mul(shape.columns) / 16 + 1
}

/// Visits every `step`-th block. What is done with a block counts as reading: solvers count what they do in between.
fn read(
    pass: &mut Pass,
    step: usize,
    cost: &mut Cost,
    mut visit: impl FnMut(Lent, u64) -> Result<(), TrainError>,
) -> Result<(), TrainError> {
    pass.ask_for(pass.blocks().step_by(step));
    cost.reading(|cost| {
        while let Some((block, first)) = pass.next(cost)? {
            // Visits may look within a block as well.
            if let Err(error) = visit(block, first) {
                pass.break_off()?;
                return Err(error);
            }
        }
        Ok(())
    })
}

/// The rows of a store that have a part in the objective of one task, numbered from 0.
pub struct TaskRows<'a> {
    rows: &'a mut StoreRows,
    task: &'a Task,
    /// Position, target and weight of each, where all rows are in memory.
    known: Option<Vec<Known>>,
}

#[derive(Clone, Copy)]
struct Known {
    position: u32,
    y: f64,
    c: f64,
}

impl<'a> TaskRows<'a> {
    /// Bytes that it takes for rows in memory.
    pub fn bytes(rows: u64) -> u64 {
        rows * size_of::<Known>() as u64
    }

    /// Those of `task`.
    pub fn new(rows: &'a mut StoreRows, task: &'a Task) -> Self {
        let known = rows.memory().map(|block| {
            let of = |i: usize| {
                let info = block.info(i);
                let (y, c) = task.objective.row(&info);
                (c > 0.0 && task.keeps(&info, i as u64)).then_some(Known { position: i as u32, y, c })
            };
            (0..block.rows()).filter_map(of).collect()
        });
        TaskRows { rows, task, known }
    }

    /// The task that they are of.
    pub fn task(&self) -> &'a Task {
        self.task
    }

    /// The rows of the store, to read others than those of the task.
    pub fn store_rows_mut(&mut self) -> &mut StoreRows {
        self.rows
    }

    /// The rows of the store.
    pub fn store_rows(&self) -> &StoreRows {
        self.rows
    }

    /// How many there are, where that is known without a scan.
    pub fn count(&self) -> Option<usize> {
        self.known.as_ref().map(Vec::len)
    }

    /// Targets and weights, where that is known without a scan.
    pub fn targets(&self) -> Option<impl Iterator<Item = (f64, f64)>> {
        self.known.as_ref().map(|known| known.iter().map(|known| (known.y, known.c)))
    }

    /// `wanted` of `count` rows in memory, evenly spread, each with the weight of those that it stands for: the first
    /// of those, or one `part` of the way to the next.
    pub fn every(&self, count: usize, wanted: usize, part: f64) -> Vec<(u32, f64, f64)> {
        let Some(known) = &self.known else { return Vec::new() };
        let stands_for = count as f64 / wanted as f64;
        let chosen = (0..wanted).map(|k| known[((k as f64 + part) * stands_for) as usize]);
        chosen.map(|Known { position, y, c }| (position, y, c * stands_for)).collect()
    }

    /// Calls `visit` with the position in the store besides.
    pub fn scan_positions(&mut self, mut visit: impl FnMut(u64, usize, Row, f64, f64)) -> Result<(), TrainError> {
        self.scan_rows(|position, number, block, i, y, c| visit(position, number, block.row(i), y, c))
    }

    /// Calls `visit` with position, number, the block in which the row lies and its place there, target and weight.
    pub fn scan_rows(&mut self, mut visit: impl FnMut(u64, usize, &Block, usize, f64, f64)) -> Result<(), TrainError> {
        let scanning = self.rows.scanning.clone();
        let mut counted = scanning.rows();
        if let (Some(known), Some(block)) = (&self.known, self.rows.memory()) {
            for (number, &Known { position, y, c }) in known.iter().enumerate() {
                counted.next()?;
                visit(u64::from(position), number, block, position as usize, y, c);
            }
            return Ok(());
        }
        let (task, mut number) = (self.task, 0);
        self.rows.blocks(|block, first| {
            for i in 0..block.rows() {
                counted.next()?;
                let (info, position) = (block.info(i), first + i as u64);
                let (y, c) = task.objective.row(&info);
                if c > 0.0 && task.keeps(&info, position) {
                    visit(position, number, block, i, y, c);
                    number += 1;
                }
            }
            Ok(())
        })
    }
}

impl Rows for TaskRows<'_> {
    fn begin_end(&mut self) {
        self.rows.scanning.begin_end();
    }

    fn watch(&self) -> Option<&Watch> {
        Some(self.rows.scanning.watch())
    }

    fn scan(&mut self, mut visit: impl FnMut(usize, Row, f64, f64)) -> Result<(), TrainError> {
        self.scan_positions(|_, number, row, y, c| visit(number, row, y, c))
    }

    fn most(&self) -> usize {
        self.count().unwrap_or(self.rows.store.shape().rows as usize)
    }

    fn are_in_memory(&self) -> bool {
        self.known.is_some()
    }

    fn scan_some(&mut self, numbers: &[u32], mut visit: impl FnMut(usize, Row)) -> Result<(), TrainError> {
        let (Some(known), Some(block)) = (&self.known, self.rows.memory()) else {
            return scan_and_choose(self, numbers, visit);
        };
        let mut counted = self.rows.scanning.rows();
        for (place, &number) in numbers.iter().enumerate() {
            counted.next()?;
            visit(place, block.row(known[number as usize].position as usize));
        }
        Ok(())
    }
}

/// A row in a scan of the store that knows its margin.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// Where it is in the store.
    pub position: u64,
    /// Where it lies in memory.
    pub block: &'a Block,
    /// Its place there.
    pub i: usize,
    /// Its target.
    pub y: f64,
    /// Its weight.
    pub c: f64,
    /// Its margin.
    pub z: f64,
}

/// Some rows in memory, with a weight of their own.
pub struct Subset<'a> {
    block: &'a Block,
    rows: &'a [(u32, f64, f64)],
    scanning: Scanning,
}

impl<'a> Subset<'a> {
    /// Rows of `block` by number, each with its target and weight; `scanning` says when the run has to end.
    pub fn new(block: &'a Block, rows: &'a [(u32, f64, f64)], scanning: Scanning) -> Self {
        Subset { block, rows, scanning }
    }
}

impl Rows for Subset<'_> {
    fn scan(&mut self, mut visit: impl FnMut(usize, Row, f64, f64)) -> Result<(), TrainError> {
        let mut counted = self.scanning.rows();
        for (number, &(i, y, c)) in self.rows.iter().enumerate() {
            counted.next()?;
            visit(number, self.block.row(i as usize), y, c);
        }
        Ok(())
    }

    fn scan_some(&mut self, numbers: &[u32], mut visit: impl FnMut(usize, Row)) -> Result<(), TrainError> {
        let mut counted = self.scanning.rows();
        for (place, &number) in numbers.iter().enumerate() {
            counted.next()?;
            visit(place, self.block.row(self.rows[number as usize].0 as usize));
        }
        Ok(())
    }

    fn most(&self) -> usize {
        self.rows.len()
    }

    fn begin_end(&mut self) {
        self.scanning.begin_end();
    }

    fn watch(&self) -> Option<&Watch> {
        Some(self.scanning.watch())
    }
}
