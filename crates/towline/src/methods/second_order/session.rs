//! What a run of one model tells others: steps, certificates, limits, and what comes of it in the end.
use super::rows::{Seen, StoreRows, TaskRows};
use super::scanning::Rows;
use super::several_outputs;
use crate::block::Row;
use crate::engine::{
    Balance, Certificate, Cost, DualSums, Duals, Limits, Observer, ProximalScan, Saving, Scanned, Solver, Standing,
    Status, Task, TrainError, Trained, add_row, margins_of, weigh,
};
use crate::loss::Loss;
use crate::loss::joint::{JointLoss, JointRow};
use crate::penalty::Penalty;
use crate::solver::RowState;

/// What a solver knows of the weights that an iteration has led to.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// F there, if it is that of all rows.
    pub objective: Option<f64>,
    /// About how large the relative gap is.
    pub gap: f64,
}

impl Estimate {
    /// Nothing.
    pub const NONE: Estimate = Estimate { objective: None, gap: f64::NAN };

    /// The gap alone: of weights whose objective is another one, such as that of a sample.
    pub fn of_gap(gap: f64) -> Estimate {
        Estimate { objective: None, gap }
    }
}

/// One model in training.
pub struct Session<'a> {
    /// What it is trained for.
    pub task: &'a Task,
    solver: Solver,
    /// When to stop.
    pub limits: &'a Limits<'a>,
    observer: &'a mut dyn Observer,
    /// Seconds of the run before this model.
    begin: f64,
    /// Iterations over all rows.
    pub scans: u64,
    /// Those that the observer was told of and that are not among the scans yet; one over a part of the rows counts as
    /// that part.
    since: f64,
    /// What reading had cost when that was looked at last, and the rows and weights of a model.
    read: Cost,
    rows: u64,
    size: usize,
    /// Seconds spent on certificates.
    certify_seconds: f64,
    /// The best weights that a certificate knows, and that certificate.
    best: Option<(Certificate, Vec<f64>)>,
    /// The largest dual objective that was found: a bound stays one.
    dual_objective: f64,
    /// Weights that are better than those, as far as a solver can tell, and wait for a certificate.
    latest: Option<Vec<f64>>,
    /// Their objective, where that is known.
    latest_objective: Option<f64>,
    saving: Saving<'a>,
}

impl<'a> Session<'a> {
    /// Nothing has been found yet.
    pub fn new(
        task: &'a Task,
        solver: Solver,
        rows: &StoreRows,
        limits: &'a Limits<'a>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let shape = rows.store().shape();
        Session {
            task,
            solver,
            limits,
            observer,
            begin: limits.seconds(),
            scans: 0,
            since: 0.0,
            read: rows.cost,
            rows: shape.rows,
            size: task.objective.width() * (shape.columns as usize + 1),
            certify_seconds: 0.0,
            best: None,
            dual_objective: f64::NEG_INFINITY,
            latest: None,
            latest_objective: None,
            saving: Saving::of(task),
        }
    }

    /// Why the run has to end now, whatever it has reached.
    pub fn reason_to_stop(&self) -> Option<Status> {
        self.limits.reason_to_stop(self.scans)
    }

    /// Keeps weights to be certified if the run is broken off.
    pub fn keep(&mut self, w: &[f64]) {
        let latest = self.latest.get_or_insert_default();
        latest.clear();
        latest.extend_from_slice(w);
        self.latest_objective = None;
    }

    /// Saves weights from which a run that is killed can go on. What fails now is tried again at the end, and told of
    /// there.
    fn save_at_times(&mut self, w: &[f64]) {
        if self.saving.is_due() {
            let no_duals = Duals::in_memory(self.rows * self.task.objective.width() as u64);
            let _ = self.saving.save(self.cost_after(self.scans), &no_duals, w);
        }
    }

