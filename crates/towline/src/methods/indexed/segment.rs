//! A part of the active rows: in memory, or its rows on disk until it is their turn (IBCD, section 4.2).
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::block::Block;
use crate::budget::{Budget, BudgetError, Reservation};
use crate::order::{Order, OrderName};
use crate::residents::Residents;
use crate::solver::RowState;
use crate::store::format::{self, Scratch};
use crate::store::{Shape, StoreError};

/// Bytes of a segment, at most, unless one row takes more. Large ones are few, large reads when they come back.
const SEGMENT_BYTES: u64 = 32 << 20;
/// A segment takes at most this part of the memory that is free at first: several are to fit beside the pages.
const SEGMENT_PART: u64 = 8;
/// Bytes of a row besides its values: state, position, norm, what an order keeps of it, its place in a sweep, and its
/// curvatures in a Newton step.
const STATE_BYTES: u64 = 32 + 16 + 32 + 8 + 16;

/// Active rows that come and go together.
pub struct Segment {
    /// The rows; none while they are on disk.
    pub residents: Residents,
    /// The state of each row.
    pub states: Vec<RowState>,
    /// In which order they are visited.
    pub order: Box<dyn Order>,
    /// Where the rows lie on disk, if they have been written since they last changed.
    place: Option<(u64, u64)>,
    /// Where their states and positions do.
    states_at: Option<u64>,
    /// How many there are on disk.
    away: Option<usize>,
    order_name: OrderName,
    room: Room,
    rows_paid: Reservation,
    states_paid: Reservation,
}

/// Bytes of a state with its position on disk.
pub const STORED_STATE_BYTES: usize = 5 * 8;

/// How much a segment holds.
#[derive(Clone, Copy)]
pub struct Room {
    rows: u64,
    values: u64,
    /// Values of the longest row.
    longest: u64,
    shape: Shape,
}

impl Room {
    /// For rows of this store, with so much memory free.
    pub fn of(shape: Shape, longest: u64, free_bytes: u64) -> Room {
        let mean = shape.values as f64 / shape.rows.max(1) as f64;
        let row_bytes = (shape.layout.resident_bytes(1, 0) + STATE_BYTES) as f64
            + 1.25 * mean * shape.layout.value_bytes(1).max(1) as f64;
        let bytes = SEGMENT_BYTES.min(free_bytes / SEGMENT_PART) as f64;
        let rows = ((bytes / row_bytes) as u64).clamp(1, shape.rows.max(1));
        Room { rows, values: (rows as f64 * mean * 1.25) as u64 + longest, longest, shape }
    }

    /// Segments that hold this many rows.
    pub fn segments_for(&self, rows: u64) -> u64 {
        rows.div_ceil(self.rows)
    }

    /// Bytes of its rows.
    pub fn row_bytes(&self) -> u64 {
        self.shape.layout.resident_bytes(self.rows, self.values)
    }

    /// Bytes of everything.
    pub fn bytes(&self) -> u64 {
        self.row_bytes() + self.rows * STATE_BYTES
    }
}

impl Segment {
    /// An empty one.
    pub fn new(room: Room, order: OrderName, budget: &Budget) -> Result<Segment, BudgetError> {
        let rows_paid = budget.reserve("active rows", room.row_bytes())?;
        let states_paid = budget.reserve("states of active rows", room.bytes() - room.row_bytes())?;
        Ok(Segment {
            residents: Residents::with_capacity(room.shape, room.rows as usize, room.values as usize),
            states: Vec::with_capacity(room.rows as usize),
            order: order.make(),
            place: None,
            states_at: None,
            away: None,
            order_name: order,
            room,
            rows_paid,
            states_paid,
        })
    }

    /// Rows, in memory or on disk.
    pub fn rows(&self) -> usize {
        self.away.unwrap_or(self.states.len())
    }

    /// Whether one more row fits, however long.
    pub fn has_room(&self) -> bool {
        self.is_resident()
            && (self.rows() as u64) < self.room.rows
            && self.residents.block.values() as u64 + self.room.longest <= self.room.values
    }

    /// Whether its rows are in memory.
    pub fn is_resident(&self) -> bool {
        self.away.is_none()
    }

    /// A row has come or gone: what lies on disk is out of date.
    pub fn changed(&mut self) {
        self.place = None;
        self.order.resize(self.rows());
    }

