//! Losses that are made of straight pieces, with the rows on disk: a scan for each problem of the rows that may bend.
//!
//! A scan at w certifies it and gathers a working set (working_set.rs), whose problem is solved in memory. Where its
//! solution is within the reach of the set, it is that of all rows, and the next scan certifies it. Where it is not,
//! rows that are left out get parabolas τc/(4|t - sz|) around w: with τ = 1 they are majorants (Hunter and Lange 2004),
//! so that F falls, and τ becomes smaller as long as F falls by what was promised.
use super::equations::Way;
use super::multipliers::Origin;
use super::one_output::Quadratic;
use super::piecewise::{self, Turn};
use super::reach::Metric;
use super::rows::TaskRows;
use super::sample::{GOOD_START, Samples, from_sample};
use super::scanning::{Rows, Scanning};
use super::session::{Estimate, Session};
use super::working_set::WorkingSet;
use super::{gram::Gram, multipliers};
use crate::budget::Budget;
use crate::engine::{Status, TrainError};
use crate::loss::{Loss, PiecewiseLinear};
use crate::store::Shape;

/// Problems are solved this much further than the whole.
const FURTHER: f64 = 0.2;
/// A sample is solved to this gap: its own error is larger.
const SAMPLE_TOLERANCE: f64 = 1e-4;
/// Steps up to this many times the radius of the set are taken as they are: a direction hardly ever is the one in which
/// rows bend first.
const TRUSTED: f64 = 3.0;
/// F has to fall by these parts of what was promised for τ to become smaller, and not to become larger.
const PROMISED: (f64, f64) = (0.5, 0.1);
/// By how much τ becomes smaller and larger.
const CHANGE: (f64, f64) = (0.2, 10.0);
/// Scans in a row that lower neither F by as much as the tolerance nor the gap by this part of it.
const MOST_STALLS: u32 = 5;
const PROGRESS: f64 = 0.05;
/// Weights this many times the radius away will not be taken, and need not be found.
const TOO_FAR: f64 = 100.0;
/// Scans, at most.
const MOST_SCANS: u64 = 60;

/// What came of it.
pub enum Outcome {
    /// The run has ended, with these dual variables by position.
    Ended(Status, Vec<f64>),
    /// There is no room for a set, or it got nowhere: the weights to go on from.
    GivenUp(Vec<f64>),
}

/// Bytes of memory for this many weights, besides the rows, their dual variables and what multipliers take.
pub fn bytes(size: u64) -> u64 {
    Metric::bytes(size) + WorkingSet::bytes(size)
}

/// Rows that there is room for in this many bytes, where each loss has this many terms; nothing where they are too few.
pub fn room(shape: &Shape, terms: u64, free: u64) -> Option<u64> {
    let left = free.checked_sub(bytes(shape.columns + 1))?;
    WorkingSet::room(shape, piecewise::row_bytes(terms), left)
}

/// Bytes that this many rows of a set take.
pub fn set_bytes(shape: &Shape, terms: u64, rows: u64) -> u64 {
    WorkingSet::row_bytes(shape, piecewise::row_bytes(terms), rows)
}

/// Trains one model from `w` on; rows have about `len` values.
pub fn train<L: PiecewiseLinear>(
    loss: L,
    rows: &mut TaskRows,
    part: Quadratic,
    (w, len): (Vec<f64>, f64),
    budget: &Budget,
    session: &mut Session,
) -> Result<Outcome, TrainError> {
    let shape = rows.store_rows().store().shape();
    let more = piecewise::row_bytes(L::TERMS as u64);
    let Ok(_matrices) = budget.reserve("curvature of rows", bytes(w.len() as u64)) else {
        return Ok(Outcome::GivenUp(w));
    };
    let Some(room) = WorkingSet::room(&shape, more, budget.free_bytes()) else { return Ok(Outcome::GivenUp(w)) };
    let is_near = session.relative_gap() <= GOOD_START;
    let sizes = (w.len() as u64, more, room);
    let (mut metric, mut is_known) = (Metric::new(part.ridge, len), false);
    let w = from_sample(w, rows, sizes, budget, |mut w, Samples { some, .. }| {
        if !is_near {
            let stop = |w: &[f64], known: Estimate| session.iterated(0.0, Some(w), Estimate::of_gap(known.gap));
            w = multipliers::solve(
                loss,
                part,
                (w, Way::Exact { len }),
                some,
                (SAMPLE_TOLERANCE, Origin::default()),
                stop,
            )?
            .w;
        }
        metric.find(loss, (&w, part.bias), some, None)?;
        is_known = true;
        Ok(w)
    })?;
    let set = WorkingSet::new(&shape, (len, more), budget);
    let Some(set) = set.filter(|_| is_known) else { return Ok(Outcome::GivenUp(w)) };
    let duals = vec![0.0; shape.rows as usize];
    let scanning = rows.store_rows().scanning.clone();
    Run { loss, part, len, w, metric, set, duals, tau: 1.0, turn: 0, scanning }.run(rows, session)
}

struct Run<'a, L> {
    loss: L,
    part: Quadratic<'a>,
    len: f64,
    /// Where the set was gathered.
    w: Vec<f64>,
    metric: Metric,
    set: WorkingSet,
    /// By position.
    duals: Vec<f64>,
    tau: f64,
    /// Which solver is first for the next problem.
    turn: u32,
    scanning: Scanning,
}

/// A solution of the set.
struct Found {
    w: Vec<f64>,
    /// β of its rows.
    duals: Vec<f64>,
    /// What F should be there, if rows that are left out are parabolas.
    promised: Option<f64>,
}

