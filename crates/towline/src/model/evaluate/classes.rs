//! Quality of a classifier of many classes.
use serde::Serialize;

use super::confusion::ratio;
use super::metric::Metric;

/// Quality of a classifier of many classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassQuality {
    /// Rows looked at.
    pub rows: u64,
    /// The share of rows whose class is predicted; also F1 over all decisions (micro), where each row has one class.
    pub accuracy: f64,
    /// The mean recall of the classes that the rows have.
    pub balanced_accuracy: f64,
    /// F1 of all decisions taken together. Rows of a class that the model does not know count as missed.
    pub micro_f1: f64,
    /// The mean F1 of the classes that the rows or the predictions have.
    pub macro_f1: f64,
    /// Gorodkin's R_K, which is Matthews' correlation coefficient for two classes.
    pub mcc: f64,
    /// Classes that a row's own has to be among.
    pub top: u32,
    /// The share of rows whose class is among this many with the highest scores.
    pub top_accuracy: f64,
    /// Mean of -log of the probability given to the true class, where the model has probabilities.
    pub log_loss: Option<f64>,
    /// Mean over rows of the squared distance of all probabilities from the truth, where the model has probabilities.
    pub brier: Option<f64>,
    /// The classes.
    pub classes: Vec<String>,
    /// Rows by true class and predicted class.
    pub confusion: Vec<Vec<u64>>,
    /// Rows of classes that the model does not know.
    pub unknown: u64,
}

impl ClassQuality {
    /// One of the measures; none where the rows do not say.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Accuracy => Some(self.accuracy),
            Metric::BalancedAccuracy => Some(self.balanced_accuracy),
            Metric::MicroF1 => Some(self.micro_f1),
            Metric::MacroF1 => Some(self.macro_f1),
            Metric::Mcc => Some(self.mcc),
            Metric::Top(k) => (k == self.top).then_some(self.top_accuracy),
            Metric::LogLoss => self.log_loss,
            Metric::Brier => self.brier,
            _ => None,
        }
    }
}

/// The scores of a row and what is known of it.
pub struct ClassRow<'a> {
    /// Its class, if the model knows it.
    pub truth: Option<usize>,
    /// The class that is predicted.
    pub predicted: usize,
    /// The scores of all classes.
    pub scores: &'a [f64],
    /// The probabilities of all classes; empty if there are none.
    pub chances: &'a [f64],
    /// What the row weighs.
    pub weight: f64,
}

/// Counts predictions of many classes.
#[derive(Clone, Debug)]
pub struct ClassCounts {
    /// Of each class: the weight of rows that have it, that are predicted to have it, and both.
    sums: Vec<[f64; 3]>,
    /// Predictions for rows of unknown classes.
    unknown_predictions: Vec<f64>,
    /// Rows by true and predicted class, if wanted.
    confusion: Vec<u64>,
    unknown: f64,
    top: u32,
    in_top: f64,
    /// Sums of log loss and Brier score.
    chances: Option<[f64; 2]>,
}

impl ClassCounts {
    /// No rows yet; probabilities are only judged if there are any. A table of all pairs of classes is kept if wanted.
    pub fn new(classes: usize, probabilities: bool, top: u32, table: bool) -> Self {
        ClassCounts {
            sums: vec![[0.0; 3]; classes],
            unknown_predictions: vec![0.0; classes],
            confusion: vec![0; if table { classes * classes } else { 0 }],
            unknown: 0.0,
            top,
            in_top: 0.0,
            chances: probabilities.then_some([0.0; 2]),
        }
    }

    /// Bytes of memory that counts of this many classes take.
    pub fn bytes(classes: usize, table: bool) -> u64 {
        let classes = classes as u64;
        classes.saturating_mul(32 + if table { 8 * classes } else { 0 })
    }

    /// Asks whether the class of a row is among this many.
    pub fn set_top(&mut self, top: u32) {
        self.top = top;
    }

    /// Adds a row.
    pub fn add(&mut self, row: &ClassRow) {
        let (classes, weight) = (self.sums.len(), row.weight);
        match row.truth {
            Some(truth) => {
                self.sums[truth][0] += weight;
                self.sums[row.predicted][1] += weight;
                self.sums[truth][2] += if truth == row.predicted { weight } else { 0.0 };
                self.in_top += if rank(row.scores, truth) < self.top { weight } else { 0.0 };
                if let Some(count) = self.confusion.get_mut(truth * classes + row.predicted) {
                    *count += 1;
                }
            }
            None => {
                self.unknown += weight;
                self.unknown_predictions[row.predicted] += weight;
            }
        }
        if let Some([log_loss, brier]) = &mut self.chances {
            let chance = row.truth.map_or(0.0, |truth| row.chances[truth]);
            *log_loss -= weight * chance.max(f64::MIN_POSITIVE).ln();
            let squares: f64 = row.chances.iter().map(|p| p * p).sum();
            *brier += weight * (squares - 2.0 * chance + 1.0);
        }
    }

    /// What came of it.
    pub fn finish(self, names: &[String]) -> ClassQuality {
        let sum = |at: usize| self.sums.iter().map(|sums| sums[at]).sum::<f64>();
        let (known, right) = (sum(0), sum(2));
        let rows = known + self.unknown;
        let present = self.sums.iter().filter(|sums| sums[0] > 0.0);
        let recalls: f64 = present.clone().map(|sums| sums[2] / sums[0]).sum();
        let seen = self.sums.iter().filter(|sums| sums[0] + sums[1] > 0.0);
        let f1s: f64 = seen.clone().map(|sums| 2.0 * sums[2] / (sums[0] + sums[1])).sum();
        ClassQuality {
            rows: rows.round() as u64,
            accuracy: ratio(right, rows),
            balanced_accuracy: ratio(recalls, present.count() as f64),
            // Rows of unknown classes have a prediction and no truth among the classes: missed on one side only.
            micro_f1: ratio(2.0 * right, known + rows),
            macro_f1: ratio(f1s, seen.count() as f64),
            mcc: self.correlation(right, rows),
            top: self.top,
            top_accuracy: ratio(self.in_top, rows),
            log_loss: self.chances.map(|sums| ratio(sums[0], rows)),
            brier: self.chances.map(|sums| ratio(sums[1], rows)),
            classes: names.to_vec(),
            confusion: self.confusion.chunks(names.len().max(1)).map(<[u64]>::to_vec).collect(),
            unknown: self.unknown.round() as u64,
        }
    }

    /// R_K (Gorodkin 2004, equation 8) from the sums of classes; unknown ones together are one that is never predicted.
    fn correlation(&self, right: f64, rows: f64) -> f64 {
        let predicted = |m: usize| self.sums[m][1] + self.unknown_predictions[m];
        let classes = 0..self.sums.len();
        let both: f64 = classes.clone().map(|m| self.sums[m][0] * predicted(m)).sum();
        let truths: f64 = self.sums.iter().map(|sums| sums[0] * sums[0]).sum::<f64>() + self.unknown * self.unknown;
        let predictions: f64 = classes.map(|m| predicted(m) * predicted(m)).sum();
        let spread = (rows * rows - truths).max(0.0).sqrt() * (rows * rows - predictions).max(0.0).sqrt();
        ratio(right * rows - both, spread)
    }
}

/// How many classes come before class `m`: those of a higher score, and of equal ones those named before it.
fn rank(scores: &[f64], m: usize) -> u32 {
    let before = |&(k, &score): &(usize, &f64)| score > scores[m] || (score == scores[m] && k < m);
    scores.iter().enumerate().filter(before).count() as u32
}
