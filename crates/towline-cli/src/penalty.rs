//! Which penalty, from what was typed.
use std::path::{Path, PathBuf};

use towline::{Fit, FitError};

/// Arguments that name a penalty.
#[derive(clap::Args, Clone)]
pub struct PenaltyArguments {
    /// The regularizer: l2, l1, elastic-net, group, nuclear (several targets or softmax) or none
    #[arg(long, default_value = "l2")]
    penalty: String,
    /// The share of l1 in the elastic net; the rest is l2 [default: 0.5]
    #[arg(help_heading = "Objective", long, value_name = "SHARE")]
    l1_ratio: Option<f64>,
    /// Groups of features, one per line: numbers and ranges (3-17) or names, and weight=W if it is not 1
    /// [default for several outputs: each feature]
    #[arg(help_heading = "Objective", long, value_name = "FILE")]
    groups: Option<PathBuf>,
}

impl PenaltyArguments {
    /// The file of groups, if there is one.
    pub fn group_file(&self) -> Option<&Path> {
        self.groups.as_deref()
    }

    /// The same fit with this penalty.
    pub fn set(&self, fit: Fit) -> Result<Fit, FitError> {
        let mut fit = fit.penalty(self.penalty.parse()?);
        if let Some(share) = self.l1_ratio {
            fit = fit.l1_ratio(share);
        }
        Ok(match &self.groups {
            Some(path) => fit.groups(path.as_path()),
            None => fit,
        })
    }
}
