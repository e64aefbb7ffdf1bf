//! `--method`: which trainer runs, and which options it has a use for.
use anyhow::bail;
use clap::parser::ValueSource;
use clap::{ArgMatches, ValueEnum};
use towline::baselines::Baseline;
use towline::trainer::Centre;

/// The methods by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// What suits the data: sbm; with --truncate the index of the store, if it has one
    Auto,
    /// Exact; keeps informative rows in memory between blocks
    Sbm,
    /// Exact; keeps none
    Bmd,
    /// Exact, for penalties other than l2: the proximal point method around bmd
    DaBcd,
    /// The same without its proximal term, for comparison: it need not converge
    DBcd,
    /// Truncated hinge loss with the index of the store, dual coordinate descent
    IbcdL1Dual,
    /// Truncated squared hinge loss with the index of the store, dual coordinate descent
    IbcdL2Dual,
    /// Truncated squared hinge loss with the index of the store, Newton steps
    IbcdL2Primal,
    /// Truncated hinge loss by blocks, dual coordinate descent
    TruncL1Dual,
    /// Truncated squared hinge loss by blocks, dual coordinate descent
    TruncL2Dual,
    /// Truncated squared hinge loss by blocks, Newton steps
    TruncL2Primal,
    /// Projected stochastic subgradients of the hinge loss
    Pegasos,
    /// The averaged perceptron
    Perceptron,
    /// Passive-aggressive updates of at most C
    Mira,
    /// Confidence-weighted
    Cw,
    /// Stochastic gradient descent on any loss
    Sgd,
    /// Consensus ADMM over blocks, for any penalty
    Admm,
    /// The same with an update after every block
    BcAdmm,
    /// Stochastic mirror descent for the l1 penalty
    MirrorDescent,
}

/// Passes that a baseline makes if nothing else is said.
pub const BASELINE_PASSES: u64 = 10;

/// Options of the exact trainer, by their names in the code and on the command line.
const EXACT: [(&str, &str); 12] = [
    ("tolerance", "--tolerance"),
    ("order", "--order"),
    ("cache_share", "--cache-share"),
    ("selection", "--selection"),
    ("rounds", "--rounds"),
    ("restart", "--restart"),
    ("warm_start", "--warm-start"),
    ("truncate", "--truncate"),
    ("init_rows", "--init-rows"),
    ("query_rows", "--query-rows"),
    ("solver", "--solver"),
    ("working_set", "--working-set"),
];

/// The options that were typed, by their names in the code.
pub fn typed(matches: &ArgMatches) -> Vec<String> {
    let typed = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    matches.ids().filter(typed).map(|id| id.to_string()).collect()
}

impl Method {
    /// Whether all rows leave when new blocks come.
    pub fn keeps_no_rows(self) -> bool {
        matches!(self, Method::Bmd | Method::DaBcd | Method::DBcd)
    }

    /// Whether the objective may have an intercept that is free of the penalty.
    pub fn can_have_intercept(self) -> bool {
        self.own_loss().is_none() && self.baseline().is_none()
    }

    /// When the proximal centre moves.
    pub fn centre(self) -> Centre {
        if self == Method::DBcd { Centre::UntilSolved } else { Centre::AfterPass }
    }

    /// The method without dual variables that this is, if it is one.
    pub fn baseline(self) -> Option<Baseline> {
        match self {
            Method::Auto | Method::Sbm | Method::Bmd | Method::DaBcd | Method::DBcd => None,
            Method::IbcdL1Dual | Method::IbcdL2Dual | Method::IbcdL2Primal => None,
            Method::TruncL1Dual | Method::TruncL2Dual | Method::TruncL2Primal => None,
            Method::Pegasos => Some(Baseline::Pegasos),
            Method::Perceptron => Some(Baseline::Perceptron),
            Method::Mira => Some(Baseline::Mira),
            Method::Cw => Some(Baseline::Cw),
            Method::Sgd => Some(Baseline::Sgd),
            Method::Admm => Some(Baseline::Admm),
            Method::BcAdmm => Some(Baseline::BcAdmm),
            Method::MirrorDescent => Some(Baseline::MirrorDescent),
        }
    }

    /// Refuses options that were typed and that this method would have to ignore.
    pub fn check(self, typed: &[String]) -> anyhow::Result<()> {
        let find = |ids: &[(&str, &'static str)]| {
            ids.iter().find(|(id, _)| typed.iter().any(|typed| typed == id)).map(|&(_, option)| option)
        };
        if self.keeps_no_rows()
            && let Some(option) = find(&[("cache_share", "--cache-share"), ("selection", "--selection")])
        {
            bail!("{option} is about the rows that stay in memory, and this method keeps none; use --method sbm");
        }
        if self == Method::DBcd && find(&[("rounds", "--rounds")]).is_some() {
            bail!(
                "--method d-bcd sweeps until the problem of a block is solved; leave --rounds out, or use --method da-bcd"
            );
        }
        if self == Method::DBcd && find(&[("working_set", "--working-set")]).is_some() {
            bail!("--method d-bcd visits whole rows only; leave --working-set out, or use --method da-bcd");
        }
        let Some(baseline) = self.baseline() else { return Ok(()) };
        let name = baseline.name();
        if let Some(option) = find(&EXACT) {
            bail!(
                "{option} is for exact training, and --method {name} makes --max-passes passes and ends; leave out one of the two"
            );
        }
        if matches!(baseline, Baseline::Perceptron | Baseline::Mira | Baseline::Cw)
            && let Some(option) = find(&[("loss", "--loss"), ("liblinear_type", "-s")])
        {
            bail!("--method {name} has a rule of its own in place of {option}; use --method sgd to choose a loss");
        }
        if matches!(baseline, Baseline::Perceptron | Baseline::Cw)
            && let Some(option) = find(&[("c", "-C")])
        {
            bail!(
                "the result of --method {name} does not depend on {option}; leave it out, or use --method mira or sgd"
            );
        }
        if baseline == Baseline::Cw
            && let Some(option) = find(&[("class_weight", "--class-weight")])
        {
            bail!("--method cw knows no weights; leave {option} out, or use another method");
        }
        Ok(())
    }
}
