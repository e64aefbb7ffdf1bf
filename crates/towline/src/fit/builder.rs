//! The settings of a fit that say what is minimised, one after the other.
use std::path::PathBuf;
use std::time::Duration;

use super::begin::Begin;
use super::method::Method;
use super::objective::{Constant, Goal};
use super::regularizer::{Groups, Regularizer};
use crate::budget::Budget;
use crate::engine::{Partition, Selection, Solver};
use crate::loss::AnyLoss;
use crate::model::calibration::CalibrationMethod;
use crate::objective::{Multiclass, Targets};
use crate::order::OrderName;
use crate::stop::Stop;
use crate::task::Task;

/// What to fit and how: the front door of the library.
///
/// It minimises `F(w) = R(w) + C Σ L(y_i, w·x_i)` exactly, to a relative duality gap, inside a memory budget. What is
/// not set follows from the data: the loss from the labels, the solver from shape, budget and progress, an intercept
/// for tables (CSV, Parquet, Arrow, dense arrays) and none for libsvm and CSR rows.
///
/// | setting | default |
/// | --- | --- |
/// | [`c`](Fit::c) | 1 |
/// | [`penalty`](Fit::penalty), [`lambda`](Fit::lambda) | l2, 1 |
/// | [`tolerance`](Fit::tolerance) | 1e-3 |
/// | [`max_passes`](Fit::max_passes) | 1000; 10 for baselines |
/// | [`memory`](Fit::memory) | half of what is free, at most 4 GiB; no limit for rows in memory |
/// | [`solver`](Fit::solver), [`method`](Fit::method) | auto |
/// | [`calibrate`](Fit::calibrate) | no: only the logistic loss has probabilities |
#[derive(Clone, Debug, Default)]
pub struct Fit {
    pub(super) goal: Goal,
    pub(super) c: Option<f64>,
    pub(super) truncate: Option<f64>,
    pub(super) method: Method,
    pub(super) solver: Option<Solver>,
    pub(super) working_set: Option<bool>,
    pub(super) order: Option<OrderName>,
    pub(super) cache_share: Option<f64>,
    pub(super) selection: Option<Selection>,
    /// Sweeps per step; the inner `None` goes on while they pay.
    pub(super) rounds: Option<Option<u32>>,
    pub(super) parts: Option<u32>,
    pub(super) partition: Option<Partition>,
    /// The inner `None` is as many as fit.
    pub(super) blocks: Option<Option<u32>>,
    pub(super) inner_tolerance: Option<f64>,
    pub(super) violation: Option<f64>,
    /// The inner `None` follows from the data.
    pub(super) eta: Option<Option<f64>>,
    pub(super) eta_growth: Option<f64>,
    pub(super) extrapolation: Option<bool>,
    pub(super) inner_passes: Option<u32>,
    pub(super) block_steps: Option<u32>,
    /// The inner `None` begins as low as it ends.
    pub(super) first_truncate: Option<Option<f64>>,
    pub(super) query_blocks: Option<bool>,
    pub(super) query_margin: Option<f64>,
    pub(super) page_share: Option<f64>,
    pub(super) init_rows: Option<u64>,
    pub(super) query_rows: Option<u64>,
    pub(super) tolerance: Option<f64>,
    /// Whether the gap ends nothing.
    pub(super) all_passes: bool,
    pub(super) max_passes: Option<u64>,
    pub(super) max_time: Option<Duration>,
    pub(super) seed: u64,
    pub(super) threads: Option<usize>,
    pub(super) budget: Option<Budget>,
    pub(super) stop: Stop,
    pub(super) checkpoint: Option<PathBuf>,
    pub(super) begin: Option<Begin>,
    pub(super) own_weight_only: bool,
    /// What was typed.
    pub(super) command: Option<String>,
    pub(super) keep_state: bool,
    /// Folds that are held out for a calibration, and how its curves are found.
    pub(super) calibrate: Option<(u32, CalibrationMethod)>,
}

impl Fit {
    /// The loss follows from the data: squared for numbers, for classes logistic on tables, squared hinge on tables
    /// with text, and hinge on other rows.
    pub fn new() -> Fit {
        Fit::default()
    }

    /// The loss.
    pub fn loss(mut self, loss: AnyLoss) -> Fit {
        (self.goal.loss, self.goal.wrong_loss) = (Some(loss), None);
        self
    }

    /// The inverse regularization strength: what losses are multiplied by, as LIBLINEAR's `-c`.
    pub fn c(mut self, c: f64) -> Fit {
        self.c = Some(c);
        self
    }

    /// The regularizer.
    pub fn penalty(mut self, regularizer: Regularizer) -> Fit {
        self.goal.penalty.regularizer = regularizer;
        self
    }

    /// λ, which the regularizer is multiplied by.
    pub fn lambda(mut self, lambda: f64) -> Fit {
        self.goal.penalty.lambda = Some(lambda);
        self
    }

    /// Whether weights may not be below 0, besides what the regularizer says. An intercept is free.
    pub fn non_negative(mut self, yes: bool) -> Fit {
        self.goal.penalty.non_negative = yes;
        self
    }

    /// The share of l1 in the elastic net; the rest is l2.
    pub fn l1_ratio(mut self, share: f64) -> Fit {
        self.goal.penalty.l1_ratio = Some(share);
        self
    }

    /// The groups of the group lasso: the path of a file, or a map. With several outputs each feature is one by
    /// default.
    pub fn groups(mut self, groups: impl Into<Groups>) -> Fit {
        self.goal.penalty.groups = Some(groups.into());
        self
    }

    /// Whether there is an intercept, free of the penalty.
    pub fn intercept(mut self, has_one: bool) -> Fit {
        self.goal.constant = Some(if has_one { Constant::Intercept } else { Constant::Feature(0.0) });
        self
    }

    /// A constant feature of this value in every row, whose weight is penalised like the others.
    pub fn bias(mut self, value: f64) -> Fit {
        self.goal.constant = Some(Constant::Feature(value));
        self
    }

    /// Whether labels are classes or numbers.
    pub fn task(mut self, task: Task) -> Fit {
        self.goal.task = Some(task);
        self
    }

    /// The multiclass strategy for more than two classes.
    pub fn multiclass(mut self, multiclass: Multiclass) -> Fit {
        self.goal.multiclass = Some(multiclass);
        self
    }

    /// The class to tell from all others.
    pub fn positive(mut self, label: impl Into<String>) -> Fit {
        self.goal.positive = Some(label.into());
        self
    }

    /// Multiplies the losses of the rows of a class.
    pub fn class_weight(self, label: impl std::fmt::Display, weight: f64) -> Fit {
        self.class_weight_word(format!("{label}={weight}"))
    }

    /// Gives all classes the same weight in all.
    pub fn balanced(self) -> Fit {
        self.class_weight_word("balanced".to_string())
    }

    /// A class weight as a person writes it: `LABEL=WEIGHT` or `balanced`.
    pub fn class_weight_word(mut self, word: String) -> Fit {
        self.goal.class_weights.push(word);
        self
    }

    /// How labels become targets, in place of all that they would suggest.
    pub fn targets(mut self, targets: Targets) -> Fit {
        self.goal.targets = Some(targets);
        self
    }

    /// Whether, one against the rest, the weight of a class counts just where it is the positive one, as in LIBLINEAR.
    pub fn own_weight_only(mut self, own: bool) -> Fit {
        self.own_weight_only = own;
        self
    }

    /// Cuts losses off at 1 + s, so that outliers count for no more than that.
    pub fn truncate(mut self, s: f64) -> Fit {
        self.truncate = Some(s);
        self
    }
}
