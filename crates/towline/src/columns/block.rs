//! The block problem of DA-BCD in the primal, the paper's own choice of a block solver (section 5).
//!
//! ```text
//! min R(w) + ‖w - p‖²/(2η) - v_B·w + Σ_{i in B} c_i L(y_i, x_i·w),   v_B = v - Σ_{i in B} β_i x_i        (14), with -v for μ
//! then β_i = -c_i L'(x_i·w) for the rows of the block, and v = v_B + Σ β_i x_i                              (15) to (17)
//! ```
//! The proximal term and v_B together pull towards u_B = p + ηv_B. Columns that no row of the block has stay where the link puts them, at prox(u_B).
use super::anchored::Anchored;
use super::design::Design;
use super::newton_model::{Free, Newton, Target};
use super::parts::Parts;
use crate::loss::SmoothLoss;
use crate::order::Order;
use crate::penalty::LazyProx;
use crate::residents::View;
use crate::solver::{BlockSolver, RowState, Sweep};
use crate::trainer::Proximal;

/// Proximal Newton steps on the problem of a block, at most.
const MOST_STEPS: u32 = 10;
/// The problem of a block is solved when a step gains less than this part of the first.
const SOLVED: f64 = 0.05;

/// Halvings of a step of the dual variables, at most.
const MOST_HALVINGS: i32 = 6;

/// Minimises over the columns of the rows in memory.
pub struct ColumnsOfBlock<P> {
    parts: P,
}

impl<P> ColumnsOfBlock<P> {
    /// `parts` makes up the penalty.
    pub fn new(parts: P) -> Self {
        ColumnsOfBlock { parts }
    }
}

impl<L: SmoothLoss, Z: LazyProx, P: Parts> BlockSolver<L, Proximal<Z>> for ColumnsOfBlock<P> {
    fn sweep(
        &mut self,
        loss: L,
        rows: View,
        states: &mut [RowState],
        link: &mut Proximal<Z>,
        _order: &mut dyn Order,
    ) -> Sweep {
        let design = Design::new(rows.columns(), link.bias());
        let mut targets = vec![Target::default(); design.rows()];
        for (i, state) in states.iter().enumerate() {
            targets[rows.number(i)] = Target { y: state.y, c: state.c };
        }
        let mut w = link.weights_now();
        link.add_rows(states.iter().enumerate().map(|(i, state)| (rows.row(i), -state.beta)));
        let (eta, constant_eta) = link.etas();
        let anchored = Anchored { parts: &self.parts, towards: link.towards(), strength: 1.0 / eta };
        let towards = link.towards()[design.constant()];
        let free = link.intercept().then(|| Free { towards, strength: 1.0 / constant_eta });
        let mut newton = Newton::new(loss, targets);
        let mut total = Sweep::default();
        let mut v = vec![0.0; w.len()];
        newton.look(design, &w);
        let mut first = 0.0f64;
        for _ in 0..MOST_STEPS {
            for (j, v) in v.iter_mut().enumerate() {
                *v = anchored.strength * (anchored.towards[j] - w[j]) - design.dot(j, &newton.slopes);
            }
            let stepped = newton.step(design, &anchored, &mut w, &v, free);
            newton.look(design, &w);
            let passes = 2.0 + stepped.looked_at as f64 / design.values().max(1) as f64;
            total.visits += (passes * states.len() as f64).ceil() as u64;
            first = first.max(stepped.fall);
            if stepped.fall <= SOLVED * first {
                break;
            }
        }
        let step = |(i, state): (usize, &RowState)| {
            let (low, high) = loss.dual_bounds(state.y, state.c);
            (-newton.slopes[rows.number(i)]).clamp(low, high) - state.beta
        };
        let steps: Vec<f64> = states.iter().enumerate().map(step).collect();
        drop(newton);
        link.add_rows(states.iter().enumerate().map(|(i, state)| (rows.row(i), state.beta)));
        total.gain = ascend(loss, &rows, states, link, &steps);
        total
    }
}

/// Moves the dual variables along `steps`: all the way, or as far as (18) rises. The solution of a block is its maximum, but this is an approximate one, and dual variables
/// that make (18) less could go on doing so from block to block. Returns the gain.
fn ascend<L: SmoothLoss, Z: LazyProx>(
    loss: L,
    rows: &View,
    states: &mut [RowState],
    link: &mut Proximal<Z>,
    steps: &[f64],
) -> f64 {
    let value = |states: &[RowState], link: &Proximal<Z>| {
        states.iter().map(|state| loss.dual_value(state.y, state.beta, state.c)).sum::<f64>() - link.conjugate()
    };
    let before = value(states, link);
    let mut moved = 0.0;
    for part in (0..=MOST_HALVINGS).map(|k| 0.5f64.powi(k)).chain([0.0]) {
        link.add_rows(steps.iter().enumerate().map(|(i, step)| (rows.row(i), (part - moved) * step)));
        for (state, step) in states.iter_mut().zip(steps) {
            let (low, high) = loss.dual_bounds(state.y, state.c);
            // Rounding must not carry it over a bound.
            state.beta = (state.beta + (part - moved) * step).clamp(low, high);
        }
        moved = part;
        let gain = value(states, link) - before;
        if gain >= 0.0 {
            return gain;
        }
    }
    0.0
}
