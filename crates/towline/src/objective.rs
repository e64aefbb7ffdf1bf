//! What is minimised: `F(w) = R(w) + Σ c_i L(y_i, w·x_i)`, `c_i = C · class weight · sample weight`.
use serde::{Deserialize, Serialize};

use crate::block::RowInfo;
use crate::loss::AnyLoss;
use crate::penalty::AnyPenalty;
use crate::store::manifest::LabelSummary;

/// How labels become targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Targets {
    /// One label is +1, every other one -1.
    Binary {
        /// The label that is +1.
        positive: f64,
        /// What the two sides are called: first -1, then +1.
        names: [String; 2],
        /// Weights of the two sides: first -1, then +1.
        weights: [f64; 2],
    },
    /// The label is the number to predict.
    Numbers,
}

/// What is minimised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// The loss.
    pub loss: AnyLoss,
    /// The weight of the losses against the penalty, as in LIBLINEAR.
    pub c: f64,
    /// The value of the constant feature that is appended to every row; 0 for none.
    pub bias: f64,
    /// What weights cost; ½‖w‖² in files from before there was a choice.
    #[serde(default)]
    pub penalty: AnyPenalty,
    /// Whether the weight of the constant feature is free of the penalty.
    #[serde(default)]
    pub intercept: bool,
    /// How labels become targets.
    pub targets: Targets,
}

/// Labels do not fit to the loss.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct TargetError {
    /// What does not fit.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

impl Targets {
    /// Chooses the positive class: the one asked for, or the larger of two labels (for names, the later one in the alphabet).
    pub fn binary(labels: &LabelSummary, positive: Option<&str>) -> Result<Targets, TargetError> {
        let fail = |problem: String, remedy: &str| Err(TargetError { problem, remedy: remedy.into() });
        let name = |label: f64| match labels.names.as_ref().and_then(|names| names.get(label as usize)) {
            Some(name) => name.clone(),
            None => format!("{label}"),
        };
        let Some(histogram) = &labels.histogram else {
            return fail(
                "the labels are numbers with very many values".into(),
                "use a regression loss such as --loss squared",
            );
        };
        let mut classes: Vec<(String, f64)> = histogram.iter().map(|&(label, _)| (name(label), label)).collect();
        if labels.names.is_some() {
            classes.sort_by(|a, b| a.0.cmp(&b.0));
        }
        let others = |positive: &str| {
            let rest: Vec<&str> =
                classes.iter().map(|(name, _)| name.as_str()).filter(|&name| name != positive).collect();
            if rest.len() == 1 { rest[0].to_string() } else { format!("not {positive}") }
        };
        let chosen = match positive {
            Some(wanted) => {
                let number: Option<f64> = if labels.names.is_none() { wanted.parse().ok() } else { None };
                classes.iter().find(|(name, label)| name == wanted || number == Some(*label))
            }
            None if classes.len() == 2 => classes.last(),
            None => {
                let problem =
                    format!("the labels have {} distinct values, and this loss tells two apart", classes.len());
                return fail(
                    problem,
                    "name the class to tell from the rest with --positive LABEL, or use a regression loss",
                );
            }
        };
        let Some((chosen, label)) = chosen else {
            let known: Vec<&str> = classes.iter().take(20).map(|(name, _)| name.as_str()).collect();
            return fail(
                format!("no row has the label '{}'", positive.unwrap_or_default()),
                &format!("labels are {}", known.join(", ")),
            );
        };
        if classes.len() < 2 {
            return fail(format!("all rows have the label '{chosen}'"), "a classifier needs rows of two classes");
        }
        Ok(Targets::Binary { positive: *label, names: [others(chosen), chosen.clone()], weights: [1.0, 1.0] })
    }
}

impl Targets {
    /// Sets the weights of the classes from words like `1=2.5`, `spam=10` or `balanced`.
    pub fn weigh(&mut self, labels: &LabelSummary, words: &[String]) -> Result<(), TargetError> {
        let Targets::Binary { positive, names, weights } = self else { return Ok(()) };
        let fail = |problem: String, remedy: String| Err(TargetError { problem, remedy });
        for word in words {
            if word == "balanced" {
                let rows: f64 = labels.histogram.iter().flatten().map(|&(_, n)| n as f64).sum();
                let count = labels
                    .histogram
                    .iter()
                    .flatten()
                    .find(|(label, _)| label == positive)
                    .map_or(0.0, |&(_, n)| n as f64);
                *weights = [rows / (2.0 * (rows - count)), rows / (2.0 * count)];
                continue;
            }
            let remedy =
                format!("write {}=W or {}=W with a number W that is 0 or more, or balanced", names[0], names[1]);
            let Some((name, weight)) = word.rsplit_once('=') else {
                return fail(format!("'{word}' is not a class weight"), remedy);
            };
            let same = |known: &String| {
                known == name || matches!((known.parse::<f64>(), name.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
            };
            let (Some(side), Ok(weight)) = (names.iter().position(same), weight.parse::<f64>()) else {
                return fail(format!("'{word}' names no class of this run or no number"), remedy);
            };
            if !weight.is_finite() || weight < 0.0 {
                return fail(format!("the class weight {weight} is not a number that is 0 or more"), remedy);
            }
            weights[side] = weight;
        }
        Ok(())
    }
}

impl Objective {
    /// `½‖w‖² + C Σ L`, without a bias.
    pub fn new(loss: AnyLoss, c: f64, targets: Targets) -> Self {
        Objective { loss, c, bias: 0.0, penalty: AnyPenalty::default(), intercept: false, targets }
    }

    /// Whether the penalty is ½‖w‖² on all weights, for which w is just the sum of rows.
    pub fn is_plain_l2(&self) -> bool {
        self.penalty == AnyPenalty::default() && !self.intercept
    }

    /// Dual variables a row.
    pub fn width(&self) -> usize {
        1
    }

    /// Target and weight of a row.
    #[inline]
    pub fn row(&self, info: &RowInfo) -> (f64, f64) {
        match &self.targets {
            Targets::Numbers => (info.label, self.c * info.weight),
            Targets::Binary { positive, weights, .. } => {
                let is_positive = info.label == *positive;
                let y = if is_positive { 1.0 } else { -1.0 };
                (y, self.c * info.weight * weights[usize::from(is_positive)])
            }
        }
    }
}
