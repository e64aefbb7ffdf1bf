//! What a run of one model tells others: steps, certificates, limits, and what comes of it in the end.
use std::time::Instant;

use super::rows::TaskRows;
use crate::block::Row;
use crate::loss::Loss;
use crate::newton::Rows;
use crate::solver::RowState;
use crate::trainer::{
    Certificate, Cost, DualSums, Duals, Limits, Observer, ProximalScan, Scanned, Solver, Status, Step, Task,
    TrainError, Trained, WeightsNow,
};

/// One model in training.
pub struct Session<'a> {
    /// What it is trained for.
    pub task: &'a Task,
    solver: Solver,
    /// When to stop.
    pub limits: &'a Limits<'a>,
    observer: &'a mut dyn Observer,
    begin: Instant,
    /// Iterations over all rows.
    pub scans: u64,
    /// Seconds spent on certificates.
    certify_seconds: f64,
    /// The best weights that a certificate knows, and that certificate.
    best: Option<(Certificate, Vec<f64>)>,
    /// The largest dual objective that was found: a bound stays one.
    dual_objective: f64,
    /// Weights that are better than those, as far as a solver can tell, and wait for a certificate.
    pub latest: Option<Vec<f64>>,
}

impl<'a> Session<'a> {
    /// Nothing has been found yet.
    pub fn new(task: &'a Task, solver: Solver, limits: &'a Limits<'a>, observer: &'a mut dyn Observer) -> Self {
        Session {
            task,
            solver,
            limits,
            observer,
            begin: Instant::now(),
            scans: 0,
            certify_seconds: 0.0,
            best: None,
            dual_objective: f64::NEG_INFINITY,
            latest: None,
        }
    }

    /// Why the run has to end now, whatever it has reached.
    pub fn reason_to_stop(&self) -> Option<Status> {
        self.limits.reason_to_stop(self.scans)
    }

    /// What waits for a certificate may have one although the run has to end.
    pub fn let_end(&self, rows: &mut TaskRows) {
        if self.reason_to_stop().is_some() {
            rows.begin_end();
        }
    }

    /// The run was broken off. Certifies what is left of it if there is time for that; else the last certificate has to do, or that of no weights at all.
    pub fn end_early(&mut self, rows: &mut TaskRows, status: Status) -> Result<Trained, TrainError> {
        let shape = rows.store_rows().store().shape();
        let (loss, bias) = (self.task.objective.loss, self.task.objective.bias);
        rows.begin_end();
        let mut duals = vec![0.0; shape.rows as usize];
        if let Some(w) = self.latest.take() {
            let certified = slopes(loss, rows, &w, bias, &mut duals)
                .and_then(|()| self.certify(loss, rows, &w, &mut duals, |_, _, _| {}));
            match certified {
                Ok(ended) => return self.finish(rows, duals, ended.unwrap_or(status)),
                Err(TrainError::Stopped(_)) => duals.fill(0.0),
                Err(error) => return Err(error),
            }
        }
        if self.best.is_none() {
            let Some(targets) = rows.targets() else { return Err(TrainError::Stopped(status)) };
            let objective = targets.map(|(y, c)| c * loss.value(y, 0.0)).sum();
            let of_zero = Certificate { objective, dual_objective: 0.0, multiple: 0.0, support: 0, radius: None };
            self.note(rows, &vec![0.0; shape.columns as usize + 1], of_zero);
        }
        self.finish(rows, duals, status)
    }

    /// Certifies `w` with the dual variables `duals`, by position, which are brought within their bounds and balanced if there is an intercept. `each` is
    /// called with row, target and margin. Returns how the run ended, if it did.
    pub fn certify<L: Loss>(
        &mut self,
        loss: L,
        rows: &mut TaskRows,
        w: &[f64],
        duals: &mut [f64],
        mut each: impl FnMut(Row, f64, f64),
    ) -> Result<Option<Status>, TrainError> {
        let begin = Instant::now();
        let objective = &self.task.objective;
        if objective.intercept {
            let mut sums = DualSums::default();
            duals.iter().for_each(|&beta| sums.add(beta));
            let multiples = crate::trainer::balance(sums.0);
            duals.iter_mut().for_each(|beta| *beta *= multiples[usize::from(*beta > 0.0)]);
        }
        let mut scan = ProximalScan::new(None);
        let (mut v, mut count) = (vec![0.0; w.len()], 0u64);
        let (penalty, bias, intercept) = (&objective.penalty, objective.bias, objective.intercept);
        rows.scan_positions(|position, _, row, y, c| {
            let (low, high) = loss.dual_bounds(y, c);
            let beta = &mut duals[position as usize];
            *beta = beta.clamp(low, high);
            let state = RowState { y, c, sq_norm: 0.0, beta: *beta };
            let z = scan.add(loss, row, &state, Scanned { w, v: &mut v, penalty, bias, intercept, width: 1 });
            each(row, y, z);
            count += 1;
        })?;
        if count == 0 {
            return Err(TrainError::NoWeight);
        }
        let certificate = scan.finish(Scanned { w, v: &mut v, penalty, bias, intercept, width: 1 });
        self.scans += 1;
        self.certify_seconds += begin.elapsed().as_secs_f64();
        Ok(self.note(rows, w, certificate))
    }

