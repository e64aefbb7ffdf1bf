//! Measures of an order: how well scores put positive rows before negative ones.

/// A row that is judged by its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// How much speaks for the positive class.
    pub score: f64,
    /// The weight of the row, with the sign of its class: above 0 for a positive row, below 0 for a negative one.
    pub signed_weight: f64,
}

impl Ranked {
    /// A row of this weight.
    pub fn new(score: f64, is_positive: bool, weight: f64) -> Ranked {
        Ranked { score, signed_weight: if is_positive { weight } else { -weight } }
    }

    /// What it weighs.
    pub fn weight(&self) -> f64 {
        self.signed_weight.abs()
    }

    /// Whether its class is the positive one.
    pub fn is_positive(&self) -> bool {
        self.signed_weight > 0.0
    }
}

/// Puts the highest scores first.
pub fn sort(rows: &mut [Ranked]) {
    rows.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
}

/// The weight of positive and of negative rows, of each score, the highest first.
pub fn by_score(sorted: &[Ranked]) -> impl Iterator<Item = (f64, [f64; 2])> + '_ {
    sorted.chunk_by(|a, b| a.score == b.score).map(|ties| (ties[0].score, weights(ties)))
}

/// The weight of positive and of negative rows.
pub fn weights(rows: &[Ranked]) -> [f64; 2] {
    rows.iter().fold([0.0, 0.0], |[positive, negative], row| match row.is_positive() {
        true => [positive + row.weight(), negative],
        false => [positive, negative + row.weight()],
    })
}

/// The area under the ROC curve: the probability that a positive row has a higher score than a negative one, where ties
/// count half. None if a class is missing.
pub fn auc(sorted: &[Ranked]) -> Option<f64> {
    let [all_positive, all_negative] = weights(sorted);
    if all_positive <= 0.0 || all_negative <= 0.0 {
        return None;
    }
    let (mut ordered, mut above) = (0.0, 0.0);
    for (_, [positive, negative]) in by_score(sorted) {
        ordered += negative * (above + positive / 2.0);
        above += positive;
    }
    Some(ordered / (all_positive * all_negative))
}

/// Average precision: the sum over scores of precision times the recall that is won there. None if nothing is positive.
pub fn average_precision(sorted: &[Ranked]) -> Option<f64> {
    let [all_positive, _] = weights(sorted);
    if all_positive <= 0.0 {
        return None;
    }
    let (mut sum, mut found, mut taken) = (0.0, 0.0, 0.0);
    for (_, [positive, negative]) in by_score(sorted) {
        found += positive;
        taken += positive + negative;
        sum += positive * found / taken;
    }
    Some(sum / all_positive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows() -> impl Strategy<Value = Vec<Ranked>> {
        let row = (-5i32..5, any::<bool>(), 1u32..4);
        proptest::collection::vec(row, 0..60).prop_map(|rows| {
            let mut rows: Vec<Ranked> =
                rows.into_iter().map(|(score, is, weight)| Ranked::new(score.into(), is, weight.into())).collect();
            sort(&mut rows);
            rows
        })
    }

    proptest! {
        #[test]
        fn auc_is_the_share_of_ordered_pairs(rows in rows()) {
            let (mut ordered, mut pairs) = (0.0, 0.0);
            for a in rows.iter().filter(|row| row.is_positive()) {
                for b in rows.iter().filter(|row| !row.is_positive()) {
                    let weight = a.weight() * b.weight();
                    pairs += weight;
                    ordered += if a.score > b.score { weight } else if a.score == b.score { weight / 2.0 } else { 0.0 };
                }
            }
            match auc(&rows) {
                None => prop_assert_eq!(pairs, 0.0),
                Some(found) => prop_assert!((found - ordered / pairs).abs() < 1e-12),
            }
        }

        #[test]
        fn average_precision_is_the_mean_precision_at_the_positives(rows in rows()) {
            // By the definition: at each positive row, the precision of taking all rows with at least its score.
            let (mut sum, mut weight) = (0.0, 0.0);
            for row in rows.iter().filter(|row| row.is_positive()) {
                let taken = rows.iter().filter(|other| other.score >= row.score);
                let all: f64 = taken.clone().map(Ranked::weight).sum();
                let right: f64 = taken.filter(|other| other.is_positive()).map(Ranked::weight).sum();
                sum += row.weight() * right / all;
                weight += row.weight();
            }
            match average_precision(&rows) {
                None => prop_assert_eq!(weight, 0.0),
                Some(found) => prop_assert!((found - sum / weight).abs() < 1e-12),
            }
        }
    }
}
