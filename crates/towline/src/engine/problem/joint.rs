//! Several weights per feature, all outputs in one objective: Crammer & Singer's machine (SBM, section 3), softmax,
//! several numbers.
//!
//! A visit to a row moves the dual variables of all its outputs to their best (the sequential dual method, Keerthi et
//! al. 2008). The weights of all outputs lie side by side for each feature: a row reads them in one go.
use std::sync::OnceLock;

use crate::block::{Row, RowInfo};
use crate::budget::Budget;
use crate::engine::certificate::proximal::ProximalScan;
use crate::engine::certificate::{Certificate, Losses};
use crate::engine::problem::balance::{self, Balance};
use crate::engine::problem::joint_rows::{DualRows, JointRows, RowScratch};
use crate::engine::problem::link::{JointLink, add_row, margins_of};
use crate::engine::problem::{Certify, LaggedObjective, Linked, OwnRows, Problem};
use crate::engine::{Selection, TrainError};
use crate::loss::joint::{JointLoss, JointRow};
use crate::objective::{Objective, Targets};
use crate::order::{Order, Visit};
use crate::prefetch::prefetch;
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
    rows: JointRows,
    scan: ProximalScan,
    /// How dual variables are balanced before they are scanned, with an intercept.
    balance: Option<Balance>,
    /// What the rows of each output weigh: found by one scan for the next.
    weights: Vec<f64>,
    /// Losses at the weights with which the pass began.
    look_back: Option<Losses>,
    /// The loss of a row where all margins are 0, if it is the same for all classes.
    of_zero: OnceLock<f64>,
    room: RowScratch,
    /// Pays for dual variables if they are sparse.
    budget: Option<Budget>,
    /// Why a row could not be kept as it should be.
    refused: Option<TrainError>,
}

impl<M: JointLoss, K: JointLink> Joint<M, K> {
    /// No row has been seen. Dual variables of which most are 0 are kept sparse if there is a budget that pays for
    /// them.
    pub fn new(loss: M, link: K, objective: Objective, pays: Option<&Budget>) -> Self {
        let width = objective.width();
        let budget = pays.filter(|_| objective.has_sparse_duals()).cloned();
        let duals = DualRows::new(budget.as_ref());
        Joint {
            loss,
            link,
            objective,
            width,
            rows: JointRows::new(duals),
            scan: ProximalScan::default(),
            balance: None,
            weights: Vec::new(),
            look_back: None,
            of_zero: OnceLock::new(),
            room: RowScratch::new(width),
            budget,
            refused: None,
        }
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
        let target_width = self.target_width();
        let Joint { loss, link, rows: JointRows { states, duals, targets }, room, refused, .. } = self;
        let (c, sq_norm) = states[i];
        let target = &targets[i * target_width..][..target_width];
        let state = JointRow { target, c, curvature: link.curvature(sq_norm) };
        link.margins(row, &mut room.products, &mut room.margins);
        let mut kept = duals.read(i, &mut room.before);
        let mut visit = room.step(*loss, state);
        // What rounding leaves of a row at its best is no step: neither margins nor dual variables move by it. Where
        // rows are tiny, no step moves a margin.
        let moves = room.steps.iter().any(|(_, step)| step.abs() > ROUNDING * c);
        if visit.violation > ROUNDING || moves {
            kept = kept.and_then(|()| duals.write(i, &room.duals));
            if let Err(TrainError::Budget(error)) = kept {
                // Fewer classes need no more memory, and are a step, too.
                refused.get_or_insert(error.into());
                room.leave_out(target[0] as usize);
                visit = Visit { slack: 0.0, ..room.step(*loss, state) };
                kept = duals.write(i, &room.duals);
            }
            match kept {
                Ok(()) => link.add(row, sq_norm, &room.products, &mut room.steps),
                Err(_) => visit = Visit::default(),
            }
        } else {
            (visit.gain, visit.violation) = (0.0, 0.0);
        }
        self.note(kept);
        visit
    }

    /// Remembers the first failure, for whoever asks after the sweep.
    fn note(&mut self, kept: Result<(), TrainError>) {
        if let (Err(error), None) = (kept, &self.refused) {
            self.refused = Some(error);
        }
    }
}

impl<M, K: JointLink> Linked for Joint<M, K> {
    type Link = K;

    fn link(&self) -> &K {
        &self.link
    }

    fn link_mut(&mut self) -> &mut K {
        &mut self.link
    }
}

impl<M: JointLoss, K: JointLink> OwnRows for Joint<M, K> {
    fn width(&self) -> usize {
        self.width
    }

    fn wants(&self, info: &RowInfo) -> bool {
        self.objective.weight(info) > 0.0
    }

    fn push(&mut self, info: &RowInfo, further: &[f64], sq_norm: f64, duals: &[f64]) {
        let JointRows { states, duals: all, targets } = &mut self.rows;
        let first = targets.len();
        let Some(c) = self.objective.goal(info, further, targets) else { return };
        states.push((c, sq_norm + self.objective.bias * self.objective.bias));
        let brought = &mut self.room.duals;
        brought.copy_from_slice(duals);
        self.loss.bring_in(&targets[first..], brought, c);
        let kept = all.push(brought);
        self.note(kept);
    }

    fn observe_rows(&mut self) {
        self.link.observe_rows(self.rows.states.iter().copied());
    }

    fn rows(&self) -> usize {
        self.rows.states.len()
    }

    fn duals(&self, i: usize, out: &mut Vec<f64>) -> Result<(), TrainError> {
        let begin = out.len();
        out.resize(begin + self.width, 0.0);
        self.rows.duals.read(i, &mut out[begin..])
    }

