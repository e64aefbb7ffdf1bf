//! One model that is trained by columns, as the trainer sees it.
use super::continuation::Continuation;
use super::copied::Room;
use super::design::Design;
use super::model_loss::{ModelLoss, Target};
use super::newton_model::{Free, Newton, Stepped};
use super::separable_penalty::SeparablePenalty;
use crate::block::{Row, RowInfo};
use crate::engine::{
    Certificate, Certify, DualSums, LaggedObjective, OwnRows, Problem, ProximalScan, ProximalSteps, Resume, Scanned,
    Selection, Start, Task, TrainError, Watch,
};
use crate::loss::Loss;
use crate::objective::Objective;
use crate::order::Order;
use crate::penalty::{Penalty, Structure};
use crate::residents::{self, View};
use crate::solver::{RowState, Sweep};

/// `F(w) = R(w) + Σ c_i L(y_i, w·x_i)` with all rows in memory, by row and by column.
pub struct ByColumns<B: ModelLoss, P> {
    model_loss: B,
    objective: Objective,
    parts: P,
    /// Its rows; their dual variables are those of the last look.
    states: Vec<RowState>,
    newton: Option<Newton<B>>,
    /// Once there were slopes to judge by.
    continuation: Option<Continuation>,
    w: Vec<f64>,
    /// Σ βx of the last look, with the dual variables balanced if there is an intercept.
    v: Vec<f64>,
    /// Whether v is that of w.
    looked: bool,
    /// The largest dual objective that was found: a bound stays one.
    best_dual: f64,
    /// That of the last look.
    last_dual: f64,
    /// That of the last step.
    last_fall: f64,
    scan: ProximalScan,
    /// For copies of columns.
    room: Room,
    watch: Watch,
}

impl<B: ModelLoss + 'static, P: SeparablePenalty + 'static> ByColumns<B, P> {
    /// Starts at the weights that the task names; `parts` makes up its penalty, and `watch` says when the run has to
    /// end.
    pub fn new(model_loss: B, columns: usize, task: &Task, parts: P, (room, watch): (Room, Watch)) -> Self {
        let start = match &task.start {
            Some(Start::Left(left, _)) => &left.weights,
            _ => &task.start_weights,
        };
        let mut w = vec![0.0; columns + 1];
        let given = start.len().min(columns + 1);
        w[..given].copy_from_slice(&start[..given]);
        let objective = task.objective.clone();
        if matches!(objective.penalty.structure(), Structure::Coordinates(terms) if terms.non_negative) {
            let penalised = columns + usize::from(!objective.intercept);
            w[..penalised].iter_mut().for_each(|w| *w = w.max(0.0));
        }
        let (v, scan) = (vec![0.0; columns + 1], ProximalScan::default());
        ByColumns {
            model_loss,
            objective,
            parts,
            states: Vec::new(),
            newton: None,
            continuation: None,
            w,
            v,
            looked: false,
            best_dual: 0.0,
            last_dual: 0.0,
            last_fall: f64::INFINITY,
            scan,
            room,
            watch,
        }
    }

    fn design<'a>(&self, rows: &View<'a>) -> Design<'a> {
        Design::new(rows.columns(), self.objective.bias)
    }

    fn penalised(&self) -> usize {
        self.w.len() - usize::from(self.objective.intercept)
    }

    /// Margins, slopes, dual variables and Σ βx at w.
    fn look(&mut self, rows: &View) -> ProximalScan {
        let design = self.design(rows);
        let states = &self.states;
        let newton = self.newton.get_or_insert_with(|| {
            let mut targets = vec![Target::default(); design.rows()];
            for (i, state) in states.iter().enumerate() {
                targets[rows.number(i)] = Target { y: state.y, c: state.c, beta: state.beta };
            }
            Newton::new(self.model_loss, targets, Some(&self.room))
        });
        newton.look(design, &self.w);
        let mut sums = DualSums::default();
        for (i, state) in self.states.iter_mut().enumerate() {
            let (low, high) = self.model_loss.exact().dual_bounds(state.y, state.c);
            state.beta = (-newton.slopes[rows.number(i)]).clamp(low, high);
            sums.add(state.beta);
        }
        let mut scan = ProximalScan::new(self.objective.intercept.then_some(sums.0));
        newton.h.fill(0.0);
        for (i, state) in self.states.iter().enumerate() {
            newton.h[rows.number(i)] = scan.balanced(state.beta);
        }
        for (j, v) in self.v.iter_mut().enumerate() {
            *v = design.dot(j, &newton.h);
        }
        self.looked = true;
        let penalised = self.penalised();
        scan.set_scales(self.objective.penalty.dual_scales(&self.v[..penalised]));
        scan
    }

    fn finish(&mut self, scan: ProximalScan) -> Certificate {
        let (w, v, Objective { penalty, bias, intercept, .. }) = (&self.w[..], &mut self.v[..], &self.objective);
        let mut certificate = scan.finish(Scanned { w, v, penalty, bias: *bias, intercept: *intercept, width: 1 });
        self.last_dual = certificate.dual_objective;
        self.best_dual = self.best_dual.max(certificate.dual_objective);
        certificate.dual_objective = self.best_dual;
        certificate
    }
}