    /// The run was broken off. Certifies what is left of it if there is time for that; else the last certificate has to
    /// do, or that of no weights at all.
    pub fn end_early(&mut self, rows: &mut TaskRows, status: Status) -> Result<Trained, TrainError> {
        let width = self.task.objective.width();
        let mut duals = vec![0.0; self.rows as usize * width];
        rows.begin_end();
        if let Some(w) = self.latest.take() {
            match self.certify_latest(rows, &w, &mut duals) {
                Ok(ended) => return self.finish(rows, duals, ended.unwrap_or(status)),
                Err(TrainError::Stopped(_)) => duals.fill(0.0),
                Err(error) => return Err(error),
            }
        }
        if self.best.is_none() {
            let Some(targets) = rows.targets() else { return Err(TrainError::Stopped(status)) };
            let loss = self.task.objective.loss;
            let objective = match width {
                1 => targets.map(|(y, c)| c * loss.value(y, 0.0)).sum(),
                _ => crate::engine::loss_at_zero(&self.task.objective) * targets.map(|(_, c)| c).sum::<f64>(),
            };
            let of_zero =
                Certificate { objective, dual_objective: 0.0, multiple: 0.0, support: 0, ..Certificate::default() };
            self.note(rows, &vec![0.0; self.size], of_zero);
        }
        self.finish(rows, duals, status)
    }

    /// Certifies weights of which nothing else is known.
    fn certify_latest(
        &mut self,
        rows: &mut TaskRows,
        w: &[f64],
        duals: &mut [f64],
    ) -> Result<Option<Status>, TrainError> {
        if self.task.objective.width() > 1 {
            return several_outputs::certify(rows, w, duals, self);
        }
        let (loss, bias, last) = (self.task.objective.loss, self.task.objective.bias, w.len() - 1);
        rows.scan_positions(|position, _, row, y, c| {
            let (low, high) = loss.dual_bounds(y, c);
            let z = row.dot(w) + bias * w[last];
            duals[position as usize] = (-c * loss.slope(y, z)).clamp(low, high);
        })?;
        self.certify(loss, rows, w, duals, |_, _| {})
    }

    /// Counts scans of iterations that the observer was told of.
    pub fn count(&mut self, scans: u64) {
        self.scans += scans;
        self.since = 0.0;
    }

    /// Tells the observer of an iteration over this part of all rows that led to `w`, if weights are of columns, and
    /// what is known of them. True if the run has to end.
    pub fn iterated(&mut self, part: f64, w: Option<&[f64]>, known: Estimate) -> bool {
        self.since += part;
        if let Some(w) = w {
            self.keep(w);
            self.latest_objective = known.objective;
            self.save_at_times(w);
        }
        let scans = self.scans + self.since as u64;
        let cost = self.cost_after(scans);
        let nothing;
        let weights = match (w, &self.best) {
            (Some(w), _) => w,
            (None, Some((_, best))) => best,
            (None, None) => {
                nothing = vec![0.0; self.size];
                &nothing
            }
        };
        let standing = Standing {
            dual_objective: self.dual_objective.is_finite().then_some(self.dual_objective),
            objective: self.objective(),
            violation: None,
            gap_estimate: known.gap.is_finite().then(|| known.gap.clamp(0.0, 1.0)),
            certificate: self.best.as_ref().map(|(certificate, _)| *certificate),
        };
        standing.tell(self.observer, cost, &[weights]);
        self.limits.reason_to_stop(scans).is_some()
    }

    /// Certifies `w` with the dual variables `duals`, by position, which are brought within their bounds and balanced
    /// if there is an intercept. `each` is called with each row and its dual variable, which it may replace for another
    /// time. Returns how the run ended, if it did.
    pub fn certify<L: Loss>(
        &mut self,
        loss: L,
        rows: &mut TaskRows,
        w: &[f64],
        duals: &mut [f64],
        mut each: impl FnMut(Seen, &mut f64),
    ) -> Result<Option<Status>, TrainError> {
        let begin = self.limits.seconds();
        let objective = &self.task.objective;
        if objective.intercept {
            let mut sums = DualSums::default();
            duals.iter().for_each(|&beta| sums.add(beta));
            let multiples = crate::engine::balance(sums.0);
            duals.iter_mut().for_each(|beta| *beta *= multiples[usize::from(*beta > 0.0)]);
        }
        let mut scan = ProximalScan::new(None);
        let (mut v, mut count) = (vec![0.0; w.len()], 0u64);
        let (penalty, bias, intercept) = (&objective.penalty, objective.bias, objective.intercept);
        rows.scan_rows(|position, _, block, i, y, c| {
            let (low, high) = loss.dual_bounds(y, c);
            let beta = &mut duals[position as usize];
            *beta = beta.clamp(low, high);
            let state = RowState { y, c, sq_norm: 0.0, beta: *beta };
            let of_scan = Scanned { w, v: &mut v, penalty, bias, intercept, width: 1 };
            let z = scan.add(loss, block.row(i), &state, of_scan);
            each(Seen { position, block, i, y, c, z }, beta);
            count += 1;
        })?;
        if count == 0 {
            return Err(TrainError::NoWeight);
        }
        let certificate = scan.finish(Scanned { w, v: &mut v, penalty, bias, intercept, width: 1 });
        self.scans += 1;
        self.since = 0.0;
        self.certify_seconds += self.limits.seconds() - begin;
        Ok(self.note(rows, w, certificate))
    }

