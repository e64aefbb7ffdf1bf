//! Several weights per feature, all outputs in one objective: Crammer & Singer's machine (SBM, section 3), softmax, several numbers.
//!
//! A visit to a row moves the dual variables of all its outputs to their best (the sequential dual method, Keerthi et al. 2008). The weights of all
//! outputs lie side by side for each feature: a row reads them in one go.
use super::Selection;
use super::balance::{self, Balance};
use super::certificate::{Certificate, Losses};
use super::joint_rows::{Room, Rows};
use super::problem::{Certify, LookBack, OwnRows, Problem};
use super::proximal_certificate::ProximalScan;
use super::side_by_side::{SideBySide, add_row, margins_of};
use crate::block::{Row, RowInfo};
use crate::loss::joint::{JointLoss, JointRow};
use crate::nearby::prefetch;
use crate::objective::{Objective, Targets};
use crate::order::{Order, Visit};
use crate::residents::View;
use crate::solver::Sweep;

/// Margins that would move by less than this stay.
const ROUNDING: f64 = 1e-13;

/// `F(W) = R(W) + Σ c_i L(y_i, Wᵀx_i)`.
pub struct Joint<M, K> {
    loss: M,
    /// The weights, and how they follow the dual variables.
    link: K,
    objective: Objective,
    width: usize,
    rows: Rows,
    scan: ProximalScan,
    /// How dual variables are balanced before they are scanned, with an intercept.
    balance: Option<Balance>,
    /// What the rows of each output weigh: found by one scan for the next.
    weights: Vec<f64>,
    /// Losses at the weights with which the pass began.
    look_back: Option<Losses>,
    room: Room,
}

impl<M: JointLoss, K: SideBySide> Joint<M, K> {
    /// No row has been seen.
    pub fn new(loss: M, link: K, objective: Objective) -> Self {
        let width = objective.width();
        Joint {
            loss,
            link,
            objective,
            width,
            rows: Rows::default(),
            scan: ProximalScan::default(),
            balance: None,
            weights: Vec::new(),
            look_back: None,
            room: Room::new(width),
        }
    }

    /// The weights.
    pub fn link(&self) -> &K {
        &self.link
    }

    /// The weights, to change them from outside.
    pub fn link_mut(&mut self) -> &mut K {
        &mut self.link
    }

    /// Labels mean something else from now on; there are as many outputs as before.
    pub fn set_targets(&mut self, targets: Targets) {
        self.objective.targets = targets;
    }

    fn target_width(&self) -> usize {
        self.loss.target_width(self.width)
    }

    /// The row as a step sees it.
    fn row(&self, i: usize) -> JointRow<'_> {
        let (c, sq_norm) = self.rows.states[i];
        let target = self.rows.target(i, self.target_width());
        JointRow { target, c, curvature: self.link.curvature(sq_norm) }
    }

    /// Moves the dual variables of a row to their best.
    fn visit(&mut self, row: Row, i: usize) -> Visit {
        let mut room = std::mem::replace(&mut self.room, Room::new(0));
        let Room { margins: z, products, duals, other, steps, .. } = &mut room;
        self.link.margins(row, products, z);
        let state = self.row(i);
        let current = &self.rows.duals[i * self.width..][..self.width];
        duals.copy_from_slice(current);
        self.loss.dual_step(state, z, duals, other);
        steps.clear();
        let (mut change, mut largest) = (0.0, 0.0f64);
        for m in 0..self.width {
            let delta = duals[m] - current[m];
            if delta != 0.0 {
                steps.push((m as u32, delta));
                change -= delta * (z[m] + 0.5 * delta * state.curvature);
                largest = largest.max(delta.abs());
            }
        }
        let mut visit = Visit { slack: self.loss.slack(state.target, z, duals, state.c), ..Visit::default() };
        // What rounding leaves of a row at its best is no step.
        if largest * state.curvature > ROUNDING {
            let value = |duals: &[f64]| self.loss.dual_value(state.target, duals, state.c);
            visit.gain = (value(duals) - value(current) + change).max(0.0);
            visit.violation = largest * state.curvature;
            self.link.add(row, self.rows.states[i].1, products, steps);
            self.rows.duals[i * self.width..][..self.width].copy_from_slice(duals);
        }
        self.room = room;
        visit
    }
}

impl<M: JointLoss, K: SideBySide> OwnRows for Joint<M, K> {
    fn width(&self) -> usize {
        self.width
    }

    fn wants(&self, info: &RowInfo) -> bool {
        self.objective.weight(info) > 0.0
    }

    fn push(&mut self, info: &RowInfo, further: &[f64], sq_norm: f64, duals: &[f64]) {
        let Rows { states, duals: all, targets } = &mut self.rows;
        let (begin, first) = (all.len(), targets.len());
        let Some(c) = self.objective.goal(info, further, targets) else { return };
        states.push((c, sq_norm + self.objective.bias * self.objective.bias));
        all.extend_from_slice(duals);
        self.loss.bring_in(&targets[first..], &mut all[begin..], c);
    }

    fn see(&mut self) {
        self.link.see(self.rows.states.iter().copied());
    }

    fn rows(&self) -> usize {
        self.rows.states.len()
    }

    fn duals(&self, i: usize) -> &[f64] {
        &self.rows.duals[i * self.width..][..self.width]
    }

    fn retain(&mut self, keep: &[bool]) {
        let target_width = self.target_width();
        self.rows.retain(self.width, target_width, keep);
    }

    fn clear(&mut self) {
        self.rows = Rows::default();
    }
}

impl<M: JointLoss, K: SideBySide> Problem for Joint<M, K> {
    fn is_proximal(&self) -> bool {
        K::IS_PROXIMAL
    }

