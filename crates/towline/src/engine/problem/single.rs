//! One weight per feature: two classes, or a number to predict. Any loss, any way from dual variables to weights.
use std::ops::Range;

use crate::block::{Block, Row, RowInfo};
use crate::engine::certificate::{Certificate, Losses};
use crate::engine::problem::link::SingleLink;
use crate::engine::problem::{Certify, LaggedObjective, Linked, OwnRows, Problem};
use crate::engine::{Selection, TrainError};
use crate::loss::Loss;
use crate::objective::{Objective, Targets};
use crate::order::Order;
use crate::residents::{self, View};
use crate::solver::{BlockSolver, ByRows, RowState, Sweep};

/// Rows of a block whose states are made at a time.
const SCAN_ROWS: usize = 1 << 11;

/// `F(w) = R(w) + Σ c_i L(y_i, w·x_i)`.
pub struct Single<L, K, S = ByRows> {
    loss: L,
    solver: S,
    /// The weights, and how they follow the dual variables.
    link: K,
    objective: Objective,
    /// Its resident rows.
    states: Vec<RowState>,
    /// Losses at the weights with which the pass began; the link remembers these meanwhile.
    look_back: Option<Losses>,
}

impl<L: Loss, K: SingleLink> Single<L, K> {
    /// No row has been seen.
    pub fn new(loss: L, link: K, objective: Objective) -> Self {
        Single::solved_by(ByRows, loss, link, objective)
    }
}

impl<L: Loss, K: SingleLink, S> Single<L, K, S> {
    /// The same with another way to solve the problem of the rows in memory.
    pub fn solved_by(solver: S, loss: L, link: K, objective: Objective) -> Self {
        Single { loss, solver, link, objective, states: Vec::new(), look_back: None }
    }

    /// A row that is wanted, its dual variable brought within its bounds.
    fn state(&self, info: &RowInfo, sq_norm: f64, dual: f64) -> RowState {
        let (y, c) = self.objective.row(info);
        let (low, high) = self.loss.dual_bounds(y, c);
        let sq_norm = sq_norm + self.objective.bias * self.objective.bias;
        RowState { y, c, sq_norm, beta: dual.clamp(low, high) }
    }

    /// Labels mean something else from now on.
    pub fn set_targets(&mut self, targets: Targets) {
        self.objective.targets = targets;
    }

    /// The margin of a row.
    pub fn margin(&self, row: Row) -> f64 {
        self.link.margin(row)
    }
}

impl<L, K: SingleLink, S> Linked for Single<L, K, S> {
    type Link = K;

    fn link(&self) -> &K {
        &self.link
    }

    fn link_mut(&mut self) -> &mut K {
        &mut self.link
    }
}

impl<L: Loss, K: SingleLink, S: BlockSolver<L, K>> OwnRows for Single<L, K, S> {
    fn wants(&self, info: &RowInfo) -> bool {
        self.objective.row(info).1 > 0.0
    }

    fn push(&mut self, info: &RowInfo, _further: &[f64], sq_norm: f64, duals: &[f64]) {
        let state = self.state(info, sq_norm, duals[0]);
        self.states.push(state);
    }

    fn observe_rows(&mut self) {
        self.link.observe_rows(self.states.iter().map(|state| (state.c, state.sq_norm)));
    }

    fn rows(&self) -> usize {
        self.states.len()
    }

    fn duals(&self, i: usize, out: &mut Vec<f64>) -> Result<(), TrainError> {
        out.push(self.states[i].beta);
        Ok(())
    }

    fn retain(&mut self, keep: &[bool]) {
        residents::retain(&mut self.states, keep);
    }

    fn clear(&mut self) {
        self.states = Vec::new();
    }
}

impl<L: Loss, K: SingleLink, S: BlockSolver<L, K>> Problem for Single<L, K, S> {
    fn sweep(&mut self, rows: View, order: &mut dyn Order) -> Sweep {
        self.solver.sweep(self.loss, rows, &mut self.states, &mut self.link, order)
    }

