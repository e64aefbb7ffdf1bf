//! The active set S: every row with a dual variable, in segments that take their turns.
use std::fs::File;
use std::path::PathBuf;

use super::segment::{Room, STORED_STATE_BYTES, Segment};
use crate::bits::RowBits;
use crate::block::{Block, Row};
use crate::budget::{Budget, Reservation};
use crate::engine::{Duals, TrainError};
use crate::index::PageCache;
use crate::loss::Loss;
use crate::objective::Objective;
use crate::order::OrderName;
use crate::residents;
use crate::solver::RowState;
use crate::store::StoreError;
use crate::store::format::Scratch;

/// Active rows, as many of them in memory as there is room for.
pub struct ActiveSet {
    /// In the order in which they came.
    pub segments: Vec<Segment>,
    /// Which rows are active.
    pub bits: RowBits,
    room: Room,
    order: OrderName,
    budget: Budget,
    /// Bytes that pages keep.
    page_bytes: u64,
    /// The segment whose turn is next.
    turn: usize,
    /// The resident segment that leaves next, if one must.
    oldest: usize,
    file: Option<File>,
    folder: PathBuf,
    scratch: Scratch,
    _paid: Reservation,
}

impl ActiveSet {
    /// No row is active; pages keep so many bytes.
    pub fn new(
        rows: u64,
        (room, page_bytes): (Room, u64),
        order: OrderName,
        folder: PathBuf,
        budget: &Budget,
    ) -> Result<Self, TrainError> {
        let paid = budget.reserve("which rows are active", RowBits::bytes(rows))?;
        Ok(ActiveSet {
            segments: Vec::new(),
            bits: RowBits::new(rows),
            room,
            order,
            budget: budget.clone(),
            page_bytes,
            turn: 0,
            oldest: 0,
            file: None,
            folder,
            scratch: Scratch::default(),
            _paid: paid,
        })
    }

    /// Rows in all segments.
    pub fn rows(&self) -> u64 {
        self.segments.iter().map(|segment| segment.rows() as u64).sum()
    }

    /// Values of a row, on average, as far as rows are in memory.
    pub fn row_work(&self) -> u64 {
        let values: u64 = self.segments.iter().map(|segment| segment.residents.block.values() as u64).sum();
        values / self.rows().max(1) + 1
    }

    /// Whether any row could be added without making room.
    pub fn has_room(&self) -> bool {
        self.segments.iter().any(Segment::has_room)
    }

    /// Adds a row, into a segment with room or a new one, with its dual variable.
    pub fn push<L: Loss>(
        &mut self,
        loss: L,
        (block, i): (&Block, usize),
        (position, beta): (u64, f64),
        objective: &Objective,
        pages: &mut PageCache,
    ) -> Result<(), TrainError> {
        if !self.has_room() {
            self.grow(pages)?;
        }
        self.append(loss, (block, i), (position, beta), objective);
        Ok(())
    }

    /// Adds a row for which there is room.
    pub fn append<L: Loss>(
        &mut self,
        loss: L,
        (block, i): (&Block, usize),
        (position, beta): (u64, f64),
        objective: &Objective,
    ) {
        let (y, c) = objective.row(&block.info(i));
        if let Some(segment) = self.segments.iter_mut().rev().find(|segment| c > 0.0 && segment.has_room()) {
            let (low, high) = loss.dual_bounds(y, c);
            segment.residents.push(block, i, position);
            let sq_norm = block.row(i).sq_norm() + objective.bias * objective.bias;
            segment.states.push(RowState { y, c, sq_norm, beta: beta.clamp(low, high) });
            segment.changed();
            self.bits.set(position, true);
        }
    }

    /// Whether the next row would push others to disk.
    pub fn is_short(&self, pages: &PageCache) -> bool {
        let beyond = pages.held_bytes().saturating_sub(self.page_bytes);
        !self.has_room() && self.budget.free_bytes() + beyond < self.room.bytes()
    }

    /// Whether rows wait on disk.
    pub fn is_parted(&self) -> bool {
        !self.segments.iter().all(Segment::is_resident)
    }

