//! The proximal point method around block minimization (DA-BCD, Algorithm 2).
//!
//! ```text
//! outer   w_{t+1} = argmin F(w) + ‖w - p_t‖²/(2η)                                             (11)
//! dual    D_t(β) = -R̃*(v) - Σ c_i L*(-β_i/c_i),   v = Σ β_i x_i,   R̃(w) = R(w) + ‖w - p_t‖²/(2η)   (18)
//! link    w = ∇R̃*(v) = prox_{ηR}(p_t + ηv)
//! ```
//! R̃* is smooth with constant η (Theorem 1), whatever R is, so a row's step with curvature η‖x‖² never overshoots, and it
//! is the step of the l2 penalty with another curvature and another way to w: the sweeps, the orders and the cache are the
//! same. What is kept is u = p + ηv; w is made from it where a row asks. v plays the part of -μ of the paper, maintained
//! row by row and not block by block as in its (15) to (17).
//!
//! Departures, both measured: one pass per proximal step as in section 4.3.1, and the centre goes beyond w,
//! `p_{t+1} = w_{t+1} + θ(w_{t+1} - w_t)`, unless that points back uphill (O'Donoghue & Candès 2015, gradient restart).
use super::certificate::Certificate;
use super::duals::Start;
use super::link::Link;
use super::proximal_certificate::{ProximalScan, Scanned};
use super::task::Task;
use crate::block::Row;
use crate::loss::Loss;
use crate::nearby::large_zeroed;
use crate::penalty::{AnyPenalty, LazyProx, Penalty};
use crate::solver::{RowState, Weights};

/// θ: how far the centre goes beyond w, in steps of w.
const EXTRAPOLATION: f64 = 0.5;

/// Stands in for sup L'' where a loss has kinks: the best of 0.2, 0.5, 2 and 4 on three of the sets of LIBSVM with the hinge loss.
const CURVATURE_OF_A_KINK: f64 = 0.5;

/// Weights through a proximal map.
pub struct Proximal<P> {
    penalty: AnyPenalty,
    lazy: P,
    bias: f64,
    /// sup L''.
    loss_curvature: f64,
    /// Whether the constant feature, the last one, is free of the penalty.
    intercept: bool,
    /// η; infinite where R alone is strongly convex enough, and then u is v.
    eta: f64,
    /// η of an intercept.
    constant_eta: f64,
    /// How smooth R̃* is: R̃ is strongly convex with 1/η and what R has itself.
    smoothness: f64,
    /// Whether the data has been seen, which η depends on.
    seen: bool,
    /// p + ηv.
    u: Vec<f64>,
    /// p.
    centre: Vec<f64>,
    /// w at the end of the last proximal step.
    w: Vec<f64>,
    /// Scratch, and what a certificate sums anew.
    v: Vec<f64>,
    /// Proximal steps made.
    steps: u32,
    /// Whether u holds the sum over all rows; not so when dual variables are given and no scan has been made.
    summed: bool,
    /// The largest dual objective that was found: a bound stays one.
    best_dual: f64,
    scan: ProximalScan,
}

impl<P: LazyProx> Proximal<P> {
    /// Dense vectors that it holds.
    pub const VECTORS: u64 = 4;

    /// Starts where the task says.
    pub fn new(columns: usize, task: &Task, lazy: P) -> Self {
        let objective = &task.objective;
        let (start, known) = match &task.start {
            Some(Start::Left(left, factor)) => (&left.weights, Some((&left.sums, factor))),
            _ => (&task.start_weights, None),
        };
        let mut w: Vec<f64> = large_zeroed(columns + 1);
        let given = start.len().min(columns + 1);
        w[..given].copy_from_slice(&start[..given]);
        let mut centre = large_zeroed(columns + 1);
        let mut u = large_zeroed(columns + 1);
        centre.copy_from_slice(&w);
        u.copy_from_slice(&w);
        let penalty = objective.penalty.clone();
        // v determines w well enough for l2 alone: another penalty may have so little of it that the dual is ill-conditioned.
        let direct = matches!(penalty, AnyPenalty::L2(_));
        let mut link = Proximal {
            lazy,
            bias: objective.bias,
            loss_curvature: objective.loss.curvature(),
            intercept: objective.intercept,
            eta: if direct { f64::INFINITY } else { 1.0 },
            constant_eta: 1.0,
            smoothness: 1.0,
            seen: false,
            u,
            centre,
            w,
            v: large_zeroed(columns + 1),
            steps: 0,
            summed: task.start.is_none() || known.is_some(),
            best_dual: 0.0,
            scan: ProximalScan::default(),
            penalty,
        };
        if direct {
            let penalised = link.penalised();
            link.u[..penalised].fill(0.0);
        }
        if let Some((sums, factor)) = known {
            sums.iter().enumerate().for_each(|(j, v)| link.set_sum(j, factor * v));
        }
        link.renew();
        link
    }

