//! What is minimised: `F(w) = R(w) + Σ c_i L(y_i, w·x_i)`, `c_i = C · class weight · sample weight`.
use serde::{Deserialize, Serialize};

use crate::block::RowInfo;
use crate::index::RowTargets;
use crate::loss::AnyLoss;
use crate::penalty::AnyPenalty;
pub use crate::targets::{Classes, Multiclass, TargetError, Targets};

/// Classes from which on dual variables are kept as pairs: for fewer a row of all of them takes less than what is
/// planned for pairs.
const FEWEST_FOR_PAIRS: usize = 20;

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
    /// Losses are cut off at 1 + this (IBCD, equation 1), which makes F a series of convex problems; see
    /// [`crate::truncation`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncate: Option<f64>,
    /// How labels become targets.
    pub targets: Targets,
}

impl RowTargets for Objective {
    fn bias(&self) -> f64 {
        self.bias
    }

    fn of_row(&self, info: &RowInfo) -> (f64, f64) {
        self.row(info)
    }
}

impl Objective {
    /// `½‖w‖² + C Σ L`, without a bias.
    pub fn new(loss: AnyLoss, c: f64, targets: Targets) -> Self {
        Objective { loss, c, bias: 0.0, penalty: AnyPenalty::default(), intercept: false, truncate: None, targets }
    }

    /// Whether the penalty is ½‖w‖² on all weights, for which w is just the sum of rows.
    pub fn is_plain_l2(&self) -> bool {
        self.penalty == AnyPenalty::default() && !self.intercept
    }

    /// Dual variables a row: one, or one per output where several are in one objective.
    pub fn width(&self) -> usize {
        match &self.targets {
            Targets::Several { names } => names.len(),
            Targets::Classes { classes, multiclass } if *multiclass != Multiclass::OneVsRest => classes.len(),
            _ => 1,
        }
    }

    /// Whether most dual variables of a row are 0 at the optimum, and so many that pairs of class and value take less
    /// room.
    pub fn has_sparse_duals(&self) -> bool {
        self.targets.multiclass() == Some(Multiclass::CrammerSinger) && self.width() >= FEWEST_FOR_PAIRS
    }

    /// The objectives that are minimised one by one: one per class for one-vs-rest, else this one.
    pub fn split(&self) -> Vec<Objective> {
        match &self.targets {
            Targets::Classes { classes, multiclass: Multiclass::OneVsRest } => {
                let of = |class| Targets::OneOf { class, classes: classes.clone() };
                (0..classes.len() as u32).map(|class| Objective { targets: of(class), ..self.clone() }).collect()
            }
            _ => vec![self.clone()],
        }
    }

    /// Target and weight of a row. Rows of no known class have weight 0.
    #[inline]
    pub fn row(&self, info: &RowInfo) -> (f64, f64) {
        let (y, weight) = self.targets.row(info.label);
        (y, self.c * info.weight * weight)
    }

    /// What the loss of a row is multiplied by; 0 for rows of no known class.
    pub fn weight(&self, info: &RowInfo) -> f64 {
        self.row(info).1
    }

    /// Appends what the margins of a row should be, and returns its weight: the number of its class, or all its
    /// targets. None for rows of no known class.
    pub fn goal(&self, info: &RowInfo, further: &[f64], out: &mut Vec<f64>) -> Option<f64> {
        if let Targets::Several { .. } = self.targets {
            out.push(info.label);
            out.extend_from_slice(further);
            return Some(self.c * info.weight);
        }
        let (class, c) = self.class(info)?;
        out.push(class as f64);
        Some(c)
    }

    /// Class and weight of a row, if the targets are classes and it has one of them.
    pub fn class(&self, info: &RowInfo) -> Option<(usize, f64)> {
        let Targets::Classes { classes, .. } = &self.targets else { return None };
        let class = classes.find(info.label)?;
        Some((class, self.c * info.weight * classes.weights[class]))
    }
}
