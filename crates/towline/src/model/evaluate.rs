//! How good predictions are.
use serde::Serialize;

use crate::predict::probability;

/// Quality of a classifier of two classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BinaryQuality {
    /// Rows looked at.
    pub rows: u64,
    /// The share of rows whose class is predicted.
    pub accuracy: f64,
    /// The share of predicted positives that are positive.
    pub precision: f64,
    /// The share of positives that are predicted.
    pub recall: f64,
    /// The harmonic mean of precision and recall.
    pub f1: f64,
    /// The probability that a positive row has a higher score than a negative one; ties count half. `None` if a class
    /// is missing.
    pub auc: Option<f64>,
    /// Mean of -log of the probability given to the true class, for the logistic loss.
    pub log_loss: Option<f64>,
    /// Rows by true class (first negative) and predicted class.
    pub confusion: [[u64; 2]; 2],
}

/// Quality of a classifier of many classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassQuality {
    /// Rows looked at.
    pub rows: u64,
    /// The share of rows whose class is predicted; also F1 over all decisions (micro), where each row has one class.
    pub accuracy: f64,
    /// F1 of all decisions taken together. Rows of a class that the model does not know count as missed.
    pub micro_f1: f64,
    /// The mean F1 of the classes that the rows or the predictions have.
    pub macro_f1: f64,
    /// Mean of -log of the probability given to the true class, where the model has probabilities.
    pub log_loss: Option<f64>,
    /// The classes.
    pub classes: Vec<String>,
    /// Rows by true class and predicted class.
    pub confusion: Vec<Vec<u64>>,
    /// Rows of classes that the model does not know.
    pub unknown: u64,
}

/// Quality of predicted numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberQuality {
    /// Rows looked at.
    pub rows: u64,
    /// Root of the mean squared error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// The share of the variance that is explained. `None` if there is no variance.
    pub r2: Option<f64>,
}

/// Quality of several predicted numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeveralQuality {
    /// Rows looked at.
    pub rows: u64,
    /// Root of the squared error, which is the mean over rows and targets.
    pub rmse: f64,
    /// The mean over rows and targets.
    pub mae: f64,
    /// The mean over targets. `None` if one of them has no variance.
    pub r2: Option<f64>,
    /// Each of them.
    pub targets: Vec<TargetQuality>,
}

/// Quality of one of several numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetQuality {
    /// What it is called.
    pub name: String,
    /// How good its predictions are.
    #[serde(flatten)]
    pub quality: NumberQuality,
}

/// Judges several numbers a row, while they come.
#[derive(Clone, Debug)]
pub struct SeveralSums {
    rows: f64,
    targets: Vec<(String, NumberSums)>,
}

/// Sums of errors, and mean and variance by Welford's recurrence.
#[derive(Clone, Copy, Debug, Default)]
struct NumberSums {
    squared: f64,
    absolute: f64,
    mean: f64,
    variance: f64,
}

impl SeveralSums {
    /// No rows yet.
    pub fn new(names: &[String]) -> Self {
        SeveralSums { rows: 0.0, targets: names.iter().map(|name| (name.clone(), NumberSums::default())).collect() }
    }

    /// Adds a row: predictions and truths in the order of the names.
    pub fn add<'a>(&mut self, predicted: &[f64], truths: impl Iterator<Item = &'a f64>) {
        self.rows += 1.0;
        for ((_, sums), (p, y)) in self.targets.iter_mut().zip(predicted.iter().zip(truths)) {
            let off = y - sums.mean;
            sums.squared += (p - y) * (p - y);
            sums.absolute += (p - y).abs();
            sums.mean += off / self.rows;
            sums.variance += off * (y - sums.mean);
        }
    }

    /// What came of it.
    pub fn finish(self) -> SeveralQuality {
        let (n, rows) = (self.rows.max(1.0), self.rows as u64);
        let judge = |(name, sums): (String, NumberSums)| {
            let r2 = (sums.variance > 0.0).then(|| 1.0 - sums.squared / sums.variance);
            let quality = NumberQuality { rows, rmse: (sums.squared / n).sqrt(), mae: sums.absolute / n, r2 };
            TargetQuality { name, quality }
        };
        let targets: Vec<TargetQuality> = self.targets.into_iter().map(judge).collect();
        let mean = |of: &dyn Fn(&NumberQuality) -> f64| {
            targets.iter().map(|target| of(&target.quality)).sum::<f64>() / targets.len().max(1) as f64
        };
        let all: Option<f64> = targets.iter().map(|target| target.quality.r2).sum();
        SeveralQuality {
            rows,
            rmse: mean(&|target| target.rmse * target.rmse).sqrt(),
            mae: mean(&|target| target.mae),
            r2: all.map(|sum| sum / targets.len().max(1) as f64),
            targets,
        }
    }
}

