//! How a block of active rows is solved: problem (11), in the dual or in the primal.
use rand_xoshiro::Xoshiro256PlusPlus;

use super::segment::Segment;
use crate::block::Row;
use crate::loss::{Loss, SmoothLoss};
use crate::newton::{Minimiser, Rows};
use crate::order::shuffle;
use crate::residents::View;
use crate::solver::{self, Weights};
use crate::trainer::{Identity, Link, TrainError};

/// What solving a block took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worked {
    /// Sweeps, or passes of Newton steps.
    pub sweeps: u64,
    /// Visits of rows.
    pub visits: u64,
    /// How much the dual objective rose; infinite if nobody knows.
    pub gain: f64,
}

/// Solves the problem of some segments, all others fixed.
pub trait BlockSolver<L> {
    /// Moves the dual variables of the `rows` in these segments, chosen by their numbers, and the weights with them, in about `visits` visits at most.
    fn solve(
        &mut self,
        loss: L,
        rows: (&mut [Segment], &[usize]),
        visits: u64,
        weights: &mut Identity,
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<Worked, TrainError>;
}

/// Dual coordinate descent (section 3.3).
pub struct DualSweeps;

/// Sweeps over a block, at most.
const MOST_SWEEPS: u32 = 10;
/// Another sweep pays if this one gained more than this part of the first.
const PAYS: f64 = 0.1;

impl<L: Loss> BlockSolver<L> for DualSweeps {
    fn solve(
        &mut self,
        loss: L,
        (segments, block): (&mut [Segment], &[usize]),
        visits: u64,
        weights: &mut Identity,
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<Worked, TrainError> {
        let mut worked = Worked::default();
        let mut order = block.to_vec();
        let mut first_gain: Option<f64> = None;
        for _ in 0..MOST_SWEEPS {
            shuffle(&mut order, random);
            let mut gain = 0.0;
            for &i in &order {
                let segment = &mut segments[i];
                segment.order.begin_sweep(segment.rows(), random);
                let rows = View::all(&segment.residents);
                let sweep = solver::sweep(loss, rows, &mut segment.states, weights, &mut *segment.order);
                gain += sweep.gain;
                worked.visits += sweep.visits;
            }
            worked.sweeps += 1;
            worked.gain += gain;
            if gain <= PAYS * *first_gain.get_or_insert(gain) || worked.visits >= visits {
                break;
            }
        }
        Ok(worked)
    }
}

/// Newton steps for the primal of the block (section 3.4), in which the rows outside have their say through v̄ of (16).
pub struct NewtonSteps {
    /// Stop at this part of the objective.
    pub tolerance: f64,
    /// Steps, at most.
    pub most: u32,
}

impl<L: SmoothLoss> BlockSolver<L> for NewtonSteps {
    fn solve(
        &mut self,
        loss: L,
        (segments, block): (&mut [Segment], &[usize]),
        _visits: u64,
        weights: &mut Identity,
        _random: &mut Xoshiro256PlusPlus,
    ) -> Result<Worked, TrainError> {
        // v̄ is the sum over all rows but these.
        for &i in block {
            let Segment { residents, states, .. } = &segments[i];
            let with_dual = states.iter().enumerate().filter(|(_, state)| state.beta != 0.0);
            with_dual.for_each(|(i, state)| weights.add(residents.block.row(i), -state.beta));
        }
        let shift = weights.weights().to_vec();
        let mut start = shift.clone();
        let bias = weights.bias();
        for &i in block {
            let Segment { residents, states, .. } = &segments[i];
            for (i, state) in states.iter().enumerate().filter(|(_, state)| state.beta != 0.0) {
                residents.block.row(i).add_to(&mut start, state.beta);
                start[shift.len() - 1] += state.beta * bias;
            }
        }
        let mut rows = BlockRows { segments, block };
        let mut minimiser = Minimiser::begin(loss, start, bias, Some(&shift), &mut rows)?;
        let mut steps = 0;
        while steps < self.most && minimiser.gap() > self.tolerance * minimiser.objective {
            steps += 1;
            if !minimiser.step(&mut rows)? {
                break;
            }
        }
        let w = minimiser.w;
        for &i in block {
            let Segment { residents, states, .. } = &mut segments[i];
            for (i, state) in states.iter_mut().enumerate() {
                let row = residents.block.row(i);
                let z = row.dot(&w) + bias * w[w.len() - 1];
                let (low, high) = loss.dual_bounds(state.y, state.c);
                state.beta = (-state.c * loss.slope(state.y, z)).clamp(low, high);
                if state.beta != 0.0 {
                    weights.add(row, state.beta);
                }
            }
        }
        let rows: u64 = block.iter().map(|&i| segments[i].rows() as u64).sum();
        let sweeps = minimiser.products + u64::from(steps);
        Ok(Worked { sweeps, visits: sweeps * rows, gain: f64::INFINITY })
    }
}

struct BlockRows<'a> {
    segments: &'a [Segment],
    block: &'a [usize],
}

impl Rows for BlockRows<'_> {
    fn scan(&mut self, mut visit: impl FnMut(usize, Row, f64, f64)) -> Result<(), TrainError> {
        let mut number = 0;
        for &i in self.block {
            let Segment { residents, states, .. } = &self.segments[i];
            for (i, state) in states.iter().enumerate() {
                visit(number, residents.block.row(i), state.y, state.c);
                number += 1;
            }
        }
        Ok(())
    }
}
