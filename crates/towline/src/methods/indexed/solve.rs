//! How a block of active rows is solved: problem (11), in the dual or in the primal.
use rand_xoshiro::Xoshiro256PlusPlus;

use super::segment::Segment;
use crate::base::random::shuffle;
use crate::block::Row;
use crate::engine::{Identity, Link, TrainError, Watch};
use crate::loss::{Loss, SmoothLoss};
use crate::prefetch::prefetch;
use crate::second_order::{Heavy, Newton, Quadratic, Rows, Same, Scanning, Smooth, Way};
use crate::solver::{self, Sweep, Weights};

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
    /// Moves the dual variables of the `rows` in these segments, chosen by their numbers, and the weights with them, in
    /// about `visits` visits at most. Ends
    /// early if the run has to.
    fn solve(
        &mut self,
        loss: L,
        rows: (&mut [Segment], &[usize]),
        visits: (u64, &Watch),
        weights: &mut Identity,
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<Worked, TrainError>;

    /// The same for some rows, by segment and number. `None`, and nothing is done, from a solver that takes all rows of its
    /// segments.
    fn solve_rows(
        &mut self,
        loss: L,
        rows: (&mut [Segment], Vec<(u32, u32)>),
        visits: (u64, &Watch),
        weights: &mut Identity,
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<Option<Worked>, TrainError> {
        let _ = (loss, rows, visits, weights, random);
        Ok(None)
    }
}

/// Dual coordinate descent (section 3.3).
///
/// A sweep goes over the rows of all its segments in one random order. One segment after the other would not do: rows
/// of a segment came together and resemble each other, so that w leans towards the segment that was last. On kddcup99,
/// with active rows in six segments, the gap still was 2e-3 after 15,000 sweeps of that kind; mixed, 5e-4 took 350.
#[derive(Default)]
pub struct DualSweeps {
    /// Segment and row of each visit of a sweep; [`super::segment`] pays for it.
    visits: Vec<(u32, u32)>,
}

/// Sweeps over a block, at most.
const MOST_SWEEPS: u32 = 10;
/// Another sweep pays if this one gained more than this part of the first.
const PAYS: f64 = 0.1;

impl<L: Loss> BlockSolver<L> for DualSweeps {
    fn solve(
        &mut self,
        loss: L,
        (segments, block): (&mut [Segment], &[usize]),
        (visits, watch): (u64, &Watch),
        weights: &mut Identity,
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<Worked, TrainError> {
        Ok(sweeps_that_pay(visits, watch, || {
            self.lay_out(segments, block, random);
            self.sweep(loss, segments, weights, watch)
        }))
    }

    fn solve_rows(
        &mut self,
        loss: L,
        (segments, rows): (&mut [Segment], Vec<(u32, u32)>),
        (visits, watch): (u64, &Watch),
        weights: &mut Identity,
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<Option<Worked>, TrainError> {
        self.visits = rows;
        Ok(Some(sweeps_that_pay(visits, watch, || {
            shuffle(&mut self.visits, random);
            self.sweep(loss, segments, weights, watch)
        })))
    }
}

/// Sweeps as long as they gain, up to about so many visits.
fn sweeps_that_pay(visits: u64, watch: &Watch, mut sweep: impl FnMut() -> Sweep) -> Worked {
    let mut worked = Worked::default();
    let mut first_gain: Option<f64> = None;
    for _ in 0..MOST_SWEEPS {
        let sweep = sweep();
        worked.sweeps += 1;
        worked.visits += sweep.visits;
        worked.gain += sweep.gain;
        let pays = sweep.gain > PAYS * *first_gain.get_or_insert(sweep.gain);
        if !pays || worked.visits >= visits || watch.look().is_some() {
            break;
        }
    }
    worked
}

impl DualSweeps {
    /// Mixes what the order of each segment has in mind.
    fn lay_out(&mut self, segments: &mut [Segment], block: &[usize], random: &mut Xoshiro256PlusPlus) {
        self.visits.clear();
        for &i in block {
            let segment = &mut segments[i];
            segment.order.begin_sweep(segment.rows(), random);
            while let Some(row) = segment.order.next() {
                self.visits.push((i as u32, row as u32));
            }
        }
        shuffle(&mut self.visits, random);
    }

    fn sweep<L: Loss>(&self, loss: L, segments: &mut [Segment], weights: &mut Identity, watch: &Watch) -> Sweep {
        let mut total = Sweep::default();
        let mut pace = watch.pace(row_work(segments));
        let mut coming = self.visits.iter().skip(1);
        for &(segment, row) in &self.visits {
            if pace.step().is_some() {
                break;
            }
            // As in [`solver::sweep`]: the next row is on its way while this one is worked on.
            if let Some(&(segment, row)) = coming.next() {
                let next = &segments[segment as usize];
                prefetch(&next.states, row as usize);
                next.residents.block.prefetch(row as usize);
            }
            let (Segment { residents, states, order, .. }, row) = (&mut segments[segment as usize], row as usize);
            let exact = order.wants_gradients();
            let visit = solver::visit(loss, residents.block.row(row), &mut states[row], weights, exact);
            total.count(&visit);
            order.learn(row, visit);
        }
        total
    }
}

/// Values of a row, on average.
fn row_work(segments: &[Segment]) -> u64 {
    let (rows, values) = segments.iter().fold((0, 0), |(rows, values), segment| {
        (rows + segment.rows() as u64, values + segment.residents.block.values() as u64)
    });
    values / rows.max(1) + 1
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
        (_, watch): (u64, &Watch),
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
        let mut rows = BlockRows { segments, block, scanning: Scanning::new(watch, row_work(segments)) };
        let (heavy, ridge) = (Heavy::none(shift.len() - 1), vec![1.0; shift.len()]);
        let way = Way::Conjugate { heavy: &heavy, tolerance: self.tolerance };
        let part = Quadratic { ridge: &ridge, shift: &shift, bias, constant: 0.0, proximal: None };
        let mut newton = match Newton::begin(Smooth::new(Same(loss), part, way), start, &mut rows) {
            Err(TrainError::Stopped(_)) => {
                put_back(segments, block, weights);
                return Ok(Worked::default());
            }
            begun => begun?,
        };
        let without_shift = |newton: &Newton<Smooth<Same<L>>>| {
            newton.objective + newton.w.iter().zip(&shift).map(|(w, shift)| w * shift).sum::<f64>()
        };
        let mut steps = 0;
        while steps < self.most && newton.gap() > self.tolerance * without_shift(&newton) {
            steps += 1;
            match newton.step(&mut rows) {
                Ok(true) => {}
                // The weights are those from which the step began.
                Ok(false) | Err(TrainError::Stopped(_)) => break,
                Err(error) => return Err(error),
            }
        }
        let (w, sweeps) = (newton.w, newton.scans + newton.products);
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
        Ok(Worked { sweeps, visits: sweeps * rows, gain: f64::INFINITY })
    }
}

/// The dual variables of a block stay as they were.
fn put_back(segments: &[Segment], block: &[usize], weights: &mut Identity) {
    for &i in block {
        let Segment { residents, states, .. } = &segments[i];
        let with_dual = states.iter().enumerate().filter(|(_, state)| state.beta != 0.0);
        with_dual.for_each(|(i, state)| weights.add(residents.block.row(i), state.beta));
    }
}

struct BlockRows<'a> {
    segments: &'a [Segment],
    block: &'a [usize],
    scanning: Scanning,
}

impl Rows for BlockRows<'_> {
    fn scan(&mut self, mut visit: impl FnMut(usize, Row, f64, f64)) -> Result<(), TrainError> {
        let (mut number, mut counted) = (0, self.scanning.rows());
        for &i in self.block {
            let Segment { residents, states, .. } = &self.segments[i];
            for (i, state) in states.iter().enumerate() {
                counted.next()?;
                visit(number, residents.block.row(i), state.y, state.c);
                number += 1;
            }
        }
        Ok(())
    }

    fn most(&self) -> usize {
        self.block.iter().map(|&i| self.segments[i].states.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;
    use crate::base::random::below;
    use crate::block::{Block, Layout, RowInfo};
    use crate::budget::Budget;
    use crate::indexed::segment::Room;
    use crate::loss::Hinge;
    use crate::order::OrderName;
    use crate::solver::RowState;
    use crate::stop::Stop;
    use crate::store::Shape;

    const ROWS: usize = 100;

    /// Segments with the rows of one class each, along a large feature that all rows have.
    fn segments(order: OrderName, random: &mut Xoshiro256PlusPlus) -> Vec<Segment> {
        let shape = Shape { rows: ROWS as u64, values: 3 * ROWS as u64, columns: 3, layout: Layout::SPARSE_F32 };
        let mut make = |y: f64| {
            let mut segment = Segment::new(Room::of(shape, 3, 1 << 30), order, &Budget::unlimited()).unwrap();
            for i in 0..ROWS {
                let mut block = Block::new(shape.layout, 3);
                let mut around = || 0.3 * y + 3.0 * (below(random, 1000) as f64 / 1000.0 - 0.5);
                block.push(
                    RowInfo { label: y, weight: 1.0, group: 0, id: i as u64 },
                    [(0, 5.0), (1, around()), (2, around())],
                );
                segment.residents.push(&block, 0, i as u64);
                segment.states.push(RowState { y, c: 1.0, sq_norm: block.row(0).sq_norm(), beta: 0.0 });
            }
            segment.changed();
            segment
        };
        [1.0, -1.0, 1.0, -1.0, 1.0, -1.0].map(&mut make).into()
    }

    fn relative_gap(segments: &[Segment], weights: &Identity) -> f64 {
        let (mut losses, mut gap) = (0.0, 0.0);
        for segment in segments {
            for (i, state) in segment.states.iter().enumerate() {
                let z = weights.margin(segment.residents.block.row(i));
                losses += state.c * Hinge.value(state.y, z);
                gap += Hinge.gap(state.y, z, state.beta, state.c);
            }
        }
        gap / (losses + 0.5 * weights.weights().iter().map(|w| w * w).sum::<f64>())
    }

    #[test]
    fn segments_of_rows_that_resemble_each_other_are_solved_as_one() {
        for order in OrderName::ALL {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
            let mut segments = segments(order, &mut random);
            let (mut weights, mut sweeps) = (Identity::new(3, 0.0), DualSweeps::default());
            for _ in 0..100 {
                segments.iter_mut().for_each(|segment| segment.order.begin_step());
                let watch = Watch::new(&Stop::default(), None);
                let rows: (&mut [Segment], &[usize]) = (&mut segments, &[0, 1, 2, 3, 4, 5]);
                sweeps.solve(Hinge, rows, (u64::MAX, &watch), &mut weights, &mut random).unwrap();
            }
            let gap = relative_gap(&segments, &weights);
            // One segment after the other, in random order inside each, it is above 0.5.
            assert!(gap < 0.05, "{order:?}: {gap}");
        }
    }
}
