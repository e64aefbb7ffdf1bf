//! A proximal Newton step: the model at w, its minimiser over the working set, and how far to go towards it.
use super::design::Design;
use super::parts::Parts;
pub use super::quadratic::Free;
use super::quadratic::{Intercept, Quadratic, Visited};
use super::working_set;
use crate::loss::SmoothLoss;

/// The violations of a model are brought down to this part of those at its beginning.
const FRACTION: f64 = 0.1;
/// Sweeps over the model of one step, at most.
const MOST_SWEEPS: u32 = 100;
/// How much of the fall that the model promises has to come true (Armijo).
const ENOUGH: f64 = 1e-2;
/// Halvings of a step, at most.
const MOST_HALVINGS: u32 = 30;
/// The part of sup L'' that h has at least, at the beginning and at most.
const FLOORS: [f64; 2] = [1e-3, 1.0];

/// A row, as far as its margin goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target {
    /// The target.
    pub y: f64,
    /// The weight of the loss; 0 for a row that has no part in it.
    pub c: f64,
}

/// Vectors with a number for each resident row, and what steps have taught.
pub struct Newton<L> {
    loss: L,
    /// Targets of all residents.
    pub rows: Vec<Target>,
    /// Margins.
    pub z: Vec<f64>,
    /// s = cL'(z); then r of the model.
    pub slopes: Vec<f64>,
    /// h of the model; between steps, room for a number a row.
    pub h: Vec<f64>,
    /// Rows without curvature of their own, such as outliers of the huber loss, have this part of sup L'': it grows where steps were too long, since at 1 none is.
    floor: f64,
}

/// Bytes of [`Newton`] for each resident row.
pub const ROW_BYTES: u64 = 6 * 8;

/// What a step did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stepped {
    /// Values that were looked at.
    pub looked_at: u64,
    /// How far F fell.
    pub fall: f64,
}

impl<L: SmoothLoss> Newton<L> {
    /// For these rows.
    pub fn new(loss: L, rows: Vec<Target>) -> Self {
        let zeros = vec![0.0; rows.len()];
        Newton { loss, rows, z: zeros.clone(), slopes: zeros.clone(), h: zeros, floor: FLOORS[0] }
    }

    /// Margins and slopes at w, from nothing but w.
    pub fn look(&mut self, design: Design, w: &[f64]) {
        design.margins(w, &mut self.z);
        let Newton { loss, rows, z, slopes, .. } = self;
        for ((slope, row), &z) in slopes.iter_mut().zip(rows).zip(&*z) {
            *slope = if row.c > 0.0 { row.c * loss.slope(row.y, z) } else { 0.0 };
        }
    }

    /// Goes from w, where slopes and v = -Xᵀ slopes are known, to where F is less.
    pub fn step<P: Parts>(
        &mut self,
        design: Design,
        parts: &P,
        w: &mut [f64],
        v: &[f64],
        free: Option<Free>,
    ) -> Stepped {
        self.bend();
        let (constant, intercept) = (design.constant(), free.is_some());
        let set = working_set::choose(parts, w, v);
        let before: Vec<f64> = members(parts, &set, design, intercept).map(|j| w[j]).collect();
        let value = |w: &[f64]| {
            let penalties: f64 = set.iter().map(|&part| parts.value(part, w)).sum();
            penalties + free.map_or(0.0, |free| free.value(w[constant]))
        };
        let value_before = value(w);
        let mut model = Quadratic::new(design, parts, &self.h, &mut self.slopes, w);
        model.intercept = free.map(|free| Intercept { curvature: design.curvature(constant, model.h), free });
        let visited: Vec<Visited> =
            set.iter().map(|&part| Visited { part, curvature: model.curvature(part) }).collect();
        model.solve(&visited, FRACTION, MOST_SWEEPS);
        let mut looked_at = model.looked_at;
        // slopes are r = s + h·Xd by now: Xd replaces them, summed from d, since h may be 0.
        let penalty_fall = value_before - value(w);
        let moves = &mut self.slopes;
        moves.fill(0.0);
        for (j, &before) in members(parts, &set, design, intercept).zip(&before) {
            if w[j] != before {
                design.add_to(j, moves, w[j] - before);
                looked_at += design.len(j) as u64;
            }
        }
        let (t, fall) = self.length(penalty_fall);
        for (z, moved) in self.z.iter_mut().zip(&self.slopes) {
            *z += t * moved;
        }
        if t < 1.0 {
            for (j, &before) in members(parts, &set, design, intercept).zip(&before) {
                w[j] = before + t * (w[j] - before);
            }
        }
        Stepped { looked_at, fall }
    }

    fn bend(&mut self) {
        let Newton { loss, rows, z, h, floor, .. } = self;
        let least = *floor * loss.curvature();
        for ((h, row), &z) in h.iter_mut().zip(rows).zip(&*z) {
            *h = if row.c > 0.0 { row.c * loss.second(row.y, z).max(least) } else { 0.0 };
        }
    }

    /// How far to go along the moves of the margins, and how much F falls at least: R is convex, so its fall is no less than t times that of the whole step.
    fn length(&mut self, penalty_fall: f64) -> (f64, f64) {
        let Newton { loss, rows, z, slopes: moves, floor, .. } = self;
        let lost = |t: f64| -> f64 {
            rows.iter()
                .zip(&*z)
                .zip(&*moves)
                .filter(|((row, _), moved)| row.c > 0.0 && **moved != 0.0)
                .map(|((row, &z), &moved)| row.c * (loss.value(row.y, z + t * moved) - loss.value(row.y, z)))
                .sum()
        };
        let slope: f64 = rows
            .iter()
            .zip(&*z)
            .zip(&*moves)
            .filter(|((row, _), _)| row.c > 0.0)
            .map(|((row, &z), &moved)| row.c * loss.slope(row.y, z) * moved)
            .sum();
        let promised = penalty_fall - slope;
        let mut t = 1.0;
        for _ in 0..MOST_HALVINGS {
            let fall = t * penalty_fall - lost(t);
            if fall >= ENOUGH * t * promised {
                let factor = if t < 0.5 {
                    10.0
                } else if t == 1.0 {
                    0.5
                } else {
                    1.0
                };
                *floor = (*floor * factor).clamp(FLOORS[0], FLOORS[1]);
                return (t, fall);
            }
            t *= 0.5;
        }
        *floor = FLOORS[1];
        (0.0, 0.0)
    }
}

/// The columns of the working set, and the intercept behind them.
fn members<'a, P: Parts>(
    parts: &'a P,
    set: &'a [u32],
    design: Design<'a>,
    intercept: bool,
) -> impl Iterator<Item = usize> + 'a {
    let columns = set.iter().flat_map(|part| parts.members(part)).map(|&j| j as usize);
    columns.chain(intercept.then(|| design.constant()))
}