    /// Moves the rows to `file`, with their states, and lets go of their memory.
    pub fn spill(&mut self, file: &File, scratch: &mut Scratch) -> io::Result<()> {
        if self.place.is_none() {
            let mut bytes = Vec::new();
            format::encode(&self.residents.block, scratch, &mut bytes);
            let at = file.metadata()?.len();
            file.write_all_at(&bytes, at)?;
            self.place = Some((at, bytes.len() as u64));
        }
        self.spill_states(file)?;
        self.away = Some(self.states.len());
        self.states = Vec::new();
        self.residents = Residents::inside(self.empty(0, 0));
        self.order = self.order_name.make();
        // Shrinking is never refused.
        let _ = self.rows_paid.resize(0);
        let _ = self.states_paid.resize(0);
        Ok(())
    }

    /// States change with every visit: they have a place of their own, which is written over.
    fn spill_states(&mut self, file: &File) -> io::Result<()> {
        let at = match self.states_at {
            Some(at) => at,
            None => {
                let at = file.metadata()?.len();
                file.set_len(at + self.room.rows * STORED_STATE_BYTES as u64)?;
                *self.states_at.insert(at)
            }
        };
        let mut bytes = Vec::with_capacity(self.states.len() * STORED_STATE_BYTES);
        for (state, position) in self.states.iter().zip(&self.residents.positions) {
            let RowState { y, c, sq_norm, beta } = *state;
            [y, c, sq_norm, beta].iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
            bytes.extend_from_slice(&position.to_le_bytes());
        }
        file.write_all_at(&bytes, at)
    }

    /// Bytes that bringing it back takes.
    pub fn missing_bytes(&self) -> u64 {
        if self.is_resident() { 0 } else { self.room.bytes() }
    }

    /// Brings the rows back; how many bytes were read.
    pub fn load(&mut self, file: &File, scratch: &mut Scratch) -> Result<u64, StoreError> {
        let (Some((at, length)), Some(count)) = (self.place, self.away) else { return Ok(0) };
        self.rows_paid.resize(self.room.row_bytes())?;
        self.states_paid.resize(self.room.bytes() - self.room.row_bytes())?;
        let name = std::path::Path::new("active rows");
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, at).map_err(StoreError::io(name, "read them back"))?;
        let mut block = self.empty(self.room.rows as usize, self.room.values as usize);
        format::decode(&bytes, &mut block, scratch).map_err(|error| StoreError::block(name, 0, &error))?;
        let mut residents = Residents::inside(block);
        residents.sq_norms.reserve_exact(count);
        residents.positions.reserve_exact(count);
        self.states.reserve_exact(self.room.rows as usize);
        for (i, (state, position)) in self.states_on_disk(file)?.into_iter().enumerate() {
            self.states.push(state);
            residents.positions.push(position);
            residents.sq_norms.push(residents.block.row(i).sq_norm());
        }
        self.residents = residents;
        self.away = None;
        self.order.resize(count);
        Ok(length + (count * STORED_STATE_BYTES) as u64)
    }

    /// States and positions of rows that are on disk; none while they are in memory.
    pub fn states_on_disk(&self, file: &File) -> Result<Vec<(RowState, u64)>, StoreError> {
        let (Some(at), Some(count)) = (self.states_at, self.away) else { return Ok(Vec::new()) };
        let mut bytes = vec![0; count * STORED_STATE_BYTES];
        let failed = StoreError::io(std::path::Path::new("active rows"), "read their states back");
        file.read_exact_at(&mut bytes, at).map_err(failed)?;
        let entry = |entry: &[u8; STORED_STATE_BYTES]| {
            let word = |k: usize| -> [u8; 8] { std::array::from_fn(|byte| entry[8 * k + byte]) };
            let number = |k: usize| f64::from_le_bytes(word(k));
            let state = RowState { y: number(0), c: number(1), sq_norm: number(2), beta: number(3) };
            (state, u64::from_le_bytes(word(4)))
        };
        Ok(bytes.as_chunks().0.iter().map(entry).collect())
    }

    fn empty(&self, rows: usize, values: usize) -> Block {
        let shape = self.room.shape;
        Block::with_capacity(shape.layout, shape.columns as usize, rows, values)
    }
}