    /// The value of the constant feature.
    pub fn bias(&self) -> f64 {
        self.bias
    }

    /// Whether the constant feature is free of the penalty.
    pub fn intercept(&self) -> bool {
        self.intercept
    }

    /// η, and that of an intercept.
    pub fn etas(&self) -> (f64, f64) {
        (self.eta, self.constant_eta)
    }

    /// u = p + ηv.
    pub fn towards(&self) -> &[f64] {
        &self.u
    }

    /// prox(u), all of it.
    pub fn weights_now(&self) -> Vec<f64> {
        (0..self.u.len()).map(|j| self.weight(j)).collect()
    }

    /// R̃*(v), by its maximiser w = prox(u).
    pub fn conjugate(&self) -> f64 {
        let w = self.weights_now();
        let products = w.iter().enumerate().map(|(j, &w)| {
            let off = w - self.centre[j];
            self.sum_at(j) * w - off * off / (2.0 * self.eta_of(j))
        });
        products.sum::<f64>() - self.penalty.value(&w[..self.penalised()])
    }

    /// v ← v + Σ βx.
    pub fn add_rows<'a>(&mut self, rows: impl Iterator<Item = (Row<'a>, f64)>) {
        rows.filter(|(_, beta)| *beta != 0.0).for_each(|(row, beta)| self.add(row, beta));
        self.renew();
    }

    fn last(&self) -> usize {
        self.u.len() - 1
    }

    /// How many of the coordinates are under the penalty: all but an intercept.
    fn penalised(&self) -> usize {
        self.u.len() - usize::from(self.intercept)
    }

    fn eta_of(&self, j: usize) -> f64 {
        if j < self.penalised() { self.eta } else { self.constant_eta }
    }

    #[inline(always)]
    fn weight(&self, j: usize) -> f64 {
        if j < self.penalised() { self.lazy.weight(j, self.u[j]) } else { self.u[j] }
    }

    fn renew(&mut self) {
        let penalised = self.penalised();
        self.smoothness = 1.0 / (1.0 / self.eta + self.penalty.strong_convexity());
        self.lazy.set_eta(&self.penalty, self.eta);
        self.lazy.renew(&self.u[..penalised]);
    }

    /// v_j from u_j.
    fn sum_at(&self, j: usize) -> f64 {
        let eta = self.eta_of(j);
        if eta.is_finite() { (self.u[j] - self.centre[j]) / eta } else { self.u[j] }
    }

    /// u_j from v_j.
    fn set_sum(&mut self, j: usize, v: f64) {
        let eta = self.eta_of(j);
        self.u[j] = if eta.is_finite() { self.centre[j] + eta * v } else { v };
    }
}

impl<P: LazyProx> Weights for Proximal<P> {
    #[inline(always)]
    fn margin(&self, row: Row) -> f64 {
        let products = row.dot_mapped(&self.u, |j, u| self.lazy.weight(j, u));
        if self.bias == 0.0 { products } else { products + self.bias * self.weight(self.last()) }
    }

    #[inline(always)]
    fn add(&mut self, row: Row, delta: f64) {
        let step = if self.eta.is_finite() { self.eta * delta } else { delta };
        row.for_each(|j, x| {
            let old = self.u[j as usize];
            let new = old + step * x;
            self.u[j as usize] = new;
            self.lazy.moved(j as usize, old, new);
        });
        if self.bias != 0.0 {
            let last = self.last();
            let old = self.u[last];
            let new = old + self.bias * if self.intercept { self.constant_eta * delta } else { step };
            self.u[last] = new;
            if !self.intercept {
                self.lazy.moved(last, old, new);
            }
        }
    }

    #[inline(always)]
    fn curvature(&self, sq_norm: f64) -> f64 {
        if self.intercept {
            let constant = self.bias * self.bias;
            (sq_norm - constant).max(0.0) * self.smoothness + constant * self.constant_eta
        } else {
            sq_norm * self.smoothness
        }
    }
}

impl<P: LazyProx> Link for Proximal<P> {
    const IS_PROXIMAL: bool = true;