    /// Certifies `w` with its slopes as dual variables, which are left in `duals`, by one scan. What is known of them
    /// from the last one: the sums of those below and above 0, and about what Σ βx is.
    pub fn certify_slopes<L: Loss>(
        &mut self,
        loss: L,
        rows: &mut TaskRows,
        w: &[f64],
        duals: &mut [f64],
        (dual_sums, sums): ([f64; 2], &[f64]),
    ) -> Result<Option<Status>, TrainError> {
        let begin = self.limits.seconds();
        let (objective, last) = (&self.task.objective, w.len() - 1);
        let (penalty, bias, intercept) = (&objective.penalty, objective.bias, objective.intercept);
        let mut scan = ProximalScan::new(intercept.then_some(dual_sums));
        // Where the penalty binds Σ βx, multiples of the dual variables that are feasible are what counts. Without a
        // penalty there are none.
        if penalty.bounds_sums() {
            scan.set_scales(penalty.dual_scales(&sums[..w.len() - usize::from(intercept)]));
        }
        let (mut v, mut count) = (vec![0.0; w.len()], 0u64);
        rows.scan_positions(|position, _, row, y, c| {
            let z = row.dot(w) + bias * w[last];
            let (low, high) = loss.dual_bounds(y, c);
            let state = RowState { y, c, sq_norm: 0.0, beta: (-c * loss.slope(y, z)).clamp(low, high) };
            let beta = scan.add_margin(loss, &state, z);
            duals[position as usize] = beta;
            row.add_to(&mut v, beta);
            v[last] += beta * bias;
            count += 1;
        })?;
        if count == 0 {
            return Err(TrainError::NoWeight);
        }
        let certificate = scan.finish(Scanned { w, v: &mut v, penalty, bias, intercept, width: 1 });
        self.scans += 1;
        self.certify_seconds += self.limits.seconds() - begin;
        Ok(self.note(rows, w, certificate))
    }

    /// The same for a model of several outputs, whose weights and dual variables lie side by side for each column and
    /// row. `find` is called first, with number, values, target and weight of each row, to find its dual variables.
    pub fn certify_joint<M: JointLoss>(
        &mut self,
        loss: M,
        rows: &mut TaskRows,
        w: &[f64],
        duals: &mut [f64],
        mut find: impl FnMut(usize, Row, (f64, f64), &mut [f64]),
    ) -> Result<Option<Status>, TrainError> {
        let begin = self.limits.seconds();
        let objective = &self.task.objective;
        let (penalty, bias, intercept, width) =
            (&objective.penalty, objective.bias, objective.intercept, objective.width());
        let (mut sums, mut weights) = (vec![0.0; width], vec![0.0; width]);
        rows.scan_positions(|position, number, row, y, c| {
            let betas = &mut duals[position as usize * width..][..width];
            find(number, row, (y, c), betas);
            loss.bring_in(&[y], betas, c);
            sums.iter_mut().zip(betas).for_each(|(sum, beta)| *sum += *beta);
            weigh::<M>(&[y], c, &mut weights);
        })?;
        if weights.iter().all(|weight| *weight == 0.0) {
            return Err(TrainError::NoWeight);
        }
        // A class that no row has cannot be balanced: what rows have of it goes to their own class.
        let absent: Vec<usize> = (0..width).filter(|&k| weights[k] == 0.0 && sums[k] != 0.0).collect();
        if M::IS_SIMPLEX && intercept && !absent.is_empty() {
            sums.fill(0.0);
            rows.scan_positions(|position, _, _, y, _| {
                let betas = &mut duals[position as usize * width..][..width];
                for &k in &absent {
                    let moved = std::mem::take(&mut betas[k]);
                    betas[y as usize] += moved;
                }
                sums.iter_mut().zip(betas).for_each(|(sum, beta)| *sum += *beta);
            })?;
        }
        let balance = if intercept { Balance::new::<M>(&sums, &weights) } else { None };
        let mut scan = ProximalScan::new(None);
        let mut v = vec![0.0; w.len()];
        let (mut margins, mut room, mut steps) = (vec![0.0; width], vec![0.0; width], Vec::with_capacity(width));
        rows.scan_positions(|position, _, row, y, c| {
            let betas = &mut duals[position as usize * width..][..width];
            if let Some(balance) = &balance {
                balance.apply::<M>(&[y], c, betas);
            }
            margins_of(row, w, bias, &mut margins);
            scan.add_joint(loss, JointRow { target: &[y], c, curvature: 0.0 }, &margins, betas, &mut room);
            steps.clear();
            steps.extend((0..).zip(betas.iter().copied()).filter(|step| step.1 != 0.0));
            add_row(row, &mut v, width, bias, &steps);
        })?;
        let certificate = scan.finish(Scanned { w, v: &mut v, penalty, bias, intercept, width });
        self.scans += 1;
        self.certify_seconds += self.limits.seconds() - begin;
        Ok(self.note(rows, w, certificate))
    }

