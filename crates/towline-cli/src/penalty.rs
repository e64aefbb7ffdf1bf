//! Which penalty, from what was typed.
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use towline::budget::Budget;
use towline::penalty::{AnyPenalty, GroupMap, read_groups};
use towline::store::{BlockStore, DiskStore, StoreError};

/// A file of groups larger than this is not one.
const LARGEST_GROUP_FILE: u64 = 1 << 30;

/// Arguments that name a penalty.
#[derive(clap::Args, Clone)]
pub struct PenaltyArguments {
    /// What weights cost: l2, l1, elastic-net, group, nuclear (several targets or softmax) or none
    #[arg(long, default_value = "l2")]
    penalty: String,
    /// The share of l1 in the elastic net; the rest is l2 [default: 0.5]
    #[arg(long, value_name = "SHARE")]
    l1_ratio: Option<f64>,
    /// Groups of features, one per line: numbers and ranges (3-17) or names, and weight=W if it is not 1 [default for several outputs: each feature]
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
}

impl PenaltyArguments {
    /// The file of groups, if there is one.
    pub fn group_file(&self) -> Option<&Path> {
        self.groups.as_deref()
    }

    /// The penalty, for the columns of `store` and so many outputs in one objective.
    pub fn penalty(
        &self,
        lambda: f64,
        outputs: usize,
        store: &DiskStore,
        budget: &Budget,
    ) -> anyhow::Result<AnyPenalty> {
        if self.penalty == "nuclear" && outputs == 1 {
            bail!(
                "--penalty nuclear is for several outputs in one objective: --multiclass softmax, or --loss squared on rows with several targets; use l2, l1, elastic-net, group or none for one"
            );
        }
        for (given, option, owner) in
            [(self.l1_ratio.is_some(), "--l1-ratio", "elastic-net"), (self.groups.is_some(), "--groups", "group")]
        {
            if given && self.penalty != owner {
                bail!("{option} is for --penalty {owner}, and the penalty is {}", self.penalty);
            }
        }
        let groups = match &self.groups {
            Some(path) => Some(self.read(path, store, budget)?),
            // All weights of a feature.
            None if outputs > 1 && self.penalty == "group" => {
                Some(GroupMap::of_each(store.shape().columns as usize + 1)?)
            }
            None => None,
        };
        let penalty = AnyPenalty::from_name(&self.penalty, lambda, self.l1_ratio.unwrap_or(0.5), groups)?;
        Ok(penalty.for_outputs(outputs))
    }

    fn read(&self, path: &PathBuf, store: &DiskStore, budget: &Budget) -> anyhow::Result<GroupMap> {
        let cannot = || format!("cannot read {}", path.display());
        let bytes = std::fs::metadata(path).with_context(cannot)?.len();
        if bytes > LARGEST_GROUP_FILE {
            bail!("{}: {bytes} bytes are more than a file of groups has", path.display());
        }
        // The text, and a table with a few words for each of its features.
        let _paid = budget.reserve("groups of features", bytes.saturating_mul(8)).map_err(StoreError::from)?;
        let text = std::fs::read_to_string(path).with_context(cannot)?;
        let features = store.features(budget)?;
        read_groups(&text, &features, store.manifest().named_features).with_context(|| path.display().to_string())
    }
}
