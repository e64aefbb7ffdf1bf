//! The methods by name, and which settings each of them has a use for.
use std::str::FromStr;

use super::Fit;
use super::error::{FitError, refuse};
use super::settings::Setting;
use crate::baselines::Baseline;
use crate::loss::{AnyLoss, Hinge, SquaredHinge};

/// How to train: exactly, or by a published baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// What suits the data.
    #[default]
    Auto,
    /// Selective block minimization.
    Sbm,
    /// Block minimization.
    Bmd,
    /// The proximal point method around [`Method::Bmd`].
    DaBcd,
    /// The same without its proximal term.
    DBcd,
    /// Truncated hinge loss with an index, dual coordinate descent.
    IbcdL1Dual,
    /// Truncated squared hinge loss with an index, dual coordinate descent.
    IbcdL2Dual,
    /// Truncated squared hinge loss with an index, Newton steps.
    IbcdL2Primal,
    /// Truncated hinge loss by blocks, dual coordinate descent.
    TruncL1Dual,
    /// Truncated squared hinge loss by blocks, dual coordinate descent.
    TruncL2Dual,
    /// Truncated squared hinge loss by blocks, Newton steps.
    TruncL2Primal,
    /// An algorithm of a paper with the parameters of the paper, each of which is a setting.
    AsPublished(Algorithm),
    /// A method without dual variables, for comparison.
    Baseline(Baseline),
}

/// Algorithms of papers that plain names are ours of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// Selective block minimization (Chang & Roth, KDD 2011).
    Sbm,
    /// Block minimization (Yu et al., KDD 2010), as the same paper compares with it.
    Bmd,
    /// Adaptive variable selection frequencies (Glasmachers & Dogan 2013).
    Avsf,
    /// Dual-augmented block minimization (Yen et al., NIPS 2015).
    DaBcd,
    /// Indexed block coordinate descent (Yen et al., KDD 2013), Index-L1-dual.
    IbcdL1Dual,
    /// The same, Index-L2-dual.
    IbcdL2Dual,
    /// The same, Index-L2-primal.
    IbcdL2Primal,
}

impl Algorithm {
    /// The method with our parameters.
    pub const fn ours(self) -> Method {
        match self {
            Algorithm::Sbm | Algorithm::Avsf => Method::Sbm,
            Algorithm::Bmd => Method::Bmd,
            Algorithm::DaBcd => Method::DaBcd,
            Algorithm::IbcdL1Dual => Method::IbcdL1Dual,
            Algorithm::IbcdL2Dual => Method::IbcdL2Dual,
            Algorithm::IbcdL2Primal => Method::IbcdL2Primal,
        }
    }
}

/// Passes that a baseline makes if nothing else is said.
pub const BASELINE_PASSES: u64 = 10;

/// Settings of exact training, which a baseline has no use for.
const EXACT: [Setting; 26] = [
    Setting::Tolerance,
    Setting::Order,
    Setting::CacheShare,
    Setting::Selection,
    Setting::Rounds,
    Setting::Parts,
    Setting::Partition,
    Setting::Blocks,
    Setting::InnerTolerance,
    Setting::Violation,
    Setting::Eta,
    Setting::EtaGrowth,
    Setting::Extrapolation,
    Setting::InnerPasses,
    Setting::BlockSteps,
    Setting::FirstTruncate,
    Setting::QueryBlocks,
    Setting::QueryMargin,
    Setting::PageShare,
    Setting::Restart,
    Setting::WarmStart,
    Setting::InitRows,
    Setting::QueryRows,
    Setting::Solver,
    Setting::WorkingSet,
    Setting::Calibrate,
];

impl Method {
    /// Every method.
    pub const ALL: [Method; 27] = [
        Method::Auto,
        Method::Sbm,
        Method::Bmd,
        Method::DaBcd,
        Method::DBcd,
        Method::IbcdL1Dual,
        Method::IbcdL2Dual,
        Method::IbcdL2Primal,
        Method::TruncL1Dual,
        Method::TruncL2Dual,
        Method::TruncL2Primal,
        Method::AsPublished(Algorithm::Sbm),
        Method::AsPublished(Algorithm::Bmd),
        Method::AsPublished(Algorithm::Avsf),
        Method::AsPublished(Algorithm::DaBcd),
        Method::AsPublished(Algorithm::IbcdL1Dual),
        Method::AsPublished(Algorithm::IbcdL2Dual),
        Method::AsPublished(Algorithm::IbcdL2Primal),
        Method::Baseline(Baseline::Pegasos),
        Method::Baseline(Baseline::BmPegasos),
        Method::Baseline(Baseline::Perceptron),
        Method::Baseline(Baseline::Mira),
        Method::Baseline(Baseline::Cw),
        Method::Baseline(Baseline::Sgd),
        Method::Baseline(Baseline::Admm),
        Method::Baseline(Baseline::BcAdmm),
        Method::Baseline(Baseline::MirrorDescent),
    ];

