//! The rows in memory that may bend, while all others are straight.
//!
//! A row that stays on its straight piece has a constant slope and no curvature, so the sum of all such rows is a
//! linear function. The working set holds the rows that bend first (reach.rs), as many as fit. With the others
//! straight,
//!
//! ```text
//! ½ Σ ρw² + Σ over the set c L(y, w·x) + Σ over the others of the straight piece on which they are
//! ```
//! is never above F, and is F wherever none of the others has left its piece. Its minimum is a lower bound of F, with
//! dual variables at their bounds for all rows that are not in the set (shrinking, as Joachims 1999 and LIBLINEAR have
//! it, with a scan that tells who was left out wrongly).
use super::gram::Gram;
use super::reach::{Metric, to_kink};
use super::rows::{Seen, Subset};
use super::scanning::Scanning;
use crate::block::{Block, Row};
use crate::budget::{Budget, Reservation};
use crate::loss::PiecewiseLinear;
use crate::store::Shape;

/// The part of a full set that stays when nearer rows need room.
const STAYS: f64 = 0.875;
/// Rows of the set may have this many more values than others.
const MORE_VALUES: f64 = 1.25;
/// The least rows of a set for each weight.
const ROWS_PER_WEIGHT: u64 = 10;
/// Bytes of a row besides its values: target and weight, position, and reach, twice where some are left out.
const BESIDE: u64 = 24 + 8 + 2 * 8;
/// The part of what is free that is left to others.
const OTHERS: u64 = 32;

/// The sum of rows that do not bend.
pub struct Straight {
    /// Σ βx of their dual variables.
    pub shift: Vec<f64>,
    /// Σ c t of the terms that are not 0.
    pub constant: f64,
    /// Σ c/(4|t - sz|) x xᵀ: as parabolas around w with these curvatures, rows are nowhere above the sum.
    pub far: Gram,
}

impl Straight {
    fn add<L: PiecewiseLinear>(&mut self, loss: L, row: Row, (y, c, z): (f64, f64, f64), bias: f64) {
        let mut theta = 0.0;
        for (s, t) in (0..L::TERMS).map(|k| loss.term(y, k)) {
            let missing = t - s * z;
            if missing > 0.0 {
                self.constant += c * t;
            }
            theta += c * s * s / (4.0 * missing.abs().max(f64::MIN_POSITIVE));
        }
        let beta = straight_dual(loss, (y, c), z);
        if beta != 0.0 {
            let last = self.shift.len() - 1;
            row.add_to(&mut self.shift, beta);
            self.shift[last] += beta * bias;
        }
        self.far.add(row, &[bias], theta);
    }
}

/// The dual variable of a row on its straight piece: each term is at one of its bounds.
fn straight_dual<L: PiecewiseLinear>(loss: L, (y, c): (f64, f64), z: f64) -> f64 {
    (0..L::TERMS).map(|k| loss.term(y, k)).map(|(s, t)| if t - s * z > 0.0 { s * c } else { 0.0 }).sum()
}

/// Rows that may bend, and the sum of those that do not.
pub struct WorkingSet {
    block: Block,
    /// Place in the block, target and weight.
    rows: Vec<(u32, f64, f64)>,
    reaches: Vec<f64>,
    positions: Vec<u64>,
    /// Rows and values that there is room for.
    room: (usize, usize),
    /// Rows with a longer reach are left out.
    radius: f64,
    straight: Straight,
    /// The losses of all rows.
    losses: f64,
    _paid: Reservation,
}

impl WorkingSet {
    /// Bytes of memory for this many weights, besides the rows.
    pub fn bytes(size: u64) -> u64 {
        Gram::bytes(size) + 2 * 8 * size
    }

    /// Rows that there is room for in this many bytes, each with `more` for its solver, if they are enough.
    pub fn room(shape: &Shape, more: u64, free: u64) -> Option<u64> {
        let free = free - free / OTHERS;
        let rows = (free as f64 / row_bytes(shape, more)) as u64;
        (rows >= ROWS_PER_WEIGHT * (shape.columns + 1)).then_some(rows.min(shape.rows))
    }

    /// Bytes that this many rows take.
    pub fn row_bytes(shape: &Shape, more: u64, rows: u64) -> u64 {
        (rows as f64 * row_bytes(shape, more)) as u64
    }

