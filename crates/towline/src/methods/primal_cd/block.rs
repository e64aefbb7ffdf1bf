//! The block problem of DA-BCD in the primal, the paper's own choice of a block solver (section 5).
//!
//! ```text
//! min R(w) + ‖w - p‖²/(2η) - v_B·w + Σ_{i in B} c_i L(y_i, x_i·w),   v_B = v - Σ_{i in B} β_i x_i        (14), with -v for μ
//! then β_i = -c_i L'(x_i·w) for the rows of the block, and v = v_B + Σ β_i x_i                              (15) to (17)
//! ```
//! An approximate solution has dual variables that may be far from the best, and errors grow from block to block. So
//! they are taken only if the dual objective (18) rises, and a sweep of dual steps over the rows follows, which always
//! raises it. Papers do without ([`Variant::is_guarded`]).
//!
//! The proximal term and v_B together pull towards u_B = p + ηv_B. Columns that no row of the block has stay where the
//! link puts them, at prox(u_B).
use super::anchored::Anchored;
use super::design::Design;
use super::model_loss::{Smooth, Target};
use super::newton_model::{Free, Newton};
use super::separable_penalty::SeparablePenalty;
use crate::engine::{Proximal, Variant, Watch};
use crate::loss::SmoothLoss;
use crate::order::Order;
use crate::penalty::LazyProx;
use crate::residents::View;
use crate::solver::{BlockSolver, ByRows, RowState, Sweep};

/// Proximal Newton steps on the problem of a block, at most, where no number was given.
const MOST_STEPS: u32 = 10;
/// The problem of a block is solved when a step gains less than this part of the first.
const SOLVED: f64 = 0.05;

/// Minimises over the columns of the rows in memory.
pub struct ColumnsOfBlock<P> {
    parts: P,
    watch: Watch,
    most_steps: u32,
    is_guarded: bool,
}

impl<P> ColumnsOfBlock<P> {
    /// `parts` makes up the penalty; `watch` says when the run has to end.
    pub fn new(parts: P, watch: Watch, variant: &Variant) -> Self {
        let most_steps = variant.block_steps.unwrap_or(MOST_STEPS);
        ColumnsOfBlock { parts, watch, most_steps, is_guarded: variant.is_guarded }
    }
}

impl<L: SmoothLoss, Z: LazyProx, P: SeparablePenalty> BlockSolver<L, Proximal<Z>> for ColumnsOfBlock<P> {
    fn sweep(
        &mut self,
        loss: L,
        rows: View,
        states: &mut [RowState],
        link: &mut Proximal<Z>,
        order: &mut dyn Order,
    ) -> Sweep {
        let design = Design::new(rows.columns(), link.bias());
        let mut targets = vec![Target::default(); design.rows()];
        for (i, state) in states.iter().enumerate() {
            targets[rows.number(i)] = Target { y: state.y, c: state.c, beta: state.beta };
        }
        let mut w = link.weights_now();
        link.add_rows(states.iter().enumerate().map(|(i, state)| (rows.row(i), -state.beta)));
        let (eta, constant_eta) = link.etas();
        let anchored = Anchored { parts: &self.parts, towards: link.towards(), strength: 1.0 / eta };
        let towards = link.towards()[design.constant()];
        let free = link.intercept().then(|| Free { towards, strength: 1.0 / constant_eta });
        let mut newton = Newton::new(Smooth(loss), targets, None);
        let mut total = Sweep::default();
        let mut v = vec![0.0; w.len()];
        newton.look(design, &w);
        let mut first = 0.0f64;
        for _ in 0..self.most_steps {
            for (j, v) in v.iter_mut().enumerate() {
                *v = anchored.strength * (anchored.towards[j] - w[j]) - design.dot(j, &newton.slopes);
            }
            let stepped = newton.step(design, &anchored, &mut w, &v, (free, &self.watch));
            newton.look(design, &w);
            let passes = 2.0 + stepped.looked_at as f64 / design.values().max(1) as f64;
            total.visits += (passes * states.len() as f64).ceil() as u64;
            first = first.max(stepped.fall);
            if stepped.fall <= SOLVED * first || self.watch.look().is_some() {
                break;
            }
        }
        let dual = |(i, state): (usize, &RowState)| {
            let (low, high) = loss.dual_bounds(state.y, state.c);
            (-newton.slopes[rows.number(i)]).clamp(low, high)
        };
        let duals: Vec<f64> = states.iter().enumerate().map(dual).collect();
        drop(newton);
        link.add_rows(states.iter().enumerate().map(|(i, state)| (rows.row(i), state.beta)));
        if !self.is_guarded {
            link.add_rows(
                states.iter().zip(&duals).enumerate().map(|(i, (state, dual))| (rows.row(i), dual - state.beta)),
            );
            states.iter_mut().zip(duals).for_each(|(state, dual)| state.beta = dual);
            return total;
        }
        total.gain = ascend(loss, &rows, states, link, duals);
        let polished = ByRows.sweep(loss, rows, states, link, order);
        Sweep { gain: total.gain + polished.gain, visits: total.visits + polished.visits, ..polished }
    }
}

/// Takes over these dual variables if (18) rises, and returns the gain. Those of the solution are its maximum; here
/// they are of an approximate one, and what makes (18) less could go on doing so from block to block.
fn ascend<L: SmoothLoss, Z: LazyProx>(
    loss: L,
    rows: &View,
    states: &mut [RowState],
    link: &mut Proximal<Z>,
    mut duals: Vec<f64>,
) -> f64 {
    let value = |states: &[RowState], link: &Proximal<Z>| {
        states.iter().map(|state| loss.dual_value(state.y, state.beta, state.c)).sum::<f64>() - link.conjugate()
    };
    let mut exchange = |states: &mut [RowState], link: &mut Proximal<Z>| {
        let steps = states.iter().zip(&duals).enumerate();
        link.add_rows(steps.map(|(i, (state, dual))| (rows.row(i), dual - state.beta)));
        states.iter_mut().zip(&mut duals).for_each(|(state, dual)| std::mem::swap(&mut state.beta, dual));
    };
    let before = value(states, link);
    exchange(states, link);
    let gain = value(states, link) - before;
    if gain >= 0.0 {
        return gain;
    }
    exchange(states, link);
    0.0
}
