//! Training with the method of multipliers or with interior points, on a sample of the rows first.
//!
//! Then all of them follow, in memory or by scans. A scan keeps the dual variables of rows and nothing else of them.
use super::band::Band;
use super::by_scans::{self, Outcome};
use super::choose::hessian_scans;
use super::equations::Way;
use super::hessian::Smooth;
use super::interior_point::{self, InteriorPoint};
use super::multipliers::{self, Origin};
use super::one_output::{Quadratic, Same};
use super::rows::TaskRows;
use super::sample::{BestSeen, GOOD_START, Samples, from_sample, worth};
use super::scanning::Rows;
use super::session::{Estimate, Session};
use crate::budget::{Budget, Reservation};
use crate::engine::{Status, TrainError, Trained};
use crate::loss::{Loss, PiecewiseLinear, Squared};

/// Problems are solved this much further than the whole.
const FURTHER: f64 = 0.1;
/// The same where each step reads all rows.
const FURTHER_BY_SCANS: f64 = 0.5;
/// A sample is solved to this gap: its own error is larger.
const SAMPLE_TOLERANCE: f64 = 1e-3;
/// It is given up after so many steps that have made F larger on rows that are held out: problems of multipliers come
/// from one side and from the other.
const PATIENCE: u32 = 10;
/// Rows that are few enough for the interior point method to come first.
const FEW_ROWS: usize = 20_000;
/// Iterations of interior points on rows for which multipliers take long: from 45 to 125 on classes of kddcup99.
const INTERIOR_STEPS: f64 = 60.0;
/// Scans of such an iteration, besides that of its matrix.
const INTERIOR_SCANS: f64 = 3.0;
/// Where F has fallen to this part of what it is at w = 0, classes are as good as separated. Then few rows bear all of
/// α, which multipliers are slow to find.
const SEPARATED: f64 = 5e-5;
/// There, multipliers may take this part of what they may take elsewhere.
const SEPARATED_PART: f64 = 0.2;
/// Turns of both methods, at most.
const MOST_TURNS: u32 = 6;

/// Trains one model.
pub fn train<L: PiecewiseLinear>(
    loss: L,
    rows: &mut TaskRows,
    part: Quadratic,
    (mut w, duals, way): (Vec<f64>, Vec<f64>, Way),
    budget: &Budget,
    session: &mut Session,
) -> Result<Trained, TrainError> {
    let beside = row_bytes(L::TERMS as u64);
    let by_scans = !rows.are_in_memory();
    if let Way::Exact { len } = way
        && by_scans
    {
        match by_scans::train(loss, rows, part, (w, len), budget, session)? {
            Outcome::Ended(status, duals) => return session.finish(rows, duals, status),
            Outcome::GivenUp(given_up) => w = given_up,
        }
    }
    let (tolerance, mut band) = (further(rows) * session.limits.options().tolerance, None);
    let duals = if duals.is_empty() { None } else { Some(of_rows(duals, rows)?) };
    if duals.is_none() && session.relative_gap() > GOOD_START {
        let sizes = (w.len() as u64, beside, 0);
        (w, band) = from_sample((w, band), rows, sizes, budget, |(w, _), Samples { some, others }| {
            let mut seen = BestSeen::new();
            let stop = |w: &[f64], known: Estimate| {
                let value = others.as_mut().and_then(|others| value_at(loss, part, w, others).ok());
                let is_worse = value.is_some_and(|value| seen.note(value, w, PATIENCE));
                session.iterated(0.0, Some(w), Estimate::of_gap(known.gap)) || is_worse
            };
            let enough = worth(w.len(), some.most(), SAMPLE_TOLERANCE);
            let last = multipliers::solve(loss, part, (w, way), some, (enough, Origin::default()), stop)?.w;
            let w = seen.or(last);
            let band = if by_scans { Some(Band::of(loss, part, &w, some, Some(tolerance))?) } else { None };
            Ok((w, band))
        })?;
    }
    all_rows(loss, rows, part, (w, way, Origin { band, duals }), budget, session)
}

/// F at w over rows.
fn value_at<L: PiecewiseLinear, R: Rows>(loss: L, part: Quadratic, w: &[f64], rows: &mut R) -> Result<f64, TrainError> {
    let (mut losses, last) = (0.0, w.len() - 1);
    rows.scan(|_, row, y, c| losses += c * loss.value(y, row.dot(w) + part.bias * w[last]))?;
    Ok(part.value(w) + losses)
}

/// By how much further than asked problems are solved.
fn further(rows: &TaskRows) -> f64 {
    if rows.are_in_memory() { FURTHER } else { FURTHER_BY_SCANS }
}

/// Bytes of memory for each row in memory.
pub fn row_bytes(terms: u64) -> u64 {
    let newton = Smooth::<Same<Squared>>::bytes(0, 1);
    (newton + multipliers::row_bytes(terms)).max(interior_point::row_bytes(terms))
}

/// What a method has found: weights, β of each row, and scans.
type Found = (Vec<f64>, Vec<f64>, u64);

/// How to go about it.
pub struct Turn {
    /// Methods take turns.
    pub number: u32,
    /// How many rows there are, if they are in memory.
    pub count: Option<usize>,
    /// The gap to be reached.
    pub tolerance: f64,
    /// Where multipliers begin.
    pub origin: Origin,
    /// Whether weights to begin with are those of a problem like this one.
    pub is_near: bool,
}