/// Judges scores of rows that are positive or not.
pub fn binary(rows: &[(f64, bool)], probabilities: bool) -> BinaryQuality {
    let mut confusion = [[0u64; 2]; 2];
    for &(score, positive) in rows {
        confusion[usize::from(positive)][usize::from(score > 0.0)] += 1;
    }
    let ratio = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
    let [[tn, fp], [fn_, tp]] = confusion;
    let (precision, recall) = (ratio(tp, tp + fp), ratio(tp, tp + fn_));
    let f1 = if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 };
    let log_loss = probabilities.then(|| {
        let cost = |&(score, positive): &(f64, bool)| {
            let p = probability(if positive { score } else { -score });
            -p.max(f64::MIN_POSITIVE).ln()
        };
        rows.iter().map(cost).sum::<f64>() / rows.len().max(1) as f64
    });
    let rows_count = rows.len() as u64;
    BinaryQuality {
        rows: rows_count,
        accuracy: ratio(tp + tn, rows_count),
        precision,
        recall,
        f1,
        auc: auc(rows),
        log_loss,
        confusion,
    }
}

/// Counts predictions of many classes.
#[derive(Clone, Debug)]
pub struct ClassCounts {
    classes: Vec<String>,
    confusion: Vec<Vec<u64>>,
    unknown: u64,
    log_loss: Option<f64>,
}

impl ClassCounts {
    /// No rows yet; probabilities are only judged if there are any.
    pub fn new(classes: &[String], probabilities: bool) -> Self {
        let confusion = vec![vec![0; classes.len()]; classes.len()];
        ClassCounts { classes: classes.to_vec(), confusion, unknown: 0, log_loss: probabilities.then_some(0.0) }
    }

    /// Adds a row: its true class, if the model knows it, the predicted one, and the probability that the true one was
    /// given.
    pub fn add(&mut self, truth: Option<usize>, predicted: usize, probability: f64) {
        match truth {
            Some(truth) => self.confusion[truth][predicted] += 1,
            None => self.unknown += 1,
        }
        if let Some(sum) = &mut self.log_loss {
            *sum -= if truth.is_some() { probability.max(f64::MIN_POSITIVE).ln() } else { f64::MIN_POSITIVE.ln() };
        }
    }

    /// What came of it.
    pub fn finish(self) -> ClassQuality {
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let rows: u64 = self.confusion.iter().flatten().sum::<u64>() + self.unknown;
        let right: u64 = (0..self.classes.len()).map(|m| self.confusion[m][m]).sum();
        let mut scores = Vec::new();
        for m in 0..self.classes.len() {
            let truths: u64 = self.confusion[m].iter().sum();
            let predictions: u64 = self.confusion.iter().map(|row| row[m]).sum();
            if truths + predictions > 0 {
                scores.push(2.0 * self.confusion[m][m] as f64 / (truths + predictions) as f64);
            }
        }
        // Rows of unknown classes have a prediction and no truth among the classes: missed on one side only.
        let known = (rows - self.unknown) as f64;
        ClassQuality {
            rows,
            accuracy: ratio(right as f64, rows as f64),
            micro_f1: ratio(2.0 * right as f64, known + rows as f64),
            macro_f1: ratio(scores.iter().sum(), scores.len() as f64),
            log_loss: self.log_loss.map(|sum| ratio(sum, rows as f64)),
            classes: self.classes,
            confusion: self.confusion,
            unknown: self.unknown,
        }
    }
}

/// The area under the ROC curve by ranks (Mann–Whitney), ties at their mean rank.
fn auc(rows: &[(f64, bool)]) -> Option<f64> {
    let positives = rows.iter().filter(|row| row.1).count() as f64;
    let negatives = rows.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return None;
    }
    let mut sorted: Vec<(f64, bool)> = rows.to_vec();
    sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut rank_sum, mut below) = (0.0, 0);
    for ties in sorted.chunk_by(|a, b| a.0 == b.0) {
        let mean_rank = below as f64 + (ties.len() as f64 + 1.0) / 2.0;
        rank_sum += mean_rank * ties.iter().filter(|row| row.1).count() as f64;
        below += ties.len();
    }
    Some((rank_sum - positives * (positives + 1.0) / 2.0) / (positives * negatives))
}

