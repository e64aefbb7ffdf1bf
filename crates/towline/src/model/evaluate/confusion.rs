//! Measures of decisions between two classes.

/// The weight of rows by true class and predicted class: first the negative one, then the positive one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Confusion {
    /// Negative rows, by what was predicted.
    pub negative: [f64; 2],
    /// Positive rows, by what was predicted.
    pub positive: [f64; 2],
}

impl Confusion {
    /// Adds a row.
    pub fn add(&mut self, is_positive: bool, predicted: bool, weight: f64) {
        let row = if is_positive { &mut self.positive } else { &mut self.negative };
        row[usize::from(predicted)] += weight;
    }

    fn rows(&self) -> f64 {
        self.negative.iter().chain(&self.positive).sum()
    }

    /// The share of rows whose class is predicted; rows of other classes, of weight `unknown`, are wrong.
    pub fn accuracy(&self, unknown: f64) -> f64 {
        ratio(self.negative[0] + self.positive[1], self.rows() + unknown)
    }

    /// The mean recall of the classes that there are.
    pub fn balanced_accuracy(&self) -> f64 {
        let recalls = [(self.negative, 0), (self.positive, 1)].map(|(row, right)| (row[right], row[0] + row[1]));
        let present = recalls.iter().filter(|(_, all)| *all > 0.0);
        ratio(present.clone().map(|(right, all)| right / all).sum(), present.count() as f64)
    }

    /// The share of predicted positives that are positive; 0 if there are none.
    pub fn precision(&self) -> f64 {
        ratio(self.positive[1], self.positive[1] + self.negative[1])
    }

    /// The share of positives that are predicted; 0 if there are none.
    pub fn recall(&self) -> f64 {
        ratio(self.positive[1], self.positive[0] + self.positive[1])
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        ratio(2.0 * self.positive[1], 2.0 * self.positive[1] + self.positive[0] + self.negative[1])
    }

    /// Matthews' correlation coefficient; 0 where one side is always the same.
    pub fn mcc(&self) -> f64 {
        let ([tn, fp], [fn_, tp]) = (self.negative, self.positive);
        let product = ((tp + fp) * (tp + fn_)).sqrt() * ((tn + fp) * (tn + fn_)).sqrt();
        ratio(tp * tn - fp * fn_, product)
    }

    /// What mistakes cost.
    pub fn cost(&self, false_positive: f64, false_negative: f64) -> f64 {
        false_positive * self.negative[1] + false_negative * self.positive[0]
    }
}

/// A share; 0 of nothing.
pub fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn mcc_is_the_correlation_of_truth_and_prediction(
            rows in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..60),
        ) {
            let mut confusion = Confusion::default();
            rows.iter().for_each(|&(truth, predicted)| confusion.add(truth, predicted, 1.0));
            let n = rows.len() as f64;
            let number = |is: bool| if is { 1.0 } else { 0.0 };
            let mean = rows.iter().fold([0.0, 0.0], |sum, row| [sum[0] + number(row.0) / n, sum[1] + number(row.1) / n]);
            let (mut both, mut a, mut b) = (0.0, 0.0, 0.0);
            for &(truth, predicted) in &rows {
                let (x, y) = (number(truth) - mean[0], number(predicted) - mean[1]);
                (both, a, b) = (both + x * y, a + x * x, b + y * y);
            }
            let expected = if a * b > 1e-12 { both / f64::sqrt(a * b) } else { 0.0 };
            prop_assert!((confusion.mcc() - expected).abs() < 1e-9, "{} {expected}", confusion.mcc());
            let (precision, recall) = (confusion.precision(), confusion.recall());
            let f1 = if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 };
            prop_assert!((confusion.f1() - f1).abs() < 1e-12);
        }
    }
}
