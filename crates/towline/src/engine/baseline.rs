//! The methods that papers compare with, by name.
use serde::{Deserialize, Serialize};

/// The methods by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Baseline {
    /// Projected stochastic subgradient descent on the hinge loss.
    Pegasos,
    /// The same with a block a step.
    BmPegasos,
    /// The averaged perceptron.
    Perceptron,
    /// The passive-aggressive update with a step of at most C, averaged.
    Mira,
    /// Confidence-weighted classification with a variance per feature.
    Cw,
    /// Stochastic gradient descent on any loss, averaged over its second half.
    Sgd,
    /// Consensus ADMM over blocks: any loss, any penalty.
    Admm,
    /// The same with an update after every block.
    BcAdmm,
    /// Stochastic mirror descent made sparse, for the l1 penalty.
    MirrorDescent,
}

impl Baseline {
    /// Every method, for tests and messages.
    pub const ALL: [Baseline; 9] = [
        Baseline::Pegasos,
        Baseline::BmPegasos,
        Baseline::Perceptron,
        Baseline::Mira,
        Baseline::Cw,
        Baseline::Sgd,
        Baseline::Admm,
        Baseline::BcAdmm,
        Baseline::MirrorDescent,
    ];

    /// The name on the command line and in model files.
    pub const fn name(self) -> &'static str {
        match self {
            Baseline::Pegasos => "pegasos",
            Baseline::BmPegasos => "bm-pegasos",
            Baseline::Perceptron => "perceptron",
            Baseline::Mira => "mira",
            Baseline::Cw => "cw",
            Baseline::Sgd => "sgd",
            Baseline::Admm => "admm",
            Baseline::BcAdmm => "bc-admm",
            Baseline::MirrorDescent => "mirror-descent",
        }
    }
}