    /// An empty one, for rows of about `len` values.
    pub fn new(shape: &Shape, (len, more): (f64, u64), budget: &Budget) -> Option<WorkingSet> {
        let rows = WorkingSet::room(shape, more, budget.free_bytes())? as usize;
        let paid = budget.reserve("rows near their kinks", WorkingSet::row_bytes(shape, more, rows as u64)).ok()?;
        let values = (rows as f64 * MORE_VALUES * values_of_row(shape)) as usize;
        let size = shape.columns as usize + 1;
        Some(WorkingSet {
            block: Block::with_capacity(shape.layout, shape.columns as usize, rows, values),
            rows: Vec::with_capacity(rows),
            reaches: Vec::with_capacity(rows),
            positions: Vec::with_capacity(rows),
            room: (rows, values),
            radius: f64::INFINITY,
            straight: Straight { shift: vec![0.0; size], constant: 0.0, far: Gram::new(size, len) },
            losses: 0.0,
            _paid: paid,
        })
    }

    /// Forgets all rows, for a new scan.
    pub fn clear(&mut self) {
        self.block.clear();
        self.rows.clear();
        self.reaches.clear();
        self.positions.clear();
        self.radius = f64::INFINITY;
        self.straight.shift.fill(0.0);
        self.straight.constant = 0.0;
        self.straight.far.clear();
        self.losses = 0.0;
    }

    /// Looks at a row at w. Returns its dual variable as long as it is straight.
    pub fn add<L: PiecewiseLinear>(
        &mut self,
        loss: L,
        (w, bias): (&[f64], f64),
        metric: &mut Metric,
        seen: &Seen,
    ) -> f64 {
        let Seen { position, block, i, y, c, z } = *seen;
        let row = block.row(i);
        self.losses += c * loss.value(y, z);
        let length = metric.length(row, bias);
        let reach = if length > 0.0 { to_kink(loss, y, z) / length } else { f64::INFINITY };
        let is_full = self.rows.len() == self.room.0 || self.block.values() + row.len() > self.room.1;
        if reach < self.radius && is_full {
            self.make_room(loss, w, bias);
        }
        if reach < self.radius && self.block.values() + row.len() <= self.room.1 {
            self.rows.push((self.block.rows() as u32, y, c));
            self.block.push_from(block, i);
            self.reaches.push(reach);
            self.positions.push(position);
        } else {
            self.straight.add(loss, row, (y, c, z), bias);
        }
        straight_dual(loss, (y, c), z)
    }

    /// Leaves out those that bend last.
    fn make_room<L: PiecewiseLinear>(&mut self, loss: L, w: &[f64], bias: f64) {
        let WorkingSet { block, rows, reaches, positions, straight, radius, .. } = self;
        let Some(last) = reaches.len().checked_sub(1) else { return };
        let mut sorted = reaches.clone();
        *radius = *sorted.select_nth_unstable_by((last as f64 * STAYS) as usize, f64::total_cmp).1;
        let stays = |i: usize| reaches[i] < *radius;
        for (i, &(_, y, c)) in rows.iter().enumerate().filter(|(i, _)| !stays(*i)) {
            let row = block.row(i);
            let z = row.dot(w) + bias * w[w.len() - 1];
            straight.add(loss, row, (y, c, z), bias);
        }
        block.retain(stays);
        keep(positions, stays);
        keep(rows, stays);
        rows.iter_mut().zip(0..).for_each(|(row, place)| row.0 = place);
        let radius = *radius;
        reaches.retain(|reach| *reach < radius);
    }

    /// The sum of rows that do not bend is complete after this.
    pub fn finish(&mut self) {
        self.straight.far.flush();
    }

    /// The rows.
    pub fn rows(&self, scanning: Scanning) -> Subset<'_> {
        Subset::new(&self.block, &self.rows, scanning)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Their positions in the store.
    pub fn positions(&self) -> &[u64] {
        &self.positions
    }

    /// The other rows.
    pub fn straight(&self) -> &Straight {
        &self.straight
    }

    /// How far w may go before any of the others bends.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// The losses of all rows that were looked at.
    pub fn losses(&self) -> f64 {
        self.losses
    }
}

fn keep<T>(list: &mut Vec<T>, stays: impl Fn(usize) -> bool) {
    let mut number = 0;
    list.retain(|_| {
        number += 1;
        stays(number - 1)
    });
}

fn values_of_row(shape: &Shape) -> f64 {
    shape.values as f64 / shape.rows.max(1) as f64
}

fn row_bytes(shape: &Shape, more: u64) -> f64 {
    let values = shape.layout.value_bytes(shape.values) as f64 / shape.rows.max(1) as f64;
    MORE_VALUES * values + (shape.layout.resident_bytes(1, 0) + BESIDE + more.max(Metric::ROW_BYTES)) as f64
}