    /// η = 2 / mean(c‖x‖² sup L''): about the largest for which one sweep solves a proximal step well enough. Coordinate ascent on
    /// (18) takes about 1 + ηc‖x‖² sup L'' sweeps (Shalev-Shwartz & Zhang 2013, Theorem 2), and a smaller η only makes the
    /// outer loop slower.
    fn see(&mut self, rows: &[RowState]) {
        if self.seen || rows.is_empty() {
            return;
        }
        self.seen = true;
        let constant = if self.intercept { self.bias * self.bias } else { 0.0 };
        let (mut weights, mut weighted_norms) = (0.0, 0.0);
        for state in rows {
            weights += state.c;
            weighted_norms += state.c * (state.sq_norm - constant).max(0.0);
        }
        let curvature = if self.loss_curvature.is_finite() { self.loss_curvature } else { CURVATURE_OF_A_KINK };
        let scale = 2.0 * rows.len() as f64 / curvature;
        let step = |sum: f64| if sum > 0.0 { scale / sum } else { 1.0 };
        for j in 0..self.u.len() {
            self.v[j] = self.sum_at(j);
        }
        if self.eta.is_finite() {
            self.eta = step(weighted_norms);
        }
        self.constant_eta = step(weights * self.bias * self.bias);
        for j in 0..self.u.len() {
            self.set_sum(j, self.v[j]);
        }
        self.renew();
    }

    /// One is enough for a smooth loss (4.3.1). With kinks the dual variables of one sweep are far from those of a solution, however
    /// good w is, and no certificate shows it; more sweeps for every step make up for that, as inexact proximal steps ask for.
    fn sweeps(&self) -> u32 {
        if self.loss_curvature.is_finite() { 1 } else { 10 + self.steps / 4 }
    }

    fn advance(&mut self) {
        self.steps = self.steps.saturating_add(1);
        // Sums of norms have been updated step by step.
        self.renew();
        let uphill: f64 = (0..self.u.len())
            .map(|j| {
                let w = self.weight(j);
                (self.centre[j] - w) * (w - self.w[j])
            })
            .sum();
        let beyond = if uphill > 0.0 { 0.0 } else { EXTRAPOLATION };
        for j in 0..self.u.len() {
            let w = self.weight(j);
            let centre = w + beyond * (w - self.w[j]);
            if self.eta_of(j).is_finite() {
                self.u[j] += centre - self.centre[j];
            }
            self.centre[j] = centre;
            self.w[j] = w;
        }
        self.renew();
    }

    fn begin_scan(&mut self, dual_sums: [f64; 2]) {
        for j in 0..self.u.len() {
            self.v[j] = self.sum_at(j);
        }
        let is_bounded = !matches!(self.penalty, AnyPenalty::None(_));
        let scales = if is_bounded { self.penalty.dual_scales(&self.v[..self.penalised()]) } else { [1.0; 2] };
        let balanced = self.summed && self.intercept && is_bounded;
        self.scan = ProximalScan::new(balanced.then_some(dual_sums));
        self.scan.set_scales(scales);
        self.v.fill(0.0);
    }

    #[inline]
    fn scan<L: Loss>(&mut self, loss: L, row: Row, state: &RowState) -> f64 {
        let (w, v, penalty) = (&self.w[..], &mut self.v[..], &self.penalty);
        self.scan.add(loss, row, state, Scanned { w, v, penalty, bias: self.bias, intercept: self.intercept })
    }

    fn end_scan(&mut self) -> Certificate {
        let scan = std::mem::take(&mut self.scan);
        let (w, v, penalty) = (&self.w[..], &mut self.v[..], &self.penalty);
        let mut certificate = scan.finish(Scanned { w, v, penalty, bias: self.bias, intercept: self.intercept });
        // A balanced sum is that of other dual variables than ours.
        if !self.summed || !self.intercept {
            for j in 0..self.u.len() {
                self.set_sum(j, self.v[j]);
            }
            self.renew();
        }
        self.summed = true;
        // A bound within a radius is one for that radius only.
        if certificate.radius.is_none() {
            self.best_dual = self.best_dual.max(certificate.dual_objective);
            certificate.dual_objective = self.best_dual;
        }
        certificate
    }

    /// The proximal steps themselves are looked at instead.
    fn remember(&mut self) -> bool {
        false
    }

    fn remembered(&self) -> &[f64] {
        &self.w
    }

    fn weights(&self) -> &[f64] {
        &self.w
    }

    fn to_save(&self) -> &[f64] {
        &self.w
    }

    fn into_weights(self) -> Vec<f64> {
        self.w
    }

    fn sums(&mut self) -> Vec<f64> {
        for j in 0..self.u.len() {
            self.v[j] = self.sum_at(j);
        }
        std::mem::take(&mut self.v)
    }
}
