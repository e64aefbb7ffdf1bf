//! Which penalty, from what was asked for.
use std::path::{Path, PathBuf};

use super::data::Data;
use super::error::{FitError, refuse};
use crate::budget::Budget;
use crate::group_file::read_groups;
use crate::penalty::{AnyPenalty, GroupMap, PenaltyParameters};
use crate::store::DiskStore;

pub use crate::penalty::Regularizer;

/// Which features form the groups of the group lasso.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Groups {
    /// A file with a group per line, for a store.
    File(PathBuf),
    /// A group for each column and one for the constant feature behind them.
    Map(GroupMap),
}

impl From<GroupMap> for Groups {
    fn from(groups: GroupMap) -> Self {
        Groups::Map(groups)
    }
}

impl From<&Path> for Groups {
    fn from(path: &Path) -> Self {
        Groups::File(path.to_path_buf())
    }
}

impl From<&str> for Groups {
    fn from(path: &str) -> Self {
        Groups::File(path.into())
    }
}

/// A penalty as it was asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct PenaltySettings {
    pub regularizer: Regularizer,
    pub lambda: Option<f64>,
    pub l1_ratio: Option<f64>,
    pub groups: Option<Groups>,
    pub non_negative: bool,
}

/// A file of groups larger than this is not one.
const LARGEST_GROUP_FILE: u64 = 1 << 30;

impl PenaltySettings {
    /// Whether any of it was asked for.
    pub fn is_set(&self) -> bool {
        let PenaltySettings { regularizer, lambda, l1_ratio, groups, non_negative } = self;
        let has_parameter = lambda.is_some() || l1_ratio.is_some() || groups.is_some();
        *regularizer != Regularizer::default() || has_parameter || *non_negative
    }

    /// The penalty, for the columns of `data` and this many outputs in one objective.
    pub fn penalty(&self, outputs: usize, data: &Data, budget: &Budget) -> Result<AnyPenalty, FitError> {
        let name = self.regularizer.name();
        if self.regularizer == Regularizer::Nuclear && outputs == 1 {
            return refuse(
                "`penalty(nuclear)` is for several outputs in one objective: `multiclass(softmax)`, or `loss(squared)` \
                 on rows \
                 with several targets; use l2, l1, elastic-net, group or none for one",
            );
        }
        for (given, setting, owner) in [
            (self.l1_ratio.is_some(), "l1_ratio", Regularizer::ElasticNet),
            (self.groups.is_some(), "groups", Regularizer::Group),
        ] {
            if given && self.regularizer != owner {
                let owner = owner.name();
                return refuse(format!("`{setting}` is for `penalty({owner})`, and the penalty is {name}"));
            }
        }
        let columns = data.store().shape().columns as usize;
        let groups = match &self.groups {
            Some(Groups::Map(map)) => Some(map.clone()),
            Some(Groups::File(path)) => Some(read(path, data, budget)?),
            // All weights of a feature.
            None if outputs > 1 && self.regularizer == Regularizer::Group => Some(GroupMap::of_each(columns + 1)?),
            None => None,
        };
        let (lambda, l1_ratio) = (self.lambda.unwrap_or(1.0), self.l1_ratio.unwrap_or(0.5));
        let penalty = self.regularizer.with(PenaltyParameters { lambda, l1_ratio, groups })?.for_outputs(outputs);
        Ok(if self.non_negative { penalty.non_negative()? } else { penalty })
    }
}

fn read(path: &Path, data: &Data, budget: &Budget) -> Result<GroupMap, FitError> {
    match data {
        Data::Disk(store) => read_file(path, store, budget),
        Data::Memory(_) => refuse("a file of `groups` is for a store; give rows in memory a map of groups"),
    }
}

fn read_file(path: &Path, store: &DiskStore, budget: &Budget) -> Result<GroupMap, FitError> {
    let cannot = |error: std::io::Error| FitError::Groups(format!("cannot read {}: {error}", path.display()));
    let bytes = std::fs::metadata(path).map_err(cannot)?.len();
    if bytes > LARGEST_GROUP_FILE {
        return Err(FitError::Groups(format!("{}: {bytes} bytes are more than a file of groups has", path.display())));
    }
    // The text, and a table with a few words for each of its features.
    let _paid = budget.reserve("groups of features", bytes.saturating_mul(8))?;
    let text = std::fs::read_to_string(path).map_err(cannot)?;
    let features = store.features(budget)?;
    read_groups(&text, &features, store.manifest().named_features)
        .map_err(|error| FitError::Groups(format!("{}: {error}", path.display())))
}