/// The least objective and gap so far, and how often in a row a scan has changed neither.
struct Progress {
    objective: f64,
    gap: f64,
    stalls: u32,
}

impl Default for Progress {
    fn default() -> Self {
        Progress { objective: f64::INFINITY, gap: f64::INFINITY, stalls: 0 }
    }
}

impl Progress {
    fn stalls(&mut self, session: &Session, tolerance: f64) -> u32 {
        let objective = session.best().map_or(f64::INFINITY, |(_, objective)| objective);
        let gap = session.relative_gap();
        let is_less = objective < self.objective - tolerance * objective.abs() || gap < (1.0 - PROGRESS) * self.gap;
        self.stalls = if is_less { 0 } else { self.stalls + 1 };
        (self.objective, self.gap) = (self.objective.min(objective), self.gap.min(gap));
        self.stalls
    }
}

impl<L: PiecewiseLinear> Run<'_, L> {
    fn run(mut self, rows: &mut TaskRows, session: &mut Session) -> Result<Outcome, TrainError> {
        let tolerance = session.limits.options().tolerance;
        let (mut before, mut progress) = (None, Progress::default());
        for _ in 0..MOST_SCANS {
            rows.let_end();
            if let Some(status) = self.scan(rows, session)? {
                return Ok(Outcome::Ended(status, self.duals));
            }
            let value = self.part.value(&self.w) + self.set.losses();
            if let Some((from, promised)) = before {
                self.judge(if promised < from { (from - value) / (from - promised) } else { 1.0 });
            }
            self.turn = progress.stalls(session, tolerance);
            if self.turn == MOST_STALLS {
                break;
            }
            let found = self.solve(FURTHER * tolerance, &mut |_, _| session.iterated(0.0, None, Estimate::NONE))?;
            before = found.promised.map(|promised| (value, promised));
            self.set.positions().iter().zip(&found.duals).for_each(|(&at, beta)| self.duals[at as usize] = *beta);
            self.w = found.w;
            session.keep(&self.w);
            let Run { set, metric, loss, part, w, scanning, .. } = &mut self;
            let mut some = set.rows(scanning.clone());
            metric.find(*loss, (w, part.bias), &mut some, Some(&set.straight().far))?;
        }
        Ok(Outcome::GivenUp(session.best().map_or(self.w, |(w, _)| w.to_vec())))
    }

    fn far(&self) -> &Gram {
        &self.set.straight().far
    }

    /// Certifies w and gathers the next set.
    fn scan(&mut self, rows: &mut TaskRows, session: &mut Session) -> Result<Option<Status>, TrainError> {
        let Run { loss, part, w, metric, set, duals, .. } = self;
        set.clear();
        let ended = session.certify(*loss, rows, w, duals, |seen, beta| {
            *beta = set.add(*loss, (w, part.bias), metric, &seen);
        })?;
        set.finish();
        Ok(ended)
    }

    /// Changes τ by how much of what was promised has come.
    fn judge(&mut self, part: f64) {
        if part >= PROMISED.0 {
            self.tau *= CHANGE.0;
        } else if part.is_nan() || part < PROMISED.1 {
            self.tau = (self.tau * CHANGE.1).max(1.0);
        }
    }

    /// The minimum with all other rows straight, if that is near; else with parabolas for them.
    fn solve(&self, tolerance: f64, stop: &mut dyn FnMut(&[f64], Estimate) -> bool) -> Result<Found, TrainError> {
        let radius = self.set.radius();
        let mut stop_or_far =
            |w: &[f64], known: Estimate| stop(w, known) || self.metric.distance(w, &self.w) > TOO_FAR * radius;
        let found = self.minimise(None, tolerance, &mut stop_or_far)?;
        if radius == f64::INFINITY || self.metric.distance(&found.w, &self.w) <= TRUSTED * radius {
            return Ok(found);
        }
        self.minimise(Some(self.tau), tolerance, stop)
    }

    fn minimise(
        &self,
        tau: Option<f64>,
        tolerance: f64,
        stop: &mut dyn FnMut(&[f64], Estimate) -> bool,
    ) -> Result<Found, TrainError> {
        let straight = self.set.straight();
        let (mut shift, mut constant) = (straight.shift.clone(), straight.constant);
        if let Some(tau) = tau {
            let mut along = vec![0.0; shift.len()];
            self.far().product(&vec![0.0; shift.len()], &self.w, &mut along);
            shift.iter_mut().zip(&along).for_each(|(shift, along)| *shift += tau * along);
            constant += 0.5 * tau * along.iter().zip(&self.w).map(|(along, w)| along * w).sum::<f64>();
        }
        let part = Quadratic { shift: &shift, constant, proximal: tau.map(|tau| (self.far(), tau)), ..self.part };
        let mut some = self.set.rows(self.scanning.clone());
        let (count, origin) = (Some(self.set.len()), Origin::default());
        let turn = Turn { number: self.turn, count, tolerance, origin, is_near: true };
        let begin = (self.w.clone(), Way::Exact { len: self.len });
        let (w, duals, _) = piecewise::solve(self.loss, part, begin, &mut some, turn, stop)?;
        let mut losses = 0.0;
        some.scan(|_, row, y, c| losses += c * Loss::value(&self.loss, y, row.dot(&w) + part.bias * w[w.len() - 1]))?;
        let promised = tau.map(|_| part.value(&w) + losses);
        Ok(Found { w, duals, promised })
    }
}
