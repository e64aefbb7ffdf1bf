//! How labels become targets: two classes, many classes, a number, or several.
use serde::{Deserialize, Serialize};

pub use crate::classes::Classes;
use crate::store::manifest::LabelSummary;

/// How labels become targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
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
    /// Several numbers are predicted together.
    Several {
        /// What they are called, in the order in which rows have them.
        names: Vec<String>,
    },
    /// Each label is a class.
    Classes {
        /// The classes.
        classes: Classes,
        /// How they are told apart.
        multiclass: Multiclass,
    },
    /// One of many classes is +1, every other one -1; rows weigh as much as their own class says.
    OneOf {
        /// The class that is +1.
        class: u32,
        /// All of them.
        classes: Classes,
    },
}

/// How many classes are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Multiclass {
    /// A model per class, each against all other classes.
    OneVsRest,
    /// One objective: the own class leads every other one by 1 (hinge loss).
    CrammerSinger,
    /// One objective: the probability of the own class (logistic loss).
    Softmax,
}

impl Multiclass {
    /// Every way, for tests.
    pub const ALL: [Multiclass; 3] = [Multiclass::OneVsRest, Multiclass::CrammerSinger, Multiclass::Softmax];

    /// The name on the command line and in model files.
    pub const fn name(self) -> &'static str {
        match self {
            Multiclass::OneVsRest => "ovr",
            Multiclass::CrammerSinger => "crammer-singer",
            Multiclass::Softmax => "softmax",
        }
    }
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

pub(crate) fn fail<T>(problem: String, remedy: impl Into<String>) -> Result<T, TargetError> {
    Err(TargetError { problem, remedy: remedy.into() })
}

/// Where `name` is among names of classes, also if its number is written otherwise.
pub(crate) fn position_of(names: &[String], name: &str) -> Option<usize> {
    let same_number = |known: &String| matches!((known.parse::<f64>(), name.parse::<f64>()), (Ok(a), Ok(b)) if a == b);
    names.iter().position(|known| known == name).or_else(|| names.iter().position(same_number))
}

impl Targets {
    /// Two classes: the positive one is the one asked for, or the larger of two labels (for names, the later one in the
    /// alphabet).
    pub fn binary(labels: &LabelSummary, positive: Option<&str>) -> Result<Targets, TargetError> {
        let classes = Classes::of(labels)?;
        let chosen = match positive {
            Some(wanted) => classes.named(wanted),
            None if classes.len() == 2 => Some(1),
            None => {
                let problem =
                    format!("the labels have {} distinct values, and this run tells two apart", classes.len());
                return fail(
                    problem,
                    "name the class to tell from the rest with `positive(LABEL)`, or use a regression loss",
                );
            }
        };
        let Some(chosen) = chosen else {
            let known: Vec<&str> = classes.names.iter().take(20).map(String::as_str).collect();
            let problem = format!("no row has the label '{}'", positive.unwrap_or_default());
            return fail(problem, format!("labels are {}", known.join(", ")));
        };
        let positive = classes.names[chosen].clone();
        let others = match classes.len() {
            2 => classes.names[1 - chosen].clone(),
            _ => format!("not {positive}"),
        };
        Ok(Targets::Binary { positive: classes.labels[chosen], names: [others, positive], weights: [1.0, 1.0] })
    }

    /// What is +1 and what a row weighs, by its label.
    #[inline]
    pub fn row(&self, label: f64) -> (f64, f64) {
        match self {
            Targets::Numbers | Targets::Several { .. } => (label, 1.0),
            Targets::Binary { positive, weights, .. } => {
                let is_positive = label == *positive;
                (if is_positive { 1.0 } else { -1.0 }, weights[usize::from(is_positive)])
            }
            Targets::OneOf { class, classes } => match classes.find(label) {
                Some(found) => (if found == *class as usize { 1.0 } else { -1.0 }, classes.weights[found]),
                None => (-1.0, 0.0),
            },
            Targets::Classes { classes, .. } => match classes.find(label) {
                Some(found) => (found as f64, classes.weights[found]),
                None => (-1.0, 0.0),
            },
        }
    }