    /// The name that it is chosen by.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Sbm => "sbm",
            Method::Bmd => "bmd",
            Method::DaBcd => "da-bcd",
            Method::DBcd => "d-bcd",
            Method::IbcdL1Dual => "ibcd-l1-dual",
            Method::IbcdL2Dual => "ibcd-l2-dual",
            Method::IbcdL2Primal => "ibcd-l2-primal",
            Method::TruncL1Dual => "trunc-l1-dual",
            Method::TruncL2Dual => "trunc-l2-dual",
            Method::TruncL2Primal => "trunc-l2-primal",
            Method::AsPublished(Algorithm::Sbm) => "sbm-as-published",
            Method::AsPublished(Algorithm::Bmd) => "bmd-as-published",
            Method::AsPublished(Algorithm::Avsf) => "avsf-as-published",
            Method::AsPublished(Algorithm::DaBcd) => "da-bcd-as-published",
            Method::AsPublished(Algorithm::IbcdL1Dual) => "ibcd-l1-dual-as-published",
            Method::AsPublished(Algorithm::IbcdL2Dual) => "ibcd-l2-dual-as-published",
            Method::AsPublished(Algorithm::IbcdL2Primal) => "ibcd-l2-primal-as-published",
            Method::Baseline(baseline) => baseline.name(),
        }
    }

    /// In a line what it does.
    pub const fn describe(self) -> &'static str {
        match self {
            Method::Auto => "What suits the data: sbm; with `truncate` the index of the store, if it has one",
            Method::Sbm => "Exact; keeps informative rows in memory between blocks",
            Method::Bmd => "Exact; keeps none",
            Method::DaBcd => "Exact, for penalties other than l2: the proximal point method around bmd",
            Method::DBcd => "The same without its proximal term, for comparison: it need not converge",
            Method::IbcdL1Dual => "Truncated hinge loss with the index of the store, dual coordinate descent",
            Method::IbcdL2Dual => "Truncated squared hinge loss with the index of the store, dual coordinate descent",
            Method::IbcdL2Primal => "Truncated squared hinge loss with the index of the store, Newton steps",
            Method::TruncL1Dual => "Truncated hinge loss by blocks, dual coordinate descent",
            Method::TruncL2Dual => "Truncated squared hinge loss by blocks, dual coordinate descent",
            Method::TruncL2Primal => "Truncated squared hinge loss by blocks, Newton steps",
            Method::AsPublished(Algorithm::Sbm) => {
                "The paper's: 12 blocks that stay the same, a cache of half of memory, 10 rounds"
            }
            Method::AsPublished(Algorithm::Bmd) => "The same without a cache",
            Method::AsPublished(Algorithm::Avsf) => {
                "The paper's: adaptive frequencies, and an end by violations of 0.01"
            }
            Method::AsPublished(Algorithm::DaBcd) => {
                "The paper's: 10 blocks that stay the same, eta = 1, the centre is w"
            }
            Method::AsPublished(Algorithm::IbcdL1Dual) => "The paper's blocks, by rows in random order",
            Method::AsPublished(Algorithm::IbcdL2Dual) => "The same for the squared hinge loss",
            Method::AsPublished(Algorithm::IbcdL2Primal) => "The same with Newton steps",
            Method::Baseline(Baseline::Pegasos) => {
                "Projected stochastic subgradients of the hinge loss, which may be cut off"
            }
            Method::Baseline(Baseline::BmPegasos) => "The same with a block a step, for the hinge loss",
            Method::Baseline(Baseline::Perceptron) => "The averaged perceptron",
            Method::Baseline(Baseline::Mira) => "Passive-aggressive updates of at most C",
            Method::Baseline(Baseline::Cw) => "Confidence-weighted",
            Method::Baseline(Baseline::Sgd) => "Stochastic gradient descent on any loss",
            Method::Baseline(Baseline::Admm) => "Consensus ADMM over blocks, for any penalty",
            Method::Baseline(Baseline::BcAdmm) => "The same with an update after every block",
            Method::Baseline(Baseline::MirrorDescent) => "Stochastic mirror descent for the l1 penalty",
        }
    }

    /// The method with our parameters.
    pub const fn ours(self) -> Method {
        match self {
            Method::AsPublished(algorithm) => algorithm.ours(),
            method => method,
        }
    }

    /// Whether all rows leave when new blocks come.
    pub fn keeps_no_rows(self) -> bool {
        matches!(self.ours(), Method::Bmd | Method::DaBcd | Method::DBcd)
    }

    /// Whether the objective may have an intercept that is free of the penalty.
    pub fn can_have_intercept(self) -> bool {
        self.own_loss().is_none() && self.baseline().is_none()
    }

    /// The method without dual variables that this is, if it is one.
    pub fn baseline(self) -> Option<Baseline> {
        match self {
            Method::Baseline(baseline) => Some(baseline),
            _ => None,
        }
    }

    /// The loss that the name of the method has in it; it is cut off.
    pub fn own_loss(self) -> Option<AnyLoss> {
        match self.ours() {
            Method::IbcdL1Dual | Method::TruncL1Dual => Some(AnyLoss::Hinge(Hinge)),
            Method::IbcdL2Dual | Method::IbcdL2Primal | Method::TruncL2Dual | Method::TruncL2Primal => {
                Some(AnyLoss::SquaredHinge(SquaredHinge))
            }
            _ => None,
        }
    }

    /// Whether it is a rule of its own, in which the loss has no part.
    pub fn has_own_rule(self) -> bool {
        matches!(self.baseline(), Some(Baseline::Perceptron | Baseline::Mira | Baseline::Cw))
    }

    /// Whether it takes Newton steps in the primal.
    pub(super) fn is_primal(self) -> bool {
        matches!(self.ours(), Method::IbcdL2Primal | Method::TruncL2Primal)
    }

    pub(super) fn wants_index(self) -> bool {
        matches!(self.ours(), Method::IbcdL1Dual | Method::IbcdL2Dual | Method::IbcdL2Primal)
    }
}