    fn retain(&mut self, keep: &[bool]) {
        let target_width = self.target_width();
        let kept = self.rows.retain(self.width, target_width, keep);
        self.note(kept);
    }

    fn clear(&mut self) {
        self.rows = JointRows::new(DualRows::new(self.budget.as_ref()));
    }

    fn refusal(&mut self) -> Option<TrainError> {
        self.refused.take()
    }
}

impl<M: JointLoss, K: JointLink> Problem for Joint<M, K> {
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
            // Of several dual variables none is the gradient: how far they want to move stands for it.
            let visit = Visit { gradient: if visit.slack > 0.0 { 0.0 } else { visit.violation }, ..visit };
            total.count(&visit);
            order.learn(i, visit);
        }
        total
    }

    /// Rows of which the smallest share of variables is shrunk come first (SBM, section 3); rows in a corner, where all
    /// are, by how far they are from leaving it.
    fn score(&self, selection: Selection, row: Row, i: usize) -> f64 {
        let RowScratch { margins: mut z, mut products, before: mut duals, other: mut room, .. } =
            RowScratch::new(self.width);
        self.link.margins(row, &mut products, &mut z);
        if self.rows.duals.read(i, &mut duals).is_err() {
            return f64::NEG_INFINITY;
        }
        let state = self.row(i);
        let slack = self.loss.slack(state.target, &z, &duals, state.c);
        match selection {
            _ if slack > 0.0 => -slack,
            // Rows as they came: section 3 has one score.
            Selection::FirstScore => 0.0,
            Selection::Gap => self.loss.gap(state.target, &z, &duals, state.c),
            _ => {
                let mut wanted = duals.clone();
                self.loss.dual_step(state, &z, &mut wanted, &mut room);
                // A variable that stays at its bound is one that shrinking leaves out: c for the own class, 0 for the
                // others.
                let own = M::IS_SIMPLEX.then(|| state.target[0] as usize);
                let bound = |m: usize| if own == Some(m) { state.c } else { 0.0 };
                let free = (0..self.width).filter(|&m| duals[m] != bound(m) || wanted[m] != bound(m)).count();
                let moved = wanted.iter().zip(&duals).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) * state.curvature;
                // How far they would move settles ties.
                (free as f64 + moved / (1.0 + moved)) / self.width as f64
            }
        }
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

impl<M: JointLoss, K: JointLink> Joint<M, K> {
    /// Adds a row to the scan, and returns its slack. The dual variables may be balanced on the way.
    fn scan_row(&mut self, row: Row, target: &[f64], c: f64, duals: &[f64]) -> f64 {
        let Joint { loss, link, scan, balance, weights, room, width, .. } = self;
        let RowScratch { margins: z, duals: balanced, other, steps, .. } = room;
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

impl<M: JointLoss, K: JointLink> Certify for Joint<M, K> {
    fn begin_scan(&mut self, _dual_sums: [f64; 2]) {
        self.look_back = None;
        let (scan, sums) = self.link.begin_scan();
        self.scan = scan;
        let weights = std::mem::replace(&mut self.weights, vec![0.0; self.width]);
        // What rows weigh is known from the second scan on.
        self.balance = sums.filter(|_| !weights.is_empty()).and_then(|sums| Balance::new::<M>(&sums, &weights));
    }

    fn scan_own(&mut self, row: Row, i: usize) -> f64 {
        let (mut target, mut duals) = (std::mem::take(&mut self.room.target), std::mem::take(&mut self.room.before));
        target.clear();
        target.extend_from_slice(self.row(i).target);
        let kept = self.rows.duals.read(i, &mut duals);
        self.note(kept);
        let slack = self.scan_row(row, &target, self.rows.states[i].0, &duals);
        (self.room.target, self.room.before) = (target, duals);
        slack
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

    fn at_zero(&self, info: &RowInfo, further: &[f64]) -> f64 {
        let mut target = Vec::with_capacity(self.target_width());
        let c = self.objective.goal(info, further, &mut target).unwrap_or(0.0);
        let value = || self.loss.value(&target, &vec![0.0; self.width]);
        match c > 0.0 {
            // The same for all classes: none has a lead.
            true if M::IS_SIMPLEX => c * self.of_zero.get_or_init(value),
            true => c * value(),
            false => 0.0,
        }
    }

    fn end_scan(&mut self) -> Certificate {
        let scan = std::mem::take(&mut self.scan);
        self.link.end_scan(scan)
    }
}

impl<M: JointLoss, K: JointLink> LaggedObjective for Joint<M, K> {
    fn remember(&mut self) -> bool {
        let remembers = self.link.remember();
        self.look_back = remembers.then(Losses::default);
        remembers
    }

    fn look_back(&mut self, row: Row, info: &RowInfo, further: &[f64]) {
        let Joint { loss, link, objective, look_back: Some(losses), room, .. } = self else { return };
        let RowScratch { margins: z, other, target, .. } = room;
        target.clear();
        let Some(c) = objective.goal(info, further, target) else { return };
        margins_of(row, link.remembered(), objective.bias, z);
        losses.add_each(loss.clearance(target, z), |multiple| {
            other.iter_mut().zip(&*z).for_each(|(scaled, z)| *scaled = multiple * z);
            c * loss.value(target, other)
        });
    }

    fn looked_back(&mut self) -> Option<f64> {
        let losses = self.look_back.take()?;
        Some(losses.best(self.link.remembered()).0)
    }

    fn forget(&mut self) {
        self.look_back = None;
    }

    fn go_back(&mut self) -> bool {
        self.link.go_back()
    }
}
