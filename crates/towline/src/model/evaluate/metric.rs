//! The names of all measures, and what they are for.
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::objective::Targets;

/// A measure of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Metric {
    /// The share of rows whose class is predicted.
    Accuracy,
    /// The mean recall of all classes.
    BalancedAccuracy,
    /// The share of predicted positives that are positive.
    Precision,
    /// The share of positives that are predicted.
    Recall,
    /// The harmonic mean of precision and recall.
    F1,
    /// Matthews' correlation coefficient; of many classes Gorodkin's R_K.
    Mcc,
    /// The area under the ROC curve.
    Auc,
    /// The area under the curve of precision over recall, as average precision.
    PrAuc,
    /// Mean of -log of the probability that the true class was given.
    LogLoss,
    /// Mean squared distance of probabilities from the truth; of many classes summed over them.
    Brier,
    /// The mean F1 of all classes.
    MacroF1,
    /// F1 of all decisions taken together.
    MicroF1,
    /// The share of rows whose class is among this many with the highest scores.
    Top(u32),
    /// Root of the mean squared error.
    Rmse,
    /// Mean absolute error.
    Mae,
    /// The share of the variance that is explained.
    R2,
}

/// What a metric is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Classes,
    TwoClasses,
    ManyClasses,
    Numbers,
}

/// A metric of that name is not there, or not for this model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MetricError(String);

impl Metric {
    /// All of them, with one for the family of top-K.
    pub const ALL: [Metric; 16] = [
        Metric::Accuracy,
        Metric::BalancedAccuracy,
        Metric::Precision,
        Metric::Recall,
        Metric::F1,
        Metric::Mcc,
        Metric::Auc,
        Metric::PrAuc,
        Metric::LogLoss,
        Metric::Brier,
        Metric::MacroF1,
        Metric::MicroF1,
        Metric::Top(5),
        Metric::Rmse,
        Metric::Mae,
        Metric::R2,
    ];

    /// The name on the command line and in JSON.
    pub fn name(self) -> String {
        match self {
            Metric::Accuracy => "accuracy".into(),
            Metric::BalancedAccuracy => "balanced-accuracy".into(),
            Metric::Precision => "precision".into(),
            Metric::Recall => "recall".into(),
            Metric::F1 => "f1".into(),
            Metric::Mcc => "mcc".into(),
            Metric::Auc => "auc".into(),
            Metric::PrAuc => "pr-auc".into(),
            Metric::LogLoss => "log-loss".into(),
            Metric::Brier => "brier".into(),
            Metric::MacroF1 => "macro-f1".into(),
            Metric::MicroF1 => "micro-f1".into(),
            Metric::Top(k) => format!("top-{k}"),
            Metric::Rmse => "rmse".into(),
            Metric::Mae => "mae".into(),
            Metric::R2 => "r2".into(),
        }
    }

    /// What a person calls it.
    pub fn title(self) -> String {
        match self {
            Metric::BalancedAccuracy => "balanced accuracy".into(),
            Metric::F1 => "F1".into(),
            Metric::Mcc => "MCC".into(),
            Metric::Auc => "AUC".into(),
            Metric::PrAuc => "PR-AUC".into(),
            Metric::LogLoss => "log loss".into(),
            Metric::Brier => "Brier score".into(),
            Metric::MacroF1 => "macro F1".into(),
            Metric::MicroF1 => "micro F1".into(),
            Metric::Top(k) => format!("top {k}"),
            Metric::Rmse => "RMSE".into(),
            Metric::Mae => "MAE".into(),
            Metric::R2 => "R²".into(),
            other => other.name(),
        }
    }

    /// What models for such targets are compared by unless somebody says otherwise.
    pub fn default_for(targets: &Targets) -> Metric {
        if targets.are_numbers() { Metric::Rmse } else { Metric::Accuracy }
    }

    /// Whether less of it is better.
    pub fn smaller_is_better(self) -> bool {
        matches!(self, Metric::LogLoss | Metric::Brier | Metric::Rmse | Metric::Mae)
    }

    /// Whether it is a share of rows, which people read in percent.
    pub fn is_share_of_rows(self) -> bool {
        matches!(self, Metric::Accuracy | Metric::BalancedAccuracy | Metric::Top(_))
    }

    /// Whether it depends on which of two classes is the positive one.
    pub fn has_positive_class(self) -> bool {
        matches!(self, Metric::Precision | Metric::Recall | Metric::F1 | Metric::Auc | Metric::PrAuc)
    }