    fn score(&self, selection: Selection, row: Row, i: usize) -> f64 {
        selection.score(self.loss, &self.link, row, &self.states[i])
    }

    fn weights(&self) -> &[f64] {
        self.link.weights()
    }

    fn to_save(&self) -> &[f64] {
        self.link.to_save()
    }

    fn into_weights(self: Box<Self>) -> Vec<f64> {
        self.link.into_weights()
    }

    fn sums(&mut self) -> Vec<f64> {
        self.link.sums()
    }
}

impl<L: Loss, K: SingleLink, S: BlockSolver<L, K>> Certify for Single<L, K, S> {
    fn begin_scan(&mut self, dual_sums: [f64; 2]) {
        self.look_back = None;
        self.solver.begin_scan();
        self.link.begin_scan(dual_sums);
    }

    fn scan_own(&mut self, row: Row, i: usize) -> f64 {
        let state = &self.states[i];
        let z = self.link.scan(self.loss, row, state);
        self.loss.slack(state.y, z, state.beta, state.c)
    }

    fn scan_own_rows(&mut self, rows: View, own: Range<usize>, slacks: &mut Vec<f64>) {
        let states = &self.states[own.clone()];
        if !self.solver.scan(self.loss, (rows, own.start), states, &mut self.link, slacks) {
            slacks.extend(own.map(|i| self.scan_own(rows.row(i), i)));
        }
    }

    fn scan_rows(&mut self, block: &Block, wanted: &[u32], first: usize, duals: &mut [f64]) {
        let mut states = Vec::with_capacity(SCAN_ROWS.min(wanted.len()));
        for some in wanted.chunks(SCAN_ROWS) {
            states.clear();
            for &i in some {
                let dual = &mut duals[i as usize - first];
                let state = self.state(&block.info(i as usize), 0.0, *dual);
                *dual = state.beta;
                states.push(state);
            }
            let rows = View::of(block, some);
            if !self.solver.scan(self.loss, (rows, 0), &states, &mut self.link, &mut Vec::new()) {
                for (i, state) in states.iter().enumerate() {
                    self.link.scan(self.loss, rows.row(i), state);
                }
            }
        }
    }

    fn scan(&mut self, row: Row, info: &RowInfo, _further: &[f64], duals: &mut [f64]) {
        let state = self.state(info, 0.0, duals[0]);
        duals[0] = state.beta;
        self.link.scan(self.loss, row, &state);
    }

    fn at_zero(&self, info: &RowInfo, _further: &[f64]) -> f64 {
        let (y, c) = self.objective.row(info);
        c * self.loss.value(y, 0.0)
    }

    fn end_scan(&mut self) -> Certificate {
        self.solver.end_scan(&mut self.link);
        self.link.end_scan()
    }
}

impl<L: Loss, K: SingleLink, S: BlockSolver<L, K>> LaggedObjective for Single<L, K, S> {
    fn remember(&mut self) -> bool {
        let remembers = self.link.remember();
        self.look_back = remembers.then(Losses::default);
        remembers
    }

    fn can_look_back(&self) -> bool {
        self.link.can_remember()
    }

    fn look_back(&mut self, row: Row, info: &RowInfo, _further: &[f64]) {
        let Some(losses) = &mut self.look_back else { return };
        let (y, c) = self.objective.row(info);
        let w = self.link.remembered();
        losses.add(self.loss, y, c, row.dot(w) + self.objective.bias * w[w.len() - 1]);
    }

    fn looked_back(&mut self) -> Option<f64> {
        self.look_back.take().map(|losses| losses.best(self.link.remembered()).0)
    }

    fn forget(&mut self) {
        self.look_back = None;
    }

    fn go_back(&mut self) -> bool {
        self.link.go_back()
    }
}
