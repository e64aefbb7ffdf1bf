//! The settings of a fit, one after the other.
use std::path::PathBuf;
use std::time::Duration;

use super::begin::Begin;
use super::method::Method;
use super::objective::{Constant, Goal};
use super::regularizer::{Groups, Regularizer};
use crate::budget::Budget;
use crate::engine::{Selection, Solver};
use crate::loss::AnyLoss;
use crate::objective::{Multiclass, Targets};
use crate::order::OrderName;
use crate::stop::Stop;
use crate::task::Task;

/// What to fit and how: the front door of the library.
///
/// It minimises `F(w) = R(w) + C Σ L(y_i, w·x_i)` exactly, to a relative duality gap, inside a memory budget. What is not set
/// follows from the data: the loss from the labels, the solver from shape, budget and progress, an intercept for tables
/// (CSV, Parquet, Arrow, dense arrays) and none for libsvm and CSR rows.
///
/// | setting | default |
/// | --- | --- |
/// | [`c`](Fit::c) | 1 |
/// | [`penalty`](Fit::penalty), [`lambda`](Fit::lambda) | l2, 1 |
/// | [`tolerance`](Fit::tolerance) | 1e-3 |
/// | [`max_passes`](Fit::max_passes) | 1000; 10 for baselines |
/// | [`memory`](Fit::memory) | half of what is free, at most 4 GiB; no limit for rows in memory |
/// | [`solver`](Fit::solver), [`method`](Fit::method) | auto |
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
    pub(super) keep_state: bool,
}

impl Fit {
    /// The loss follows from the labels: hinge for classes, squared for numbers.
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

    /// The share of l1 in the elastic net; the rest is l2.
    pub fn l1_ratio(mut self, share: f64) -> Fit {
        self.goal.penalty.l1_ratio = Some(share);
        self
    }

    /// The groups of the group lasso: the path of a file, or a map. With several outputs each feature is one by default.
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

    /// How to train.
    pub fn method(mut self, method: Method) -> Fit {
        self.method = method;
        self
    }

    /// The solver.
    pub fn solver(mut self, solver: Solver) -> Fit {
        self.solver = Some(solver);
        self
    }

    /// Whether late passes out of core leave features out whose weights stay 0, for l1 and the elastic net.
    pub fn working_set(mut self, screens: bool) -> Fit {
        self.working_set = Some(screens);
        self
    }

    /// Which row is visited next, in dual coordinate descent.
    pub fn order(mut self, order: OrderName) -> Fit {
        self.order = Some(order);
        self
    }

    /// The part of the rows in memory that stays when new blocks come: from 0 to 0.9.
    pub fn cache_share(mut self, share: f64) -> Fit {
        self.cache_share = Some(share);
        self
    }

    /// How the rows that stay are chosen.
    pub fn selection(mut self, selection: Selection) -> Fit {
        self.selection = Some(selection);
        self
    }

    /// Inner epochs per block; `None` goes on while they pay.
    pub fn rounds(mut self, rounds: Option<u32>) -> Fit {
        self.rounds = Some(rounds);
        self
    }

    /// Rows of the convex model that a truncated loss begins with.
    pub fn init_rows(mut self, rows: u64) -> Fit {
        self.init_rows = Some(rows);
        self
    }

    /// Rows that a query of the index is to find.
    pub fn query_rows(mut self, rows: u64) -> Fit {
        self.query_rows = Some(rows);
        self
    }

    /// Stops at this relative duality gap.
    pub fn tolerance(mut self, gap: f64) -> Fit {
        self.tolerance = Some(gap);
        self
    }

    /// Makes all passes, whatever the gap: rounding may show one of 0 before the weights have their last digits.
    pub fn all_passes(mut self) -> Fit {
        self.all_passes = true;
        self
    }

    /// Stops after this many passes over the data.
    pub fn max_passes(mut self, passes: u64) -> Fit {
        self.max_passes = Some(passes);
        self
    }

    /// Stops after this time.
    pub fn max_time(mut self, time: Duration) -> Fit {
        self.max_time = Some(time);
        self
    }

    /// Seed of all random choices.
    pub fn seed(mut self, seed: u64) -> Fit {
        self.seed = seed;
        self
    }

    /// Threads, among which models are shared out. They change nothing but the time.
    pub fn threads(mut self, threads: usize) -> Fit {
        self.threads = Some(threads.max(1));
        self
    }

    /// Bytes that the fit may hold at any time.
    pub fn memory(self, bytes: u64) -> Fit {
        self.budget(Budget::new(bytes))
    }

    /// A budget that other parts of the program share.
    pub fn budget(mut self, budget: Budget) -> Fit {
        self.budget = Some(budget);
        self
    }

    /// Ends the fit early when somebody asks for it; the model of then is the result.
    pub fn stop(mut self, stop: Stop) -> Fit {
        self.stop = stop;
        self
    }

    /// Keeps the state of the run beside this model file, `MODEL.duals`, at least once a pass. A later fit with the same objective on
    /// the same store goes on from there.
    pub fn checkpoint(mut self, model: impl Into<PathBuf>) -> Fit {
        self.checkpoint = Some(model.into());
        self
    }

    /// Begins anew, whatever the checkpoint has.
    pub fn restart(mut self) -> Fit {
        self.begin = Some(Begin::Nothing);
        self
    }

    /// Starts from the dual variables beside another model of this store, of another C or of fewer rows.
    pub fn warm_start(mut self, model: impl Into<PathBuf>) -> Fit {
        self.begin = Some(Begin::Model(model.into()));
        self
    }

    /// Starts from what another fit of the same classes on the same rows has left, see [`keep_state`](Fit::keep_state).
    pub fn start_from(mut self, state: Vec<super::State>) -> Fit {
        self.begin = Some(Begin::State(state));
        self
    }

    /// Keeps dual variables and weights in the result, for another fit to start from.
    pub fn keep_state(mut self, keep: bool) -> Fit {
        self.keep_state = keep;
        self
    }
}
