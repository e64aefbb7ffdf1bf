//! The dual objective never falls, whatever the loss and however many parts there are.
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::{ByParts, part_of};
use crate::base::random::unit;
use crate::block::{Block, Layout, RowInfo, ValueKind};
use crate::engine::problem::link::Identity;
use crate::loss::{ALL, Loss, LossVisitor};
use crate::order::OrderName;
use crate::residents::{Residents, View};
use crate::solver::{BlockSolver, RowState};

const COLUMNS: usize = 30;
const BIAS: f64 = 0.5;

/// Rows that all point the same way, so that parts which know nothing of each other go too far.
fn residents(random: &mut Xoshiro256PlusPlus) -> Residents {
    let mut block = Block::new(Layout::new(false, ValueKind::F32), COLUMNS);
    for id in 0..600 {
        let info = RowInfo { label: 1.0, weight: 1.0, group: 0, id };
        let mut row: Vec<(u32, f64)> = Vec::new();
        for j in 0..COLUMNS as u32 {
            if j % 3 == 0 || unit(random) < 0.3 {
                row.push((j, 0.2 + unit(random)));
            }
        }
        block.push(info, row);
    }
    Residents::over(&block, None)
}

struct Rises(usize);

impl LossVisitor for Rises {
    type Out = ();

    fn visit<L: Loss>(self, loss: L) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let residents = residents(&mut random);
        let numbers: Vec<u32> = (0..residents.rows() as u32).collect();
        let rows = View::new(&residents, &numbers);
        let state = |i: usize| {
            let y = if unit(&mut random) < 0.6 { 1.0 } else { -1.0 };
            RowState { y, c: 3.0, sq_norm: residents.sq_norms[i] + BIAS * BIAS, beta: loss.initial_dual(y, 3.0) }
        };
        let mut states: Vec<RowState> = (0..residents.rows()).map(state).collect();
        let threads = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());
        let mut solver = ByParts::new(self.0, COLUMNS, BIAS, threads);
        let mut weights = Identity::new(COLUMNS, BIAS);
        let sums = |states: &[RowState]| {
            let mut v = vec![0.0; COLUMNS + 1];
            for (i, state) in states.iter().enumerate() {
                rows.row(i).add_to(&mut v, state.beta);
                v[COLUMNS] += BIAS * state.beta;
            }
            v
        };
        weights.weights_mut().copy_from_slice(&sums(&states));
        let dual = |states: &[RowState]| {
            let values: f64 = states.iter().map(|state| loss.dual_value(state.y, state.beta, state.c)).sum();
            values - 0.5 * sums(states).iter().map(|v| v * v).sum::<f64>()
        };
        let mut order = OrderName::Permutation.make();
        let mut before = dual(&states);
        for sweep in 0..30 {
            order.begin_sweep(states.len(), &mut random);
            let done = solver.sweep(loss, rows, &mut states, &mut weights, &mut *order);
            let now = dual(&states);
            let rounding = 1e-9 * (1.0 + now.abs());
            assert!(now >= before - rounding, "{} parts, sweep {sweep}: {before} {now}", self.0);
            assert!((now - before - done.gain).abs() <= rounding, "the gain is what it is said to be");
            assert_eq!(done.visits, 600);
            let off = weights.weights_mut().iter().zip(sums(&states)).map(|(w, v)| (w - v).abs()).fold(0.0, f64::max);
            assert!(off <= 1e-9, "weights follow the dual variables: {off}");
            before = now;
        }
    }
}

#[test]
fn the_dual_objective_never_falls() {
    for &loss in ALL {
        for parts in [2, 7, 32] {
            loss.visit(Rises(parts));
        }
    }
}

#[test]
fn rows_are_dealt_out_evenly_and_anew() {
    let count = |interval| (0..10_000).filter(|&row| part_of(row, interval, 4) == 2).count();
    assert!((1..20).all(|interval| (2300..2700).contains(&count(interval))));
    let same = (0..10_000).filter(|&row| part_of(row, 1, 4) == part_of(row, 2, 4)).count();
    assert!((2300..2700).contains(&same), "{same}");
}