/// Judges predicted numbers, as pairs of prediction and truth.
pub fn numbers(rows: &[(f64, f64)]) -> NumberQuality {
    let n = rows.len().max(1) as f64;
    let mean = rows.iter().map(|row| row.1).sum::<f64>() / n;
    let squared: f64 = rows.iter().map(|(p, y)| (p - y) * (p - y)).sum();
    let variance: f64 = rows.iter().map(|(_, y)| (y - mean) * (y - mean)).sum();
    NumberQuality {
        rows: rows.len() as u64,
        rmse: (squared / n).sqrt(),
        mae: rows.iter().map(|(p, y)| (p - y).abs()).sum::<f64>() / n,
        r2: (variance > 0.0).then(|| 1.0 - squared / variance),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn auc_is_the_share_of_ordered_pairs(rows in proptest::collection::vec((-5i32..5, any::<bool>()), 0..60)) {
            let rows: Vec<(f64, bool)> = rows.into_iter().map(|(s, p)| (f64::from(s), p)).collect();
            let (mut ordered, mut pairs) = (0.0, 0.0);
            for a in rows.iter().filter(|r| r.1) {
                for b in rows.iter().filter(|r| !r.1) {
                    pairs += 1.0;
                    ordered += if a.0 > b.0 { 1.0 } else if a.0 == b.0 { 0.5 } else { 0.0 };
                }
            }
            match auc(&rows) {
                None => prop_assert_eq!(pairs, 0.0),
                Some(found) => prop_assert!((found - ordered / pairs).abs() < 1e-12),
            }
        }
    }

    #[test]
    fn many_classes_by_hand() {
        let names = ["a", "b", "c"].map(String::from);
        let mut counts = ClassCounts::new(&names, false);
        for (truth, predicted) in [(Some(0), 0), (Some(0), 1), (Some(1), 1), (Some(1), 1), (None, 0)] {
            counts.add(truth, predicted, 0.0);
        }
        let quality = counts.finish();
        assert_eq!((quality.rows, quality.unknown, quality.accuracy), (5, 1, 0.6));
        // F1 of a: 2·1/(2 + 1), of b: 2·2/(2 + 3); c is nowhere.
        assert!((quality.macro_f1 - (2.0 / 3.0 + 0.8) / 2.0).abs() < 1e-12);
        assert!((quality.micro_f1 - 6.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn a_small_table_by_hand() {
        let quality = binary(&[(1.0, true), (0.5, false), (-1.0, false), (-0.1, true)], true);
        assert_eq!(quality.confusion, [[1, 1], [1, 1]]);
        assert_eq!((quality.accuracy, quality.precision, quality.recall, quality.f1), (0.5, 0.5, 0.5, 0.5));
        assert_eq!(quality.auc, Some(0.75));
        let numbers = numbers(&[(1.0, 2.0), (3.0, 4.0)]);
        assert_eq!((numbers.rmse, numbers.mae, numbers.r2), (1.0, 1.0, Some(0.0)));
    }

    #[test]
    fn several_numbers_are_judged_one_by_one() {
        let rows = [([1.0, 7.0], [2.0, 7.0]), ([3.0, 8.0], [4.0, 9.0]), ([5.0, 9.5], [4.5, 10.0])];
        let mut sums = SeveralSums::new(&["a".to_string(), "b".to_string()]);
        rows.iter().for_each(|(predicted, truths)| sums.add(predicted, truths.iter()));
        let quality = sums.finish();
        for (m, TargetQuality { quality: target, .. }) in quality.targets.iter().enumerate() {
            let pairs: Vec<(f64, f64)> = rows.iter().map(|(predicted, truths)| (predicted[m], truths[m])).collect();
            let alone = numbers(&pairs);
            assert!((target.rmse - alone.rmse).abs() < 1e-12 && (target.mae - alone.mae).abs() < 1e-12);
            assert!((target.r2.unwrap() - alone.r2.unwrap()).abs() < 1e-12);
        }
        let mean = quality.targets.iter().map(|target| target.quality.r2.unwrap()).sum::<f64>() / 2.0;
        assert!((quality.r2.unwrap() - mean).abs() < 1e-12);
    }
}
