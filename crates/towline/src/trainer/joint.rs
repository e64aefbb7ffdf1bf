//! One weight per feature and class, all classes in one objective: Crammer & Singer's machine (SBM, section 3) and softmax.
//!
//! A visit to a row moves the dual variables of all its classes to their best (the sequential dual method, Keerthi et al. 2008). The weights of all
//! classes lie side by side for each feature: a row reads them in one go.
use super::Selection;
use super::certificate::{Certificate, MULTIPLES, sq_norm};
use super::problem::{Certify, LookBack, OwnRows, Problem};
use crate::block::{Row, RowInfo};
use crate::loss::classes::{self, ClassLoss, ClassRow};
use crate::nearby::{large_zeroed, prefetch};
use crate::objective::Objective;
use crate::order::{Order, Visit};
use crate::residents::{self, View};
use crate::solver::Sweep;

/// Margins that would move by less than this stay.
const ROUNDING: f64 = 1e-13;

/// `F(W) = ½Σ‖w_m‖² + Σ c_i L(y_i, Wx_i)`.
pub struct Joint<M> {
    loss: M,
    objective: Objective,
    width: usize,
    /// Its resident rows, and their dual variables, one per class.
    rows: Vec<ClassRow>,
    row_duals: Vec<f64>,
    /// The weights of all classes for each column, the constant feature last.
    w: Vec<f64>,
    /// The same, summed anew by a scan, or remembered.
    v: Vec<f64>,
    scan: Scan,
    look_back: Option<[f64; MULTIPLES.len()]>,
    margins: Vec<f64>,
    duals: Vec<f64>,
    room: Vec<f64>,
    steps: Vec<(u32, f64)>,
}

/// What a scan has found so far.
#[derive(Default)]
struct Scan {
    losses: [f64; MULTIPLES.len()],
    dual_values: f64,
    support: u64,
}

impl<M: ClassLoss> Joint<M> {
    /// No row has been seen; `columns` without the constant feature.
    pub fn new(loss: M, columns: usize, objective: Objective) -> Self {
        let width = objective.width();
        let room = || vec![0.0; width];
        Joint {
            loss,
            objective,
            width,
            rows: Vec::new(),
            row_duals: Vec::new(),
            w: large_zeroed((columns + 1) * width),
            v: large_zeroed((columns + 1) * width),
            scan: Scan::default(),
            look_back: None,
            margins: room(),
            duals: room(),
            room: room(),
            steps: Vec::with_capacity(width),
        }
    }
}

/// The margins of all classes.
#[inline]
fn margins(row: Row, w: &[f64], bias: f64, out: &mut [f64]) {
    row.dot_side_by_side(w, out);
    if bias != 0.0 {
        let constant = &w[w.len() - out.len()..];
        out.iter_mut().zip(constant).for_each(|(margin, w)| *margin += bias * w);
    }
}

/// W += the row times a step for each class that is named.
#[inline]
fn add(row: Row, w: &mut [f64], width: usize, bias: f64, steps: &[(u32, f64)]) {
    row.add_side_by_side(w, width, steps);
    if bias != 0.0 {
        let constant = w.len() - width;
        steps.iter().for_each(|&(class, step)| w[constant + class as usize] += bias * step);
    }
}

/// Dual variables that are feasible stay as they are, to the bit; others are brought into the domain.
fn bring_in(class: usize, duals: &mut [f64], c: f64) {
    let sum: f64 = duals.iter().sum();
    let others = duals.iter().enumerate().all(|(m, &beta)| m == class || beta <= 0.0);
    if !others || duals[class] > c || duals[class] < 0.0 || sum.abs() > 1e-12 * c {
        classes::make_feasible(class, duals, c);
    }
}

impl<M: ClassLoss> OwnRows for Joint<M> {
    fn width(&self) -> usize {
        self.width
    }

    fn wants(&self, info: &RowInfo) -> bool {
        self.objective.class(info).is_some_and(|(_, c)| c > 0.0)
    }