    /// Whether this many rows can be in memory together, beside as many pages as are to stay.
    pub fn holds(&self, rows: u64, free_bytes: u64) -> bool {
        self.room.segments_for(rows) * self.room.bytes() <= free_bytes.saturating_sub(self.page_bytes)
    }

    /// If the next segment would push rows to disk, rows that have no dual variable stop to be active: the index finds
    /// them again should they matter. The dual objective does not notice.
    pub fn forget_idle_if_short(&mut self, pages: &PageCache) {
        if !self.is_short(pages) {
            return;
        }
        for i in 0..self.segments.len() {
            let segment = &self.segments[i];
            let keep: Vec<bool> = segment.states.iter().map(|state| state.beta != 0.0).collect();
            if segment.is_resident() && keep.contains(&false) {
                self.retain(i, &keep);
            }
        }
    }

    /// Puts the rows that are not `idle` into as few segments as they need, and stops the others to be active, for when
    /// rows wait on disk.
    pub fn compact(
        &mut self,
        mut idle: impl FnMut(Row, &RowState) -> bool,
        pages: &mut PageCache,
    ) -> Result<(), TrainError> {
        let old = self.segments.len();
        for _ in 0..old {
            // The old ones leave at the front, the new ones come at the end.
            self.load(0, &[], pages)?;
            let segment = self.segments.remove(0);
            for (i, state) in segment.states.iter().enumerate() {
                let (block, position) = (&segment.residents.block, segment.residents.positions[i]);
                if idle(block.row(i), state) {
                    self.bits.set(position, false);
                    continue;
                }
                if !self.segments.last().is_some_and(Segment::has_room) {
                    self.grow(pages)?;
                }
                if let Some(last) = self.segments.last_mut() {
                    last.residents.push(block, i, position);
                    last.states.push(*state);
                    last.changed();
                }
            }
        }
        (self.turn, self.oldest) = (0, 0);
        Ok(())
    }

    /// Adds an empty segment.
    pub fn grow(&mut self, pages: &mut PageCache) -> Result<(), TrainError> {
        self.make_room(self.room.bytes(), &[], pages)?;
        self.segments.push(Segment::new(self.room, self.order, &self.budget)?);
        Ok(())
    }

    /// The next segments whose rows add up to `rows` at least, all of them in memory; fewer if memory holds fewer.
    /// `always` come first.
    pub fn take_turns(&mut self, rows: u64, always: &[usize], pages: &mut PageCache) -> Result<Vec<usize>, TrainError> {
        let mut taken = Vec::new();
        for &segment in always {
            self.load(segment, &taken, pages)?;
            taken.push(segment);
        }
        let mut count = 0;
        for _ in 0..self.segments.len() {
            if count >= rows {
                break;
            }
            let segment = self.turn % self.segments.len();
            if !taken.contains(&segment) {
                if !self.fits(segment, &taken, pages) {
                    break;
                }
                self.load(segment, &taken, pages)?;
                taken.push(segment);
                count += self.segments[segment].rows() as u64;
            }
            self.turn = segment + 1;
        }
        Ok(taken)
    }

    /// Brings a segment into memory; those in `kept` stay there.
    pub fn load(&mut self, segment: usize, kept: &[usize], pages: &mut PageCache) -> Result<(), TrainError> {
        let bytes = self.segments[segment].missing_bytes();
        if bytes > 0 {
            self.make_room(bytes, kept, pages)?;
            if let Some(file) = &self.file {
                pages.count_read(self.segments[segment].load(file, &mut self.scratch)?);
            }
        }
        Ok(())
    }

    /// Whether a segment can be in memory beside those in `kept`.
    fn fits(&self, segment: usize, kept: &[usize], pages: &PageCache) -> bool {
        let others = self.segments.iter().enumerate().filter(|(i, other)| other.is_resident() && !kept.contains(i));
        let room = others.count() as u64 * self.room.bytes() + pages.held_bytes() + self.budget.free_bytes();
        self.segments[segment].missing_bytes() <= room
    }

