//! One weight per feature: two classes, or a number to predict. Any loss, any way from dual variables to weights.
use super::Selection;
use super::certificate::{Certificate, Losses};
use super::link::Link;
use super::problem::{Certify, LookBack, Problem, States};
use crate::block::{Row, RowInfo};
use crate::loss::Loss;
use crate::objective::{Objective, Targets};
use crate::order::Order;
use crate::residents::{self, View};
use crate::solver::{self, RowState, Sweep};

/// `F(w) = R(w) + Σ c_i L(y_i, w·x_i)`.
pub struct Single<L, K> {
    loss: L,
    /// The weights, and how they follow the dual variables.
    link: K,
    objective: Objective,
    /// Losses at the weights with which the pass began; the link remembers these meanwhile.
    look_back: Option<Losses>,
}

impl<L: Loss, K: Link> Single<L, K> {
    /// No row has been seen.
    pub fn new(loss: L, link: K, objective: Objective) -> Self {
        Single { loss, link, objective, look_back: None }
    }

    /// The weights, to change them from outside.
    pub fn link_mut(&mut self) -> &mut K {
        &mut self.link
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

impl States for Vec<RowState> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn duals(&self, i: usize) -> &[f64] {
        std::slice::from_ref(&self[i].beta)
    }

    fn retain(&mut self, keep: &[bool]) {
        residents::retain(self, keep);
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<L: Loss, K: Link> Problem for Single<L, K> {
    const IS_PROXIMAL: bool = K::IS_PROXIMAL;

    fn see(&mut self, states: &Vec<RowState>) {
        self.link.see(states);
    }

    fn sweep(&mut self, rows: View, states: &mut Vec<RowState>, order: &mut dyn Order) -> Sweep {
        solver::sweep(self.loss, rows, states, &mut self.link, order)
    }

    fn score(&self, selection: Selection, row: Row, states: &Vec<RowState>, i: usize) -> f64 {
        selection.score(self.loss, &self.link, row, &states[i])
    }

    fn sweeps(&self) -> u32 {
        self.link.sweeps()
    }

    fn advance(&mut self) {
        self.link.advance();
    }

    fn to_save(&self) -> &[f64] {
        self.link.to_save()
    }

    fn into_weights(self) -> Vec<f64> {
        self.link.into_weights()
    }

    fn sums(&mut self) -> Vec<f64> {
        self.link.sums()
    }
}

impl<L: Loss, K: Link> Certify for Single<L, K> {
    type States = Vec<RowState>;

    fn no_states(&self) -> Vec<RowState> {
        Vec::new()
    }

    fn width(&self) -> usize {
        1
    }

    fn wants(&self, info: &RowInfo) -> bool {
        self.objective.row(info).1 > 0.0
    }

    fn push(&self, states: &mut Vec<RowState>, info: &RowInfo, sq_norm: f64, duals: &[f64]) {
        let (y, c) = self.objective.row(info);
        let (low, high) = self.loss.dual_bounds(y, c);
        let sq_norm = sq_norm + self.objective.bias * self.objective.bias;
        states.push(RowState { y, c, sq_norm, beta: duals[0].clamp(low, high) });
    }

    fn begin_scan(&mut self, dual_sums: [f64; 2]) {
        self.look_back = None;
        self.link.begin_scan(dual_sums);
    }

    fn scan(&mut self, row: Row, states: &Vec<RowState>, i: usize) -> f64 {
        let state = &states[i];
        let z = self.link.scan(self.loss, row, state);
        self.loss.slack(state.y, z, state.beta, state.c)
    }

    fn end_scan(&mut self) -> Certificate {
        self.link.end_scan()
    }

    fn weights(&self) -> &[f64] {
        self.link.weights()
    }
}

impl<L: Loss, K: Link> LookBack for Single<L, K> {
    fn remember(&mut self) -> bool {
        let remembers = self.link.remember();
        self.look_back = remembers.then(Losses::default);
        remembers
    }

    fn look_back(&mut self, row: Row, info: &RowInfo) {
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
}