    /// Whether it judges probabilities.
    pub fn needs_probabilities(self) -> bool {
        matches!(self, Metric::LogLoss | Metric::Brier)
    }

    /// Whether the scores of all rows have to be in memory for it.
    pub fn needs_ranks(self) -> bool {
        matches!(self, Metric::Auc | Metric::PrAuc)
    }

    fn about(self) -> About {
        match self {
            Metric::Rmse | Metric::Mae | Metric::R2 => About::Numbers,
            Metric::MacroF1 | Metric::MicroF1 | Metric::Top(_) => About::ManyClasses,
            Metric::Precision | Metric::Recall | Metric::F1 | Metric::Auc | Metric::PrAuc => About::TwoClasses,
            _ => About::Classes,
        }
    }

    /// Whether it says something of such targets.
    fn fits(self, targets: &Targets) -> bool {
        match targets {
            Targets::Numbers | Targets::Several { .. } => self.about() == About::Numbers,
            Targets::Binary { .. } | Targets::OneOf { .. } => {
                matches!(self.about(), About::Classes | About::TwoClasses)
            }
            Targets::Classes { .. } => matches!(self.about(), About::Classes | About::ManyClasses),
        }
    }

    /// Refuses a metric that says nothing of such targets.
    pub fn check(self, targets: &Targets, has_probabilities: bool) -> Result<(), MetricError> {
        let name = self.name();
        if !self.fits(targets) {
            let (is_for, here) = (self.about().describe(), About::of(targets).describe());
            let all = Metric::ALL.iter().filter(|metric| metric.fits(targets));
            let all: Vec<String> = all.map(|metric| metric.name()).collect();
            let known = all.join(", ");
            return Err(MetricError(format!(
                "`metric({name})` is for {is_for}, and this is about {here}; use {known}"
            )));
        }
        if self.needs_probabilities() && !has_probabilities {
            return Err(MetricError(format!(
                "`metric({name})` judges probabilities, and scores of this loss are none; use `loss(logistic)`, or \
                 train with \
                 `calibrate`"
            )));
        }
        Ok(())
    }
}

impl About {
    fn of(targets: &Targets) -> About {
        match targets {
            Targets::Numbers | Targets::Several { .. } => About::Numbers,
            Targets::Binary { .. } | Targets::OneOf { .. } => About::TwoClasses,
            Targets::Classes { .. } => About::ManyClasses,
        }
    }

    fn describe(self) -> &'static str {
        match self {
            About::Classes => "classes",
            About::TwoClasses => "two classes",
            About::ManyClasses => "many classes",
            About::Numbers => "numbers",
        }
    }
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Self, MetricError> {
        let top = text.strip_prefix("top-").and_then(|k| k.parse().ok()).filter(|&k| k > 0).map(Metric::Top);
        top.or_else(|| Metric::ALL.into_iter().find(|metric| metric.name() == text)).ok_or_else(|| {
            let names: Vec<String> = Metric::ALL.iter().map(|metric| metric.name()).collect();
            MetricError(format!("'{text}' is none of {} (any number for 5)", names.join(", ")))
        })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_again() {
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse(), Ok(metric));
        }
        assert_eq!("top-17".parse(), Ok(Metric::Top(17)));
        for wrong in ["", "AUC", "top-0", "top-x", "top"] {
            assert!(wrong.parse::<Metric>().unwrap_err().to_string().contains("balanced-accuracy"), "{wrong}");
        }
    }

    #[test]
    fn a_metric_for_something_else_is_refused_with_those_that_fit() {
        let numbers = Targets::Numbers;
        assert_eq!(Metric::Mae.check(&numbers, false), Ok(()));
        let refused = Metric::Auc.check(&numbers, false).unwrap_err().to_string();
        assert_eq!(refused, "`metric(auc)` is for two classes, and this is about numbers; use rmse, mae, r2");
        let binary = Targets::Binary { positive: 1.0, names: ["a".into(), "b".into()], weights: [1.0, 1.0] };
        assert_eq!(Metric::LogLoss.check(&binary, true), Ok(()));
        assert!(Metric::LogLoss.check(&binary, false).unwrap_err().to_string().contains("calibrate"));
        assert!(Metric::Top(3).check(&binary, true).is_err());
    }
}