    fn push(&mut self, info: &RowInfo, sq_norm: f64, duals: &[f64]) {
        let Some((class, c)) = self.objective.class(info) else { return };
        let sq_norm = sq_norm + self.objective.bias * self.objective.bias;
        self.rows.push(ClassRow { class: class as u32, c, sq_norm });
        let begin = self.row_duals.len();
        self.row_duals.extend_from_slice(duals);
        bring_in(class, &mut self.row_duals[begin..], c);
    }

    fn see(&mut self) {}

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn duals(&self, i: usize) -> &[f64] {
        &self.row_duals[i * self.width..][..self.width]
    }

    fn retain(&mut self, keep: &[bool]) {
        residents::retain(&mut self.rows, keep);
        let width = self.width;
        let mut at = 0;
        self.row_duals.retain(|_| {
            at += 1;
            keep[(at - 1) / width]
        });
    }

    fn clear(&mut self) {
        (self.rows, self.row_duals) = (Vec::new(), Vec::new());
    }
}

impl<M: ClassLoss> Problem for Joint<M> {
    fn is_proximal(&self) -> bool {
        false
    }

    fn sweep(&mut self, view: View, order: &mut dyn Order) -> Sweep {
        let Joint { loss, objective, width, rows, row_duals, w, margins: z, duals, room, steps, .. } = self;
        let (width, bias) = (*width, objective.bias);
        let mut total = Sweep::default();
        let mut coming = order.next();
        while let Some(i) = coming {
            coming = order.next();
            if let Some(next) = coming {
                prefetch(rows, next);
                view.prefetch(next);
            }
            let (row, state) = (view.row(i), rows[i]);
            let current = &mut row_duals[i * width..][..width];
            margins(row, w, bias, z);
            duals.copy_from_slice(current);
            loss.dual_step(state, z, duals, room);
            steps.clear();
            let (mut change, mut largest) = (0.0, 0.0f64);
            for m in 0..width {
                let delta = duals[m] - current[m];
                if delta != 0.0 {
                    steps.push((m as u32, delta));
                    change -= delta * (z[m] + 0.5 * delta * state.sq_norm);
                    largest = largest.max(delta.abs());
                }
            }
            let class = state.class as usize;
            let mut visit = Visit { slack: loss.slack(class, z, duals, state.c), ..Visit::default() };
            // What rounding leaves of a row at its best is no step.
            if largest * state.sq_norm > ROUNDING {
                let values = loss.dual_value(class, duals, state.c) - loss.dual_value(class, current, state.c);
                visit.gain = (values + change).max(0.0);
                visit.violation = largest * state.sq_norm;
                add(row, w, width, bias, steps);
                current.copy_from_slice(duals);
            }
            total.gain += visit.gain;
            total.violation = total.violation.max(visit.violation);
            total.visits += 1;
            order.learn(i, visit);
        }
        total
    }

    /// Rows most of whose variables still move come first, as the paper has it; rows in a corner by how far they are from leaving it.
    fn score(&self, selection: Selection, row: Row, i: usize) -> f64 {
        let (mut z, mut room, mut wanted) = (vec![0.0; self.width], vec![0.0; self.width], self.duals(i).to_vec());
        margins(row, &self.w, self.objective.bias, &mut z);
        let (state, duals) = (self.rows[i], self.duals(i));
        let slack = self.loss.slack(state.class as usize, &z, duals, state.c);
        let gap = || classes::gap(self.loss, state.class as usize, &z, duals, state.c);
        match selection {
            _ if slack > 0.0 => -slack,
            Selection::Gap => gap(),
            _ => {
                self.loss.dual_step(state, &z, &mut wanted, &mut room);
                let free = (0..self.width).filter(|&m| duals[m] != 0.0 || wanted[m] != 0.0).count();
                let moved = wanted.iter().zip(duals).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) * state.sq_norm;
                // How far they would move settles ties.
                (free as f64 + moved / (1.0 + moved)) / self.width as f64
            }
        }
    }

    fn sweeps(&self) -> u32 {
        1
    }

    fn advance(&mut self) {}

    fn weights(&self) -> &[f64] {
        &self.w
    }

    fn to_save(&self) -> &[f64] {
        &[]
    }

    fn into_weights(self: Box<Self>) -> Vec<f64> {
        self.w
    }
}

