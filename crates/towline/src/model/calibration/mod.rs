//! Calibration: scores of any classifier become probabilities, by a curve that was fitted to scores of held-out rows.
mod isotonic;
mod platt;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::evaluate::ranking::Ranked;

/// How the curve is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CalibrationMethod {
    /// A sigmoid, by maximum likelihood.
    Platt,
    /// Any curve that never falls, by least squares.
    Isotonic,
}

impl CalibrationMethod {
    /// Every way.
    pub const ALL: [CalibrationMethod; 2] = [CalibrationMethod::Platt, CalibrationMethod::Isotonic];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            CalibrationMethod::Platt => "platt",
            CalibrationMethod::Isotonic => "isotonic",
        }
    }

    /// The curve for these rows, the highest scores first.
    pub fn fit(self, sorted: &[Ranked]) -> Curve {
        match self {
            CalibrationMethod::Platt => platt::fit(sorted),
            CalibrationMethod::Isotonic => isotonic::fit(sorted),
        }
    }
}

impl FromStr for CalibrationMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = CalibrationMethod::ALL.into_iter().find(|method| method.name() == text);
        found.ok_or_else(|| "name platt or isotonic".to_string())
    }
}

impl fmt::Display for CalibrationMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How scores become probabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// How curves were found.
    pub method: CalibrationMethod,
    /// The folds that rows were held out in.
    pub folds: u32,
    /// One for each score of a row. Those of many classes are divided by their sum.
    pub curves: Vec<Curve>,
}

/// The probability that a score speaks of; it never falls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Curve {
    /// `1 / (1 + exp(-(slope·score + offset)))`.
    Sigmoid {
        /// 0 or more.
        slope: f64,
        /// Of a score of 0.
        offset: f64,
    },
    /// Straight lines between knots, and level beyond the first and the last.
    Knots {
        /// The scores, ascending.
        scores: Vec<f64>,
        /// The probability of each.
        chances: Vec<f64>,
    },
}

impl Curve {
    /// The probability of a score.
    pub fn chance(&self, score: f64) -> f64 {
        match self {
            Curve::Sigmoid { slope, offset } => crate::predict::probability(slope * score + offset),
            Curve::Knots { scores, chances } => {
                let above = scores.partition_point(|&knot| knot <= score);
                if above == 0 || above == scores.len() {
                    return chances[above.saturating_sub(1)];
                }
                let share = (score - scores[above - 1]) / (scores[above] - scores[above - 1]);
                chances[above - 1] + share * (chances[above] - chances[above - 1])
            }
        }
    }

    /// Whether it is a curve: what is read from a file may be anything.
    pub fn is_whole(&self) -> bool {
        match self {
            Curve::Sigmoid { slope, offset } => slope.is_finite() && *slope >= 0.0 && offset.is_finite(),
            Curve::Knots { scores, chances } => {
                !scores.is_empty()
                    && scores.len() == chances.len()
                    && scores.iter().all(|score| score.is_finite())
                    && scores.is_sorted_by(|a, b| a < b)
                    && chances.iter().all(|chance| (0.0..=1.0).contains(chance))
                    && chances.is_sorted()
            }
        }
    }
}

#[cfg(test)]
mod tests;