    /// Takes a certificate of `w`. Returns how the run ended, if it did.
    pub fn note(&mut self, rows: &TaskRows, w: &[f64], certificate: Certificate) -> Option<Status> {
        self.dual_objective = self.dual_objective.max(certificate.dual_objective);
        let certificate = Certificate { dual_objective: self.dual_objective, ..certificate };
        let is_better = |best: &Certificate| certificate.objective < best.objective || best.objective.is_nan();
        let is_better = self.best.as_ref().is_none_or(|(best, _)| is_better(best));
        if is_better {
            let weights = w.iter().map(|w| w * certificate.multiple).collect();
            self.best = Some((Certificate { multiple: 1.0, ..certificate }, weights));
        }
        self.read = rows.store_rows().cost;
        let cost = self.cost_after(self.scans);
        let (best, weights) = self.best.as_mut()?;
        best.dual_objective = self.dual_objective;
        Standing::by(*best).tell(self.observer, cost, &[weights]);
        match self.limits.reason_to_stop(self.scans) {
            _ if best.relative_gap() <= self.limits.options().tolerance => Some(Status::Converged),
            stop => stop,
        }
    }

    /// The best weights that a certificate knows, and their objective.
    pub fn best(&self) -> Option<(&[f64], f64)> {
        self.best.as_ref().map(|(certificate, weights)| (&weights[..], certificate.objective))
    }

    /// The least objective that is known, certified or not.
    fn objective(&self) -> Option<f64> {
        let certified = self.best.as_ref().map(|(certificate, _)| certificate.objective);
        [certified, self.latest_objective].into_iter().flatten().reduce(f64::min)
    }

    /// The relative gap so far.
    pub fn relative_gap(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |(best, _)| best.relative_gap())
    }

    fn cost_after(&self, scans: u64) -> Cost {
        Cost {
            sweeps: scans,
            visits: scans * self.rows,
            seconds: self.limits.seconds(),
            solve_seconds: self.limits.seconds() - self.begin - self.certify_seconds,
            certify_seconds: self.certify_seconds,
            ..self.read
        }
    }

    /// What has come of it; `duals` are by position.
    pub fn finish(&mut self, rows: &TaskRows, duals: Vec<f64>, status: Status) -> Result<Trained, TrainError> {
        self.read = rows.store_rows().cost;
        let cost = self.cost_after(self.scans);
        let Some((certificate, weights)) = self.best.take() else { return Err(TrainError::NoWeight) };
        let duals = Duals::Memory(duals);
        self.saving.save(cost, &duals, &weights)?;
        Ok(Trained::new(weights, status, certificate, cost).with_duals(duals).by(self.solver))
    }

    /// What has come of a run that has gone over the rows before, for other models as well, and then over sums of them:
    /// weights and Σ βx.
    pub fn finish_at(
        self,
        sweeps: u64,
        (weights, sums): (Vec<f64>, Vec<f64>),
        certificate: Certificate,
    ) -> Result<Trained, TrainError> {
        let seconds = self.limits.seconds();
        let solve_seconds = (seconds - self.read.read_seconds).max(0.0);
        let cost = Cost { sweeps, seconds, solve_seconds, ..self.read };
        Standing::by(certificate).tell(self.observer, cost, &[&weights]);
        let status = match certificate.relative_gap() <= self.limits.options().tolerance {
            true => Status::Converged,
            // Equations that are solved have no more passes to make.
            false => self.limits.look().unwrap_or(Status::OutOfPasses),
        };
        Ok(Trained::new(weights, status, certificate, cost).with_sums(sums).by(self.solver))
    }
}
