//! Dual coordinate descent over the resident rows of one model (Hsieh et al. 2008, Algorithm 1; any loss).
//!
//! One visit: z = w·x_i, the β that maximises the dual over row i alone, w ← w + (β_new - β)x_i. Nothing else happens
//! in the loop: no allocation, no lock, no lookup; the order and the loss are compiled into it.
use crate::block::Row;
use crate::loss::Loss;
use crate::order::{Gradients, Order, Visit};
use crate::prefetch::prefetch;
use crate::residents::View;

/// What a visit needs of a row besides its values: together, so that it is one cache line and not four.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowState {
    /// The target.
    pub y: f64,
    /// The weight of the row's loss.
    pub c: f64,
    /// ‖x‖², the bias included.
    pub sq_norm: f64,
    /// The dual variable.
    pub beta: f64,
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sweep {
    /// How much the dual objective rose.
    pub gain: f64,
    /// The largest violation that was seen.
    pub violation: f64,
    /// Visits made.
    pub visits: u64,
    /// The projected gradients that were met, where the order asks for them.
    pub gradients: Gradients,
}

impl Sweep {
    /// Counts a visit.
    #[inline(always)]
    pub fn count(&mut self, visit: &Visit) {
        self.gain += visit.gain;
        self.violation = self.violation.max(visit.violation);
        self.visits += 1;
        self.gradients.add(visit);
    }
}

/// How a visit reads and moves the weights, constant feature included.
pub trait Weights {
    /// w·x.
    fn margin(&self, row: Row) -> f64;

    /// v ← v + delta·x, and w with it.
    fn add(&mut self, row: Row, delta: f64);

    /// How far the margin of a row with ‖x‖² = `sq_norm` moves, at most, when v moves by x: just that where w = v.
    fn curvature(&self, sq_norm: f64) -> f64;
}

/// w·x, with a constant feature of value `bias` last.
#[inline(always)]
pub fn margin_with_bias(row: Row, w: &[f64], bias: f64) -> f64 {
    row.dot(w) + bias * w[w.len() - 1]
}

/// v ← v + delta·x, in the same way.
#[inline(always)]
pub fn add_with_bias(row: Row, v: &mut [f64], bias: f64, delta: f64) {
    let last = v.len() - 1;
    row.add_to(v, delta);
    v[last] += delta * bias;
}

/// How the problem of the rows in memory is solved.
pub trait BlockSolver<L, W>: Send {
    /// Moves the dual variables of the rows, and the weights with them.
    fn sweep(&mut self, loss: L, rows: View, states: &mut [RowState], weights: &mut W, order: &mut dyn Order) -> Sweep;

    /// The weights begin a scan.
    fn begin_scan(&mut self) {}

    /// Adds the rows of `states`, which are those of `rows` from `first` on, and appends their slacks. False, and
    /// nothing is done, from a solver that leaves that to the weights, row by row.
    fn scan(
        &mut self,
        loss: L,
        (rows, first): (View, usize),
        states: &[RowState],
        weights: &mut W,
        slacks: &mut Vec<f64>,
    ) -> bool {
        let _ = (loss, rows, first, states, weights, slacks);
        false
    }

    /// The weights are about to end it.
    fn end_scan(&mut self, weights: &mut W) {
        let _ = weights;
    }
}

/// Dual coordinate descent, one row after the other.
pub struct ByRows;

impl<L: Loss, W: Weights> BlockSolver<L, W> for ByRows {
    fn sweep(&mut self, loss: L, rows: View, states: &mut [RowState], weights: &mut W, order: &mut dyn Order) -> Sweep {
        sweep(loss, rows, states, weights, order)
    }
}

/// Visits rows in the order that `order` has laid out.
pub fn sweep<L: Loss, W: Weights, O: Order + ?Sized>(
    loss: L,
    rows: View,
    states: &mut [RowState],
    weights: &mut W,
    order: &mut O,
) -> Sweep {
    let mut total = Sweep::default();
    let exact = order.wants_gradients();
    let mut coming = order.next();
    while let Some(i) = coming {
        // Rows lie anywhere: the next one is on its way while this one is worked on.
        coming = order.next();
        if let Some(next) = coming {
            prefetch(states, next);
            rows.prefetch(next);
        }
        let visit = visit(loss, rows.row(i), &mut states[i], weights, exact);
        total.count(&visit);
        order.learn(i, visit);
    }
    total
}

/// Maximises the dual over one row, all others fixed, and moves the weights with it. Tells its gradient if that is
/// wanted.
#[inline(always)]
pub fn visit<L: Loss, W: Weights>(
    loss: L,
    row: Row,
    state: &mut RowState,
    weights: &mut W,
    wants_gradient: bool,
) -> Visit {
    let z = weights.margin(row);
    let q = weights.curvature(state.sq_norm);
    let beta = loss.dual_step(state.y, z, state.beta, q, state.c);
    let delta = beta - state.beta;
    let mut visit = match wants_gradient {
        false => Visit { slack: loss.slack(state.y, z, beta, state.c), ..Visit::default() },
        true => Visit {
            slack: loss.slack(state.y, z, state.beta, state.c),
            gradient: loss.dual_gradient(state.y, z, state.beta, state.c),
            ..Visit::default()
        },
    };
    if delta != 0.0 {
        let moved = delta * q;
        let values = loss.dual_value(state.y, beta, state.c) - loss.dual_value(state.y, state.beta, state.c);
        visit.gain = (values - delta * (z + 0.5 * moved)).max(0.0);
        visit.violation = moved.abs();
        weights.add(row, delta);
        state.beta = beta;
    }
    visit
}
