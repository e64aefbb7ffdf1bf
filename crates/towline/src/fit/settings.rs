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
    Partition,
    Blocks,
    InnerTolerance,
    Violation,
    Eta,
    EtaGrowth,
    Extrapolation,
    InnerPasses,
    BlockSteps,
    FirstTruncate,
    QueryBlocks,
    QueryMargin,
    PageShare,
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
            Setting::Partition => "partition",
            Setting::Blocks => "blocks",
            Setting::InnerTolerance => "inner_tolerance",
            Setting::Violation => "violation",
            Setting::Eta => "eta",
            Setting::EtaGrowth => "eta_growth",
            Setting::Extrapolation => "extrapolation",
            Setting::InnerPasses => "inner_passes",
            Setting::BlockSteps => "block_steps",
            Setting::FirstTruncate => "first_truncate",
            Setting::QueryBlocks => "query_blocks",
            Setting::QueryMargin => "query_margin",
            Setting::PageShare => "page_share",
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
            Setting::Partition => self.partition.is_some(),
            Setting::Blocks => self.blocks.is_some(),
            Setting::InnerTolerance => self.inner_tolerance.is_some(),
            Setting::Violation => self.violation.is_some(),
            Setting::Eta => self.eta.is_some(),
            Setting::EtaGrowth => self.eta_growth.is_some(),
            Setting::Extrapolation => self.extrapolation.is_some(),
            Setting::InnerPasses => self.inner_passes.is_some(),
            Setting::BlockSteps => self.block_steps.is_some(),
            Setting::FirstTruncate => self.first_truncate.is_some(),
            Setting::QueryBlocks => self.query_blocks.is_some(),
            Setting::QueryMargin => self.query_margin.is_some(),
            Setting::PageShare => self.page_share.is_some(),
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