    /// Makes `bytes` free: pages leave first, then the rows of segments that are not in `kept`, then the last pages.
    pub fn make_room(&mut self, bytes: u64, kept: &[usize], pages: &mut PageCache) -> Result<(), TrainError> {
        while self.budget.free_bytes() < bytes {
            let wanted = bytes - self.budget.free_bytes();
            if pages.held_bytes() >= self.page_bytes + wanted || !self.spill_one(kept)? {
                // What is still missing then is said by the reservation that follows.
                pages.make_room(bytes);
                break;
            }
        }
        Ok(())
    }

    /// Another run has its turn: rows go to disk until pages and what is free make up `bytes`.
    pub fn step_back(&mut self, bytes: u64, pages: &PageCache) -> Result<(), TrainError> {
        while self.budget.free_bytes() + pages.held_bytes() < bytes && self.spill_one(&[])? {}
        // One for each of many runs would be a lot.
        self.scratch = Scratch::default();
        Ok(())
    }

    /// Its turn has come: rows come back as far as there is room.
    pub fn come_back(&mut self, pages: &mut PageCache) -> Result<(), TrainError> {
        for i in 0..self.segments.len() {
            let beyond = pages.held_bytes().saturating_sub(self.page_bytes);
            if self.segments[i].missing_bytes() <= self.budget.free_bytes() + beyond {
                self.load(i, &[], pages)?;
            }
        }
        Ok(())
    }

    /// Writes the dual variables of all active rows to their places. Of rows on disk just the states come back for it.
    pub fn write_duals(&mut self, duals: &mut Duals, pages: &mut PageCache) -> Result<(), TrainError> {
        let _paid = match self.is_parted() {
            true => Some(self.pay_for_states(pages)?),
            false => None,
        };
        for segment in &self.segments {
            let betas = segment.states.iter().map(|state| std::slice::from_ref(&state.beta));
            duals.set(segment.residents.positions.iter().copied().zip(betas))?;
            if let (Some(file), false) = (&self.file, segment.is_resident()) {
                let states = segment.states_on_disk(file)?;
                pages.count_read((segment.rows() * STORED_STATE_BYTES) as u64);
                duals.set(states.iter().map(|(state, position)| (*position, std::slice::from_ref(&state.beta))))?;
            }
        }
        Ok(())
    }

    /// Room for the states of the largest segment, as they lie on disk and as they are used. Rows in memory leave for
    /// it if they must.
    fn pay_for_states(&mut self, pages: &mut PageCache) -> Result<Reservation, TrainError> {
        let rows = self.segments.iter().map(Segment::rows).max().unwrap_or(0);
        let bytes = 2 * (rows * STORED_STATE_BYTES) as u64;
        self.make_room(bytes, &[], pages)?;
        Ok(self.budget.reserve("states of active rows", bytes)?)
    }

    /// Moves the rows of one segment to disk; false if there is none to move.
    fn spill_one(&mut self, kept: &[usize]) -> Result<bool, TrainError> {
        let count = self.segments.len();
        let may_leave = |&i: &usize| self.segments[i].is_resident() && !kept.contains(&i);
        let Some(chosen) = (0..count).map(|k| (self.oldest + k) % count).find(may_leave) else { return Ok(false) };
        let fail = |source| TrainError::Store(StoreError::io(&self.folder, "keep active rows there")(source));
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile_in(&self.folder).map_err(fail)?);
        }
        if let Some(file) = &self.file {
            self.segments[chosen].spill(file, &mut self.scratch).map_err(fail)?;
        }
        self.oldest = chosen + 1;
        Ok(true)
    }

    /// Takes out rows of a segment that is in memory: those for which `keep` is false. They are not active any more.
    pub fn retain(&mut self, segment: usize, keep: &[bool]) {
        let segment = &mut self.segments[segment];
        for (&position, _) in segment.residents.positions.iter().zip(keep).filter(|(_, keep)| !**keep) {
            self.bits.set(position, false);
        }
        segment.residents.retain(keep);
        residents::retain(&mut segment.states, keep);
        segment.order.retain(&mut |i| keep[i]);
        segment.changed();
    }
}