    fn sweep(&mut self, view: View, order: &mut dyn Order) -> Sweep {
        let mut total = Sweep::default();
        let mut coming = order.next();
        while let Some(i) = coming {
            coming = order.next();
            if let Some(next) = coming {
                prefetch(&self.rows.states, next);
                view.prefetch(next);
            }
            let visit = self.visit(view.row(i), i);
            total.gain += visit.gain;
            total.violation = total.violation.max(visit.violation);
            total.visits += 1;
            order.learn(i, visit);
        }
        total
    }

    /// Rows most of whose variables still move come first, as the paper has it; rows in a corner by how far they are from leaving it.
    fn score(&self, selection: Selection, row: Row, i: usize) -> f64 {
        let Room { margins: mut z, mut products, other: mut room, .. } = Room::new(self.width);
        self.link.margins(row, &mut products, &mut z);
        let (state, duals) = (self.row(i), self.duals(i));
        let slack = self.loss.slack(state.target, &z, duals, state.c);
        match selection {
            _ if slack > 0.0 => -slack,
            Selection::Gap => self.loss.gap(state.target, &z, duals, state.c),
            _ => {
                let mut wanted = duals.to_vec();
                self.loss.dual_step(state, &z, &mut wanted, &mut room);
                let free = (0..self.width).filter(|&m| duals[m] != 0.0 || wanted[m] != 0.0).count();
                let moved = wanted.iter().zip(duals).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) * state.curvature;
                // How far they would move settles ties.
                (free as f64 + moved / (1.0 + moved)) / self.width as f64
            }
        }
    }

    fn sweeps(&self) -> u32 {
        self.link.sweeps()
    }

    fn advance(&mut self) {
        self.link.advance();
    }

    fn weights(&self) -> &[f64] {
        self.link.weights()
    }

    fn to_save(&self) -> &[f64] {
        self.link.to_save()
    }

    fn sums(&mut self) -> Vec<f64> {
        self.link.sums()
    }

    fn into_weights(self: Box<Self>) -> Vec<f64> {
        self.link.into_weights()
    }
}

impl<M: JointLoss, K: SideBySide> Joint<M, K> {
    /// Adds a row to the scan, and returns its slack. The dual variables may be balanced on the way.
    fn scan_row(&mut self, row: Row, target: &[f64], c: f64, duals: &[f64]) -> f64 {
        let Joint { loss, link, scan, balance, weights, room, width, .. } = self;
        let Room { margins: z, duals: balanced, other, steps, .. } = room;
        let scanned = link.scanned();
        margins_of(row, scanned.w, scanned.bias, z);
        balanced.copy_from_slice(duals);
        if let Some(balance) = balance {
            balance.apply::<M>(target, c, balanced);
        }
        balance::weigh::<M>(target, c, weights);
        scan.add_joint(*loss, JointRow { target, c, curvature: 0.0 }, z, balanced, other);
        steps.clear();
        steps.extend((0..).zip(&*balanced).filter(|step| *step.1 != 0.0).map(|(m, &beta)| (m, beta)));
        add_row(row, scanned.v, *width, scanned.bias, steps);
        loss.slack(target, z, duals, c)
    }
}

impl<M: JointLoss, K: SideBySide> Certify for Joint<M, K> {
    fn begin_scan(&mut self, _dual_sums: [f64; 2]) {
        self.look_back = None;
        let (scan, sums) = self.link.begin_scan();
        self.scan = scan;
        let weights = std::mem::replace(&mut self.weights, vec![0.0; self.width]);
        // What rows weigh is known from the second scan on.
        self.balance = sums.filter(|_| !weights.is_empty()).and_then(|sums| Balance::new::<M>(&sums, &weights));
    }

    fn scan_own(&mut self, row: Row, i: usize) -> f64 {
        let (target, duals) = (self.row(i).target.to_vec(), self.duals(i).to_vec());
        self.scan_row(row, &target, self.rows.states[i].0, &duals)
    }

    fn scan(&mut self, row: Row, info: &RowInfo, further: &[f64], duals: &mut [f64]) {
        let mut target = std::mem::take(&mut self.room.target);
        target.clear();
        if let Some(c) = self.objective.goal(info, further, &mut target) {
            self.loss.bring_in(&target, duals, c);
            self.scan_row(row, &target, c, duals);
        }
        self.room.target = target;
    }

    fn end_scan(&mut self) -> Certificate {
        let scan = std::mem::take(&mut self.scan);
        self.link.end_scan(scan)
    }
}

impl<M: JointLoss, K: SideBySide> LookBack for Joint<M, K> {
    fn remember(&mut self) -> bool {
        let remembers = self.link.remember();
        self.look_back = remembers.then(Losses::default);
        remembers
    }

    fn look_back(&mut self, row: Row, info: &RowInfo, further: &[f64]) {
        let Joint { loss, link, objective, look_back: Some(losses), room, .. } = self else { return };
        let Room { margins: z, other, target, .. } = room;
        target.clear();
        let Some(c) = objective.goal(info, further, target) else { return };
        let remembered = link.scanned();
        margins_of(row, remembered.v, remembered.bias, z);
        losses.add_each(|multiple| {
            other.iter_mut().zip(&*z).for_each(|(scaled, z)| *scaled = multiple * z);
            c * loss.value(target, other)
        });
    }

    fn looked_back(&mut self) -> Option<f64> {
        let losses = self.look_back.take()?;
        Some(losses.best(self.link.scanned().v).0)
    }

    fn forget(&mut self) {
        self.look_back = None;
    }
}
