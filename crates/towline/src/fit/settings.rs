//! Settings that not every method has a use for, by name.
use super::Fit;
use super::begin::Begin;

/// A setting that may have to be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    C,
    Loss,
    Penalty,
    ClassWeight,
    Tolerance,
    Order,
    CacheShare,
    Selection,
    Rounds,
    Parts,
    Restart,
    WarmStart,
    Truncate,
    InitRows,
    QueryRows,
    Solver,
    WorkingSet,
    Calibrate,
}

impl Setting {
    /// The name of the method of [`Fit`] that sets it.
    pub const fn name(self) -> &'static str {
        match self {
            Setting::C => "c",
            Setting::Loss => "loss",
            Setting::Penalty => "penalty",
            Setting::ClassWeight => "class_weight",
            Setting::Tolerance => "tolerance",
            Setting::Order => "order",
            Setting::CacheShare => "cache_share",
            Setting::Selection => "selection",
            Setting::Rounds => "rounds",
            Setting::Parts => "parts",
            Setting::Restart => "restart",
            Setting::WarmStart => "warm_start",
            Setting::Truncate => "truncate",
            Setting::InitRows => "init_rows",
            Setting::QueryRows => "query_rows",
            Setting::Solver => "solver",
            Setting::WorkingSet => "working_set",
            Setting::Calibrate => "calibrate",
        }
    }
}

impl Fit {
    /// Whether somebody has set this.
    pub(super) fn is_set(&self, setting: Setting) -> bool {
        match setting {
            Setting::C => self.c.is_some(),
            Setting::Loss => self.goal.loss.is_some() || self.goal.wrong_loss.is_some(),
            Setting::Penalty => self.goal.penalty.is_set(),
            Setting::ClassWeight => !self.goal.class_weights.is_empty(),
            Setting::Tolerance => self.tolerance.is_some(),
            Setting::Order => self.order.is_some(),
            Setting::CacheShare => self.cache_share.is_some(),
            Setting::Selection => self.selection.is_some(),
            Setting::Rounds => self.rounds.is_some(),
            Setting::Parts => self.parts.is_some(),
            Setting::Restart => matches!(self.begin, Some(Begin::Nothing)),
            Setting::WarmStart => matches!(self.begin, Some(Begin::Model(_) | Begin::State(_))),
            Setting::Truncate => self.truncate.is_some(),
            Setting::InitRows => self.init_rows.is_some(),
            Setting::QueryRows => self.query_rows.is_some(),
            Setting::Solver => self.solver.is_some(),
            Setting::WorkingSet => self.working_set.is_some(),
            Setting::Calibrate => self.calibrate.is_some(),
        }
    }

    /// The first of these that somebody has set, by name.
    pub(super) fn first_set(&self, settings: &[Setting]) -> Option<&'static str> {
        settings.iter().find(|setting| self.is_set(**setting)).map(|setting| setting.name())
    }
}
