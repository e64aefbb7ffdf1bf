//! The best step along a direction.
//!
//! The derivative of F along a line increases, so its root is between two steps at which it has different signs. All
//! rows are asked for many steps at once, so that rows on disk are read two or three times and not once for each.
use super::newton::Function;
use super::scanning::Rows;
use crate::engine::{TrainError, Watch};

/// Steps that are tried at once.
pub const CUTS: usize = 12;
/// How much further than the last one each of them is, as long as it is not known how long the step is.
const TIMES: f64 = 4.0;
/// Steps are not tried beyond this.
const MOST: f64 = 1e6;
/// Nor below it.
const LEAST: f64 = 1e-16;
/// The step is known well enough if it is between two that differ by this part: a straight line between them does the
/// rest.
const NARROW: f64 = 0.3;
/// The same for rows in memory.
const NARROWER: f64 = 0.01;

/// Bytes of memory for each row in memory.
pub const ROW_BYTES: u64 = 16;

/// A line from one point to another, with all that is known of its ends.
pub struct Line<'a> {
    /// Where it begins.
    pub start: &'a [f64],
    /// How far it goes.
    pub direction: &'a [f64],
    /// Its ends, where rows are in memory.
    pub ends: Option<Ends<'a>>,
}

/// What rows have at both ends of a line.
pub struct Ends<'a> {
    /// Target and weight of each row.
    pub targets: &'a [(f64, f64)],
    /// Margins at its beginning.
    pub from: &'a [f64],
    /// Margins at its end.
    pub to: &'a [f64],
}

impl Line<'_> {
    /// The weights at t.
    pub fn at(&self, t: f64) -> Vec<f64> {
        self.start.iter().zip(self.direction).map(|(w, d)| w + t * d).collect()
    }
}

/// The t that minimises F(start + t direction), and how many scans it took.
pub fn search<F: Function, R: Rows>(function: &F, line: &Line, rows: &mut R) -> Result<(f64, u64), TrainError> {
    // Steps with the derivatives there, one below and one above the best.
    let (mut low, mut high) = ((0.0, f64::NEG_INFINITY), None);
    let (mut scans, mut steps) = (0, down_from(1.0));
    let narrow = if line.ends.is_some() { NARROWER } else { NARROW };
    loop {
        rows.watch().map_or(Ok(()), Watch::check)?;
        let slopes = function.derivatives(line, &steps, rows)?;
        scans += u64::from(line.ends.is_none());
        for (&step, slope) in steps.iter().zip(slopes) {
            match slope < 0.0 {
                true if step > low.0 => low = (step, slope),
                false if high.is_none_or(|(high, _)| step < high) => high = Some((step, slope)),
                _ => {}
            }
        }
        steps = match high {
            None if low.0 * TIMES > MOST => return Ok((low.0, scans)),
            None => std::array::from_fn(|k| low.0 * TIMES.powi(k as i32 + 1)),
            Some((high, _)) if low.0 == 0.0 && high < LEAST => return Ok((high, scans)),
            Some((high, _)) if low.0 == 0.0 => down_from(high / TIMES),
            Some(high) if high.0 - low.0 <= narrow * high.0 => {
                let part = low.1 / (low.1 - high.1);
                return Ok((low.0 + part * (high.0 - low.0), scans));
            }
            Some((high, _)) => std::array::from_fn(|k| low.0 + (high - low.0) * (k + 1) as f64 / (CUTS + 1) as f64),
        };
    }
}

fn down_from(step: f64) -> [f64; CUTS] {
    std::array::from_fn(|k| step * TIMES.powi(-(k as i32)))
}
