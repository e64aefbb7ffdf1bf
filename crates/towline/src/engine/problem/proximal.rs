//! The proximal point method around block minimization (DA-BCD, Algorithm 2).
//!
//! ```text
//! outer   w_{t+1} = argmin F(w) + ‖w - p_t‖²/(2η)                                             (11)
//! dual    D_t(β) = -R̃*(v) - Σ c_i L*(-β_i/c_i),   v = Σ β_i x_i,   R̃(w) = R(w) + ‖w - p_t‖²/(2η)   (18)
//! link    w = ∇R̃*(v) = prox_{ηR}(p_t + ηv)
//! ```
//! R̃* is smooth with constant η (Theorem 1), whatever R is, so a row's step with curvature η‖x‖² never overshoots, and
//! it is the step of the l2 penalty with another curvature and another way to w: the sweeps, the orders and the cache
//! are the same. What is kept is u = p + ηv; w is made from it where a row asks. v plays the part of -μ of the paper,
//! maintained row by row and not block by block as in its (15) to (17).
//!
//! One pass per proximal step, as in section 4.3.1. Departures, each of them a field of [`Variant`]: η follows from the
//! curvature of the data, and the centre goes beyond w, `p_{t+1} = w_{t+1} + θ(w_{t+1} - w_t)`, unless that points back
//! uphill (O'Donoghue & Candès 2015, gradient restart).
use crate::engine::Variant;
use crate::engine::certificate::Certificate;
use crate::engine::certificate::proximal::{ProximalScan, Scanned};
use crate::engine::duals::Start;
use crate::engine::problem::link::Link;
use crate::engine::problem::{ProximalSteps, Resume};
use crate::engine::task::Task;
use crate::penalty::{Penalty, ProxMap};
use crate::prefetch::large_zeroed;

mod joint;
mod single;

/// θ: how far the centre goes beyond w, in steps of w.
const EXTRAPOLATION: f64 = 0.5;

/// η grows no further: u = p + ηv would lose the digits of p.
const MOST_ETA: f64 = 1e9;

/// Stands in for sup L'' where a loss has kinks: the best of 0.2, 0.5, 2 and 4 on three of the sets of LIBSVM with the
/// hinge loss.
const CURVATURE_OF_A_KINK: f64 = 0.5;

/// Where only an intercept b is proximal, η is no larger than rows need: a step of b leaves about 1/(1 + ηh) of what is
/// missing, where h, the curvature along b, is the sum of all weights times the part of the rows that are at their kinks.
/// With this many for η times that sum a thousandth of them will do. Without that bound η is 4/c, and sweeps that move
/// b by so much take 10 to 50 times as many visits (ijcnn1, hinge loss, C = 0.001: 1,773 sweeps, with it 28). Nor has it
/// to be less than what the row itself adds to the curvature of its step.
const STIFF: f64 = 1000.0;

/// Weights through a proximal map.
pub struct Proximal<P> {
    penalty: Box<dyn Penalty>,
    lazy: P,
    bias: f64,
    /// Weights that lie side by side for each column.
    width: usize,
    /// sup L''.
    loss_curvature: f64,
    /// Whether the constant feature, the last one, is free of the penalty, with all its weights.
    intercept: bool,
    /// η; infinite where R alone is strongly convex enough, and then u is v.
    eta: f64,
    /// η of an intercept.
    constant_eta: f64,
    /// How smooth R̃* is: R̃ is strongly convex with 1/η and what R has itself.
    smoothness: f64,
    /// Whether the data has been seen, which η depends on.
    seen: bool,
    /// What was asked for: η, its growth, and whether the centre goes beyond w.
    variant: Variant,
    /// Coordinates, the constant feature included.
    length: usize,
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

impl<P: ProxMap> Proximal<P> {
    /// Dense vectors that it holds.
    pub const VECTORS: u64 = 4;

    /// Starts where the task says, with its penalty. `loss_curvature` is sup L''.
    pub fn new(columns: usize, (task, variant): (&Task, &Variant), loss_curvature: f64, lazy: P) -> Self {
        let penalty = Box::new(task.objective.penalty.clone());
        Proximal::with_penalty(penalty, columns, (task, variant), loss_curvature, lazy)
    }

