//! Quality of a classifier of two classes.
use serde::Serialize;

use super::confusion::{Confusion, ratio};
use super::metric::Metric;
use super::ranking::{self, Ranked};
use super::threshold::Threshold;

/// Quality of a classifier of two classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BinaryQuality {
    /// Rows looked at.
    pub rows: u64,
    /// The class that precision, recall, F1 and the areas are about.
    pub positive: String,
    /// From where on a row is called positive, if it is not where the model changes sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The share of rows whose class is predicted.
    pub accuracy: f64,
    /// The mean recall of both classes.
    pub balanced_accuracy: f64,
    /// The share of predicted positives that are positive.
    pub precision: f64,
    /// The share of positives that are predicted.
    pub recall: f64,
    /// The harmonic mean of precision and recall.
    pub f1: f64,
    /// Matthews' correlation coefficient.
    pub mcc: f64,
    /// The probability that a positive row has a higher score than a negative one; ties count half. None if a class is
    /// missing.
    pub auc: Option<f64>,
    /// Average precision. None if no row is positive.
    pub pr_auc: Option<f64>,
    /// Mean of -log of the probability given to the true class, where the model has probabilities.
    pub log_loss: Option<f64>,
    /// Mean squared distance of the positive class's probability from the truth, where the model has probabilities.
    pub brier: Option<f64>,
    /// The two classes, in the order of the model.
    pub classes: [String; 2],
    /// Rows by true class and predicted class, in that order.
    pub confusion: [[u64; 2]; 2],
    /// Rows of labels that the model does not know; they count as wrong, and are no part of anything but the accuracy.
    pub unknown: u64,
}

impl BinaryQuality {
    /// One of the measures; none where the rows do not say.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Accuracy => Some(self.accuracy),
            Metric::BalancedAccuracy => Some(self.balanced_accuracy),
            Metric::Precision => Some(self.precision),
            Metric::Recall => Some(self.recall),
            Metric::F1 => Some(self.f1),
            Metric::Mcc => Some(self.mcc),
            Metric::Auc => self.auc,
            Metric::PrAuc => self.pr_auc,
            Metric::LogLoss => self.log_loss,
            Metric::Brier => self.brier,
            _ => None,
        }
    }
}

/// What has been seen of two classes. Scores speak for the second class of the model; `positive` says which of them is
/// reported.
#[derive(Debug)]
pub(super) struct BinaryRows {
    pub positive: usize,
    /// All rows, if they are to be ranked.
    pub rows: Vec<Ranked>,
    pub ranks: bool,
    /// Decisions where the model changes sides.
    pub decided: Confusion,
    pub known: f64,
    pub unknown: f64,
    /// Sums of log loss and Brier score, by weight.
    pub sums: Option<[f64; 2]>,
}

impl BinaryRows {
    pub fn new(positive: usize, has_probabilities: bool) -> Self {
        BinaryRows {
            positive,
            rows: Vec::new(),
            ranks: true,
            decided: Confusion::default(),
            known: 0.0,
            unknown: 0.0,
            sums: has_probabilities.then_some([0.0; 2]),
        }
    }

    /// Adds a row with the score of the second class, and the probability of each.
    pub fn add(&mut self, score: f64, class: Option<usize>, chances: &[f64], weight: f64) {
        let Some(class) = class else {
            self.unknown += weight;
            return;
        };
        let is_positive = class == self.positive;
        self.known += weight;
        // A score of 0 speaks for the first class.
        self.decided.add(is_positive, usize::from(score > 0.0) == self.positive, weight);
        if self.ranks {
            self.rows.push(Ranked::new(if self.positive == 1 { score } else { -score }, is_positive, weight));
        }
        if let Some([log_loss, brier]) = &mut self.sums {
            *log_loss -= weight * chances[class].max(f64::MIN_POSITIVE).ln();
            *brier += weight * (1.0 - chances[class]).powi(2);
        }
    }

    /// Decisions at a threshold; where there are probabilities, those are ranked. `chance` is that of the second class.
    fn decided_at(&self, rule: Threshold, chance: Option<&dyn Fn(f64) -> f64>) -> (Confusion, f64) {
        let ranked = |row: &Ranked| {
            let score = chance.map_or(row.score, |chance| match self.positive {
                1 => chance(row.score),
                _ => 1.0 - chance(-row.score),
            });
            Ranked { score, ..*row }
        };
        let threshold = match rule {
            Threshold::At(threshold) => threshold,
            rule if chance.is_none() => rule.find(&self.rows),
            rule => rule.find(&self.rows.iter().map(ranked).collect::<Vec<_>>()),
        };
        let mut confusion = Confusion::default();
        for row in self.rows.iter().map(ranked) {
            confusion.add(row.is_positive(), row.score > threshold, row.weight());
        }
        (confusion, threshold)
    }

    pub fn finish(
        mut self,
        names: &[String; 2],
        rule: Option<Threshold>,
        chance: Option<&dyn Fn(f64) -> f64>,
    ) -> BinaryQuality {
        ranking::sort(&mut self.rows);
        let (confusion, threshold) = match rule {
            None => (self.decided, None),
            Some(rule) => {
                let (confusion, threshold) = self.decided_at(rule, chance);
                (confusion, Some(threshold))
            }
        };
        let known = self.known;
        let mean = |at: usize| self.sums.map(|sums| ratio(sums[at], known));
        let count = |weight: f64| weight.round() as u64;
        let mut table = [confusion.negative, confusion.positive].map(|row| row.map(count));
        if self.positive == 0 {
            table = [[table[1][1], table[1][0]], [table[0][1], table[0][0]]];
        }
        BinaryQuality {
            rows: count(known + self.unknown),
            positive: names[self.positive].clone(),
            threshold,
            accuracy: confusion.accuracy(self.unknown),
            balanced_accuracy: confusion.balanced_accuracy(),
            precision: confusion.precision(),
            recall: confusion.recall(),
            f1: confusion.f1(),
            mcc: confusion.mcc(),
            auc: ranking::auc(&self.rows),
            pr_auc: ranking::average_precision(&self.rows),
            log_loss: mean(0),
            brier: mean(1),
            classes: names.clone(),
            confusion: table,
            unknown: count(self.unknown),
        }
    }
}