impl<B: ModelLoss + 'static, P: SeparablePenalty + 'static> Problem for ByColumns<B, P> {
    fn certify(&mut self, rows: View) -> Option<Certificate> {
        let mut scan = self.look(&rows);
        for (i, state) in self.states.iter().enumerate() {
            scan.add_margin(self.model_loss.exact(), state, self.newton.as_ref()?.z[rows.number(i)]);
        }
        let certificate = self.finish(scan);
        if let Some(newton) = &mut self.newton {
            let Newton { model_loss, rows, z, .. } = newton;
            self.looked &= !model_loss.go_on(rows, z, certificate.objective - self.last_dual, self.last_fall);
        }
        Some(certificate)
    }

    fn sweep(&mut self, rows: View, _order: &mut dyn Order) -> Sweep {
        if !std::mem::take(&mut self.looked) {
            self.look(&rows);
            self.looked = false;
        }
        let (design, free) = (self.design(&rows), self.objective.intercept.then(Free::default));
        let Some(newton) = &mut self.newton else { return Sweep::default() };
        let continuation = self.continuation.get_or_insert_with(|| Continuation::new(&self.parts, &self.w, &self.v));
        let parts = continuation.stronger(&self.parts);
        let Stepped { looked_at, fall } = newton.step(design, &parts, &mut self.w, &self.v, (free, &self.watch));
        continuation.stepped(fall);
        self.last_fall = fall;
        // As many row visits as look at this many values, those of the certificate included.
        let all = design.values().max(1) as f64;
        let passes = 1.0 + looked_at as f64 / all;
        Sweep { gain: fall, visits: (passes * self.states.len() as f64).ceil() as u64, ..Sweep::default() }
    }

    fn score(&self, _selection: Selection, _row: Row, _i: usize) -> f64 {
        0.0
    }

    fn weights(&self) -> &[f64] {
        &self.w
    }

    fn to_save(&self) -> &[f64] {
        &self.w
    }

    fn into_weights(self: Box<Self>) -> Vec<f64> {
        self.w
    }

    fn sums(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.v)
    }
}

impl<B: ModelLoss, P: SeparablePenalty> ProximalSteps for ByColumns<B, P> {
    fn is_proximal(&self) -> bool {
        true
    }
}

impl<B: ModelLoss, P: SeparablePenalty> Resume for ByColumns<B, P> {}

impl<B: ModelLoss + 'static, P: SeparablePenalty + 'static> OwnRows for ByColumns<B, P> {
    fn wants(&self, info: &RowInfo) -> bool {
        self.objective.row(info).1 > 0.0
    }

    fn push(&mut self, info: &RowInfo, _further: &[f64], sq_norm: f64, duals: &[f64]) {
        let (y, c) = self.objective.row(info);
        self.states.push(RowState { y, c, sq_norm, beta: duals[0] });
    }

    fn observe_rows(&mut self) {
        self.newton = None;
        self.looked = false;
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
        (self.states, self.newton) = (Vec::new(), None);
    }
}

/// By rows, with the dual variables of the last look: what [`certify`](Problem::certify) finds by columns.
impl<B: ModelLoss + 'static, P: SeparablePenalty + 'static> Certify for ByColumns<B, P> {
    fn begin_scan(&mut self, dual_sums: [f64; 2]) {
        let scales = self.objective.penalty.dual_scales(&self.v[..self.penalised()]);
        self.scan = ProximalScan::new(self.objective.intercept.then_some(dual_sums));
        self.scan.set_scales(scales);
        self.v.fill(0.0);
    }

    fn scan_own(&mut self, row: Row, i: usize) -> f64 {
        let (w, v, Objective { penalty, bias, intercept, .. }) = (&self.w[..], &mut self.v[..], &self.objective);
        let scanned = Scanned { w, v, penalty, bias: *bias, intercept: *intercept, width: 1 };
        self.scan.add(self.model_loss.exact(), row, &self.states[i], scanned);
        0.0
    }

    fn scan(&mut self, row: Row, info: &RowInfo, _further: &[f64], duals: &mut [f64]) {
        let (y, c) = self.objective.row(info);
        let state = RowState { y, c, sq_norm: 0.0, beta: duals[0] };
        let (w, v, Objective { penalty, bias, intercept, .. }) = (&self.w[..], &mut self.v[..], &self.objective);
        self.scan.add(
            self.model_loss.exact(),
            row,
            &state,
            Scanned { w, v, penalty, bias: *bias, intercept: *intercept, width: 1 },
        );
    }

    fn at_zero(&self, info: &RowInfo, _further: &[f64]) -> f64 {
        let (y, c) = self.objective.row(info);
        c * self.model_loss.exact().value(y, 0.0)
    }

    fn end_scan(&mut self) -> Certificate {
        let scan = std::mem::take(&mut self.scan);
        self.finish(scan)
    }
}

impl<B: ModelLoss + 'static, P: SeparablePenalty + 'static> LaggedObjective for ByColumns<B, P> {
    fn remember(&mut self) -> bool {
        false
    }
    fn look_back(&mut self, _row: Row, _info: &RowInfo, _further: &[f64]) {}
    fn looked_back(&mut self) -> Option<f64> {
        None
    }
    fn forget(&mut self) {}
}