    /// The same with another penalty, whose map `lazy` is.
    pub fn with_penalty(
        penalty: Box<dyn Penalty>,
        columns: usize,
        (task, variant): (&Task, &Variant),
        loss_curvature: f64,
        lazy: P,
    ) -> Self {
        let objective = &task.objective;
        let width = objective.width();
        let length = (columns + 1) * width;
        let (start, known) = match &task.start {
            Some(Start::Left(left, factor)) => (&left.weights, Some((&left.sums, factor))),
            _ => (&task.start_weights, None),
        };
        let mut w: Vec<f64> = large_zeroed(length);
        let given = start.len().min(length);
        w[..given].copy_from_slice(&start[..given]);
        let mut centre = large_zeroed(length);
        let mut u = large_zeroed(length);
        centre.copy_from_slice(&w);
        u.copy_from_slice(&w);
        let direct = penalty.determines_weights();
        let mut link = Proximal {
            lazy,
            bias: objective.bias,
            width,
            loss_curvature,
            intercept: objective.intercept,
            eta: if direct { f64::INFINITY } else { 1.0 },
            constant_eta: 1.0,
            smoothness: 1.0,
            seen: false,
            variant: *variant,
            length,
            u,
            centre,
            w,
            v: large_zeroed(length),
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

    /// How many of the coordinates are under the penalty: all but an intercept.
    fn penalised(&self) -> usize {
        self.u.len() - if self.intercept { self.width } else { 0 }
    }

    fn eta_of(&self, j: usize) -> f64 {
        if j < self.penalised() { self.eta } else { self.constant_eta }
    }

    fn renew(&mut self) {
        let penalised = self.penalised();
        self.smoothness = 1.0 / (1.0 / self.eta + self.penalty.strong_convexity());
        self.lazy.set_eta(self.eta);
        self.lazy.renew(&self.u[..penalised]);
    }

    /// v_j from u_j.
    fn sum_at(&self, j: usize) -> f64 {
        let eta = self.eta_of(j);
        if eta.is_finite() { (self.u[j] - self.centre[j]) / eta } else { self.u[j] }
    }

    /// The same v with another η.
    fn set_etas(&mut self, eta: f64, constant_eta: f64) {
        for j in 0..self.u.len() {
            self.v[j] = self.sum_at(j);
        }
        if self.eta.is_finite() {
            self.eta = eta;
        }
        self.constant_eta = constant_eta;
        for j in 0..self.u.len() {
            self.set_sum(j, self.v[j]);
        }
        self.renew();
    }

    /// u_j from v_j.
    fn set_sum(&mut self, j: usize, v: f64) {
        let eta = self.eta_of(j);
        self.u[j] = if eta.is_finite() { self.centre[j] + eta * v } else { v };
    }

    /// How much R̃* may curve along a row of this squared norm, the constant feature included.
    #[inline(always)]
    fn curvature_along(&self, sq_norm: f64) -> f64 {
        if self.intercept {
            let constant = self.bias * self.bias;
            (sq_norm - constant).max(0.0) * self.smoothness + constant * self.constant_eta
        } else {
            sq_norm * self.smoothness
        }
    }

    /// Whether a scan balances dual variables: an intercept asks for sums of 0, which are known then.
    fn is_balanced(&self) -> bool {
        self.summed && self.intercept && self.is_bounded()
    }

    /// Whether R bounds the dual variables, so that they can be scaled.
    fn is_bounded(&self) -> bool {
        self.penalty.bounds_sums()
    }

    /// The multiples of all dual variables that a scan tries.
    fn scales(&mut self) -> [f64; 2] {
        for j in 0..self.u.len() {
            self.v[j] = self.sum_at(j);
        }
        if self.is_bounded() { self.penalty.dual_scales(&self.v[..self.penalised()]) } else { [1.0; 2] }
    }

    fn scanned(&mut self) -> Scanned<'_> {
        let Proximal { w, v, penalty, bias, intercept, width, .. } = self;
        Scanned { w, v, penalty: &**penalty, bias: *bias, intercept: *intercept, width: *width }
    }

    /// What a scan found, with the sums that it made.
    fn finish(&mut self, scan: ProximalScan) -> Certificate {
        let mut certificate = scan.finish(self.scanned());
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
}

impl<P: ProxMap> Link for Proximal<P> {
    fn weights(&self) -> &[f64] {
        &self.w
    }

    fn into_weights(self) -> Vec<f64> {
        self.w
    }

    fn to_save(&self) -> &[f64] {
        &self.w
    }

    /// η = 2 / mean(c‖x‖² sup L''): about the largest for which one sweep solves a proximal step well enough.
    /// Coordinate ascent on (18) takes about 1 + ηc‖x‖² sup L'' sweeps (Shalev-Shwartz & Zhang 2013, Theorem 2), and a
    /// smaller η only makes the outer loop slower. `rows` are c and ‖x‖² of each.
    fn observe_rows(&mut self, rows: impl ExactSizeIterator<Item = (f64, f64)>) {
        let count = rows.len();
        if self.seen || count == 0 {
            return;
        }
        self.seen = true;
        let constant = if self.intercept { self.bias * self.bias } else { 0.0 };
        let (mut weights, mut weighted_norms) = (0.0, 0.0);
        for (c, sq_norm) in rows {
            weights += c;
            weighted_norms += c * (sq_norm - constant).max(0.0);
        }
        let curvature = if self.loss_curvature.is_finite() { self.loss_curvature } else { CURVATURE_OF_A_KINK };
        let scale = 2.0 * count as f64 / curvature;
        let step = |sum: f64| self.variant.eta.unwrap_or(if sum > 0.0 { scale / sum } else { 1.0 });
        let mut constant_eta = step(weights * self.bias * self.bias);
        if self.eta.is_infinite() && self.variant.eta.is_none() && weights > 0.0 {
            let of_rows = weighted_norms / weights * self.smoothness;
            constant_eta = constant_eta.min(of_rows.max(STIFF / weights) / (self.bias * self.bias));
        }
        self.set_etas(step(weighted_norms), constant_eta);
    }

    fn sums(&mut self) -> Vec<f64> {
        for j in 0..self.u.len() {
            self.v[j] = self.sum_at(j);
        }
        std::mem::take(&mut self.v)
    }
}

impl<P: ProxMap> ProximalSteps for Proximal<P> {
    fn is_proximal(&self) -> bool {
        true
    }

    /// One is enough for a smooth loss (4.3.1). With kinks the dual variables of one sweep are far from those of a
    /// solution, however good w is, and no certificate shows it; more sweeps for every step make up for that, as
    /// inexact proximal steps ask for.
    fn sweeps(&self) -> u32 {
        match self.eta.is_finite() {
            _ if self.loss_curvature.is_finite() => 1,
            true => 10 + self.steps / 4,
            // Only an intercept is proximal.
            false => 2 + self.steps / 4,
        }
    }

    /// The centre moves to w and beyond. Returns how far w has come, as a part of its norm.
    fn advance(&mut self) -> f64 {
        self.steps = self.steps.saturating_add(1);
        // Sums of norms have been updated step by step.
        self.renew();
        let penalised = self.penalised();
        let Proximal { lazy, u, v: new, .. } = self;
        lazy.map(&u[..penalised], &mut new[..penalised]);
        new[penalised..].copy_from_slice(&u[penalised..]);
        let ways = self.centre.iter().zip(&self.v).zip(&self.w);
        let uphill: f64 = ways.map(|((centre, w), before)| (centre - w) * (w - before)).sum();
        let beyond = if uphill > 0.0 || !self.variant.extrapolates { 0.0 } else { EXTRAPOLATION };
        let (mut way, mut norm) = (0.0, 0.0);
        for j in 0..self.u.len() {
            let w = self.v[j];
            way += (w - self.w[j]) * (w - self.w[j]);
            norm += w * w;
            let centre = w + beyond * (w - self.w[j]);
            if self.eta_of(j).is_finite() {
                self.u[j] += centre - self.centre[j];
            }
            self.centre[j] = centre;
            self.w[j] = w;
        }
        let growth = self.variant.eta_growth;
        if growth == 1.0 {
            self.renew();
        } else {
            self.set_etas((self.eta * growth).min(MOST_ETA), (self.constant_eta * growth).min(MOST_ETA));
        }
        if way > 0.0 { (way / norm).sqrt() } else { 0.0 }
    }
}

impl<P: ProxMap> Resume for Proximal<P> {
    /// The sums of one output only: screening of features knows no others.
    fn can_resume(&self) -> bool {
        self.width == 1
    }

    fn sum_of(&self, column: usize) -> f64 {
        self.sum_at(column)
    }

    fn release(&mut self) {
        for vector in [&mut self.u, &mut self.centre, &mut self.w, &mut self.v] {
            *vector = Vec::new();
        }
    }

    fn resume_at(&mut self, columns: &[u32], weights: &[f64], sums: &[f64]) {
        for vector in [&mut self.u, &mut self.centre, &mut self.w, &mut self.v] {
            *vector = large_zeroed(self.length);
        }
        let last = self.length - 1;
        let columns = || columns.iter().map(|&j| j as usize).chain([last]);
        columns().zip(weights).for_each(|(j, &w)| (self.w[j], self.centre[j]) = (w, w));
        for j in 0..self.length {
            self.set_sum(j, 0.0);
        }
        columns().zip(sums).for_each(|(j, &sum)| self.set_sum(j, sum));
        self.summed = false;
        self.renew();
    }
}