impl FromStr for Method {
    type Err = FitError;

    fn from_str(name: &str) -> Result<Self, FitError> {
        match Method::ALL.into_iter().find(|method| method.name() == name) {
            Some(method) => Ok(method),
            None => {
                let known: Vec<&str> = Method::ALL.iter().map(|method| method.name()).collect();
                refuse(format!("there is no method '{name}'; use one of {}", known.join(", ")))
            }
        }
    }
}

impl Fit {
    /// Refuses settings that the method would have to ignore.
    pub fn check(&self) -> Result<(), FitError> {
        let method = self.method;
        if method.keeps_no_rows()
            && let Some(name) = self.first_set(&[Setting::CacheShare, Setting::Selection])
        {
            return refuse(format!(
                "`{name}` is about the rows that stay in memory, and this method keeps none; use `method(sbm)`"
            ));
        }
        if method == Method::DBcd && self.is_set(Setting::Rounds) {
            return refuse(
                "`method(d-bcd)` sweeps until the problem of a block is solved; leave `rounds` out, or use \
                 `method(da-bcd)`",
            );
        }
        if method == Method::DBcd && self.is_set(Setting::WorkingSet) {
            return refuse("`method(d-bcd)` visits whole rows only; leave `working_set` out, or use `method(da-bcd)`");
        }
        match method.baseline() {
            Some(baseline) => self.check_baseline(baseline),
            None => Ok(()),
        }
    }

    fn check_baseline(&self, baseline: Baseline) -> Result<(), FitError> {
        let name = baseline.name();
        if let Some(setting) = self.first_set(&EXACT) {
            return refuse(format!(
                "`{setting}` is for exact training, and `method({name})` makes `max_passes` passes and ends; leave out \
                 one of the two"
            ));
        }
        if baseline != Baseline::Pegasos && self.is_set(Setting::Truncate) {
            return refuse(format!(
                "`truncate` is for exact training and for `method(pegasos)`, and `method({name})` knows no ceiling; leave out one of the two"
            ));
        }
        if self.method.has_own_rule() && self.is_set(Setting::Loss) {
            return refuse(format!(
                "`method({name})` has a rule of its own in place of `loss`; use `method(sgd)` to choose a loss"
            ));
        }
        if matches!(baseline, Baseline::Perceptron | Baseline::Cw) && self.is_set(Setting::C) {
            return refuse(format!(
                "the result of `method({name})` does not depend on `c`; leave it out, or use `method(mira)` or sgd"
            ));
        }
        if baseline == Baseline::Cw && self.is_set(Setting::ClassWeight) {
            return refuse("`method(cw)` knows no weights; leave `class_weight` out, or use another method");
        }
        Ok(())
    }
}