impl<M: ClassLoss> Joint<M> {
    /// Adds a row to the scan, and returns its slack.
    fn scan_row(&mut self, row: Row, state: ClassRow, duals: &[f64]) -> f64 {
        let (bias, width, class) = (self.objective.bias, self.width, state.class as usize);
        margins(row, &self.w, bias, &mut self.margins);
        self.loss.add_losses(&mut self.scan.losses, state, &self.margins, &mut self.room);
        self.scan.dual_values += self.loss.dual_value(class, duals, state.c);
        self.steps.clear();
        self.steps.extend((0..).zip(duals).filter(|step| *step.1 != 0.0).map(|(m, &beta)| (m, beta)));
        if !self.steps.is_empty() {
            add(row, &mut self.v, width, bias, &self.steps);
            self.scan.support += 1;
        }
        self.loss.slack(class, &self.margins, duals, state.c)
    }
}

impl<M: ClassLoss> Certify for Joint<M> {
    fn begin_scan(&mut self, _dual_sums: [f64; 2]) {
        self.look_back = None;
        self.v.fill(0.0);
        self.scan = Scan::default();
    }

    fn scan_own(&mut self, row: Row, i: usize) -> f64 {
        // The scratch is free between sweeps.
        let mut duals = std::mem::take(&mut self.duals);
        duals.copy_from_slice(&self.row_duals[i * self.width..][..self.width]);
        let slack = self.scan_row(row, self.rows[i], &duals);
        self.duals = duals;
        slack
    }

    fn scan(&mut self, row: Row, info: &RowInfo, duals: &mut [f64]) {
        let Some((class, c)) = self.objective.class(info) else { return };
        bring_in(class, duals, c);
        self.scan_row(row, ClassRow { class: class as u32, c, sq_norm: 0.0 }, duals);
    }

    fn end_scan(&mut self) -> Certificate {
        let (objective, multiple) = best(&self.scan.losses, sq_norm(&self.w));
        let dual_objective = self.scan.dual_values - 0.5 * sq_norm(&self.v);
        std::mem::swap(&mut self.w, &mut self.v);
        Certificate { objective, dual_objective, multiple, support: self.scan.support, radius: None }
    }
}

/// The least objective among the multiples of weights, and which it is.
fn best(losses: &[f64; MULTIPLES.len()], sq_norm: f64) -> (f64, f64) {
    let objectives = losses.iter().zip(MULTIPLES).map(|(&loss, t)| (0.5 * t * t * sq_norm + loss, t));
    objectives.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 1.0))
}

/// Losses at several multiples of the weights.
trait Multiples: ClassLoss {
    fn add_losses(&self, sums: &mut [f64], row: ClassRow, margins: &[f64], room: &mut [f64]) {
        for (sum, multiple) in sums.iter_mut().zip(MULTIPLES) {
            room.iter_mut().zip(margins).for_each(|(scaled, z)| *scaled = multiple * z);
            *sum += row.c * self.value(row.class as usize, room);
        }
    }
}

impl<M: ClassLoss> Multiples for M {}

impl<M: ClassLoss> LookBack for Joint<M> {
    fn remember(&mut self) -> bool {
        self.v.copy_from_slice(&self.w);
        self.look_back = Some([0.0; MULTIPLES.len()]);
        true
    }

    fn look_back(&mut self, row: Row, info: &RowInfo) {
        let (Some(sums), Some((class, c))) = (&mut self.look_back, self.objective.class(info)) else { return };
        margins(row, &self.v, self.objective.bias, &mut self.margins);
        let state = ClassRow { class: class as u32, c, sq_norm: 0.0 };
        self.loss.add_losses(sums, state, &self.margins, &mut self.room);
    }

    fn looked_back(&mut self) -> Option<f64> {
        self.look_back.take().map(|losses| best(&losses, sq_norm(&self.v)).0)
    }

    fn forget(&mut self) {
        self.look_back = None;
    }
}
