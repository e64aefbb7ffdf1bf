//! Which rows are near a kink of their loss, in every feature.
//!
//! Rows that are far from their kinks stay on their side while w moves a little, and count as tangents. For each feature some rows
//! have to be near: with tangents alone nothing but the penalty would hold its weight. So each feature has a radius of its own,
//! within which a part of its rows lies, and a row is near if it is within the radius of one of its features.
use super::one_output::Quadratic;
use super::rows::TaskRows;
use crate::block::{Block, Row};
use crate::budget::{Budget, Reservation};
use crate::loss::PiecewiseLinear;
use crate::trainer::TrainError;

/// Bins of distances, two an octave: from 2^-24 to 2^40.
const BINS: usize = 128;
const FIRST_OCTAVE: i32 = -24;
/// The least rows of a feature that are near, if it has so many.
const FEWEST: u32 = 100;

/// Where one bin more would bring this many times as many rows as wanted, it is left out.
const MOST_TIMES: u32 = 3;

/// How far rows of each feature are from their kinks.
pub struct Distances {
    /// Rows by feature and bin.
    counts: Vec<[u32; BINS]>,
}

/// How far a margin is from the nearest kink.
#[inline]
pub fn distance<L: PiecewiseLinear>(loss: L, y: f64, z: f64) -> f64 {
    let of = |k: usize| {
        let (s, t) = loss.term(y, k);
        (t - s * z).abs()
    };
    (0..L::TERMS).map(of).fold(f64::INFINITY, f64::min)
}

/// Two bins an octave, by exponent and first bit of the mantissa.
#[inline]
fn bin(distance: f64) -> usize {
    let halves = (distance.to_bits() >> 51) as i64 - 2 * (1023 + i64::from(FIRST_OCTAVE));
    halves.clamp(0, BINS as i64 - 1) as usize
}

/// The upper end of a bin.
fn end(bin: usize) -> f64 {
    match bin + 1 == BINS {
        true => f64::INFINITY,
        false => 2f64.powi((bin as i32 + 1) / 2 + FIRST_OCTAVE) * if bin.is_multiple_of(2) { 1.5 } else { 1.0 },
    }
}

impl Distances {
    /// Bytes of memory for so many features.
    pub fn bytes(features: u64) -> u64 {
        features * (size_of::<[u32; BINS]>() + 8) as u64
    }

    /// No row has been seen.
    pub fn new(features: usize) -> Self {
        Distances { counts: vec![[0; BINS]; features + 1] }
    }

    /// Counts a row.
    #[inline]
    pub fn add(&mut self, row: Row, distance: f64) {
        let bin = bin(distance);
        row.for_each(|j, x| self.counts[j as usize][bin] += u32::from(x != 0.0));
        // The constant feature.
        let last = self.counts.len() - 1;
        self.counts[last][bin] += 1;
    }

    /// The radius of each feature within which `part` of its rows are.
    pub fn radii(&self, part: f64) -> Vec<f64> {
        let radius = |counts: &[u32; BINS]| {
            let all: u32 = counts.iter().sum();
            let wanted = ((part * f64::from(all)) as u32).max(FEWEST);
            let mut sum = 0;
            for (bin, &count) in counts.iter().enumerate() {
                let before = sum;
                sum += count;
                // Many rows that are the same are not near just because some others are fewer than wanted.
                let is_lump = sum > MOST_TIMES * wanted && before >= FEWEST;
                if sum >= wanted {
                    return if is_lump { end(bin.saturating_sub(1)) } else { end(bin) };
                }
            }
            f64::INFINITY
        };
        self.counts.iter().map(radius).collect()
    }
}

/// Rows near a kink, and what the others add up to.
pub struct Near {
    /// By number in the block, with target and weight.
    pub rows: Vec<(u32, f64, f64)>,
    /// Where they are in the store.
    pub positions: Vec<u64>,
    /// v̄.
    pub shift: Vec<f64>,
    /// The rows themselves, where not all are in memory.
    own: Option<(Block, Reservation)>,
}

impl Near {
    /// The rows within `radii` at w; the others get the dual variables of their side. Each row takes `beside` bytes more. None if they do not fit.
    pub fn gather<L: PiecewiseLinear>(
        loss: L,
        rows: &mut TaskRows,
        (w, radii): (&[f64], &[f64]),
        part: Quadratic,
        duals: &mut [f64],
        (budget, beside): (&Budget, u64),
    ) -> Result<Option<Near>, TrainError> {
        let (last, bias) = (w.len() - 1, part.bias);
        let shape = rows.store_rows().store().shape();
        let in_memory = rows.store_rows().in_memory();
        let own = || (Block::new(shape.layout, shape.columns as usize), budget.open("rows near a kink"));
        let mut near =
            Near { rows: Vec::new(), positions: Vec::new(), shift: part.shift.to_vec(), own: (!in_memory).then(own) };
        let mut fits = true;
        rows.scan_rows(|position, _, block, i, y, c| {
            let row = block.row(i);
            let z = row.dot(w) + bias * w[last];
            let distance = distance(loss, y, z);
            let mut radius = radii[last];
            row.for_each(|j, x| {
                if x != 0.0 {
                    radius = radius.max(radii[j as usize]);
                }
            });
            if distance <= radius {
                fits = fits && near.push(block, i, position, (y, c), beside);
                return;
            }
            let beta = -c * loss.slope(y, z);
            duals[position as usize] = beta;
            if beta != 0.0 {
                row.add_to(&mut near.shift, beta);
                near.shift[last] += beta * bias;
            }
        })?;
        Ok(fits.then_some(near))
    }

    /// Adds a row, if there is room.
    fn push(&mut self, block: &Block, i: usize, position: u64, (y, c): (f64, f64), beside: u64) -> bool {
        let number = match &mut self.own {
            None => i,
            Some((own, paid)) => {
                let bytes = own.resident_bytes() + block.layout().resident_bytes(1, block.row_len(i) as u64);
                // Vectors grow by doubling.
                let wanted = 2 * bytes + (own.rows() as u64 + 1) * (2 * 32 + beside);
                if wanted > paid.bytes() && paid.resize(wanted + wanted / 8).is_err() && paid.resize(wanted).is_err() {
                    return false;
                }
                own.push_from(block, i);
                own.rows() - 1
            }
        };
        self.rows.push((number as u32, y, c));
        self.positions.push(position);
        true
    }

    /// Where its rows lie.
    pub fn block<'a>(&'a self, rows: &'a TaskRows) -> &'a Block {
        let own = self.own.as_ref().map(|(block, _)| block);
        own.or(rows.store_rows().memory()).expect("rows near a kink are in memory")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bins_hold_what_they_say(distance in 1e-9..1e13f64) {
            let bin = bin(distance);
            prop_assert!(distance <= end(bin) || bin == BINS - 1);
            prop_assert!(bin == 0 || distance >= end(bin - 1), "{distance} in {bin}");
        }
    }
}