    /// Takes a certificate of `w`. Returns how the run ended, if it did.
    pub fn note(&mut self, rows: &TaskRows, w: &[f64], certificate: Certificate) -> Option<Status> {
        self.dual_objective = self.dual_objective.max(certificate.dual_objective);
        let certificate = Certificate { dual_objective: self.dual_objective, ..certificate };
        let is_better = self.best.as_ref().is_none_or(|(best, _)| certificate.objective < best.objective);
        if is_better {
            let weights = w.iter().map(|w| w * certificate.multiple).collect();
            self.best = Some((Certificate { multiple: 1.0, ..certificate }, weights));
        }
        let cost = self.cost(rows);
        let (best, weights) = self.best.as_mut()?;
        best.dual_objective = self.dual_objective;
        let step =
            Step { cost, dual_objective: Some(self.dual_objective), gap_estimate: None, certificate: Some(*best) };
        self.observer.step(&step, &WeightsNow { models: &[weights] });
        match self.limits.reason_to_stop(self.scans) {
            _ if best.relative_gap() <= self.limits.options().tolerance => Some(Status::Converged),
            stop => stop,
        }
    }

    /// F at the best weights.
    pub fn objective(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |(best, _)| best.objective)
    }

    /// The relative gap so far.
    pub fn relative_gap(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |(best, _)| best.relative_gap())
    }

    fn cost(&self, rows: &TaskRows) -> Cost {
        let read = rows.store_rows().cost;
        Cost {
            sweeps: self.scans,
            visits: self.scans * rows.store_rows().store().shape().rows,
            seconds: self.limits.seconds(),
            solve_seconds: self.begin.elapsed().as_secs_f64() - self.certify_seconds,
            certify_seconds: self.certify_seconds,
            ..read
        }
    }

    /// What has come of it; `duals` are by position.
    pub fn finish(&mut self, rows: &TaskRows, duals: Vec<f64>, status: Status) -> Result<Trained, TrainError> {
        let cost = self.cost(rows);
        let Some((certificate, weights)) = self.best.take() else { return Err(TrainError::NoWeight) };
        let duals = Duals::Memory(duals);
        if let Some(file) = &self.task.checkpoint {
            file.save(&self.task.objective, cost, &duals, &weights)?;
        }
        let (sums, solver, baseline) = (Vec::new(), self.solver, None);
        Ok(Trained { weights, duals, sums, status, certificate, cost, solver, baseline })
    }

    /// What has come of a run that has gone over the rows before, for other models as well: weights and Σ βx.
    pub fn finish_at(
        self,
        read: Cost,
        (weights, sums): (Vec<f64>, Vec<f64>),
        certificate: Certificate,
    ) -> Result<Trained, TrainError> {
        let seconds = self.limits.seconds();
        let cost = Cost { sweeps: 1, seconds, solve_seconds: (seconds - read.read_seconds).max(0.0), ..read };
        let (dual_objective, certified) = (Some(certificate.dual_objective), Some(certificate));
        let step = Step { cost, dual_objective, gap_estimate: None, certificate: certified };
        self.observer.step(&step, &WeightsNow { models: &[&weights] });
        let status = match certificate.relative_gap() <= self.limits.options().tolerance {
            true => Status::Converged,
            false => self.limits.look().unwrap_or(Status::OutOfPasses),
        };
        let (duals, solver, baseline) = (Duals::in_memory(0), self.solver, None);
        Ok(Trained { weights, duals, sums, status, certificate, cost, solver, baseline })
    }
}

/// β = -cL' at w, by position.
pub fn slopes<L: Loss>(
    loss: L,
    rows: &mut TaskRows,
    w: &[f64],
    bias: f64,
    duals: &mut [f64],
) -> Result<(), TrainError> {
    let last = w.len() - 1;
    rows.scan_positions(|position, _, row, y, c| {
        let (low, high) = loss.dual_bounds(y, c);
        let z = row.dot(w) + bias * w[last];
        duals[position as usize] = (-c * loss.slope(y, z)).clamp(low, high);
    })
}
