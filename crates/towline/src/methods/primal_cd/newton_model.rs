//! A proximal Newton step: the model at w, its minimiser over the working set, and how far to go towards it.
use super::copied::{Bent, Copied, Room};
use super::design::Design;
use super::model_loss::{ModelLoss, Target};
pub use super::quadratic::Free;
use super::quadratic::{Moving, Quadratic};
use super::quadratic_columns::InPlace;
use super::separable_penalty::SeparablePenalty;
use super::working_set;
use crate::engine::Watch;

/// The violations of a model are brought down to this part of those at its beginning: of one that is just near F, and
/// of one that is F but for what was left out.
const FRACTIONS: [f64; 2] = [0.1, 0.01];
/// Sweeps over the model of one step, at most.
const MOST_SWEEPS: u32 = 100;
/// How much of the fall that the model promises has to come true (Armijo).
const ENOUGH: f64 = 1e-2;
/// Halvings of a step, at most.
const MOST_HALVINGS: u32 = 30;
/// The part of sup L'' that h has at least, at the beginning and at most.
const FLOORS: [f64; 2] = [1e-6, 1.0];
/// Up to this floor, rows that have no more than it are left out of copies. Where steps were too long for that, they
/// are worth looking at one by one.
const LITTLE: f64 = 1e-3;

/// Vectors with a number for each resident row, and what steps have taught.
pub struct Newton<B> {
    /// What margins cost.
    pub model_loss: B,
    /// Targets of all residents.
    pub rows: Vec<Target>,
    /// Margins.
    pub z: Vec<f64>,
    /// s = cL'(z); then r of the model.
    pub slopes: Vec<f64>,
    /// h of the model; between steps, room for a number a row.
    pub h: Vec<f64>,
    /// Rows without curvature of their own, such as outliers of the huber loss, have this part of sup L'': it grows
    /// where steps were too long, since at 1 none is.
    floor: f64,
    /// Where the columns of working sets are copied, if there is room for that.
    copied: Option<Copied>,
}

/// Bytes of [`Newton`] for each resident row.
pub const ROW_BYTES: u64 = 7 * 8;

/// What a step did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stepped {
    /// Values that were looked at.
    pub looked_at: u64,
    /// How far F fell.
    pub fall: f64,
}

impl<B: ModelLoss> Newton<B> {
    /// For these rows; with `room` to copy columns to.
    pub fn new(mut model_loss: B, rows: Vec<Target>, room: Option<&Room>) -> Self {
        model_loss.see(&rows);
        let zeros = vec![0.0; rows.len()];
        let copied = room.map(Copied::new);
        Newton { model_loss, rows, z: zeros.clone(), slopes: zeros.clone(), h: zeros, floor: FLOORS[0], copied }
    }

    /// Margins and slopes at w, from nothing but w.
    pub fn look(&mut self, design: Design, w: &[f64]) {
        design.margins(w, &mut self.z);
        let Newton { model_loss, rows, z, slopes, .. } = self;
        for ((slope, row), &z) in slopes.iter_mut().zip(rows).zip(&*z) {
            *slope = if row.c > 0.0 { model_loss.slope(row, z) } else { 0.0 };
        }
    }

    /// Goes from w, where slopes and v = -Xᵀ slopes are known, to where F is less.
    pub fn step<P: SeparablePenalty>(
        &mut self,
        design: Design,
        parts: &P,
        w: &mut [f64],
        v: &[f64],
        (free, watch): (Option<Free>, &Watch),
    ) -> Stepped {
        self.bend();
        let set = working_set::choose(parts, w, v);
        let columns = set.iter().flat_map(|part| parts.members(part)).copied();
        let members: Vec<u32> = columns.chain(free.map(|_| design.constant() as u32)).collect();
        let before: Vec<f64> = members.iter().map(|&j| w[j as usize]).collect();
        let value = |w: &[f64]| {
            let penalties: f64 = set.iter().map(|&part| parts.value(part, w)).sum();
            penalties + free.map_or(0.0, |free| free.value(w[design.constant()]))
        };
        let value_before = value(w);
        let mut looked_at =
            self.minimise(design, parts, &set, Moving { members: &members, before: &before, w, free }, watch);
        let penalty_fall = value_before - value(w);
        // Xd replaces the slopes; it is summed from d, since h may be 0.
        let moves = &mut self.slopes;
        moves.fill(0.0);
        for (&j, &before) in members.iter().zip(&before) {
            let j = j as usize;
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
            for (&j, &before) in members.iter().zip(&before) {
                w[j as usize] = before + t * (w[j as usize] - before);
            }
        }
        Stepped { looked_at, fall }
    }

    /// Minimises the model over a working set, in a copy of its columns if there is room for one. Returns how many
    /// values were looked at.
    fn minimise<P: SeparablePenalty>(
        &mut self,
        design: Design,
        parts: &P,
        set: &[u32],
        moving: Moving,
        watch: &Watch,
    ) -> u64 {
        let Newton { model_loss, rows, slopes, h, floor, copied, .. } = self;
        let flat = if *floor <= LITTLE { *floor * model_loss.curvature() } else { 0.0 };
        let is_flat = |i: usize| h[i] <= flat * rows[i].c;
        let fraction = FRACTIONS[usize::from(model_loss.is_quadratic())];
        let bent = Bent { slopes, h, is_flat: &is_flat };
        if let Some(copied) = copied
            && copied.fill(design, moving.members, bent)
        {
            return Quadratic::new(copied, parts, set, moving, watch).solve(fraction, MOST_SWEEPS);
        }
        let mut in_place = InPlace { design, members: moving.members, h, r: slopes, kept: Vec::new() };
        Quadratic::new(&mut in_place, parts, set, moving, watch).solve(fraction, MOST_SWEEPS)
    }

    fn bend(&mut self) {
        let Newton { model_loss, rows, z, h, floor, .. } = self;
        let least = *floor * model_loss.curvature();
        for ((h, row), &z) in h.iter_mut().zip(rows).zip(&*z) {
            *h = if row.c > 0.0 { model_loss.second(row, z).max(row.c * least) } else { 0.0 };
        }
    }

    /// How far to go along the moves of the margins, and how much F falls at least: R is convex, so its fall is no less
    /// than t times that of the whole step.
    fn length(&mut self, penalty_fall: f64) -> (f64, f64) {
        let Newton { model_loss, rows, z, slopes: moves, floor, .. } = self;
        let lost = |t: f64| -> f64 {
            rows.iter()
                .zip(&*z)
                .zip(&*moves)
                .filter(|((row, _), moved)| row.c > 0.0 && **moved != 0.0)
                .map(|((row, &z), &moved)| model_loss.value(row, z + t * moved) - model_loss.value(row, z))
                .sum()
        };
        let slope: f64 = rows
            .iter()
            .zip(&*z)
            .zip(&*moves)
            .filter(|((row, _), _)| row.c > 0.0)
            .map(|((row, &z), &moved)| model_loss.slope(row, z) * moved)
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