    /// How many classes are told apart, if they are more than the two sides of one score.
    pub fn multiclass(&self) -> Option<Multiclass> {
        match self {
            Targets::Classes { multiclass, .. } => Some(*multiclass),
            _ => None,
        }
    }

    /// Whether numbers are predicted, and no classes.
    pub fn are_numbers(&self) -> bool {
        matches!(self, Targets::Numbers | Targets::Several { .. })
    }

    /// The names of the classes, or of several numbers, in the order of their weights; none for one number.
    pub fn names(&self) -> &[String] {
        match self {
            Targets::Binary { names, .. } => names,
            Targets::Classes { classes, .. } | Targets::OneOf { classes, .. } => &classes.names,
            Targets::Several { names } => names,
            Targets::Numbers => &[],
        }
    }

    /// What the two sides of one score are called: first below 0, then above.
    pub fn sides(&self) -> [String; 2] {
        match self {
            Targets::Binary { names, .. } => names.clone(),
            Targets::OneOf { class, classes } => {
                let name = &classes.names[*class as usize];
                [format!("not {name}"), name.clone()]
            }
            _ => Default::default(),
        }
    }

    /// Which of two sides has fewer rows, by its place among the names; the second of equal ones.
    pub fn rarer(&self, labels: &LabelSummary) -> usize {
        match self.counts(labels)[..] {
            [first, second] => usize::from(second <= first),
            _ => 1,
        }
    }

    /// Sets the weights of the classes from words like `1=2.5`, `spam=10` or `balanced`.
    pub fn weigh(&mut self, labels: &LabelSummary, words: &[String]) -> Result<(), TargetError> {
        let counts = self.counts(labels);
        let (names, weights) = match self {
            Targets::Numbers | Targets::Several { .. } => return Ok(()),
            Targets::Binary { names, weights, .. } => (&names[..], &mut weights[..]),
            Targets::Classes { classes, .. } | Targets::OneOf { classes, .. } => classes.names_and_weights(),
        };
        let rows: f64 = counts.iter().sum();
        for word in words {
            if word == "balanced" {
                let classes = counts.len() as f64;
                weights.iter_mut().zip(&counts).for_each(|(weight, count)| *weight = rows / (classes * count));
                continue;
            }
            let shown: Vec<String> = names.iter().take(2).map(|name| format!("{name}=W")).collect();
            let remedy = format!("write {} with a number W that is 0 or more, or balanced", shown.join(" or "));
            let Some((name, weight)) = word.rsplit_once('=') else {
                return fail(format!("'{word}' is not a class weight"), remedy);
            };
            let (Some(class), Ok(weight)) = (position_of(names, name), weight.parse::<f64>()) else {
                return fail(format!("'{word}' names no class of this run or no number"), remedy);
            };
            if !weight.is_finite() || weight < 0.0 {
                return fail(format!("the class weight {weight} is not a number that is 0 or more"), remedy);
            }
            weights[class] = weight;
        }
        Ok(())
    }

    /// Rows of each class, in the order of [`names`](Self::names).
    fn counts(&self, labels: &LabelSummary) -> Vec<f64> {
        let rows_of = |wanted: f64| {
            let found = labels.histogram.iter().flatten().find(|(label, _)| *label == wanted);
            found.map_or(0.0, |&(_, rows)| rows as f64)
        };
        match self {
            Targets::Numbers | Targets::Several { .. } => Vec::new(),
            Targets::Binary { positive, .. } => {
                let rows: f64 = labels.histogram.iter().flatten().map(|&(_, rows)| rows as f64).sum();
                let positives = rows_of(*positive);
                vec![rows - positives, positives]
            }
            Targets::Classes { classes, .. } | Targets::OneOf { classes, .. } => {
                classes.labels.iter().map(|&label| rows_of(label)).collect()
            }
        }
    }
}
