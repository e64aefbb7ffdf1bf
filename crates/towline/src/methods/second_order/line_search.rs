//! The best step along a direction.
//!
//! The derivative of F along a line increases, so its root is between two steps at which it has different signs. Rows
//! on disk are asked for many steps at once, so that they are read two or three times and not once for each. Of rows in
//! memory margins are known at both ends of the line, and each step is worth the next.
use super::newton::Function;
use super::scanning::Rows;
use crate::engine::{TrainError, Watch};

/// Steps that are tried at once, for rows on disk.
const CUTS: usize = 12;
/// How much further than the last one each of them is, as long as it is not known how long the step is.
const TIMES: f64 = 4.0;
/// Steps are not tried beyond this.
const MOST: f64 = 1e6;
/// Nor below it.
const LEAST: f64 = 1e-16;
/// The step is known well enough if it is between two that differ by this part: a straight line between them does the
/// rest.
const NARROW: f64 = 0.3;
/// The same for rows in memory, where F may be a million times as steep beyond a kink.
const NARROWER: f64 = 1e-8;
/// There, a step will also do where this part of the slope is left.
const FLAT: f64 = 0.02;
/// Steps that are tried, at most.
const MOST_SECANTS: u32 = 100;

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
    match line.ends {
        Some(_) => Ok((by_secants(|t| slopes(function, line, t, rows))?, 0)),
        None => by_cuts(|steps| slopes(function, line, steps, rows)),
    }
}

fn slopes<F: Function, R: Rows>(
    function: &F,
    line: &Line,
    steps: &[f64],
    rows: &mut R,
) -> Result<Vec<f64>, TrainError> {
    rows.watch().map_or(Ok(()), Watch::check)?;
    function.derivatives(line, steps, rows)
}

/// One step after the other: the secant between two with slopes of different signs, with the slope of the end that
/// stays halved (the Illinois method; Dowell and Jarratt 1971), so that both ends come closer.
fn by_secants(mut slopes: impl FnMut(&[f64]) -> Result<Vec<f64>, TrainError>) -> Result<f64, TrainError> {
    let ends = slopes(&[0.0, 1.0])?;
    let enough = FLAT * ends[0].abs();
    let (mut low, mut high, mut found) = ((0.0, ends[0]), None, (1.0, ends[1]));
    // Which end has moved last, and how often in a row.
    let (mut was_low, mut turns) = (false, 0);
    for _ in 0..MOST_SECANTS {
        // So far away that it is no number any more: too far.
        found.1 = if f64::is_nan(found.1) { f64::INFINITY } else { found.1 };
        let is_low = found.1 < 0.0;
        turns = if is_low == was_low { turns + 1 } else { 0 };
        was_low = is_low;
        match is_low {
            true => low = found,
            false => high = Some(found),
        }
        if found.1.abs() <= enough {
            return Ok(found.0);
        }
        let t = match &mut high {
            None if low.0 * TIMES > MOST => break,
            None => low.0 * TIMES,
            Some(high) if high.0 - low.0 <= NARROWER * high.0 || high.0 < LEAST => break,
            Some(high) => {
                if turns > 0 {
                    let other = if is_low { &mut high.1 } else { &mut low.1 };
                    *other *= 0.5;
                }
                let t = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
                if t > low.0 && t < high.0 { t } else { 0.5 * (low.0 + high.0) }
            }
        };
        found = (t, slopes(&[t])?[0]);
    }
    // F falls as far as there, but may be steep beyond the root.
    Ok(if low.0 > 0.0 { low.0 } else { found.0 })
}

/// Many steps at once, for rows on disk.
fn by_cuts(mut slopes: impl FnMut(&[f64]) -> Result<Vec<f64>, TrainError>) -> Result<(f64, u64), TrainError> {
    // Steps with the derivatives there, one below and one above the best.
    let (mut low, mut high) = ((0.0, f64::NEG_INFINITY), None);
    let (mut scans, mut steps) = (0, down_from(1.0));
    loop {
        let slopes = slopes(&steps)?;
        scans += 1;
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
            Some(high) if high.0 - low.0 <= NARROW * high.0 => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Slopes that increase from below 0, with a kink, and roots from 1e-6 to 1e4.
        #[test]
        fn both_searches_find_the_root(root in -6.0..4.0f64, steep in -3.0..6.0f64, bent in 0.0..1.0f64) {
            let (root, steep) = (10f64.powf(root), 10f64.powf(steep));
            let slope = |t: f64| {
                let off = t / root - 1.0;
                if off < 0.0 { off * (1.0 - bent * off) } else { steep * off + off * off }
            };
            let of = |steps: &[f64]| Ok(steps.iter().map(|&t| slope(t)).collect());
            let t = by_secants(of).unwrap();
            let is_flat = slope(t).abs() <= FLAT * slope(0.0).abs();
            prop_assert!(is_flat || t <= root && t >= (1.0 - NARROWER) * root, "{t} {root}");
            let (t, scans) = by_cuts(of).unwrap();
            prop_assert!((t - root).abs() <= NARROW * root && scans <= 6, "{t} {root} {scans}");
        }
    }

    #[test]
    fn a_line_that_falls_forever_ends() {
        let of = |steps: &[f64]| Ok(steps.iter().map(|_| -1.0).collect());
        assert!(by_secants(of).unwrap() > 1e5);
        assert!(by_cuts(of).unwrap().0 > 1e5);
    }
}
