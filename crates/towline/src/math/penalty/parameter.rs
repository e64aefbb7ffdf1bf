//! What penalties are made from.
use super::GroupMap;
use super::any::known_names;

/// What the penalties that have parameters are made from.
#[derive(Clone, Debug)]
pub struct PenaltyParameters {
    /// λ, above 0.
    pub lambda: f64,
    /// ρ of the elastic net, from 0 to 1.
    pub l1_ratio: f64,
    /// The groups of the group lasso.
    pub groups: Option<GroupMap>,
}

impl Default for PenaltyParameters {
    fn default() -> Self {
        PenaltyParameters { lambda: 1.0, l1_ratio: 0.5, groups: None }
    }
}

/// A penalty cannot be what was asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PenaltyError {
    /// No such name.
    #[error("no penalty is called \"{name}\"; known penalties: {}", known_names())]
    UnknownName {
        /// The name.
        name: String,
    },
    /// λ is not above 0.
    #[error("`lambda` must be a number above 0, not {lambda}; `penalty(none)` has no penalty")]
    Lambda {
        /// What was given.
        lambda: f64,
    },
    /// ρ is not a share.
    #[error("`l1_ratio` must be a number from 0 to 1, not {ratio}")]
    Ratio {
        /// What was given.
        ratio: f64,
    },
    /// A penalty of several weights together, with a bound for each.
    #[error("`non_negative` is for the penalties l2, l1, elastic-net and none, not {name}")]
    NonNegative {
        /// The penalty.
        name: &'static str,
    },
    /// The penalty `group` without groups.
    #[error("the penalty group needs `groups(FILE)`, one group of features per line")]
    NoGroups,
    /// A group weighs nothing or not a number.
    #[error("the weight {weight} of a group is not a number above 0")]
    GroupWeight {
        /// What was given.
        weight: f64,
    },
    /// A column is in a group that is not there.
    #[error("a column is in group {group}, and there are {groups} groups")]
    NoSuchGroup {
        /// The group.
        group: u32,
        /// How many there are.
        groups: usize,
    },
    /// The file of groups makes no sense.
    #[error("line {line} of the groups: {problem}")]
    GroupFile {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong, and what to write.
        problem: String,
    },
}