/// Minimises over rows. Few rows are solved by the interior point method, whose iterations hardly depend on anything;
/// many by that of multipliers, whose iterations are cheaper. Where one does not get as far as asked, the other goes
/// on: rows that can be separated with a large C are hard for multipliers, and values that are millions of times as
/// large as others for interior points. By scans, an interior point would take three for a step, and numbers of each
/// row that do not fit.
pub fn solve<L: PiecewiseLinear, R: Rows>(
    loss: L,
    part: Quadratic,
    (w, way): (Vec<f64>, Way),
    rows: &mut R,
    turn: Turn,
    stop: impl FnMut(&[f64], Estimate) -> bool,
) -> Result<Found, TrainError> {
    let Turn { number, count, tolerance, origin, is_near } = turn;
    let is_first = number.is_multiple_of(2);
    // An interior point has a second derivative of every row, from 1e-10 to 1e10 in the end: factors have to be exact.
    if let Way::Exact { len } = way
        && count.is_some_and(|count| is_first == (count <= FEW_ROWS))
    {
        let start = if is_near { w } else { vec![0.0; w.len()] };
        let begun = InteriorPoint::begin(loss, part, start, len, rows)?;
        let found = begun.run(tolerance, stop)?;
        return Ok((found.w, found.duals, found.iterations));
    }
    let found = multipliers::solve(loss, part, (w, way), rows, (tolerance, origin), stop)?;
    Ok((found.w, found.duals, found.scans))
}

/// How long multipliers may take: about as long as interior points would.
struct Patience {
    scans: f64,
    most: f64,
    /// F at w = 0.
    first: f64,
}

impl Patience {
    /// For rows in memory, of about `len` values; where they are not, there is no other method.
    fn of<L: PiecewiseLinear>(loss: L, rows: &TaskRows, size: usize, way: Way) -> Patience {
        let most = match way {
            Way::Exact { len } if rows.are_in_memory() => INTERIOR_STEPS * (hessian_scans(size, len) + INTERIOR_SCANS),
            _ => f64::INFINITY,
        };
        let targets = rows.targets().into_iter().flatten();
        Patience { scans: 0.0, most, first: targets.map(|(y, c)| c * Loss::value(&loss, y, 0.0)).sum() }
    }

    /// A step has led to this objective. True if it is the other method's turn.
    fn is_over(&mut self, objective: Option<f64>) -> bool {
        self.scans += 1.0;
        let is_separated = objective.is_some_and(|objective| objective < SEPARATED * self.first);
        self.scans > self.most * if is_separated { SEPARATED_PART } else { 1.0 }
    }
}

/// All rows, with weights that are about right.
fn all_rows<L: PiecewiseLinear>(
    loss: L,
    rows: &mut TaskRows,
    part: Quadratic,
    (mut w, way, mut origin): (Vec<f64>, Way, Origin),
    budget: &Budget,
    session: &mut Session,
) -> Result<Trained, TrainError> {
    let tolerance = further(rows) * session.limits.options().tolerance;
    let mut number = 0;
    loop {
        // Each method has its turn before both are asked for more than the tolerance should take.
        let tolerance = tolerance * 0.01f64.powi(number as i32 / 2);
        let origin = std::mem::take(&mut origin);
        let turn = Turn { number, count: rows.count(), tolerance, origin, is_near: false };
        // Later turns begin from better weights, and end by themselves.
        let is_first = number == 0 && rows.count().is_some_and(|count| count > FEW_ROWS);
        let mut patience = is_first.then(|| Patience::of(loss, rows, w.len(), way));
        let stop = |w: &[f64], known: Estimate| {
            let is_over = patience.as_mut().is_some_and(|patience| patience.is_over(known.objective));
            session.iterated(1.0, Some(w), known) || is_over
        };
        let (found, duals, scans) = solve(loss, part, (w, way), rows, turn, stop)?;
        w = found;
        session.keep(&w);
        session.scans += scans;
        rows.let_end();
        let (mut duals, _paid) = by_position(duals, rows, budget)?;
        let ended = session.certify(loss, rows, &w, &mut duals, |_, _| {})?;
        let has_other = rows.are_in_memory() && matches!(way, Way::Exact { .. });
        number += if has_other { 1 } else { 2 };
        // Rounding has the last word.
        let settled = (number >= MOST_TURNS).then_some(Status::OutOfPasses);
        if let Some(status) = ended.or(settled) {
            return session.finish(rows, duals, status);
        }
    }
}

/// Dual variables by position, from those of the rows that have a part in the objective.
fn by_position(
    of_rows: Vec<f64>,
    rows: &mut TaskRows,
    budget: &Budget,
) -> Result<(Vec<f64>, Option<Reservation>), TrainError> {
    let all = rows.store_rows().store().shape().rows;
    if of_rows.len() as u64 == all {
        return Ok((of_rows, None));
    }
    let paid = budget.reserve("dual variables", 8 * all)?;
    let mut duals = vec![0.0; all as usize];
    rows.scan_positions(|position, number, _, _, _| duals[position as usize] = of_rows[number])?;
    Ok((duals, Some(paid)))
}

/// The other way round.
fn of_rows(by_position: Vec<f64>, rows: &mut TaskRows) -> Result<Vec<f64>, TrainError> {
    let mut of_rows = Vec::with_capacity(by_position.len());
    rows.scan_positions(|position, _, _, _, _| of_rows.push(by_position[position as usize]))?;
    Ok(of_rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_have_less_patience_where_classes_are_separated() {
        let steps = |objective: f64| {
            let mut patience = Patience { scans: 0.0, most: 100.0, first: 1e6 };
            (1..).find(|_| patience.is_over(Some(objective))).unwrap()
        };
        assert_eq!((steps(1e5), steps(1.0)), (101, 21));
        let mut endless = Patience { scans: 0.0, most: f64::INFINITY, first: 1e6 };
        assert!((0..10_000).all(|_| !endless.is_over(Some(0.0)) && !endless.is_over(None)));
    }
}
