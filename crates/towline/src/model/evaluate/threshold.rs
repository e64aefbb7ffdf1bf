//! From which score on a row is called positive.
//!
//! A threshold is a probability of the positive class where the model has probabilities, else a score; a row above it
//! is positive.
use std::fmt;
use std::str::FromStr;

use super::confusion::Confusion;
use super::ranking::{Ranked, by_score, weights};

/// How a threshold is found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Threshold {
    /// It is known.
    At(f64),
    /// The one with the highest F1.
    F1,
    /// The one with the highest Matthews correlation.
    Mcc,
    /// The one with the least cost of mistakes.
    Cost {
        /// What a negative row costs that is called positive.
        false_positive: f64,
        /// What a positive row costs that is called negative.
        false_negative: f64,
    },
}

impl Threshold {
    /// How good decisions are by this rule, larger for better.
    fn value(self, confusion: &Confusion) -> f64 {
        match self {
            Threshold::F1 => confusion.f1(),
            Threshold::Mcc => confusion.mcc(),
            Threshold::Cost { false_positive, false_negative } => -confusion.cost(false_positive, false_negative),
            Threshold::At(_) => 0.0,
        }
    }

    /// The threshold for these rows, the highest scores first. It lies halfway between two scores; of equally good ones
    /// it is the highest.
    pub fn find(self, sorted: &[Ranked]) -> f64 {
        if let Threshold::At(threshold) = self {
            return threshold;
        }
        let [positive, negative] = weights(sorted);
        let mut confusion = Confusion { negative: [negative, 0.0], positive: [positive, 0.0] };
        let highest = sorted.first().map_or(0.0, |row| row.score);
        let (mut best, mut found) = (self.value(&confusion), highest);
        let mut groups = by_score(sorted).peekable();
        while let Some((score, [positive, negative])) = groups.next() {
            confusion.positive = [confusion.positive[0] - positive, confusion.positive[1] + positive];
            confusion.negative = [confusion.negative[0] - negative, confusion.negative[1] + negative];
            let value = self.value(&confusion);
            if value > best {
                (best, found) = (value, between(groups.peek().map(|group| group.0), score));
            }
        }
        found
    }
}

/// A threshold below `above`, and not below the next score, if there is one.
fn between(below: Option<f64>, above: f64) -> f64 {
    match below {
        Some(below) => {
            let middle = below + (above - below) / 2.0;
            if middle < above { middle } else { below }
        }
        None if above > 0.0 => 0.0,
        None => above - above.abs().max(1.0),
    }
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let cost = |text: &str| text.parse::<f64>().ok().filter(|cost| cost.is_finite() && *cost >= 0.0);
        let found = match text {
            "f1" => Some(Threshold::F1),
            "mcc" => Some(Threshold::Mcc),
            _ => match text.strip_prefix("cost=").map(|costs| costs.split_once(':')) {
                Some(costs) => costs.and_then(|(fp, fn_)| {
                    let (false_positive, false_negative) = (cost(fp)?, cost(fn_)?);
                    (false_positive + false_negative > 0.0)
                        .then_some(Threshold::Cost { false_positive, false_negative })
                }),
                None => text.parse::<f64>().ok().filter(|at| at.is_finite()).map(Threshold::At),
            },
        };
        found.ok_or_else(|| "name a number, f1, mcc, or cost=FP:FN with the costs of both mistakes".to_string())
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Threshold::At(at) => write!(f, "{at}"),
            Threshold::F1 => f.write_str("f1"),
            Threshold::Mcc => f.write_str("mcc"),
            Threshold::Cost { false_positive, false_negative } => write!(f, "cost={false_positive}:{false_negative}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ranking::sort;
    use super::*;
    use proptest::prelude::*;

    fn at(rows: &[Ranked], threshold: f64) -> Confusion {
        let mut confusion = Confusion::default();
        rows.iter().for_each(|row| confusion.add(row.is_positive(), row.score > threshold, row.weight()));
        confusion
    }

    proptest! {
        #[test]
        fn no_other_threshold_is_better(
            rows in proptest::collection::vec((-6i32..6, any::<bool>(), 1u32..4), 1..50),
            false_positive in 0.0f64..5.0,
            false_negative in 0.1f64..5.0,
        ) {
            let mut rows: Vec<Ranked> =
                rows.into_iter().map(|(score, is, weight)| Ranked::new(f64::from(score) / 4.0, is, weight.into())).collect();
            sort(&mut rows);
            for rule in [Threshold::F1, Threshold::Mcc, Threshold::Cost { false_positive, false_negative }] {
                let found = rule.value(&at(&rows, rule.find(&rows)));
                for step in -70..70 {
                    let other = rule.value(&at(&rows, f64::from(step) / 40.0));
                    prop_assert!(found >= other - 1e-12, "{rule}: {found} < {other} at {step}");
                }
            }
        }
    }

    #[test]
    fn rules_are_read_and_shown() {
        for text in ["f1", "mcc", "cost=1:5", "0.25", "-1.5"] {
            assert_eq!(text.parse::<Threshold>().unwrap().to_string(), text);
        }
        for wrong in ["", "F1", "cost=1", "cost=1:-5", "cost=0:0", "nan", "inf"] {
            assert!(wrong.parse::<Threshold>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn neighbours_without_a_number_between_them_are_told_apart() {
        let above = 1.0f64;
        assert_eq!(between(Some(above.next_down()), above), above.next_down());
        assert_eq!(between(Some(1.0), 2.0), 1.5);
        assert!(between(None, -3.0) < -3.0 && between(None, 0.0) < 0.0 && between(None, 0.3) == 0.0);
    }
}
